"""Run tasks in parallel, in processes of this machine or on a Ray cluster. The choice never changes the output."""

from __future__ import annotations

import os

from cgbench.engines.local import Local, end_with_parent
from cgbench.engines.tasks import FAILED, Engine, LostError, Needs, saying_where
from cgbench.errors import InputError, argument

__all__ = [
    "ENGINES",
    "FAILED",
    "Engine",
    "Local",
    "LostError",
    "Needs",
    "end_with_parent",
    "open_engine",
    "saying_where",
]

ENGINES = ("local", "ray")


def open_engine(
    name: str | None = None,
    address: str | None = None,
    jobs: int | None = None,
    *,
    gpus: int | None = None,
    gpu_share: int = 1,
) -> Engine:
    """Open an engine.

    :param name: ``local`` or ``ray``; default ``CGBENCH_ENGINE``, else ``ray`` with an address and ``local`` without.
    :param address: of a Ray cluster, or ``auto``; default ``CGBENCH_ADDRESS``.
    :param jobs: parallel tasks (default: one per core; on a cluster, all that fit).
    :param gpus: GPUs of this machine to use (default: all); ``gpu_share``: parallel tasks per GPU.
    :raises InputError: the engine is unknown, Ray is not installed, or no cluster answers.
    """
    address = address or os.environ.get("CGBENCH_ADDRESS") or None
    name = name or os.environ.get("CGBENCH_ENGINE") or ("ray" if address else "local")
    if name == "local":
        if address:
            raise InputError(
                f"{argument('address')} {address}: only Ray takes an address; add {argument('engine')} ray"
            )
        return Local(jobs, gpus, gpu_share)
    if name != "ray":
        raise InputError(f"{argument('engine')} {name}: unknown engine; use local or ray")
    if gpus is not None:
        raise InputError(
            f"{argument('gpus')}: only for the local engine; a Ray cluster sets its own (ray start --num-gpus)"
        )
    from cgbench.engines.ray import Ray

    return Ray(address, jobs, gpu_share)
