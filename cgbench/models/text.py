"""Subwords: joint byte pair encoding (Sennrich et al., 2016) and one dictionary of subwords a side.

The merges are learnt on source and target together; each side's dictionary holds the subwords that occur on that side
of the training corpus, most frequent first, as ``subword-nmt`` and ``fairseq-preprocess`` do without a threshold. A
subword that ends a word ends with ``</w>``. Ids 0 to 3 are <s>, padding, </s> and <unk> on both sides.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.errors import InputError, require
from cgbench.files import read_json, to_json, write_atomic
from cgbench.models.config import TextConfig

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
BOS, PAD, EOS, UNK = range(4)
END_OF_WORD = "</w>"
FILE = "subwords.json"
FORMAT = 1


class Subwords:
    """Merges and the two dictionaries; turns lines into ids and ids into lines.

    :param merges: pairs of subwords in the order in which they are joined.
    :param source: source subwords by id, the specials first; ``target`` likewise.
    """

    def __init__(self, merges: Sequence[tuple[str, str]], source: Sequence[str], target: Sequence[str]) -> None:
        for side in (source, target):
            if tuple(side[:4]) != SPECIALS or len(set(side)) != len(side):
                raise InputError("subwords: a dictionary must begin with <s> <pad> </s> <unk> and name nothing twice")
        self.merges = [(str(left), str(right)) for left, right in merges]
        self.source, self.target = list(source), list(target)
        self._pieces = _Pieces(self.merges, [*source, *target])
        self._source = _Side(self.source, self._pieces)
        self._target = _Side(self.target, self._pieces)

    @classmethod
    def learn(cls, source: Path, target: Path, config: TextConfig) -> Subwords:
        """Learn from two plain text files (see the text contract in ``docs/formats.md``).

        The same files give the same subwords, whatever the machine, the run or the number of threads.

        :raises InputError: there is no word to learn from.
        """
        counts = [_count_words(path) for path in (source, target)]
        words = counts[0] + counts[1]
        if not words:
            raise InputError(f"{source}, {target}: no word to learn subwords from")
        merges = _learn_merges(words, config.merges)
        pieces = _Pieces(merges, _alphabet(words))
        return cls(merges, *(_dictionary(side, pieces) for side in counts))

    @classmethod
    def load(cls, folder: Path) -> Subwords:
        """Read what :meth:`save` wrote.

        :raises InputError: the file is missing, cut short or of another format.
        """
        data = read_json(folder / FILE)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f"{folder / FILE}: not a subwords file of format {FORMAT}")
        try:
            return cls([(left, right) for left, right in data["merges"]], data["source"], data["target"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{folder / FILE}: not a subwords file ({error!r})") from None

    def save(self, folder: Path) -> None:
        """Write ``subwords.json`` into ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / FILE, self._json())

    @property
    def source_size(self) -> int:
        """Number of source ids, specials included."""
        return len(self.source)

    @property
    def target_size(self) -> int:
        """Number of target ids, specials included."""
        return len(self.target)

    @property
    def digest(self) -> str:
        """sha256 of the saved form: equal digests mean equal ids for every text."""
        return hashlib.sha256(self._json().encode()).hexdigest()

    def encode_source(self, lines: Iterable[str]) -> list[np.ndarray]:
        """Return the ids of each line, int32, </s> last; an empty line is </s> alone."""
        return self._source.encode(lines)

    def encode_target(self, lines: Iterable[str]) -> list[np.ndarray]:
        """The same for target lines."""
        return self._target.encode(lines)

    def decode_target(self, ids: Iterable[int]) -> str:
        """Return the words of target ids, joined by one blank; what follows </s> and other specials are left out."""
        pieces = []
        for number in ids:
            if number == EOS:
                break
            if number not in (BOS, PAD):
                pieces.append(self.target[number] + (END_OF_WORD if number == UNK else ""))
        return "".join(pieces).replace(END_OF_WORD, " ").rstrip(" ")

    def _json(self) -> str:
        value = {"format": FORMAT, "merges": self.merges, "source": self.source, "target": self.target}
        return to_json(value)


class _Pieces:
    """The merges as a function from a word to its subwords."""

    def __init__(self, merges: Sequence[tuple[str, str]], known: Iterable[str]) -> None:
        models = require("tokenizers.models", "models")
        # Subwords on the way to longer ones may occur on no side, yet the merges pass through them.
        parts = (part for left, right in merges for part in (left, right, left + right))
        vocabulary: dict[str, int] = {"<unk>": 0}
        for piece in (*known, *parts):
            vocabulary.setdefault(piece, len(vocabulary))
        self._model = models.BPE(
            vocabulary, list(merges), unk_token="<unk>", end_of_word_suffix=END_OF_WORD, cache_capacity=0
        )

    def __call__(self, word: str) -> list[str]:
        return [token.value for token in self._model.tokenize(word)]


class _Side:
    """One side's dictionary, and the ids of every word met so far."""

    def __init__(self, entries: Sequence[str], pieces: _Pieces) -> None:
        self._ids = {entry: number for number, entry in enumerate(entries)}
        self._pieces = pieces
        self._words: dict[bytes, tuple[int, ...]] = {}

    def encode(self, lines: Iterable[str]) -> list[np.ndarray]:
        words = self._words
        encoded = []
        for line in lines:
            ids: list[int] = []
            for word in line.encode().split():
                known = words.get(word)
                if known is None:
                    known = words[word] = tuple(self._ids.get(piece, UNK) for piece in self._pieces(word.decode()))
                ids.extend(known)
            ids.append(EOS)
            encoded.append(np.array(ids, dtype=np.int32))
        return encoded


def read_lines(path: Path) -> list[str]:
    """Return the lines of a plain text file, ended by ``\\n`` alone.

    :raises InputError: the file is missing or not UTF-8 (with the line).
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}: line {line}: not UTF-8") from None
    return lines[:-1] if lines[-1] == "" else lines


def _count_words(path: Path) -> Counter[str]:
    # Bytes split at ASCII white space only, which is the text contract; str.split would split at more.
    counts = Counter(word for line in read_lines(path) for word in line.encode().split())
    return Counter({word.decode(): count for word, count in counts.items()})


def _alphabet(words: Iterable[str]) -> list[str]:
    """Every character, alone and as the end of a word, in one order."""
    characters = sorted({character for word in words for character in word})
    return [*characters, *(character + END_OF_WORD for character in characters)]


def _learn_merges(words: Counter[str], merges: int) -> list[tuple[str, str]]:
    tokenizers = require("tokenizers", "models")
    trainers = require("tokenizers.trainers", "models")
    alphabet = _alphabet(words)
    # The trainer numbers the ends of words in the order of a hash table and breaks ties by number; naming the whole
    # alphabet as special tokens fixes the numbers, and with them the merges.
    trainer = trainers.BpeTrainer(
        vocab_size=len(alphabet) + merges,
        min_frequency=2,
        special_tokens=alphabet,
        end_of_word_suffix=END_OF_WORD,
        show_progress=False,
    )
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    splitter = tokenizers.Regex(r"[ \t\r\x0b\x0c]+")
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(splitter, "removed")
    tokenizer.train_from_iterator(_repeated(words), trainer)
    learnt = _model_json(tokenizer)["merges"]
    return [(left, right) for left, right in learnt][:merges]


def _repeated(words: Counter[str]) -> Iterator[str]:
    """Yield lines in which each word occurs as often as it was counted, at most 1000 words a line."""
    for word, count in words.items():
        while count > 0:
            yield " ".join([word] * min(count, 1000))
            count -= 1000


def _model_json(tokenizer: Any) -> Any:
    import json

    return json.loads(tokenizer.to_str())["model"]


def _dictionary(words: Counter[str], pieces: _Pieces) -> list[str]:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for piece in pieces(word):
            counts[piece] += count
    entries = sorted((piece for piece in counts if piece not in SPECIALS), key=lambda piece: (-counts[piece], piece))
    return [*SPECIALS, *entries]
