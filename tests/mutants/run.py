"""Which small errors in core code do the tests notice?   python tests/mutants/run.py [NAME ...]

Each line of ``mutants.jsonl`` replaces a snippet of a file in a copy of this checkout; the tests
that it names must then fail. Takes about half an hour. A mutant that survives is a rule that no
test holds.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIMEOUT = 1200  # seconds; an endless loop is noticed


def outcome(copy: Path, mutant: dict) -> str:
    """``killed``, ``SURVIVED``, or why the mutant could not be tried."""
    path = copy / "cgbench" / mutant["file"]
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    tests = [copy / "tests" / test for test in mutant["tests"]]
    if text.count(mutant["old"]) != 1 or not all(test.is_file() for test in tests):
        return "NOT FOUND"  # the code has changed: mend mutants.jsonl
    path.write_text(text.replace(mutant["old"], mutant["new"]), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow",
    ]
    environment = {**os.environ, "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(copy / ".numba")}
    try:
        run = subprocess.run(
            [*command, *map(str, tests)],
            cwd=copy,
            env=environment,
            capture_output=True,
            timeout=TIMEOUT,
        )
        return {0: "SURVIVED", 1: "killed", 2: "killed"}.get(
            run.returncode, f"NOT RUN ({run.returncode})"
        )
    except subprocess.TimeoutExpired:
        return "killed"
    finally:
        path.write_text(text, encoding="utf-8")


def main(*names: str) -> int:
    """Print a line per mutant; 1 unless all were killed."""
    lines = (Path(__file__).parent / "mutants.jsonl").read_text(encoding="utf-8").splitlines()
    mutants = [mutant for mutant in map(json.loads, lines) if not names or mutant["name"] in names]
    if len(mutants) < len(names):
        sys.exit(f"no such mutant: {', '.join({*names} - {mutant['name'] for mutant in mutants})}")
    with tempfile.TemporaryDirectory() as folder:
        ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "site", "dist")
        copy = Path(shutil.copytree(ROOT, Path(folder) / "copy", ignore=ignored))
        outcomes = []
        for mutant in mutants:
            outcomes.append(outcome(copy, mutant))
            print(f"{outcomes[-1]:9} {mutant['name']} ({mutant['file']})", flush=True)
    print(f"{outcomes.count('killed')} of {len(outcomes)} killed")
    return int(outcomes.count("killed") < len(outcomes))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
