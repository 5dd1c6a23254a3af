"""The request of ``concur()`` and ``cgbench concur``."""

from __future__ import annotations

from cgbench.requests import KW_ONLY, File, Files, option, request


@request
class ConcurRequest:
    """What :func:`~cgbench.benchmark.validity.concur.concur` is asked for."""

    results: Files | None = option(
        default=None, help="Results of `cgbench score` (JSON, TSV), or folders of Every Eval Ever", group="Input",
        metavar="[NAME=]FILES", python_only=True,
    )  # fmt: skip
    _: KW_ONLY
    published: bool = option(default=False, help="Compare the benchmarks of the published scores", group="Input")
    benchmarks: tuple[str, ...] = option(
        default=(), help="Only benchmarks whose name starts so (repeatable)", group="Input", flag="benchmark",
        metavar="NAME",
    )  # fmt: skip
    identities: File | None = option(
        default=None, help="Names of one system: rows of a name and the system; an empty system is left out",
        group="Input", metavar="FILE.tsv",
    )  # fmt: skip
    sizes: File | None = option(
        default=None, help="Model sizes: rows of a system and its number of parameters", group="Input",
        metavar="FILE.tsv",
    )  # fmt: skip
    least: int = option(default=5, help="Minimum number of shared systems", group="Advanced", least=3)
    samples: int = option(default=1000, help="Number of simulated rankings", group="Advanced", least=100)
    seed: int = option(default=12345, help="Random seed", group="Advanced", least=0)
