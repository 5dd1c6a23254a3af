"""What studies and other packages add to cgbench, found by name when it is needed.

A study is a folder of :mod:`cgbench.studies`; ``extension.py`` in it declares everything that the
study adds, as an :class:`Extension`. Another package registers the same objects as entry points, in
the group ``cgbench.KIND`` (``cgbench.metrics``, ``cgbench.features``): a line per object, its name
and its place. Nothing is imported before it is used, and entry points, which take time to list, are
read only for a name that neither cgbench nor a study has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cgbench.errors import InputError, reason_of, warn
from cgbench.records import Record

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

STUDIES = "cgbench.studies"
Object = TypeVar("Object")
Loader = Callable[[], Any]
"""Imports an object and returns it."""


class StudyCommand(Record):
    """A command of a study: its heading in ``cgbench --help``, its summary, and its loader."""

    group: str
    summary: str
    load: Loader


class Extension(Record):
    """What a study adds, by kind and name.

    :param commands: of ``cgbench``. ``score_commands``: of ``cgbench score``.
    :param analyses: of scores, each an
        :class:`~cgbench.benchmark.score.evaluation.analysis.Analysis`.
    :param features: of examples, each an
        :class:`~cgbench.benchmark.score.evaluation.features.ExampleFeature`.
    :param metrics: subclasses of :class:`~cgbench.benchmark.measure.metrics.metric.Metric`.
    :param exports: targets of ``cgbench export``.
    """

    commands: Mapping[str, StudyCommand] = field(default_factory=dict)
    score_commands: Mapping[str, Loader] = field(default_factory=dict)
    analyses: Mapping[str, Loader] = field(default_factory=dict)
    features: Mapping[str, Loader] = field(default_factory=dict)
    metrics: Mapping[str, Loader] = field(default_factory=dict)
    exports: Mapping[str, Loader] = field(default_factory=dict)


@cache
def studies() -> tuple[Extension, ...]:
    """The extensions of the studies that are there, in the order of their folders' names."""
    folder = import_module(STUDIES).__path__
    names = sorted(module.name for module in iter_modules(folder) if module.ispkg)
    return tuple(import_module(f"{STUDIES}.{name}.extension").EXTENSION for name in names)


def of_studies(kind: str) -> dict[str, Any]:
    """What studies add of a kind, by name: loaders (commands: :class:`StudyCommand`)."""
    return {name: load for study in studies() for name, load in getattr(study, kind).items()}


def check_study(name: str, what: str) -> None:
    """Check that a study is there, which another one needs for ``what``.

    :raises InputError: its folder was removed.
    """
    if find_spec(f"{STUDIES}.{name}") is None:
        raise InputError(f"{what} needs the study {name}, which this installation does not have")


def of_packages(kind: str) -> dict[str, EntryPoint]:
    """The entry points of other packages of a kind, by name; ``load()`` imports the object."""
    from importlib import metadata

    return {point.name: point for point in metadata.entry_points(group=f"cgbench.{kind}")}


def load_from_package(kind: str, point: EntryPoint, expected: type, what: str) -> Any:
    """The object of another package: an instance of ``expected``, or a subclass of it.

    :param what: what it must be, in words.
    :raises InputError: it cannot be imported, or is something else.
    """
    package = f" (of the package {point.dist.name})" if point.dist else ""
    where = f"cgbench.{kind} {point.name}{package}: {point.value}"
    try:
        loaded = point.load()
    except Exception as error:  # the other package may raise anything
        raise InputError(f"{where} cannot be loaded: {reason_of(error)}") from error
    is_subclass = isinstance(loaded, type) and issubclass(loaded, expected)
    if not is_subclass and not isinstance(loaded, expected):
        raise InputError(f"{where} is not {what}")
    return loaded


class Registry(Generic[Object]):
    """The objects of a kind by name: those of cgbench, of studies and of other packages.

    :param kind: studies declare theirs in the field of :class:`Extension` with this name, packages
        as entry points in the group ``cgbench.KIND``.
    :param built_in: those of cgbench.
    :param expected: the class of the objects; a package may also register a subclass, which is
        made without arguments. ``what``: the same in words.
    """

    def __init__(
        self,
        kind: str,
        built_in: Mapping[str, Object],
        expected: Any = Callable,
        what: str = "a function",
    ) -> None:
        self.kind = kind
        self.built_in = built_in
        self.expected = expected
        self.what = what

    def __getitem__(self, name: str) -> Object:
        """:raises KeyError: no object has this name.

        :raises InputError: that of a package cannot be loaded, or is something else.
        """
        if name in self.built_in:
            return self.built_in[name]
        if load := self._of_studies().get(name):
            of_study: Object = load()
            return of_study
        loaded = load_from_package(
            self.kind, of_packages(self.kind)[name], self.expected, self.what
        )
        added: Object = loaded() if isinstance(loaded, type) else loaded
        return added

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._of_studies() or name in of_packages(self.kind)

    def get(self, name: str) -> Object | None:
        """That of a name, or None."""
        try:
            return self[name]
        except KeyError:
            return None

    def names(self) -> list[str]:
        """The names of all."""
        return [*self.built_in, *self._of_studies(), *of_packages(self.kind)]

    def _of_studies(self) -> Mapping[str, Loader]:
        return of_studies(self.kind) if self.kind in Extension.__annotations__ else {}


def all_of_packages(kind: str, expected: type, what: str) -> Iterator[tuple[str, Any]]:
    """The objects of other packages by name; warns of those that cannot be loaded."""
    for name, point in of_packages(kind).items():
        try:
            yield name, load_from_package(kind, point, expected, what)
        except InputError as error:
            warn(f"{error.message}; it is left out")
