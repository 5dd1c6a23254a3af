"""A metric: ``cgbench score word-recall``."""

from collections import Counter

import numpy as np

from cgbench import Metric


class WordRecall(Metric):
    """Share of the words of the reference that the hypothesis contains."""

    name = "word-recall"

    def statistics(self, hypotheses):
        """The words of the reference that are in the hypothesis, and all."""
        self.check_hypotheses(hypotheses)
        rows = []
        for hypothesis, references in zip(hypotheses, self.references, strict=True):
            counts, expected = Counter(hypothesis.split()), Counter(references[0].split())
            rows.append(((counts & expected).total(), expected.total()))
        return np.array(rows, float)
