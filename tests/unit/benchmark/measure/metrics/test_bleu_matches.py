"""The counts of BLEU are sacrebleu's own, whatever the text holds."""

import random
from itertools import zip_longest

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from cgbench.benchmark.measure.metrics import bleu_chrf_ter
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Bleu
from cgbench.benchmark.measure.metrics.bleu_matches import bleu_statistics

# What 13a's rules look at, blanks of every kind, letters whose lower case depends on their
# neighbours.
PIECES = [*"ab.,-09 &;\t\u00a0\u03a3\u03c3\"'`<>~{/\n", "&quot;", "&amp;", "&lt;"]
PIECES += ["<skipped>", "-\n", " 1.5", " a.", "  ", ".,."]


def text(rng):
    return "".join(rng.choices(PIECES, k=rng.randrange(30)))


@pytest.mark.parametrize("tokenize", ["13a", "none", "intl", "char", "zh"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_statistics_are_those_of_sacrebleu(tokenize, lowercase):
    rng = random.Random(f"{tokenize} {lowercase}")
    matched = 0.0
    for number in range(40):
        references = [
            [text(rng) for _ in range(rng.randrange(1, 4))] for _ in range(rng.randrange(1, 12))
        ]
        runs = [
            [
                rng.choice([text(rng), one[0], one[-1] + one[0], one[0][:9] + text(rng)])
                for one in references
            ]
            for _ in range(1 + number % 3)
        ]
        options = {
            "tokenize": tokenize,
            "lowercase": lowercase,
            "max_ngram_order": 1 + number % 5,
            "force": True,
        }
        found = bleu_statistics(BLEU(**options), references, runs)
        plain = BLEU(**options, references=[list(column) for column in zip_longest(*references)])
        for ours, run in zip(found, runs, strict=True):
            np.testing.assert_array_equal(
                ours, np.array(plain._extract_corpus_statistics(run, None), np.float64)
            )
            matched += ours[:, -1].sum()
    assert matched > 0  # n-grams of the highest order, too


def test_nothing_but_empty_text():
    metric = BLEU(force=True)
    (found,) = bleu_statistics(metric, [[""], ["", ""]], [["", ""]])
    assert not found.any() and found.shape == (2, 10)


def test_parts_change_nothing(monkeypatch):
    rng = random.Random(1)
    references = [[text(rng)] for _ in range(50)]
    hypotheses = [one[0][::-1] + one[0] for one in references]
    whole = Bleu(references).statistics(hypotheses)
    monkeypatch.setattr(bleu_chrf_ter, "TOGETHER", {"bleu": 7})
    sizes = []
    extract = bleu_chrf_ter._extract
    monkeypatch.setattr(
        bleu_chrf_ter,
        "_extract",
        lambda *given: (sizes.append(len(given[2][0])), extract(*given))[1],
    )
    np.testing.assert_array_equal(Bleu(references).statistics(hypotheses), whole)
    assert len(sizes) > 10 and sum(sizes) == 50
