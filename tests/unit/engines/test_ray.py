"""A real Ray cluster of several nodes on this machine, on 127.0.0.1 alone."""

import os
import signal
import time
from pathlib import Path

import pytest
from ray_nodes import ray_nodes

ray = pytest.importorskip("ray", reason="ray is not installed: pip install ray")

from cgbench.benchmark.candidates import pool_scan  # noqa: E402
from cgbench.benchmark.candidates.pool_scan import NGRAMS, WORDS, scan_with  # noqa: E402
from cgbench.benchmark.measure.known_ngrams.known import learn_sides  # noqa: E402
from cgbench.engines import FAILED, Local, LostError, Needs, open_engine  # noqa: E402
from cgbench.engines import ray as ray_cluster  # noqa: E402
from cgbench.engines.ray import TOKEN  # noqa: E402
from cgbench.errors import InputError  # noqa: E402
from cgbench.machine import runs_remotely  # noqa: E402
from cgbench.steps import Step, Workspace  # noqa: E402
from cgbench.text import corpus  # noqa: E402
from cgbench.text.corpus import index_pair  # noqa: E402


@pytest.fixture(scope="module")
def cluster():
    with ray_nodes(Path(__file__).parent) as made:
        yield made


@pytest.fixture(scope="module")
def engine(cluster):
    with open_engine(f"ray:{cluster.address}") as opened:
        yield opened


def square(number):
    assert runs_remotely()
    return number * number


def fails(number):
    if number == 3:
        raise InputError("three")
    return number


def breaks(number):
    return number / 0


def killed(number, folder):
    """As the system does it where memory is short: at once, and the first time only."""
    if not (folder / str(number)).exists():
        (folder / str(number)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def loses(number, folder):
    """A process that it started was killed, the first time only."""
    if not (folder / str(number)).exists():
        (folder / str(number)).touch()
        raise LostError("a process was killed")
    return number


def slow(number, folder):
    """A task of a second that says where it runs."""
    (folder / f"{number}.{ray.get_runtime_context().get_node_id()}").touch()
    time.sleep(1)
    return number


def learn(root, number):
    def make(out):
        (out / "result.txt").write_text(f"{number}\n" * 1000)

    Workspace(root).run(Step("learn", {"number": number}, {}), make, resumable=True)


def test_tasks_all_run_and_maps_keep_their_order(engine):
    assert sorted(engine.run(square, [(n,) for n in range(9)])) == [n * n for n in range(9)]
    assert list(engine.map(square, range(9))) == [n * n for n in range(9)]
    assert list(engine.map(square, iter(()))) == []
    assert engine.jobs == 1


def test_what_a_task_raises_is_raised_here(engine):
    with pytest.raises(InputError, match="three"):
        list(engine.run(fails, [(n,) for n in range(6)]))


def test_what_a_broken_task_said_is_in_a_file(engine, tmp_path):
    engine.share(tmp_path)
    with pytest.raises(
        InputError, match=r"a task failed on the machine \S+ \(ZeroDivisionError: "
    ) as error:
        list(engine.run(breaks, [(1,)]))
    assert "\n" not in str(error.value) and str(tmp_path / FAILED) in str(error.value)
    assert "in breaks" in (tmp_path / FAILED).read_text()


@pytest.mark.slow
def test_a_worker_that_is_killed_is_started_again(engine, tmp_path, monkeypatch):
    """As for lack of memory; a task that is killed each time is one line in the end."""
    assert sorted(engine.run(killed, [(number, tmp_path) for number in range(2)])) == [0, 1]
    monkeypatch.setattr(ray_cluster, "RETRIES", 0)
    with pytest.raises(InputError, match=r"a task was lost 1 times .*; the workers' logs are in /"):
        list(engine.run(killed, [(2, tmp_path)]))


def test_a_task_that_lost_a_process_runs_again(engine, tmp_path, monkeypatch):
    assert sorted(engine.run(loses, [(number, tmp_path) for number in range(2)])) == [0, 1]
    monkeypatch.setattr(ray_cluster, "RETRIES", 0)
    with pytest.raises(LostError, match="^a process was killed$"):
        list(engine.run(loses, [(2, tmp_path)]))


@pytest.mark.slow
def test_shards_of_a_scan(engine, demo, tmp_path, monkeypatch):
    """On all machines that see the pool; else here. The same files either way."""
    monkeypatch.setattr(pool_scan, "CHUNK", 1 << 14)
    monkeypatch.setattr(corpus, "CHUNK", 1 << 12)  # how often the file says where a line is
    train, pool = ([demo / f"{name}.{side}" for side in ("de", "en")] for name in ("train", "pool"))
    learned, words = learn_sides(train[1], train[0])
    learned.save(tmp_path / "learned" / NGRAMS)
    words.save(tmp_path / "learned" / WORDS)
    work = (index_pair(*pool), 0, tmp_path / "learned", ("target", "both"))
    counts = {}
    for name, runs in (("ray", engine), ("local", Local(2)), ("unseen", engine)):
        if name == "unseen":
            monkeypatch.setattr(engine, "_everywhere", lambda *rest: iter([None]))
        (tmp_path / name).mkdir()
        before = sum(engine.ran.values())
        counts[name] = scan_with(runs, *work, tmp_path / name)
        assert (sum(engine.ran.values()) > before + 3) == (name == "ray")
    assert counts["ray"] == counts["local"] == counts["unseen"]
    ours, theirs, here = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("ray", "local", "unseen")
    )
    assert ours == theirs == here and len(ours) > 3


@pytest.mark.slow
def test_a_scan_whose_node_is_lost(cluster, engine, demo, tmp_path, monkeypatch):
    """Only its shards are scanned again; the files are those of a scan here."""
    monkeypatch.setattr(pool_scan, "CHUNK", 1 << 13)
    monkeypatch.setattr(corpus, "CHUNK", 1 << 12)
    train, pool = ([demo / f"{name}.{side}" for side in ("de", "en")] for name in ("train", "pool"))
    learned, words = learn_sides(train[1], train[0])
    learned.save(tmp_path / "learned" / NGRAMS)
    words.save(tmp_path / "learned" / WORDS)
    work = (index_pair(*pool), 0, tmp_path / "learned", ("target", "both"))
    for name in ("ray", "local"):
        (tmp_path / name).mkdir()
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    times = {}

    def parts():
        return {path.name: path.stat().st_mtime_ns for path in (tmp_path / "ray").glob("part-*")}

    scan_map = type(engine).map

    def losing_map(self, function, items):
        """The results, with the node removed after the second."""
        for count, result in enumerate(scan_map(self, function, items), 1):
            if count == 2:
                times.update(parts())
                cluster.remove_node(node, allow_graceful=False)
            yield result

    monkeypatch.setattr(type(engine), "map", losing_map)
    on_ray = scan_with(engine, *work, tmp_path / "ray")
    finished = parts()
    assert 2 <= len(times) < len(finished)
    assert times.items() <= finished.items()  # what was finished is not made again
    assert on_ray == scan_with(Local(2), *work, tmp_path / "local")
    ours, theirs = (
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("part-*")}
        for name in ("ray", "local")
    )
    assert ours == theirs


def test_what_fits_nowhere_does_not_wait_for_ever(engine):
    with pytest.raises(InputError, match=r"no machine .* resources of a task \(64 CPU, 2 GPU\)"):
        list(engine.run(square, [(1,)], Needs(cores=64, gpus=2)))
    with pytest.raises(InputError, match=r"no machine .* resources of a task \(1 CPU, 2 GPU\)"):
        engine.check_fits(Needs(gpus=2))
    engine.check_fits(Needs())


def test_a_folder_that_a_machine_does_not_see(engine, tmp_path, monkeypatch):
    engine.share(tmp_path)
    assert list(engine.run(fails, [(1,)])) == [1]
    (tmp_path / TOKEN).write_text("of another command")
    with pytest.raises(InputError, match=r"does not see this folder"):
        list(engine.run(fails, [(1,)]))
    engine.share(tmp_path / "other")
    assert not (tmp_path / TOKEN).exists()  # one folder at a time


def test_a_machine_with_another_version(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_cluster, "__version__", "9.9")
    with pytest.raises(InputError, match=r"has cgbench .*, this one 9\.9"):
        engine.share(tmp_path)


def test_nobody_answers():
    with (
        pytest.raises(InputError, match=r"no Ray cluster answers at 127\.0\.0\.1:1 "),
        open_engine("ray:127.0.0.1:1") as engine,
    ):
        list(engine.run(square, [(1,)]))


@pytest.mark.slow
def test_a_node_that_is_lost(cluster, engine, tmp_path, capsys):
    """Its tasks run again on another; each has one result, and steps have the bytes of a local
    run.
    """
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    began, done = tmp_path / "began", []
    began.mkdir()
    for number in engine.run(slow, [(number, began) for number in range(6)]):
        if not done:
            while len({path.suffix for path in began.iterdir()}) < 2:  # both nodes have had some
                time.sleep(0.1)
            cluster.remove_node(node, allow_graceful=False)
        done.append(number)
    assert sorted(done) == list(range(6))
    assert capsys.readouterr().out == ""
    for root, runs in ((tmp_path / "ray", engine), (tmp_path / "local", Local(1))):
        list(runs.run(learn, [(root, number) for number in range(3)]))
    ours, theirs = (
        {path.parent.name: path.read_bytes() for path in root.rglob("result.txt")}
        for root in (tmp_path / "ray", tmp_path / "local")
    )
    assert ours == theirs and len(ours) == 3
    assert not list((tmp_path / "ray").rglob("*.lock"))  # the command holds locks, its tasks none
