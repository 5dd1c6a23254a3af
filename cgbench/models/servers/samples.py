"""Uncertainty from several sampled answers to each sentence, for a server that returns no
distributions.

``distinct_answers`` number of different answers; "number of semantic sets" (Lin et al. 2024,
    arXiv:2305.19187) with exact clusters.
``semantic_entropy`` entropy of the clusters of equal answers, in nats, from their relative
    frequencies: discrete semantic entropy (Farquhar et al. 2024, doi:10.1038/s41586-024-07421-0),
    with equality in place of entailment.
``semantic_entropy_lexical``
    the same, where answers that differ only in case, punctuation or spacing are equal.
``text_chrf_disagreement``
    1 - the mean chrF (0 to 1) over ordered pairs of answers, where two equal ones agree.

High values mean uncertain. An empty answer is an answer like any other.
"""

import itertools
import math
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence


def sample_measures(samples: Sequence[Sequence[str]]) -> list[dict[str, float]]:
    """Every measure for each sentence.

    :param samples: the answers to each sentence, at least one and as many for all.
    """
    return [
        {
            "distinct_answers": len(set(answers)),
            "semantic_entropy": semantic_entropy(answers),
            "semantic_entropy_lexical": semantic_entropy(map(lexical_form, answers)),
            "text_chrf_disagreement": chrf_disagreement(answers),
        }
        for answers in samples
    ]


def semantic_entropy(clusters: Iterable[Hashable]) -> float:
    """Entropy of the relative frequencies of clusters, in nats, given the cluster of each
    answer.
    """
    counts = Counter(clusters)
    probabilities = [n / counts.total() for n in counts.values()]
    return 0.0 - sum(probability * math.log(probability) for probability in probabilities)


def chrf_disagreement(answers: Sequence[str]) -> float:
    """1 - the mean chrF over ordered pairs of answers; 0 for one answer."""
    from sacrebleu.metrics import CHRF

    metric = CHRF()
    scores = [
        (
            1.0
            if hypothesis == reference
            else metric.sentence_score(hypothesis, [reference]).score / 100
        )
        for hypothesis, reference in itertools.permutations(answers, 2)
    ]
    return 1 - sum(scores) / len(scores) if scores else 0.0


def lexical_form(text: str) -> str:
    """An answer without case and punctuation, with single spaces; the answer itself if that is all
    it has.
    """
    letters = [
        char
        for char in unicodedata.normalize("NFKC", text)
        if not unicodedata.category(char).startswith("P")
    ]
    return " ".join("".join(letters).casefold().split()) or text
