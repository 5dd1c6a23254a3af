"""The text of a release against its hashes, its tables, its rows and its normalised form."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cgbench.benchmark.release.checks.common import Outcome, difference, differing_rows
from cgbench.benchmark.release.data_tables import (
    NORMALISED,
    TEXTS,
    chosen_rows,
    rows_of,
    sides_of,
    text_contents,
    without_text,
)
from cgbench.benchmark.release.manifest import ROW_FILES, Check, table_file, table_names
from cgbench.benchmark.release.release import SIDES, Release
from cgbench.errors import InputError
from cgbench.text.hashes import content_of
from cgbench.text.normalisation import normalise_pairs
from cgbench.text.plain_text import words_of
from cgbench.text.tokenizers import versions

ORIGINALS = "original text"
"""The name of the check of :func:`check_originals`."""
NORMALISED_AGAIN = 1_000  # pairs of a table whose text is normalised again


def check_text(release: Release) -> str:
    """The words of every pair against its hash in the table of candidates."""
    if not release.has_text:
        return ""
    table = release.table()
    hashes = table["content"].to_pylist()
    rows = chosen_rows(table) if release.finished else range(table.num_rows)
    expected = [hashes[row] for row in rows]
    texts = [release.lines(side, normalised=True) for side in SIDES]
    wrong = differing_rows(expected, content_of(*texts).tolist())
    return difference("line {}: not the selected pair", wrong, "lines")


def check_tables(release: Release) -> str:
    """The text of the tables against their hashes; the test and control tables against their
    files.
    """
    problems = (_problem_of_table(release, name) for name in table_names(release.manifest))
    return next(filter(None, problems), "")


def _problem_of_table(release: Release, name: str) -> str:
    """The first difference in one table."""
    table, file = release.table(name, text=True), table_file(name)
    texts = sides_of(table, release.languages)
    normalised = sides_of(table, release.languages, NORMALISED)
    # Text is there if the manifest states it.
    keeps_normalised = release.has_text and release.keeps_normalised
    if bool(texts) != release.has_text:
        return f"{file} has {'' if texts else 'no '}text"
    if bool(normalised) != keeps_normalised:
        return f"{file} has {'' if normalised else 'no '}normalised text"
    # It matches the hash of its row; without it, no column holds any.
    if texts:
        if wrong := differing_rows(table["content"].to_pylist(), _hashes(texts, normalised)):
            return file + difference(", row {}: the text does not match its hash", wrong, "rows")
    elif strange := sorted({*table.column_names} - {*without_text(table).column_names}):
        return f"{file}: the column {strange[0]} holds text"
    # The text and the rows equal those of the files.
    for text_file, content in text_contents(release.manifest, name, table).items():
        if release.path(text_file).read_bytes() != content.encode("utf-8"):
            return f"{file}: does not match {text_file}"
    if name in ROW_FILES and not _equal_json(rows_of(table), release.set_rows(name)):
        return f"{file}: does not match {ROW_FILES[name]}"
    return ""


def _hashes(texts: Sequence[Sequence[str]], normalised: Sequence[Sequence[str]]) -> list[int]:
    """The content hash of each pair of a table, from its normalised form if it has one."""
    words = normalised or [[" ".join(words_of(line)) for line in lines] for lines in texts]
    return content_of(*words).tolist()


def _equal_json(first: Any, second: Any) -> bool:
    """Whether two values are written alike, so that NaN equals NaN."""
    return json.dumps(first) == json.dumps(second)


def check_originals(release: Release) -> Outcome:
    """The original text, normalised again, against its normalised form: up to
    :data:`NORMALISED_AGAIN` pairs of each table, evenly spaced."""
    # In the original text, tokenisation is undone already.
    normalisation = replace(release.normalisation, detokenize=False)
    for package, version in versions(normalisation.tokenizers).items():
        if release.manifest["versions"].get(package) != version:
            return [Check(ORIGINALS, None, f"normalised with another version of {package}")]
    for name in table_names(release.manifest):
        table = release.table(name, text=True)
        step = max(1, -(-table.num_rows // NORMALISED_AGAIN))
        table = table.take(list(range(0, table.num_rows, step)))
        texts, recorded = (sides_of(table, release.languages, column) for column in TEXTS)
        try:
            pairs = list(normalise_pairs(zip(*texts, strict=True), normalisation, name))
        except InputError as error:  # a tokeniser that is not installed
            return [Check(ORIGINALS, None, error.message)]
        lines, recorded_pairs = table["line"].to_pylist(), zip(*recorded, strict=True)
        for line, pair, recorded_pair in zip(lines, pairs, recorded_pairs, strict=True):
            if list(map(words_of, pair)) != list(map(words_of, recorded_pair)):
                return (
                    f"{table_file(name)}, line {line:,} of the pool: the normalised form is not"
                    " that of the text"
                )
    return ""


def check_rows(release: Release, name: str = "test") -> str:
    """Lengths and degree of every row of a set against its text."""
    degree_side = release.configuration["degree_side"]
    sides = SIDES if release.has_text else ()
    texts = [release.set_lines(name, side, normalised=True) for side in sides]
    for row_number, row in enumerate(release.set_rows(name), 1):
        recorded = [row["source_length"], row["target_length"]]
        lengths = [len(words_of(lines[row_number - 1])) for lines in texts]
        if texts and recorded != lengths:
            return f"row {row_number}: lengths {recorded[0]}, {recorded[1]}; the text has {lengths}"
        if row["degree"] != row["pieces"] / row[f"{degree_side}_length"]:
            return f"row {row_number}: degree {row['degree']} is not pieces over length"
    return ""
