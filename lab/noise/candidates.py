"""The candidates that lab/noise looks at: of the demo, and of real text with planted noise."""

import gzip
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from planting import KINDS, Pair, Text

from cgbench.benchmark.build.react.build_react import build_react
from cgbench.benchmark.build.react.demo import LANGUAGES, NOISE, run_demo
from cgbench.benchmark.build.react.demo_request import DemoRequest
from cgbench.benchmark.candidates.matching import word_frequency
from cgbench.benchmark.candidates.pair_measures import pair_measures
from cgbench.benchmark.candidates.uncertainty import (
    candidate_lines,
    measure_reverse,
    measure_sources,
    open_ensemble,
)
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.release.release import Release
from cgbench.engines import Local
from cgbench.files import write_atomic
from cgbench.lm.language_model import LanguageModel
from cgbench.lm.training import train_lm
from cgbench.models.checkpoints import member_folders
from cgbench.models.training.ensemble_training import train_ensemble
from cgbench.text.normalisation import Normalisation, normalise_pairs

Set = tuple[dict[str, np.ndarray], np.ndarray]

REVERSE_SEED = 101  # of the first member of the other direction
PLANTINGS, SHARE = 15, 0.05
NEAR = 5  # lines between a pair and its neighbours
TATOEBA = "tatoeba-de-en/deu.txt.gz"
HELD_OUT = 6_000  # pairs of Tatoeba that are not in the training text
REAL = {
    "wmt": [
        ("wmt-20k/train.de.gz", "wmt-20k/train.en.gz"),
        ("wmt-opennmt/tgt-train.txt.gz", "wmt-opennmt/src-train.txt.gz"),
    ],
    "ted": [("react/valid.de.gz", "react/valid.en.gz"), ("react/test.de.gz", "react/test.en.gz")],
    "multi30k": [("multi30k/train.lc.norm.tok.de.gz", "multi30k/train.lc.norm.tok.en.gz")],
}
TRAINING_PAIRS = 60_000


def reverse_members(
    train: Sequence[Path], out: Path, members: int, jobs: int, settings: dict[str, Any]
) -> list[Path]:
    """Members of the other direction, of the preset ``demo`` with ``settings``, trained on both
    sides exchanged.
    """
    train_ensemble(
        corpus=(str(train[1]), str(train[0])),
        out=str(out),
        model="demo",
        members=members,
        seed=REVERSE_SEED,
        settings=settings,
        text_options={"languages": LANGUAGES[::-1]},
        execution={"jobs": jobs},
    )
    return member_folders(out)


def lowest_tokens(
    members: Sequence[Path], sources: Sequence[str], targets: Sequence[str]
) -> np.ndarray:
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
            mean = sum(model(packed, shifted).softmax(-1) for model in ensemble.members) / len(
                ensemble.members
            )
            chosen = -mean.gather(1, ids[:, None])[:, 0].log().numpy()
            lengths = np.array([len(one) for one in target])
            found.append(np.maximum.reduceat(chosen, np.cumsum(lengths) - lengths))
    return np.concatenate(found).astype(np.float64)


def more_columns(
    pairs: Sequence[Sequence[str]], forward: Sequence[Path], models: Sequence[Path]
) -> dict[str, np.ndarray]:
    """The measures of sources and targets that a build has only where it is given more, or not at
    all.
    """
    columns = {"reference_lowest": lowest_tokens(forward, *pairs)}
    for side, lines, path in zip(("source", "target"), pairs, models, strict=True):
        columns[f"perplexity_{side}"] = np.asarray(
            LanguageModel.load(path).perplexity(lines), np.float64
        )
        columns[f"{side}_length"] = np.array([len(line.split()) for line in lines], np.float64)
    return columns


def language_models(train: Sequence[Path], folder: Path) -> list[Path]:
    """A model of order 3 of each side."""
    paths = [folder / f"lm.{side}.arpa" for side in ("source", "target")]
    for text, path in zip(train, paths, strict=True):
        if not path.is_file():
            train_lm(text, path, order=3)
    return paths


def numbers(rows: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
    """The figures of rows, by name."""
    return {
        name: np.array([row[name] for row in rows], np.float64)
        for name, value in rows[0].items()
        if isinstance(value, int | float)
    }


def with_reverse(
    columns: dict[str, np.ndarray], pairs: Sequence[Sequence[str]], reverse: Sequence[Path]
) -> dict[str, np.ndarray]:
    """``columns`` with the likelihood of the sources, and the dual conditional cross-entropy."""
    if not reverse:
        return columns
    back = [
        row["reverse_pe_stu"] for row in measure_reverse(reverse, pairs[1], pairs[0], device="cpu")
    ]
    open_ensemble.cache_clear()
    both = {**columns, "reverse_pe_stu": np.array(back)}
    return {
        **both,
        **{name: np.array(values) for name, values in pair_measures(both, None).items()},
    }


def demo(work: Path, seed: int, jobs: int, reverse: bool) -> Set:
    """The demo's candidates, and which are noise by its record.

    :param reverse: with an ensemble of the other direction, of two members, too.
    """
    folder, saved = work / f"demo-{seed}", work / f"demo-{seed}{'.reverse' if reverse else ''}.npz"
    if not saved.is_file():
        release = run_demo(DemoRequest(folder, seed=seed, jobs=jobs)).release
        train = [folder / "corpus" / f"train.{language}" for language in LANGUAGES]
        kinds = (folder / "corpus" / "pool.kinds").read_text(encoding="utf-8").split()
        rows = release.table().to_pylist()
        step = release.step("candidates")
        assert step is not None
        pairs = candidate_lines(step)
        extra = more_columns(
            pairs, member_folders(release.ensemble), language_models(train, folder)
        )
        columns = {**numbers(rows), **extra}
        if reverse:
            columns = with_reverse(
                columns, pairs, reverse_members(train, work / f"reverse-{seed}", 2, jobs, {})
            )
        np.savez(
            saved, noise=np.array([kinds[row["line"] - 1] == NOISE for row in rows]), **columns
        )
    data = dict(np.load(saved))
    return data, data.pop("noise")


def texts(shared: Path, out: Path, jobs: int) -> tuple[list[Path], list[list[Path]]]:
    """Tatoeba as training text and four corpora as the pool, normalised alike: Moses, lower
    case.
    """
    names = ["train", "tatoeba", *REAL]
    paths = [[out / f"{name}.{language}" for language in LANGUAGES] for name in names]
    if all(path.is_file() for side in paths for path in side):
        return paths[0], paths[1:]
    chance = random.Random(1)

    def lines(name: str) -> list[str]:
        with gzip.open(shared / name, "rt", encoding="utf-8") as file:
            return [line.rstrip("\n") for line in file]

    rows = [line.split("\t") for line in lines(TATOEBA)]
    drawn = chance.sample(range(len(rows)), TRAINING_PAIRS + HELD_OUT)
    corpora: list[list[Pair]] = [
        [(rows[place][1], rows[place][0]) for place in sorted(some)]
        for some in (drawn[:TRAINING_PAIRS], drawn[TRAINING_PAIRS:])
    ]
    for files in REAL.values():
        corpora.append(
            [pair for one, other in files for pair in zip(lines(one), lines(other), strict=True)]
        )
    out.mkdir(parents=True, exist_ok=True)
    change = Normalisation("moses", True, LANGUAGES, True)
    for written, pairs in zip(paths, corpora, strict=True):
        normalised = list(normalise_pairs(iter(pairs), change, str(out), Local(jobs)))
        for side, path in enumerate(written):
            write_atomic(path, "".join(pair[side] + "\n" for pair in normalised))
    return paths[0], paths[1:]


@dataclass(frozen=True)
class Planted:
    """Real candidates with noise planted several times over: a set a planting, the kind and the
    place of every planted pair (one planting after another), and by kind the share of them that the
    filter of rare words lets through.
    """

    sets: list[Set]
    kinds: list[np.ndarray]
    rows: list[np.ndarray]
    through: dict[str, float]


def real(
    work: Path, shared: Path, jobs: int, updates: int, candidates: int, members: int, reverse: bool
) -> Planted:
    """Candidates from real text, with noise planted among them."""
    train, pools = texts(shared, work / "texts", jobs)
    settings = {
        "training.max_updates": updates,
        "training.warmup_updates": updates // 8,
        "text.merges": 4000,
    }
    release = build_react(
        train=tuple(train),
        pools=[tuple(pool) for pool in pools],
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
    return _planted(work, release, train, pools, back)


def _planted(
    work: Path,
    release: Release,
    train: Sequence[Path],
    pools: Sequence[Sequence[Path]],
    reverse: Sequence[Path],
) -> Planted:
    step, ngrams = release.step("candidates"), release.ngrams()
    assert step is not None and ngrams is not None
    known = [Vocabulary.learn(path, min_count=3) for path in train]
    rows = release.table().to_pylist()
    pairs = list(zip(*candidate_lines(step), strict=True))
    chance = random.Random(1)
    text = Text(pairs, _near(rows, pools, known[1]), known[1])
    each = round(SHARE * len(pairs) / len(KINDS))
    places, kinds, changed = [], [], []
    for _ in range(PLANTINGS):
        free = set(range(len(pairs)))
        for kind, plant in KINDS.items():
            found = 0
            for row in chance.sample(sorted(free), len(free)):
                if found < each and (pair := plant(row, text, chance)) and pair != pairs[row]:
                    places.append(row)
                    kinds.append(kind)
                    changed.append(pair)
                    free.remove(row)
                    found += 1

    clean = _measured(work, release, train, pairs, reverse, numbers(rows))
    sources, targets = zip(*changed, strict=True)
    saved = work / "planted.npz"
    if not saved.is_file():
        found_rows = measure_sources(
            member_folders(release.ensemble), sources, targets, beam=5, device="cpu"
        )
        open_ensemble.cache_clear()
        np.savez(saved, **numbers(found_rows))
    noisy = _measured(work, release, train, changed, reverse, dict(np.load(saved)), "planted")
    for name, side in (("source", sources), ("target", targets)):
        noisy[f"{name}_rarest"] = word_frequency(known[name == "target"], side).rarest
    noisy["degree"] = np.array([ngrams.degree(line) for line in targets])
    noisy["pool"] = clean["pool"][places]
    sets, planted_rows = [], np.array(places).reshape(PLANTINGS, -1)
    planted_kinds = np.array(kinds).reshape(PLANTINGS, -1)
    for number, some in enumerate(planted_rows):
        part = slice(number * len(some), (number + 1) * len(some))
        columns = {name: clean[name].copy() for name in noisy if name in clean}
        for name, values in columns.items():
            values[some] = noisy[name][part]
        noise = np.zeros(len(pairs), bool)
        noise[some] = True
        sets.append((columns, noise))
    passes = np.array([all(map(_passes, known, pair)) for pair in changed])
    through = {kind: float(passes[np.array(kinds) == kind].mean()) for kind in KINDS}
    return Planted(sets, list(planted_kinds), list(planted_rows), through)


def _passes(words: Vocabulary, line: str) -> bool:
    return bool(np.all(words.ids(line.split()) < words.usable))


def _near(
    rows: Sequence[dict[str, Any]], pools: Sequence[Sequence[Path]], words: Vocabulary
) -> list[list[str]]:
    """Of each candidate the targets at most :data:`NEAR` lines from it in its corpus that pass the
    filters.
    """
    targets = [pool[1].read_text(encoding="utf-8").split("\n")[:-1] for pool in pools]
    found = []
    for row in rows:
        lines, place = targets[row["pool"] - 1], row["pool_line"] - 1
        near = [*lines[max(0, place - NEAR) : place], *lines[place + 1 : place + 1 + NEAR]]
        found.append([line for line in near if len(line.split()) >= 6 and _passes(words, line)])
    return found


def _measured(
    work: Path,
    release: Release,
    train: Sequence[Path],
    pairs: Sequence[Pair],
    reverse: Sequence[Path],
    measured: dict[str, np.ndarray],
    name: str = "clean",
) -> dict[str, np.ndarray]:
    """``measured`` with every measure that a build has only where it is given more; kept under
    ``work``.
    """
    saved = work / f"more-{name}.npz"
    if not saved.is_file():
        sides = list(zip(*pairs, strict=True))
        columns = {
            **measured,
            **more_columns(sides, member_folders(release.ensemble), language_models(train, work)),
        }
        np.savez(saved, **with_reverse(columns, sides, reverse))
    return dict(np.load(saved))
