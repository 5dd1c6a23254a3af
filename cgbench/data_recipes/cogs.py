"""COGS: English sentences and their logical forms."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from cgbench.data_recipes.cogs_forms import with_role, without_variables
from cgbench.data_recipes.origins import released
from cgbench.data_recipes.recipe import Recipe, Source, Sources, Split, Writer
from cgbench.errors import InputError
from cgbench.text.streams import read_lines

Row = tuple[str, str, str]  # sentence, logical form, type

REPOSITORY, COMMIT = "najoungkim/COGS", "165a7b669eade971fa47bf568a2e51925360fed8"
SIDES = ("src", "tgt", "type")
FILES = ("train", "train_100", "dev", "test", "gen")
# The authors of "Lexicon Learning" keep a copy of COGS with the first edition of gen, and what their aligners learned.
LEXICONS = ("ekinakyurek/COGS", "553e0a45ed14f53fb1263c4794d36822a8bade32")
LEARNERS = ("forward.align.o", "goodman", "intersect.align.o", "pmi.align", "simple.align.v3")


def read_rows(path: Path) -> list[Row]:
    """The rows of a released file.

    :raises InputError: a row has not three columns.
    """
    rows = []
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if len(columns) != 3:
            raise InputError(
                f"{path}, row {number} has {len(columns)} columns; sentence, logical form and type are needed"
            )
        rows.append((columns[0], columns[1], columns[2]))
    return rows


def prepare(sources: Sources, out: Writer) -> None:
    """Write the official splits, the first edition of ``gen``, and Dangle's form of both."""
    for name in FILES:
        if not (found := sources.find(f"{name}.tsv")):
            continue
        rows = read_rows(found[0])
        if name != "gen":
            out.split(name.replace("_", "-"), rows, sides=SIDES)
        else:
            out.split(
                "gen", ((source, with_role(form, kind, "theme"), kind) for source, form, kind in rows), sides=SIDES
            )
            rows = [(source, with_role(form, kind, "agent"), kind) for source, form, kind in rows]
            out.split("gen-2020", rows, sides=SIDES)
        if name in ("train", "gen"):
            out.split(f"dangle/{name}", _dangle(rows), sides=SIDES)
        if name == "gen":
            random.Random(0).shuffle(rows)
            out.split("dangle/gen-dev", _dangle(rows[: len(rows) // 10]), sides=SIDES)


def _dangle(rows: list[Row]) -> Iterator[Row]:
    for source, form, kind in rows:
        yield f"bos {source}", f"bos {without_variables(form)}", kind


def _sources() -> Iterator[Source]:
    for name in FILES[:-1]:
        yield released(REPOSITORY, COMMIT, f"data/{name}.tsv")
    now = released(REPOSITORY, COMMIT, "data/gen.tsv")
    first = released(*LEXICONS, "cogs/gen.tsv")
    yield replace(
        now,
        sha256=now.sha256 + first.sha256,
        git_blob=now.git_blob + first.git_blob,
        seen=first.seen,
        seen_in=f"edition of 2020, {first.seen_in}; that of 2022 {now.seen_in}",
    )
    for name in LEARNERS:
        path = f"lexicons/{name}.json"
        yield released(*LEXICONS, f"cogs/alignments/{name}.json", path, extra=path)


RECIPES = (
    Recipe(
        name="cogs",
        summary="English sentences and logical forms",
        licence="MIT",
        citation="Kim and Linzen, COGS: A Compositional Generalization Challenge Based on Semantic Interpretation, "
        "EMNLP 2020",
        homepage="https://github.com/najoungkim/COGS",
        sides=("src", "tgt"),
        size="51,155 sentences",
        download="11 MB without train_100",
        splits=(
            Split("train", 24_155),
            Split("train-100"),
            Split("dev", 3_000),
            Split("test", 3_000),
            Split("gen", 21_000),
            Split("gen-2020", 21_000),
            Split("dangle/train", 24_155),
            Split("dangle/gen", 21_000),
            Split("dangle/gen-dev", 2_100),
        ),
        sources=tuple(_sources()),
        prepare=prepare,
        revision=2,
        notes=(
            "gen has the roles corrected on 2022-09-13, gen-2020 those that papers before it used; either edition of "
            "gen.tsv gives both",
            "dangle/*: 'bos' before both sides, logical forms without variables, from gen-2020; gen-dev is a tenth of "
            "gen, on which Dangle was validated: it is test data",
            "lexicons/*: what the aligners of Akyürek and Andreas (2021) learned, the files that their models read",
        ),
    ),
)
