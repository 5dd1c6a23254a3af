"""The candidates as a table: one row each, with every measure and its place in the pool, counted
from 1.
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.documents import DOCUMENT
from cgbench.benchmark.candidates.inclusion import INCLUSION
from cgbench.benchmark.candidates.matching import RAREST, MatchedControl, word_frequency
from cgbench.benchmark.candidates.uncertainty import candidate_lines
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.errors import InputError
from cgbench.text.arrow_tables import arrays_of, arrow, number_table
from cgbench.text.columns import read_text
from cgbench.text.corpus import ParallelText
from cgbench.text.formats import CorpusSpec

ROW_KEYS = ("line", "pool", "pool_line", "source_length", "target_length", "pieces", "degree")
DIFFICULTY = "difficulty"  # of a pair, by any external model: an alternative measure to select by


def candidate_table(
    candidates: Path,
    pools: Sequence[ParallelText],
    perplexity: Path | None,
    learned: Path,
    degree_side: str,
) -> Any:
    """The candidates of a cut in order (a pyarrow table). Lines count from 1, in the corpus
    (``pool_line``) and in the pool as a whole (``line``); a scan counts them from 0.

    :param learned: the step with the known n-grams of ``degree_side`` and the words of the other
        side.
    """
    # read_table would load pyarrow.dataset and pandas.
    with arrow().parquet.ParquetFile(candidates / "candidates.parquet") as file:
        table = file.read()
    columns = arrays_of(table, table.column_names)
    columns |= places(columns["line"], columns["pool"], pools)
    texts = zip(
        RAREST, vocabularies_of(learned, degree_side), candidate_lines(candidates), strict=True
    )
    columns |= {name: word_frequency(vocabulary, lines).rarest for name, vocabulary, lines in texts}
    names = [*ROW_KEYS, "content", *RAREST]
    if perplexity:
        columns["perplexity"] = np.load(perplexity / "perplexity.npy", allow_pickle=False)
        names.append("perplexity")
    return number_table({name: columns[name] for name in names})


def places(
    line: np.ndarray, pool: np.ndarray, pools: Sequence[ParallelText]
) -> dict[str, np.ndarray]:
    """``line``, ``pool`` and ``pool_line``, counted from 1, from the numbers of a scan."""
    first = np.cumsum([0] + [corpus.lines for corpus in pools])
    return {"line": line + first[pool] + 1, "pool": pool + 1, "pool_line": line + 1}


def control_table(control: MatchedControl, pools: Sequence[ParallelText]) -> Any:
    """A control set (a pyarrow table): the place of each pair in the pool, and its measures."""
    import pyarrow

    columns = control.rows | places(control.rows["line"], control.rows["pool"], pools)
    names = [*ROW_KEYS, *RAREST, *([DOCUMENT] if DOCUMENT in columns else [])]
    table = pyarrow.table({name: columns[name].tolist() for name in names})
    # The choice follows from the test set; its probability is unknown.
    return table.append_column(INCLUSION, pyarrow.nulls(len(table), pyarrow.float64()))


def vocabularies_of(learned: Path, degree_side: str) -> tuple[Vocabulary, Vocabulary]:
    """The known words of the source and of the target in a build.

    :param learned: the step with the known n-grams of ``degree_side`` and the words of the other
        side.
    """
    ngrams, other_words = (
        Vocabulary.load(learned / "ngrams"),
        Vocabulary.load(learned / "other-words"),
    )
    return (ngrams, other_words) if degree_side == "source" else (other_words, ngrams)


def with_columns(table: Any, columns: Mapping[str, Sequence[Any]]) -> Any:
    """``table`` with further columns, by name."""
    for name, values in columns.items():
        table = table.append_column(name, [values])
    return table


def read_difficulty(
    files: Sequence[Path], pools: Sequence[ParallelText], specs: Sequence[CorpusSpec]
) -> tuple[np.ndarray, ...]:
    """The difficulty of every pair: a float64 array ``[lines]`` for each corpus of the pool, from
    files with one number per line. Such values come from Sentinel-src for a source (Proietti et al.
    2025, "Estimating Machine Translation Difficulty"), or are the error of some system. Without
    files there is none.

    :raises InputError: a file has more or fewer lines than its corpus, or a line that is not a
        number.
    """
    if not files:
        return ()
    result = []
    for path, pool, spec in zip(files, pools, specs, strict=True):
        values = array("d")
        for row, line in enumerate(read_text(path, DIFFICULTY), 1):
            try:
                value = float(line)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                raise InputError(
                    f"{path}, row {row}: {line.strip()[:40]!r} is not a number; give one per pair"
                )
            values.append(value)
        if len(values) != pool.lines:
            raise InputError(
                f"{path}: {len(values):,} values for the {pool.lines:,} pairs of {spec}; give one"
                " per pair, in the same order"
            )
        result.append(np.frombuffer(values, np.float64))
    return tuple(result)
