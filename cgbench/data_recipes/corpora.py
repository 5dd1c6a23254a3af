"""Sets that are used as they were published: two translation corpora, a treebank; and the demo corpus."""

from __future__ import annotations

from collections.abc import Iterator

from cgbench.data_recipes.recipe import NO_LICENCE, Recipe, Source, Split, github
from cgbench.data_recipes.sources import Sources
from cgbench.data_recipes.writer import GENERATED, Writer
from cgbench.errors import InputError
from cgbench.text.formats import CorpusSpec, read_lines, read_pairs

TATOEBA = "3956fa2a2dd976d99a94e8ad9ed8d3a6f65a5c78"
TATOEBA_PARTS = {
    "train": (19_222, "2fe353961739cab75bc34b8c987e64fa776eb83792adb0d94d868085b4cd4720"),
    "dev": (2_402, "1246a1a9b26636b35bd7b997f871c5d0a486d7709f6e66c8dbd8b4621ea87b15"),
    "test": (2_402, "4ef83fb2586c0a88de9182144c9cbdf03a4ffc4dd0810a69609f7484e89bf8c5"),
}
MULTI30K = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
MULTI30K_PARTS = {"train": ("train", 29_000), "valid": ("val", 1_014), "test": ("test_2016_flickr", 1_000)}
MULTI30K_SHA256 = {
    "train.lc.norm.tok.de": "cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505",
    "train.lc.norm.tok.en": "08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119",
    "val.lc.norm.tok.de": "97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00",
    "val.lc.norm.tok.en": "46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec",
    "test_2016_flickr.lc.norm.tok.de": "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4",
    "test_2016_flickr.lc.norm.tok.en": "5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2",
}
TREEBANK = "15d613d8447b3478787d4c278730a1e48a945efb"
TREEBANK_PARTS = {
    "train": (12_544, "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b"),
    "dev": (2_001, "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6"),
    "test": (2_077, "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd"),
}
DEMO = {"train": 20_000, "valid": 500, "pool": 30_000}


def prepare_tatoeba(sources: Sources, out: Writer) -> None:
    """Write the pairs as Akyürek and Andreas tokenised them; some blanks are double, as released."""
    for part in TATOEBA_PARTS:
        if found := sources.find(f"cmn_{part}_tokenized.tsv"):
            pairs = []
            for number, line in enumerate(read_lines(found[0]), 1):
                source, sign, target = line.partition("\t")
                if not sign:
                    raise InputError(f"{found[0]}, row {number} is not English TAB Chinese")
                pairs.append((source, target))
            out.split(part, pairs)


def prepare_multi30k(sources: Sources, out: Writer) -> None:
    """Write the captions of task 1, as released in lower case, normalised and tokenised."""
    for part, (file, _) in MULTI30K_PARTS.items():
        if files := sources.find(*(f"{file}.lc.norm.tok.{language}" for language in ("de", "en"))):
            out.split(part, read_pairs(CorpusSpec(files)))


def prepare_treebank(sources: Sources, out: Writer) -> None:
    """Write the treebank as it is: what ``cgbench tagger train`` reads."""
    for part in TREEBANK_PARTS:
        if found := sources.find(f"en_ewt-ud-{part}.conllu"):
            lines = list(read_lines(found[0]))
            out.document(part, "conllu", lines, lines.count(""))


def prepare_demo(sources: Sources, out: Writer) -> None:
    """Write the demo corpus; see :mod:`cgbench.data_recipes.demo.corpus`."""
    from cgbench.data_recipes.demo.corpus import write_demo

    write_demo(out.folder)
    for part in DEMO:
        sides = ("de", "en", "kinds") if part == "pool" else ("de", "en")
        columns = [list(read_lines(out.folder / f"{part}.{side}")) for side in sides]
        out.split(part, zip(*columns, strict=True), sides=sides, origin=GENERATED)


def _multi30k_sources() -> Iterator[Source]:
    for name, sha256 in MULTI30K_SHA256.items():
        yield Source(name, github("multi30k/dataset", MULTI30K, f"data/task1/tok/{name}"), (sha256,))


RECIPES = (
    Recipe(
        name="tatoeba-en-zh",
        summary="English-Chinese sentences, few-shot words",
        licence="CC BY 2.0 FR",
        citation="Akyürek and Andreas, Lexicon Learning for Few-Shot Neural Sequence Modeling, ACL 2021; tatoeba.org, "
        "manythings.org",
        homepage="https://github.com/ekinakyurek/lexical",
        sides=("en", "zh"),
        size="24,026 pairs",
        download="1.6 MB",
        splits=tuple(Split(part, rows) for part, (rows, _) in TATOEBA_PARTS.items()),
        sources=tuple(
            Source(
                f"cmn_{part}_tokenized.tsv",
                github("ekinakyurek/lexical", TATOEBA, f"TRANSLATE/cmn.txt_{part}_tokenized.tsv"),
                (sha256,),
            )
            for part, (_, sha256) in TATOEBA_PARTS.items()
        ),
        prepare=prepare_tatoeba,
    ),
    Recipe(
        name="multi30k",
        summary="German-English captions",
        licence=NO_LICENCE,
        citation="Elliott, Frank, Sima'an and Specia, Multi30K: Multilingual English-German Image Descriptions, 2016",
        homepage="https://github.com/multi30k/dataset",
        sides=("de", "en"),
        size="31,014 pairs",
        download="4.3 MB",
        splits=tuple(Split(part, rows) for part, (_, rows) in MULTI30K_PARTS.items()),
        sources=tuple(_multi30k_sources()),
        prepare=prepare_multi30k,
        notes=("test is test_2016_flickr",),
    ),
    Recipe(
        name="ud-english-ewt",
        summary="English treebank, for a tagger",
        licence="CC BY-SA 4.0",
        citation="Silveira et al., A Gold Standard Dependency Corpus for English, LREC 2014; Universal Dependencies",
        homepage="https://github.com/UniversalDependencies/UD_English-EWT",
        sides=("conllu",),
        size="16,622 sentences",
        download="18 MB",
        folder="ud",
        splits=tuple(Split(part, rows) for part, (rows, _) in TREEBANK_PARTS.items()),
        sources=tuple(
            Source(
                f"en_ewt-ud-{part}.conllu",
                github("UniversalDependencies/UD_English-EWT", TREEBANK, f"en_ewt-ud-{part}.conllu"),
                (sha256,),
            )
            for part, (_, sha256) in TREEBANK_PARTS.items()
        ),
        prepare=prepare_treebank,
    ),
    Recipe(
        name="demo",
        summary="a small corpus and a pool of known kinds",
        licence="MIT (generated)",
        citation="this project",
        homepage="docs/demo.md",
        sides=("de", "en"),
        size="50,500 pairs",
        download="none",
        splits=tuple(Split(part, rows) for part, rows in DEMO.items()),
        sources=(),
        prepare=prepare_demo,
        notes=("pool.kinds says of each pair of the pool of which kind it is",),
    ),
)
