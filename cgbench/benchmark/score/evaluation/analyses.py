"""The analyses of this package, and those that a request asks for."""

from collections.abc import Callable
from typing import Any

from cgbench.benchmark.score.evaluation.analysis import Analysis
from cgbench.benchmark.score.evaluation.request import ScoreRequest


def _exposure() -> Analysis:
    from cgbench.benchmark.score.evaluation.exposure import EXPOSURE

    return EXPOSURE


def _anytime() -> Analysis:
    from cgbench.benchmark.score.evaluation.anytime import ANYTIME

    return ANYTIME


def _differences() -> Analysis:
    from cgbench.benchmark.score.evaluation.differences import DIFFERENCES

    return DIFFERENCES


def _by_word() -> Analysis:
    from cgbench.benchmark.score.evaluation.words import BY_WORD

    return BY_WORD


ANALYSES: dict[str, Callable[[], Analysis]] = {
    "exposure": _exposure,
    "anytime": _anytime,
    "by_word": _by_word,
    "differences": _differences,
}
"""The analyses of this package, whose options :class:`ScoreRequest` has already."""


def requested_analyses(request: ScoreRequest) -> list[Analysis]:
    """The requested analyses: those that studies and packages add, then those of this package."""
    added = [analysis for analysis in request.added if request.value(analysis.name)]
    return added + [load() for name, load in ANALYSES.items() if request.value(name)]


def options_of(analysis: Analysis, request: ScoreRequest) -> Any:
    """The options of an analysis in a request, with their defaults; None if it adds none."""
    if analysis.options is None:
        return None
    options: Any = request.settings
    names = options.keys() & analysis.option_fields.keys()
    return analysis.options(**{name: options[name] for name in names})
