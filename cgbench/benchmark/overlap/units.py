"""The units of n-grams: words, optionally normalised, or the ids of a Hugging Face tokeniser."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.overlap.automaton import read_array
from cgbench.errors import InputError, argument
from cgbench.models.text.tokenized import encode_lines, open_tokenizer, read_tokenizer_file
from cgbench.text.blocks import Block, join_blocks
from cgbench.text.normalisation import Normalisation, normaliser
from cgbench.text.shards import Change

UNKNOWN = 0x7FFFFFFE


@dataclass(frozen=True)
class UnitRules:
    """How text is read: normalised, or split by a model's ``tokenizer.json``; and the column of a corpus's tables.

    ``most``: the highest exact count.
    """

    normalisation: Normalisation = field(default_factory=Normalisation)
    tokenizer: Path | None = None
    column: str = "text"
    skip_bad: bool = False
    most: int = 3

    def __post_init__(self) -> None:
        if self.tokenizer and not self.normalisation.is_identity:
            raise InputError(f"{argument('tokenizer')} reads text unchanged; leave {argument('tokenize')} and such out")

    @property
    def units(self) -> dict[str, Any]:
        """The settings that determine units, as JSON."""
        if self.tokenizer:
            return {"tokenizer": hashlib.sha256(read_tokenizer_file(self.tokenizer)).hexdigest()}
        return {"words": self.normalisation.settings}

    @property
    def lower(self) -> bool:
        """Whether text is only lower-cased."""
        return self.normalisation.lowercase and not self.normalisation.tokenizes

    @property
    def change(self) -> Change | None:
        """The function that normalises a line; None if it is unchanged or only lower-cased."""
        if self.normalisation.is_identity or self.lower:
            return None
        return normaliser(self.normalisation, self.normalisation.languages[0])


class Words:
    """The words of a test text."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._ids, self._lengths = np.empty(0, np.int32), np.empty(0, np.int32)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def read(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """The ids of a block's words and the words per line, int32; valid until the next call."""
        from cgbench.text import word_kernels

        lines = block.count_lines()
        if len(self._ids) < block.size // 2 + 1:
            self._ids = np.empty(block.size // 2 + 1, np.int32)
        if len(self._lengths) < lines:
            self._lengths = np.empty(2 * lines, np.int32)
        vocabulary = self.vocabulary
        filled = word_kernels.read_ids(
            block.buffer, block.size, vocabulary.arena, vocabulary.starts, vocabulary.table, self._ids, self._lengths
        )
        return self._ids[:filled], self._lengths[:lines]

    def read_lines(self, lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`read` for lines: ids int32 ``[words of all]``, lengths int32 ``[lines]``."""
        arrays = [tuple(array.copy() for array in self.read(block)) for block in join_blocks(lines)]
        return _joined([ids for ids, _ in arrays], np.int32), _joined([lengths for _, lengths in arrays], np.int32)

    def text(self, ids: Sequence[int]) -> str:
        """The words with these ids."""
        return " ".join(map(self.vocabulary.word, ids))

    def save(self, folder: Path) -> None:
        """Write the words into a folder."""
        self.vocabulary.save(folder)


class TokenIds:
    """The tokeniser ids of a test text, renumbered: ``numbers`` int32 ``[ids]``; ``ids`` is the inverse."""

    def __init__(self, path: Path, ids: np.ndarray) -> None:
        self.tokenizer = _open(path)
        self.ids = ids
        self.numbers = np.full(max(self.tokenizer.get_vocab_size(), int(ids.max(initial=0)) + 1), UNKNOWN, np.int32)
        self.numbers[ids] = np.arange(len(ids))

    def __len__(self) -> int:
        return len(self.ids)

    def read(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the ids of a block's lines, and the ids per line."""
        ids, lengths = _encode(self.tokenizer, block)
        return self.numbers[ids], lengths

    def text(self, ids: Sequence[int]) -> str:
        """The text of these numbers."""
        return str(self.tokenizer.decode(self.ids[list(ids)].tolist(), skip_special_tokens=False)).strip()

    def save(self, folder: Path) -> None:
        """Write the ids into a folder."""
        np.save(folder / "units.npy", self.ids)


def _encode(tokenizer: Any, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """The ids of a block's lines, int64, and the number of each line, int32; without special tokens."""
    lines = block.buffer[: block.size - 1].tobytes().decode().split("\n")
    encoded = [np.array(encoding.ids, np.int64) for encoding in encode_lines(tokenizer, lines, "the tokenizer.json")]
    return _joined(encoded, np.int64), np.array([len(encoding) for encoding in encoded], np.int32)


def _open(path: Path) -> Any:
    return open_tokenizer(read_tokenizer_file(path), path)


def units_of(lines: Sequence[str], rules: UnitRules) -> tuple[Words | TokenIds, np.ndarray, np.ndarray]:
    """The units of a test text, and the text in units: ids int32 ``[all]``, lengths int32 ``[lines]``."""
    if rules.tokenizer:
        tokenizer = _open(rules.tokenizer)
        blocks = [_encode(tokenizer, block) for block in join_blocks(lines)]
        known, numbers = np.unique(_joined([ids for ids, _ in blocks], np.int64), return_inverse=True)
        lengths = _joined([sizes for _, sizes in blocks], np.int32)
        return TokenIds(rules.tokenizer, known), numbers.astype(np.int32), lengths
    words = Words(Vocabulary.learn(lines, min_count=1))
    return words, *words.read_lines(lines)


def _joined(arrays: list[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *arrays])


def load_units(folder: Path, tokenizer: Path | None) -> Words | TokenIds:
    """The units saved in a folder."""
    if tokenizer is None:
        return Words(Vocabulary.load(folder))
    ids = read_array(folder / "units.npy")
    if ids.dtype != np.int64 or ids.ndim != 1 or (ids < 0).any() or (ids >= UNKNOWN).any():
        raise InputError(f"{folder / 'units.npy'}: damaged: not valid ids")
    return TokenIds(tokenizer, ids)
