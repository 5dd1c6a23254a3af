"""Two modules of the Mathematics Dataset, split as in Csordás et al. (2021): released or generated
questions.

Saxton, Grefenstette, Hill and Kohli, "Analysing Mathematical Reasoning Abilities of Neural Models",
ICLR 2019. The generator follows the published one; the seed of the released files is unknown, so
generated questions are different ones from the same distribution. Difficulty is measured as
entropy: the decimal logarithm of the number of possible numbers.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

from cgbench.data_recipes.recipe import Recipe, Source, Sources, Split, Writer
from cgbench.data_recipes.writer import GENERATED, RELEASED
from cgbench.errors import InputError
from cgbench.progress import track
from cgbench.text.streams import read_lines

Pair = tuple[str, str]  # question, answer

LEVELS = ("train-easy", "train-medium", "train-hard", "interpolate", "extrapolate")
LONGEST_QUESTION, LONGEST_ANSWER = 160, 30  # characters; longer ones are replaced

SUMS = (
    *(
        "{p} + {q}",
        "{p}+{q}",
        "Work out {p} + {q}.",
        "Add {p} and {q}.",
        "Put together {p} and {q}.",
    ),
    *(
        "Sum {p} and {q}.",
        "Total of {p} and {q}.",
        "Add together {p} and {q}.",
        "What is {p} plus {q}?",
    ),
    *("Calculate {p} + {q}.", "What is {p} + {q}?"),
)
DIFFERENCES = (
    *("{p} - {q}", "Work out {p} - {q}.", "What is {p} minus {q}?", "What is {p} take away {q}?"),
    *(
        "What is {q} less than {p}?",
        "Subtract {q} from {p}.",
        "Calculate {p} - {q}.",
        "What is {p} - {q}?",
    ),
)
DISTANCES = tuple(  # only if p >= q
    f"What is the {noun} between {pair}?"
    for noun in ("distance", "difference")
    for pair in ("{p} and {q}", "{q} and {p}")
)
POWERS = ("thousands", "millions", "billions", "trillions")
PLACES = (
    "units",
    "tens",
    "hundreds",
    *(f"{times}{power}" for power in POWERS for times in ("", "ten ", "hundred ")),
)


class Number(NamedTuple):
    """``digits`` / 10 ** ``shift``."""

    digits: int
    shift: int = 0

    def __str__(self) -> str:
        text = str(abs(self.digits)).zfill(self.shift + 1)
        integer_digits, decimals = (
            text[: len(text) - self.shift],
            text[len(text) - self.shift :].rstrip("0"),
        )
        return (
            ("-" if self.digits < 0 else "") + integer_digits + (f".{decimals}" if decimals else "")
        )

    def at(self, shift: int) -> int:
        """The number times 10 ** ``shift``."""
        return self.digits * 10 ** (shift - self.shift)


def draw_integer(draw: Random, entropy: float, *, signed: bool, least: int = 0) -> int:
    """An integer with an absolute value of at least ``least``, one of about 10 ** ``entropy``."""
    top = math.pow(10, entropy) + least
    if not signed:
        return draw.randint(least, math.ceil(top))
    top = math.ceil(top / 2)
    while True:
        value = draw.randint(-top, top)
        if abs(value) >= least:
            return value


def draw_number(draw: Random, entropy: float) -> Number:
    """An integer or a decimal fraction, with equal probability; either may be negative."""
    if draw.choice((False, True)):
        return Number(draw_integer(draw, entropy, signed=True))
    while True:
        digits = draw_integer(draw, entropy, signed=True)
        shift = draw.randint(1, math.ceil(entropy))
        if digits % 10**shift:
            return Number(digits, shift)


def add_or_sub(draw: Random, entropy: float) -> Pair:
    """A sum or a difference of two numbers, which divide the entropy between them."""
    addition = draw.choice((False, True))
    first = max(1.0, draw.uniform(0, entropy))
    p, q = draw_number(draw, first), draw_number(draw, max(1.0, entropy - first))
    shift = max(p.shift, q.shift)
    p_digits, q_digits = p.at(shift), q.at(shift)
    templates = SUMS if addition else DIFFERENCES + (DISTANCES if p_digits >= q_digits else ())
    answer = Number(p_digits + q_digits if addition else p_digits - q_digits, shift)
    return draw.choice(templates).format(p=p, q=q), str(answer)


def place_value(draw: Random, entropy: float) -> Pair:
    """A digit of a positive integer."""
    digits = str(draw_integer(draw, entropy, signed=False, least=1))
    position = draw.randint(1, len(digits))  # from the right
    return f"What is the {PLACES[position - 1]} digit of {digits}?", digits[-position]


class Module(NamedTuple):
    """A type of question and its entropies for training (divided into three levels) and the two
    tests.
    """

    name: str
    sample: Callable[[Random, float], Pair]
    train: tuple[float, float]
    interpolate: tuple[float, float]
    extrapolate: tuple[float, float]

    def entropies(self, level: str) -> tuple[float, float]:
        """The lowest and highest entropy of a level."""
        if level in ("interpolate", "extrapolate"):
            return self.interpolate if level == "interpolate" else self.extrapolate
        low, high = self.train
        third = (high - low) / 3
        index = LEVELS.index(level)
        return low + index * third, low + (index + 1) * third

    def pairs(self, level: str, count: int, seed: int) -> Iterator[Pair]:
        """``count`` questions of a level, including repeats; the same for the same seed."""
        draw = Random(f"{self.name} {level} {seed}")
        low, high = self.entropies(level)
        while count:
            question, answer = self.sample(draw, draw.uniform(low, high))
            if len(question) <= LONGEST_QUESTION and len(answer) <= LONGEST_ANSWER:
                yield question, answer
                count -= 1


MODULES = (
    Module("add_or_sub", add_or_sub, train=(4, 16), interpolate=(12, 12), extrapolate=(16, 20)),
    Module("place_value", place_value, train=(3, 10), interpolate=(8, 8), extrapolate=(12, 12)),
)

ARCHIVE = "mathematics_dataset-v1.0.tar.gz"
SEED = 1
LEVEL_ROWS = {**dict.fromkeys(LEVELS[:3], 666_666), **dict.fromkeys(LEVELS[3:], 10_000)}
HELD_OUT = 10_000  # of each training level
FILES = {"add_or_sub": "arithmetic__add_or_sub", "place_value": "numbers__place_value"}
# Rows of train and interpolate without repeated questions.
ROWS = {"add_or_sub": (1_969_029, 10_000), "place_value": (1_492_268, 9_988)}


def read_questions(path: Path) -> Iterator[Pair]:
    """The pairs of a released file, in which each question is followed by its answer on the next
    line.

    :raises InputError: the last question has no answer.
    """
    lines = read_lines(path, sentences=False)
    for index, question in enumerate(lines):
        answer = next(lines, None)
        if answer is None:
            raise InputError(
                f"{path}, line {2 * index + 1}: a question without an answer; the file is truncated"
            )
        yield question, answer


def arrange(levels: Mapping[str, Iterable[Pair]], held_out: int) -> dict[str, list[Pair]]:
    """The splits of a module from its levels, in the order of :data:`LEVELS`.

    Only the first occurrence of a question is kept. From each training level, ``held_out`` pairs
    are drawn for a test set with the same distribution.
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
        held_back = set(
            np.random.RandomState(1234).choice(len(pairs), held_out, replace=False).tolist()
        )
        splits["train"] += [pair for index, pair in enumerate(pairs) if index not in held_back]
        splits[level.replace("train", "iid")] = [
            pair for index, pair in enumerate(pairs) if index in held_back
        ]
    return splits


def prepare_mathematics(sources: Sources, out: Writer) -> None:
    """Write both modules: the released questions if available, else generated ones."""
    for module in MODULES:
        files = sources.find(*(_name(module.name, level) for level in LEVELS))
        if files:
            splits = arrange(
                {level: read_questions(path) for level, path in zip(LEVELS, files, strict=True)},
                HELD_OUT,
            )
        else:
            out.note(
                f"{module.name}: generated with seed {SEED}: other questions from the same"
                " distribution"
            )
            splits = generate_splits(module, LEVEL_ROWS, HELD_OUT)
        for name, pairs in splits.items():
            out.split(
                f"{module.name}/{name}",
                pairs,
                origin=RELEASED if files else GENERATED,
                exact=bool(files),
            )


def generate_splits(
    module: Module, rows: Mapping[str, int], held_out: int
) -> dict[str, list[Pair]]:
    """The splits of a module with generated questions; ``rows``: number per level before repeats
    are dropped.
    """
    levels = {
        level: track(
            module.pairs(level, rows[level], SEED),
            rows[level],
            f"{module.name} {level}",
            "question",
        )
        for level in LEVELS
    }
    return arrange(levels, held_out)


def _name(module: str, level: str) -> str:
    return f"{level}.{FILES[module]}{'_big' if level == 'extrapolate' else ''}.txt"


def _splits() -> Iterator[Split]:
    for module, (train, interpolate) in ROWS.items():
        yield Split(f"{module}/train", train)
        yield from (
            Split(f"{module}/iid-{level}", HELD_OUT) for level in ("easy", "medium", "hard")
        )
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
        summary="school mathematics, one token per character",
        licence="Apache 2.0 (generator)",
        citation=(
            "Saxton, Grefenstette, Hill and Kohli, Analysing Mathematical Reasoning Abilities of"
            " Neural Models, ICLR 2019; splits: Csordás, Irie and Schmidhuber 2021"
        ),
        homepage="https://github.com/google-deepmind/mathematics_dataset",
        sides=("src", "tgt"),
        size="3.5 million questions",
        download="over 2 GB, or none",
        splits=tuple(_splits()),
        sources=tuple(_sources()),
        prepare=prepare_mathematics,
        notes=(
            "the paper reports extrapolate; interpolate and iid-* have the training distribution",
        ),
    ),
)
