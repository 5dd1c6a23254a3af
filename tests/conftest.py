import json
import os
import signal

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, settings
from once_per_run import once_per_run
from small_build import MORE
from small_release import build_release

from cgbench.cli import main
from cgbench.engines import local

# No lines of progress on standard error: what a command says must not depend on how busy the
# machine is.
os.environ.setdefault("CGBENCH_LOG_EVERY", "0")
# Tables are as wide as the terminal.
os.environ["COLUMNS"] = "80"
# Nor estimates, which time this machine.
os.environ["CGBENCH_ESTIMATE"] = "0"

# Nor statistics that an earlier run has counted.
os.environ["CGBENCH_CACHE"] = "0"

# The same examples in every run, however busy the machine is; HYPOTHESIS_PROFILE=default draws
# others.
settings.register_profile(
    "fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# A shell that starts the tests in the background lets them ignore Ctrl-C, and every process that
# they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Each pytest worker has one core: no threads beside it, and no worker processes unless a test asks
# for them by ``--jobs``. Each of these would spend seconds of importing, not of testing.
os.environ["OMP_NUM_THREADS"] = "1"
local.usable_cores = lambda: 1

# A test can kill a process, but not the machine: nothing has to reach the disk.
os.fsync = lambda handle: None


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """A small demo corpus: train.de, train.en, valid.*, pool.* and the record pool.kinds."""
    from cgbench.data_recipes.demo.corpus import write_demo

    def make(folder):
        write_demo(folder, train_pairs=1_500, pool_pairs=2_500, valid_pairs=50, seed=3)

    return once_per_run(tmp_path_factory, "demo", make)


@pytest.fixture(scope="session")
def run():
    """Run the command line in this process: ``run("degree", "--train", path, input=...,
    status=0)``.
    """

    def call(*words, status=0, **options):
        result = CliRunner().invoke(main, [str(word) for word in words], **options)
        assert result.exit_code == status, result.output + result.stderr + repr(result.exception)
        if status == 2:
            assert "Traceback" not in result.stderr
        return result

    return call


@pytest.fixture
def values(run):
    """The scores that a command prints as JSON, with four decimals: ``values("score", "exact",
    ...)``.
    """

    def call(*words):
        rows = json.loads(run(*words, "--format", "json").stdout)
        return [round(row["value"], 4) for row in (rows if isinstance(rows, list) else [rows])]

    return call


@pytest.fixture(scope="session")
def small_release(corpora, tmp_path_factory):
    """A finished release with a control set and its workspace, built in one process; tests only
    read it.
    """
    from cgbench.benchmark.release.release import Release

    def make(folder):
        _, result = build_release(corpora, folder / "release", *MORE)
        (folder / "screen").write_text(result.stdout)

    return Release.open(once_per_run(tmp_path_factory, "small", make) / "release")


@pytest.fixture(scope="session")
def corpora(demo):
    """The words that name the demo corpus on the command line."""
    return [
        *("--train", demo / "train.de", demo / "train.en"),
        *("--pool", demo / "pool.de", demo / "pool.en"),
        *("--exclude", demo / "valid.de", demo / "valid.en"),
    ]
