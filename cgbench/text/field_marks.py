"""Marks that separate the fields of a line, such as ``|||``: lines of records instead of texts."""

from collections import Counter
from collections.abc import Callable, Sequence

from cgbench.patterns import pattern
from cgbench.text.form_sample import FormSample
from cgbench.text.line_edges import FEWEST, MOST, vary

NEARLY_ALL = 0.9  # of the lines have a mark between fields equally often
HARDLY_ANY = 0.1  # of that share of the references have it
MOST_FIELD_MARKS = 4
LEAST_LESS = 0.15  # of the units of lines of several fields are not in the field with the text
MOST_LOST = 0.15  # of the units that match are outside the field with the text
FIELDS_OF_TEXT = (0, 1, -1, 2)  # where programs write the text

_FIELD_MARK = pattern(r"[^\w\s]{2,4}|[|#~^=*/\\&@]|<\w{1,12}>|\[[^\w\s]?\w{0,12}\]")

Units = Callable[[str], Counter[str]]
"""What a metric compares (:func:`cgbench.text.damage.units_of`)."""


def foreign_field_mark(hypotheses: FormSample, references: FormSample, units: Units) -> str | None:
    """A mark that separates fields of most hypotheses and of hardly any reference, of which one
    alone is the text; None without one.

    :param references: one per hypothesis.
    """
    for mark in field_marks(hypotheses):
        count = hypotheses.lines_with(mark)
        is_frequent = count >= max(FEWEST, MOST * hypotheses.size)
        if not is_frequent or references.lines_with(mark) > HARDLY_ANY * count:
            continue
        pairs = zip(hypotheses.lines, references.lines, strict=True)
        records = [(line.split(mark), reference) for line, reference in pairs if mark in line]
        if separates_all(mark, hypotheses.lines) or _one_field_is_text(records, units):
            return mark
    return None


def _one_field_is_text(records: Sequence[tuple[list[str], str]], units: Units) -> bool:
    """Whether one field holds nearly all units that match a reference, and not nearly all units.

    :param records: the fields of a line, and its reference.
    """
    all_units = matches = 0
    for fields, reference in records:
        units_of_line = units(" ".join(field.strip() for field in fields))
        all_units += units_of_line.total()
        matches += (units_of_line & units(reference)).total()
    if not matches:
        return False
    for index in FIELDS_OF_TEXT:
        units_in_field = matches_in_field = 0
        for fields, reference in records:
            if -len(fields) <= index < len(fields):
                units_of_field = units(fields[index].strip())
                units_in_field += units_of_field.total()
                matches_in_field += (units_of_field & units(reference)).total()
        is_part = units_in_field <= (1 - LEAST_LESS) * all_units
        if is_part and matches_in_field >= (1 - MOST_LOST) * matches:
            return True
    return False


def separates_all(mark: str, lines: Sequence[str]) -> bool:
    """Whether nearly all lines have a mark equally often, between texts that differ."""
    full = [line for line in lines if line.strip()]
    times = Counter(line.count(mark) for line in full)
    ((most_times, count),) = times.most_common(1)
    firsts = [line.partition(mark)[0] for line in full]
    return most_times > 0 and count >= NEARLY_ALL * len(full) and vary(firsts, full)


def field_marks(text: FormSample) -> list[str]:
    """What may separate fields: words of a few marks, the most frequent first, and tabs."""
    counts = Counter(
        {word: count for word, count in text.marked_counts.items() if _FIELD_MARK.fullmatch(word)}
    )
    tabs = ["\t"] * ("\t" in text.characters)
    return tabs + [mark for mark, _ in counts.most_common(MOST_FIELD_MARKS)]
