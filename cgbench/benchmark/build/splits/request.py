"""The request of ``split()`` and ``cgbench split``, with the sizes and goals of the search."""

import dataclasses
from typing import Any, Literal

from cgbench.argument_types import Bitext, Folder
from cgbench.benchmark.measure.divergence.chance import RANDOM_SPLITS, check_random_splits
from cgbench.errors import InputError, argument
from cgbench.request import KW_ONLY, Request, option
from cgbench.text.normalisation import CorpusOptions, TextAcceptance

DIVERGENT = ("mcd", "tmcd", "dbca")
"""The methods that use divergences."""
ATOM_LIMIT = 0.02
"""The limit of MCD (Keysers et al. 2020)."""
ROUNDING = 1e-9
"""The margin below a limit, for rounding of divergences in the search."""


class SplitConfig(Request):
    """How a corpus is split."""

    _: KW_ONLY
    method: Literal["random", "length", "mcd", "tmcd", "dbca"] = option(
        "--method",
        default="mcd",
        help="Method that chooses the examples",
        group="Method",
    )
    compounds: str = option(
        "--compounds",
        default="words",
        help="Atoms and compounds: words:2,3, scan, cogs, lispress, triples:FILE and more",
        group="Method",
        metavar="TYPE[:FILES]",
    )
    weights: Literal["specific", "count"] = option(
        "--set weights",
        default="specific",
        help="Weight of compounds: as in Keysers et al. (2020), or 1 each",
        group="Method",
    )
    divergence: float | None = option(
        "--divergence",
        default=None,
        help="Target compound divergence [default: the highest]",
        group="Method",
        least=0,
        most=1,
    )
    atom_divergence: float | None = option(
        "--set atom_divergence",
        default=None,
        help="Maximum atom divergence; with dbca the target divergence [default: mcd 0.02, dbca 0]",
        group="Method",
        least=0,
        most=1,
    )
    train_size: float = option(
        "--set train_size",
        default=0.8,
        help="Number or share of training pairs",
        group="Sizes",
    )
    test_size: float = option(
        "--set test_size",
        default=0.2,
        help="Number or share of test pairs",
        group="Sizes",
    )
    candidates: int = option(
        "--set candidates",
        default=100,
        help="Number of pairs drawn at each step, of which the best is added",
        least=1,
    )
    exchanges: int | None = option(
        "--set exchanges",
        default=None,
        help="Number of exchanges tried per pair at the end [default: mcd and tmcd 10, dbca 0]",
        least=0,
    )
    tolerance: float = option(
        "--set tolerance",
        default=0.01,
        help="Maximum distance from the target divergence",
        least=0,
        most=1,
    )
    nearest: bool = option(
        "--set nearest",
        default=False,
        help="Write the nearest split if the target divergence cannot be reached",
        group="Search",
    )
    seed: int = option(
        "--seed",
        default=1,
        help="Random seed",
        group="Search",
        least=0,
    )
    random_splits: int = option(
        "--set random_splits",
        default=RANDOM_SPLITS,
        help="Number of random splits to compare the divergences with, 0 for none",
        group="Advanced",
        least=0,
    )

    def check(self) -> None:
        """:raises InputError: settings do not fit together."""
        check_random_splits(self.random_splits)
        for name in ("divergence", "atom_divergence"):
            value = getattr(self, name)
            if value is not None and self.method not in DIVERGENT:
                raise InputError(
                    f"{argument(name, value)} needs {argument('method', 'mcd')}, tmcd or dbca"
                )
        for name in ("train_size", "test_size"):
            value = getattr(self, name)
            if value <= 0 or (value > 1 and value != int(value)):
                raise InputError(
                    f"{argument(name, value)}: it must be a share up to 1 or a whole number"
                )

    @property
    def settings(self) -> dict[str, Any]:
        """The settings by name, as in the manifest."""
        stored = {"compounds": "elements"}  # its name in manifests
        names = [field.name for field in dataclasses.fields(SplitConfig)]
        return {stored.get(name, name): getattr(self, name) for name in names}

    @property
    def goal(self) -> tuple[float, float, float, float]:
        """Target, atom limit, its weight, and 1.0 if the limit is a target: the goal of the search.

        DBCA weighs both divergences equally (Moisio et al. 2023). If the limit is a bound,
        exceeding it costs ten times as much as getting closer to the target gains.
        """
        target = 1.0 if self.divergence is None else self.divergence
        if self.method == "dbca":
            return target, self.atom_limit, 1.0, 1.0
        return target, max(0.0, self.atom_limit - ROUNDING), 10.0, 0.0

    @property
    def bounded(self) -> bool:
        """Whether the limit of the atom divergence is a bound, not a target."""
        return self.method in ("mcd", "tmcd")

    @property
    def atom_limit(self) -> float:
        """The maximum atom divergence (mcd, tmcd), or its target (dbca)."""
        if self.atom_divergence is not None:
            return self.atom_divergence
        return {"mcd": ATOM_LIMIT, "dbca": 0.0}.get(self.method, 1.0)

    @property
    def tries(self) -> int:
        """Exchanges to try per example."""
        return self.exchanges if self.exchanges is not None else 0 if self.method == "dbca" else 10

    def sizes(self, examples: int, *, fixed: bool = False) -> tuple[int, int]:
        """The numbers of training and test examples.

        :param examples: the number of all examples. ``fixed``: the training set is fixed, and not
            among them.
        :raises InputError: there are too few, or a set would be empty.
        """

        def count(value: float) -> int:
            return int(value) if value > 1 else round(value * examples)

        train, test = 0 if fixed else count(self.train_size), count(self.test_size)
        shares = (
            self.train_size + self.test_size
            if not fixed and max(self.train_size, self.test_size) <= 1
            else 0.0
        )
        if shares > 1 - 1e-9:
            train = min(train, examples - test)  # shares that add up to 1, rounded
        if test < 1 or (train < 1 and not fixed):
            raise InputError(
                f"{train:,} training and {test:,} test examples of {examples:,}: a set would be"
                " empty"
            )
        if train + test > examples:
            raise InputError(
                f"{argument('train_size')} and {argument('test_size')}: {train + test:,} examples,"
                f" but the corpus has {examples:,}"
            )
        if shares > 1 + 1e-9:
            raise InputError(
                f"{argument('train_size')} and {argument('test_size')}: the shares add up to more"
                " than 1"
            )
        return train, test


class SplitRequest(Request):
    """What :func:`~cgbench.benchmark.build.splits.split.split` is asked for."""

    corpus: Bitext = option(
        "--corpus",
        help="Corpus: two files, or one with both sides",
        group="Input",
    )
    out: Folder = option(
        "--out",
        help="Folder of the split",
        group="Output",
    )
    _: KW_ONLY
    train: Bitext | None = option(
        "--train",
        default=None,
        help="Fixed training set; the test set is chosen from the corpus",
        group="Input",
    )
    side: Literal["source", "target"] | None = option(
        "--side",
        default=None,
        help="Side whose atoms and compounds count [default: source; tmcd: target]",
        group="Input",
    )
    licence: str = option(
        "--set licence",
        default="",
        help="Licence of the corpus, for the README",
        group="Output",
    )
    text: CorpusOptions = option(
        default=CorpusOptions(), help="Columns and languages of the corpora (CorpusOptions)"
    )
    acceptance: TextAcceptance = option(
        default=TextAcceptance(), help="Whether wrong texts are read (TextAcceptance)"
    )
    search: SplitConfig = option(
        default=SplitConfig(), help="Method, sizes and goals of the search (SplitConfig)"
    )

    def check(self) -> None:
        """A fixed training set needs a method that measures divergences."""
        if self.train is not None and self.search.method not in DIVERGENT:
            raise InputError(
                f"{argument('train')}: {self.search.method} does not use a training set; use dbca,"
                " mcd or tmcd"
            )
