"""A cut given degree, a plain one, and the one that the estimated noise chooses, by the share of
planted noise.

    python lab/noise/grid.py real.npz    # what :func:`measure` saved

Every good candidate has a noisy version, so that noise of any share can be planted. On the demo, a
quarter is misaligned and the source of the rest is garbled as in its pool; on real text, noise is
of the types of ``planting``. Noise is planted evenly, or five times as often in the highest third
by degree.
"""

import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from planting import KINDS, Pair, Text, misaligned
from tables import dropped, mean_of, table

from cgbench.benchmark.candidates.ensemble_quality import PAIRED_ANEW
from cgbench.benchmark.candidates.noise_share import choose_cut
from cgbench.benchmark.candidates.selection import GIVEN_DEGREE, given_degree, parts_of_candidates
from cgbench.benchmark.candidates.uncertainty import candidate_lines
from cgbench.benchmark.release.release import Release
from cgbench.data_recipes.demo.corpus import DemoCorpus
from cgbench.data_recipes.demo.grammar import RandomDraw
from cgbench.models.checkpoints import member_folders
from cgbench.models.ensemble import Ensemble

PLANTINGS, SHARES = 15, (0.0, 0.01, 0.05, 0.10, 0.20, 0.40)
TILTS = {"evenly": 1.0, "mostly at high degrees": 5.0}
MEASURE, DEFAULT = "reference_pe_stu", 1 / 20
Columns = Mapping[str, np.ndarray]
Spoil = Callable[[int, random.Random], Pair]


def garbled(pairs: Sequence[Pair], seed: int) -> Spoil:
    """Noise as in the pool of the demo."""
    corpus = DemoCorpus(RandomDraw(seed), 20_000)
    text = Text(pairs, (), corpus)  # type: ignore[arg-type]  # misaligned needs no vocabulary

    def spoil(row: int, chance: random.Random) -> Pair:
        source, target = pairs[row]
        if chance.random() < 0.25:
            return misaligned(row, text, chance)
        while (words := corpus.garble(source.split(" "), target.split(" "))) == source.split(" "):
            pass
        return " ".join(words), target

    return spoil


def planted(text: Text) -> Spoil:
    """Noise of the types of ``planting``, each as often."""

    def spoil(row: int, chance: random.Random) -> Pair:
        for kind in chance.sample(list(KINDS), len(KINDS)):
            if (pair := KINDS[kind](row, text, chance)) and pair != text.pairs[row]:
                return pair
        return misaligned(row, text, chance)

    return spoil


def measure(release: Release, good: np.ndarray, spoil: Spoil, saved: Path) -> Columns:
    """The good candidates, and of each a noisy version (names that begin with ``noisy_``); and
    ``shuffled`` pairs.
    """
    if not saved.is_file():
        step, ngrams = release.step("candidates"), release.ngrams()
        assert step is not None and ngrams is not None
        pairs, chance = list(zip(*candidate_lines(step), strict=True)), random.Random(1)
        noisy = [spoil(row, chance) for row in range(len(pairs))]
        spread = [row * len(pairs) // PAIRED_ANEW for row in range(PAIRED_ANEW)]
        turned = spread[PAIRED_ANEW // 2 :] + spread[: PAIRED_ANEW // 2]
        shuffled = [
            (pairs[row][0], pairs[other][1]) for row, other in zip(spread, turned, strict=True)
        ]
        ensemble = Ensemble.open(member_folders(release.ensemble))
        losses = [
            ensemble.score(
                [source for source, _ in some],
                ensemble.subwords.encode_target([pair[1] for pair in some]),
            )
            for some in (noisy, shuffled)
        ]
        rows = release.table().to_pydict()
        names = (MEASURE, "degree", "target_length", "rmi")
        np.savez(
            saved,
            shuffled=losses[1]["pe_stu"],
            **{name: np.array(rows[name], float)[good] for name in names},
            **{f"noisy_{MEASURE}": losses[0]["pe_stu"][good]},
            noisy_degree=np.array([ngrams.degree(target) for _, target in noisy])[good],
            noisy_target_length=np.array([len(target.split()) for _, target in noisy])[good],
            same_source=np.array(
                [pair[0] == old[0] for pair, old in zip(noisy, pairs, strict=True)]
            )[good],
        )
    return dict(np.load(saved))


def plantings(
    columns: Columns, share: float, tilt: float
) -> Iterator[tuple[dict[str, np.ndarray], np.ndarray]]:
    """Sets of candidates, and which of them are noise."""
    weights = np.where(
        columns["noisy_degree"] >= np.quantile(columns["noisy_degree"], 2 / 3), tilt, 1.0
    )
    for number in range(PLANTINGS):
        draw, noise = np.random.default_rng(number), np.zeros(len(weights), bool)
        rows = draw.choice(
            len(weights), round(share * len(weights)), replace=False, p=weights / weights.sum()
        )
        noise[rows] = True
        names = (MEASURE, "degree", "target_length")
        yield (
            {name: np.where(noise, columns[f"noisy_{name}"], columns[name]) for name in names},
            noise,
        )


def cells(columns: Columns, share: float, tilt: float) -> list[str]:
    """The estimate, and for the plain cut, that given degree and the chosen one: noise removed,
    noise of the highest third by degree removed, good pairs of the highest and of the lowest third
    dropped, %."""
    config = {
        "drop_reference": "1/20",
        "drop_by": MEASURE + GIVEN_DEGREE,
        "seed": 1,
        "degree_side": "target",
    }
    quality = {"candidates": {"shuffled": float(np.median(columns["shuffled"]))}, "warnings": []}
    rows = []
    for some, noise in plantings(columns, share, tilt):
        values, degree = some[MEASURE], some["degree"]
        some["content"] = np.arange(len(values))
        given = given_degree(values, parts_of_candidates(some, config))
        noise_cut = choose_cut(some, config, quality)
        assert noise_cut is not None
        high, low = degree >= np.quantile(degree, 2 / 3), degree < np.quantile(degree, 1 / 3)
        row = [
            100 * noise_cut["share"],
            100 * noise_cut["part"],
            100.0 * (noise_cut["cut"] == MEASURE),
        ]
        for way in (values, given, values if noise_cut["cut"] == MEASURE else given):
            gone = dropped(way, max(share, DEFAULT))
            for group in (noise, noise & high, ~noise & high, ~noise & low):
                row.append(100 * gone[group].mean() if group.any() else np.nan)
        rows.append(row)
    estimate, highest, plain, *figures = mean_of(rows)
    texts = ["-" if np.isnan(figure) else f"{figure:.1f}" for figure in figures]
    of_ways = [" / ".join(texts[at : at + 4]) for at in (0, 4, 8)]
    return [f"{share:.0%}", f"{estimate:.1f}", f"{highest:.1f}", f"{plain:.0f}", *of_ways]


def grid(columns: Columns) -> str:
    """The tables of one corpus."""
    head = [
        "planted",
        "estimated",
        "in one part",
        "plain chosen (%)",
        "plain",
        "given degree and length",
        "chosen",
    ]
    tables = [
        table([cells(columns, share, tilt) for share in SHARES], head) for tilt in TILTS.values()
    ]
    return "\n\n".join(f"{name}:\n\n{text}" for name, text in zip(TILTS, tables, strict=True))


if __name__ == "__main__":
    print(grid(dict(np.load(sys.argv[1]))))
