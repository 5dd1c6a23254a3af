"""Items of subset2evaluate, a JSON line a pair: which of them are worth a person's time?

The ensemble is the one system; its measures are its scores, and the measure that chose the pairs is their utility.
"""

from __future__ import annotations

from pathlib import Path

from cgbench.benchmark.release.export.pairs import SYSTEM, Pairs, write_rows

ITEMS = "items.jsonl"


def write_subset2evaluate(pairs: Pairs, folder: Path) -> None:
    """Write the items."""
    rows = []
    for number, row in enumerate(pairs.rows):
        figures = dict(row["figures"])
        hypothesis = figures.pop("hypothesis", None)
        measures = {key: value for key, value in figures.items() if isinstance(value, float) and key != "degree"}
        others = {key: value for key, value in figures.items() if key not in measures}
        rows.append(
            {
                "i": number,
                "src": row["source"],
                "ref": row["target"],
                "tgt": {} if hypothesis is None else {SYSTEM: hypothesis},
                "scores": {} if hypothesis is None else {SYSTEM: measures},
                "domain": row["domain"],
                "doc": row["doc"],
                "cost": figures["target_length"],
                "subset2evaluate_utility": figures[pairs.measure],
                **others,
            }
        )
    write_rows(folder / ITEMS, rows)
