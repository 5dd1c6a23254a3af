"""How much a selection depends on its members: ensembles drawn from them score the same translations.

Drawn ensembles score the translations of all members together, so only the measure differs; a separate ensemble would
also translate differently. Subsets share members with the whole, and larger ones agree more with it, whatever the
quality of the measure. Two subsets without a common member (``apart``) do not have this bias.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cgbench.benchmark.candidates.correlations import spearman
from cgbench.benchmark.candidates.selection import seeded_hash, select_rows, selection_sizes
from cgbench.benchmark.candidates.uncertainty import candidate_lines
from cgbench.benchmark.release.recompute import ensemble_members, reads_originals
from cgbench.benchmark.validity.agreement import WINDOW
from cgbench.errors import InputError, argument
from cgbench.progress import bar

if TYPE_CHECKING:
    from cgbench.benchmark.release.release import Release

FEWEST = 3
"""Subsets of two members would be the whole."""
SMALLEST = 2
"""A single member has no disagreement."""


@dataclass(frozen=True)
class DrawnEnsembles:
    """Ensembles of ``members`` members, compared.

    :param how: ``all``: with the ensemble of all members; ``apart``: with a disjoint one; ``bootstrap``: members drawn
        with replacement, with all.
    :param rho: Spearman's correlation of the measure, for each pair; ``window``: the share of the window in common.
    """

    members: int
    how: str
    rho: tuple[float, ...]
    window: tuple[float, ...]


@dataclass(frozen=True)
class Draws:
    """The selections of ensembles drawn from all ``members``, on ``candidates``; ``by_chance``: the share of the window
    that any two have in common by chance."""

    measure: str
    candidates: int
    members: int
    by_chance: float
    draws: tuple[DrawnEnsembles, ...]


def candidate_texts(release: Release) -> tuple[list[str], list[str]]:
    """The sources and targets of the candidates as the members read them, in the order of their table."""
    if not release.finished:
        source, target = (release.lines(side, normalised=not reads_originals(release)) for side in ("source", "target"))
        return source, target
    folder = release.step("candidates")
    if folder is None:
        raise InputError(
            f"{release.folder}: the text of the candidates is in the workspace of the release (FOLDER.work), which "
            f"is not here; name it with {argument('work')}, run the command of the card again, or pass hypotheses of "
            f"the test set with {argument('control_systems')}"
        )
    return candidate_lines(folder, original=reads_originals(release))


def draw_members(
    release: Release, *, draws: int, sample: int, seed: int, device: str = "cpu", batch: int = 500
) -> Draws:
    """Draw ensembles of every size from 2 members on, ``draws`` of each, and compare their selections.

    :param sample: the number of candidates, chosen by a seeded hash of their content; cuts are shares of them.
    :raises InputError: fewer than three members, missing members or text, or a measure that is not of the translation.
    """
    from cgbench.models.uncertainty import SEQUENCE_MEASURES

    # Selections of fewer members need a measure of the translation, and the members.
    measure = str(release.configuration["uncertainty"])
    if (by := release.configuration.get("select_by", "uncertainty")) != "uncertainty":
        raise InputError(f"{argument('draws')}: {release.folder} selects by {by}, which does not depend on members")
    if measure not in SEQUENCE_MEASURES:
        raise InputError(
            f"{argument('draws')}: {measure} cannot be computed from one translation, as drawn ensembles need"
        )
    folders = ensemble_members(release)
    if isinstance(folders, str):
        raise InputError(f"{release.folder}: {folders}; required by {argument('draws')}")
    if len(folders) < FEWEST:
        raise InputError(
            f"{release.folder}: {len(folders)} member{'s' * (len(folders) > 1)}, but {argument('draws')} needs at "
            f"least {FEWEST}; build with more members to measure the stability"
        )
    # A sample of the candidates, and the ensembles to draw.
    sources, _ = candidate_texts(release)
    table = release.table().to_pydict()
    content = np.array(table["content"], np.uint64)
    rows = np.sort(np.argsort(seeded_hash(content, seed, "sample"), kind="stable")[:sample])
    columns = {name: [values[row] for row in rows] for name, values in table.items()}
    plan = plan_draws(len(folders), draws, seed)
    subsets = sorted(
        {subset for pair in plan.values() for some in pair for subset in some} | {tuple(range(len(folders)))}
    )
    # The measure by every ensemble, the windows that it selects, and what two windows have in common.
    scored = _score(folders, subsets, measure, [sources[row] for row in rows], columns["hypothesis"], device, batch)
    windows = {members: _window(release, columns, measure, values) for members, values in scored.items()}
    ensembles = [
        DrawnEnsembles(count, how, *_compare(pairs, scored, windows))
        for (count, how), pairs in sorted(plan.items())
        if pairs
    ]
    some = len(next(iter(windows.values())))
    return Draws(measure, len(rows), len(folders), some / len(rows), tuple(ensembles))


Members = tuple[int, ...]


def plan_draws(members: int, draws: int, seed: int) -> dict[tuple[int, str], list[tuple[Members, Members]]]:
    """The pairs of ensembles to compare: by size and method of drawing."""
    chance = random.Random(seed)
    everyone = tuple(range(members))
    plan: dict[tuple[int, str], list[tuple[Members, Members]]] = {}
    for members_per_draw in range(SMALLEST, members):
        orders = [chance.sample(everyone, members) for _ in range(draws)]
        subsets = {tuple(sorted(order[:members_per_draw])) for order in orders}
        plan[members_per_draw, "all"] = [(subset, everyone) for subset in sorted(subsets)]
        if 2 * members_per_draw <= members:
            pairs = {
                tuple(
                    sorted(
                        (tuple(sorted(o[:members_per_draw])), tuple(sorted(o[members_per_draw : 2 * members_per_draw])))
                    )
                )
                for o in orders
            }
            plan[members_per_draw, "apart"] = [(first, second) for first, second in sorted(pairs)]
    drawn = {tuple(sorted(chance.choices(everyone, k=members))) for _ in range(draws)}
    plan[members, "bootstrap"] = [(some, everyone) for some in sorted(drawn) if len(set(some)) >= SMALLEST]
    return plan


def _score(
    folders: Sequence[Path],
    subsets: Sequence[Members],
    measure: str,
    sources: Sequence[str],
    hypotheses: Sequence[str],
    device: str,
    batch: int,
) -> dict[Members, np.ndarray]:
    """The measure of each hypothesis under each drawn ensemble."""
    from cgbench.models.ensemble import Ensemble

    ensemble = Ensemble.open(folders, device)
    tokens = ensemble.subwords.encode_target(hypotheses)
    scored: dict[Members, list[np.ndarray]] = {members: [] for members in subsets}
    with bar(len(sources) * len(subsets), "drawn ensembles", "pair") as progress:
        for start in range(0, len(sources), batch):
            batch_rows = slice(start, start + batch)
            for members in subsets:
                drawn = replace(ensemble, members=tuple(ensemble.members[member] for member in members))
                scored[members].append(drawn.score(sources[batch_rows], tokens[batch_rows])[measure])
                progress.update(len(sources[batch_rows]))
    return {members: np.concatenate(pieces) for members, pieces in scored.items()}


def _window(release: Release, columns: Mapping[str, Sequence[Any]], measure: str, values: np.ndarray) -> np.ndarray:
    """The candidates in the window if the measure had these values."""
    total = release.table().num_rows
    sizes = {
        key: round(amount * len(values) / total)
        for key, amount in selection_sizes(release.configuration, total).items()
    }
    sizes |= {"window": max(1, sizes["window"]), "select": 1}
    _, stages = select_rows({**columns, measure: values.tolist()}, release.selection_settings, sizes)
    return np.flatnonzero(np.isin(stages, WINDOW))


def _compare(
    pairs: Sequence[tuple[Members, Members]],
    scored: Mapping[Members, np.ndarray],
    windows: Mapping[Members, np.ndarray],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    rhos = [spearman(scored[first], scored[second]) for first, second in pairs]
    shares = [len(np.intersect1d(windows[first], windows[second])) / len(windows[first]) for first, second in pairs]
    return tuple(0.0 if rho is None else rho for rho in rhos), tuple(shares)
