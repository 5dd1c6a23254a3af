"""PCFG SET: string edit functions, nested (Hupkes, Dankers, Mul and Bruni, 2020).

The sentences were sampled to match the lengths and depths of a natural corpus, with an unpublished
seed, so they are downloaded. The grammar defines the meaning of a sentence: every row is
interpreted and its target checked.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from cgbench.data_recipes.recipe import Recipe, Source, Sources, Split, Writer
from cgbench.data_recipes.sources import released
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
SYNONYM = "_twin"  # suffix of synonymous functions in the substitutivity test

COMMIT = "4f75bdd78889150dd78e90bbb7ddec840204c159"
SMALL_COMMIT = "4c9aca747f3acf34a5cf85e4d79c93e780a96cd3"
TESTS: dict[str, dict[str, int]] = {
    "pcfgset": {"train": 82_622, "dev": 4_860, "test": 9_721},
    "productivity": {"train": 81_010, "test": 11_333},
    "systematicity": {"train": 82_168, "test": 10_175},
    "substitutivity/primitive": {"train": 82_953, "test": 10_000, "test_twin": 10_000},
    "substitutivity/equally_distributed": {"train": 82_621, "test": 10_000, "test_twin": 10_000},
}
SMALL = {"train": 7_779, "dev": 457, "test": 916}


def meaning_of(source: str) -> str:
    """The meaning of a sentence, in which functions precede their arguments and a comma separates
    two arguments.

    :raises ValueError: it is not a sentence of the language.
    """
    words = source.split()
    meaning, end = _meaning(words, 0)
    if end != len(words):
        raise ValueError(f"{words[end]!r} after the end of the sentence")
    return " ".join(meaning)


def _meaning(words: Words, begin: int) -> tuple[Words, int]:
    """The meaning of the argument that begins at ``begin``, and where it ends."""
    word = words[begin].removesuffix(SYNONYM) if begin < len(words) else ","
    if word in UNARY:
        meaning, end = _meaning(words, begin + 1)
        return UNARY[word](meaning), end
    if word in BINARY:
        first, end = _meaning(words, begin + 1)
        if words[end : end + 1] != [","]:
            raise ValueError(f"no comma after the first argument of {word}")
        second, end = _meaning(words, end + 1)
        return BINARY[word](first, second), end
    end = begin
    while end < len(words) and words[end] != ",":
        end += 1
    if end == begin:
        raise ValueError("an argument is empty")
    return words[begin:end], end


def checked(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """The pairs of two files, with targets checked.

    :raises InputError: a target is not the meaning of its source.
    """
    for row, (words, claimed) in enumerate(read_pairs(CorpusSpec((source, target))), 1):
        try:
            meaning = meaning_of(words)
        except ValueError as error:
            raise InputError(f"{source}, row {row}: not a sentence of PCFG SET ({error})") from None
        if meaning != claimed.strip():
            raise InputError(
                f"{target}, row {row}: {claimed[:200]!r}, but the source means {meaning[:200]!r}"
            )
        yield words.strip(), claimed.strip()


def prepare_pcfg(sources: Sources, out: Writer) -> None:
    """Write every split whose files are available."""
    for name in out.rows:
        stem = name.replace("/", ".")
        if files := sources.find(f"{stem}.src", f"{stem}.tgt"):
            out.split(name, checked(*files))


def _sources() -> Iterator[Source]:
    official = "i-machine-think/am-i-compositional"
    for test, subsets in TESTS.items():
        for subset in subsets:
            yield from _both_sides(
                f"{test}/{subset}", official, COMMIT, f"data/pcfgset/{test}/{subset}"
            )
    for subset in SMALL:
        yield from _both_sides(
            f"random10k/{subset}",
            "MathijsMul/pcfg-set",
            SMALL_COMMIT,
            f"data/pcfg_set/10K/random_split/{subset}",
        )


def _both_sides(split: str, repository: str, commit: str, path: str) -> Iterator[Source]:
    for side in ("src", "tgt"):
        yield released(repository, commit, f"{path}.{side}", f"{split.replace('/', '.')}.{side}")


RECIPES = (
    Recipe(
        name="pcfg-set",
        summary="nested string edit functions",
        licence="MIT",
        citation=(
            "Hupkes, Dankers, Mul and Bruni, Compositionality decomposed: how do neural networks"
            " generalise?, JAIR 2020"
        ),
        homepage="https://github.com/i-machine-think/am-i-compositional",
        sides=("src", "tgt"),
        size="about 97,000 sentences",
        folder="pcfg",
        splits=(
            *(
                Split(f"{test}/{subset}", rows)
                for test, subsets in TESTS.items()
                for subset, rows in subsets.items()
            ),
            *(Split(f"random10k/{subset}", rows) for subset, rows in SMALL.items()),
        ),
        sources=tuple(_sources()),
        prepare=prepare_pcfg,
        notes=(
            (
                "productivity and systematicity are tested on their test split; the paper has no"
                " validation set for them"
            ),
            (
                "random10k is a small sample of the same language by its authors (no licence"
                " stated), not a split"
            ),
        ),
    ),
)
