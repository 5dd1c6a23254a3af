import json
import os

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, settings

from cgbench.cli import main

# No lines of progress on standard error: what a command says must not depend on how busy the machine is.
os.environ.setdefault("CGBENCH_LOG_EVERY", "0")
# Tables are as wide as the terminal.
os.environ["COLUMNS"] = "80"
# Nor estimates, which time this machine.
os.environ["CGBENCH_ESTIMATE"] = "0"

# The same examples in every run, however busy the machine is; HYPOTHESIS_PROFILE=default draws others.
settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# Files that take longest start first, so that no worker runs one of them after all others have finished.
SLOWEST = [
    "test_crash.py",
    "test_train_together.py",
    "test_engines.py",
    "test_external_offline.py",
    "test_reproduce.py",
    "test_reproduce_pretrained.py",
    "test_distributed.py",
    "test_ensemble_quality.py",
    "test_models.py",
    "test_ray_cluster.py",
]


def pytest_configure(config):
    config.option.loadscopereorder = False  # else pytest-xdist starts files with the most tests first


def pytest_collection_modifyitems(items):
    place = {name: number for number, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """A small demo corpus: train.de, train.en, valid.*, pool.* and the record pool.kinds."""
    from cgbench.data_recipes.demo.corpus import write_demo

    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder, train_pairs=1_500, pool_pairs=2_500, valid_pairs=50, seed=3)
    return folder


@pytest.fixture
def run():
    """Run the command line in this process: ``run("degree", "--train", path, input=..., status=0)``."""

    def call(*words, status=0, **options):
        result = CliRunner().invoke(main, [str(word) for word in words], **options)
        assert result.exit_code == status, result.output + result.stderr + repr(result.exception)
        if status == 2:
            assert "Traceback" not in result.stderr
        return result

    return call


@pytest.fixture
def values(run):
    """The scores that a command prints as JSON, with four decimals: ``values("score", "exact", ...)``."""

    def call(*words):
        rows = json.loads(run(*words, "--format", "json").stdout)
        return [round(row["value"], 4) for row in (rows if isinstance(rows, list) else [rows])]

    return call


@pytest.fixture(scope="session")
def small_release(corpora, tmp_path_factory):
    """A finished release with a control set and its workspace, from a build of seconds; tests only read it."""
    from small_build import SMALL

    from cgbench.benchmark.release.release import Release

    out = tmp_path_factory.mktemp("small") / "release"
    words = ["build-react", *corpora, *SMALL, "--control", "--licence", "MIT <b>", "--jobs", "2", "--out", out]
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 0, result.output + result.stderr
    (out.parent / "screen").write_text(result.stdout)
    return Release.open(out)


@pytest.fixture(scope="session")
def corpora(demo):
    """The words that name the demo corpus on the command line."""
    return [
        *("--train", demo / "train.de", demo / "train.en"),
        *("--pool", demo / "pool.de", demo / "pool.en"),
        *("--exclude", demo / "valid.de", demo / "valid.en"),
    ]
