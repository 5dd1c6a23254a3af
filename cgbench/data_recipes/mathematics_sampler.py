"""Two modules of the Mathematics Dataset, sampled: sums and differences, and digits of numbers.

Saxton, Grefenstette, Hill and Kohli, "Analysing Mathematical Reasoning Abilities of Neural Models", ICLR 2019. How
questions are drawn follows the published generator; the seed of the released files is not known, so these are other
questions of the same distribution.

Difficulty is measured as entropy: the logarithm to base 10 of how many numbers could have been drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

Pair = tuple[str, str]  # question, answer

LEVELS = ("train-easy", "train-medium", "train-hard", "interpolate", "extrapolate")
LONGEST_QUESTION, LONGEST_ANSWER = 160, 30  # characters; longer ones are drawn again

SUMS = (
    *("{p} + {q}", "{p}+{q}", "Work out {p} + {q}.", "Add {p} and {q}.", "Put together {p} and {q}."),
    *("Sum {p} and {q}.", "Total of {p} and {q}.", "Add together {p} and {q}.", "What is {p} plus {q}?"),
    *("Calculate {p} + {q}.", "What is {p} + {q}?"),
)
DIFFERENCES = (
    *("{p} - {q}", "Work out {p} - {q}.", "What is {p} minus {q}?", "What is {p} take away {q}?"),
    *("What is {q} less than {p}?", "Subtract {q} from {p}.", "Calculate {p} - {q}.", "What is {p} - {q}?"),
)
DISTANCES = tuple(  # only where p is not the smaller one
    f"What is the {noun} between {pair}?"
    for noun in ("distance", "difference")
    for pair in ("{p} and {q}", "{q} and {p}")
)
POWERS = ("thousands", "millions", "billions", "trillions")
PLACES = ("units", "tens", "hundreds", *(f"{times}{power}" for power in POWERS for times in ("", "ten ", "hundred ")))


class Number(NamedTuple):
    """``digits`` / 10 ** ``shift``."""

    digits: int
    shift: int = 0

    def __str__(self) -> str:
        text = str(abs(self.digits)).zfill(self.shift + 1)
        whole, part = text[: len(text) - self.shift], text[len(text) - self.shift :].rstrip("0")
        return ("-" if self.digits < 0 else "") + whole + (f".{part}" if part else "")

    def at(self, shift: int) -> int:
        """The number times 10 ** ``shift``."""
        return self.digits * 10 ** (shift - self.shift)


def integer(draw: Random, entropy: float, *, signed: bool, least: int = 0) -> int:
    """An integer of at least ``least`` in size, out of about 10 ** ``entropy``."""
    top = math.pow(10, entropy) + least
    if not signed:
        return draw.randint(least, math.ceil(top))
    top = math.ceil(top / 2)
    while True:
        value = draw.randint(-top, top)
        if abs(value) >= least:
            return value


def number(draw: Random, entropy: float) -> Number:
    """An integer or, as often, a decimal fraction; either may be negative."""
    if draw.choice((False, True)):
        return Number(integer(draw, entropy, signed=True))
    while True:
        digits = integer(draw, entropy, signed=True)
        shift = draw.randint(1, math.ceil(entropy))
        if digits % 10**shift:
            return Number(digits, shift)


def add_or_sub(draw: Random, entropy: float) -> Pair:
    """A sum or a difference of two numbers, which share the entropy."""
    addition = draw.choice((False, True))
    first = max(1.0, draw.uniform(0, entropy))
    p, q = number(draw, first), number(draw, max(1.0, entropy - first))
    shift = max(p.shift, q.shift)
    left, right = p.at(shift), q.at(shift)
    templates = SUMS if addition else DIFFERENCES + (DISTANCES if left >= right else ())
    answer = Number(left + right if addition else left - right, shift)
    return draw.choice(templates).format(p=p, q=q), str(answer)


def place_value(draw: Random, entropy: float) -> Pair:
    """A digit of a positive integer."""
    digits = str(integer(draw, entropy, signed=False, least=1))
    place = draw.randint(1, len(digits))
    return f"What is the {PLACES[place - 1]} digit of {digits}?", digits[-place]


class Module(NamedTuple):
    """A kind of question and its entropies: of training, cut in three levels, and of the two tests."""

    name: str
    sample: Callable[[Random, float], Pair]
    train: tuple[float, float]
    interpolate: tuple[float, float]
    extrapolate: tuple[float, float]

    def entropies(self, level: str) -> tuple[float, float]:
        """The least and the greatest entropy of a level."""
        if level in ("interpolate", "extrapolate"):
            return self.interpolate if level == "interpolate" else self.extrapolate
        low, high = self.train
        third = (high - low) / 3
        number = LEVELS.index(level)
        return low + number * third, low + (number + 1) * third

    def pairs(self, level: str, count: int, seed: int) -> Iterator[Pair]:
        """``count`` questions of a level; the same ones for the same seed, repeats included."""
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
