"""Output of ``cgbench score``: what it prints and the files that it writes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import click

from cgbench.argument_types import File, Folder, Kind, Paths, as_path
from cgbench.benchmark.score.evaluation.example_sets import release_files
from cgbench.benchmark.score.evaluation.result import (
    Evaluation,
    ReportRequest,
    check_one_metric,
)
from cgbench.benchmark.score.forms.output import FORM_OF_SUFFIX
from cgbench.commands.command import command_line
from cgbench.commands.lines import as_options, report_requirements
from cgbench.errors import InputError, argument
from cgbench.files import check_output, write_atomic
from cgbench.plots import PICTURES, check_picture, inches
from cgbench.request import KW_ONLY, Request, given_values, leaves_of, option
from cgbench.text.streams import split_name

PAGE = ".html"
PLOTS = ("scores", "differences")
PlotOf: TypeAlias = Annotated[
    str, Kind("name", f"one of {', '.join(PLOTS)}", lambda value: value in PLOTS)
]


class ScoreOutput(Request):
    """Output of scores on the command line."""

    _: KW_ONLY
    report: ReportRequest = option(default=ReportRequest(), help="Format (ReportRequest)")
    per_example: File | None = option(
        "--per-example",
        default=None,
        help="Write a tab-separated table with one row per example",
        group="Advanced",
    )
    files: Paths = option(
        "--output",
        short="-o",
        default=(),
        help=(
            "Also write this file, in the form of its suffix (repeatable): a table"
            f" ({', '.join(FORM_OF_SUFFIX)}), an HTML report ({PAGE}) or a plot"
            f" ({', '.join(PICTURES)})"
        ),
        group="Output",
    )
    plot_width: str = option(
        "--set plot_width",
        default="3.3in",
        help="Width of the plot, such as 3.3in (a column), 84mm or 17cm",
        group="Output",
    )
    plot_of: PlotOf = option(
        "--set plot_of",
        default="scores",
        help="What the plot shows: scores, or differences from the baseline",
        group="Output",
    )
    plot_systems: str = option(
        "--set plot_systems",
        default="",
        help="Systems of the plot, in this order, as NAME or NAME=LABEL, separated by commas",
        group="Output",
    )
    plot_font: str = option(
        "--set plot_font",
        default="serif",
        help="Font of the plot, by a name that matplotlib knows",
        group="Output",
    )
    plot_size: float = option(
        "--set plot_size",
        default=8.0,
        help="Size of the plot's text in points",
        group="Output",
        least=4,
        most=40,
    )
    every_eval_ever: Folder | None = option(
        "--set every_eval_ever",
        default=None,
        help="Write records of Every Eval Ever into this folder, under data/",
        group="Output",
    )

    @property
    def paths(self) -> list[Path]:
        """The files of ``--output``."""
        names = self.files if isinstance(self.files, (list, tuple)) else [self.files]
        return list(map(as_path, names))

    def check(self) -> None:
        """Each file has a suffix that names its form; plots have a known width; records are written
        into a folder.
        """
        inches(self.plot_width, argument("plot_width", self.plot_width))
        for path in self.paths:
            if path.suffix in PICTURES:
                check_picture(path, argument("files", str(path)))
            elif path.suffix not in (*FORM_OF_SUFFIX, PAGE):
                suffixes = ", ".join([*FORM_OF_SUFFIX, PAGE, *PICTURES])
                raise InputError(
                    f"{argument('files', str(path))}: the suffix names the form; end the name in"
                    f" one of {suffixes}"
                )
        if self.every_eval_ever and Path(self.every_eval_ever).is_file():
            folder = argument("every_eval_ever", str(self.every_eval_ever))
            raise InputError(f"{folder}: it is a file; give a folder")

    def check_for(self, scored: Any) -> None:
        """Check that the outputs can be made from a request for scores, and that none is written
        over its inputs.

        :raises InputError: they cannot, or a file cannot be written there.
        """
        if self.every_eval_ever:
            check_one_metric("every_eval_ever", getattr(scored, "metrics", ()))
        written = [*([Path(self.per_example)] if self.per_example else []), *self.paths]
        read = list(input_files(scored)) if written else []
        for path in written:
            check_output(path, read)

    def show(self, evaluation: Evaluation) -> None:
        """Write the files and print the scores."""
        if self.per_example:
            evaluation.write_per_example(self.per_example)
        if self.every_eval_ever:
            from cgbench.benchmark.score.evaluation.every_eval_ever import write_records

            write_records(evaluation, Path(self.every_eval_ever))
        click.echo(self._table(evaluation, self.report.form))
        for path in self.paths:
            self._write(evaluation, path)
        report_requirements(evaluation.requirements)

    def _table(self, evaluation: Evaluation, form: str) -> str:
        report = self.report
        return evaluation.report(form, report.width, report.reasons)

    def _write(self, evaluation: Evaluation, path: Path) -> None:
        """Write a file in the form of its suffix."""
        if path.suffix in PICTURES:
            systems = [name.strip() for name in self.plot_systems.split(",") if name.strip()]
            evaluation.plot(
                path,
                width=self.plot_width,
                of=self.plot_of,
                systems=systems,
                font=self.plot_font,
                size=self.plot_size,
            )
        elif path.suffix == PAGE:
            from cgbench.report.score_page import score_page

            warned = [as_options(warning.message) for warning in evaluation.warned]
            write_atomic(path, score_page(evaluation, command=command_line(), notes=warned))
        else:
            write_atomic(path, self._table(evaluation, FORM_OF_SUFFIX[path.suffix]) + "\n")


def input_files(scored: Any) -> Iterator[Path]:
    """Every file that a request names."""
    kind: Any = type(scored)
    leaves = leaves_of(kind)
    for name, value in given_values(scored).items():
        if name == "release":
            yield from release_files(value).values()
        if name not in leaves or leaves[name].kind:  # an option of a metric, or a text or file
            yield from _paths(value)


def _paths(value: Any) -> Iterator[Path]:
    if isinstance(value, (str, Path)):
        yield split_name(str(value))[0]
    elif isinstance(value, (Mapping, list, tuple)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _paths(item)
