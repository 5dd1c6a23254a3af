"""Where work runs side by side: what Ray costs, what a second machine brings, and where a large build stops scaling.

    python perf/engines.py tasks [--tasks 200] [--seconds 0.05]
    python perf/engines.py ensemble CORPUS [--members 4] [--updates 700] [--candidates 2000]
    python perf/engines.py simulate [--gpus 1,8,64] [--member SECONDS] [--shard SECONDS] ...

``tasks``: so many tasks that sleep so long, by two processes and by a Ray cluster of two cores, in turn. ``ensemble``:
members of the preset ``demo`` trained, then candidates scored by them, on a Ray cluster of one node of one core, then
of two; CORPUS is a folder that ``cgbench demo`` has made (``demo/corpus``). Nodes are processes of this machine, so two
of them need two cores that nothing else uses. ``simulate``: a build by discrete events, from the seconds that one task
of each kind takes. A line of JSON is printed for each.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cgbench.engines import Engine, Local, open_engine

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    tasks = commands.add_parser("tasks")
    tasks.add_argument("--tasks", type=int, default=200)
    tasks.add_argument("--seconds", type=float, default=0.05)
    tasks.add_argument("--rounds", type=int, default=3)
    ensemble = commands.add_parser("ensemble")
    ensemble.add_argument("corpus", type=Path)
    ensemble.add_argument("--members", type=int, default=4)
    ensemble.add_argument("--updates", type=int, default=700)
    ensemble.add_argument("--candidates", type=int, default=2000)
    simulation = commands.add_parser("simulate")
    simulation.add_argument("--gpus", default="1,8,64", type=lambda text: [int(part) for part in text.split(",")])
    simulation.add_argument("--members", type=int, default=10)
    simulation.add_argument("--shards", type=int, default=120, help="60,000 candidates, 500 a shard")
    for name, value, what in (
        ("member", 6000.0, "training of a member"),
        ("shard", 30.0, "a shard of the uncertainty"),
        ("before", 60.0, "what comes before the members, on one machine: hashing, n-grams, scan, cut, subwords"),
        ("after", 10.0, "what comes after: selection, release"),
        ("start", 15.0, "a worker's start: imports, the model opened"),
    ):
        simulation.add_argument(f"--{name}", type=float, default=value, help=f"seconds of {what}")
    given = parser.parse_args()
    print(json.dumps({"tasks": run_tasks, "ensemble": run_ensemble, "simulate": run_simulation}[given.command](given)))


@contextlib.contextmanager
def cluster(*cores: int) -> Iterator[Any]:
    """An engine on a Ray cluster with a node of so many cores each, on this machine."""
    import ray
    from ray.cluster_utils import Cluster

    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "perf"), os.environ.get("PYTHONPATH", "")])
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": cores[0], "include_dashboard": False})
    try:
        for more in cores[1:]:
            made.add_node(num_cpus=more)
        made.wait_for_nodes()
        with open_engine("ray", made.address) as engine:
            yield engine
    finally:
        ray.shutdown()
        made.shutdown()


def run_tasks(given: argparse.Namespace) -> dict[str, Any]:
    tasks = [(given.seconds,)] * given.tasks
    began = time.monotonic()
    with cluster(2) as ray:
        list(ray.run(time.sleep, [(0.0,)] * 4))
        start = time.monotonic() - began
        spent: dict[str, list[float]] = {"local": [], "ray": []}
        for _ in range(given.rounds):
            for engine in (Local(2), ray):
                spent[engine.name].append(timed(engine, tasks))
    ratios = [theirs / ours for ours, theirs in zip(spent["local"], spent["ray"], strict=True)]
    return {"start of ray": round(start, 1), "seconds": spent, "ray / local": round(statistics.median(ratios), 2)}


def timed(engine: Engine, tasks: Sequence[tuple[Any, ...]]) -> float:
    began = time.monotonic()
    for _ in engine.run(time.sleep, tasks):
        pass
    return round(time.monotonic() - began, 2)


def run_ensemble(given: argparse.Namespace) -> dict[str, Any]:
    from cgbench.benchmark.candidate_uncertainty import uncertainty_of_candidates
    from cgbench.models.checkpoints import member_folders
    from cgbench.models.config.presets import load_preset
    from cgbench.models.training.ensemble import build_ensemble
    from cgbench.text.formats import CorpusSpec
    from cgbench.text.normalisation import Normalisation

    preset = load_preset("demo").replace({"training.max_updates": given.updates, "training.keep": "last"})
    train = CorpusSpec((given.corpus / "train.de", given.corpus / "train.en"), None)
    seconds: dict[str, list[float]] = {"members": [], "uncertainty": []}
    with tempfile.TemporaryDirectory() as folder:
        candidates = Path(folder) / "candidates"
        candidates.mkdir()
        for side, language in (("source", "de"), ("target", "en")):
            lines = (given.corpus / f"pool.{language}").read_text().splitlines()[: given.candidates]
            (candidates / f"candidates.{side}").write_text("\n".join(lines) + "\n")
        for nodes in (1, 2):
            out, found = Path(folder) / str(nodes), Path(folder) / f"found-{nodes}"
            found.mkdir()
            with cluster(*[1] * nodes) as engine:
                list(engine.run(time.sleep, [(0.0,)] * 4))
                began = time.monotonic()
                build_ensemble(preset, train, None, Normalisation(), out, members=given.members, engine=engine)
                seconds["members"].append(round(time.monotonic() - began, 1))
                began = time.monotonic()
                uncertainty_of_candidates(member_folders(out), candidates, found, beam=5, device="cpu", engine=engine)
                seconds["uncertainty"].append(round(time.monotonic() - began, 1))
    faster = {name: round(one / two, 2) for name, (one, two) in seconds.items()}
    return {"seconds on 1 and 2 nodes": seconds, "times as fast": faster}


def run_simulation(given: argparse.Namespace) -> dict[str, Any]:
    found = {gpus: simulate(given, gpus) for gpus in given.gpus}
    one = simulate(given, 1)["in all"]
    return {str(gpus): {**parts, "times as fast": round(one / parts["in all"], 1)} for gpus, parts in found.items()}


def simulate(given: argparse.Namespace, gpus: int) -> dict[str, float]:
    """Seconds of the parts of a build where each task takes the next GPU that is free."""
    members = last_end([given.start + given.member] * given.members, gpus)
    # A worker opens the members with its first shard.
    shards = last_end([given.shard] * given.shards, gpus, given.start)
    whole = given.before + members + shards + given.after
    busy = given.members * given.member + given.shards * given.shard
    return {"members": members, "uncertainty": shards, "in all": whole, "share of GPUs busy": busy / (gpus * whole)}


def last_end(tasks: Sequence[float], places: int, start: float = 0.0) -> float:
    """When the last of some tasks ends."""
    free = [start] * min(places, len(tasks))
    heapq.heapify(free)
    for task in tasks:
        heapq.heappush(free, heapq.heappop(free) + task)
    return max(free)


if __name__ == "__main__":
    main()
