"""Where work runs side by side: what Ray costs, what a second machine brings, and where a large
build stops scaling.

    python perf/engines.py tasks [--tasks 200] [--seconds 0.05] python perf/engines.py ensemble
    CORPUS [--members 4] [--updates 700] [--candidates 2000] python perf/engines.py together CORPUS
    [--updates 300] [--rounds 3] python perf/engines.py simulate [--gpus 1,8,64] [--member SECONDS]
    [--shard SECONDS] [--together 1,2,4,8] ...

``tasks``: so many tasks that sleep so long, by two processes and by a Ray cluster of two cores, in
turn. ``ensemble``: members of the preset ``demo`` trained, then candidates scored by them, on a Ray
cluster of one node of one core, then of two; CORPUS is a folder that ``cgbench demo`` has made
(``demo/corpus``). Nodes are processes of this machine, so two of them need two cores that nothing
else uses. ``together``: a member trained by one process and by two, in turn. ``simulate``: a build
by discrete events, from the seconds that one task of each kind takes, for each number of GPUs with
the best of some numbers of GPUs a member, whose ``--efficiency`` is assumed. A line of JSON is
printed for each.
"""

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
    together = commands.add_parser("together")
    together.add_argument("corpus", type=Path)
    together.add_argument("--updates", type=int, default=300)
    together.add_argument("--rounds", type=int, default=3)
    simulation = commands.add_parser("simulate")
    simulation.add_argument(
        "--gpus", default="1,8,64", type=lambda text: [int(part) for part in text.split(",")]
    )
    simulation.add_argument("--members", type=int, default=10)
    simulation.add_argument(
        "--together", default="1", type=lambda text: [int(part) for part in text.split(",")]
    )
    simulation.add_argument(
        "--node", type=int, default=8, help="GPUs of a machine; a member has those of one"
    )
    simulation.add_argument(
        "--efficiency", type=float, default=0.8, help="of several GPUs that train one member"
    )
    simulation.add_argument(
        "--shards", type=int, default=120, help="60,000 candidates, 500 a shard"
    )
    for name, value, what in (
        ("member", 6000.0, "training of a member"),
        ("shard", 30.0, "a shard of the uncertainty"),
        (
            "before",
            60.0,
            "what comes before the members, on one machine: hashing, n-grams, scan, cut, subwords",
        ),
        ("after", 10.0, "what comes after: selection, release"),
        ("start", 15.0, "a worker's start: imports, the model opened"),
    ):
        simulation.add_argument(f"--{name}", type=float, default=value, help=f"seconds of {what}")
    given = parser.parse_args()
    run = {
        "tasks": run_tasks,
        "ensemble": run_ensemble,
        "together": run_together,
        "simulate": run_simulation,
    }
    print(json.dumps(run[given.command](given)))


@contextlib.contextmanager
def cluster(*cores: int) -> Iterator[Any]:
    """An engine on a Ray cluster with a node of so many cores each, on this machine."""
    import ray
    from ray.cluster_utils import Cluster

    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT), str(ROOT / "perf"), os.environ.get("PYTHONPATH", "")]
    )
    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": cores[0], "include_dashboard": False}
    )
    try:
        for more in cores[1:]:
            made.add_node(num_cpus=more)
        made.wait_for_nodes()
        with open_engine(f"ray:{made.address}") as engine:
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
    return {
        "start of ray": round(start, 1),
        "seconds": spent,
        "ray / local": round(statistics.median(ratios), 2),
    }


def timed(engine: Engine, tasks: Sequence[tuple[Any, ...]]) -> float:
    began = time.monotonic()
    for _ in engine.run(time.sleep, tasks):
        pass
    return round(time.monotonic() - began, 2)


def run_ensemble(given: argparse.Namespace) -> dict[str, Any]:
    from cgbench import train_ensemble
    from cgbench.benchmark.candidates.uncertainty import uncertainty_of_candidates
    from cgbench.models.checkpoints import member_folders

    corpus = (given.corpus / "train.de", given.corpus / "train.en")
    settings = {"training.max_updates": given.updates, "training.keep": "last"}
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
                train_ensemble(
                    corpus,
                    out,
                    model="demo",
                    members=given.members,
                    engine=engine,
                    settings=settings,
                )
                seconds["members"].append(round(time.monotonic() - began, 1))
                began = time.monotonic()
                uncertainty_of_candidates(
                    member_folders(out), candidates, found, beam=5, device="cpu", engine=engine
                )
                seconds["uncertainty"].append(round(time.monotonic() - began, 1))
    faster = {name: round(one / two, 2) for name, (one, two) in seconds.items()}
    return {"seconds on 1 and 2 nodes": seconds, "times as fast": faster}


def run_together(given: argparse.Namespace) -> dict[str, Any]:
    from cgbench import train_ensemble

    corpus = (given.corpus / "train.de", given.corpus / "train.en")
    spent: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        for round in range(given.rounds):
            for processes, times in spent.items():
                ends = []
                # Two lengths: their difference has no start in it.
                for updates in (given.updates // 10, given.updates):
                    settings = {"training.max_updates": updates, "training.keep": "last"}
                    out = Path(folder) / f"{round}-{processes}-{updates}"
                    began = time.monotonic()
                    train_ensemble(
                        corpus,
                        out,
                        model="demo",
                        members=1,
                        gpus_per_member=processes,
                        device="cpu",
                        settings=settings,
                    )
                    ends.append(time.monotonic() - began)
                times.append(round_(ends[1] - ends[0]))
    ratios = [one / two for one, two in zip(*spent.values(), strict=True)]
    return {"seconds by 1 and 2": spent, "times as fast": round_(statistics.median(ratios))}


def round_(value: float) -> float:
    return float(f"{value:.2f}")


def run_simulation(given: argparse.Namespace) -> dict[str, Any]:
    one = simulate(given, 1, 1)["in all"]
    best = {}
    for gpus in given.gpus:
        several = [
            simulate(given, gpus, together)
            for together in given.together
            if together <= min(gpus, given.node)
        ]
        parts = min(several, key=lambda found: found["in all"])
        best[str(gpus)] = {**parts, "times as fast": round(one / parts["in all"], 1)}
    return best


def simulate(given: argparse.Namespace, gpus: int, together: int) -> dict[str, float]:
    """Seconds of the parts of a build where each task takes the next GPU, or GPUs, that are
    free.
    """
    faster = together * given.efficiency if together > 1 else 1.0
    places = gpus // given.node * (given.node // together) + gpus % given.node // together
    members = last_end([given.start + given.member / faster] * given.members, places)
    # A worker opens the members with its first shard.
    shards = last_end([given.shard] * given.shards, gpus, given.start)
    whole = given.before + members + shards + given.after
    busy = given.members * given.member + given.shards * given.shard
    share = busy / (gpus * whole)
    found = {
        "members": members,
        "uncertainty": shards,
        "in all": whole,
        "share of GPUs busy": share,
    }
    return {"GPUs a member": together, **found}


def last_end(tasks: Sequence[float], places: int, start: float = 0.0) -> float:
    """When the last of some tasks ends."""
    free = [start] * min(places, len(tasks))
    heapq.heapify(free)
    for task in tasks:
        heapq.heappush(free, heapq.heappop(free) + task)
    return max(free)


if __name__ == "__main__":
    main()
