"""Where two systems differ: n-grams, words by training count, kinds of examples, single examples.

The questions of compare-mt (Neubig et al. 2019), with tests. p-values are adjusted to the false
discovery rate (Benjamini and Hochberg 1995), which also holds for positively dependent tests such
as those of overlapping n-grams: on average, at most 5% of the differences shown as significant at
0.05 are not real.

- N-grams of the references that the hypotheses also have: an exact sign test over the examples, or
  clusters, on which the systems differ, and a test against the chance of seeds
  (:func:`seeds_p_values`). The larger p-value counts. With a single run per system there is no
  second test, and q-values hold for these outputs, not for the systems. N-grams in few examples are
  not tested.
- Words by their count in training: F1 of the words of each group, with the calibrated test over
  examples.
- Kinds of compounds for CTER, otherwise the bins of ``by``: the score, with the calibrated test.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cgbench.benchmark.measure.metrics.bins import Bin
from cgbench.benchmark.measure.metrics.cter import Cter
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.comparison import Comparison, compare_statistics
from cgbench.benchmark.score.comparison.design import Clusters, Sampling
from cgbench.benchmark.score.comparison.found_differences import (
    Differences,
    Example,
    FoundDifference,
)
from cgbench.benchmark.score.comparison.paired_tests import CALIBRATED
from cgbench.benchmark.score.comparison.results import SubsetScores, SystemScores
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.comparison.significance import (
    LEVEL,
    false_discovery,
    seeds_p_values,
    sign_test,
)
from cgbench.benchmark.score.evaluation.analysis import Analysis
from cgbench.benchmark.score.evaluation.features import FeatureInputs
from cgbench.benchmark.score.evaluation.scoring_context import ScoringContext
from cgbench.benchmark.score.evaluation.words import (
    WordCounts,
    WordScores,
    groups_by_frequency,
    split_of,
)
from cgbench.benchmark.score.forms import analyses
from cgbench.benchmark.score.outputs.hypotheses import System, outputs_of
from cgbench.errors import InputError, argument
from cgbench.text.plain_text import words_of

ORDERS = 4
"""The longest n-grams compared, in words."""
FEWEST = 6
"""An n-gram of fewer examples cannot differ significantly: 2 / 2^6 is the first below 0.05."""
SHOWN = 10


def find_differences(
    scored: ScoredSystems,
    systems: Sequence[System],
    references: Sequence[Sequence[str]] | None,
    inputs: FeatureInputs,
    comparison: Comparison,
) -> tuple[Differences, ...]:
    """The differences of every system from the baseline (by default, the first system).

    :param references: the references of each example; n-grams and words need these and the outputs.
    :raises InputError: there is only one system.
    """
    metric, results = scored.metric, scored.results
    if len(results) < 2:
        raise InputError(
            f"{argument('differences')} compares systems; give a second {argument('systems')}"
        )
    names = [result.system for result in results]
    base = 0 if comparison.baseline is None else names.index(comparison.baseline)
    outputs = outputs_of(metric, systems)
    scores = example_scores(metric, systems, results)
    kinds = _bins_of(metric, results)
    counts: Counter[str] | None = None
    if inputs.train is not None and references is not None:
        counts = Counter(word for line in inputs.training() for word in words_of(line))
    split: Words = words_of if references is None else split_of(references)
    expected = (
        [_expected(example, split) for example in references] if references is not None else []
    )
    differences = []
    for index, name in enumerate(names):
        if index == base:
            continue
        pair = (index, base)
        texts = [outputs[which] for which in pair]
        known = bool(expected) and all(texts)
        tested, ngrams, shown = (
            _ngrams(expected, texts, split, scored.sampling.clusters, comparison.shared_seeds)
            if known
            else (0, (), ())
        )
        words = (
            _words(expected, texts, split, counts, comparison)
            if known and counts is not None
            else ()
        )
        of_kinds = _kinds(
            replace(scored, results=tuple(results[which] for which in pair)), comparison, kinds
        )
        examples = _examples(metric, [scores[which] for which in pair], texts)
        has_seeds = max(map(len, texts)) > 1
        differences.append(
            Differences(
                name,
                names[base],
                tested,
                ngrams,
                words,
                of_kinds,
                examples,
                shown,
                has_seeds,
                scored.by_title or "type of compound",
            )
        )
    return tuple(differences)


def example_scores(
    metric: Metric, systems: Sequence[System], results: Sequence[SystemScores]
) -> list[np.ndarray]:
    """The score of each example in each run, float64 ``[runs, n]`` per system."""
    return [
        np.stack(list(map(metric.example_scores, system.runs, result.statistics)))
        for system, result in zip(systems, results, strict=True)
    ]


Words = Callable[[str], list[str]]
Ngram = tuple[str, ...]


def ngrams_of(words: Sequence[str]) -> Counter[Ngram]:
    """The counts of all n-grams of up to :data:`ORDERS` words."""
    return Counter(
        tuple(words[begin : begin + order])
        for order in range(1, ORDERS + 1)
        for begin in range(len(words) - order + 1)
    )


def _expected(example: Sequence[str], split: Words) -> Counter[Ngram]:
    most: Counter[Ngram] = Counter()
    for text in example:
        most |= ngrams_of(split(text))
    return most


def _ngrams(
    expected: Sequence[Counter[Ngram]],
    texts: Sequence[Sequence[Sequence[str]]],
    split: Words,
    clusters: Clusters | None,
    shared_seeds: bool,
) -> tuple[int, tuple[FoundDifference, ...], tuple[FoundDifference, ...]]:
    """The number of n-grams tested, those that differ, and those of them to show."""
    inside: Counter[Ngram] = Counter()
    for example in expected:
        inside.update(example.keys())
    order = sorted(ngram for ngram, count in inside.items() if count >= FEWEST)
    positions = {ngram: position for position, ngram in enumerate(order)}
    examples = np.array([inside[ngram] for ngram in order], np.int64)
    # How often each run has each n-gram right, and by how much the first system leads in each
    # cluster.
    right = [np.zeros((len(order), len(runs))) for runs in texts]
    ways = (
        [range(len(expected))]
        if clusters is None
        else [labels.tolist() for labels in clusters.labels]
    )
    leads: list[list[defaultdict[int, float]]] = [[defaultdict(float) for _ in order] for _ in ways]
    for row, counts in enumerate(expected):
        outputs = [[ngrams_of(split(run[row])) for run in runs] for runs in texts]
        for ngram in counts.keys() & positions.keys():
            position, most = positions[ngram], counts[ngram]
            matches = [[min(most, run.get(ngram, 0)) for run in runs] for runs in outputs]
            for of_system, of_runs in zip(right, matches, strict=True):
                of_system[position] += of_runs
            lead = sum(matches[0]) * len(texts[1]) - sum(matches[1]) * len(texts[0])
            for labels, leads_of_way in zip(ways, leads, strict=True):
                leads_of_way[position][labels[row]] += lead
    # A difference is larger than chance on the examples, by every kind of cluster, and than that of
    # seeds.
    p_values = np.array(
        [[_sign_p(of_units) for of_units in leads_of_way] for leads_of_way in leads]
    ).max(axis=0)
    first, second = (values / examples[:, None] for values in right)
    if (of_seeds := seeds_p_values(first, second, examples, shared_seeds=shared_seeds)) is not None:
        p_values = np.maximum(p_values, of_seeds)
    blank = " " if split is words_of else ""
    means = [values.mean(axis=1).tolist() for values in right]
    adjusted = zip(
        order, *means, p_values.tolist(), false_discovery(p_values.tolist()), strict=True
    )
    significant = [
        (ngram, FoundDifference(blank.join(ngram), inside[ngram], own_mean, baseline_mean, p, q))
        for ngram, own_mean, baseline_mean, p, q in adjusted
        if q is not None and q < LEVEL
    ]
    significant.sort(key=lambda pair: (pair[1].q_value, pair[1].p_value, pair[1].what))
    shown: list[FoundDifference] = []
    for ours_more in (True, False):
        chosen: list[Ngram] = []
        for ngram, difference in significant:
            if (difference.ours > difference.theirs) != ours_more or len(chosen) == SHOWN:
                continue
            if not any(_within(ngram, longer) or _within(longer, ngram) for longer in chosen):
                chosen.append(ngram)
                shown.append(difference)
    return len(order), tuple(difference for _, difference in significant), tuple(shown)


def _sign_p(leads: Mapping[int, float]) -> float:
    """The sign test of the leads of units."""
    return sign_test(
        sum(lead > 0 for lead in leads.values()), sum(lead < 0 for lead in leads.values())
    )


def _within(inner: Ngram, outer: Ngram) -> bool:
    """Whether an n-gram is part of another."""
    return any(
        outer[begin : begin + len(inner)] == inner for begin in range(len(outer) - len(inner) + 1)
    )


def _words(
    expected: Sequence[Counter[Ngram]],
    texts: Sequence[Sequence[Sequence[str]]],
    split: Words,
    counts: Counter[str],
    comparison: Comparison,
) -> tuple[FoundDifference, ...]:
    """F1 of the words of each group by their count in training."""
    if split is not words_of:
        return ()  # the training text is in words
    groups = groups_by_frequency(counts)
    unigrams = [
        {ngram[0]: count for ngram, count in of_row.items() if len(ngram) == 1}
        for of_row in expected
    ]
    word_counts = WordCounts(groups, unigrams, split)
    systems = word_counts.of_systems(texts)
    differences = []
    calibrated = replace(_calibrated(comparison), samples=comparison.count("bootstrap"))
    for group, label in enumerate(groups.labels):
        columns = slice(3 * group, 3 * group + 3)
        pair = {str(number): system[:, :, columns] for number, system in enumerate(systems)}
        rows = np.flatnonzero(sum(matches.sum(axis=(0, 2)) for matches in pair.values()))
        if len(rows) > 1:
            metric = WordScores("F1", word_counts, [group])
            (scores,) = compare_statistics(metric, Sampling(), pair, calibrated, [rows])
            differences.append(_difference(label, scores, label))
    return _adjusted(differences)


def _calibrated(comparison: Comparison) -> Comparison:
    """The calibrated test of a pair of systems."""
    return replace(comparison, paired=CALIBRATED, baseline=None, all_pairs=True, require=())


def _difference(label: str, scores: Sequence[SubsetScores], figure: str) -> FoundDifference:
    """The difference between two systems on some examples; a score that is not defined is NaN."""
    ours, theirs = (
        math.nan if (value := subset.figures[figure].value) is None else value for subset in scores
    )
    p = next((test.p_value for test in scores[1].figures[figure].pairs), None)
    return FoundDifference(label, scores[0].examples, ours, theirs, p)


def _adjusted(differences: Sequence[FoundDifference]) -> tuple[FoundDifference, ...]:
    q_values = false_discovery([difference.p_value for difference in differences])
    return tuple(
        replace(difference, q_value=q) for difference, q in zip(differences, q_values, strict=True)
    )


def _bins_of(metric: Metric, results: Sequence[SystemScores]) -> list[Bin]:
    """For CTER the kinds of compounds, otherwise the bins of ``by``."""
    if results[0].bins or not isinstance(metric, Cter):
        return [bin_ for bin_, _ in results[0].bins]
    kinds = np.array(metric.kinds)
    return [Bin(str(kind), np.flatnonzero(kinds == kind)) for kind in dict.fromkeys(metric.kinds)]


def _kinds(
    pair: ScoredSystems, comparison: Comparison, bins: Sequence[Bin]
) -> tuple[FoundDifference, ...]:
    scores_of_bins = pair.on([bin_.rows for bin_ in bins], _calibrated(comparison))
    differences = (
        _difference(bin_.label, scores, pair.metric.figures[0])
        for bin_, scores in zip(bins, scores_of_bins, strict=True)
    )
    return _adjusted([kind for kind in differences if not math.isnan(kind.ours + kind.theirs)])


def _examples(
    metric: Metric, runs: Sequence[np.ndarray], texts: Sequence[Sequence[Sequence[str]]]
) -> tuple[Example, ...]:
    """The examples with the largest lead of the first system, then of the second.

    Scores are means over runs. The texts are from the best run of the better system and the worst
    run of the other, so they differ if the scores differ.
    """
    scores = np.array([run_scores.mean(axis=0) for run_scores in runs])
    flip = -1.0 if metric.lower_is_better and not isinstance(metric, Cter) else 1.0
    gap = np.where(np.isfinite(scores).all(axis=0), flip * (scores[0] - scores[1]), 0.0)
    telling: list[Example] = []
    for sign in (1.0, -1.0):
        for row in np.argsort(-sign * gap, kind="stable")[:SHOWN].tolist():
            if sign * gap[row] <= 0:
                break
            pair_of_outputs: Any = None
            if all(texts):
                best = [
                    int(np.argmax(way * flip * run_scores[:, row]))
                    for way, run_scores in zip((sign, -sign), runs, strict=True)
                ]
                pair_of_outputs = tuple(
                    of[min(run, len(of) - 1)][row] for of, run in zip(texts, best, strict=True)
                )
            telling.append(
                Example(row + 1, float(scores[0, row]), float(scores[1, row]), pair_of_outputs)
            )
    return tuple(telling)


def _of_context(context: ScoringContext) -> tuple[Differences, ...]:
    return find_differences(
        context.scored, context.systems, context.references, context.inputs, context.comparison
    )


DIFFERENCES = Analysis(
    "differences", _of_context, layout=analyses.DIFFERENCES, for_first_metric=True
)
