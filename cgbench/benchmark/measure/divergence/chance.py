"""A divergence beside that of random splits of the same sizes.

Small sets diverge by chance: 200 sentences have few of the words and rare compounds of a large
text. A divergence therefore says how unusual a split is only in comparison with random ones.
"""

from dataclasses import dataclass

from cgbench.errors import InputError, argument

RANDOM_SPLITS = 200


@dataclass(frozen=True)
class Chance:
    """The mean and standard deviation over ``splits`` random splits, and the distance ``z`` of a
    measured divergence from the mean in standard deviations; None if random splits do not
    differ."""

    mean: float
    sd: float
    z: float | None
    splits: int

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.sd:.4f}" + (
            "" if self.z is None else f" (z {self.z:+z.1f})"
        )


def check_random_splits(splits: int) -> None:
    """:raises InputError: a single random split, which has no standard deviation."""
    if splits == 1:
        raise InputError(
            f"{argument('random_splits', splits)}: a standard deviation needs at least 2; use 0 for"
            " none"
        )
