"""Two modules of the Mathematics Dataset, split as Csordás et al. (2021) do: released, or generated anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from cgbench.data_recipes.mathematics_sampler import LEVELS, MODULES, Module, Pair
from cgbench.data_recipes.recipe import Recipe, Source, Sources, Split, Writer
from cgbench.data_recipes.writer import GENERATED, RELEASED
from cgbench.errors import InputError
from cgbench.progress import track
from cgbench.text.streams import read_lines

ARCHIVE = "mathematics_dataset-v1.0.tar.gz"
SEED = 1
LEVEL_ROWS = {**dict.fromkeys(LEVELS[:3], 666_666), **dict.fromkeys(LEVELS[3:], 10_000)}
HELD_OUT = 10_000  # of each training level
FILES = {"add_or_sub": "arithmetic__add_or_sub", "place_value": "numbers__place_value"}
# Rows of train and of interpolate: repeated questions are dropped.
ROWS = {"add_or_sub": (1_969_029, 10_000), "place_value": (1_492_268, 9_988)}


def read_questions(path: Path) -> Iterator[Pair]:
    """The pairs of a released file: a question a line, its answer on the next.

    :raises InputError: the last question has no answer.
    """
    lines = read_lines(path)
    for number, question in enumerate(lines):
        answer = next(lines, None)
        if answer is None:
            raise InputError(f"{path}, line {2 * number + 1}: a question without an answer; the file is cut short")
        yield question, answer


def arrange(levels: Mapping[str, Iterable[Pair]], held_out: int) -> dict[str, list[Pair]]:
    """The splits of a module from its levels, in the order of :data:`LEVELS`.

    A question is kept where it first occurs. Of each training level ``held_out`` pairs are drawn for a test of the
    same distribution.
    """
    import numpy as np

    seen: set[str] = set()
    splits: dict[str, list[Pair]] = {"train": []}
    for level in LEVELS:
        pairs = []
        for pair in levels[level]:
            if pair[0] not in seen:
                seen.add(pair[0])
                pairs.append(pair)
        if not level.startswith("train"):
            splits[level] = pairs
            continue
        drawn = np.random.RandomState(1234).choice(len(pairs), held_out, replace=False)
        apart = set(drawn.tolist())
        splits["train"] += [pair for number, pair in enumerate(pairs) if number not in apart]
        splits[level.replace("train", "iid")] = [pair for number, pair in enumerate(pairs) if number in apart]
    return splits


def prepare(sources: Sources, out: Writer) -> None:
    """Write both modules: the released questions if they can be had, else generated ones."""
    for module in MODULES:
        files = sources.find(*(_name(module.name, level) for level in LEVELS))
        if files:
            splits = arrange({level: read_questions(path) for level, path in zip(LEVELS, files, strict=True)}, HELD_OUT)
        else:
            out.note(f"{module.name}: generated with seed {SEED}: other questions than the released ones, drawn alike")
            splits = generate(module, LEVEL_ROWS, HELD_OUT)
        for part, pairs in splits.items():
            out.split(f"{module.name}/{part}", pairs, origin=RELEASED if files else GENERATED, exact=bool(files))


def generate(module: Module, rows: Mapping[str, int], held_out: int) -> dict[str, list[Pair]]:
    """The splits of a module with questions of our own, so many a level before repeats are dropped."""
    levels = {
        level: track(module.pairs(level, rows[level], SEED), rows[level], f"{module.name} {level}", "question")
        for level in LEVELS
    }
    return arrange(levels, held_out)


def _name(module: str, level: str) -> str:
    return f"{level}.{FILES[module]}{'_big' if level == 'extrapolate' else ''}.txt"


def _splits() -> Iterator[Split]:
    for module, (train, interpolate) in ROWS.items():
        yield Split(f"{module}/train", train)
        yield from (Split(f"{module}/iid-{level}", HELD_OUT) for level in ("easy", "medium", "hard"))
        yield Split(f"{module}/interpolate", interpolate)
        yield Split(f"{module}/extrapolate", 10_000)


def _sources() -> Iterator[Source]:
    yield Source(ARCHIVE, f"https://storage.googleapis.com/mathematics-dataset/{ARCHIVE}")
    for module in FILES:
        for level in LEVELS:
            name = _name(module, level)
            yield Source(name, archive=ARCHIVE, member=f"{level}/{name.removeprefix(f'{level}.')}")


RECIPES = (
    Recipe(
        name="mathematics",
        summary="school mathematics, a character a token",
        licence="Apache 2.0 (generator)",
        citation="Saxton, Grefenstette, Hill and Kohli, Analysing Mathematical Reasoning Abilities of Neural Models, "
        "ICLR 2019; splits: Csordás, Irie and Schmidhuber 2021",
        homepage="https://github.com/google-deepmind/mathematics_dataset",
        sides=("src", "tgt"),
        size="3.5 million questions",
        download="over 2 GB, or none",
        splits=tuple(_splits()),
        sources=tuple(_sources()),
        prepare=prepare,
        notes=("extrapolate is what the paper reports; interpolate and iid-* are of the training distribution",),
    ),
)
