"""A significance test: ``cgbench score bleu --paired sign``."""

import numpy as np

from cgbench.benchmark.score.comparison.paired_test import PairedTest
from cgbench.benchmark.score.comparison.significance import sign_test


class SignTest(PairedTest):
    """The exact sign test over examples."""

    name = "sign"

    def p_values(self, systems, pairs):
        """From the examples that each system of a pair wins, for each score of the metric."""
        scores = [systems.metric.compute(runs[0]) for runs in systems.drawn.units]
        p_values = {}
        for first, second in pairs:
            wins = np.sum(scores[first] > scores[second], axis=0)
            losses = np.sum(scores[first] < scores[second], axis=0)
            p_values[first, second] = [*map(sign_test, wins, losses)]
        return p_values
