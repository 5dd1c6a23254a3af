"""Colors: the mini-language of Lake, Linzen and Baroni (2019), as used by Akyürek and Andreas
(2021): 14 + 10 pairs.

Four words are colours; ``fep`` repeats the word before it three times, ``A blicket B`` is A B A,
and ``X kiki Y`` is the meaning of Y followed by that of X. The pairs are generated; released files,
if available, must agree.
"""

from cgbench.data_recipes.recipe import Recipe, Sources, Split, Writer
from cgbench.data_recipes.sources import alignments, released
from cgbench.data_recipes.writer import GENERATED, RELEASED, check_same, tab_rows

COLOURS = {"dax": "RED", "lug": "BLUE", "wif": "GREEN", "zup": "YELLOW"}
_INPUTS = {
    "train": (
        "dax, lug, wif, zup, lug fep, dax fep, lug blicket wif, wif blicket dax, lug kiki wif, dax"
        " kiki lug, lug fep kiki wif, wif kiki dax blicket lug, lug kiki wif fep, wif blicket dax"
        " kiki lug"
    ),
    "test": (
        "zup fep, zup blicket lug, dax blicket zup, zup kiki dax, wif kiki zup, zup fep kiki lug,"
        " wif kiki zup fep, lug kiki wif blicket zup, zup blicket wif kiki dax fep, zup blicket zup"
        " kiki zup fep"
    ),
}
INPUTS = {name: text.split(", ") for name, text in _INPUTS.items()}
REPOSITORY, COMMIT = "ekinakyurek/lexical", "3956fa2a2dd976d99a94e8ad9ed8d3a6f65a5c78"


def colours_of(words: str) -> str:
    """The colours meant by a sentence of the mini-language."""
    first, sign, second = words.partition(" kiki ")
    if sign:
        return f"{colours_of(second)} {colours_of(first)}"
    outer, sign, inner = words.partition(" blicket ")
    if sign:
        return f"{colours_of(outer)} {colours_of(inner)} {colours_of(outer)}"
    word, sign, _ = words.partition(" fep")
    return " ".join([COLOURS[word]] * (3 if sign else 1))


def prepare_colors(sources: Sources, out: Writer) -> None:
    """Write both splits, checked against released files in the downloads or a mirror, if any."""
    for name, inputs in INPUTS.items():
        pairs = [(words, colours_of(words)) for words in inputs]
        if paths := sources.find(f"{name}.tsv", fetch=False):
            rows = tab_rows(paths[0], "source", "target")
            check_same(
                str(paths[0]), [(source.strip(), target.strip()) for source, target in rows], pairs
            )
        out.split(name, pairs, origin=RELEASED if paths else GENERATED)


RECIPES = (
    Recipe(
        name="colors",
        summary="a mini-language of colours, few-shot",
        licence="MIT (files); the pairs are generated",
        citation=(
            "Lake, Linzen and Baroni, Human few-shot learning of compositional instructions, CogSci"
            " 2019; Akyürek and Andreas, Lexicon Learning for Few-Shot Neural Sequence Modeling,"
            " ACL 2021"
        ),
        homepage="https://github.com/ekinakyurek/lexical",
        sides=("src", "tgt"),
        size="14 + 10 pairs",
        download="none",
        splits=(Split("train", 14), Split("test", 10)),
        sources=(
            *(released(REPOSITORY, COMMIT, f"COLOR/{name}.tsv") for name in INPUTS),
            *alignments(REPOSITORY, COMMIT, "COLOR"),
        ),
        prepare=prepare_colors,
        generates_released=True,
        revision=2,
        notes=(
            "vocabulary files of the paper also list words and colours that no pair uses",
            (
                "lexicons/*: lexicons learned by the aligners of Akyürek and Andreas (2021), if"
                " available"
            ),
        ),
    ),
)
