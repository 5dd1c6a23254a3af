"""What an export target is: a function that writes the pairs of a test set, and its options."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cgbench.errors import InputError, argument
from cgbench.extensions import all_of_packages, load_from_package, of_packages, of_studies
from cgbench.request import leaves_of
from cgbench.request_fields import Field
from cgbench.settings import did_you_mean

SHARED = ("hypotheses", "protocol", "users", "seed", "shots")
"""The options of ``cgbench export`` that any target may take."""


@dataclass(frozen=True)
class ExportTarget:
    """A format that ``cgbench export`` writes.

    :param write: writes the pairs (:class:`~cgbench.benchmark.release.export.pairs.Pairs`) as files
        of a new folder: a function of both, with its options as keyword arguments.
    :param takes: those of :data:`SHARED` that it takes.
    :param options: a request class with the options that it adds to ``cgbench export``, or None.
    """

    write: Callable[..., None]
    takes: tuple[str, ...] = ()
    options: Any = None

    @property
    def option_fields(self) -> dict[str, Field]:
        """The options that it adds, by name."""
        return leaves_of(self.options) if self.options else {}

    @classmethod
    def of_function(cls, write: Callable[..., None]) -> "ExportTarget":
        """The target of a function alone, which takes the options that it has parameters for."""
        parameters = inspect.signature(write).parameters
        return cls(write, tuple(name for name in SHARED if name in parameters))


def _inspect() -> ExportTarget:
    from cgbench.benchmark.release.export.inspect_task import write_inspect

    return ExportTarget(write_inspect, ("shots",))


def _lm_eval() -> ExportTarget:
    from cgbench.benchmark.release.export.lm_eval import write_lm_eval

    return ExportTarget(write_lm_eval, ("shots",))


def _mt_metrics_eval() -> ExportTarget:
    from cgbench.benchmark.release.export.mt_metrics_eval import write_mt_metrics_eval

    return ExportTarget(write_mt_metrics_eval)


def _pearmut() -> ExportTarget:
    from cgbench.benchmark.release.export.pearmut import write_pearmut

    return ExportTarget(write_pearmut, ("hypotheses", "protocol", "users", "seed"))


TARGETS: dict[str, Callable[[], ExportTarget]] = {
    "inspect": _inspect,
    "lm-eval": _lm_eval,
    "mt-metrics-eval": _mt_metrics_eval,
    "pearmut": _pearmut,
}
"""The targets of this package, imported when they are used."""


def find_target(to: str) -> ExportTarget:
    """An export target of this package, of a study or of another package.

    :raises InputError: an unknown target, or its package cannot be imported.
    """
    if load := TARGETS.get(to) or of_studies("exports").get(to):
        target: ExportTarget = load()
        return target
    points = of_packages("exports")
    if to not in points:
        names = [*TARGETS, *of_studies("exports"), *points]
        raise InputError(f"{argument('to', to)}: no such target{did_you_mean(to, names)}")
    try:
        return _target(load_from_package("exports", points[to], object, "an export target"))
    except InputError as error:
        raise InputError(f"{argument('to', to)}: {error.message}") from None


def _target(loaded: Any) -> ExportTarget:
    return loaded if isinstance(loaded, ExportTarget) else ExportTarget.of_function(loaded)


def added_options(packages: bool = False) -> dict[str, Field]:
    """The options that the targets of studies add, by name.

    :param packages: also those of targets of other packages; warns of those that cannot be loaded.
    """
    targets = [load() for load in of_studies("exports").values()]
    if packages:
        loaded = all_of_packages("exports", object, "an export target")
        targets += [_target(target) for _, target in loaded]
    return {name: field for target in targets for name, field in target.option_fields.items()}


def target_names() -> list[str]:
    """The targets of this package and of studies."""
    return sorted([*TARGETS, *of_studies("exports")])
