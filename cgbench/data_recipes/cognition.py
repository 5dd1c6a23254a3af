"""CoGnition: English-Chinese stories, and a test of novel compounds in known contexts."""

from __future__ import annotations

from cgbench.data_recipes.recipe import NO_LICENCE, Recipe, Source, Split, github
from cgbench.data_recipes.sources import Sources
from cgbench.data_recipes.writer import Writer
from cgbench.errors import InputError
from cgbench.text.formats import CorpusSpec, read_lines, read_pairs

REPOSITORY, COMMIT = "yafuly/CoGnition", "66644ce44971ab7f86d4f9fe8eb34d095fc781f0"
LANGUAGES = ("en", "zh")
STORIES = {"train": 196_246, "valid": 10_000, "test": 10_000}
COMPOUND_ROWS = 10_800
KINDS = ("NP", "VP", "PP")  # of compounds: the thirds of cg-test
SHA256 = {
    "valid.en": "a336ca17ddfb5f80d906fc3d0afa38c13688856a47009382451b62313a4c41e9",
    "valid.zh": "a9eaae6ba7a350ca9c43d97fd15b4aab4093fa612e908a2e4e7094a24e925c2e",
    "test.en": "243037e4bf1ab0e3d8b2116e75dac9579ec77ea6f9d15525e3b876ffbbd34257",
    "test.zh": "c64dd3ad84628a22ccdebe13146c5017a8256fb4c7a8e8d9c6921ae2e6b3fcbb",
    "cg-test.en": "66c5bb14ef107b8f459c5f49d9e4efe5bae426a5095b5cb4a651fd48a3d07ba6",
    "cg-test.zh": "b2f8493538eb4c8e3aecb077fa0e1492fc207ce5aea3ff14e80d777ab7de7b98",
    "cg-test.compound": "62184bdf2d0ea8de2201effe5b2e4fc01875807a8fa98208fc1b6806acf1fbee",
    "lexicon": "5e7c515e40b53252f72c14500fa1d12f8cfc7b47634d055943bfc549c150a53b",
}


def prepare(sources: Sources, out: Writer) -> None:
    """Write the stories as pairs and the compound tests as triples, with the lexicon that CTER needs."""
    for part in STORIES:
        if files := sources.find(*(f"{part}.{language}" for language in LANGUAGES)):
            out.split(part, read_pairs(CorpusSpec(files)))
    sides = (*LANGUAGES, "compound")
    if files := sources.find(*(f"cg-test.{side}" for side in sides)):
        columns = [list(read_lines(path)) for path in files]
        if len({len(column) for column in columns}) != 1:
            short = min(range(len(sides)), key=lambda number: len(columns[number]))
            raise InputError(f"{files[short]}: row {len(columns[short]) + 1} is lacking, of {COMPOUND_ROWS:,}")
        rows = list(zip(*columns, strict=True))
        out.split("cg-test", rows, sides=sides)
        third = len(rows) // len(KINDS)
        for number, kind in enumerate(KINDS):
            out.split(kind, rows[number * third : (number + 1) * third], sides=sides)
    if found := sources.find("lexicon"):
        out.file("lexicon", "".join(f"{line}\n" for line in read_lines(found[0])))


def _path(name: str) -> str:
    if name == "lexicon":
        return "eval/lexicon"
    return f"data/{'cg-test' if name.startswith('cg-test') else 'processed'}/{name}"


RECIPES = (
    Recipe(
        name="cognition",
        summary="English-Chinese stories, novel compounds",
        licence=NO_LICENCE,
        citation="Li, Yin, Chen and Zhang, On Compositional Generalization of Neural Machine Translation, ACL 2021",
        homepage="https://github.com/yafuly/CoGnition",
        sides=LANGUAGES,
        size="227,046 pairs",
        splits=(
            *(Split(name, rows) for name, rows in STORIES.items()),
            Split("cg-test", COMPOUND_ROWS),
            *(Split(kind, COMPOUND_ROWS // len(KINDS)) for kind in KINDS),
        ),
        sources=tuple(
            Source(name, github(REPOSITORY, COMMIT, _path(name)), (SHA256[name],) if name in SHA256 else ())
            for name in ("train.en", "train.zh", *SHA256)
        ),
        prepare=prepare,
        notes=(
            "no subwords; cg-test.zh is not tokenised as train.zh is, as released: score characters (score bleu "
            "--preset cognition)",
            "NP, VP and PP are cg-test in three parts",
        ),
    ),
)
