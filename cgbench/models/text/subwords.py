"""Convert lines of text to ids and back: subwords, words or characters, with one vocabulary per
side.

Subwords come from a joint byte pair encoding (:mod:`cgbench.models.text.bpe`) of source and target;
ASCII white space separates words; with characters, every one of a line is a token. A side's
vocabulary contains the tokens on that side of the training data, most frequent first, as in
``subword-nmt`` and ``fairseq-preprocess`` without a threshold; or both sides share one. Ids 0 to 3
are <s>, padding, </s> and <unk> on both sides.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.checksums import check_recorded
from cgbench.errors import InputError, argument
from cgbench.files import check_shape, ordinary_file, read_json, to_json, write_atomic
from cgbench.models.config.common import UNITS, TextConfig
from cgbench.models.special_ids import BOS, EOS, PAD, SPECIALS, UNK
from cgbench.models.text.bpe import END_OF_WORD, alphabet, learn_merges, splitter
from cgbench.models.text.places import Places, consecutive
from cgbench.text.plain_text import word_bytes, words_of
from cgbench.text.program_trees import SLOT, program_symbols, subtrees_of
from cgbench.text.streams import read_lines

FILE = "subwords.json"
_FORMATS: dict[int, dict[str, Any]] = {
    1: {"merges": [[str]], "source": [str], "target": [str]},  # subwords
    2: {"unit": str, "source": [str], "target": [str]},  # another unit
    3: {
        "unit": str,
        "merges": [[str]],
        "target": [str],
        "tokenizer": str,
    },  # of a pre-trained encoder for the source
    4: {"tokenizer": str},  # of a pre-trained model for both sides
}
"""The fields of each form of the file."""


class Subwords:
    """A text unit with two vocabularies; converts lines to ids and back.

    :param merges: pairs of subwords in merge order.
    :param source: source tokens by id, special tokens first; ``target``: target tokens.
    :param unit: see :class:`cgbench.models.config.common.TextConfig`; ``tokenizer``: JSON of a
        tokeniser for the source; then ``source`` is ignored, and merges and unit apply to the
        target.
    :param both: use the tokeniser for both sides; all other arguments are ignored.
    """

    def __init__(
        self,
        merges: Sequence[tuple[str, str]] = (),
        source: Sequence[str] = SPECIALS,
        target: Sequence[str] = SPECIALS,
        unit: str = "subwords",
        tokenizer: str | None = None,
        both: bool = False,
    ) -> None:
        if unit not in UNITS:
            raise InputError(f"subwords: unit {unit!r} is not one of {', '.join(UNITS)}")
        for side in (source, target):
            if tuple(side[: len(SPECIALS)]) != SPECIALS or len(set(side)) != len(side):
                raise InputError(
                    "subwords: a vocabulary must begin with <s> <pad> </s> <unk> and have no"
                    " duplicates"
                )
        self.merges = [(str(first), str(second)) for first, second in merges]
        self.unit, self.tokenizer, self.both = unit, tokenizer, both
        pieces = splitter(self.merges, [*source, *target]) if unit == "subwords" else _whole
        self._source: Any = _Side(source, _SPLITTERS[unit], pieces)
        if tokenizer is not None:
            from cgbench.models.text.tokenized import TokenizerSide

            self._source = TokenizerSide(tokenizer)
        self.is_program = unit in ("programs", "sketches")
        if self.is_program:
            if tokenizer is None:
                raise InputError(
                    f"text.unit={unit}: needs the tokeniser of a pre-trained encoder"
                    f" ({argument('init')})"
                )
            from cgbench.models.text.programs import ProgramSide, SketchSide

            kind = ProgramSide if unit == "programs" else SketchSide
            self._target: Any = kind(target, self._source)
        else:
            self._target = self._source if both else _Side(target, _SPLITTERS[unit], pieces)
        self.source: list[str] = self._source.tokens
        self.target: list[str] = self._target.tokens

    @classmethod
    def learn(
        cls, source: Path, target: Path, config: TextConfig, tokenizer: str | None = None
    ) -> Subwords:
        """Learn from two plain text files (see the text contract in ``docs/reference/formats.md``).

        The result is deterministic, whatever the machine or number of threads.

        :param config: unit and number of merges; ``tokenizer``: JSON of a tokeniser for the source.
        """
        counts = [_count(path, _SPLITTERS[config.unit]) for path in (source, target)]
        total = counts[0] + counts[1]
        if not total:
            raise InputError(f"{source}, {target}: no words to learn {config.unit} from")
        merges: list[tuple[str, str]] = []
        pieces: Callable[[str], list[str]] = _whole
        if config.unit == "subwords":
            merges = learn_merges(total, config.merges, config.ties)
            pieces = splitter(merges, alphabet(total))
        first, second = (total, total) if config.joint_dictionary else counts
        dictionaries = _dictionary(first, pieces), _dictionary(second, pieces)
        return cls(merges, *dictionaries, config.unit, tokenizer)

    @classmethod
    def load(cls, folder: Path) -> Subwords:
        """Read a file from :meth:`save`."""
        data = read_json(ordinary_file(folder / FILE))
        check_recorded(folder / FILE)
        if not isinstance(data, dict) or data.get("format") not in _FORMATS:
            raise InputError(
                f"{folder / FILE}: not a subwords file of format {', '.join(map(str, _FORMATS))}"
            )
        fields = _FORMATS[data["format"]]
        check_shape(data, fields, folder / FILE, "not a subwords file")
        try:
            return cls(**{name: data[name] for name in fields}, both=data["format"] == 4)
        except InputError as error:
            raise InputError(f"{folder / FILE}: {error}") from None
        except Exception as error:  # from the BPE model, for inconsistent merges
            raise InputError(f"{folder / FILE}: not a subwords file ({error!r})") from None

    def save(self, folder: Path) -> None:
        """Write ``subwords.json`` into ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / FILE, self._json)

    @property
    def source_size(self) -> int:
        """Number of source ids, with special tokens."""
        return len(self.source)

    @property
    def target_size(self) -> int:
        """Number of target ids, with special tokens."""
        return len(self.target)

    @property
    def digest(self) -> str:
        """sha256 of the saved file; equal digests mean equal ids for every text."""
        return hashlib.sha256(self._json.encode()).hexdigest()

    def encode_source(self, lines: Iterable[str]) -> list[np.ndarray]:
        """Return the ids of each line, int32, </s> last; a line without tokens is only </s>."""
        return self._source.encode(lines)

    def encode_target(self, lines: Iterable[str]) -> list[np.ndarray]:
        """As :meth:`encode_source`, for target lines."""
        return self._target.encode(lines)

    def unknown_source(self, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
        """Yield every source word (or character) with a part that is not in the vocabulary: line
        from 0, word.
        """
        return self._source.unknown(lines)

    def source_places(self, lines: Iterable[str]) -> list[Places]:
        """The tokens of each word of source lines."""
        return [self._source.places(line) for line in lines]

    def target_places(self, lines: Iterable[str]) -> list[Places]:
        """As :meth:`source_places`, for target lines."""
        return [self._target.places(line) for line in lines]

    @property
    def slot(self) -> int:
        """The id of a slot in sketches; -1 if there are none."""
        return int(getattr(self._target, "slot", -1))

    def as_decoded(self, line: str) -> str:
        """A target line as :meth:`decode_target` writes it, where this changes words."""
        return str(self._target.as_decoded(line)) if self.is_program else line

    def targets_of_pieces(self) -> np.ndarray:
        """See :meth:`.programs.ProgramSide.targets_of_pieces`."""
        if not self.is_program:
            raise InputError(
                f"model.copies=true: needs text.unit=programs or sketches, not {self.unit}"
            )
        pieces: np.ndarray = self._target.targets_of_pieces()
        return pieces

    def decode_target(self, ids: Iterable[int]) -> str:
        """Return the text of target ids up to </s>, words separated by spaces, without special
        tokens but ``<unk>``.
        """
        if self.both or self.is_program:
            return str(self._target.decode(ids))
        pieces = []
        for id_ in ids:
            if id_ == EOS:
                break
            if id_ not in (BOS, PAD):
                pieces.append(
                    self.target[id_]
                    + (END_OF_WORD if id_ == UNK and self.unit == "subwords" else "")
                )
        if self.unit == "subwords":
            return "".join(pieces).replace(END_OF_WORD, " ").rstrip(" ")
        return (" " if self.unit == "words" else "").join(pieces)

    @cached_property  # every checkpoint compares digests
    def _json(self) -> str:
        """The text of the saved file."""
        fields: dict[str, Any]
        if self.both:
            return to_json({"format": 4, "tokenizer": self.tokenizer})
        if self.tokenizer is not None:
            target = self._target.symbols if self.is_program else self.target
            fields = {"unit": self.unit, "merges": self.merges, "target": target}
            return to_json({"format": 3, **fields, "tokenizer": self.tokenizer})
        fields = {"source": self.source, "target": self.target}
        fields |= (
            {"format": 1, "merges": self.merges}
            if self.unit == "subwords"
            else {"format": 2, "unit": self.unit}
        )
        return to_json(fields)


class _Side:
    """One side's vocabulary, with a cache of the ids of words."""

    def __init__(
        self,
        entries: Sequence[str],
        split: Callable[[str], list[bytes]],
        pieces: Callable[[str], list[str]],
    ) -> None:
        self.tokens = list(entries)
        # A word that is spelt like a special token is unknown.
        self._ids = {entry: id_ for id_, entry in enumerate(entries) if id_ >= len(SPECIALS)}
        self._split, self._pieces = split, pieces
        self._words: dict[bytes, tuple[int, ...]] = {}

    def encode(self, lines: Iterable[str]) -> list[np.ndarray]:
        words = self._words
        encoded = []
        for line in lines:
            ids: list[int] = []
            for word in self._split(line):
                known = words.get(word)
                ids.extend(self._look_up(word) if known is None else known)
            ids.append(EOS)
            encoded.append(np.array(ids, dtype=np.int32))
        return encoded

    def unknown(self, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
        for index, line in enumerate(lines):
            for word in self._split(line):
                if UNK in (self._words.get(word) or self._look_up(word)):
                    yield index, word.decode()

    def places(self, line: str) -> Places:
        return consecutive([len(self._look_up(word)) for word in self._split(line)])

    def _look_up(self, word: bytes) -> tuple[int, ...]:
        ids = self._words[word] = tuple(
            self._ids.get(piece, UNK) for piece in self._pieces(word.decode())
        )
        return ids


def _characters(line: str) -> list[bytes]:
    return [character.encode() for character in line]


def _symbols(line: str) -> list[bytes]:
    return [symbol.encode() for symbol in program_symbols(line)]


def _symbols_of_sketches(line: str) -> list[bytes]:
    slots = [SLOT] if subtrees_of(words_of(line)) else []
    return [*_symbols(line), *(slot.encode() for slot in slots)]


_SPLITTERS: dict[str, Callable[[str], list[bytes]]] = {
    "subwords": word_bytes,
    "words": word_bytes,
    "characters": _characters,
    "programs": _symbols,
    "sketches": _symbols_of_sketches,
}


def _whole(word: str) -> list[str]:
    return [word]


def _count(path: Path, split: Callable[[str], list[bytes]]) -> Counter[str]:
    counts = Counter(word for line in read_lines(path) for word in split(line))
    return Counter({word.decode(): count for word, count in counts.items()})


def _dictionary(words: Counter[str], pieces: Callable[[str], list[str]]) -> list[str]:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for piece in pieces(word):
            counts[piece] += count
    entries = sorted(
        (piece for piece in counts if piece not in SPECIALS),
        key=lambda piece: (-counts[piece], piece),
    )
    return [*SPECIALS, *entries]
