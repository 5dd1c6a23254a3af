"""Tables and pictures of the second real run (docs/lab/second-run.md), from what
``second_run.py`` judged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from second_run_effects import (
    LEXICAL,
    MATCHED,
    WITHOUT,
    Build,
    answer,
    build_of,
    curve_of,
    differences,
    effect_of,
    influences,
    match,
    missing_effect,
    over_pools,
)

from cgbench.benchmark.release.release import Release

LEXICAL_FILE = "lexical.npy"
HALF_OF_THE_LOSS = 1.1
DIRECTIONS = ("de-en", "en-de")
BINS = 6
NORMAL = 1.96


@dataclass(frozen=True)
class Study:
    """What there is: builds and runs by name. ``work`` is the folder of ``second_run.py``."""

    work: Path
    directions: Sequence[str]
    pools: Sequence[str]
    systems: Sequence[str]
    seeds: Sequence[int]

    def folder(self, direction: str, pool: str) -> Path:
        """The folder of a build."""
        return self.work / "builds" / direction / pool

    def judged(self, direction: str, pool: str, run: str) -> dict[str, np.ndarray] | None:
        """The result of a run, if it is finished."""
        file = self.folder(direction, pool) / "judged" / f"{run}.npz"
        return dict(np.load(file)) if file.exists() else None

    def runs(self, direction: str, pool: str) -> dict[str, list[dict[str, np.ndarray]]]:
        """The finished runs of each system, in the order of seeds."""
        runs = {}
        for system in self.systems:
            results = (self.judged(direction, pool, f"{system}-{seed}") for seed in self.seeds)
            runs[system] = [result for result in results if result is not None]
        return runs


def build_columns(folder: Path) -> tuple[Build, np.ndarray]:
    """What the analysis needs to know of the candidates of a build; and their degrees."""
    columns = Release.open(folder / "release").table().to_pydict()
    names = ("degree", "rmi", "source_length", "source_rarest", "reference_pe_stu")
    values = [np.array(columns[name], float) for name in names]
    references = [values.pop()]
    if (folder / LEXICAL_FILE).exists():
        references.append(np.load(folder / LEXICAL_FILE))
    usable = np.array([not stage.startswith("dropped") for stage in columns["stage"]])
    return build_of(*values, references, usable), values[0]


class Variants(NamedTuple):
    """Effects that decide nothing. ``strict``: four of five probes must pass; ``no_knowledge``:
    without the regression on knowledge; the rest by what pairs are matched in beside length and
    rarest word: nothing, the reference's likelihood by Model 1, or that of the estimate; over given
    pairs or over all, given or not.
    """

    strict: float
    no_knowledge: float
    given_without: float
    given_lexical: float
    all_without: float
    all_lexical: float
    all_pairs: float


@dataclass(frozen=True)
class BuildResult:
    """The effects of a build. ``effects`` float ``[systems, seeds]``, NaN where a run is not
    finished; ``by_model_1``: the same for the second estimate, matched by Model 1's likelihood;
    ``half_width`` is that of its own 95% interval, over sentences and seeds.
    """

    name: tuple[str, str]
    candidates: int
    given: float
    pairs: float
    lost: float
    imbalance: float
    effects: np.ndarray
    by_model_1: np.ndarray
    half_width: float
    variants: Variants
    curves: np.ndarray
    chrf: np.ndarray

    @property
    def finished(self) -> int:
        """The number of finished runs."""
        return int(np.isfinite(self.effects).sum())

    @property
    def effect(self) -> float:
        """The mean over systems of their mean over seeds."""
        return float(np.nanmean(self.of_systems))

    @property
    def of_systems(self) -> np.ndarray:
        """The mean over seeds of each system, ``[systems]``; NaN for one without a finished run."""
        return finite_mean(self.effects.T)


def finite_mean(values: np.ndarray) -> np.ndarray:
    """The mean over the first axis of values that are not NaN; NaN where all are."""
    finite = np.isfinite(values)
    counts = finite.sum(axis=0)
    sums = np.where(finite, values, 0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def result_of(study: Study, direction: str, pool: str) -> BuildResult | None:
    """The effects of a build, if any run is finished."""
    folder, runs = study.folder(direction, pool), study.runs(direction, pool)
    if not any(runs.values()):
        return None
    build, degree = build_columns(folder)
    everything, sides = np.ones(len(degree), bool), build.high | build.low
    every_pair = {
        covariates: match(build, everything, covariates)
        for covariates in (WITHOUT, LEXICAL, MATCHED)
    }
    effects = np.full((len(study.systems), len(study.seeds)), np.nan)
    by_model_1, chrf = np.full_like(effects, np.nan), np.full_like(effects, np.nan)
    rows, moved, curves = [], [], []
    for number, of_system in enumerate(runs.values()):
        for seed, run in enumerate(of_system):
            score, given = run["score"], run["given"]
            knowledge = run["knowledge"]
            effect = effect_of(build, given, score, pairs=run["pairs"], knowledge=knowledge)
            effects[number, seed], chrf[number, seed] = effect.effect, score.mean()
            strict = run["strict"]
            lexical = effect_of(build, given, score, LEXICAL, knowledge=knowledge)
            by_model_1[number, seed] = lexical.effect
            others = [
                effect_of(build, strict, score, knowledge=knowledge),
                effect_of(build, given, score, pairs=run["pairs"]),
                effect_of(build, given, score, WITHOUT, knowledge=knowledge),
                lexical,
                *(
                    effect_of(build, everything, score, covariates, pairs)
                    for covariates, pairs in every_pair.items()
                ),
            ]
            shares = [given[sides].mean(), effect.pairs, effect.lost, effect.imbalance]
            rows.append([*shares, *(other.effect for other in others)])
            moved.append(influences(build, given, score, run["pairs"]))
            curves.append(
                [
                    curve_of(degree, build, inside, score, BINS, covariates)
                    for inside, covariates in (
                        (given, MATCHED),
                        (everything, MATCHED),
                        (everything, WITHOUT),
                    )
                ]
            )
    seeds = [values[np.isfinite(values)] for values in effects]
    spreads = [values.var(ddof=1) for values in seeds if len(values) > 1]
    variance = (np.mean(moved, axis=0) ** 2).sum() + np.mean(spreads or [0.0]) / len(rows)
    given_share, pairs, lost, imbalance, *others = np.nanmean(rows, axis=0)
    return BuildResult(
        (direction, pool),
        len(degree),
        100 * given_share,
        pairs,
        lost,
        imbalance,
        effects,
        by_model_1,
        NORMAL * float(np.sqrt(variance)),
        Variants(*others),
        finite_mean(np.array(curves)),
        chrf,
    )


def table(rows: Sequence[Sequence[Any]], head: Sequence[str]) -> str:
    """Markdown; all but the first column to the right."""
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows), ""])


def print_builds(study: Study, results: Sequence[BuildResult]) -> None:
    """The builds, and the effects of their systems."""
    rows: list[list[str]] = []
    of_systems, of_variants = [], []
    for result in results:
        name = f"{result.name[1]}, {result.name[0]}"
        low, high = (result.effect + sign * result.half_width for sign in (-1, 1))
        rows.append([name, str(result.finished), f"{result.candidates:,}", f"{result.given:z.1f}"])
        rows[-1] += [f"{result.pairs:.0f}", f"{result.lost:.0f}", f"{result.imbalance:.2f}"]
        rows[-1] += [f"{result.effect:z.1f} [{low:z.1f}, {high:z.1f}]"]
        of_variants.append([name, *(f"{value:z.1f}" for value in result.variants)])
        cells = [
            " ".join(f"{value:z.1f}" for value in values[np.isfinite(values)]) or "-"
            for values in result.effects
        ]
        of_systems.append([name, *cells, f"{np.nanmean(result.chrf):z.1f}"])
    head = ["build", "runs", "candidates", "given, %", "pairs per run", "unmatched", "imbalance"]
    means = np.mean([result.variants for result in results], axis=0)
    of_variants.append(["mean", *(f"{value:z.1f}" for value in means)])
    print(table(rows, [*head, "effect"]))
    print(
        table(
            of_variants,
            ["effect, deciding nothing", *(name.replace("_", " ") for name in Variants._fields)],
        )
    )
    print(table(of_systems, ["effect by seed", *study.systems, "chrF"]))


def print_answer(study: Study, results: Sequence[BuildResult]) -> None:
    """The interval over pools, if every build is complete; and that of the second estimate, if
    every build from English is.
    """
    runs = len(study.systems) * len(study.seeds)
    complete = {result.name: result for result in results if result.finished == runs}
    estimates = (
        ("estimate", DIRECTIONS, lambda result: result.effects),
        ("second estimate, English to German", DIRECTIONS[1:], lambda result: result.by_model_1),
    )
    for title, directions, effects_of in estimates:
        names = [[(direction, pool) for direction in directions] for pool in study.pools]
        finished = sum(name in complete for of_pool in names for name in of_pool)
        if finished < len(study.pools) * len(directions):
            of_builds = len(study.pools) * len(directions)
            print(f"{title}: not decided, {finished} of {of_builds} builds are complete\n")
            continue
        effects = np.array([[effects_of(complete[name]) for name in of_pool] for of_pool in names])
        interval = over_pools(effects)
        print(f"{title}: {interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]")
        print(f"answer: {answer(interval, HALF_OF_THE_LOSS)}\n")
        of_systems = {system: effects[:, :, at] for at, system in enumerate(study.systems)}
        rows = [
            [f"{one} - {two}", f"{gap.mean:.2f} [{gap.low:.2f}, {gap.high:.2f}]", f"{p:.3f}"]
            for one, two, gap, p in differences(of_systems)
        ]
        print(table(rows, ["difference", "95%", "p (Holm)"]))


def print_controls(study: Study, results: Sequence[BuildResult]) -> None:
    """The memory's effect in chrF, the effects of all in missing parts, and the interval of
    Apertium's over the pools.
    """
    by_name = {result.name: result for result in results}
    rows, missing, of_apertium = [], [], []
    for direction in study.directions:
        for pool in study.pools:
            if (direction, pool) not in by_name:
                continue
            build, _ = build_columns(study.folder(direction, pool))
            cells = []
            for system in ("memory", "apertium", *study.systems):
                names = [system] if system in ("memory", "apertium") else []
                names = names or [f"{system}-{seed}" for seed in study.seeds]
                judged = (study.judged(direction, pool, name) for name in names)
                runs = [run for run in judged if run is not None]
                shares = [
                    100 * missing_effect(build, run["given"], run["missing"], run["chance"])
                    for run in runs
                ]
                cells.append(f"{np.mean(shares):z.1f}" if shares else "-")
                if system == "apertium":
                    of_apertium += shares
            name = f"{pool}, {direction}"
            missing.append([name, *cells])
            if (memory := study.judged(direction, pool, "memory")) is not None:
                given, known = memory["given"], memory["knowledge"]
                effect = effect_of(
                    build, given, memory["score"], pairs=memory["pairs"], knowledge=known
                )
                largest = np.nanmax(by_name[direction, pool].of_systems)
                rows.append(
                    [name, f"{100 * given.mean():z.1f}", effect.pairs, f"{effect.effect:z.1f}"]
                )
                by_words = effect_of(build, given, memory["score"], LEXICAL, knowledge=known)
                rows[-1] += [f"{largest:z.1f}", f"{by_words.effect:z.1f}"]
    print(
        table(
            rows,
            ["memory", "given, %", "pairs", "effect", "largest of a system", "memory, by Model 1"],
        )
    )
    print(table(missing, ["missing parts, %", "memory", "apertium", *study.systems]))
    if len(of_apertium) == len(study.pools):
        interval = over_pools(np.array(of_apertium)[:, None, None, None])
        ends = f"[{interval.low:.1f}, {interval.high:.1f}]"
        print(f"apertium, missing parts: {interval.mean:.1f} {ends}\n")


def draw(study: Study, results: Sequence[BuildResult]) -> None:
    """The forest plot and the curve by degree, in ``figures``."""
    from matplotlib.figure import Figure

    folder = study.work / "figures"
    folder.mkdir(exist_ok=True)
    # The effect of each build, and its variants.
    figure = Figure(figsize=(7, 0.5 * len(results) + 1.6), layout="constrained")
    axes, rows = figure.subplots(), np.arange(len(results))[::-1]
    errors = [result.half_width for result in results]
    effects = [result.effect for result in results]
    axes.errorbar(effects, rows, xerr=errors, fmt="o", capsize=3, label="estimate")
    for name, mark, label in (
        ("given_lexical", "s", "parts known, Model 1's likelihood"),
        ("given_without", "D", "parts known, no likelihood"),
        ("all_without", "x", "all pairs, no likelihood"),
    ):
        values = [getattr(result.variants, name) for result in results]
        axes.plot(values, rows - 0.2, mark, color="grey", markersize=5, label=label)
    axes.set_yticks(rows, [f"{result.name[1]}, {result.name[0]}" for result in results])
    for value, style in ((0.0, "-"), (HALF_OF_THE_LOSS, ":")):
        axes.axvline(value, color="grey", linestyle=style, linewidth=1)
    axes.set(xlabel="chrF lost at high degree")
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize="small")
    figure.savefig(folder / "second-run-forest.svg")
    # chrF by degree, against the mean of all candidates.
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    grid = np.atleast_1d(figure.subplots(1, len(results), sharey=True))
    for axes, result in zip(grid, results, strict=True):
        for values, style, label in zip(
            result.curves,
            ("o-", "x--", "d:"),
            ("parts known", "all", "all, no likelihood"),
            strict=True,
        ):
            drawn = np.isfinite(values)
            heights = (values - np.nanmean(result.chrf))[drawn]
            axes.plot(np.arange(1, BINS + 1)[drawn], heights, style, label=label, markersize=4)
        axes.axhline(0, color="grey", linewidth=0.5)
        axes.set(title="\n".join(result.name[::-1]), xlabel="degree, sixths")
        axes.title.set_fontsize("small")
    grid[0].set(ylabel="chrF minus the mean")
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    figure.savefig(folder / "second-run-degree.svg")


def print_report(
    work: Path,
    directions: Sequence[str],
    pools: Sequence[str],
    systems: Sequence[str],
    seeds: Sequence[int],
) -> None:
    """Print all tables, and draw the pictures."""
    study = Study(work, directions, pools, systems, seeds)
    found = (result_of(study, direction, pool) for direction in directions for pool in pools)
    results = [result for result in found if result is not None]
    if not results:
        print("no run is finished")
        return
    print_builds(study, results)
    print_answer(study, results)
    print_controls(study, results)
    draw(study, results)
