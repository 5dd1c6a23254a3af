"""Items of subset2evaluate, one JSON line per pair; that tool selects the pairs worth human evaluation.

The ensemble is the only system, its measures are its scores, and the measure that selected the pairs is their utility.
"""

from __future__ import annotations

from pathlib import Path

from cgbench.benchmark.release.export.pairs import SYSTEM, Pairs, write_rows

ITEMS = "items.jsonl"


def write_subset2evaluate(pairs: Pairs, folder: Path) -> None:
    """Write the items."""
    rows = []
    for number, row in enumerate(pairs.rows):
        measures = dict(row["figures"])
        hypothesis = measures.pop("hypothesis", None)
        scores = {key: value for key, value in measures.items() if isinstance(value, float) and key != "degree"}
        others = {key: value for key, value in measures.items() if key not in scores}
        rows.append(
            {
                "i": number,
                "src": row["source"],
                "ref": row["target"],
                "tgt": {} if hypothesis is None else {SYSTEM: hypothesis},
                "scores": {} if hypothesis is None else {SYSTEM: scores},
                "domain": row["domain"],
                "doc": row["doc"],
                "cost": measures["target_length"],
                "subset2evaluate_utility": measures[pairs.measure],
                **others,
            }
        )
    write_rows(folder / ITEMS, rows)
