"""The request of ``concur()`` and ``cgbench concur``."""

from __future__ import annotations

from cgbench.requests import KW_ONLY, File, Files, option, request


@request
class ConcurRequest:
    """What :func:`~cgbench.benchmark.validity.concur.concur` is asked for."""

    results: Files | None = option(
        default=None, help="Results of `cgbench score --format json`, or folders of Every Eval Ever", group="Input",
        metavar="[NAME=]FILES", python_only=True,
    )  # fmt: skip
    _: KW_ONLY
    published: bool = option(default=False, help="Compare the benchmarks of the published scores", group="Input")
    benchmarks: tuple[str, ...] = option(
        default=(), help="Only benchmarks whose name starts so (repeatable)", group="Input", flag="benchmark",
        metavar="NAME",
    )  # fmt: skip
    sizes: File | None = option(
        default=None, help="Model sizes: a table with the columns system and parameters", group="Input",
        metavar="TABLE",
    )  # fmt: skip
    seed: int = option(default=12345, help="Random seed", group="Advanced", least=0)
