"""How models translate: the fields that all requests of a translation share."""

from __future__ import annotations

from typing import Any

from cgbench.requests import KW_ONLY, option, request


@request
class SearchOptions:
    """How a model searches for translations."""

    _: KW_ONLY
    beam: int = option(default=5, help="Beam size; 1: greedy", least=1, group="Search")
    max_length_ratio: float = option(
        default=1.2,
        help="Maximum length of a translation, in tokens per source token; 10 more are allowed",
        least=0,
        group="Advanced",
    )
    max_length_extra: int = option(
        default=10, help="Number of tokens allowed beyond max_length_ratio", least=0, python_only=True
    )

    @property
    def search(self) -> dict[str, Any]:
        """The arguments of a search."""
        names = ("beam", "max_length_ratio", "max_length_extra")
        return {name: getattr(self, name) for name in names}
