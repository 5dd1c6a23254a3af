import shutil

import pytest


@pytest.fixture
def release(built, tmp_path):
    """A copy of the release ``built`` of the test's module, to be changed."""
    shutil.copytree(built, tmp_path / "release")
    return tmp_path / "release"
