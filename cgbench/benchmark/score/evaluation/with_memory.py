"""A translation memory among the systems: ``cgbench score --memory CORPUS``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cgbench.benchmark.score.evaluation.analyses import options_of, requested_analyses
from cgbench.benchmark.score.evaluation.example_sets import release_files
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.benchmark.score.outputs.hypotheses import ROLES, absent, in_release
from cgbench.errors import InputError, argument
from cgbench.models.memory import TranslationMemory
from cgbench.request import changed
from cgbench.text.columns import Column, short_name
from cgbench.text.inputs import as_column, is_path
from cgbench.text.plain_text import words_of

NAME = "memory"


def with_memory(request: ScoreRequest) -> ScoreRequest:
    """The request with a translation memory as its last system, on the test set, the control set
    and the further texts of analyses.

    :raises InputError: the sources of a set are missing, or a system is called memory.
    """
    memory = TranslationMemory(
        request.control.memory, argument("memory"), accept=request.examples.accept_text
    )
    control: Any = request.control
    outputs = memory_outputs(
        memory, _sources(request, "sources", request.sources, request.references)
    )
    values: dict[str, Any] = {"systems": _added(request.systems, outputs)}
    if control.control_systems is not None:
        sources = _sources(
            request, "control_sources", control.control_sources, control.control_references
        )
        outputs = memory_outputs(memory, sources)
        values["control"] = changed(
            control, control_systems=_added(control.control_systems, outputs, request.systems)
        )
    settings: Any = request.settings
    for analysis in requested_analyses(request):
        if analysis.further_outputs is not None:
            texts = analysis.further_outputs(options_of(analysis, request))
            for name, sources_of_it in texts.items():
                if settings.get(name) is not None:
                    outputs = memory_outputs(memory, [sources_of_it])
                    settings = {**settings, name: _added(settings[name], outputs, request.systems)}
    values["settings"] = settings
    return changed(request, **values)


def memory_outputs(memory: TranslationMemory, forms: Sequence[Column]) -> Column:
    """The outputs for the sources of a set, in the one of their ``forms`` that has most words of
    the corpus.
    """
    known = [
        sum(word in memory.index.words for line in form for word in words_of(line))
        for form in forms
    ]
    sources = forms[known.index(max(known))]
    return replace(sources, name=NAME, values=memory.translate(sources.values), path=None)


def _sources(request: ScoreRequest, name: str, sources: Any, references: Any) -> list[Column]:
    """The sources of a set: those that are given, else the forms that the release has."""
    ids = request.examples.ids
    if sources is not None:
        return [as_column(sources, name, *ROLES["sources"], ids=None if ids == "none" else ids)]
    if request.release is None or not absent(references):
        raise InputError(f"{argument('memory')} translates the sources; give {argument(name)}")
    files = release_files(
        request.release,
        request.examples.drawn_set(request.release) if name == "sources" else "control",
    )
    return [
        in_release(ids, files[form], files["table"])
        for form in ("source", "normalised_source")
        if form in files
    ]


def _added(systems: Any, outputs: Column, of_test: Any = None) -> dict[str, Any]:
    """The systems by name, with the memory."""
    if not isinstance(systems, Mapping):
        first = systems if of_test is None else of_test
        systems = {short_name(str(first)) if is_path(first) else "system": systems}
    if NAME in systems:
        raise InputError(f"{argument('memory')}: a system is called {NAME}; rename it")
    return {**systems, NAME: outputs}
