"""Shell completion of option values: choices, or files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from click.shell_completion import CompletionItem

from cgbench.requests import Field

Completion = Callable[[Any, Any, str], list[CompletionItem]]


def completion_of(field: Field) -> Completion | None:
    """How to complete the value of a field's option; None if it may be any text."""
    if field.choices:
        names = [str(choice) for choice in field.choices]
        return lambda context, param, incomplete: [
            CompletionItem(name) for name in names if name.startswith(incomplete)
        ]
    if field.kind and field.kind.name != "name":
        return lambda context, param, incomplete: [CompletionItem(incomplete, type="file")]
    return None
