"""CoGnition: English-Chinese stories, and a test of novel compounds in known contexts.

The stories are ``data/processed`` of the repository, on which its authors and all later papers
trained: English words, Chinese subwords. ``data/valid.zh`` and ``data/test.zh`` are other files, in
words. The references of the compound test are original Chinese text, since the papers score
characters.
"""

from collections.abc import Iterator

from cgbench.data_recipes.recipe import NO_LICENCE, Recipe, Source, Sources, Split, Writer
from cgbench.data_recipes.sources import released
from cgbench.text.formats import CorpusSpec, read_pairs
from cgbench.text.streams import read_lines

REPOSITORY, COMMIT = "yafuly/CoGnition", "66644ce44971ab7f86d4f9fe8eb34d095fc781f0"
LANGUAGES = ("en", "zh")
STORIES = {"train": 196_246, "valid": 10_000, "test": 10_000}
COMPOUND_ROWS = 10_800
KINDS = ("NP", "VP", "PP")  # types of compounds: the thirds of cg-test
CODES = "bpe/codes"  # the merges of the Chinese text, in the prepared set


def prepare_cognition(sources: Sources, out: Writer) -> None:
    """Write the stories as pairs, Chinese in subwords, and the compound tests as triples, with the
    lexicon of CTER.
    """
    for name in STORIES:
        if files := sources.find(*(f"{name}.{language}" for language in LANGUAGES)):
            out.split(name, read_pairs(CorpusSpec(files)))
    sides = (*LANGUAGES, "compound")
    if files := sources.find(*(f"cg-test.{side}" for side in sides)):
        rows = list(
            zip(*map(read_lines, files), strict=False)
        )  # missing rows are found by the expected count
        out.split("cg-test", rows, sides=sides)
        third = len(rows) // len(KINDS)
        for index, kind in enumerate(KINDS):
            out.split(kind, rows[index * third : (index + 1) * third], sides=sides)
    if paths := sources.find("lexicon"):
        out.file("lexicon", "".join(f"{line}\n" for line in read_lines(paths[0], sentences=False)))


def _sources() -> Iterator[Source]:
    for name in STORIES:
        for language in LANGUAGES:
            yield released(REPOSITORY, COMMIT, f"data/processed/{name}.{language}")
    yield from (
        released(REPOSITORY, COMMIT, f"data/cg-test/cg-test.{side}")
        for side in (*LANGUAGES, "compound")
    )
    yield released(REPOSITORY, COMMIT, "eval/lexicon")
    yield released(REPOSITORY, COMMIT, "data/processed/code", extra=CODES)


RECIPES = (
    Recipe(
        name="cognition",
        summary="English-Chinese stories, novel compounds",
        licence=NO_LICENCE,
        citation=(
            "Li, Yin, Chen and Zhang, On Compositional Generalization of Neural Machine"
            " Translation, ACL 2021"
        ),
        homepage="https://github.com/yafuly/CoGnition",
        sides=LANGUAGES,
        size="227,046 pairs",
        splits=(
            *(Split(name, rows) for name, rows in STORIES.items()),
            Split("cg-test", COMPOUND_ROWS),
            *(Split(kind, COMPOUND_ROWS // len(KINDS)) for kind in KINDS),
        ),
        sources=tuple(_sources()),
        prepare=prepare_cognition,
        revision=2,
        notes=(
            (
                "train, valid and test: English words, Chinese subwords (3,000 merges, '@@ ' within"
                " a word), as in the papers; train without further subwords, and remove '@@ ' from"
                " translations"
            ),
            (
                "cg-test.zh is original text without blanks, as released: score characters (score"
                " bleu --preset cognition)"
            ),
            "bpe/codes: the merges",
            "NP, VP and PP are cg-test in three parts",
        ),
    ),
)
