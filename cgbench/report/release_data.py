"""The data of a release page: numbers and text from the release, its workspace and its inputs.

Covers and novel n-grams need the training data; a sample of the pool needs the pool. If these are
gone, the page omits them and ``missing`` says why.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cgbench.benchmark.build.stats.novelty import novel_ngrams
from cgbench.benchmark.build.stats.release_statistics import (
    ReleaseOrigin,
    open_release,
    training_text,
)
from cgbench.benchmark.build.stats.single_texts import Text
from cgbench.benchmark.candidates.selection import seeded_hash
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.overlap.corpus_counts import CorpusCounts
from cgbench.benchmark.measure.overlap.known_from import ngrams_of_pool
from cgbench.benchmark.release.card import shown_counts
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.release_inputs import input_corpus
from cgbench.errors import InputError
from cgbench.files import read_json
from cgbench.text.blocks import join_blocks
from cgbench.text.formats import Pair, read_pairs
from cgbench.text.normalisation import normalise_pairs
from cgbench.text.plain_text import words_of

ORDERS = 8
"""Length of the longest n-grams whose novelty is shown."""
STAGES = {
    "dropped_perplexity": "dropped: highest perplexity",
    "dropped_reference": "dropped: least likely references",
    "dropped": "dropped: most uncertain",
    "window": "window, which the test set is drawn from",
    "selected": "test set",
}
"""Stages of the candidates, in the order of the build."""
_SCAN_COUNTS = {"pool": "pairs", "known_words": "kept"}


@dataclass
class Material:
    """The texts that are available for covers, novelty and a sample of the pool.

    :param training: the degree side of the training data, normalised.
    :param pool: a random sample of the pool.
    """

    ngrams: KnownNgrams | None = None
    training: Text | None = None
    pool: list[Pair] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def find_material(
    release: Release, train: Sequence[Path] = (), pools: Sequence[Sequence[Path]] = ()
) -> Material:
    """Find the texts that a release was built from.

    :param train: the training data, if it has moved; ``pools``: all pools in order, if they have
        moved.
    :raises InputError: a given text is not the one that the release was built from.
    """
    material = Material(ngrams=release.ngrams())
    try:
        origin = open_release(release, train)
        material.training = training_text(origin, origin.degree_side)
        if material.ngrams is None:
            material.ngrams = _learn(origin, material.training)
    except (InputError, OSError) as error:
        if train:
            raise
        material.missing.append(
            f"Novel n-grams are not shown: the training text was not found ({error})."
        )
        if material.ngrams is None:
            material.missing.append(
                "Covers are not shown: known n-grams come from the training text."
            )
        return material
    try:
        material.pool = list(_pool_sample(origin, pools))
    except (InputError, OSError) as error:
        if pools:
            raise
        material.missing.append(
            f"A sample of the pool is not shown: the pool was not found ({error})."
        )
    return material


def _learn(origin: ReleaseOrigin, training: Text) -> KnownNgrams:
    release, side = origin.release, origin.degree_side
    words = {"word_min_count": release.configuration["word_min_count"]}
    if folder := origin.known.get(side):
        texts = [(str(release), join_blocks(release.lines(side, normalised=True)))]
        return ngrams_of_pool(CorpusCounts.load(folder), texts, min_count=origin.min_count, **words)
    return KnownNgrams.learn(training.content, min_count=origin.min_count, **words)


def _pool_sample(origin: ReleaseOrigin, pools: Sequence[Sequence[Path]]) -> Iterator[Pair]:
    """A sample of the pool of the size of the test set, drawn by a seeded hash and normalised as in
    the build.
    """
    release = origin.release
    entries = release.manifest["inputs"]["pool"]
    if pools and len(pools) != len(entries):
        raise InputError(
            f"the release was built from {len(entries)} pool(s), but {len(pools)} given"
        )
    sizes = [int(entry["pairs"]) for entry in entries]
    sample_size = min(
        release.manifest["counts"]["selected" if release.finished else "candidates"], sum(sizes)
    )
    chosen = set(draw_rows(sum(sizes), sample_size, int(release.configuration["seed"]), "report"))
    first = 0
    for pool_index, (entry, pool_size) in enumerate(zip(entries, sizes, strict=True)):
        spec = input_corpus(release, entry, pools[pool_index] if pools else ())
        pairs = (
            pair for pair_index, pair in enumerate(read_pairs(spec), first) if pair_index in chosen
        )
        yield from normalise_pairs(pairs, origin.normalisation, "")
        first += pool_size


def draw_rows(count: int, most: int, seed: int, purpose: str) -> list[int]:
    """At most ``most`` of the rows 0 to ``count - 1``, drawn by a seeded hash, in their order."""
    return np.sort(
        np.argsort(seeded_hash(np.arange(count), seed, purpose), kind="stable")[:most]
    ).tolist()


@dataclass(frozen=True)
class Stage:
    """A stage of the funnel: its description, its number of pairs, and the number from each pool if
    known.
    """

    key: str
    text: str
    pairs: int
    pools: tuple[int, ...] | None


def funnel(release: Release, columns: dict[str, np.ndarray]) -> list[Stage]:
    """The number of pairs at each stage, in total and from each pool."""
    counts, entries = release.manifest["counts"], release.manifest["inputs"]["pool"]
    scans = [release.step(f"scan-{pool_number}") for pool_number in range(1, len(entries) + 1)]
    scanned = [read_json(scan / "counts.json") for scan in scans if scan is not None]
    stages = []
    for key, text in shown_counts(counts):
        pools: tuple[int, ...] | None = None
        if key == "pool":
            pools = tuple(int(entry["pairs"]) for entry in entries)
        elif key in _SCAN_COUNTS and len(scanned) == len(entries):
            pools = tuple(int(pool_counts[_SCAN_COUNTS[key]]) for pool_counts in scanned)
        elif key == "control":
            of = (
                Counter(row.get("pool") for row in release.set_rows("control"))
                if release.has_control
                else Counter()
            )
            pools = tuple(of[index + 1] for index in range(len(entries)))
        elif (rows := stage_rows(columns, key)) is not None:
            pool_of = columns["pool"][rows]
            pools = tuple(
                int(np.count_nonzero(pool_of == index + 1)) for index in range(len(entries))
            )
        stages.append(Stage(key, text, int(counts[key]), pools))
    return stages


def stage_rows(columns: dict[str, np.ndarray], key: str) -> np.ndarray | None:
    """A mask of the candidates at a stage of the funnel; the window includes the test set drawn
    from it.
    """
    if key == "candidates":
        return np.ones(len(columns["pool"]), bool)
    if "stage" not in columns or key not in STAGES:
        return None
    return np.isin(columns["stage"], ("window", "selected") if key == "window" else (key,))


def numeric_columns(release: Release) -> dict[str, np.ndarray]:
    """The numeric columns of the candidates by name, and ``stage``."""
    import pyarrow

    columns = {}
    table = release.table()
    for name in table.column_names:
        kind = table.schema.field(name).type
        if pyarrow.types.is_floating(kind):
            columns[name] = np.array(table[name].to_numpy(zero_copy_only=False), np.float64)
        elif pyarrow.types.is_integer(kind):
            columns[name] = table[name].to_numpy()
        elif name == "stage":
            columns[name] = np.array(table[name].to_pylist(), dtype=object)
    return columns


def normalised_candidates(release: Release, side: str) -> list[str] | None:
    """One side of the candidates as normalised, in the order of the table; None if the text is not
    available.
    """
    if lines := release.candidate_lines(side, normalised=True):
        return lines
    step = release.step("candidates")
    path = step / f"candidates.{side}" if step else None
    if path is None or not path.is_file():
        return None
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def novelty_curves(
    training: Text, texts: dict[str, Sequence[str]], seed: int, orders: int = ORDERS
) -> dict[str, list[float]]:
    """The share of novel n-gram types of each order in each text.

    The share falls as a text grows, so every text is sampled down to the size of the smallest
    (seeded).
    """
    sample_size = min(len(lines) for lines in texts.values())
    curves = {}
    for name, lines in texts.items():
        some = [lines[row] for row in draw_rows(len(lines), sample_size, seed, "novelty")]
        longest = max((len(words_of(line)) for line in some), default=1)
        figures = novel_ngrams(training.blocks(), some, range(1, min(orders, longest) + 1))
        curves[name] = [novelty.share for novelty in figures.values() if novelty.share is not None]
    return curves
