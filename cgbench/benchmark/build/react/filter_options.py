"""Which pairs of a pool are candidates: the settings."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from cgbench.argument_types import Kind, are_paths
from cgbench.benchmark.candidates.amounts import PositiveAmount
from cgbench.errors import InputError, argument
from cgbench.request import KW_ONLY, Request, option

Side: TypeAlias = Literal["source", "target"]
KnownFrom: TypeAlias = Annotated[
    Any,
    Kind(
        "folders",
        "a folder, or one per side, as source=FOLDER",
        lambda value: are_paths(list(value.values()) if isinstance(value, Mapping) else value),
        many=True,
    ),
]


class FilterOptions(Request):
    """Which pairs are candidates: known words and n-grams, length, degree."""

    _: KW_ONLY
    word_min_count: int = option(
        "--set word_min_count",
        default=3,
        help="Minimum training count of a word; pairs with a rarer word are dropped",
        least=1,
    )
    ngram_min_count: int = option(
        "--set ngram_min_count",
        default=3,
        help="Minimum training count for an n-gram to be known",
        least=1,
    )
    filter_sides: Literal["both", "source", "target"] = option(
        "--set filter_sides",
        default="both",
        help="Sides on which rare words exclude a pair",
    )
    degree_side: Side = option(
        "--set degree_side",
        default="target",
        help="Side that the compositional degree is computed on",
    )
    min_length: int = option(
        "--set min_length",
        default=6,
        help="Minimum length of a pair, on the degree side",
        least=1,
        unit="words",
    )
    max_length: int | None = option(
        "--set max_length",
        default=None,
        help="Maximum length of a pair, on the degree side; none: no limit",
        least=1,
        unit="words",
    )
    candidates: PositiveAmount = option(
        "--set candidates",
        default=60_000,
        help=(
            "Number of pairs with the highest degree to keep as candidates; a share refers to the"
            " pairs within the length limits"
        ),
    )
    known_from: KnownFrom = option(
        "--known-from",
        default=(),
        help=(
            "Take known n-grams and rare words of that side from an `overlap --out` folder for the"
            " pool; repeatable"
        ),
        metavar="[SIDE=]FOLDER",
        group="Advanced",
    )

    def check(self) -> None:
        """The limits of the length fit together."""
        if self.max_length is not None and self.max_length < self.min_length:
            raise InputError(
                f"{argument('max_length', self.max_length)}: it must be at least min_length"
                f" ({self.min_length})"
            )
