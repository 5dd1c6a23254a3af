"""A Ray cluster whose nodes are processes of this machine, on 127.0.0.1 alone."""

import contextlib
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def ray_nodes(*folders):
    """A head of one core, to which nodes may be added; its workers import from ``folders``, too."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv(
            "RAY_worker_niceness", "0"
        )  # 15 otherwise: on a busy machine they would never end
        paths = [
            str(ROOT),
            str(Path(__file__).parent),
            *map(str, folders),
            os.environ.get("PYTHONPATH", ""),
        ]
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
        )
        try:
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()
