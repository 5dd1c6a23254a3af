"""Summaries of judged rows: the reasons for errors, and the agreement with human judgements."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from cgbench.errors import InputError
from cgbench.text.columns import Column
from cgbench.text.plain_text import words_of


def reasons(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Counts of the reasons for wrong rows of :meth:`Cter.per_example`, most frequent first."""
    counts = {
        kind: Counter(word for row in rows for word in words_of(row[kind]))
        for kind in ("missing", "order")
    }
    return {
        kind: dict(sorted(reasons_of_kind.items(), key=lambda item: (-item[1], item)))
        for kind, reasons_of_kind in counts.items()
    }


def agreement(
    rows: Sequence[dict[str, Any]], human: Column, groups: np.ndarray
) -> dict[str, float | int | None]:
    """Precision and recall of detected errors against human judgements (1 right, 0 wrong), and the
    human error rates.

    :raises InputError: a judgement is neither 0 nor 1, or their number differs.
    """
    if len(human) != len(rows):
        raise InputError(f"{human.name} has {len(human):,} judgements for {len(rows):,} rows")
    for row, value in enumerate(human.values):
        if value.strip() not in ("0", "1"):
            raise InputError(
                f"{human.row(row)}: {value!r} is not a judgement; write 1 for right, 0 for wrong"
            )
    judged = np.array([value.strip() == "0" for value in human.values])
    wrong = np.array([row["correct"] == 0 for row in rows])
    wrong_in_both = int(np.count_nonzero(judged & wrong))
    return {
        "precision": wrong_in_both / int(wrong.sum()) if wrong.any() else None,
        "recall": wrong_in_both / int(judged.sum()) if judged.any() else None,
        "instance": float(judged.mean()),
        "aggregate": len(np.unique(groups[judged])) / len(np.unique(groups)),
    }
