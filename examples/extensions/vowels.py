"""A feature of examples: ``cgbench score bleu --by vowels``."""

import numpy as np

from cgbench.benchmark.score.evaluation.features import ExampleFeature


def vowels(inputs):
    """The number of vowels of each text."""
    return np.array([float(sum(map(line.count, "aeiou"))) for line in inputs.lines()])


VOWELS = ExampleFeature("vowels", "vowels of the sentence", vowels, of_text=True, unit="vowels")
