"""What docs/tutorial/python.md shows is what comes out."""

import doctest
import warnings
from pathlib import Path

import pytest

from cgbench.errors import InputWarning

DOCS = Path(__file__).parents[2] / "docs"


def test_python_page():
    for package in ("sacrebleu", "pandas", "torch"):
        pytest.importorskip(package)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        found = doctest.testfile(str(DOCS / "tutorial/python.md"), module_relative=False)
    assert found.attempted > 15
    assert not found.failed
