"""Whether the columns that are read of a table are those that are meant."""

from __future__ import annotations

from collections.abc import Sequence

from cgbench.text.formats import CorpusSpec, Pair, chosen_columns, is_header
from cgbench.text.rows import Table

ENOUGH = 20  # rows


def columns_of(spec: CorpusSpec) -> tuple[str, str]:
    """The columns that are read of a table, as ``--columns`` names them."""
    return chosen_columns(spec)[0]


def find_column_faults(spec: CorpusSpec, pairs: Sequence[Pair], languages: tuple[str, str]) -> list[tuple[str, bool]]:
    """What is wrong with the columns of a table, a line each, and whether it spoils a benchmark.

    :param pairs: a sample, its first pair the first of the table.
    """
    if len(spec.paths) != 1 or not pairs:
        return []
    chosen, names = chosen_columns(spec)
    if spec.columns is None and set(languages) <= set(names) and chosen != languages:
        wanted = ",".join(languages)
        return [(f"{spec}: columns {','.join(chosen)} are read, and it has {wanted}; give --columns {wanted}", True)]
    if {name.lower() for name in chosen} == {name.lower() for name in languages} and chosen != languages:
        turned = f"{chosen[1]},{chosen[0]}"
        return [(f"{spec}: column {chosen[0]} is read as {languages[0]}; give --columns {turned}", True)]
    found: list[tuple[str, bool]] = []
    first = pairs[0]
    if chosen[0].isdigit() and all(_is_name(field, languages) for field in first):
        # Other columns may have been forgotten: what the table calls by the languages is what is meant.
        named = set(languages) <= set(_names(spec))
        wanted = ",".join(languages if named else first)
        text = f"{spec}, row 1: {first[0]!r} and {first[1]!r} look like a header; give --columns {wanted}"
        found.append((text, named and first != languages))
        if named:
            return found
    # A table of two columns may well have numbers in one: answers of arithmetic.
    if spec.columns is None and len(pairs) >= ENOUGH and len(_names(spec)) > 2:
        for number, name in enumerate(chosen):
            rows = [pair[number] for pair in pairs[1:]]
            if sum(not any(map(str.isalpha, field)) for field in rows) >= 0.9 * len(rows):
                what = "column" if name.isdigit() else "the field"
                has = f"it has {', '.join(names)}" if names else "columns are counted from 1"
                text = f"{spec}: {what} {name} holds no words ({rows[0][:20]!r}); name the columns with --columns S,T"
                found = [(f"{text} ({has})", True)]  # and not a header with this column in it
                break
    return found


def _names(spec: CorpusSpec) -> list[str]:
    """The fields of a table's first row."""
    return Table(spec.paths[0], named=True).names


def _is_name(field: str, languages: tuple[str, str]) -> bool:
    return field in languages or is_header(field)
