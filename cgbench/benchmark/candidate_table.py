"""The candidates as a table: a row each with every figure, and where it is from in numbers that people use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cgbench.benchmark.control import Control
from cgbench.benchmark.overlap.units import Words
from cgbench.text.blocks import join_blocks
from cgbench.text.corpus import ParallelText

if TYPE_CHECKING:
    from cgbench.benchmark.vocabulary import Vocabulary

SIDES = ("source", "target")
RAREST = "{}_rarest"  # of one side: how often the sentence's rarest word is in the training text
ROW_KEYS = ("line", "pool", "pool_line", "source_length", "target_length", "pieces", "degree")


def candidate_table(
    candidates: Path, pools: Sequence[ParallelText], perplexity: Path | None, learned: Path, degree_side: str
) -> Any:
    """The candidates of a cut in order (a pyarrow table).

    :param learned: the step that holds the known n-grams of ``degree_side`` and the words of the other.

    A scan counts the lines of its own corpus from 0; here they count from 1, in the corpus (``pool_line``) and in the
    pool as a whole (``line``).
    """
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(candidates / "candidates.parquet")
    columns = {name: table[name] for name in table.column_names if not name.endswith("_offset")}
    columns |= places(table["line"].to_numpy(), table["pool"].to_numpy(), pools)
    columns |= _rarest(candidates, learned, degree_side)
    names = [*ROW_KEYS, "content", *map(RAREST.format, SIDES)]
    if perplexity:
        columns["perplexity"] = np.load(perplexity / "perplexity.npy", allow_pickle=False)
        names.append("perplexity")
    return pyarrow.table({name: columns[name] for name in names})


def places(line: np.ndarray, pool: np.ndarray, pools: Sequence[ParallelText]) -> dict[str, np.ndarray]:
    """``line``, ``pool`` and ``pool_line`` as people count, of lines and corpora as a scan counts."""
    first = np.cumsum([0] + [corpus.lines for corpus in pools])
    return {"line": line + first[pool] + 1, "pool": pool + 1, "pool_line": line + 1}


def control_rows(control: Control, pools: Sequence[ParallelText]) -> list[dict[str, Any]]:
    """The rows of a control set: where each pair is from, and its figures."""
    columns = control.rows | places(control.rows["line"], control.rows["pool"], pools)
    return [
        dict(zip(ROW_KEYS, values, strict=True))
        for values in zip(*(columns[name].tolist() for name in ROW_KEYS), strict=True)
    ]


def _rarest(candidates: Path, learned: Path, degree_side: str) -> dict[str, np.ndarray]:
    from cgbench.benchmark.vocabulary import Vocabulary

    folders = {degree_side: learned / "ngrams", SIDES[degree_side == "source"]: learned / "other-words"}
    return {
        RAREST.format(side): rarest_counts(
            Vocabulary.load(folders[side]),
            (candidates / f"candidates.{side}").read_text(encoding="utf-8").split("\n")[:-1],
        )
        for side in SIDES
    }


def rarest_counts(vocabulary: Vocabulary, lines: Sequence[str]) -> np.ndarray:
    """How often each line's rarest word is in the training text, int64 ``[lines]``; 0 for a word too rare to be
    known, and for a line without words."""
    words, held = Words(vocabulary), np.append(vocabulary.counts, 0)
    found = [np.zeros(0, np.int64)]
    for block in join_blocks(lines):
        ids, lengths = words.read(block)
        lowest = np.zeros(len(lengths), np.int64)
        if len(ids):
            filled = np.flatnonzero(lengths)
            begins = np.cumsum(lengths, dtype=np.int64) - lengths
            lowest[filled] = np.minimum.reduceat(held[np.minimum(ids, len(vocabulary))], begins[filled])
        found.append(lowest)
    return np.concatenate(found)


def with_columns(table: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    """``table`` with what ``rows``, one a row of it, say by name."""
    for name in rows[0] if rows else ():
        table = table.append_column(name, [[row[name] for row in rows]])
    return table
