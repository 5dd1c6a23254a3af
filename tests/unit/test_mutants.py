"""Every mutant of ``tests/mutants`` can be tried: its snippet is in its file once, and its tests
exist.
"""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = ROOT / "tests" / "mutants" / "mutants.jsonl"


def test_every_mutant_matches_the_code():
    mutants = [json.loads(line) for line in LIST.read_text(encoding="utf-8").splitlines()]
    outdated = [
        mutant["name"]
        for mutant in mutants
        if (ROOT / "cgbench" / mutant["file"]).read_text(encoding="utf-8").count(mutant["old"]) != 1
        or not all((ROOT / "tests" / test).is_file() for test in mutant["tests"])
    ]
    assert outdated == []  # the code has changed: change the line of the mutant, too
