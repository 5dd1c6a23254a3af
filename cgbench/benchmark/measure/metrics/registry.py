"""Metrics by name: those of cgbench, of studies, and those registered by other packages as
``cgbench.metrics``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cgbench.benchmark.measure.metrics.metric import ExampleTexts, Metric
from cgbench.errors import InputError, argument
from cgbench.extensions import (
    Loader,
    all_of_packages,
    load_from_package,
    of_packages,
    of_studies,
)
from cgbench.settings import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def _bleu() -> type[Metric]:
    from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Bleu

    return Bleu


def _chrf() -> type[Metric]:
    from cgbench.benchmark.measure.metrics.bleu_chrf_ter import ChrF

    return ChrF


def _ter() -> type[Metric]:
    from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Ter

    return Ter


def _exact() -> type[Metric]:
    from cgbench.benchmark.measure.metrics.exact_match import ExactMatch

    return ExactMatch


def _cter() -> type[Metric]:
    from cgbench.benchmark.measure.metrics.cter import Cter

    return Cter


METRICS: dict[str, Loader] = {
    "bleu": _bleu,
    "chrf": _chrf,
    "ter": _ter,
    "exact": _exact,
    "cter": _cter,
}
"""The metrics of this package: a function that imports the class."""

NO_SCORE = ("jobs", "compounds", "human")
"""Options of metrics that are texts or change no score, so they are not in the signature."""


def is_metric(name: str) -> bool:
    """Whether a metric has this name.

    Other packages, whose metrics take time to list, are asked last.
    """
    return name in METRICS or name in of_studies("metrics") or name in _of_packages()


def metric_class(name: str | type[Metric]) -> type[Metric]:
    """The class of a metric; a class is its own.

    :raises InputError: there is no such metric, or another package registered something else.
    """
    if not isinstance(name, str):
        return name
    load = METRICS.get(name) or of_studies("metrics").get(name)
    if load is not None:
        kind: type[Metric] = load()
        return kind
    points = _of_packages()
    if name not in points:
        names = [*METRICS, *of_studies("metrics"), *points]
        raise InputError(f"{argument('metric', name)}{did_you_mean(name, names)}")
    try:
        kind = load_from_package("metrics", points[name], Metric, "a subclass of cgbench.Metric")
    except InputError as error:
        raise InputError(f"{argument('metric', name)}: {error.message}") from error
    return kind


def metric_names() -> list[str]:
    """The names of all metrics; warns of those of other packages that cannot be loaded."""
    loaded = all_of_packages("metrics", Metric, "a subclass of cgbench.Metric")
    return [*METRICS, *of_studies("metrics"), *(name.lower() for name, _ in loaded)]


def _of_packages() -> dict[str, EntryPoint]:
    return {name.lower(): point for name, point in of_packages("metrics").items()}


def metrics_with_feature(name: str) -> list[str]:
    """The metrics of this package that have a feature of examples of this name."""
    return [metric for metric in METRICS if name in metric_class(metric).feature_units]


def make_metric(
    name: str | type[Metric], texts: ExampleTexts, options: Mapping[str, Any]
) -> Metric:
    """The metric ``name``, or of a class, for texts.

    :raises InputError: there is no such metric, or an option is unknown or invalid.
    """
    kind = metric_class(name)
    known, accepts_any = kind.options()
    unknown = [option for option in options if option not in known]
    if unknown and not accepts_any:
        has = f"there is {', '.join(known)}" if known else "it has none"
        raise InputError(f"{kind.name} has no option {unknown[0]}; {has}")
    metric = kind.make(texts, **options)
    metric.chosen = {
        option: value
        for option, value in options.items()
        if value is not None and option not in NO_SCORE
    }
    return metric
