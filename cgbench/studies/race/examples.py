"""The test set of a race: its examples in random order, and how answers to them are scored."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cgbench.argument_types import as_path
from cgbench.benchmark.measure.metrics.metric import ExampleTexts, Metric
from cgbench.benchmark.measure.metrics.registry import make_metric
from cgbench.benchmark.score.evaluation.example_sets import release_files
from cgbench.benchmark.score.outputs.hypotheses import read_references
from cgbench.errors import InputError, argument
from cgbench.extensions import check_study
from cgbench.studies.race.request import RaceRequest
from cgbench.text.hypothesis_form import damages
from cgbench.text.inputs import lines_of
from cgbench.text.line_order import shift_of
from cgbench.text.output_checks import AS_TEXT, form_problem

if TYPE_CHECKING:
    from cgbench.studies.rules.rule import Rule

TOP = 100.0
"""The highest score of an example; the lowest is 0."""


class RaceExamples:
    """Sources, and the references or rules of each; ``order``: clusters in random order, and the
    examples of each in theirs.
    """

    def __init__(self, request: RaceRequest) -> None:
        """
        :raises InputError: texts do not fit together.
        """
        self.metric = request.metric
        self.rules, self.sources = None, request.sources
        if (request.metric == "rules") != (request.rules is not None):
            raise InputError(
                f"{argument('metric', 'rules')} and {argument('rules')} belong together; give both"
            )
        if request.rules is not None:
            self.rules, self.sources = _rules(as_path(request.rules), request.sources)
            self.references, names = [[""]] * len(self.rules), [str(request.rules)]
        else:
            self.sources, references = _texts(request)
            self.references, names = read_references(references)
        self.lines, _ = lines_of(self.sources, "sources")
        self.n = len(self.lines)
        if len(self.references) != self.n:
            raise InputError(
                f"{names[0]} has {len(self.references):,} lines for {self.n:,} sources"
            )
        clusters = (
            range(self.n) if request.cluster is None else lines_of(request.cluster, "cluster")[0]
        )
        if len(clusters) != self.n:
            raise InputError(
                f"{argument('cluster')}: {len(clusters):,} labels for {self.n:,} sources"
            )
        self.clusters = np.unique(np.array(clusters), return_inverse=True)[1]
        ranks = np.random.default_rng(request.seed).permutation(self.clusters.max() + 1)
        self.order = np.argsort(ranks[self.clusters], kind="stable")

    def whole_clusters(self, stop: int, step: int) -> int:
        """The nearest place in the order that is between two clusters, from ``stop`` on or before
        it.
        """
        while (
            0 < stop < self.n
            and self.clusters[self.order[stop]] == self.clusters[self.order[stop - 1]]
        ):
            stop += step
        return stop

    def scores(self, rows: np.ndarray, texts: Sequence[str]) -> np.ndarray:
        """The score of each answer, float64 ``[rows]``, between 0 and :data:`TOP`."""
        if self.rules is not None:
            pairs = zip((self.rules[row] for row in rows), texts, strict=True)
            return np.array(
                [TOP * all(rule.passes(text) for rule in rules) for rules, text in pairs]
            )
        metric = self._metric_of([self.references[row] for row in rows])
        return metric.compute(metric.statistics(texts))[:, 0]

    def problem_of_texts(self, rows: np.ndarray, texts: Sequence[str]) -> str:
        """A problem with the form of answers or their place in the test set; empty for none."""
        if self.rules is not None:
            others = [
                " ".join(text for rule in self.rules[row] for text in rule.texts) for row in rows
            ]
            return form_problem(damages(texts, others, AS_TEXT, are_references=False))
        references = [self.references[row][0] for row in rows]
        metric = self._metric_of([[reference] for reference in references])
        if metric.reading is None:
            nothing = [""] * len(texts)
            return form_problem(damages(texts, nothing, AS_TEXT, are_references=False))
        if problem := form_problem(damages(texts, references, metric.reading)):
            return problem
        # The rows are in random order, so the references of their neighbours tell of a shift.
        first = [example[0] for example in self.references]
        shift = shift_of(dict(zip(rows.tolist(), texts, strict=True)), first)
        return f"{shift}; check where sources and references part" if shift else ""

    def _metric_of(self, references: list[list[str]]) -> Metric:
        return make_metric(self.metric.removesuffix("-sentence"), ExampleTexts(references), {})


def _texts(request: RaceRequest) -> tuple[Any, Any]:
    """Sources and references, those of the release where they are not given."""
    sources, references = request.sources, request.references
    if request.release is not None:
        files = release_files(as_path(request.release))
        sources, references = sources or files["source"], references or [files["reference"]]
    if sources is None or references is None:
        raise InputError(
            f"give {argument('release')}, or {argument('sources')} and {argument('references')}"
        )
    return sources, references


def _rules(path: Path, sources: Any) -> tuple[list[list["Rule"]], Any]:
    """The rules of each example, and the sources: those of the file where they are not given.

    :raises InputError: a judge would have to decide, or there are no sources.
    """
    check_study("rules", argument("rules", str(path)))
    from cgbench.studies.rules.rule import Verdict
    from cgbench.studies.rules.rule_file import read_rules

    rule_set = read_rules(path)
    if any(isinstance(rule, Verdict) for rules in rule_set.rules for rule in rules):
        raise InputError(
            f"{path}: a race cannot wait for the verdicts of a judge; leave such rules out"
        )
    if sources is None and "source" not in rule_set.columns:
        raise InputError(f"{path}: its examples have no source; give {argument('sources')}")
    return rule_set.rules, rule_set.columns["source"] if sources is None else sources
