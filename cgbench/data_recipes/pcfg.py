"""PCFG SET: string edit functions, nested (Hupkes, Dankers, Mul and Bruni, 2020).

The sentences were drawn to match the lengths and depths of a natural corpus, with a seed that nobody has published; so
they are downloaded. What a sentence means is defined by the grammar: every row is interpreted, and must have the target
that it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from cgbench.data_recipes.recipe import Recipe, Source, Split, github
from cgbench.data_recipes.sources import Sources
from cgbench.data_recipes.writer import Writer
from cgbench.errors import InputError
from cgbench.text.formats import CorpusSpec, read_pairs

Words = list[str]

UNARY: dict[str, Callable[[Words], Words]] = {
    "copy": lambda words: words,
    "reverse": lambda words: words[::-1],
    "shift": lambda words: words[1:] + words[:1],
    "echo": lambda words: words + words[-1:],
    "swap_first_last": lambda words: words[-1:] + words[1:-1] + words[:1],
    "repeat": lambda words: words + words,
}
BINARY: dict[str, Callable[[Words, Words], Words]] = {
    "append": lambda first, second: first + second,
    "prepend": lambda first, second: second + first,
    "remove_first": lambda first, second: second,
    "remove_second": lambda first, second: first,
}
SYNONYM = "_twin"  # in the substitutivity test a function also goes by this name

COMMIT = "4f75bdd78889150dd78e90bbb7ddec840204c159"
SMALL_COMMIT = "4c9aca747f3acf34a5cf85e4d79c93e780a96cd3"
PARTS: dict[str, dict[str, int | None]] = {
    "pcfgset": {"train": None, "dev": 4_860, "test": 9_721},
    "productivity": {"train": 81_010, "test": 11_333},
    "systematicity": {"train": 82_168, "test": 10_175},
    "substitutivity/primitive": {"train": None, "test": None, "test_twin": None},
    "substitutivity/equally_distributed": {"train": None, "test": None, "test_twin": None},
}
SMALL = {"train": 7_779, "dev": 457, "test": 916}
SHA256 = {
    "productivity.test.src": "ba03bc5c468e955d537c06ca02c900c431a16f37b8b3f02e5eaa8a93434a3f73",
    "productivity.test.tgt": "55704b1e887ffeffb104fc1ba4bc44dd6b0e95e34a355bd07d86881fd226a254",
    "systematicity.test.src": "9c47ccf869899e65c2c2cf530403c8fefdcb5de57787c9ff029dc7d9b8018941",
    "systematicity.test.tgt": "2896474cdeb151929bd85ed10aeeca37866e11dafa00f62e1660804f0dfc5a8a",
    "random10k.train.src": "8497b122bb871ac06d8cfae1b3ef65399168a7466c87769de8642710d5722677",
    "random10k.train.tgt": "aab46652bfe56b48884ea5a5f038ff605c207027b334be04c9eeb51de124d261",
    "random10k.dev.src": "6adc95105b99d1da3a00d25957b97a534f99b26ede9e44fca9db462dd4ebe906",
    "random10k.dev.tgt": "b684b83efb2fef1da9a59ef0c88345ced74aeb5b46838666974bfa9c736a0a67",
    "random10k.test.src": "1483c649b803f9c6ba3ae7ce61fb0ad7d263df370ec225d2cbe02f84c2bb022d",
    "random10k.test.tgt": "7f560e533853e7fceebc8ae983ae3e67fc9e7128538c2fd6da377d4db4e32d03",
}


def interpret(source: str) -> str:
    """What a sentence means: functions stand before their arguments, a comma between two.

    :raises ValueError: it is not a sentence of the language.
    """
    words = source.split()
    meaning, end = _interpret(words, 0)
    if end != len(words):
        raise ValueError(f"{words[end]!r} follows where the sentence should end")
    return " ".join(meaning)


def _interpret(words: Words, begin: int) -> tuple[Words, int]:
    """The meaning of the argument that begins at ``begin``, and where it ends."""
    word = words[begin].removesuffix(SYNONYM) if begin < len(words) else ","
    if word in UNARY:
        meaning, end = _interpret(words, begin + 1)
        return UNARY[word](meaning), end
    if word in BINARY:
        first, end = _interpret(words, begin + 1)
        if words[end : end + 1] != [","]:
            raise ValueError(f"no comma after the first argument of {word}")
        second, end = _interpret(words, end + 1)
        return BINARY[word](first, second), end
    end = begin
    while end < len(words) and words[end] != ",":
        end += 1
    if end == begin:
        raise ValueError("an argument is empty")
    return words[begin:end], end


def checked(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """The pairs of two files, each interpreted.

    :raises InputError: a target is not what its source means, with the row.
    """
    for number, (words, claimed) in enumerate(read_pairs(CorpusSpec((source, target))), 1):
        try:
            meaning = interpret(words)
        except ValueError as error:
            raise InputError(f"{source}, row {number}: not a sentence of PCFG SET ({error})") from None
        if meaning != claimed.strip():
            raise InputError(f"{target}, row {number}: {claimed[:200]!r}, where the source means {meaning[:200]!r}")
        yield words.strip(), claimed.strip()


def prepare(sources: Sources, out: Writer) -> None:
    """Write every split whose files are at hand."""
    for split in out.recipe.splits:
        stem = split.name.replace("/", ".")
        if files := sources.find(f"{stem}.src", f"{stem}.tgt"):
            out.split(split.name, checked(*files))


def _sources() -> Iterator[Source]:
    official = "i-machine-think/am-i-compositional"
    for test, parts in PARTS.items():
        for part in parts:
            yield from _both_sides(test, part, official, COMMIT, f"data/pcfgset/{test}/{part}")
    for part in SMALL:
        yield from _both_sides(
            "random10k", part, "MathijsMul/pcfg-set", SMALL_COMMIT, f"data/pcfg_set/10K/random_split/{part}"
        )


def _both_sides(test: str, part: str, repository: str, commit: str, path: str) -> Iterator[Source]:
    for side in ("src", "tgt"):
        name = f"{test.replace('/', '.')}.{part}.{side}"
        known = (SHA256[name],) if name in SHA256 else ()
        yield Source(name, github(repository, commit, f"{path}.{side}"), known)


RECIPES = (
    Recipe(
        name="pcfg-set",
        summary="nested string edit functions",
        licence="MIT",
        citation="Hupkes, Dankers, Mul and Bruni, Compositionality decomposed: how do neural networks generalise?, "
        "JAIR 2020",
        homepage="https://github.com/i-machine-think/am-i-compositional",
        sides=("src", "tgt"),
        size="about 97,000 sentences",
        folder="pcfg",
        splits=(
            *(Split(f"{test}/{part}", rows) for test, parts in PARTS.items() for part, rows in parts.items()),
            *(Split(f"random10k/{part}", rows) for part, rows in SMALL.items()),
        ),
        sources=tuple(_sources()),
        prepare=prepare,
        notes=(
            "productivity and systematicity are tested on their test split; their papers have no validation set",
            "random10k is a small sample of the same language by its authors (no licence stated), not a split",
        ),
    ),
)
