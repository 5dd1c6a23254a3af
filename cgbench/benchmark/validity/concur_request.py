"""The request of ``concur()`` and ``cgbench concur``."""

from __future__ import annotations

from cgbench.requests import KW_ONLY, Files, option, request


@request
class ConcurRequest:
    """What :func:`~cgbench.benchmark.validity.concur.concur` is asked for."""

    results: Files | None = option(
        default=None, help="Results of `cgbench score --format json`, or folders of Every Eval Ever", group="Input",
        metavar="[NAME=]FILES", python_only=True,
    )  # fmt: skip
    _: KW_ONLY
    published: bool = option(default=False, help="Compare the benchmarks of the published scores", group="Input")
