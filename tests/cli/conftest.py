import json
import shutil

import pytest


@pytest.fixture(scope="session")
def few_lines(tmp_path_factory, demo):
    """train.de, train.en, valid.de, valid.en, of 60 and 4 lines."""
    folder = tmp_path_factory.mktemp("few")
    for name, count in (("train", 60), ("valid", 4)):
        for side in ("de", "en"):
            lines = (demo / f"{name}.{side}").read_text().splitlines(keepends=True)[:count]
            (folder / f"{name}.{side}").write_text("".join(lines))
    return folder


@pytest.fixture(scope="session")
def corpus(few_lines):
    """The words that name them on the command line."""
    train, valid = (
        [few_lines / f"{name}.{side}" for side in ("de", "en")] for name in ("train", "valid")
    )
    return ["--train", *train, "--valid", *valid]


@pytest.fixture
def release(built, tmp_path):
    """A copy of the release ``built`` of the test's module, to be changed."""
    shutil.copytree(built, tmp_path / "release")
    return tmp_path / "release"


@pytest.fixture
def failed(run):
    """What ``verify`` says of a release that does not pass: the details of failed checks by their
    names.
    """

    def call(release):
        checks = json.loads(run("verify", release, "--format", "json", status=1).stdout)["checks"]
        return {check["check"]: check["detail"] for check in checks if check["ok"] is False}

    return call
