"""Data sets used as published: two translation corpora and a treebank; and the demo corpus."""

from cgbench.data_recipes.recipe import NO_LICENCE, Recipe, Sources, Split, Writer
from cgbench.data_recipes.sources import LEARNERS, alignments, released
from cgbench.data_recipes.writer import GENERATED, tab_rows
from cgbench.text.formats import CorpusSpec, read_pairs
from cgbench.text.streams import read_lines

TATOEBA = ("ekinakyurek/lexical", "3956fa2a2dd976d99a94e8ad9ed8d3a6f65a5c78")
TATOEBA_ROWS = {"train": 19_222, "dev": 2_402, "test": 2_402}
TATOEBA_LEARNERS = tuple(name for name in LEARNERS if name not in ("goodman", "pmi.align"))
MULTI30K = ("multi30k/dataset", "a3d2e0d26b56f3846f66a952536ffed4e401d05a")
MULTI30K_FILES = {
    "train": ("train", 29_000),
    "valid": ("val", 1_014),
    "test": ("test_2016_flickr", 1_000),
}
TREEBANK = ("UniversalDependencies/UD_English-EWT", "15d613d8447b3478787d4c278730a1e48a945efb")
TREEBANK_ROWS = {"train": 12_544, "dev": 2_001, "test": 2_077}
DEMO = {"train": 20_000, "valid": 500, "pool": 30_000}


def prepare_tatoeba(sources: Sources, out: Writer) -> None:
    """Write the pairs as tokenised by Akyürek and Andreas; some blanks are double, as released."""
    for name in TATOEBA_ROWS:
        if paths := sources.find(f"cmn_{name}_tokenized.tsv"):
            out.split(name, tab_rows(paths[0], "English", "Chinese"))


def prepare_multi30k(sources: Sources, out: Writer) -> None:
    """Write the captions of task 1, as released in lower case, normalised and tokenised."""
    for name, (file, _) in MULTI30K_FILES.items():
        if files := sources.find(*(f"{file}.lc.norm.tok.{language}" for language in ("de", "en"))):
            out.split(name, read_pairs(CorpusSpec(files)))


def prepare_treebank(sources: Sources, out: Writer) -> None:
    """Write the unchanged treebank, for training a tagger."""
    for name in TREEBANK_ROWS:
        if paths := sources.find(f"en_ewt-ud-{name}.conllu"):
            lines = list(read_lines(paths[0], sentences=False))
            out.document(name, "conllu", lines, lines.count(""))


def prepare_demo(sources: Sources, out: Writer) -> None:
    """Write the demo corpus; see :mod:`cgbench.data_recipes.demo.corpus`."""
    from cgbench.data_recipes.demo.corpus import write_demo

    write_demo(out.folder)
    for name in DEMO:
        sides = ("de", "en", "kinds") if name == "pool" else ("de", "en")
        columns = [list(read_lines(out.folder / f"{name}.{side}")) for side in sides]
        out.split(name, zip(*columns, strict=True), sides=sides, origin=GENERATED)


RECIPES = (
    Recipe(
        name="tatoeba-en-zh",
        summary="English-Chinese sentences, few-shot words",
        licence="CC BY 2.0 FR",
        citation=(
            "Akyürek and Andreas, Lexicon Learning for Few-Shot Neural Sequence Modeling, ACL 2021;"
            " tatoeba.org, manythings.org"
        ),
        homepage="https://github.com/ekinakyurek/lexical",
        sides=("en", "zh"),
        size="24,026 pairs",
        download="1.6 MB",
        splits=tuple(Split(name, rows) for name, rows in TATOEBA_ROWS.items()),
        sources=(
            *(
                released(
                    *TATOEBA, f"TRANSLATE/cmn.txt_{name}_tokenized.tsv", f"cmn_{name}_tokenized.tsv"
                )
                for name in TATOEBA_ROWS
            ),
            *alignments(*TATOEBA, "TRANSLATE", learners=TATOEBA_LEARNERS),
        ),
        prepare=prepare_tatoeba,
        revision=2,
        notes=(
            (
                "lexicons/*: lexicons learned by the aligners of Akyürek and Andreas (2021), as"
                " read by their models"
            ),
        ),
    ),
    Recipe(
        name="multi30k",
        summary="German-English captions",
        licence=NO_LICENCE,
        citation=(
            "Elliott, Frank, Sima'an and Specia, Multi30K: Multilingual English-German Image"
            " Descriptions, 2016"
        ),
        homepage="https://github.com/multi30k/dataset",
        sides=("de", "en"),
        size="31,014 pairs",
        download="4.3 MB",
        splits=tuple(Split(name, rows) for name, (_, rows) in MULTI30K_FILES.items()),
        sources=tuple(
            released(*MULTI30K, f"data/task1/tok/{file}.lc.norm.tok.{language}")
            for file, _ in MULTI30K_FILES.values()
            for language in ("de", "en")
        ),
        prepare=prepare_multi30k,
        notes=("test is test_2016_flickr",),
    ),
    Recipe(
        name="ud-english-ewt",
        summary="English treebank, for a tagger",
        licence="CC BY-SA 4.0",
        citation=(
            "Silveira et al., A Gold Standard Dependency Corpus for English, LREC 2014; Universal"
            " Dependencies"
        ),
        homepage="https://github.com/UniversalDependencies/UD_English-EWT",
        sides=("conllu",),
        size="16,622 sentences",
        download="18 MB",
        folder="ud",
        splits=tuple(Split(name, rows) for name, rows in TREEBANK_ROWS.items()),
        sources=tuple(released(*TREEBANK, f"en_ewt-ud-{name}.conllu") for name in TREEBANK_ROWS),
        prepare=prepare_treebank,
    ),
    Recipe(
        name="demo",
        summary="a small corpus and a pool of known kinds",
        licence="MIT (generated)",
        citation="this project",
        homepage="docs/reference/commands.md",
        sides=("de", "en"),
        size="50,500 pairs",
        download="none",
        splits=tuple(Split(name, rows) for name, rows in DEMO.items()),
        sources=(),
        prepare=prepare_demo,
        notes=("pool.kinds has the kind of each pair of the pool",),
    ),
)
