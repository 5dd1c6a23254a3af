"""CoGnition: do systems know the parts of the compounds that they get wrong? By human labels and by
CTER.

``python lab/parts_cognition.py FOLDER``: a folder with ``paper_results_NP.tsv.gz``,
``paper_results_VP.tsv.gz`` (row, source, compound, hypothesis, human_correct) and ``lexicon``. The
pieces of a compound are the shorter compounds whose words it has in the same order; their rows are
the probes.
"""

import csv
import gzip
import sys
from pathlib import Path

import numpy as np

from cgbench.benchmark.measure.metrics.cter import Cter
from cgbench.benchmark.measure.metrics.metric import ExampleTexts
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.studies.parts.gate import Incidence, Parts, gate_of
from cgbench.studies.parts.residual import Outcomes, compare_composition
from cgbench.text.columns import Column


def within(piece: list[str], whole: list[str]) -> bool:
    """Whether the words of ``piece`` stand in ``whole`` in the same order."""
    rest = iter(whole)
    return all(word in rest for word in piece)


def main(folder: Path) -> None:
    for kind in ("NP", "VP"):
        with gzip.open(folder / f"paper_results_{kind}.tsv.gz", "rt", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        names = list(dict.fromkeys(row["compound"] for row in rows))
        words = [name.split() for name in names]
        number = {name: place for place, name in enumerate(names)}
        of_row = np.array([number[row["compound"]] for row in rows])
        shorter = [
            [p for p, piece in enumerate(words) if len(piece) < len(whole) and within(piece, whole)]
            for whole in words
        ]
        covered = np.array(
            [
                all(
                    any(len(words[p]) < len(whole) and word in words[p] for p in range(len(words)))
                    for word in whole
                )
                for whole in words
            ]
        )
        length = np.array([len(row["source"].split()) for row in rows])
        cter = Cter.make(
            ExampleTexts(
                sources=Column("source", [row["source"] for row in rows]),
                compounds=Column("compound", [row["compound"] for row in rows]),
            ),
            lexicon=folder / "lexicon",
        )
        human = np.array([row["human_correct"] == "1" for row in rows])
        flags = cter.statistics([row["hypothesis"] for row in rows])[:, 0] == 0
        test = [row for row, compound in enumerate(of_row) if covered[compound]]
        parts = Parts(
            Incidence.of(
                [(p, place) for place, row in enumerate(test) for p in shorter[of_row[row]]]
            ),
            Incidence.of([(p, row) for row, p in enumerate(of_row.tolist())]),
            np.array([sum(p in one for one in shorter) for p in range(len(names))]),
            length[test],
            length,
            True,
        )
        for name, right in (("human", human), ("CTER", flags)):
            out = Outcomes(right[parts.probes.sentence], right[np.array(test)[parts.rows.sentence]])
            wrong = ~right[test]
            found = (
                f"{covered.sum()} compounds whose words all occur in shorter ones:"
                f" {100 * wrong.mean():.1f}% wrong"
            )
            print(f"{kind} {name}: {found}")
            for least in (5, 4):
                gate = gate_of(parts, out.probes, least)
                error = 100 * wrong[gate.given].mean() if gate.given.any() else float("nan")
                compounds = len({of_row[test[row]] for row in np.flatnonzero(gate.given)})
                print(
                    f"   shorter ones right {least} of 5: {compounds} compounds, {error:.1f}% of"
                    " rows wrong"
                )
            (one,) = compare_composition(parts, [(name, [out])], 4, Comparison()).results
            for figure, score in one.whole.figures.items():
                bounds = (
                    "" if score.ci_low is None else f" [{score.ci_low:.1f}, {score.ci_high:.1f}]"
                )
                print(f"   {figure} {score.value:.1f}{bounds}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
