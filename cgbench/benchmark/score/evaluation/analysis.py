"""What an analysis of scores is, such as ``--differences``, and which ones studies and other
packages add.

An analysis runs if the option with its name has a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Any

from cgbench.benchmark.score.forms.analyses import ROWS, AnalysisLayout
from cgbench.errors import InputError
from cgbench.extensions import all_of_packages, of_studies
from cgbench.records import Record
from cgbench.request import leaves_of
from cgbench.request_fields import Field
from cgbench.text.columns import Column


class Analysis(Record):
    """An analysis of scores.

    :param name: its name in results, and the option that requests it.
    :param run: gets a
        :class:`~cgbench.benchmark.score.evaluation.scoring_context.ScoringContext`; returns rows
        of the long table, a result that ``layout`` shows, or a line that says why there is none.
    :param options: a request class with the options that it adds to ``cgbench score`` and
        :func:`cgbench.evaluate`; None if they are there already.
    :param needs: further arguments that it needs, with what they give, in words.
    :param layout: how the result is shown; by default, it is rows.
    :param for_first_metric: of several metrics, it runs for the first only, since it compares
        outputs more than scores.
    :param further_outputs: arguments with outputs for other texts than the test set, and these
        texts, from the options.
    """

    name: str
    run: Callable[[Any], Any]
    options: Any = None
    needs: Mapping[str, str] = field(default_factory=dict)
    layout: AnalysisLayout = ROWS
    further_outputs: Callable[[Any], Mapping[str, Column]] | None = None
    for_first_metric: bool = False

    def __post_init__(self) -> None:
        if not callable(self.run):
            raise InputError(
                f"Analysis({self.name!r}, {self.run!r}): give the function that runs it, which gets"
                " a ScoringContext; see docs/how-to/add-an-analysis.md"
            )

    @property
    def option_fields(self) -> dict[str, Field]:
        """The options that it adds, by name."""
        return leaves_of(self.options) if self.options else {}


@cache
def of_all_studies() -> tuple[Analysis, ...]:
    """The analyses of studies."""
    return tuple(load() for load in of_studies("analyses").values())


def of_all_packages() -> tuple[Analysis, ...]:
    """The analyses of other packages; warns of those that cannot be loaded."""
    loaded = all_of_packages("analyses", Analysis, "an Analysis")
    return tuple(analysis for _, analysis in loaded)


def added_analyses(names: Iterable[str]) -> tuple[Analysis, ...]:
    """The analyses that add options: those of studies, and, if one of ``names`` is no option of
    these, those of packages.
    """
    analyses = of_all_studies()
    options = fields_of_analyses(analyses)
    if any(name not in options for name in names):
        analyses += of_all_packages()
    return analyses


def fields_of_analyses(analyses: Sequence[Analysis]) -> dict[str, Field]:
    """All options that analyses add, by name."""
    return {name: field for analysis in analyses for name, field in analysis.option_fields.items()}
