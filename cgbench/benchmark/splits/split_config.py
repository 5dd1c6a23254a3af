"""The settings of ``cgbench split``."""

from __future__ import annotations

from dataclasses import dataclass

from cgbench.benchmark.divergence.elements import WEIGHTS
from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean, setting

METHODS = ("random", "length", "template", "mcd", "tmcd", "dbca")
DIVERGENT = ("mcd", "tmcd", "dbca")
"""The methods that look at divergences."""
ATOM_LIMIT = 0.02
"""Of MCD (Keysers et al. 2020)."""
ROUNDING = 1e-9
"""A bound is met by so much, as the search knows divergences but for rounding."""


@dataclass(frozen=True)
class SplitConfig:
    """How a corpus is split."""

    method: str = setting("mcd", "how examples are chosen: random, length, template, mcd, tmcd or dbca")
    elements: str = setting("words", "atoms and compounds: words:2,3, scan, cogs, cfq, lispress, triples:FILE, ...")
    weights: str = setting("specific", "weights of compounds: specific (Keysers et al. 2020) or count")
    divergence: float | None = setting(None, "compound divergence to reach (mcd, tmcd, dbca); none: the highest")
    atom_divergence: float | None = setting(None, "at most this one (mcd: 0.02); dbca: as near it as can be (0)")
    train_size: float = setting(0.8, "examples of training: a number, or a share of the corpus")
    test_size: float = setting(0.2, "examples of the test set: a number, or a share of the corpus")
    candidates: int = setting(100, "examples that each step draws, of which it takes the best (mcd, dbca)")
    exchanges: int | None = setting(None, "exchanges tried per example afterwards (mcd, tmcd: 10; dbca: 0)")
    tolerance: float = setting(0.01, "how far from the divergence a split may be")
    nearest: bool = setting(False, "write the nearest split where the divergence cannot be reached")
    seed: int = setting(1, "seed of every random choice")

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"{argument('method', self.method)}: no such method{did_you_mean(self.method, METHODS)}")
        if self.weights not in WEIGHTS:
            raise InputError(
                f"{argument('weights', self.weights)}: no such weights{did_you_mean(self.weights, WEIGHTS)}"
            )
        for name in ("divergence", "atom_divergence"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise InputError(f"{argument(name, value)}: a divergence is from 0 to 1")
            if value is not None and self.method not in DIVERGENT:
                raise InputError(f"{argument(name, value)} belongs to {argument('method', 'mcd')}, tmcd or dbca")
        for name in ("train_size", "test_size"):
            value = getattr(self, name)
            if value <= 0 or (value > 1 and value != int(value)):
                raise InputError(f"{argument(name, value)}: a share up to 1 or a whole number is needed")
        if self.candidates < 1 or (self.exchanges or 0) < 0 or not 0 <= self.tolerance <= 1:
            raise InputError(
                f"{argument('candidates')} is 1 or more, {argument('exchanges')} 0 or more, {argument('tolerance')} "
                "from 0 to 1"
            )

    @property
    def target(self) -> float:
        """The compound divergence aimed at."""
        return 1.0 if self.divergence is None else self.divergence

    @property
    def goal(self) -> tuple[float, float, float, float]:
        """Target, limit of atoms, its weight, and 1.0 where the limit is to be met: what growing maximises.

        DBCA weighs both divergences alike (Moisio et al. 2023); where the limit is a bound, leaving it costs ten times
        what coming nearer the target gains.
        """
        if self.method == "dbca":
            return self.target, self.atom_limit, 1.0, 1.0
        return self.target, max(0.0, self.atom_limit - ROUNDING), 10.0, 0.0

    @property
    def bounded(self) -> bool:
        """Whether the limit of the atom divergence is a bound, not a target."""
        return self.method in ("mcd", "tmcd")

    @property
    def atom_limit(self) -> float:
        """The highest atom divergence (mcd, tmcd), or the one to be met (dbca)."""
        if self.atom_divergence is not None:
            return self.atom_divergence
        return {"mcd": ATOM_LIMIT, "dbca": 0.0}.get(self.method, 1.0)

    @property
    def tries(self) -> int:
        """Exchanges an example."""
        return self.exchanges if self.exchanges is not None else 0 if self.method == "dbca" else 10

    def sizes(self, examples: int, *, fixed: bool = False) -> tuple[int, int]:
        """How many examples train and test.

        :param examples: how many there are. ``fixed``: training is given, and is no part of them.
        :raises InputError: there are not as many, or a set would be empty.
        """

        def count(value: float) -> int:
            return int(value) if value > 1 else round(value * examples)

        train, test = 0 if fixed else count(self.train_size), count(self.test_size)
        if not fixed and self.train_size <= 1 and self.test_size <= 1 and self.train_size + self.test_size > 1 - 1e-9:
            train = min(train, examples - test)  # shares that are all of it, rounded
        if test < 1 or (train < 1 and not fixed):
            raise InputError(f"of {examples:,} examples, {train:,} to train and {test:,} to test: a set would be empty")
        if train + test > examples:
            raise InputError(
                f"{argument('train_size')} and {argument('test_size')} ask for {train + test:,} examples, and there "
                f"are {examples:,}"
            )
        if not fixed and self.train_size <= 1 and self.test_size <= 1 and self.train_size + self.test_size > 1 + 1e-9:
            raise InputError(f"{argument('train_size')} and {argument('test_size')}: shares that are more than 1")
        return train, test
