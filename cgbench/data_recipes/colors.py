"""Colors: the mini-language of Lake, Linzen and Baroni (2019), as Akyürek and Andreas (2021) use it: 14 + 10 pairs.

Four words are colours; ``fep`` says the word before it three times, ``A blicket B`` is A B A, and ``X kiki Y`` is what
Y means and then what X means. So the pairs are generated; released files, where they are at hand, must agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cgbench.data_recipes.origins import released
from cgbench.data_recipes.recipe import Recipe, Source, Sources, Split, Writer
from cgbench.data_recipes.writer import GENERATED, RELEASED
from cgbench.errors import InputError
from cgbench.text.streams import read_lines

COLOURS = {"dax": "RED", "lug": "BLUE", "wif": "GREEN", "zup": "YELLOW"}
INPUTS = {
    "train": (
        *("dax", "lug", "wif", "zup", "lug fep", "dax fep", "lug blicket wif", "wif blicket dax", "lug kiki wif"),
        *(
            "dax kiki lug",
            "lug fep kiki wif",
            "wif kiki dax blicket lug",
            "lug kiki wif fep",
            "wif blicket dax kiki lug",
        ),
    ),
    "test": (
        *("zup fep", "zup blicket lug", "dax blicket zup", "zup kiki dax", "wif kiki zup", "zup fep kiki lug"),
        *(
            "wif kiki zup fep",
            "lug kiki wif blicket zup",
            "zup blicket wif kiki dax fep",
            "zup blicket zup kiki zup fep",
        ),
    ),
}
REPOSITORY, COMMIT = "ekinakyurek/lexical", "3956fa2a2dd976d99a94e8ad9ed8d3a6f65a5c78"
LEARNERS = ("forward.align.o", "goodman", "intersect.align.o", "pmi.align", "simple.align.v3")


def interpret(words: str) -> str:
    """The colours that a sentence of the mini-language means."""
    first, sign, second = words.partition(" kiki ")
    if sign:
        return f"{interpret(second)} {interpret(first)}"
    outer, sign, inner = words.partition(" blicket ")
    if sign:
        return f"{interpret(outer)} {interpret(inner)} {interpret(outer)}"
    word, sign, _ = words.partition(" fep")
    return " ".join([COLOURS[word]] * (3 if sign else 1))


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """The released pairs, source TAB target; the fields have blanks around them.

    :raises InputError: a row is none, or the mini-language gives it another meaning.
    """
    pairs = []
    for number, line in enumerate(read_lines(path), 1):
        source, sign, target = (part.strip() for part in line.partition("\t"))
        if not sign and not line.count("\t"):
            raise InputError(f"{path}, row {number} is not source TAB target")
        try:
            meaning = interpret(source)
        except KeyError as error:
            raise InputError(f"{path}, row {number}: {error} is no word of the mini-language") from None
        if meaning != target:
            raise InputError(f"{path}, row {number}: {source!r} is {target!r}, but means {meaning!r}")
        pairs.append((source, target))
    return pairs


def prepare(sources: Sources, out: Writer) -> None:
    """Write both splits, from released files if they are among the downloads or in a mirror."""
    for part, inputs in INPUTS.items():
        generated = [(words, interpret(words)) for words in inputs]
        found = sources.find(f"{part}.tsv", fetch=False)
        if found and sorted(read_pairs(found[0])) != sorted(generated):
            raise InputError(f"{found[0]}: not the {len(inputs)} pairs of the paper")
        out.split(part, generated, origin=RELEASED if found else GENERATED)


def _sources() -> Iterator[Source]:
    for part in INPUTS:
        yield released(REPOSITORY, COMMIT, f"COLOR/{part}.tsv")
    for name in LEARNERS:
        path = f"COLOR/alignments/{name}.json"
        yield released(REPOSITORY, COMMIT, path, f"align.{name}.json", extra=f"lexicons/{name}.json")


RECIPES = (
    Recipe(
        name="colors",
        summary="a mini-language of colours, few-shot",
        licence="MIT (files); the pairs are generated",
        citation="Lake, Linzen and Baroni, Human few-shot learning of compositional instructions, CogSci 2019; "
        "Akyürek and Andreas, Lexicon Learning for Few-Shot Neural Sequence Modeling, ACL 2021",
        homepage="https://github.com/ekinakyurek/lexical",
        sides=("src", "tgt"),
        size="14 + 10 pairs",
        download="none",
        splits=(Split("train", 14), Split("test", 10)),
        sources=tuple(_sources()),
        prepare=prepare,
        generates_released=True,
        revision=2,
        notes=(
            "vocabulary files of the paper also list words and colours that no pair uses",
            "lexicons/*: what the aligners of Akyürek and Andreas (2021) learned, if these files are at hand",
        ),
    ),
)
