"""Progress bars on standard error: silent when it is not a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def bar(total: float | None, description: str, unit: str = "it", show: bool = True, **options: Any) -> Any:
    """A tqdm bar with rate and time left (``update(n)``, ``close()``, or as a context manager).

    ``unit`` is what ``total`` counts. Nothing is drawn without ``show``, or when standard error is not a terminal.
    """
    from tqdm import tqdm

    hidden = None if show else True
    return tqdm(
        total=total, desc=description, unit=unit, unit_scale=True, disable=hidden, dynamic_ncols=True, **options
    )


def track(items: Iterable[T], total: int | None, description: str, unit: str = "it") -> Iterator[T]:
    """Yield ``items`` and show how far they are."""
    with bar(total, description, unit) as progress:
        for item in items:
            yield item
            progress.update(1)
