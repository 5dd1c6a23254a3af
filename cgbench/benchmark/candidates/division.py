"""Divide one corpus into a training side and a pool.

A pair and what repeats it must be on one side: a pair of the pool whose source or target is also
trained on is no test. Pairs are grouped by their document, if the corpus has documents; otherwise
pairs with the same source or the same target are one group, and so are pairs linked by a third.
Sentences that differ only in case, punctuation or digits count as the same.

The side of a group follows from a hash of its sentences alone. So the division does not depend on
the order of the lines, on a seed, or on what else the corpus contains, except where a new pair
links two groups.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from hashlib import blake2b
from itertools import accumulate, repeat
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.amounts import is_share, parse_amount
from cgbench.benchmark.candidates.documents import BLANK_LINES, check_documents
from cgbench.errors import InputError, argument
from cgbench.files import atomic_path, read_json, write_json
from cgbench.locks import replacing
from cgbench.records import Record
from cgbench.steps import hash_file, hash_value
from cgbench.text.corpus import check_files
from cgbench.text.formats import CorpusSpec, column_beside, read_pairs
from cgbench.text.hashes import mix
from cgbench.text.plain_text import words_of
from cgbench.text.rows import cell_text

POOL_SHARE = "2/5"
CORPUS = "corpus"  # in a work folder: the two sides of the corpus
COUNTS = "division.json"
POOL_TABLE = "pool.jsonl"  # of a pool with named documents
_NO_LETTERS = re.compile(r"[\W_]+")
_DIGIT = re.compile(r"\d")


class Division(Record):
    """A corpus and its two sides, as files in one folder.

    ``counts``: ``pairs`` of the corpus; of these in ``train``, in ``pool``, and with an ``empty``
    side, which are in neither.
    """

    corpus: CorpusSpec
    hashes: tuple[str, ...]  # SHA-256 of each file of the corpus
    settings: Mapping[str, Any]
    train: CorpusSpec
    pool: CorpusSpec
    counts: Mapping[str, int]

    def __str__(self) -> str:
        counts = self.counts
        text = (
            f"{counts['pairs']:,} pairs, by {self.unit}: {counts['train']:,} for training,"
            f" {counts['pool']:,} in the pool"
        )
        empty = f", {counts['empty']:,} with an empty side in neither"
        return text + (empty if counts["empty"] else "")

    @property
    def unit(self) -> str:
        """What is on one side as a whole."""
        return "sentence" if self.settings["document"] is None else "document"


def divide(
    corpus: CorpusSpec,
    languages: tuple[str, str],
    folder: Path,
    *,
    share: int | str = POOL_SHARE,
    document: str | None = None,
) -> Division:
    """Write the two sides of a corpus into a folder of their own in ``folder``, named by a hash of
    the corpus and the settings; a finished one is kept.

    :param share: the share of the corpus that becomes the pool, or a number of pairs. Whole groups
        are assigned at random, so the pool has about this size.
    :param document: as of :class:`.DrawingOptions`.
    :raises InputError: the corpus cannot be read, or a side would be empty.
    """
    check_files(corpus)
    if document is not None:
        check_documents(document, [corpus])
    hashes = tuple(map(hash_file, corpus.files))
    settings = {"pool_share": share, "document": document}
    names = [path.name for path in corpus.paths]
    key = hash_value([hashes, names, corpus.columns, languages, settings])
    out = folder.absolute() / f"corpus-{key[:12]}"
    if not (out / COUNTS).is_file():
        groups, complete = _read_groups(corpus, document)
        in_pool = _draw_pool(groups, complete, share)
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(out) as staging:
            counts = _write(corpus, languages, document, (in_pool, complete), staging)
            write_json(staging / COUNTS, counts)
    train, pool = (
        CorpusSpec(tuple(out / f"{side}.{language}" for language in languages))
        for side in ("train", "pool")
    )
    if document not in (None, BLANK_LINES):
        pool = CorpusSpec((out / POOL_TABLE,), languages)
    return Division(corpus, hashes, settings, train, pool, read_json(out / COUNTS))


def publish_division(division: Division, work: Path) -> Path:
    """Copy both sides into the folder ``corpus`` of a work folder, where people find them."""
    folder = work / CORPUS
    folder.mkdir(exist_ok=True)
    for path in (*division.train.paths, *division.pool.paths):
        copy = folder / path.name
        if not copy.is_file() or hash_file(copy) != hash_file(path):
            with atomic_path(copy) as temporary:
                shutil.copyfile(path, temporary)
    return folder


def _read_documents(corpus: CorpusSpec, document: str | None) -> Iterator[str]:
    """The document of each pair; without documents, endless empty names."""
    if document is None:
        return repeat("")
    if document == BLANK_LINES:
        empty = (
            not words_of(source) and not words_of(target) for source, target in read_pairs(corpus)
        )
        return map(str, accumulate(empty))
    rows = column_beside(corpus, document, argument("document", document))
    return (cell_text(value, document, corpus.files[0], row) for row, (value,) in rows)


def _read_groups(corpus: CorpusSpec, document: str | None) -> tuple[np.ndarray, np.ndarray]:
    """The group of each pair, uint64 ``[pairs]``, and whether the pair has two sides, bool
    ``[pairs]``.
    """
    sentences: list[tuple[int, int]] = []
    documents: list[int] = []
    filled: list[bool] = []
    for (source, target), name in zip(
        read_pairs(corpus), _read_documents(corpus, document), strict=False
    ):
        sentences.append((_hash(f"s{_letters(source)}"), _hash(f"t{_letters(target)}")))
        documents.append(_hash(name))
        filled.append(bool(words_of(source) and words_of(target)))
    if not any(filled):
        raise InputError(f"{corpus}: the corpus has no pair of sentences")
    hashes, complete = np.array(sentences, np.uint64), np.array(filled)
    links = np.array(documents, np.uint64)[:, None] if document else hashes
    groups = hashes.min(axis=1)
    groups[complete] = _smallest_linked(groups[complete], links[complete])
    return groups, complete


def _letters(text: str) -> str:
    """What near-duplicates share: letters in lower case, and digits as 0. A text without letters
    is itself.
    """
    return _DIGIT.sub("0", _NO_LETTERS.sub("", text.casefold())) or text.strip()


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _smallest_linked(values: np.ndarray, links: np.ndarray) -> np.ndarray:
    """For each row the smallest value of all rows that it is linked to, directly or through others.

    :param values: uint64 ``[rows]``. ``links``: uint64 ``[rows, k]``: rows with the same value in
        a column are linked.
    """
    columns = [np.unique(column, return_inverse=True)[1] for column in links.T]
    smallest, before = values, None
    while before is None or not np.array_equal(smallest, before):
        before = smallest
        for column in columns:
            of_link = np.full(column.max() + 1, np.iinfo(np.uint64).max, np.uint64)
            np.minimum.at(of_link, column, smallest)
            smallest = of_link[column]
    return smallest


def _draw_pool(groups: np.ndarray, complete: np.ndarray, share: int | str) -> np.ndarray:
    """Which pairs are in the pool, bool ``[pairs]``."""
    total = int(complete.sum())
    amount = parse_amount("pool_share", share)
    portion = amount if is_share(share) else amount / total
    below = min(int(portion * 2**64), 2**64 - 1)
    in_pool: np.ndarray = (mix(groups) < np.uint64(below)) & complete
    if not in_pool.any() or in_pool[complete].all():
        raise InputError(
            f"{argument('pool_share', share)}: {int(in_pool.sum()):,} of the {total:,} pairs with"
            " two sides would be in the pool; both the pool and the training side need some. Give"
            " another share, or a larger corpus"
        )
    return in_pool


def _write(
    corpus: CorpusSpec,
    languages: tuple[str, str],
    document: str | None,
    sides: tuple[np.ndarray, np.ndarray],
    folder: Path,
) -> dict[str, int]:
    """Write the pairs of each side, in the order of the corpus; returns their numbers.

    The pool keeps its documents: empty lines between them, or the column in a file of JSON lines.

    :param sides: which pairs are in the pool, and which have two sides.
    """
    counts = {"pairs": 0, "train": 0, "pool": 0, "empty": 0}
    is_table = document not in (None, BLANK_LINES)
    with ExitStack() as stack:
        files = {
            name: [
                stack.enter_context((folder / f"{name}.{language}").open("wb"))
                for language in languages
            ]
            for name in (("train",) if is_table else ("train", "pool"))
        }
        table = stack.enter_context((folder / POOL_TABLE).open("wb")) if is_table else None
        pool_document = None
        for pair, name, in_pool, complete in zip(
            read_pairs(corpus), _read_documents(corpus, document), *sides, strict=False
        ):
            side = "empty" if not complete else "pool" if in_pool else "train"
            counts["pairs"] += 1
            counts[side] += 1
            if side == "empty":
                continue
            if side == "pool" and table:
                row = {**dict(zip(languages, pair, strict=True)), str(document): name}
                table.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                continue
            begins = side == "pool" and name != pool_document
            for file, text in zip(files[side], pair, strict=True):
                separator = b"\n" if begins and pool_document is not None else b""
                file.write(separator + text.encode() + b"\n")
            pool_document = name if begins else pool_document
    return counts
