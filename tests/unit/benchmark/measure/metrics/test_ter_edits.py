"""The edits of TER are sacrebleu's, shifts included."""

import random

import numpy as np
import pytest
from sacrebleu.metrics import TER
from sacrebleu.metrics.lib_ter import translation_edit_rate
from shared_data import SHARED, needs

from cgbench.benchmark.measure.metrics import ter_edits
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Ter
from cgbench.benchmark.measure.metrics.ter_edits import count_edits
from cgbench.text.streams import read_lines


def corpus(seed):
    """References of few or many words, and hypotheses with blocks moved, words changed, dropped,
    shuffled or unrelated, some much longer or empty."""
    rng = random.Random(seed)
    vocabulary, longest = rng.choice([2, 3, 5, 20, 200]), rng.choice([1, 3, 8, 20, 30, 60])

    def words(most):
        return [str(rng.randrange(vocabulary)) for _ in range(rng.randrange(most + 1))]

    pairs = []
    for _ in range(rng.choice([1, 4, 12])):
        reference = words(longest)
        hypothesis, kind = list(reference), rng.random()
        if kind < 0.6:
            for _ in range(rng.randrange(4)):
                start = rng.randrange(len(hypothesis) + 1)
                block = hypothesis[start : start + rng.randrange(1, 5)]
                del hypothesis[start : start + len(block)]
                goal = rng.randrange(len(hypothesis) + 1)
                hypothesis[goal:goal] = block
            hypothesis = [
                word if rng.random() > 0.15 else str(rng.randrange(vocabulary))
                for word in hypothesis
                if rng.random() > 0.1
            ]
        elif kind < 0.8:
            rng.shuffle(hypothesis)
        else:
            hypothesis = words(rng.choice([0, longest, 3 * longest]))
        pairs.append((hypothesis, reference))
    return pairs


def expected(pairs):
    return [translation_edit_rate(*pair)[0] for pair in pairs]


@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 240), marks=pytest.mark.slow)], ids=str
)
def test_fuzzed_corpora(seeds):
    for seed in seeds:
        pairs = corpus(seed)
        assert count_edits(pairs) == expected(pairs), seed


def test_small_cases():
    cases = {
        ("a b c d", "a b c d"): 0,
        ("b c a", "a b c"): 1,  # one shift
        ("d e a b c", "a b c d e"): 1,
        ("a b", ""): 2,
        ("", "a b"): 2,
        ("", ""): 0,
        ("x", "a b"): 2,
    }
    pairs = [(one.split(), other.split()) for one, other in cases]
    assert count_edits(pairs) == list(cases.values()) == expected(pairs)


def test_the_most_shifts_that_are_tried_and_the_band():
    rng = random.Random(1)
    few_words = [[rng.choice("ab") for _ in range(40)] for _ in range(2)]  # above the limit
    long = [str(number) for number in range(150)]
    pairs = [
        tuple(few_words),
        (long[100:] + long[:100], long),  # farther than a shift may go
        (long[40:], long),  # beyond the band
        (["0"], long),
        (long, ["149"]),
    ]
    assert count_edits(pairs) == expected(pairs)


def test_references_of_several_blocks_of_words():
    rng = random.Random(3)
    pairs = []
    for words in (64, 65, 129):
        reference = [str(rng.randrange(2_000)) for _ in range(words)]
        hypothesis = reference[:50] + reference[56:59] + reference[50:56] + reference[59:]
        hypothesis = [word if rng.random() < 0.95 else "?" for word in hypothesis]
        pairs += [
            (hypothesis, reference),
            (hypothesis[5:], reference),
            (reference, hypothesis[:60]),
        ]
    assert count_edits(pairs) == expected(pairs)


def test_a_batch_larger_than_its_memory_is_divided(monkeypatch):
    pairs = [pair for seed in range(8) for pair in corpus(seed)]
    monkeypatch.setattr(ter_edits, "CELLS", 300)
    monkeypatch.setattr(ter_edits, "TOGETHER", 7)
    assert count_edits(pairs) == expected(pairs)


def test_statistics_with_several_references_are_sacrebleus():
    texts = [" ".join(words) for seed in range(6) for pair in corpus(seed) for words in pair]
    hypotheses, first, second = (texts[start : start + 12] for start in (0, 12, 24))
    for options in ({}, {"case_sensitive": True}, {"normalized": True, "no_punct": True}):
        metric = Ter([list(pair) for pair in zip(first, second, strict=True)], **options)
        peer = TER(**options, references=[first, second])
        np.testing.assert_array_equal(
            metric.statistics(hypotheses), peer._extract_corpus_statistics(hypotheses, None)
        )


@needs("iwslt14-hypotheses/hypotheses.test.de-en.txt.gz", "react/test.en.gz")
def test_real_outputs():
    files = ("iwslt14-hypotheses/hypotheses.test.de-en.txt.gz", "react/test.en.gz")
    texts = [[line.split() for line in read_lines(SHARED / name)][:300] for name in files]
    pairs = list(zip(*texts, strict=True))
    assert count_edits(pairs) == expected(pairs)
