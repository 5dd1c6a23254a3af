"""Noise of known kinds in the demo's candidates: the estimate of its share, and the cut it chooses.

    python lab/noise/kinds.py WORK SEED [SEED ...]    # WORK/demo-SEED are finished demos

Every good candidate has a noisy version of each kind, so that any share can be planted. *Before* is
the estimate that knows misaligned pairs only (twice the share that is less likely than the median
of shuffled pairs). For each kind and share, means over plantings and seeds: the estimates; how
often each chooses the plain cut; and what the preset ``small`` removes, with 1/20 and with the size
that is advised or, for little noise, chosen (``auto``).
"""

import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from planting import Pair, Plant, Text, cut, misaligned, misordered
from tables import dropped, table

from cgbench.benchmark.candidates.noise_measures import (
    NOISE,
    ScrambledSources,
    UnlikelyPairs,
    scrambled_sources,
    with_similar_references,
)
from cgbench.benchmark.candidates.noise_share import FAR_ABOVE, RARE, SHUFFLED, choose_cut
from cgbench.benchmark.candidates.selection import GIVEN_DEGREE, given_degree, parts_of_candidates
from cgbench.benchmark.candidates.uncertainty import candidate_lines
from cgbench.benchmark.release.release import Release
from cgbench.data_recipes.demo.corpus import DemoCorpus
from cgbench.data_recipes.demo.grammar import RandomDraw
from cgbench.models.checkpoints import member_folders
from cgbench.models.ensemble import Ensemble
from cgbench.text.nearest import NearestSources

PLANTINGS, SHARES, HARD = 5, (0.05, 0.20, 0.40), 4 / 15
MEASURE = "reference_pe_stu"
SCORES = (MEASURE, "reference_log_prob", "degree", "target_length", "source_length")
CONFIG = {"drop_by": MEASURE + GIVEN_DEGREE, "seed": 1, "degree_side": "target"}
MIXED = ("misaligned", "similar", "cut by half", "cut by 30%", "copy", "scrambled")
CLEAN, ALL_KINDS = "clean", "six kinds mixed"


def nearest_others(sources: Sequence[str]) -> list[int]:
    """The row of the most similar other source: nearest in the other half of the sources."""
    halves = [range(0, len(sources), 2), range(1, len(sources), 2)]
    nearest = [0] * len(sources)
    for rows, others in (halves, halves[::-1]):
        index = NearestSources(sources[row] for row in others)
        for row, neighbour in zip(rows, index.nearest([sources[row] for row in rows]), strict=True):
            nearest[row] = others[max(0, neighbour.row)]
    return nearest


def kinds_of(pairs: Sequence[Pair], seed: int) -> dict[str, Plant]:
    """What makes each kind of noise."""
    nearest = nearest_others([source for source, _ in pairs])
    corpus = DemoCorpus(RandomDraw(seed), 20_000)

    def similar(row: int, text: Text, chance: random.Random) -> Pair:
        return pairs[row][0], pairs[nearest[row]][1]

    def copy(row: int, text: Text, chance: random.Random) -> Pair:
        return pairs[row][0], pairs[row][0]

    def garbled(row: int, text: Text, chance: random.Random) -> Pair:
        source, target = pairs[row]
        while (words := corpus.garble(source.split(" "), target.split(" "))) == source.split(" "):
            pass
        return " ".join(words), target

    return {
        "misaligned": misaligned,
        "similar": similar,
        "cut by half": cut(0.5),
        "cut by 30%": cut(0.3),
        "copy": copy,
        "scrambled": misordered(0),
        "garbled as in the demo": garbled,
    }


class Candidates:
    """The good candidates of a demo, and a noisy version of each kind; losses are saved."""

    def __init__(self, folder: Path, seed: int) -> None:
        release = Release.open(folder / "release")
        rows, step = release.table().to_pydict(), release.step("candidates")
        ensemble, ngrams = Ensemble.open(member_folders(release.ensemble)), release.ngrams()
        assert step is not None and ngrams is not None
        labels = (folder / "corpus" / "pool.kinds").read_text().split()
        good = np.array([labels[line - 1] != "noise" for line in rows["line"]])
        every = list(zip(*candidate_lines(step), strict=True))
        pairs = [pair for pair, is_good in zip(every, good, strict=True) if is_good]
        text, chance = Text(pairs, (), None), random.Random(seed)  # type: ignore[arg-type]
        self.pairs = {CLEAN: pairs}
        for name, plant in kinds_of(pairs, seed).items():
            self.pairs[name] = [plant(row, text, chance) or pairs[row] for row in range(len(pairs))]
        self.training = (folder / "corpus" / "train.de").read_text().split("\n")[:-1]
        self.fixed = {
            name: np.array(rows[name], float)[good] for name in ("rmi", "pe_stu", "log_prob")
        }
        saved = folder / "kinds.json"
        if not saved.is_file():
            saved.write_text(json.dumps(self._scores(ensemble, ngrams, folder)))
        scores = json.loads(saved.read_text())
        self.columns = {
            kind: {name: np.array(scores[kind][name]) for name in SCORES} for kind in self.pairs
        }
        self.unlikely = UnlikelyPairs(*(np.array(scores[name]) for name in UNLIKELY))

    def _scores(self, ensemble: Ensemble, ngrams: object, folder: Path) -> dict[str, object]:
        def score(pairs: Sequence[Pair]) -> dict[str, np.ndarray]:
            sources, targets = zip(*pairs, strict=True)
            return ensemble.score(sources, ensemble.subwords.encode_target(targets))

        scores: dict[str, object] = {}
        for kind, pairs in self.pairs.items():
            losses = score(pairs)
            scores[kind] = {
                MEASURE: losses["pe_stu"].tolist(),
                "reference_log_prob": losses["log_prob"].tolist(),
                "degree": [float(ngrams.degree(target)) for _, target in pairs],  # type: ignore[attr-defined]
                "target_length": [len(target.split()) for _, target in pairs],
                "source_length": [len(source.split()) for source, _ in pairs],
            }
        clean = self.pairs[CLEAN]
        rows = [index * len(clean) // 500 for index in range(500)]
        turned = [
            (clean[a][0], clean[b][1]) for a, b in zip(rows, rows[250:] + rows[:250], strict=True)
        ]
        similar = list(zip(*with_similar_references(*zip(*clean, strict=True)), strict=True))
        valid = [
            (folder / "corpus" / f"valid.{side}").read_text().split("\n")[:-1]
            for side in ("de", "en")
        ]
        for name, pairs in zip(
            UNLIKELY, (turned, similar, list(zip(*valid, strict=True))), strict=True
        ):
            scores[name] = score(pairs)["pe_stu"].tolist()
        return scores


UNLIKELY = ("shuffled", "similar pairs", "held out")


class Planting:
    """Candidates with noise, the estimate of its share, and what cuts remove."""

    def __init__(self, candidates: Candidates, kind: str, share: float, number: int) -> None:
        size = len(candidates.pairs[CLEAN])
        draw = np.random.default_rng([number, round(100 * share)])
        self.noise = np.zeros(size, bool)
        self.noise[draw.choice(size, round(share * size), replace=False)] = True
        kinds = MIXED if kind == ALL_KINDS else (kind,)
        of_row = np.array(kinds, object)[draw.integers(len(kinds), size=size)]
        of_row[~self.noise] = CLEAN
        pairs = [candidates.pairs[name][row] for row, name in enumerate(of_row)]
        self.columns: dict[str, np.ndarray] = {
            name: np.array([candidates.columns[kind][name][row] for row, kind in enumerate(of_row)])
            for name in SCORES
        }
        self.columns |= candidates.fixed | {"content": np.arange(size)}
        sources, references = zip(*pairs, strict=True)
        scrambled: ScrambledSources = scrambled_sources(candidates.training, sources)
        losses = self.columns[MEASURE]
        measures = candidates.unlikely.measures(losses, sources, references, scrambled)
        self.middle = candidates.unlikely.median
        self.quality = {"candidates": {SHUFFLED: self.middle, NOISE: measures}, "warnings": []}
        good = np.flatnonzero(~self.noise)
        self.hard = good[np.argsort(-candidates.fixed["rmi"][good])[: round(HARD * size)]]

    def before(self) -> tuple[float, bool]:
        """The estimate that knows misaligned pairs, and whether it chooses the plain cut."""
        unlikely = self.columns[MEASURE] > self.middle
        parts = [2 * unlikely[rows].mean() for rows in parts_of_candidates(self.columns, CONFIG)]
        return 2 * float(unlikely.mean()), max(parts) > RARE

    def estimate(self, drop: str) -> Mapping[str, object]:
        """The estimate of a build with a setting of ``drop_reference``."""
        noise = choose_cut(self.columns, {**CONFIG, "drop_reference": drop}, self.quality)
        assert noise is not None
        return noise

    def removed(self, plain: bool, share: float) -> tuple[float, float]:
        """The share of noise and of the hard good pairs that a cut removes, in percent."""
        values = self.columns[MEASURE]
        if not plain:
            values = given_degree(values, parts_of_candidates(self.columns, CONFIG))
        gone = dropped(values, share)
        noise = 100 * gone[self.noise].mean() if self.noise.any() else np.nan
        return noise, 100 * gone[self.hard].mean()


def cells(every: Sequence[Candidates], kind: str, share: float) -> list[str]:
    """One row of the table."""
    rows = []
    for candidates in every:
        for number in range(PLANTINGS if share else 1):
            planting = Planting(candidates, kind, share, number)
            old_share, old_plain = planting.before()
            noise = planting.estimate("auto")
            new_share, size = float(noise["share"]), len(planting.noise)  # type: ignore[arg-type]
            new_plain = noise["cut"] == MEASURE
            fixed = 1 / 20
            chosen = noise["drop"] / size  # type: ignore[operator]
            advised = new_share if new_share > FAR_ABOVE * chosen else chosen
            rows.append(
                (
                    100 * old_share,
                    100 * new_share,
                    100 * old_plain,
                    100 * new_plain,
                    *planting.removed(old_plain, fixed),
                    *planting.removed(old_plain, max(share, fixed)),
                    *planting.removed(new_plain, max(share, fixed)),
                    100 * advised,
                    *planting.removed(new_plain, advised),
                )
            )
    values = np.array(rows, float)
    mean, low, high = values.mean(axis=0), values.min(axis=0), values.max(axis=0)
    texts = ["-" if np.isnan(value) else f"{value:.1f}" for value in mean]
    return [
        kind,
        f"{share:.0%}",
        texts[0],
        f"{texts[1]} ({low[1]:.1f} to {high[1]:.1f})",
        f"{mean[2]:.0f} / {mean[3]:.0f}",
        " / ".join(texts[4:6]),
        " / ".join(texts[6:8]),
        " / ".join(texts[8:10]),
        f"{texts[10]}: " + " / ".join(texts[11:13]),
    ]


def main(work: Path, seeds: Sequence[int]) -> None:
    """Print the grid."""
    every = [Candidates(work / f"demo-{seed}", seed) for seed in seeds]
    head = [
        "kind",
        "planted",
        "before",
        "estimated (range)",
        "plain: before / now",
        "1/20, before",
        "planted size, before",
        "planted size, now",
        "advised or auto size, now",
    ]
    rows = [cells(every, CLEAN, 0.0)]
    kinds = [kind for kind in every[0].pairs if kind != CLEAN]
    rows += [cells(every, kind, share) for kind in [*kinds, ALL_KINDS] for share in SHARES]
    print(table(rows, head))


if __name__ == "__main__":
    main(Path(sys.argv[1]), list(map(int, sys.argv[2:])))
