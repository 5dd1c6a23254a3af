"""Byte pair encoding (Sennrich et al., 2016): learn merges from word counts, and split words.

A subword at the end of a word ends with ``</w>``. Merges are deterministic, whatever the machine or
number of threads. Implementations differ in which of two equally frequent pairs they merge first;
:func:`learn_merges` has the rules of two.
"""

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from cgbench.errors import require

END_OF_WORD = "</w>"


def splitter(merges: Sequence[tuple[str, str]], known: Iterable[str]) -> Callable[[str], list[str]]:
    """A function from a word to its subwords; an unknown character is ``<unk>``.

    :param merges: pairs of subwords in merge order; ``known``: further subwords.
    """
    models = require("tokenizers.models", "models")
    # Merges also need intermediate subwords, which may not occur on either side.
    merged = (subword for pair in merges for subword in (*pair, "".join(pair)))
    vocabulary: dict[str, int] = {"<unk>": 0}
    for piece in (*known, *merged):
        vocabulary.setdefault(piece, len(vocabulary))
    model = models.BPE(
        vocabulary,
        list(merges),
        unk_token="<unk>",
        end_of_word_suffix=END_OF_WORD,
        cache_capacity=0,
    )
    return lambda word: [token.value for token in model.tokenize(word)]


def alphabet(words: Iterable[str]) -> list[str]:
    """Return every character, alone and at the end of a word, in a fixed order."""
    characters = sorted({character for word in words for character in word})
    return [*characters, *(character + END_OF_WORD for character in characters)]


def learn_merges(
    words: Counter[str], merges: int, ties: str = "tokenizers"
) -> list[tuple[str, str]]:
    """Return up to ``merges`` merges, the most frequent pairs first; pairs that occur once are not
    merged.

    :param ties: of equally frequent pairs, merge first the one whose subwords are older, as the
        library ``tokenizers`` does, or the last one by alphabet (``subword-nmt``).
    """
    return (
        _merges_of_subword_nmt(words, merges) if ties == "subword-nmt" else _merges(words, merges)
    )


def _merges(words: Counter[str], merges: int) -> list[tuple[str, str]]:
    tokenizers = require("tokenizers", "models")
    trainers = require("tokenizers.trainers", "models")
    characters = alphabet(words)
    # The trainer numbers word-final characters in random order and breaks ties by number. Passing
    # the whole alphabet as special tokens fixes the numbers, and so the merges.
    trainer = trainers.BpeTrainer(
        vocab_size=len(characters) + merges,
        min_frequency=2,
        special_tokens=characters,
        end_of_word_suffix=END_OF_WORD,
        show_progress=False,
    )
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    splitter = tokenizers.Regex(r"[ \t\r\x0b\x0c]+")
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(splitter, "removed")
    tokenizer.train_from_iterator(_repeated(words), trainer)
    return list(map(tuple, json.loads(tokenizer.to_str())["model"]["merges"][:merges]))


def _repeated(words: Counter[str]) -> Iterator[str]:
    """Yield lines that repeat each word by its count, at most 1000 words per line."""
    for word, count in words.items():
        while count > 0:
            yield " ".join([word] * min(count, 1000))
            count -= 1000


class _LastFirst:
    """A pair in a heap that returns the last one by alphabet first."""

    __slots__ = ("pair",)

    def __init__(self, pair: tuple[str, str]) -> None:
        self.pair = pair

    def __lt__(self, other: "_LastFirst") -> bool:
        return self.pair > other.pair


def _merges_of_subword_nmt(words: Counter[str], merges: int) -> list[tuple[str, str]]:
    spellings = [[*word[:-1], word[-1] + END_OF_WORD] for word in words]
    word_counts = list(words.values())
    # How often each pair occurs, and in which words; the heap may also have former counts.
    counts: Counter[tuple[str, str]] = Counter()
    places: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for index, (spelling, count) in enumerate(zip(spellings, word_counts, strict=True)):
        for pair in pairwise(spelling):
            counts[pair] += count
            places[pair].add(index)
    heap = [(-count, _LastFirst(pair)) for pair, count in counts.items()]
    heapq.heapify(heap)
    learned: list[tuple[str, str]] = []
    while heap and len(learned) < merges:
        negative_count, entry = heapq.heappop(heap)
        best = entry.pair
        if counts[best] != -negative_count:
            continue
        if counts[best] < 2:
            break
        learned.append(best)
        # Spell the words that have the pair anew; all of their pairs may have other counts.
        changed = set()
        for index in places.pop(best):
            before, count = spellings[index], word_counts[index]
            spellings[index] = after = _merged(before, best)
            for pair in pairwise(before):
                counts[pair] -= count
                changed.add(pair)
            for pair in pairwise(after):
                counts[pair] += count
                places[pair].add(index)
                changed.add(pair)
        for pair in changed:
            if counts[pair] > 0:
                heapq.heappush(heap, (-counts[pair], _LastFirst(pair)))
    return learned


def _merged(spelling: list[str], pair: tuple[str, str]) -> list[str]:
    """A spelling with every occurrence of a pair merged, from left to right."""
    merged: list[str] = []
    for subword in spelling:
        if merged and subword == pair[1] and merged[-1] == pair[0]:
            merged[-1] += subword
        else:
            merged.append(subword)
    return merged
