"""HPD, through ``cgbench reproduce run`` on generated data in CFQ's archive; all other rows are in
``test_reproduce_every_row.py``.
"""

import json

import pytest
from generated_data import use_small_recipes, write_mirror


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A folder with CFQ's archive, of a few generated questions."""
    write_mirror(tmp_path / "mirror", ["cfq"])
    use_small_recipes(monkeypatch)
    return tmp_path / "mirror"


def results(run, out, mirror, systems, *more):
    """Run systems at smoke scale; their results by system."""
    run(
        *("reproduce", "run", "composition-2", "--benchmarks", "CFQ MCD1", "--scale", "smoke"),
        *("--seeds", "1", "--systems", systems, "--mirror", mirror, "--jobs", "1"),
        *("--device", "cpu", "--out", out, *more),
    )
    found = {}
    for path in out.glob("runs/*/*/result.json"):
        result = json.loads(path.read_text(encoding="utf-8"))
        (output,) = path.parent.glob("*.hypotheses")
        found[result["system"]] = (result, output.read_text(encoding="utf-8").splitlines())
    return found


def test_hpd_answers_and_is_scored_with_and_without_repair(run, tmp_path, mirror):
    out = tmp_path / "out"
    ((result, output),) = results(run, out, mirror, "HPD").values()
    assert result["figures"].keys() == {
        "exact match",
        "exact match (repaired with rejected paths)",
        "exact match (repaired with gold labels)",
        "exact match (oracle classifier)",
    }
    assert len(output) == 20 and all(line.startswith("SELECT ") for line in output)
    shown = run("reproduce", "show", out, "--scale", "smoke").stdout
    assert "HPD: mean of several runs, by which the authors replaced" in " ".join(shown.split())
    # A phrase table that the user places beside the data is another run.
    table = out / "data" / "cfq" / "phrase_table"
    table.write_text("(('directed', '?x#ns:film.film.directed_by#M'), 1)\n", encoding="utf-8")
    results(run, out, mirror, "HPD", "--offline")
    assert len(list(out.glob("runs/*hpd*/*/result.json"))) == 2
