"""Metrics by name: those of cgbench, and those registered by other packages as
``cgbench.metrics``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from cgbench.benchmark.measure.metrics.metric import ExampleTexts, Metric
from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "cgbench.metrics"
METRICS = {
    "bleu": "bleu:Bleu",
    "chrf": "bleu:ChrF",
    "ter": "bleu:Ter",
    "exact": "exact_match:ExactMatch",
    "cter": "cter:Cter",
}
"""The module in this package, and the class."""


def registered() -> dict[str, EntryPoint]:
    """The metrics of other packages, by name."""
    from importlib.metadata import entry_points

    return {entry_point.name.lower(): entry_point for entry_point in entry_points(group=GROUP)}


def is_metric(name: str) -> bool:
    """Whether a metric has this name.

    Other packages, whose metrics take time to list, are asked last.
    """
    return name in METRICS or name in registered()


def metric_class(name: str) -> type[Metric]:
    """The class of a metric.

    :raises InputError: there is no such metric, or another package registered something else.
    """
    if name in METRICS:
        return resolve_name(f"cgbench.benchmark.measure.metrics.{METRICS[name]}")
    entry_points = registered()
    if name not in entry_points:
        raise InputError(
            f"{argument('metric', name)}{did_you_mean(name, [*METRICS, *entry_points])}"
        )
    try:
        loaded = entry_points[name].load()
    except Exception as error:  # the other package may raise anything
        raise InputError(
            f"{argument('metric', name)}: {entry_points[name].value} cannot be loaded: {error}"
        ) from error
    if not (isinstance(loaded, type) and issubclass(loaded, Metric)):
        raise InputError(
            f"{argument('metric', name)}: {entry_points[name].value} is not a subclass of"
            " cgbench.Metric"
        )
    return loaded


def make_metric(name: str, texts: ExampleTexts, options: Mapping[str, Any]) -> Metric:
    """The metric ``name`` for texts.

    :raises InputError: there is no such metric, or an option is unknown or invalid.
    """
    kind = metric_class(name)
    known, others = kind.options()
    if not others and (
        strange := [option_name for option_name in options if option_name not in known]
    ):
        has = f"there is {', '.join(known)}" if known else "it has none"
        raise InputError(f"{name} has no option {strange[0]}; {has}")
    return kind.make(texts, **options)
