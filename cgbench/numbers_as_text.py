"""Numbers, counts and lists of names as text: decimals, signs, p-values, stars."""

from collections.abc import Iterable, Sequence

from cgbench.errors import printable
from cgbench.patterns import pattern

_MINUS = pattern(r"(?<![\w.,-])-(?=[\d.])")
LEVELS = (0.05, 0.01)
"""p-values below these have stars, so none of them is printed as if it were not below."""
MORE_DECIMALS = 2
"""The most further decimals of a difference that would look like zero."""


class Ready(str):
    """A cell that is LaTeX as it stands."""


class Cell(str):
    """A number with its mark: stars after it; the best of its column is bold in LaTeX and has a
    star on a page.
    """

    number: str
    mark: str
    is_best: bool

    def __new__(cls, number: str, mark: str = "", *, is_best: bool = False) -> "Cell":
        """The text is the number with the mark."""
        cell = super().__new__(cls, number + mark)
        cell.number, cell.mark, cell.is_best = number, mark, is_best
        return cell


def fixed(value: float | None, decimals: int, sign: str = "", none: str = "") -> str:
    """A number with ``decimals`` decimals.

    A number without a sign has no minus before zero. With ``sign="+"``, all but zero itself have
    their sign, even those that are rounded to zero: below zero never looks like above.
    """
    if value is None:
        return none
    text = f"{value:{sign}.{decimals}f}"
    if not value or (not sign and not float(text)):
        return f"{0:.{decimals}f}"
    return text


def typeset(text: str) -> str:
    """Numbers with a minus sign instead of a hyphen, for pages and pictures."""
    return _MINUS.sub("\N{MINUS SIGN}", text)


def span(low: float | None, high: float | None, decimals: int, sign: str = "") -> str:
    """An interval, if there is one."""
    if low is None or high is None:
        return ""
    return f"{fixed(low, decimals, sign)} to {fixed(high, decimals, sign)}"


def decimals_of(values: Iterable[float | None], least: int) -> int:
    """The decimals of differences and ends of intervals that stand together: at least ``least``,
    and more where one that is not zero would look like zero.
    """
    visible = [value for value in values if value]
    for decimals in range(least, least + MORE_DECIMALS):
        if all(float(f"{value:.{decimals}f}") for value in visible):
            return decimals
    return least + MORE_DECIMALS


def counted(count: int, noun: str) -> str:
    """``1 line``, ``2,000 lines``, ``2 entries``."""
    many = f"{noun.removesuffix('y')}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"


def joined(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def p_text(value: float | None) -> str:
    """A p-value with four decimals, or with more if it would look like a level that it is below."""
    if value is None:
        return ""
    if value < 0.00005:
        return "< 0.0001"
    for decimals in range(4, 8):
        text = f"{value:.{decimals}f}"
        if not any(value < level <= float(text) for level in LEVELS):
            return text
    return f"< {float(text):g}"


def single_line(text: str) -> str:
    """A text as one line without control characters."""
    return printable(text.replace("\t", " ").replace("\n", " "))
