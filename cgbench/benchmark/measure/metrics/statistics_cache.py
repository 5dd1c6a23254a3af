"""Statistics of examples that were counted before (:mod:`cgbench.kept`), by the metric with its
options, the versions of cgbench and sacrebleu, and every character of references and hypotheses.
"""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from cgbench.kept import Kept

REVISION = 1
"""To be raised with every change of what the statistics are."""


class StatisticsCache(Kept):
    """The statistics of lists of hypotheses for the same references by the same metric."""

    def __init__(self, made_by: Sequence[Any], references: Sequence[Sequence[str]]) -> None:
        """
        :param made_by: the metric, its options and the versions of its code, as values of JSON.
        """
        super().__init__([REVISION, made_by, references])

    def read(self, hypotheses: Sequence[str]) -> np.ndarray | None:
        """The statistics of these hypotheses, float64 ``[n, k]``; None if there are none."""
        content = self.read_bytes(hypotheses)
        if content is None:
            return None
        try:
            statistics: np.ndarray = np.load(io.BytesIO(content), allow_pickle=False)
        except (OSError, ValueError):
            return None
        return statistics if len(statistics) == len(hypotheses) else None

    def write(self, hypotheses: Sequence[str], statistics: np.ndarray) -> None:
        """Keep the statistics."""
        content = io.BytesIO()
        np.save(content, statistics, allow_pickle=False)
        self.write_bytes(hypotheses, content.getvalue())
