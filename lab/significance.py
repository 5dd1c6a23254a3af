"""How often the test of systems with several runs rejects a true null, and its power, over a grid.

    python lab/significance.py single|means|normal|unequal|drops|shared|texts --out FILE [--trials
    2000] python lab/significance.py table FILE

Two systems of equal accuracy answer n examples in several runs (training seeds); the true
accuracies of runs have a standard deviation of their own. Answers are right or wrong: an example is
hard to some degree, the same for all runs, partly in a way of the system's own (``own``: the share
of the variance of difficulty), and a run has luck on it. True accuracies are Φ(middle + spread ·
normal), with the mean and the deviation of the cell.

Every cell prints how often p < 0.05 and the power: each difference is moved by what an oracle, who
knows the variance of differences, finds in 80% of comparisons; the figure is the test's share of
the oracle's rejections.

- ``single``: one run of each: approximate randomisation (with all permutations), the two-sided
  bootstrap and sacrebleu's paired bootstrap, with 1,000 samples; levels alone.
- ``means``: n x runs x deviation x accuracy; by the functions that ``cgbench score`` calls, with
  the covariance of means in place of the bootstrap's. ``normal``: levels of 5, 1 and 0.1% on the
  normal model. ``unequal``: runs of the two systems vary differently.
- ``drops``: the difference of two systems' drops from a control set. ``shared``: run i of both has
  the same seed.
- ``texts``: BLEU of generated text and CTER, with the bootstrap, over a balanced fraction of the
  grid.

A line per cell is added to FILE as JSON; cells that it has are not run again. ``table`` prints
Markdown.
"""

import argparse
import itertools
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, special

from cgbench.benchmark.score.comparison.significance import bootstrap_p, mcnemar_p
from cgbench.benchmark.score.comparison.variance import (
    covariance_of_examples,
    covariance_of_samples,
)
from cgbench.benchmark.score.comparison.variance_components import (
    Contrast,
    contrast,
    degrees_of_seeds,
    half_width,
)

LEVEL = 0.05
SIZES = (100, 300, 1000, 3000, 10_000)
RUNS = ((2, 2), (3, 3), (5, 5), (10, 10), (5, 3), (1, 5))
DEVIATIONS = (0.0, 1.0, 3.0, 6.0)
ACCURACIES = (0.05, 0.5, 0.95)
HARD = 0.5
"""The share of the latent variance that is an example's difficulty."""
NUMBERS = 1_000_000  # random numbers at a time: they stay in the cache


@cache
def skills(accuracy: float, deviation: float) -> tuple[float, float]:
    """Middle and spread of Φ(middle + spread · normal) with this mean and standard deviation."""
    if not deviation:
        return float(special.ndtri(accuracy)), 0.0
    points, weights = np.polynomial.hermite_e.hermegauss(81)
    weights = weights / weights.sum()

    def wrong(found: np.ndarray) -> list[float]:
        values = special.ndtr(found[0] + math.exp(found[1]) * points)
        mean = float(weights @ values)
        return [
            mean - accuracy,
            10 * (math.sqrt(max(float(weights @ values**2) - mean**2, 0)) - deviation),
        ]

    found = optimize.root(wrong, [special.ndtri(accuracy), math.log(4 * deviation)], method="hybr")
    assert found.success and max(map(abs, wrong(found.x))) < 1e-6, (accuracy, deviation)
    return float(found.x[0]), math.exp(found.x[1])


def answers(
    rng: np.random.Generator,
    thresholds: np.ndarray,
    size: int,
    systems: tuple[int, ...],
    own: float,
) -> np.ndarray:
    """Right or wrong, float32 ``[trials, runs of all systems, size]``.

    :param thresholds: true accuracies of runs as normal quantiles, ``[trials, runs of all
        systems]``.
    :param systems: the number of runs of each.
    """
    trials = len(thresholds)
    shared = rng.standard_normal((trials, 1, size), dtype=np.float32)
    parts = []
    for runs in systems:
        hard = np.sqrt(1 - own) * shared
        if own:
            hard = hard + np.sqrt(own) * rng.standard_normal((trials, 1, size), dtype=np.float32)
        luck = rng.standard_normal((trials, runs, size), dtype=np.float32)
        parts.append(np.float32(math.sqrt(HARD)) * hard + np.float32(math.sqrt(1 - HARD)) * luck)
    return (np.concatenate(parts, axis=1) < thresholds[:, :, None]).astype(np.float32)


def of_means(right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Figures ``[trials, runs]`` and their covariance over draws of the examples, in points."""
    size = right.shape[-1]
    means = right.mean(axis=-1, dtype=np.float64)
    products = np.matmul(right, right.swapaxes(-1, -2)).astype(np.float64)
    covariance = (products - size * means[:, :, None] * means[:, None, :]) / (size - 1) / size
    return 100 * means, 1e4 * covariance


def batches(trials: int, numbers: int) -> Iterator[int]:
    size = max(1, NUMBERS // numbers)
    for start in range(0, trials, size):
        yield min(size, trials - start)


NAMES = ("value", "seeds", "common", "of_seeds", "of_examples")


def joined(parts: list[Contrast]) -> Contrast:
    return Contrast(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in NAMES),
        parts[0].examples,
        parts[0].units,
    )


def found(cell: Contrast) -> dict[str, float]:
    """The level, and the power as a share of an oracle's."""
    p = cell.p_value()
    low, high = cell.interval()
    assert np.array_equal(
        p < LEVEL, (low > 0) | (high < 0) | np.isnan(low)
    )  # one method; NaN where nothing varies
    spread = float(np.sqrt(np.mean(cell.value**2)))
    moved = (special.ndtri(1 - LEVEL / 2) + special.ndtri(0.8)) * spread
    oracle, ours = 0.0, 0.0
    for sign in (1, -1):
        one = replace(cell, value=cell.value + sign * moved)
        ours += float(np.mean(one.p_value() < LEVEL)) / 2
        oracle += float(np.mean(np.abs(one.value) > special.ndtri(1 - LEVEL / 2) * spread)) / 2
    return {"level": float(np.mean(p < LEVEL)), "power": ours / oracle, "smallest": moved}


def means(
    trials: int,
    size: int,
    runs: tuple[int, int],
    deviations: tuple[float, float],
    accuracy: float,
    own: float,
) -> dict[str, float]:
    rng = np.random.default_rng(
        [size, *runs, *(round(10 * one) for one in deviations), round(100 * accuracy)]
    )
    parts = []
    for count in batches(trials, size * (sum(runs) + 3)):
        thresholds = []
        for number, deviation in zip(runs, deviations, strict=True):
            middle, spread = skills(accuracy, deviation / 100)
            thresholds.append(middle + spread * rng.standard_normal((count, number)))
        right = answers(rng, np.concatenate(thresholds, axis=1).astype(np.float32), size, runs, own)
        figures, covariance = of_means(right)
        parts.append(
            contrast(
                figures[:, : runs[0]],
                figures[:, runs[0] :],
                covariance_of_examples(covariance, size),
            )
        )
    return found(joined(parts))


def single(trials: int, size: int, accuracy: float, own: float) -> dict[str, float]:
    """How often three tests of single runs reject: of answers that are right or wrong, the examples
    on which two systems differ say all there is."""
    rng = np.random.default_rng([size, round(100 * accuracy), round(10 * own)])
    threshold = np.full((1, 2), special.ndtri(accuracy), dtype=np.float32)
    rejected = np.zeros(3)
    for _ in range(trials):
        ours, theirs = answers(rng, threshold, size, (1, 1), own)[0]
        won, lost = int(np.sum(ours > theirs)), int(np.sum(ours < theirs))
        drawn = rng.multinomial(size, [won / size, lost / size, 1 - (won + lost) / size], size=1000)
        moved, none = 100 * (drawn[:, 0] - drawn[:, 1]) / size, np.zeros(1000)
        difference = 100 * (won - lost) / size
        p_values = [mcnemar_p(ours, theirs), bootstrap_p(moved, none, difference)]
        p_values.append(bootstrap_p(moved, none, difference, as_sacrebleu=True))
        rejected += [p is not None and p < LEVEL for p in p_values]
    return dict(zip(("level", "bootstrap", "sacrebleu"), rejected / trials, strict=True))


def normal(trials: int, runs: tuple[int, int], share: float, level: float) -> dict[str, float]:
    """The level on the normal model, over variances of seeds alone: ``share`` is that of the
    examples.
    """
    rng = np.random.default_rng([*runs, round(100 * share)])
    spreads = [rng.chisquare(one - 1, 20 * trials) / (one - 1) / one for one in runs]
    true = sum(1 / one for one in runs)
    common = np.full(20 * trials, share / (1 - share) * true)
    of_seeds = degrees_of_seeds(*spreads, *runs)
    half = half_width(sum(spreads), common, of_seeds, 10**6, np.full(common.shape, level))
    return {"level": float(np.mean(2 * special.ndtr(-half / np.sqrt(true + common))))}


def unequal(
    trials: int, size: int, runs: tuple[int, int], deviations: tuple[float, float]
) -> dict[str, float]:
    return means(trials, size, runs, deviations, 0.5, 0.25)


def drops(
    trials: int, size: int, runs: tuple[int, int], deviation: float, accuracies: tuple[float, float]
) -> dict[str, float]:
    """Drops from a control set to a test set of as many examples. A run that is good on one is good
    on the other: the correlation of its true accuracies, as quantiles, is 0.8."""
    rng = np.random.default_rng(
        [size, *runs, round(10 * deviation), *(round(100 * one) for one in accuracies)]
    )
    parts = []
    for count in batches(trials, 2 * size * (sum(runs) + 3)):
        skill = rng.standard_normal((count, sum(runs)))
        figures, covariances = [], []
        for accuracy in accuracies:
            middle, spread = skills(accuracy, deviation / 100)
            mixed = math.sqrt(0.8) * skill + math.sqrt(0.2) * rng.standard_normal(skill.shape)
            right = answers(rng, (middle + spread * mixed).astype(np.float32), size, runs, 0.25)
            found_figures, covariance = of_means(right)
            figures.append(found_figures)
            covariances.append(covariance)
        lost = figures[0] - figures[1]
        parts.append(
            contrast(
                lost[:, : runs[0]],
                lost[:, runs[0] :],
                covariance_of_examples(sum(covariances), size),
            )
        )
    return found(joined(parts))


def shared(
    trials: int, size: int, runs: int, deviation: float, correlation: float
) -> dict[str, float]:
    """Run i of both systems has one seed: their true accuracies are correlated.

    Beside it, the same data unpaired.
    """
    rng = np.random.default_rng([size, runs, round(10 * deviation), round(10 * correlation)])
    paired, apart = [], []
    middle, spread = skills(0.5, deviation / 100)
    for count in batches(trials, size * (2 * runs + 3)):
        common = math.sqrt(correlation) * np.tile(rng.standard_normal((count, runs)), 2)
        thresholds = middle + spread * (
            common + math.sqrt(1 - correlation) * rng.standard_normal((count, 2 * runs))
        )
        figures, covariance = of_means(
            answers(rng, thresholds.astype(np.float32), size, (runs, runs), 0.25)
        )
        given = (figures[:, :runs], figures[:, runs:], covariance_of_examples(covariance, size))
        paired.append(contrast(*given, shared_seeds=True))
        apart.append(contrast(*given))
    other = found(joined(apart))
    return found(joined(paired)) | {
        "level unpaired": other["level"],
        "power unpaired": other["power"],
    }


POOL, LEVELS, SAMPLES = 5000, 12, 500


@cache
def generated() -> tuple[Any, np.ndarray]:
    """BLEU of generated text: the metric, and the statistics ``[levels, examples, k]`` of better
    and better outputs.

    References of 5 to 25 words of a Zipf distribution; an output has words replaced, left out and
    swapped.
    """
    from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Bleu

    rng = np.random.default_rng(1)
    references = [
        [f"w{word}" for word in np.minimum(rng.zipf(1.3, rng.integers(5, 26)), 5000)]
        for _ in range(POOL)
    ]
    metric = Bleu([[" ".join(words)] for words in references], tokenize="none")
    found = []
    for wrong in np.linspace(0.75, 0.02, LEVELS):
        lines = []
        for words in references:
            said = [f"w{rng.integers(5000)}" if rng.random() < wrong else word for word in words]
            said = [word for word in said if rng.random() > wrong / 5] or said[:1]
            for place in np.flatnonzero(rng.random(len(said) - 1) < wrong / 4):
                said[place], said[place + 1] = said[place + 1], said[place]
            lines.append(" ".join(said))
        found.append(metric.statistics(lines))
    return metric, np.stack(found)


def texts(
    trials: int,
    metric: str,
    size: int,
    runs: tuple[int, int],
    deviation: float,
    height: str,
    own: float,
) -> dict[str, float]:
    """BLEU of generated text, and CTER instance and aggregate of groups of five rows that share a
    compound.

    ``deviation`` of the true figures of runs, in points, about; ``height``: where the figures are.
    """
    from cgbench.benchmark.measure.metrics.cter import Cter
    from cgbench.benchmark.score.comparison.significance import resampled_runs
    from cgbench.benchmark.score.comparison.variance_components import Contrasts

    rng = np.random.default_rng([size, *runs, round(10 * deviation), len(height), round(10 * own)])
    parts = []
    if metric == "BLEU":
        bleu, pool = generated()
        middle = {"low": -1.3, "middle": 0.0, "high": 1.3}[height]
        best, worst = (
            float(bleu.compute(some.sum(axis=(0, 1))[None])[0, 0]) for some in (pool[-4:], pool[:4])
        )
        slope = (best - worst) / 2.5
        compute: Callable[[np.ndarray], np.ndarray] = bleu.compute
    else:
        middle = float(special.ndtri({"low": 0.05, "middle": 0.3, "high": 0.9}[height]))
        slope = 100 * math.exp(-(middle**2) / 2) / math.sqrt(2 * math.pi)
        compute = lambda sums: Cter.compute(None, sums)  # type: ignore[arg-type]  # noqa: E731
    units = size if metric == "BLEU" else size // 5
    for start in range(0, trials, 10):
        systems = []
        for _ in range(min(10, trials - start)):
            thresholds = middle + deviation / slope * rng.standard_normal((1, sum(runs)))
            latent = latent_of(rng, thresholds, units, runs, own)[0]
            if metric == "BLEU":
                level = np.clip(np.rint(special.ndtr(latent) * LEVELS - 0.5), 0, LEVELS - 1).astype(
                    int
                )
                statistics = pool[level, rng.integers(POOL, size=size)[None, :]]
            else:
                wrong = (
                    latent[:, :, None] + 0.6 * rng.standard_normal((*latent.shape, 5)) > 0
                ).sum(axis=-1)
                ones = np.ones_like(wrong)
                statistics = np.stack([wrong, 5 * ones, wrong > 0, ones], axis=-1).astype(float)
            systems += [statistics[: runs[0]], statistics[runs[0] :]]
        samples = resampled_runs(systems, compute, SAMPLES, start)
        values = [compute(system.sum(axis=1)) for system in systems]
        for one in range(0, len(systems), 2):
            parts.append(
                Contrasts(
                    values[one : one + 2], covariance_of_samples(samples[one : one + 2], units)
                ).of(0, 1)
            )
    together = joined(parts)
    figures = [
        [getattr(together, name).reshape(trials, -1)[:, place] for name in NAMES]
        for place in (0, -1)
    ]
    first, last = (found(Contrast(*arrays, units, units)) for arrays in figures)
    return (
        first
        if metric == "BLEU"
        else first | {f"{name} aggregate": value for name, value in last.items()}
    )


def latent_of(
    rng: np.random.Generator,
    thresholds: np.ndarray,
    size: int,
    systems: tuple[int, ...],
    own: float,
) -> np.ndarray:
    """How well each run does on each example, ``[1, runs of all systems, size]``, normal around
    thresholds.
    """
    shared = rng.standard_normal((1, 1, size))
    parts = []
    for runs in systems:
        hard = math.sqrt(1 - own) * shared + math.sqrt(own) * rng.standard_normal((1, 1, size))
        parts.append(
            math.sqrt(HARD) * hard + math.sqrt(1 - HARD) * rng.standard_normal((1, runs, size))
        )
    return thresholds[:, :, None] + np.concatenate(parts, axis=1)


def cells(kind: str) -> Iterator[dict[str, Any]]:
    if kind == "single":
        for size, accuracy, own in itertools.product((50, *SIZES), ACCURACIES, (0.0, 0.25)):
            yield {"size": size, "accuracy": accuracy, "own": own}
    elif kind == "means":
        for own, size, runs, deviation, accuracy in itertools.product(
            (0.0, 0.25), SIZES, RUNS, DEVIATIONS, ACCURACIES
        ):
            yield {
                "size": size,
                "runs": runs,
                "deviations": (deviation, deviation),
                "accuracy": accuracy,
                "own": own,
            }
    elif kind == "normal":
        for level, runs, share in itertools.product(
            (0.05, 0.01, 0.001), RUNS[:5], (0.0, 0.03, 0.1, 0.3, 0.6, 0.9)
        ):
            yield {"runs": runs, "share": share, "level": level}
    elif kind == "unequal":
        for size, runs, pair in itertools.product(
            (300, 3000),
            ((2, 2), (3, 3), (5, 5), (5, 3), (2, 5), (2, 10)),
            ((3.0, 3.0), (6.0, 3.0), (3.0, 6.0), (6.0, 0.0), (0.0, 6.0)),
        ):
            yield {"size": size, "runs": runs, "deviations": pair}
    elif kind == "drops":
        for size, runs, deviation, pair in itertools.product(
            (100, 300, 1000, 3000), ((1, 1), *RUNS), DEVIATIONS, ((0.9, 0.7), (0.5, 0.3))
        ):
            yield {"size": size, "runs": runs, "deviation": deviation, "accuracies": pair}
    elif kind == "shared":
        for size, runs, deviation, correlation in itertools.product(
            (300, 3000), (2, 3, 5, 10), (0.0, 3.0, 6.0), (0.0, 0.8)
        ):
            yield {"size": size, "runs": runs, "deviation": deviation, "correlation": correlation}
    else:
        heights = itertools.cycle(("low", "middle", "high"))
        # A balanced fraction: sizes, deviations and runs meet each other about equally often.
        for metric in ("BLEU", "CTER"):
            for one, two in itertools.product(range(5), range(3)):
                number = (one + 2 * two) % 5
                runs = ((2, 2), (3, 3), (5, 5), (5, 3), (1, 5))[(one + number) % 5]
                size = SIZES[one] if metric == "BLEU" else max(SIZES[one], 300)
                yield {
                    "metric": metric,
                    "size": size,
                    "runs": runs,
                    "deviation": DEVIATIONS[(one + two) % 4],
                    "height": next(heights),
                    "own": 0.25 * (number % 2),
                }


KINDS: dict[str, Callable[..., dict[str, float]]] = {
    "single": single,
    "means": means,
    "normal": normal,
    "unequal": unequal,
    "drops": drops,
    "shared": shared,
    "texts": texts,
}


def run(kind: str, path: Path, trials: int) -> None:
    lines = path.read_text().splitlines() if path.exists() else []
    done = {
        json.dumps(
            {key: value for key, value in json.loads(line).items() if key in ("kind", "cell")}
        )
        for line in lines
    }
    for cell in cells(kind):
        key = json.dumps({"kind": kind, "cell": cell})
        if key in done:
            continue
        result = {
            name: round(float(value), 4) for name, value in KINDS[kind](trials, **cell).items()
        }
        with path.open("a") as file:
            file.write(json.dumps({"kind": kind, "cell": cell, "trials": trials} | result) + "\n")
        print(key, result, flush=True)


def table(path: Path) -> None:
    """Markdown: rows by examples and runs, columns by the deviation of runs, the lowest and the
    highest of the rest.
    """
    cells = [json.loads(line) for line in path.read_text().splitlines()]
    for kind in dict.fromkeys(one["kind"] for one in cells):
        some = [one for one in cells if one["kind"] == kind]
        groups: dict[str, list[dict[str, Any]]] = {}
        for one in some:
            accuracy = one["cell"].get("accuracy", one["cell"].get("metric", ""))
            groups.setdefault(
                "0.05 and 0.95" if accuracy in (0.05, 0.95) else str(accuracy), []
            ).append(one)
        for accuracy, chosen in groups.items():
            for measure in (
                name
                for name in chosen[0]
                if not name.startswith(("kind", "cell", "trials", "smallest"))
            ):
                print(f"\n{kind} {accuracy}, {measure}, {chosen[0]['trials']:,} trials per cell\n")
                _print(chosen, measure)
    levels = [one["level"] for one in cells]
    inside = sum(0.035 <= level <= 0.06 for level in levels)
    print(
        f"\n{len(levels)} cells, {inside} between 3.5 and 6.0%; {min(levels):.1%} to"
        f" {max(levels):.1%}"
    )


def _print(cells: list[dict[str, Any]], measure: str) -> None:
    columns: dict[tuple[str, str], dict[str, list[float]]] = {}
    for one in cells:
        cell = one["cell"]
        runs = cell.get("runs", "1")
        row = (
            f"{cell['size']:,}",
            (" and ".join(map(str, runs)) if isinstance(runs, list) else str(runs)),
        )
        deviation = cell.get("deviation", cell.get("deviations", ""))
        column = str(
            deviation[0] if isinstance(deviation, list) and len(set(deviation)) == 1 else deviation
        )
        column += f", correlation {cell['correlation']}" if "correlation" in cell else ""
        if measure in one:
            columns.setdefault(row, {}).setdefault(column, []).append(one[measure])
    head = list(dict.fromkeys(name for row in columns.values() for name in row))
    print(f"| n | runs | {' | '.join(head)} |\n|---|---|{'---|' * len(head)}")
    for row, found in columns.items():
        shown = []
        for name in head:
            low, high = (
                100 * min(found.get(name, [math.nan])),
                100 * max(found.get(name, [math.nan])),
            )
            shown.append(
                ""
                if math.isnan(low)
                else f"{low:.1f}"
                if low == high
                else f"{low:.1f} to {high:.1f}"
            )
        print(f"| {' | '.join(row)} | {' | '.join(shown)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=[*KINDS, "table"])
    parser.add_argument("--out", type=Path, required=True, help="the file of results")
    parser.add_argument("--trials", type=int, default=2000)
    given = parser.parse_args()
    if given.kind == "table":
        table(given.out)
    else:
        run(given.kind, given.out, given.trials)


if __name__ == "__main__":
    main()
