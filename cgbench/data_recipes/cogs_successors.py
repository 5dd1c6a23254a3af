"""SLOG and ReCOGS: COGS with deeper structures, and COGS with fewer incidental details in its logical forms."""

from __future__ import annotations

from collections.abc import Iterator

from cgbench.data_recipes.cogs import SIDES, read_rows
from cgbench.data_recipes.origins import released
from cgbench.data_recipes.recipe import Recipe, Source, Sources, Split, Writer

SLOG = ("bingzhilee/SLOG", "1c55df85006d58b842520c79dcb8e1b43df2836f")
ARCHIVE = "generalization_sets.zip"
SEEN = "2026-11-22"
# A folder of SLOG, the split that it becomes, and the SHA-256 of its generalisation set, which lies in the archive.
FORMS = {
    "varfree": ("varfree_LF", "gen_varfreeLF.tsv", "c63910778941cebf0de8034c6c11e4be49e6dc547caac336787e8e985eb8341d"),
    "cogs": ("cogs_LF", "gen_cogsLF.tsv", "a3d32108c01f6eeb0200f19e803a0bf5314dd5f7faca33c217c7fd51e38658f2"),
}
PARTS = ("train", "dev", "test")
RECOGS = ("frankaging/ReCOGS", "1b6eca8ff4dca5fd2fb284a7d470998af5083beb")
EDITIONS = {"v2": "recogs_v2", "positional-index": "recogs_positional_index"}


def prepare_slog(sources: Sources, out: Writer) -> None:
    """Write the splits in both forms."""
    for form, (folder, gen, _) in FORMS.items():
        for part in PARTS:
            _copy(sources, out, f"{folder}/{part}.tsv", f"{form}/{part}")
        _copy(sources, out, gen, f"{form}/gen")


def prepare_recogs(sources: Sources, out: Writer) -> None:
    """Write the splits of both editions."""
    for edition, folder in EDITIONS.items():
        for part in (*PARTS, "gen"):
            _copy(sources, out, f"{folder}/{part}.tsv", f"{edition}/{part}")


def _copy(sources: Sources, out: Writer, name: str, split: str) -> None:
    if found := sources.find(name):
        out.split(split, read_rows(found[0]), sides=SIDES)


def _slog_sources() -> Iterator[Source]:
    yield released(*SLOG, f"data/{ARCHIVE}", password="SLOG")
    for folder, gen, sha256 in FORMS.values():
        for part in PARTS:
            yield released(*SLOG, f"data/{folder}/{part}.tsv", f"{folder}/{part}.tsv")
        yield Source(gen, sha256=(sha256,), archive=ARCHIVE, member=f"generalization_sets/{gen}", seen=SEEN)


def _recogs_sources() -> Iterator[Source]:
    for folder in EDITIONS.values():
        for part in (*PARTS, "gen"):
            yield released(*RECOGS, f"{folder}/{part}.tsv", f"{folder}/{part}.tsv")


RECIPES = (
    Recipe(
        name="slog",
        summary="COGS with 17 kinds of deeper structures",
        licence="MIT",
        citation="Li et al., SLOG: A Structural Generalization Benchmark for Semantic Parsing, EMNLP 2023",
        homepage="https://github.com/bingzhilee/SLOG",
        sides=("src", "tgt"),
        size="57,847 sentences",
        download="",
        splits=(
            Split("varfree/train", 32_755),
            Split("varfree/dev", 4_046),
            Split("varfree/test", 4_046),
            Split("varfree/gen", 17_000),
            Split("cogs/train"),
            Split("cogs/dev", 4_046),
            Split("cogs/test", 4_046),
            Split("cogs/gen", 17_000),
        ),
        sources=tuple(_slog_sources()),
        prepare=prepare_slog,
        notes=(
            "varfree/*: forms without variables; cogs/*: the same in COGS' forms",
            "gen: 17 kinds of 1,000, in .type. Its authors publish it in an archive whose password they state, so that "
            "it does not end up in training text of language models: do not publish it unpacked",
        ),
    ),
    Recipe(
        name="recogs",
        summary="COGS with fewer incidental details",
        licence="MIT",
        citation="Wu, Manning and Potts, ReCOGS: How Incidental Details of a Logical Form Overshadow an Evaluation of "
        "Semantic Interpretation, TACL 2023",
        homepage="https://github.com/frankaging/ReCOGS",
        sides=("src", "tgt"),
        size="6,000 sentences, training and gen",
        download="",
        splits=tuple(
            Split(f"{edition}/{part}", 3_000 if part in ("dev", "test") else None)
            for edition in EDITIONS
            for part in (*PARTS, "gen")
        ),
        sources=tuple(_recogs_sources()),
        prepare=prepare_recogs,
        notes=(
            "v2/*: variables of numbers that say nothing; positional-index/*: those of COGS, the places of words. "
            "Exact match asks for the same numbers and order, which a form of the same meaning need not have",
        ),
    ),
)
