"""Shell completion: the names that an option or an argument takes, or files."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from click.shell_completion import CompletionItem

from cgbench.requests import Field

Completion = Callable[[Any, Any, str], list[CompletionItem]]
_NAMES = {
    "--model": "cgbench.models.config.presets:list_presets",
    "--arch": "cgbench.models.config.architectures:ARCHITECTURES",
    "--method": "cgbench.models.config.methods:METHODS",
    "--to": "cgbench.benchmark.release.export.export:TARGETS",
    "data set": "cgbench.data_recipes.registry:recipes",
    "table": "cgbench.reproduction.tables:all_tables",
}
"""What has a closed list of names, and where the list is: names by themselves, or a function that returns them."""


def names(list_name: str) -> Completion:
    """Complete one of a list of :data:`_NAMES`, which is imported at the completion."""

    def complete(context: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        module, _, attribute = _NAMES[list_name].partition(":")
        choices = getattr(import_module(module), attribute)
        return _starting(choices() if callable(choices) else choices, incomplete)

    return complete


def files(context: Any, param: Any, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a file."""
    return [CompletionItem(incomplete, type="file")]


def completion_of(field: Field) -> Completion | None:
    """How to complete the value of a field's option; None if it may be any text."""
    if field.choices:
        return lambda context, param, incomplete: _starting(field.choices, incomplete)
    if field.kind and field.kind.name != "name":
        return files
    return names(field.flag) if field.flag in _NAMES else None


def _starting(choices: Any, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in map(str, choices) if name.startswith(incomplete)]
