"""External segment scores as a metric: their mean, or the share of scores of at least X.

The "hypotheses" of a run are its scores, one number per example. Intervals, tests, bins and seeds
work as for other metrics.
"""

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from cgbench.benchmark.measure.metrics.metric import Metric, Signature
from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean


def least_of(statistic: str) -> float | None:
    """X of ``share:X``, the share of scores of at least X; None for ``mean``.

    :raises InputError: there is no such statistic.
    """
    kind, sign, bound = statistic.partition(":")
    if kind == "share" and sign:
        least = float(bound) if _NUMBER.fullmatch(bound) else np.inf
        if not np.isfinite(least):
            raise InputError(
                f"{argument('statistic', statistic)}: {bound!r} is not a number; write share:0.8"
            )
        return least
    if statistic != "mean":
        raise InputError(
            f"{argument('statistic', statistic)}{did_you_mean(statistic, ['mean', 'share:X'])}"
        )
    return None


_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[-+]?([0-9]*),([0-9]+)", re.ASCII)
_NONE = frozenset(
    (
        "",
        "nan",
        "none",
        "null",
        "na",
        "n/a",
        "#n/a",
        "<na>",
        "-",
        "--",
        "inf",
        "-inf",
        "+inf",
        "infinity",
        "-infinity",
        "+infinity",
    )
)
_WORDS = {"true": 1.0, "false": 0.0}
MOST_DECIMALS = 12
BEYOND = 1e50
"""Maximum score, so that its fourth power, which tests need, is finite."""


def number_of(text: str) -> float | None:
    """Parse a score: NaN if missing or not finite; None if it is not a score."""
    if _NUMBER.fullmatch(text):
        value = float(text)
        return value if np.isfinite(value) else float("nan")
    word = text.strip().lower()
    if word in _NONE:
        return float("nan")
    if word in _WORDS:
        return _WORDS[word]
    return None if word == text else number_of(word)


def plain_numbers(texts: Sequence[str]) -> Sequence[str]:
    """The scores of a column without decimal commas and signs of percent (``50%`` is 50), if all of
    them are written so and could mean nothing else; else as they are.

    A comma before three digits may separate thousands, so some number must have others.
    """
    joined = "\n".join(texts)
    if "," not in joined and "%" not in joined:
        return texts  # fast: most columns
    cells = [text.strip() for text in texts]
    full = [cell for cell in cells if cell.lower() not in _NONE]
    if full and all(cell.endswith("%") for cell in full):
        cells = [cell.removesuffix("%").rstrip() for cell in cells]
        full = [cell.removesuffix("%").rstrip() for cell in full]
    elif "%" in joined:
        return texts
    if "," not in joined:
        return cells
    with_comma = [match for cell in full if (match := _DECIMAL_COMMA.fullmatch(cell))]
    are_decimals = any(len(match[2]) != 3 or int(match[1] or 0) == 0 for match in with_comma)
    without_comma = [cell for cell in full if "," not in cell]
    if not are_decimals or len(with_comma) + len(without_comma) < len(full):
        return texts
    if not all(cell.lstrip("+-").isdecimal() for cell in without_comma):
        return texts
    return [cell.replace(",", ".") for cell in cells]


def no_score(where: str, value: Any) -> InputError:
    """The error that a value is not a score, with a remedy."""
    with_point = str(value).strip().replace(",", ".")
    comma = "," in str(value) and _NUMBER.fullmatch(with_point)
    percent = str(value).strip().rstrip("%").strip()
    remedy = "give a number such as 0.5"
    if comma:
        remedy = f"write it with a decimal point, {with_point}"
    elif percent != str(value).strip() and _NUMBER.fullmatch(percent):
        remedy = f"write it without the sign, {percent}, and give the scale ({argument('scale')})"
    return InputError(f"{where}: {value!r} is not a score; {remedy}")


def _decimals(largest: float) -> int:
    """The decimals of scores: one; of those up to 1 four, or three digits of the largest."""
    if largest > 1:
        return 1
    digits = 3 - math.floor(math.log10(largest)) - 1 if largest > 0 else 0
    return min(max(4, digits), MOST_DECIMALS)


class SegmentScores(Metric):
    """The mean of segment scores, or the share of scores of at least X.

    Scores from 0 to 1 (``scale``) and shares are given in percent, other scores unchanged.
    """

    of_texts = False

    def __init__(
        self,
        n: int,
        *,
        name: str = "scores",
        statistic: str = "mean",
        scale: tuple[float, float] | None = None,
        lower_is_better: bool = False,
        binary: bool = False,
        missing: np.ndarray | None = None,
        notes: Sequence[str] = (),
        largest: float = 100.0,
        reading: Mapping[str, str | None] = MappingProxyType({}),
    ) -> None:
        """``n``: the number of segments.

        :param scale: the lowest and the highest possible score; None: unknown, or no limits.
        :param binary: every score is 0 or 1.
        :param missing: bool ``[n]``, segments without a score in some run, which are left out of
            all.
        :param largest: the largest absolute score; scores up to 1 have four decimals, or more if
            they are very small.
        :param reading: what was chosen when the scores were read, as items of the signature.
        :raises InputError: there is no such statistic.
        """
        self.reading_items = dict(reading)
        self._n, self.name, self.scale, self.binary = n, name, scale, binary
        self.lower_is_better, self.notes = lower_is_better, tuple(notes)
        self.statistic, self.least = statistic, least_of(statistic)
        self._kept = np.ones(n, bool) if missing is None else ~missing
        self.percent = self.least is not None or scale == (0.0, 1.0)
        self.unit = "%" if self.percent else ""
        self.width = 1 if self.percent else _decimals(largest)
        self.bottom, self.top = (0.0, 100.0) if self.percent else scale or (None, None)

    @property
    def n(self) -> int:
        """The number of segments, including those left out."""
        return self._n

    def signature(self) -> Signature:
        """The statistic, the scale, the direction, and the number of segments left out."""
        scale = "..".join(f"{end:g}" for end in self.scale) if self.scale else None
        items = {"stat": self.statistic.replace(":", "-"), "scale": scale}
        items["unit"] = "percent" if self.percent else None
        items["better"] = "lower" if self.lower_is_better else None
        items["dropped"] = None if self._kept.all() else str(int(np.count_nonzero(~self._kept)))
        return Signature(items | self.reading_items)

    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """(score, or 1 if it is at least X; 1) for each segment; zeros for one left out.

        :raises InputError: a score is not a number, or too large.
        """
        self.check_hypotheses(hypotheses)
        values = scores_of(hypotheses, self.name)
        bad = np.flatnonzero(self._kept & (np.abs(values) > BEYOND))
        if len(bad):
            raise InputError(
                f"{self.name}, row {bad[0] + 1}: {hypotheses[bad[0]]} is too large a score; give"
                " scores on another scale"
            )
        if self.least is not None:
            values = (values >= self.least).astype(np.float64)
        return np.where(self._kept[:, None], np.stack([values, np.ones(self.n)], axis=1), 0.0)

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """The rows that are not left out."""
        return rows[self._kept[rows]]

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """The statistic, in percent for scores from 0 to 1."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return (100 if self.percent else 1) * sums[:, :1] / sums[:, 1:]

    def outcomes(self, statistics: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray] | None:
        """1 for right, if scores are binary or the statistic is a share."""
        if not (self.binary or self.least is not None):
            return None
        return {"score": statistics[self.counted(rows), 0]}

    def describe(self, sums: np.ndarray) -> str:
        """The counts."""
        if self.binary and self.least is None:
            return f"({sums[0]:,.0f} of {sums[1]:,.0f})"
        return f"({sums[1]:,.0f} segments)"

    def per_example(
        self, hypotheses: Sequence[str], statistics: np.ndarray
    ) -> list[dict[str, Any]]:
        """``correct`` (1 or 0) for binary scores, else ``score``, NaN if missing."""
        if self.binary and self._kept.all():
            return [{"correct": int(value)} for value in scores_of(hypotheses, self.name)]
        return [{"score": value} for value in scores_of(hypotheses, self.name).tolist()]


def scores_of(texts: Sequence[str], name: str) -> np.ndarray:
    """Parse scores, float64 ``[n]``; NaN for missing ones.

    :param name: their name in messages.
    :raises InputError: one is neither a number nor marked as missing.
    """
    with contextlib.suppress(ValueError):
        # The usual case, fast; float() also accepts 1_1 and digits of all scripts, which are
        # refused below.
        values = np.array(list(map(float, texts)))
        if not any("_" in text or not text.isascii() for text in texts):
            values[~np.isfinite(values)] = np.nan
            return values
    numbers = list(map(number_of, plain_numbers(texts)))
    if None in numbers:
        row = numbers.index(None)
        raise no_score(f"{name}, row {row + 1}", texts[row])
    scores = np.array(numbers, np.float64)
    word = next((row for row, text in enumerate(texts) if text.strip().lower() in _WORDS), None)
    if word is not None and not np.isin(scores[~np.isnan(scores)], (0.0, 1.0)).all():
        raise InputError(
            f"{name}, row {word + 1}: {texts[word]!r}, but other rows have numbers other than 0 and"
            " 1; is it the right column?"
        )
    return scores
