"""``cgbench score --output FILE.html``: the page of scores."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from cgbench.benchmark.score.comparison.found_differences import Differences
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.evaluation.differences import example_scores, find_differences
from cgbench.benchmark.score.evaluation.result import Evaluation
from cgbench.benchmark.score.forms.analyses import ROWS, analysis_blocks
from cgbench.benchmark.score.forms.difference_tables import differences_tables
from cgbench.errors import InputError
from cgbench.numbers_as_text import joined
from cgbench.plots import FEW as FEW_OF_BIN
from cgbench.report.notes import without_repetition
from cgbench.report.page import page_tables, render_page
from cgbench.report.score_data import (
    MOST_LINES,
    MOST_ROWS,
    base_of,
    breakdowns,
    drawn,
    ranked,
    with_intervals,
)
from cgbench.report.score_sections import (
    DOTS,
    breakdown,
    chart_of_systems,
    compounds_of,
    details_of,
    distributions,
    drops_of,
    examples_data,
    forest,
    joint_table,
    matrix_of_pairs,
    meaning_of_pairs,
    places,
    table_of_systems,
)


def score_page(
    evaluation: Evaluation, *, command: str = "", notes: Sequence[str] | None = None
) -> str:
    """A page about scores, as HTML: the same bytes for the same input.

    :param command: what made them, to be shown.
    :param notes: what was warned of, in the words of the command line; by default in those of the
        library.
    :raises InputError: the evaluation was put together by hand, without what it was made from.
    """
    page = ScorePage(evaluation, command, notes)
    variables = {"page": page, "title": page.title, "notes": page.notes}
    return render_page("scores.html", variables, page.examples)


class ScorePage:
    """What the template shows of an evaluation: a property for each variable.

    Intervals, tests of all pairs and bins are there even if they were not requested.
    """

    few_examples = FEW_OF_BIN

    def __init__(
        self, evaluation: Evaluation, command: str = "", warnings: Sequence[str] | None = None
    ) -> None:
        """Arguments as for :func:`score_page`."""
        if evaluation.inputs is None:
            raise InputError("a report needs an evaluation that cgbench.evaluate made")
        self.inputs, self.command, self._warnings = evaluation.inputs, command, warnings
        # One evaluation per metric, the systems in the order of the page.
        self._evaluations = [
            replace(ordered, scored=with_intervals(ordered, ordered.inputs or self.inputs))
            for ordered in map(ranked, evaluation.by_metric)
        ]
        self.evaluation = self._evaluations[0]
        self.scored = self.evaluation.scored
        self._of_metrics = [of_metric.scored for of_metric in self._evaluations]
        self._of_figures = [
            (scored, figure) for scored in self._of_metrics for figure in scored.metric.figures
        ]

    # The head of the page.

    @cached_property
    def title(self) -> str:
        """The metrics and the first systems."""
        metrics = ", ".join(scored.metric.name for scored in self._of_metrics)
        names = [system.name for system in self.evaluation.systems]
        return f"{metrics}: {', '.join(names[:4])}{' and others' * (len(names) > 4)}"

    @cached_property
    def notes(self) -> list[tuple[str, str]]:
        """Warnings, and what the page leaves out."""
        lines = list(self._warnings or ())
        if self._warnings is None:
            lines = [str(warning) for warning in self.evaluation.warned]
        if self.evaluation.more:
            lines.append(
                "Differences, examples and plots of one system against another are by"
                f" {self.scored.metric.name}."
            )
        listed, n = len(self.examples["rows"]), self.scored.metric.n
        if listed < n:
            lines.append(
                f"{listed:,} of {n:,} examples are listed: those on which the systems differ most."
            )
        names = [system.name for system in self.evaluation.systems]
        return [("", line) for line in without_repetition(lines, names)]

    @cached_property
    def facts(self) -> list[tuple[str, str]]:
        """The examples, and which scores are better."""
        better: dict[str, list[str]] = {}
        for scored in self._of_metrics:
            side = "lower" if scored.metric.lower_is_better else "higher"
            better.setdefault(f"{side} is better", []).append(scored.metric.name)
        sides = [f"{joined(names)}: {side}" for side, names in better.items()]
        facts = [("examples", f"{self.scored.metric.n:,}"), ("scores", "; ".join(sides))]
        if self.scored.clusters:
            facts.append(("clusters", self.scored.clusters.removeprefix("clusters: ")))
        if self.scored.sampling.design:
            facts.append(("estimate", self.scored.sampling.design.description()))
        return facts

    # Systems.

    @cached_property
    def has_several_scores(self) -> bool:
        """Whether a table has several scores side by side."""
        return len(self._of_figures) > 1

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The first table of the page: the systems, by all scores."""
        return joint_table(self._of_figures) if self.has_several_scores else self.systems[0]

    @cached_property
    def systems(self) -> list[dict[str, Any]]:
        """A table of the systems for each score."""
        return [table_of_systems(*of_figure) for of_figure in self._of_figures]

    @cached_property
    def charts(self) -> list[tuple[Any, str]]:
        """A chart of the systems for each score, with its caption."""
        return [chart_of_systems(*of_figure) for of_figure in self._of_figures]

    @cached_property
    def forests(self) -> list[tuple[Any, str]]:
        """A chart of the differences from the baseline for each score, with its caption."""
        if self.scored.baseline is None:
            return []
        return [forest(*of_figure) for of_figure in self._of_figures]

    @cached_property
    def charts_of_systems(self) -> list[tuple[Any, str]]:
        """The differences from the baseline, then the scores."""
        return [*self.forests, *self.charts]

    @cached_property
    def details(self) -> list[dict[str, Any]]:
        """What the scores are made of."""
        return [details for scored in self._of_metrics if (details := details_of(scored))]

    @cached_property
    def compared_with(self) -> str:
        """The system that others are compared with."""
        return self.evaluation.systems[base_of(self.scored)].name

    @cached_property
    def few(self) -> bool:
        """Whether there are so few systems that sections need not be folded."""
        return len(self.evaluation.systems) <= MOST_LINES

    @cached_property
    def meaning_of_marks(self) -> str:
        """What is drawn in the charts of the systems."""
        has_seeds = any(result.runs > 1 for result in self.scored.results)
        seeds = "; circles: seeds" if has_seeds else ""
        return f"Bars: 95% intervals{seeds}. {self.rows_drawn}".rstrip()

    @cached_property
    def rows_drawn(self) -> str:
        """Which systems are in charts with a row for each."""
        return drawn(self.scored, MOST_ROWS)

    @cached_property
    def lines_drawn(self) -> str:
        """Which systems are in charts with a line for each."""
        return drawn(self.scored, MOST_LINES)

    @cached_property
    def pairs(self) -> list[dict[str, Any]]:
        """The triangle of all pairs for each metric."""
        return [matrix for scored in self._of_metrics if (matrix := matrix_of_pairs(scored))]

    @cached_property
    def meaning_of_pairs(self) -> str:
        """What the triangles show."""
        return meaning_of_pairs(self.scored)

    # The control set, bins and analyses.

    @cached_property
    def drops(self) -> dict[str, Any] | None:
        """The drop from the control set: a table, and a chart for each score."""
        return drops_of(self._of_metrics) if self.scored.drops else None

    @cached_property
    def control_design(self) -> str:
        """What the release says about its control set; empty for any other."""
        if not self.inputs.has_control_of_release:
            return ""
        return (
            " It is the control set of the release: matched in corpus, length and word frequency,"
            " of any degree and uncertainty."
        )

    @cached_property
    def control_examples(self) -> int | None:
        """The number of examples in the control set."""
        return self.scored.control

    @cached_property
    def _binned(self) -> list[list[ScoredSystems]]:
        """The systems in the bins of each feature, by metric."""
        return [
            breakdowns(evaluation, evaluation.inputs or self.inputs)
            for evaluation in self._evaluations
        ]

    @cached_property
    def breakdowns(self) -> list[dict[str, Any]]:
        """Charts and a table for each feature."""
        by_feature: dict[str | None, list[ScoredSystems]] = {}
        for scored in chain.from_iterable(self._binned):
            by_feature.setdefault(scored.by, []).append(scored)
        tables = []
        for feature_number, of_metrics in enumerate(by_feature.values()):
            of_figures = [
                (scored, figure)
                for scored in of_metrics
                for figure in scored.metric.figures
                # CTER aggregate is undefined where bins divide groups.
                if any(
                    subset.figures[figure].value is not None
                    for result in scored.results
                    for _, subset in result.bins
                )
            ]
            if of_figures:
                tables.append(breakdown(of_figures, feature_number))
        return tables

    @cached_property
    def sections(self) -> list[Any]:
        """The sections of analyses that have one."""
        layouts = self.evaluation.layouts.values()
        return [
            layout.section(self.evaluation, places(self.scored))
            for layout in layouts
            if layout.section is not None
        ]

    @cached_property
    def analyses(self) -> list[dict[str, Any]]:
        """The tables of all other analyses."""
        tables, layouts = [], self.evaluation.layouts
        for name, result in self.evaluation.analyses.items():
            if layouts.get(name, ROWS).section is None:
                blocks = analysis_blocks({name: result}, layouts, places(self.scored), False)
                tables += page_tables(blocks, name)
        return tables

    @cached_property
    def differences(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Where systems differ from the baseline: a title and tables for each."""
        results = self.scored.results[:MOST_LINES]
        compared = {result.system for result in results}
        pairs: Sequence[Differences] = [
            pair for pair in self.evaluation.differences if pair.system in compared
        ]
        if not pairs and len(self.evaluation.systems) > 1:
            pairs = find_differences(
                replace(self.scored, results=results),
                self.evaluation.systems[:MOST_LINES],
                self.inputs.references,
                self.inputs.features,
                self.inputs.comparison,
            )
        return [
            (f"{pair.system} against {pair.against}", page_tables(differences_tables([pair], 1)))
            for pair in pairs
        ]

    @cached_property
    def compounds(self) -> list[dict[str, Any]]:
        """CTER's reasons, and compounds that are never right, by system."""
        return compounds_of(self.evaluation)

    # Single examples.

    @cached_property
    def _example_scores(self) -> list[Sequence[np.ndarray]]:
        """The score of each example, ``[runs, n]`` per system, by metric."""
        return [
            example_scores(of_metric.scored.metric, of_metric.systems, of_metric.scored.results)
            for of_metric in self._evaluations
        ]

    @cached_property
    def _distributions(self) -> list[list[tuple[Any, str]]]:
        return list(map(distributions, self._of_metrics, self._example_scores))

    @cached_property
    def histograms(self) -> list[tuple[Any, str]]:
        """The distribution of the scores of single examples, by metric."""
        return [picture for pictures in self._distributions for picture in pictures[:1]]

    @cached_property
    def scatters(self) -> list[tuple[Any, str]]:
        """Each system against the baseline, by the first metric: rectangles in them list examples
        by that metric.
        """
        return self._distributions[0][1:]

    @cached_property
    def dots(self) -> bool:
        """Whether each example is a dot."""
        return self.scored.metric.n <= DOTS

    @cached_property
    def examples(self) -> dict[str, Any]:
        """The data of the table of examples."""
        return examples_data(self.evaluation, self.inputs, self._example_scores[0], self._binned[0])

    # The end of the page.

    @cached_property
    def signatures(self) -> list[str]:
        """The signature of each metric."""
        return [f"{scored.metric.name}|{scored.signature}" for scored in self._of_metrics]
