"""The candidates that perf/noise looks at: of the demo, and of real text with planted noise."""

from __future__ import annotations

import gzip
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.candidate_reverse import forget_reverse, measure_reverse
from cgbench.benchmark.candidate_uncertainty import candidate_lines, forget_ensemble, measure_sources
from cgbench.benchmark.demo import LANGUAGES, NOISE, run_demo
from cgbench.benchmark.pair_measures import pair_measures
from cgbench.benchmark.react import build_react
from cgbench.benchmark.release import Release
from cgbench.benchmark.vocabulary import Vocabulary
from cgbench.engines import Local
from cgbench.files import write_atomic
from cgbench.lm.language_model import LanguageModel
from cgbench.lm.training import train as train_lm
from cgbench.models.checkpoints import member_folders
from cgbench.models.config.presets import load_preset
from cgbench.models.training.ensemble import build_ensemble
from cgbench.text.formats import CorpusSpec
from cgbench.text.normalisation import Normalisation, normalise_pairs

Pair = tuple[str, str]
Set = tuple[dict[str, np.ndarray], np.ndarray]

REVERSE_SEED = 101  # of the first member of the other direction
PLANTINGS, SHARE = 5, 0.05
KINDS = (
    "misaligned",
    "misaligned, of the same length",
    "target cut",
    "target misordered",
    "source copied",
    "wrong language",
    "source misordered",
)
REAL = (
    ("wmt-20k/train.de.gz", "wmt-20k/train.en.gz", 6_000),
    ("wmt-opennmt/tgt-train.txt.gz", "wmt-opennmt/src-train.txt.gz", 4_000),
    ("react/valid.de.gz", "react/valid.en.gz", None),
    ("multi30k/train.lc.norm.tok.de.gz", "multi30k/train.lc.norm.tok.en.gz", 12_000),
)
TRAINING_PAIRS = 60_000


def reverse_members(train: Sequence[Path], out: Path, members: int, jobs: int, settings: dict[str, Any]) -> list[Path]:
    """Members of the other direction, of the preset ``demo`` with ``settings``, trained on both sides exchanged."""
    build_ensemble(
        load_preset("demo").replace(settings),
        CorpusSpec((train[1], train[0])),
        None,
        Normalisation("none", False, LANGUAGES[::-1]),
        out,
        members=members,
        seed=REVERSE_SEED,
        engine=Local(jobs),
    )
    return member_folders(out)


def lowest_tokens(members: Sequence[Path], sources: Sequence[str], targets: Sequence[str]) -> np.ndarray:
    """``[N]``: -log q of the token of each target that the ensemble finds least likely."""
    import torch

    from cgbench.models.ensemble import Ensemble
    from cgbench.models.parts.ragged import Ragged
    from cgbench.models.special_ids import EOS

    ensemble, found = Ensemble.open(members), []
    encoded = ensemble.subwords.encode_source(sources), ensemble.subwords.encode_target(targets)
    with torch.inference_mode():
        for start in range(0, len(sources), 32):
            source, target = (side[start : start + 32] for side in encoded)
            shifted = Ragged.pack([[EOS, *ids[:-1].tolist()] for ids in target])
            packed, ids = Ragged.pack(source), torch.as_tensor(np.concatenate(target)).long()
            mean = sum(model(packed, shifted).softmax(-1) for model in ensemble.members) / len(ensemble.members)
            chosen = -mean.gather(1, ids[:, None])[:, 0].log().numpy()
            lengths = np.array([len(one) for one in target])
            found.append(np.maximum.reduceat(chosen, np.cumsum(lengths) - lengths))
    return np.concatenate(found).astype(np.float64)


def more_columns(
    pairs: Sequence[Sequence[str]], forward: Sequence[Path], models: Sequence[Path]
) -> dict[str, np.ndarray]:
    """The measures of sources and targets that a build has only where it is given more, or not at all."""
    columns = {"reference_lowest": lowest_tokens(forward, *pairs)}
    for side, lines, path in zip(("source", "target"), pairs, models, strict=True):
        columns[f"perplexity_{side}"] = np.asarray(LanguageModel.load(path).perplexity(lines), np.float64)
        columns[f"{side}_length"] = np.array([len(line.split()) for line in lines], np.float64)
    return columns


def language_models(train: Sequence[Path], folder: Path) -> list[Path]:
    """A model of order 3 of each side."""
    paths = [folder / f"lm.{side}.binary" for side in ("source", "target")]
    for text, path in zip(train, paths, strict=True):
        if not path.is_file():
            train_lm(text, path, order=3)
    return paths


def numbers(rows: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
    """The figures of rows, by name."""
    return {
        name: np.array([row[name] for row in rows], np.float64)
        for name, value in rows[0].items()
        if isinstance(value, float)
    }


def with_reverse(
    columns: dict[str, np.ndarray], pairs: Sequence[Sequence[str]], reverse: Sequence[Path]
) -> dict[str, np.ndarray]:
    """``columns`` with the likelihood of the sources, and the dual conditional cross-entropy."""
    if not reverse:
        return columns
    back = [row["reverse_pe_stu"] for row in measure_reverse(reverse, pairs[1], pairs[0], device="cpu")]
    forget_reverse()
    both = {**columns, "reverse_pe_stu": np.array(back)}
    return {**both, **{name: np.array(values) for name, values in pair_measures(both, None).items()}}


def demo(work: Path, seed: int, jobs: int, reverse: bool) -> Set:
    """The demo's candidates, and which are noise by its record.

    :param reverse: with an ensemble of the other direction, of two members, too.
    """
    folder, saved = work / f"demo-{seed}", work / f"demo-{seed}{'.reverse' if reverse else ''}.npz"
    if not saved.is_file():
        release = run_demo(folder, seed, {}, Local(jobs)).release
        train = [folder / "corpus" / f"train.{language}" for language in LANGUAGES]
        kinds = (folder / "corpus" / "pool.kinds").read_text(encoding="utf-8").split()
        rows = release.table().to_pylist()
        step = release.step("candidates")
        assert step is not None
        pairs = candidate_lines(step)
        extra = more_columns(pairs, member_folders(release.ensemble), language_models(train, folder))
        columns = {**numbers(rows), **extra}
        if reverse:
            columns = with_reverse(columns, pairs, reverse_members(train, work / f"reverse-{seed}", 2, jobs, {}))
        np.savez(saved, noise=np.array([kinds[row["line"] - 1] == NOISE for row in rows]), **columns)
    data = dict(np.load(saved))
    return data, data.pop("noise")


def texts(shared: Path, out: Path, jobs: int) -> tuple[list[Path], list[Path]]:
    """Tatoeba as training text and a mixed pool, normalised alike: Moses, lower case."""
    paths = [[out / f"{name}.{language}" for language in LANGUAGES] for name in ("train", "pool")]
    if all(path.is_file() for side in paths for path in side):
        return paths[0], paths[1]
    chance = random.Random(1)

    def lines(name: str) -> list[str]:
        with gzip.open(shared / name, "rt", encoding="utf-8") as file:
            return [line.rstrip("\n") for line in file]

    def some(pairs: list[Pair], number: int | None) -> list[Pair]:
        if number is None:
            return pairs
        return [pairs[place] for place in sorted(chance.sample(range(len(pairs)), number))]

    rows = [line.split("\t") for line in lines("tatoeba-de-en/deu.txt.gz")]
    train = some([(row[1], row[0]) for row in rows], TRAINING_PAIRS)
    corpora = ((list(zip(lines(one), lines(other), strict=True)), number) for one, other, number in REAL)
    pool = [pair for corpus, number in corpora for pair in some(corpus, number)]
    out.mkdir(parents=True, exist_ok=True)
    change = Normalisation("moses", True, LANGUAGES, True)
    for files, pairs in zip(paths, (train, pool), strict=True):
        normalised = list(normalise_pairs(iter(pairs), change, str(out), Local(jobs)))
        for side, path in enumerate(files):
            write_atomic(path, "".join(pair[side] + "\n" for pair in normalised))
    return paths[0], paths[1]


def plant(kind: str, row: int, pairs: Sequence[Pair], chance: random.Random) -> Pair:
    """The pair of ``row``, made noise of a kind."""
    source, target = pairs[row]
    words = (source if kind == "source misordered" else target).split()
    if kind.endswith("misordered"):
        mixed = words
        while mixed == words:
            mixed = chance.sample(words, len(words))
        return (" ".join(mixed), target) if kind == "source misordered" else (source, " ".join(mixed))
    if kind == "target cut":
        return source, " ".join(words[: max(1, len(words) // 2)])
    if kind == "source copied":
        return source, source
    others = [place for place in range(len(pairs)) if place != row and pairs[place][1] != target]
    if kind == "wrong language":
        return source, pairs[chance.choice(others)][0]
    if kind == "misaligned, of the same length":
        others = [place for place in others if len(pairs[place][1].split()) == len(words)] or others
    return source, pairs[chance.choice(others)][1]


@dataclass(frozen=True)
class Planted:
    """Real candidates with noise planted several times over: a set a planting, the kind and the place of every planted
    pair (one planting after another), and by kind the share of them that the filter of rare words lets through."""

    sets: list[Set]
    kinds: np.ndarray
    rows: np.ndarray
    through: dict[str, float]


def real(work: Path, shared: Path, jobs: int, updates: int, candidates: int, members: int, reverse: bool) -> Planted:
    """Candidates from real text, with noise planted among them."""
    train, pool = texts(shared, work / "texts", jobs)
    settings = {"training.max_updates": updates, "training.warmup_updates": updates // 8, "text.merges": 4000}
    release = build_react(
        train=tuple(train),
        pools=[tuple(pool)],
        out=work / "release",
        preset="demo",
        until="uncertainty",
        candidates=candidates,
        members=members,
        uncertainty="rmi" if members > 1 else "entropy_of_expected",
        jobs=jobs,
        device="cpu",
        settings=settings,
    )
    back = reverse_members(train, work / "reverse", 1, jobs, settings) if reverse else []
    return _planted(work, release, train, back)


def _planted(work: Path, release: Release, train: Sequence[Path], reverse: Sequence[Path]) -> Planted:
    forward, models = member_folders(release.ensemble), language_models(train, work)
    step = release.step("candidates")
    assert step is not None
    sides = candidate_lines(step)
    pairs = list(zip(*sides, strict=True))
    measured = numbers(release.table().to_pylist())
    clean = with_reverse({**measured, **more_columns(sides, forward, models)}, sides, reverse)
    chance = random.Random(1)
    number = round(SHARE * len(pairs))
    rows = [row for _ in range(PLANTINGS) for row in chance.sample(range(len(pairs)), number)]
    kinds = [KINDS[place % len(KINDS)] for place in range(len(rows))]
    planted = [plant(kind, row, pairs, chance) for kind, row in zip(kinds, rows, strict=True)]
    changed = list(zip(*planted, strict=True))
    measured = numbers(measure_sources(forward, changed[0], changed[1], beam=5, device="cpu"))
    forget_ensemble()
    noisy = with_reverse({**measured, **more_columns(changed, forward, models)}, changed, reverse)
    sets = []
    for start in range(0, len(rows), number):
        part = slice(start, start + number)
        columns = {name: clean[name].copy() for name in noisy if name in clean}
        for name, values in columns.items():
            values[rows[part]] = noisy[name][part]
        noise = np.zeros(len(pairs), bool)
        noise[rows[part]] = True
        sets.append((columns, noise))
    known = [Vocabulary.learn(path, min_count=3) for path in train]
    passes = np.array(
        [
            all(np.all(words.ids(side.split()) < len(words)) for words, side in zip(known, pair, strict=True))
            for pair in planted
        ]
    )
    through = {kind: float(passes[np.array(kinds) == kind].mean()) for kind in KINDS}
    return Planted(sets, np.array(kinds), np.array(rows), through)
