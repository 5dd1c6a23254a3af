"""Byte pair encoding (Sennrich et al., 2016): learn merges from word counts, and split words.

A subword at the end of a word ends with ``</w>``. Merges are deterministic, whatever the machine or
number of threads.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

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


def learn_merges(words: Counter[str], merges: int) -> list[tuple[str, str]]:
    """Return up to ``merges`` merges, the most frequent pairs first; pairs that occur once are not
    merged.
    """
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
