"""Run tasks in parallel, in processes of this machine or on a Ray cluster.

The choice never changes the output.
"""

import os

from cgbench.engines.local import Local, end_with_parent
from cgbench.engines.tasks import FAILED, Engine, LostError, Needs, saying_where
from cgbench.errors import InputError, argument

__all__ = [
    "FAILED",
    "Engine",
    "Local",
    "LostError",
    "Needs",
    "end_with_parent",
    "open_engine",
    "saying_where",
]


def open_engine(name: str | None = None, jobs: int | None = None) -> Engine:
    """Open an engine. It uses all GPUs (``CUDA_VISIBLE_DEVICES``), with ``CGBENCH_GPU_SHARE``
    parallel tasks each (1).

    :param name: ``local``, ``ray``, or ``ray:ADDRESS`` (``HOST:PORT`` or ``auto``) for a cluster
        that runs; default ``CGBENCH_ENGINE``, else ``local``.
    :param jobs: parallel tasks (default: one per core; on a cluster, all that fit).
    :raises InputError: the engine is unknown, Ray is not installed, or no cluster answers.
    """
    name = name or os.environ.get("CGBENCH_ENGINE") or "local"
    tasks_per_gpu = os.environ.get("CGBENCH_GPU_SHARE") or "1"
    if not tasks_per_gpu.isdecimal() or not 1 <= int(tasks_per_gpu) <= 1000:
        raise InputError(
            f"CGBENCH_GPU_SHARE={tasks_per_gpu}: a number of parallel tasks per GPU is needed, such"
            " as 2"
        )
    kind, _, address = name.partition(":")
    if name == "local":
        return Local(jobs, gpu_share=int(tasks_per_gpu))
    if kind != "ray":
        raise InputError(
            f"{argument('engine')} {name}: unknown engine; use local, ray or ray:ADDRESS"
        )
    from cgbench.engines.ray import Ray

    return Ray((name if address.startswith("//") else address) or None, jobs, int(tasks_per_gpu))
