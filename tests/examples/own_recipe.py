"""A data recipe in a package of one's own; docs/how-to/add-a-recipe.md shows this file."""

from collections.abc import Iterator

from cgbench.data_recipes.recipe import Recipe, Source, Sources, Split, Writer
from cgbench.text.streams import read_lines


def rows(path) -> Iterator[tuple[str, str]]:
    """A source and a target per line, separated by a tab."""
    for line in read_lines(path):
        source, target = line.split("\t")
        yield source, target


def prepare(sources: Sources, out: Writer) -> None:
    """Write each split whose file is there; the others are reported as missing."""
    for split in ("train", "test"):
        if paths := sources.find(f"{split}.tsv"):
            out.split(split, rows(paths[0]))


RECIPE = Recipe(
    name="toy-numbers",
    summary="number words and digits",
    licence="CC0",
    citation="Doe, Toy Numbers, 2026",
    homepage="https://example.org/toy-numbers",
    sides=("src", "tgt"),
    size="3 pairs",
    splits=(Split("train", 2), Split("test", 1)),
    sources=tuple(
        Source(f"{split}.tsv", f"https://example.org/{split}.tsv") for split in ("train", "test")
    ),
    prepare=prepare,
)
