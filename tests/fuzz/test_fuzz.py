"""A fixed sample of what ``tests/fuzz/fuzz.py`` tries without end: every command and form, always
the same inputs.

Each test is a process of its own: a child forked off a process that other tests have left threads
in (PyArrow's, Ray's, a browser's) may wait for ever for a lock that one of them held.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from few import few

FOLDER = Path(__file__).parent

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the memory of a child is bounded as Linux does it"
)


def call(*words):
    return subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, cwd=FOLDER
    )


@pytest.mark.parametrize("which", few([("import", 1), ("", 20)], ("import", 1)))
def test_damaged_inputs_are_one_line_or_right(tmp_path, which):
    """Inputs for each command and form."""
    only, inputs = which
    done = call("fuzz.py", "--light", "--only", only, "--each", inputs, "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads((tmp_path / "seed-1.json").read_text())
    assert len(counts) > (5 if only else 60) and all(
        mine["tried"] == inputs for mine in counts.values()
    )


@pytest.mark.parametrize("inputs", few([5, 1340], 5))
def test_what_a_checksum_lists_is_not_believed(tmp_path, inputs):
    """20,100 inputs for the fifteen targets of ``listed.py`` in all."""
    done = call("fuzz.py", "--listed", "--each", inputs, "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads((tmp_path / "seed-1.json").read_text())
    assert len(counts) == 15 and all(mine["tried"] == inputs for mine in counts.values())
    assert all(mine["ok"] and mine["refused"] for mine in counts.values()) or inputs < 100


def test_the_same_seed_damages_alike():
    digests = {}
    exec(DAMAGE, digests)
    lines = digests["lines"]
    assert (
        lines == call("-c", f"{DAMAGE}\nprint(*lines, sep='\\n')").stdout.splitlines()
        and len(lines) > 20
    )
    assert all(len(set(line.split()[1:])) > 2 for line in lines)


DAMAGE = """
from hashlib import sha256
from harness import damage
from targets import targets
lines = []
for one in targets(heavy=False):
    name = f"{one.name},{one.form}".replace(" ", "-")
    digests = [sha256(damage(one, seed, 1)).hexdigest() for seed in range(5)]
    lines.append(" ".join([name, *digests]))
"""


@pytest.mark.parametrize("fault", ["crash", "hang", "traceback", "corrupt"])
def test_what_goes_wrong_is_found_and_the_rest_is_tried(fault):
    done = call("faulty.py", fault)
    assert json.loads(done.stdout) == [[0, fault], [1, fault]], done.stderr
