"""The result of :func:`cgbench.evaluate`: scores to print, to put into a table, or to compute
with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from cgbench.argument_types import AnyPath, name_in
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.benchmark.score.comparison.requirements import CheckedRequirement
from cgbench.benchmark.score.comparison.results import SubsetScores, SystemScores
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.evaluation.features import FeatureInputs
from cgbench.benchmark.score.forms.analyses import (
    AnalysisLayout,
    example_columns,
    long_table,
    scores_as_json,
)
from cgbench.benchmark.score.forms.columns import COLUMNS, Decimals
from cgbench.benchmark.score.forms.output import FORMS
from cgbench.benchmark.score.forms.rows import LONG, Row
from cgbench.benchmark.score.forms.stars import legend
from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.errors import InputError, InputWarning, argument, require
from cgbench.files import check_output, write_atomic
from cgbench.plots import (
    FEW,
    Chart,
    Series,
    check_picture,
    draw_chart_on,
    draw_charts,
    inches,
    save_figure,
    with_systems,
)
from cgbench.records import Record
from cgbench.request import Request, option
from cgbench.tables import render

if TYPE_CHECKING:
    import pandas


class EvaluationInputs(Record):
    """Inputs of the scores; ``references`` are those of each example, or None (CTER);
    ``has_control_of_release``: the control set is that of the release.
    """

    comparison: Comparison
    features: FeatureInputs
    sources: Sequence[str] | None
    references: Sequence[Sequence[str]] | None
    warned: tuple[InputWarning, ...] = ()
    benchmark: str = "test set"
    has_control_of_release: bool = False


FormName: TypeAlias = Annotated[str, name_in(FORMS)]


class ReportRequest(Request):
    """How scores are shown."""

    form: FormName = option(
        "--format",
        default="text",
        help="Output format",
        group="Output",
    )
    width: int | None = option(
        "--set width",
        default=None,
        help="Number of decimals in text [default: 1; for scores up to 1: 4 or more]",
        group="Output",
        least=0,
        most=12,
    )
    reasons: bool = option(
        "--set reasons",
        default=False,
        help="Print why translations count as errors, for CTER",
        group="Output",
    )


def check_one_metric(name: str, metrics: Sequence[str]) -> None:
    """Check an argument whose output has columns of its metric.

    :raises InputError: there are several metrics.
    """
    if len(metrics) > 1:
        raise InputError(f"{argument(name)} is for one metric, not for {' and '.join(metrics)}")


class Evaluation(Record):
    """Scores of one or more systems.

    ``repr`` is what ``cgbench score`` prints; notebooks show it as tables. ``scored`` contains all
    results with their types, ``systems`` the hypotheses, ``inputs`` the other inputs, ``analyses``
    the results of analyses by name, ``layouts`` how these are shown, ``more`` the evaluations by
    further metrics. Rows, JSON, tables and pages are of all metrics.
    """

    scored: ScoredSystems
    systems: tuple[System, ...]
    inputs: EvaluationInputs | None = None
    analyses: Mapping[str, Any] = field(default_factory=dict)
    more: tuple[Evaluation, ...] = ()
    layouts: Mapping[str, AnalysisLayout] = field(default_factory=dict)

    @property
    def differences(self) -> Any:
        """:class:`.differences.Differences` of every system from the baseline."""
        return self.analyses.get("differences", ())

    @property
    def parts(self) -> Any:
        """The scores by known parts (``parts``), or None."""
        return self.analyses.get("parts")

    @property
    def exposure(self) -> ScoredSystems | None:
        """The comparison of exposed pairs with others."""
        return self.analyses.get("exposure")

    @property
    def by_metric(self) -> tuple[Evaluation, ...]:
        """This evaluation and those by further metrics."""
        return (self, *self.more)

    @property
    def warned(self) -> list[InputWarning]:
        """The warnings of all metrics, each once."""
        warned = [
            warning
            for evaluation in self.by_metric
            if evaluation.inputs
            for warning in evaluation.inputs.warned
        ]
        return list({str(warning): warning for warning in warned}.values())

    @property
    def requirements(self) -> tuple[CheckedRequirement, ...]:
        """Whether the comparison shows what ``require`` asks for, by every metric; ``all(...)`` is
        what ``cgbench score --require`` reports as its exit status.
        """
        return tuple(
            checked for evaluation in self.by_metric for checked in evaluation.scored.requirements
        )

    @property
    def score(self) -> float:
        """The main score of the first system, in percent (mean over runs); NaN if undefined."""
        return next(iter(next(iter(self.figures.values())).values()))

    @property
    def figures(self) -> dict[str, dict[str, float]]:
        """``{system: {score: percent}}``, means over runs."""
        return {
            result.system: {
                name: float("nan") if estimate.value is None else estimate.value
                for name, estimate in result.whole.figures.items()
            }
            for result in self.results
        }

    @property
    def results(self) -> tuple[SystemScores, ...]:
        """The scores of each system, with runs, intervals, tests and bins."""
        return self.scored.results

    @property
    def signature(self) -> str:
        """How the scores were computed; report it with them."""
        return f"{self.scored.metric.name}|{self.scored.signature}"

    def to_pandas(self) -> pandas.DataFrame:
        """One row per score, system and bin, with the columns of ``--format tsv``; numbers are not
        rounded.

        :raises InputError: pandas is not installed.
        """
        pandas = require("pandas", "pandas")
        rows = self.rows()
        table = pandas.DataFrame([row.cells() for row in rows], columns=list(LONG))
        for column in COLUMNS:
            if column.kind != "str":
                # Tables have "" for None; numbers are exact.
                values = [_number(text) for text in table[column.name]]
                nullable = "Float64" if column.kind == "float64" else column.kind
                table[column.name] = pandas.array(values, dtype=nullable).astype(column.kind)
        return table

    def to_json(self) -> list[dict[str, Any]]:
        """The results as JSON values, one per system; ``docs/reference/formats.md`` describes
        them.
        """
        return [
            row
            for evaluation in self.by_metric
            for row in scores_as_json(evaluation.scored, evaluation.analyses, evaluation.layouts)
        ]

    def rows(self) -> list[Row]:
        """The long table: a row per score, system and bin, and those of all analyses."""
        return [
            row
            for evaluation in self.by_metric
            for row in long_table(evaluation.scored, evaluation.analyses, evaluation.layouts)
        ]

    def to_latex(self, width: int | None = None) -> str:
        """The tables in LaTeX (booktabs, graphicx), with ``width`` decimals (by default one; four
        for scores up to 1).
        """
        return self.report("latex", width)

    def report(self, form: str = "text", width: int | None = None, reasons: bool = False) -> str:
        """The output of ``cgbench score``, as ``text``, ``json``, ``tsv``, ``markdown``, ``latex``
        or ``html``.

        :param reasons: for CTER, also the reasons of errors.
        """
        ReportRequest(form=form, width=width, reasons=reasons)  # checks them
        if width is None:
            width = max(evaluation.scored.metric.width for evaluation in self.by_metric)
        return FORMS[form](self, width, reasons)

    def plot(
        self,
        path: AnyPath | None = None,
        *,
        ax: Any = None,
        width: str = "3.3in",
        of: str = "scores",
        systems: Sequence[str] = (),
        font: str = "serif",
        size: float = 8,
    ) -> Any:
        """Draw the scores of all systems, in the bins of ``by`` if given, with 95% intervals.

        :param path: also write a .svg, .png or .pdf file.
        :param width: of the figure, such as ``3.3in``, ``84mm`` or ``17cm``.
        :param of: ``scores``, or ``differences`` from the baseline.
        :param systems: the systems to draw, in this order; ``name=label`` writes another name.
        :param font: a font that matplotlib knows. ``size``: of the text, in points.
        :param ax: draw the first score of the metric on these axes of matplotlib.
        :returns: the figure of matplotlib, with a panel per score of the metric; a notebook shows
            it.
        :raises InputError: both are given, the file name has another ending, or matplotlib is not
            installed.
        """
        if path is not None and ax is not None:
            raise InputError(
                f"give {argument('path')}, a file, or {argument('ax')}, an axes of matplotlib"
            )
        if path is not None:
            check_picture(Path(path), argument("plot", str(path)))
            check_output(Path(path), [])
        charts = [
            with_systems(chart, systems)
            for evaluation in self.by_metric
            for chart in (
                evaluation._differences() if of == "differences" else evaluation._charts()
            )
        ]
        if ax is not None:
            if not hasattr(ax, "errorbar"):
                raise InputError(f"{argument('ax', ax)}: it must be an axes of matplotlib")
            draw_chart_on(ax, charts[0])
            return ax.figure
        figure = draw_charts(charts, inches(width, argument("width", width)), font, size)
        if path is not None:
            save_figure(figure, Path(path))
        return figure

    def _differences(self) -> list[Chart]:
        """The differences from the baseline by every score of the metric."""
        scored = self.scored
        if scored.baseline is None:
            raise InputError(
                f"{argument('of', 'differences')}: systems were not compared; give"
                f" {argument('paired')}"
            )
        charts = []
        for name in scored.metric.figures:
            series = [
                Series.of_difference(result.system, result.whole.figures[name], colour=index)
                for index, result in enumerate(scored.results)
                if result.system != scored.baseline
            ]
            title = f"{scored.metric.axis(name)}: difference from {scored.baseline}"
            note = f"Bars: 95% intervals; {scored.metric.n:,} examples."
            scores = [result.whole.figures[name] for result in scored.results]
            note += f" {legend(scored, scores)}." if any(score.mark for score in scores) else ""
            charts.append(
                Chart(
                    [""],
                    series,
                    value_name=title,
                    rows=True,
                    signed=True,
                    decimals=Decimals.of(scores, scored.metric.width).differences,
                    note=note,
                )
            )
        return charts

    def _charts(self) -> list[Chart]:
        """Every score of the metric in the bins; without bins, over all examples."""
        scored, metric = self.scored, self.scored.metric
        seeds = " and seeds" if any(result.runs > 1 for result in scored.results) else ""
        note = f"Bars: 95% intervals over examples{seeds}; {metric.n:,} examples."
        if scored.by:
            few = any(len(bin.rows) < FEW for bin, _ in scored.results[0].bins)
            note += f" Hollow: fewer than {FEW} examples." if few else ""
            subsets_of = [result.parts[1:] for result in scored.results]
        else:
            note += " Circles: seeds." if seeds else ""
            subsets_of = [[result.whole] for result in scored.results]
            if self.inputs is not None:  # intervals, if only scores were asked for
                (subsets,) = scored.on(None, self.inputs.comparison.without_tests)
                subsets_of = [[subset] for subset in subsets]
        label = f"{scored.by_title} (number of examples)" if scored.by else ""
        charts = [
            score_chart(scored, name, subsets_of, label, note=note) for name in metric.figures
        ]
        return [
            chart
            for chart in charts
            if not all(np.isnan(series.values).all() for series in chart.series)
        ]

    def write_per_example(self, path: AnyPath) -> None:
        """Write a tab-separated row for each example, system, run and metric, with a header. Rows
        and runs count from 1. Of several metrics, ``metric`` names that of the row, and a column
        that it does not have is empty, as is a score that is not defined.

        Analyses may add columns (``parts``: ``determined``, whether the probes determine the
        answer).

        :raises InputError: no file can be written there.
        """
        check_output(Path(path), [])
        rows = []
        for evaluation in self.by_metric:
            labels = {"metric": evaluation.scored.metric.name} if self.more else {}
            rows += [{**labels, **row} for row in evaluation._example_rows()]
        for name, values in example_columns(self.analyses, self.layouts).items():
            rows = [{**row, name: values[row["row"] - 1]} for row in rows]
        head = list(dict.fromkeys(key for row in rows for key in row))
        write_atomic(
            Path(path),
            render(head, [[_text(row.get(key)) for key in head] for row in rows], "tsv") + "\n",
        )

    def _example_rows(self) -> list[dict[str, Any]]:
        """The rows of all examples by this metric."""
        metric = self.scored.metric
        return [
            {"row": row_number, "system": system.name, "run": run, **row}
            for system, result in zip(self.systems, self.results, strict=True)
            for run, of_run in enumerate(zip(system.runs, result.statistics, strict=True), 1)
            for row_number, row in enumerate(metric.per_example(*of_run), 1)
        ]

    def __repr__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        return self.report("html")


def _text(value: Any) -> str:
    """A cell of the table of examples; empty for no value, and for NaN, which is not defined."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return "" if value is None or is_nan else str(value)


def _number(text: str) -> float | bool | None:
    """The value of a cell of the TSV that is not a text."""
    truth = {"": None, "true": True, "false": False}
    return truth[text] if text in truth else float(text)


def score_chart(
    scored: ScoredSystems,
    figure: str,
    subsets_of: Sequence[Sequence[SubsetScores]],
    label: str = "",
    decimals: int | None = None,
    **words: Any,
) -> Chart:
    """A score of every system in the bins, whose axis is called ``label``; without a label, over
    all examples.

    :param subsets_of: the scores of each system in the bins, or over all examples, of the first
        systems at least.
    :param decimals: of values, by default those of the metric.
    """
    decimals = scored.metric.width if decimals is None else decimals
    series = [
        Series.of(result.system, [subset.figures[figure] for subset in subsets])
        for result, subsets in zip(scored.results, subsets_of, strict=False)
    ]
    metric, bins = scored.metric, [bin for bin, _ in scored.results[0].bins]
    if not label:
        return Chart(
            [""], series, value_name=metric.axis(figure), rows=True, decimals=decimals, **words
        )
    return Chart(
        [bin.label or "(empty)" for bin in bins],
        series,
        value_name=metric.axis(figure),
        label_name=label,
        counts=[len(bin.rows) for bin in bins],
        joined=bins[0].high is not None,
        decimals=decimals,
        **words,
    )
