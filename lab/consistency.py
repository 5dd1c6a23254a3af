"""How well consistency agrees with people, and do its intervals and tests hold?
docs/lab/consistency.md has the tables.

    python lab/consistency.py people FOLDER    # FOLDER: the judgements of CoGnition
    python lab/consistency.py cover            # 400 trials per cell

``people`` prints the area under the ROC curve (AUC) of every variant against the judgement of each
output of the noun phrases (NP), on which the variant was chosen, and of the chosen one on the verb
phrases (VP), with 95% intervals over compounds. ``cover`` simulates systems that translate a piece
by its usual word with a probability that differs between pieces, in five contexts of known words,
and counts intervals that hold the expected score and tests that reject when two systems are equally
good.
"""

import argparse
import csv
import datetime
import gzip
import itertools
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from cgbench.benchmark.score.evaluation.evaluate import evaluation_of
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.machine import description
from cgbench.studies.consistency.items import ItemRow, Tokens
from cgbench.studies.consistency.linked_translations import Consistency
from cgbench.tables import render

Texts = tuple[list[ItemRow], list[str]]


def judged(folder: Path, kind: str) -> tuple[list[ItemRow], list[str], np.ndarray]:
    """The items of CoGnition, the outputs of the paper's system, and whether people found the
    compound right.
    """
    with gzip.open(folder / f"paper_results_{kind}.tsv.gz", "rt", encoding="utf-8") as file:
        read = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = []
    for one in read:
        words = Tokens.of(one["compound"]).words
        place = Tokens.of(one["source"]).find(words)
        shared = frozenset(range(place, place + len(words)))
        rows.append(ItemRow(one["compound"], one["compound"], one["source"], shared))
    return (
        rows,
        [one["hypothesis"] for one in read],
        np.array([int(one["human_correct"]) for one in read]),
    )


def auc(values: np.ndarray, right: np.ndarray) -> float:
    """The probability that a right output has a higher value than a wrong one."""
    ranks, ones = rankdata(values), right.sum()
    return float((ranks[right == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(right) - ones)))


def interval(values: np.ndarray, right: np.ndarray, groups: list[np.ndarray]) -> str:
    """The percentile interval over resampled groups."""
    draw = np.random.default_rng(1)
    found = []
    for _ in range(1000):
        rows = np.concatenate([groups[one] for one in draw.integers(len(groups), size=len(groups))])
        found.append(auc(values[rows], right[rows]))
    low, high = np.quantile(found, (0.025, 0.975))
    return f"{low:.3f} to {high:.3f}"


def people(folder: Path) -> None:
    rows, outputs, right = judged(folder, "NP")
    table = []
    for orders in ((1,), (2,), (1, 2), (1, 2, 3), (2, 3)):
        values = Consistency(rows, orders=orders).statistics(outputs)[:, 0]
        table.append([f"characters {'+'.join(map(str, orders))}", f"{auc(values, right):.3f}"])
    print(render(["variant, on NP", "AUC"], table, "markdown"), "\n")
    table = []
    for kind in ("NP", "VP"):
        rows, outputs, right = judged(folder, kind)
        for name in ("chosen", "length of the compound"):
            metric = Consistency(rows)
            values = metric.all_statistics([outputs])[0][:, 0]
            if name != "chosen":
                values = -np.array([float(len(row.piece.split())) for row in rows])
            table.append(
                [kind, name, f"{auc(values, right):.3f}", interval(values, right, metric.items)]
            )
    print(render(["set", "variant", "AUC", "95%"], table, "markdown"))


def simulated(
    draw: np.random.Generator, pieces: int, systems: int
) -> tuple[list[ItemRow], list[list[str]]]:
    """Items, and the outputs of equally good systems, which share what is hard; a character of an
    output is a word.
    """
    rows, outputs = [], [list[str]() for _ in range(systems)]
    for number, usual in enumerate(draw.beta(4, 2, pieces)):
        name = f"p{number}"
        for _ in range(5):
            words = draw.integers(30, size=3).tolist()
            source = " ".join(f"c{word}" for word in words) + f" {name}"
            rows.append(ItemRow(name, name, source, frozenset([3])))
            for own in outputs:
                said = 2 * number + (draw.random() < usual)
                own.append("".join(chr(0x3400 + word) for word in words) + chr(0x4E00 + said))
    return rows, outputs


def cover(trials: int) -> None:
    warnings.simplefilter("ignore")
    table = []
    for pieces, runs in itertools.product((10, 20, 40, 100), (1, 3)):
        found_all, rejected = [], 0
        for trial in range(trials):
            rows, outputs = simulated(
                np.random.default_rng([trial, pieces, runs]), pieces, 2 * runs
            )
            both = {"one": outputs[:runs], "two": outputs[runs:]}
            metric = Consistency(rows, orders=(1,))
            found = evaluation_of(
                ScoreRequest(metric, both, comparison={"cluster": ("piece",)}, paired=True),
                metric.context(),
            )
            first, second = (one.whole.figures["consistency"] for one in found.results)
            found_all.append((first.value, first.ci_low, first.ci_high))
            rejected += bool(second.p_value is not None and second.p_value < 0.05)
        value, low, high = np.array(found_all, float).T
        truth = (
            value.mean()
        )  # the alignment depends on the size of the text: the expectation for this one
        held = np.mean((low <= truth) & (truth <= high))
        table.append(
            [
                str(pieces),
                str(runs),
                f"{truth:.1f}",
                f"{100 * held:.1f}",
                f"{100 * rejected / trials:.1f}",
            ]
        )
    print(
        render(
            [
                "pieces",
                "seeds",
                "score",
                "intervals that hold it (%)",
                "tests at 5% that reject (%)",
            ],
            table,
            "markdown",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("people", "cover"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--trials", type=int, default=400)
    given = parser.parse_args()
    print(f"{datetime.date.today()}, {description()}\n")
    people(given.folder) if given.what == "people" else cover(given.trials)


if __name__ == "__main__":
    main()
