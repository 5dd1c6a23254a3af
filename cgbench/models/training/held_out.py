"""Hold out a share of the training data as validation data.

The choice depends only on the words of the source. So all pairs with the same source stay together,
and the choice hardly depends on the order or the rest of the text, and not on a seed.
"""

import hashlib
from fractions import Fraction
from pathlib import Path

import numpy as np

from cgbench.errors import InputError
from cgbench.text.corpus import ParallelText
from cgbench.text.plain_text import words_of
from cgbench.text.streams import read_lines

PARTS = ("train", "valid")
SIDES = ("source", "target")


def hold_out(text: ParallelText, amount: str, out: Path) -> None:
    """Write ``train.source``, ``train.target``, ``valid.source`` and ``valid.target`` to ``out``.

    :param amount: of pairs to hold out, a number or a share below 1; copies of the last source are
        added.
    """
    hashes = np.array([_hash(line) for line in read_lines(text.source.path)], np.uint64)
    pairs = Fraction(amount)
    count = int(pairs) if pairs >= 1 else int(pairs * len(hashes) + Fraction(1, 2))
    held_out = (
        hashes <= np.sort(hashes)[min(count, len(hashes)) - 1]
        if count
        else np.zeros(len(hashes), bool)
    )
    if held_out.all():
        raise InputError(
            f"valid={amount}: holds out all {len(held_out):,} pairs of {text.source.path}, so no"
            " training data is left; lower it (0: none)"
        )
    for side, path in zip(SIDES, (text.source.path, text.target.path), strict=True):
        with (
            (out / f"train.{side}").open("wb") as train,
            (out / f"valid.{side}").open("wb") as valid,
        ):
            for line, apart in zip(read_lines(path), held_out.tolist(), strict=True):
                (valid if apart else train).write(line.encode("utf-8") + b"\n")


def texts_in(folder: Path, name: str) -> tuple[Path, Path] | None:
    """Source and target of ``train`` or ``valid`` from :func:`hold_out`; None if empty."""
    source, target = (folder / f"{name}.{side}" for side in SIDES)
    return (source, target) if source.stat().st_size else None


def _hash(line: str) -> int:
    return int.from_bytes(
        hashlib.sha256(" ".join(words_of(line)).encode("utf-8")).digest()[:8], "little"
    )
