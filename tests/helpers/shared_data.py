"""Where the maintainers' real data is, if it is there; it is never part of the repository."""

import os
from pathlib import Path

import pytest

from cgbench.text.streams import read_lines

SHARED = Path(os.environ.get("CGBENCH_SHARED", Path(__file__).parents[3] / "shared" / "data"))


def needs(*names):
    """Mark a test that reads these files of the data folder: it is skipped where one is absent."""
    missing = [name for name in names if not (SHARED / name).exists()]
    skip = pytest.mark.skipif(
        bool(missing), reason=f"needs real data that is not here: {', '.join(missing)}"
    )
    return lambda function: pytest.mark.shared(skip(function))


def scan_pairs(name):
    """Commands and actions of a file of SCAN."""
    lines = read_lines(SHARED / f"scan/{name}.txt.gz", sentences=False)
    return [tuple(line.strip().removeprefix("IN: ").split(" OUT: ")) for line in lines]
