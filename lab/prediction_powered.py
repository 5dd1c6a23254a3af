"""Error and coverage of means from few judgements and a metric, over a grid.

    python lab/prediction_powered.py

For each kind of metric, share of wrong examples and number of judgements: the root mean square
error as a ratio of that of the judgements alone, the bias as a share of the standard error of
these, and the coverage of the 95% interval with the metric and without it. ``--clusters``: the
share of true means outside the interval where documents are judged. ``--skewed``: coverage and mean
width for judgements of several skewed distributions, beside those of Student's t alone.
"""

import sys
from collections.abc import Callable

import numpy as np

from cgbench.benchmark.score.comparison.design import Clusters
from cgbench.benchmark.score.comparison.intervals import student_quantile
from cgbench.benchmark.score.comparison.prediction_powered import human_means

N, TRIALS = 2_000, 500
Draw = Callable[[np.random.Generator], np.ndarray]
METRICS = ("perfect", "good", "noisy", "useless", "inverted")


def draw(kind: str, rate: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Judgements of all examples, and the metric; ``rate`` nan: MQM scores, 3% of -25, a quarter of
    -1.
    """
    uniform = rng.random(N)
    if np.isnan(rate):
        human = np.where(uniform < 0.03, -25.0, np.where(uniform < 0.28, -1.0, 0.0))
    else:
        human = 100.0 * (uniform < rate)
    flipped = np.where(rng.random(N) < 0.05, rng.permutation(human), human)
    return (
        human,
        {
            "perfect": human,
            "good": flipped,
            "noisy": human + human.std() * rng.normal(size=N),
            "useless": rng.random(N),
            "inverted": -flipped,
        }[kind],
    )


def cell(kind: str, rate: float, judged: int, strata: bool) -> str:
    rng = np.random.default_rng([METRICS.index(kind), judged, strata])
    rows = []
    for _ in range(TRIALS):
        human, metric = draw(kind, rate, rng)
        true = float(np.where(np.isnan(rate), -25 * 0.03 - 0.25, 100 * rate))
        group = np.arange(N) % 2
        chosen = np.concatenate(
            [rng.permutation(np.flatnonzero(group == one))[: judged // 2] for one in (0, 1)]
        )
        some = np.full(N, np.nan)
        some[chosen] = human[chosen]
        scale = (-25.0, 0.0) if np.isnan(rate) else (0.0, 100.0)
        mean = human_means(
            {"a": some}, {"a": metric}, strata=group if strata else None, scale=scale
        )[0]
        ends = [(mean.powered_low, mean.powered_high), (mean.alone_low, mean.alone_high)]
        covers = [low is not None and low <= true <= high for low, high in ends]
        rows.append((mean.powered - true, mean.alone - true, *covers))
    powered, alone, covers, alone_covers = np.array(rows, float).T
    ratio = np.sqrt((powered**2).mean() / (alone**2).mean())
    bias = (powered.mean()) / alone.std()
    return f"{ratio:.2f} {bias:+.2f} {100 * covers.mean():.0f}/{100 * alone_covers.mean():.0f}"


def clusters() -> None:
    """500 documents of 4 examples, of which some are judged: how often the true mean is outside."""
    documents = np.repeat(np.arange(500), 4)
    for judged in (5, 10, 20, 50):
        rng, outside = np.random.default_rng(judged), []
        for _ in range(1_000):
            human = 50 + rng.normal(size=500)[documents] + rng.normal(size=N)
            some = np.where(documents < judged, human, np.nan)
            metric = human + rng.normal(size=N)
            mean = human_means(
                {"a": some}, {"a": metric}, clusters=Clusters(("document",), (documents,))
            )[0]
            ends = (mean.powered_low, mean.powered_high), (mean.alone_low, mean.alone_high)
            outside.append([not low <= 50 <= high for low, high in ends])
        powered, alone = 100 * np.mean(outside, axis=0)
        print(
            f"{judged:3} documents: with the metric {powered:.1f}%, alone {alone:.1f}%", flush=True
        )


def of_mqm(*shares: tuple[float, float]) -> tuple[Draw, float]:
    """Judgements of 0 but for the shares of others, and their mean."""
    values, probabilities = zip((0.0, 1 - sum(share for _, share in shares)), *shares, strict=True)

    def judgements(rng: np.random.Generator) -> np.ndarray:
        return rng.choice(values, N, p=probabilities)

    return judgements, float(np.dot(values, probabilities))


MQM, PERCENT = (-25.0, 0.0), (0.0, 100.0)
SKEWED: dict[str, tuple[Draw, float, tuple[float, float]]] = {
    "0.5% of -25": (*of_mqm((-25, 0.005)), MQM),
    "0.2% of -25, 30% of -1": (*of_mqm((-25, 0.002), (-1, 0.3)), MQM),
    "1% of -25, 5% of -5, 20% of -1": (*of_mqm((-25, 0.01), (-5, 0.05), (-1, 0.2)), MQM),
    "3% of -25, 25% of -1": (*of_mqm((-25, 0.03), (-1, 0.25)), MQM),
    "10% of -25": (*of_mqm((-25, 0.1)), MQM),
    "10% of -25, 20% of -5": (*of_mqm((-25, 0.1), (-5, 0.2)), MQM),
    "5% of -5": (*of_mqm((-5, 0.05)), MQM),
    "Poisson errors of -5 (0.3) and -1 (0.7)": (
        lambda rng: np.maximum(-25.0, -5.0 * rng.poisson(0.3, N) - rng.poisson(0.7, N)),
        -2.2,
        MQM,
    ),
    "0 to 100, beta(5, 1.5)": (lambda rng: 100 * rng.beta(5, 1.5, N), 100 * 5 / 6.5, PERCENT),
}


def skewed() -> None:
    """Coverage and width of judgements alone: as cgbench has them / Student's t; then with a metric
    that is the judgement and noise of its standard deviation.
    """
    for name, (draw_human, true, scale) in SKEWED.items():
        cells = []
        for judged in (10, 20, 30, 50, 100, 500):
            rng, rows = np.random.default_rng(judged), []
            for _ in range(2 * TRIALS):
                human = draw_human(rng)
                metric = human + human.std() * rng.normal(size=N)
                some = np.where(np.arange(N) < judged, human, np.nan)
                mean = human_means({"a": some}, {"a": metric}, scale=scale)[0]
                first = human[:judged]
                half = student_quantile(judged - 1) * first.std(ddof=1) / np.sqrt(judged)
                ends = (
                    (mean.alone_low, mean.alone_high),
                    (max(first.mean() - half, scale[0]), min(first.mean() + half, scale[1])),
                    (mean.powered_low, mean.powered_high),
                )
                covers = [low <= true <= high and high > low for low, high in ends]
                rows.append((*covers, *(high - low for low, high in ends)))
            covers, widths = np.split(np.mean(np.array(rows, float), axis=0), 2)
            cells.append(
                " / ".join(f"{100 * share:.1f}" for share in covers)
                + f" ({' / '.join(f'{width:.2f}' for width in widths)})"
            )
        print("| " + " | ".join([name, *cells]) + " |", flush=True)


def main() -> None:
    if "--clusters" in sys.argv:
        return clusters()
    if "--skewed" in sys.argv:
        return skewed()
    for strata in (False, True):
        print(
            "ratio of errors, bias, coverage with the metric/alone"
            + (", two strata" if strata else "")
        )
        for kind in METRICS:
            for rate in (0.01, 0.05, 0.2, 0.5, np.nan):
                cells = [cell(kind, rate, judged, strata) for judged in (20, 30, 100, 500)]
                print(
                    f"{kind:9}{'MQM' if np.isnan(rate) else rate:>5}", *cells, sep=" | ", flush=True
                )


if __name__ == "__main__":
    main()
