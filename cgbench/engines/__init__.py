"""Where work runs side by side: the processes of this machine, or a Ray cluster.

Whatever runs in parallel goes through an :class:`Engine`; which one is a choice of the user's that changes no byte.
"""

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
    """The engine of that name.

    :param name: ``local`` or ``ray``; by default what ``CGBENCH_ENGINE`` says, else ``ray`` where there is an address,
        else ``local``.
    :param address: of a Ray cluster, or ``auto``; by default what ``CGBENCH_ADDRESS`` says.
    :param jobs: tasks at once (default: the cores; on a cluster, all that fit).
    :param gpus: GPUs of this machine that are used (default: all); ``gpu_share``: tasks at once on each.
    :raises InputError: there is no such engine, Ray is not installed, or no cluster answers.
    """
    address = address or os.environ.get("CGBENCH_ADDRESS") or None
    name = name or os.environ.get("CGBENCH_ENGINE") or ("ray" if address else "local")
    if name == "local":
        if address:
            raise InputError(f"{argument('address')} {address}: is a Ray cluster's; add {argument('engine')} ray")
        return Local(jobs, gpus, gpu_share)
    if name != "ray":
        raise InputError(f"{argument('engine')} {name}: there is local, and ray")
    if gpus is not None:
        raise InputError(f"{argument('gpus')}: a Ray cluster knows its GPUs (ray start --num-gpus)")
    from cgbench.engines.ray import Ray

    return Ray(address, jobs, gpu_share)
