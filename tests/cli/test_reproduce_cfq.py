"""Rows of CFQ without pre-trained weights, through ``cgbench reproduce run`` on generated data in
CFQ's archive: train, decode and score.
"""

import io
import json
import tarfile
from dataclasses import replace

import pytest
from toy_cfq import pairs

from cgbench.data_recipes import cfq, registry
from cgbench.data_recipes.recipe import Split
from cgbench.reproduction.tables import all_benchmarks, all_tables

COUNT = 120
SYSTEMS = (
    *("LSTM+attention", "Transformer", "Universal Transformer", "Evolved Transformer", "NSEN"),
    "CGPS",
)


@pytest.fixture
def downloads(tmp_path, monkeypatch):
    """A folder with CFQ's archive, of a few generated questions; the splits' counts are not
    checked.
    """
    records = [
        {
            "questionPatternModEntities": question,
            "sparqlPatternModEntities": query.replace("count ( * )", "count(*)"),
        }
        for question, query in pairs(COUNT)
    ]
    rows = json.dumps(
        {
            "trainIdxs": [*range(80)],
            "devIdxs": [*range(80, 100)],
            "testIdxs": [*range(100, COUNT)],
        }
    )
    files = {"dataset.json": json.dumps(records, indent=1)}
    files |= {f"splits/{file}.json": rows for file, *_ in cfq.SPLITS.values()}
    folder = tmp_path / "downloads"
    (folder / "cfq").mkdir(parents=True)
    with tarfile.open(folder / "cfq" / cfq.ARCHIVE, "w:gz") as archive:
        for name, text in files.items():
            item = tarfile.TarInfo(f"cfq/{name}")
            item.size = len(text.encode())
            archive.addfile(item, io.BytesIO(text.encode()))
    recipe = registry.find_recipe("cfq")
    small = replace(recipe, splits=tuple(Split(split.name) for split in recipe.splits))
    monkeypatch.setattr(cfq, "PAIRS", COUNT)
    monkeypatch.setattr(registry, "find_recipe", lambda name: {"cfq": small}[name])
    return folder


def results(run, out, downloads, systems, *more):
    """Run systems at smoke scale; their results by system."""
    run(
        *("reproduce", "run", "composition-2", "--benchmarks", "CFQ MCD1", "--scale", "smoke"),
        *("--seeds", "1", "--systems", systems, "--mirror", downloads, "--jobs", "1"),
        *("--device", "cpu", "--out", out, *more),
    )
    found = {}
    for path in out.glob("runs/*/*/result.json"):
        result = json.loads(path.read_text(encoding="utf-8"))
        (output,) = path.parent.glob("*.hypotheses")
        found[result["system"]] = (result, output.read_text(encoding="utf-8").splitlines())
    return found


def test_every_row_without_pretrained_weights_is_run_here():
    tables = [all_tables()[name] for name in ("composition-2", "lrf-2")]
    rows = [row for table in tables for row in table.rows if not (row.why or row.init)]
    # HPD's rows of two papers are one run, whose name both have.
    systems = {all_benchmarks()[row.benchmark].systems[row.system].name for row in rows}
    assert systems == {*SYSTEMS, "HPD"}


@pytest.mark.slow
def test_systems_of_tensor2tensor_and_cgps_train_decode_and_score(run, tmp_path, downloads):
    found = results(run, tmp_path / "out", downloads, ",".join(SYSTEMS))
    assert found.keys() == set(SYSTEMS)
    for result, output in found.values():
        assert result["figures"].keys() == {"exact match"} and len(output) == 20


def test_hpd_answers_and_is_scored_with_and_without_repair(run, tmp_path, downloads):
    out = tmp_path / "out"
    ((result, output),) = results(run, out, downloads, "HPD").values()
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
    results(run, out, downloads, "HPD", "--offline")
    assert len(list(out.glob("runs/*hpd*/*/result.json"))) == 2
