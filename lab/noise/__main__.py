"""What tells noise from good pairs, and at what price: the figures of docs/lab/noise.md.

    python lab/noise demo WORK [--seeds 1,2,3] [--reverse] [--jobs 2]
    python lab/noise real WORK [--shared ../shared/data] [--reverse] [--updates 3000] [--members 2]
        [--candidates 4000] [--jobs 2]

``demo`` builds the demo once per seed, whose record of kinds says what is noise. ``real`` builds
candidates from real text, plants noise of eleven kinds among them, and scores that as the build
would. Everything is kept under WORK; the same command resumes. Prints Markdown: the measures, the
kinds of noise, which good pairs a cut drops by their degree and by RMI, and other ways of cutting.

A measure is good if it ranks noise above good pairs (AUC), and if what it drops is noise and not
what is hard: the *hard good pairs* are the 4/15 of the candidates (800 of 3,000) that the ensemble
is most uncertain of among those that are no noise; with one member, which cannot disagree, by its
total uncertainty.
"""

import argparse
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import candidates
import numpy as np
from price import GIVEN, alternatives, differences, given, prices
from tables import auc, dropped, ranks, spread, table

from cgbench.benchmark.candidates.pair_measures import pair_measures

HARD = 4 / 15
SHARES = (1 / 30, 0.05, 0.07, 0.10)
WINDOW = 3 / 10
DEFAULT = 1 / 20  # what the presets drop
PRICED = ("reference_pe_stu", "joint_cross_entropy", "dual_cross_entropy", "gap")
NAMES = {
    "rmi": "RMI of the hypothesis (the paper's)",
    "epkl": "EPKL of the hypothesis",
    "entropy_of_expected": "total uncertainty of the hypothesis",
    "reference_pe_stu": "reference likelihood",
    "reference_rmi": "RMI of the reference",
    "reference_entropy_of_expected": "total uncertainty of the reference",
    "reference_lowest": "least likely token of the reference",
    "joint_cross_entropy": "joint cross-entropy",
    "gap": "gap to the hypothesis",
    "reverse_pe_stu": "source likelihood, reverse ensemble",
    "dual_cross_entropy": "dual conditional cross-entropy",
    "perplexity_source": "perplexity of the source (KenLM)",
    "perplexity_target": "perplexity of the target (KenLM)",
    "length_ratio": "length ratio",
}
LIKE_OTHERS = ("epkl", "entropy_of_expected", "reference_rmi", "reference_entropy_of_expected")
Columns = Mapping[str, np.ndarray]


def derived(columns: Columns) -> dict[str, np.ndarray]:
    """``columns`` with the measures that follow from others; of every one, higher is more like
    noise.
    """
    ratio = np.log(columns["source_length"] / columns["target_length"])
    of_pairs = pair_measures({**columns, "perplexity": columns["perplexity_source"]}, "source")
    return {
        **columns,
        **{name: np.array(values) for name, values in of_pairs.items()},
        "gap": columns["reference_pe_stu"] - columns["pe_stu"],
        "length_ratio": np.abs(ratio - np.median(ratio)),
    }


def priced(columns: Columns) -> dict[str, str]:
    """The measures of :data:`PRICED` that there are, with what they are called."""
    return {name: NAMES[name] for name in PRICED if name in columns}


def uncertainty(columns: Columns) -> np.ndarray:
    """What the test set goes by: RMI, of several members."""
    return columns["rmi"] if columns["rmi"].max() > 1e-3 else columns["entropy_of_expected"]


def hard_good(columns: Columns, noise: np.ndarray) -> np.ndarray:
    """Which are the hard good pairs."""
    order = np.argsort(-np.where(noise, -np.inf, uncertainty(columns)), kind="stable")
    chosen = np.zeros(len(noise), bool)
    chosen[order[: round(HARD * len(noise))]] = True
    return chosen


def outcome(columns: Columns, noise: np.ndarray, gone: np.ndarray) -> dict[str, float]:
    """What a cut does: share of the noise and of the hard good pairs that it removes, and the share
    of noise in what the test set is then drawn from (the most uncertain of the rest)."""
    rest = np.flatnonzero(~gone)
    window = rest[
        np.argsort(-uncertainty(columns)[rest], kind="stable")[: round(WINDOW * len(noise))]
    ]
    hard = hard_good(columns, noise)
    return {
        "noise removed": float(gone[noise].mean()),
        "hard good removed": float(gone[hard].mean()),
        "noise in the window": float(noise[window].mean()),
    }


def report(sets: Sequence[tuple[Columns, np.ndarray]]) -> str:
    """The tables of several sets of candidates (a seed or a planting each)."""
    sets = [(derived(columns), noise) for columns, noise in sets]
    names = [
        name
        for name in NAMES
        if all(name in columns and np.ptp(columns[name]) > 1e-3 for columns, _ in sets)
    ]

    def row(title: str, values: Sequence[np.ndarray]) -> list[str]:
        cells = [
            title,
            spread(
                [auc(value, noise) for value, (_, noise) in zip(values, sets, strict=True)], ".3f"
            ),
        ]
        for share in SHARES:
            found = [
                outcome(columns, noise, dropped(value, share))
                for value, (columns, noise) in zip(values, sets, strict=True)
            ]
            means = (sum(one[key] for one in found) / len(found) for key in found[0])
            cells.append(" / ".join(f"{100 * mean:.1f}" for mean in means))
        return cells

    nothing = [outcome(columns, noise, np.zeros(len(noise), bool)) for columns, noise in sets]
    head = ["measure", "AUC", *(f"drop {share:.1%}" for share in SHARES)]
    rows = [row(NAMES[name], [columns[name] for columns, _ in sets]) for name in names]
    rows += [
        row(NAMES[name] + GIVEN, [given(columns, columns[name]) for columns, _ in sets])
        for name in priced(sets[0][0])
    ]

    def together(pair: Sequence[str]) -> list[np.ndarray]:
        return [np.maximum(*(ranks(columns[name]) for name in pair)) for columns, _ in sets]

    # Which two single figures go best together, the higher rank counting: decided on the first set
    # alone.
    def first(pair: Sequence[str]) -> tuple[float, float]:
        columns, noise = sets[0]
        values = together(pair)[0]
        return outcome(columns, noise, dropped(values, 0.05))["noise in the window"], -auc(
            values, noise
        )

    single = [name for name in names if name not in ("joint_cross_entropy", "dual_cross_entropy")]
    best = sorted(combinations(single, 2), key=first)[:3]
    rows += [row(" or ".join(NAMES[name] for name in pair), together(pair)) for pair in best]
    return (
        "Cells: noise removed / hard good pairs removed / noise in the window, %. Without any cut"
        " the window has "
        + spread([100 * one["noise in the window"] for one in nothing], ".1f")
        + " % noise.\n\n"
        + table(rows, head)
    )


def by_kind(planted: candidates.Planted) -> str:
    """For each kind of planted noise its AUC against all good pairs, what the default cut removes
    of it, and what the filter of rare words lets through."""
    sets = [(derived(columns), noise) for columns, noise in planted.sets]
    names = [name for name in NAMES if name in sets[0][0] and name not in LIKE_OTHERS]
    rows = []
    for kind in candidates.KINDS:
        places = [
            rows[kinds == kind] for rows, kinds in zip(planted.rows, planted.kinds, strict=True)
        ]
        cells = [kind, f"{planted.through[kind]:.0%}"]
        for default in (lambda _, values: values, given):
            gone = [
                100 * dropped(default(columns, columns["reference_pe_stu"]), DEFAULT)[some].mean()
                for (columns, _), some in zip(sets, places, strict=True)
            ]
            cells.append(f"{sum(gone) / len(gone):.1f}")
        for name in names:
            found = []
            for (columns, noise), some in zip(sets, places, strict=True):
                chosen = ~noise
                chosen[some] = True
                found.append(auc(columns[name][chosen], noise[chosen]))
            cells.append(f"{sum(found) / len(found):.2f}")
        rows.append(cells)
    head = [
        "kind",
        "passes the filter",
        "removed by the plain cut",
        "removed given degree and length",
    ]
    return table(rows, [*head, *(NAMES[name] for name in names)])


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["demo", "real"])
    parser.add_argument("work", type=Path)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument(
        "--reverse", action="store_true", help="with an ensemble of the other direction, too"
    )
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument("--updates", type=int, default=3_000)
    parser.add_argument("--candidates", type=int, default=4_000)
    parser.add_argument("--members", type=int, default=2, help="of the ensemble on real text")
    parser.add_argument("--jobs", type=int, default=1)
    words = parser.parse_args()
    if words.what == "demo":
        seeds = map(int, words.seeds.split(","))
        sets = [candidates.demo(words.work, seed, words.jobs, words.reverse) for seed in seeds]
        derived_sets = [(derived(columns), noise) for columns, noise in sets]
        print(
            report(sets),
            prices(derived_sets, priced(derived_sets[0][0])),
            differences(derived_sets),
            sep="\n\n",
        )
        for name in ("reference_pe_stu", "joint_cross_entropy"):
            print(
                "", NAMES[name], "", alternatives(derived_sets, name, {"all noise": ()}), sep="\n"
            )
        return
    planted = candidates.real(
        *(
            words.work,
            words.shared,
            words.jobs,
            words.updates,
            words.candidates,
            words.members,
            words.reverse,
        )
    )
    derived_sets = [(derived(columns), noise) for columns, noise in planted.sets]
    print(report(planted.sets), by_kind(planted), sep="\n\n", end="\n\n")
    print(prices(derived_sets, priced(derived_sets[0][0])), differences(derived_sets), sep="\n\n")
    cleaned = {"noise everywhere": (), "in WMT and TED alone": (1, 4)}
    print("", alternatives(derived_sets, "reference_pe_stu", cleaned), sep="\n")


if __name__ == "__main__":
    main()
