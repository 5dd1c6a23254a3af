"""How often intervals of estimates for all candidates hold the truth, by design: repeated draws
where all are known.

    python lab/design_pool_estimates.py RELEASE --hyp A=all.hyp --hyp B=other.hyp
    python lab/design_pool_estimates.py RELEASE --hyp A=all.hyp --metric bleu --size 100 --draws 200
    python lab/design_pool_estimates.py RELEASE --hyp A=all.hyp --hyp B=b.hyp --runs 3 --cluster 15

By default, 2,000 draws per cell. The hypotheses are translations of all candidates of the release
(data/candidates-*.parquet), so the true score on the candidates and on the window is known. Every
cell draws samples by a design and estimates the scores of all systems:

- ``random``: simple random sampling of all candidates;
- ``proportional``, ``equal``, ``neyman``: stratified by uncertainty, up to ten strata; Neyman by
  the ensemble's chrF;
- ``window``: simple random sampling of the window, as the test set is drawn, against the truth of
  the window;
- ``documents``: documents of the window (consecutive pairs of the pool, five on average) until
  there are enough pairs.

``--runs R``: each system has R seeds. A seed has the translation of the named system with a
probability of its own (logit normal, sd 0.7), else that of the next system. The truth is the mean
over seeds.

``--cluster SIZE``: each draw makes a population of half as many candidates from clusters of SIZE
similar candidates, drawn with replacement, and stratifies that. The truth is the score on all
candidates; intervals are of clusters.

Prints a Markdown table: the share of 95% intervals that hold the truth (mean, lowest and highest
over systems), the same of differences between neighbouring systems, the largest bias in standard
errors, and the variance divided by that of ``random``. ``plain``: how far the score of the sample
without weights is from that of all candidates.
"""

import argparse
import datetime
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np

from cgbench.benchmark.candidates.inclusion import document_inclusion
from cgbench.benchmark.candidates.strata import Allocation, allocate, deviations_in, strata_of
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Bleu, ChrF, sentence_chrf
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.release.data_tables import sides_of
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.score.comparison.design import Clusters, Design
from cgbench.benchmark.score.comparison.intervals import score_interval
from cgbench.benchmark.score.comparison.variance import (
    ExampleCovariance,
    covariance_of_clusters,
    covariance_of_design,
)
from cgbench.benchmark.score.comparison.variance_components import Contrasts
from cgbench.machine import description

STRATA = 10
SIZES = (60, 150, 400)
LUCK = 0.7  # standard deviation of the log odds of seeds
Draw = Callable[[np.random.Generator], tuple[np.ndarray, Design, np.ndarray | None]]
"""The drawn candidates, their design, and their clusters."""


class MeanChrF(ChrF):
    """The mean of sentence chrF: a mean, unlike corpus chrF."""

    def all_statistics(self, runs):
        found = [super(MeanChrF, self).compute(one) for one in super().all_statistics(runs)]
        return [np.concatenate([one, np.ones_like(one)], axis=1) for one in found]

    def compute(self, sums):
        return sums[:, :1] / sums[:, 1:]


def stratified(
    population: str, members: np.ndarray, stratum: np.ndarray, draws: np.ndarray
) -> Draw:
    """Draw the given number of pairs from each stratum of the members of a population."""
    sizes = np.bincount(stratum)
    rows = [members[stratum == h] for h in range(len(sizes))]
    of, units = np.repeat(np.arange(len(sizes)), draws), np.arange(draws.sum())

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, Design, None]:
        taken = [
            rng.choice(one, count, replace=False)
            for one, count in zip(rows, draws.tolist(), strict=True)
        ]
        design = Design(population, len(members), (draws / sizes)[of], of, units, sizes)
        return np.concatenate(taken), design, None

    return draw


def clustered(by: np.ndarray, own: np.ndarray, n: int, how: str, size: int) -> Draw:
    """Draw clusters of ``size`` similar candidates as a population, and ``n`` pairs from it."""
    similar = np.argsort(own + np.random.default_rng(3).normal(scale=2 * own.std(), size=len(own)))
    parts = np.array_split(similar, len(own) // size)

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, Design, np.ndarray]:
        taken = [parts[one] for one in rng.integers(len(parts), size=len(parts) // 2)]
        members, label = (
            np.concatenate(taken),
            np.repeat(np.arange(len(taken)), [len(one) for one in taken]),
        )
        everyone, blocks, draws = (
            np.arange(len(members)),
            np.zeros(len(members), np.int64),
            np.array([n]),
        )
        if how != "random":
            rank = np.argsort(np.argsort(-by[members], kind="stable"))
            blocks = strata_of(by[members], rank, STRATA)
            draws = allocate(np.bincount(blocks), deviations_in(blocks, own[members]), n, how)
        places, design, _ = stratified("candidates", everyone, blocks, draws)(rng)
        return members[places], design, label[places]

    return draw


def designs(release: Release, own: np.ndarray, n: int, cluster: int) -> dict[str, Draw]:
    """The ways to draw ``n`` pairs; ``own``: sentence scores of the ensemble's translations."""
    table = release.table()
    measure = release.configuration["uncertainty"]
    by, rank = (table[name].to_numpy() for name in (measure, "rank"))
    if cluster:
        return {
            how: clustered(by, own, n, how, cluster) for how in ("random", *get_args(Allocation))
        }
    total = len(rank)
    inside = np.flatnonzero(np.isin(np.array(table["stage"].to_pylist()), ("window", "selected")))
    everyone, blocks = np.arange(total), strata_of(by, rank, STRATA)
    sizes, spread = np.bincount(blocks), deviations_in(blocks, own)
    one = np.zeros(total, np.int64)
    found = {"random": stratified("candidates", everyone, one, np.array([n]))}
    for how in get_args(Allocation):
        found[how] = stratified("candidates", everyone, blocks, allocate(sizes, spread, n, how))
    if n > len(inside):
        return found
    found["window"] = stratified("window", inside, one[inside], np.array([n]))
    line = np.argsort(table["line"].to_numpy()[inside])
    ends = np.cumsum(np.random.default_rng(5).geometric(1 / 5, len(inside)))
    document = np.empty(len(inside), np.int64)
    document[line] = np.searchsorted(ends, np.arange(len(inside)), side="right")
    pairs = np.bincount(document)
    probability = document_inclusion(pairs, n)

    def of_documents(rng: np.random.Generator) -> tuple[np.ndarray, Design, None]:
        order = rng.permutation(len(pairs))
        drawn = order[: int(np.searchsorted(np.cumsum(pairs[order]), n)) + 1]
        rows = np.flatnonzero(np.isin(document, drawn))
        units = np.unique(document[rows], return_inverse=True)[1]
        zeros = np.zeros(len(rows), np.int64)
        size = np.array([len(pairs)])
        return (
            inside[rows],
            Design("window", len(inside), probability[document[rows]], zeros, units, size),
            None,
        )

    return found | {"documents": of_documents}


def runs_of(statistics: np.ndarray, runs: int, rng: np.random.Generator) -> np.ndarray:
    """The statistics of seeds, ``[systems, runs, n, k]``."""
    if not runs:
        return statistics[:, None]
    shares = 1 / (1 + np.exp(rng.normal(scale=LUCK, size=(len(statistics), runs, 1))))
    own = rng.random((len(statistics), runs, statistics.shape[1])) < shares
    return np.where(own[..., None], statistics[:, None], np.roll(statistics, -1, axis=0)[:, None])


def truth_of(metric: Metric, statistics: np.ndarray, runs: int) -> np.ndarray:
    """The scores of systems, means over seeds, on all given candidates."""
    rng = np.random.default_rng(2)
    every = [runs_of(statistics, runs and 50, rng).sum(axis=2) for _ in range(20 if runs else 1)]
    return np.array([metric.compute(one)[:, 0].mean() for one in np.concatenate(every, axis=1)])


def covariance(
    metric: Metric, weighted: np.ndarray, design: Design, labels: np.ndarray | None
) -> ExampleCovariance:
    systems, rows = list(weighted), np.arange(weighted.shape[2])
    if labels is not None:
        made = covariance_of_clusters(metric, systems, rows, Clusters(("cluster",), (labels,)))
    else:
        made = covariance_of_design(metric, systems, rows, design)
    assert made is not None
    return made


def cell(
    metric: Metric,
    statistics: np.ndarray,
    draw: Draw,
    truths: dict[str, np.ndarray],
    given: argparse.Namespace,
):
    """Of each draw: the estimates of all systems, whether intervals hold the truth, the same of
    pairs, plain scores.
    """
    rng, found = np.random.default_rng(1), []
    for _ in range(given.draws):
        rows, design, labels = draw(rng)
        drawn = runs_of(statistics[:, rows], given.runs, rng)
        weighted = drawn * design.weights[:, None]
        values = np.stack(
            [metric.compute(one) for one in weighted.sum(axis=2)]
        )  # [systems, runs, 1]
        made = covariance(metric, weighted, design, labels)
        truth, held, pairs, runs = truths[design.population], [], [], values.shape[1]
        for system, scores in enumerate(values):
            of = made.of_runs(0, slice(system * runs, (system + 1) * runs))
            low, high = score_interval(of, scores[:, 0], metric.top, metric.bottom) or (
                np.nan,
                np.nan,
            )
            held.append(low <= truth[system] <= high)
        contrasts = Contrasts(list(values), made)
        for one, other in itertools.pairwise(range(len(values))):
            ends = [float(end[0]) for end in contrasts.of(one, other).interval()]
            pairs.append(ends[0] <= truth[one] - truth[other] <= ends[1])
        plain = [metric.compute(one).mean() for one in drawn.sum(axis=2)]
        found.append((values.mean(axis=1)[:, 0], held, pairs, plain))
    return [np.array(one, float) for one in zip(*found, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("release", type=Path)
    parser.add_argument("--hyp", action="append", required=True, metavar="SYSTEM=FILE")
    parser.add_argument("--metric", action="append", choices=("mean", "chrf", "bleu"))
    parser.add_argument("--size", action="append", type=int)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=0, metavar="R", help="seeds per system")
    parser.add_argument(
        "--cluster", type=int, default=0, metavar="SIZE", help="candidates per cluster"
    )
    parser.add_argument("--design", action="append", help="only these designs")
    given = parser.parse_args()
    release = Release.open(given.release)
    table = release.table(text=True)
    references = sides_of(table, release.languages)[1]
    systems = [
        Path(one.partition("=")[2]).read_text(encoding="utf-8").splitlines() for one in given.hyp
    ]
    own = np.array(sentence_chrf(table["hypothesis"].to_pylist(), references))
    inside = np.isin(np.array(table["stage"].to_pylist()), ("window", "selected"))
    print(f"{datetime.date.today()}, {description()}, {given.draws:,} draws per cell")
    by = [table[one].to_numpy() for one in (release.configuration["uncertainty"], "rank")]
    blocks = strata_of(*by, STRATA)
    print(
        f"candidates per stratum {np.bincount(blocks)}, sd of the ensemble's own"
        f" {deviations_in(blocks, own).round(1)}"
    )
    print(
        f"{len(own):,} candidates, {inside.sum():,} in the window; systems {', '.join(given.hyp)}\n"
    )
    names = {"mean": MeanChrF, "chrf": ChrF, "bleu": Bleu}
    for name in given.metric or names:
        examples = [[one] for one in references]
        metric = names[name](examples, tokenize="none") if name == "bleu" else names[name](examples)
        statistics = np.stack(metric.all_statistics(systems))
        whole, window = (
            truth_of(metric, one, given.runs) for one in (statistics, statistics[:, inside])
        )
        print(
            f"{name}: on all candidates {np.round(whole, 2)}, on the window {np.round(window, 2)}\n"
        )
        print(
            "| metric | n | design | coverage | lowest to highest | differences | bias / se |"
            " variance | plain |"
        )
        print("|---|---:|---|---:|---|---:|---:|---:|---:|")
        for n in given.size or SIZES:
            simple = None
            for label, draw in designs(release, own, n, given.cluster).items():
                if label not in (given.design or [label]):
                    continue
                truths = {"candidates": whole, "window": window}
                values, held, pairs, plain = cell(metric, statistics, draw, truths, given)
                spread, simple = (
                    values.var(axis=0),
                    (values.var(axis=0) if simple is None else simple),
                )
                of_window = label in ("window", "documents")
                bias = (values.mean(axis=0) - (window if of_window else whole)) / np.sqrt(spread)
                rates = held.mean(axis=0)
                cells = [
                    *(name, str(n), label, f"{100 * rates.mean():.1f}%"),
                    *(
                        f"{100 * rates.min():.1f} to {100 * rates.max():.1f}%",
                        f"{100 * pairs.mean():.1f}%",
                    ),
                    f"{bias[np.abs(bias).argmax()]:+.2f}",
                    "" if of_window else f"{(spread / simple).mean():.2f}",
                    (
                        f"{(plain.mean(axis=0) - whole).mean():+.2f}"
                        if label in ("window", "equal", "neyman")
                        else ""
                    ),
                ]
                print(f"| {' | '.join(cells)} |", flush=True)
        print()


if __name__ == "__main__":
    main()
