"""COGS: English sentences and their logical forms."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from cgbench.data_recipes.cogs_forms import with_role, without_variables
from cgbench.data_recipes.recipe import Recipe, Source, Split, github
from cgbench.data_recipes.sources import Sources
from cgbench.data_recipes.writer import Writer
from cgbench.errors import InputError
from cgbench.text.formats import read_lines

Row = tuple[str, str, str]  # sentence, logical form, type

COMMIT = "165a7b669eade971fa47bf568a2e51925360fed8"
SIDES = ("src", "tgt", "type")
GEN_NOW = "d013d9eee0bafc153f8decc85f42814ac97260f84964d980e1e2b84577b82361"
GEN_2020 = "410369d993e7cf3af9bb75835a77b1a332b56e60985a8bf1e7d75c30e91d4828"
SHA256 = {
    "train": ("220b3804b562c0156ee986eff1bdd15c27e52142549362a64f57baf86e304c78",),
    "train_100": (),
    "dev": ("ab66388a309c7ac1ad210c781a6a0ce12281a9ef24619a12422a752cef61bc21",),
    "test": ("68f8e51e9f6d9cd22d64efe68dd21d7ea5ba327e9a2359481030161aea757035",),
    "gen": (GEN_NOW, GEN_2020),
}


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
    for name in SHA256:
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
        sources=tuple(
            Source(f"{name}.tsv", github("najoungkim/COGS", COMMIT, f"data/{name}.tsv"), known)
            for name, known in SHA256.items()
        ),
        prepare=prepare,
        notes=(
            "gen has the roles corrected on 2022-09-13, gen-2020 those that papers before it used; either edition of "
            "gen.tsv gives both",
            "dangle/*: 'bos' before both sides, logical forms without variables, from gen-2020; gen-dev is a tenth of "
            "gen, on which Dangle was validated: it is test data",
        ),
    ),
)
