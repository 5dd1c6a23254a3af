"""The document of each pair: from a column of the pool's table, or counted between empty lines
(``--document``).
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from cgbench.errors import InputError, argument
from cgbench.text.corpus import ParallelText
from cgbench.text.formats import CorpusSpec, column_beside, read_pairs
from cgbench.text.plain_text import words_of
from cgbench.text.rows import Row, cell_text

DOCUMENT = "document"  # the column of a release
BLANK_LINES = "blank-lines"


def check_documents(column: str, specs: Sequence[CorpusSpec]) -> None:
    """Check that every corpus of the pool contains documents.

    :param column: the name of a column, or :data:`BLANK_LINES`.
    :raises InputError: a corpus has no such column, or no empty line.
    """
    for spec in specs:
        if column != BLANK_LINES:
            next(_named(column, spec), None)
        elif all(words_of(source) or words_of(target) for source, target in read_pairs(spec)):
            raise InputError(
                f"{argument(DOCUMENT, column)}: no line is empty on both sides of {spec}"
            )


def documents_of(
    column: str,
    specs: Sequence[CorpusSpec],
    pools: Sequence[ParallelText],
    pool: np.ndarray,
    line: np.ndarray,
) -> list[str]:
    """The document of each pair. If there are several corpora, it begins with the number of the
    corpus (``2:name``).

    :param pool: the number of each pair's corpus, from 1; ``line``: its line there, from 1.
    :raises InputError: a pair has no document.
    """
    names = [""] * len(line)
    for corpus_number, (spec, text) in enumerate(zip(specs, pools, strict=True), 1):
        rows = np.flatnonzero(pool == corpus_number)
        read, documents = 0, _counted(text) if column == BLANK_LINES else _named(column, spec)
        for row in rows[np.argsort(line[rows])].tolist():
            file_row, (value,) = next(islice(documents, int(line[row]) - 1 - read, None))
            read = int(line[row])
            name = cell_text(value, column, spec.files[0], file_row).strip()
            if not name:
                raise InputError(
                    f"{spec.files[0]}, row {file_row}: {column!r} is empty; name the document of"
                    " every pair"
                )
            names[row] = f"{corpus_number}:{name}" if len(specs) > 1 else name
    return names


def _named(column: str, spec: CorpusSpec) -> Iterator[Row]:
    return column_beside(spec, column, argument(DOCUMENT, column))


def _counted(text: ParallelText) -> Iterator[Row]:
    """The line and the document of each pair, from 1; an empty line on both sides ends a
    document.
    """
    with text.source.path.open("rb") as source, text.target.path.open("rb") as target:
        source.seek(text.source.begin)
        target.seek(text.target.begin)
        document, between = 0, True
        for line, (source_line, target_line) in enumerate(zip(source, target, strict=True), 1):
            filled = bool(source_line.strip() or target_line.strip())
            document += filled and between
            between = not filled
            yield line, (document,)


def hash_documents(documents: Sequence[str]) -> np.ndarray:
    """A hash of each document's name, uint64."""
    names = {
        name: int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
        for name in {*documents}
    }
    return np.array([names[name] for name in documents], np.uint64)
