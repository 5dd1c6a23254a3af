"""Rows of tables that start from pre-trained weights: ``cgbench reproduce run --init``, over a tiny
RoBERTa.
"""

import json

import pytest

pytest.importorskip("transformers")
from external_models import write_bart, write_model, write_roberta
from generated_data import use_small_recipes
from toy_cfq import write_archive

from cgbench.data_recipes import cfq
from cgbench.reproduction.tables import all_tables

WORDS = ("Did", "M0", "M1", "M2", "write", "edit", "?")
HUB = "--init hf:FacebookAI/roberta-base@REVISION"


@pytest.fixture
def downloads(tmp_path, monkeypatch):
    """A folder with CFQ's archive, of forty questions."""
    verbs = ("write", "wrote"), ("edit", "edited")
    rows = [
        (
            f"Did M{number % 3} {verbs[number % 2][0]} M{(number + 1) % 3} ?",
            f"SELECT count ( * ) WHERE {{ M{number % 3} film.{verbs[number % 2][1]}"
            f" M{(number + 1) % 3} }}",
        )
        for number in range(40)
    ]
    write_archive(tmp_path / "downloads" / "cfq", rows)
    use_small_recipes(monkeypatch)
    monkeypatch.setattr(cfq, "PAIRS", len(rows))
    return tmp_path / "downloads"


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    return write_deep(tmp_path_factory.mktemp("models"), 0)


def write_deep(folder, seed):
    """As many layers as the presets part, and positions for their longest sentences."""
    return write_roberta(
        folder / "roberta", seed, WORDS, num_hidden_layers=12, max_position_embeddings=1026
    )


OVER_ROBERTA = "RoBERTa", "RoBERTa Dangle", "RoBERTa+CReg", "RoBERTa COMPOSITION"
OF_T5 = "T5-11B", "T5-11B-mod"


def words(out, downloads, *more):
    return (
        *(
            "reproduce",
            "run",
            "composition-2",
            "--benchmarks",
            "CFQ MCD2",
            "--scale",
            "smoke",
            "--seeds",
            "1",
        ),
        *("--mirror", downloads, "--jobs", "1", "--device", "cpu", "--out", out, *more),
    )


@pytest.mark.slow
def test_rows_over_roberta_run_on_the_data_of_their_papers(run, tmp_path, downloads, roberta):
    systems = OVER_ROBERTA
    out = tmp_path / "out"
    chosen = ("--systems", ",".join(systems), "--init", roberta)
    said = run(*words(out, downloads, *chosen))
    assert (
        "4 runs in" in said.stdout and "without CFQ MCD mean: the mean of the three" in said.stderr
    )
    found = [
        json.loads(path.read_text()) for path in sorted((out / "runs").glob("*/*/result.json"))
    ]
    assert sorted(one["system"] for one in found) == sorted(systems)
    for one in found:
        assert one["init"] == "hf:roberta" and "exact match" in one["figures"]
    (step,) = (out / "runs").glob("cfq-mcd2.roberta.smoke.seed-1/*/step.json")
    read = json.loads(step.read_text())["inputs"]
    assert {name for name in read if name.endswith("tgt")} == {
        f"dangle-mcd2/{part}.tgt" for part in ("train", "valid", "test")
    }
    shown = " ".join(
        run("reproduce", "show", out, "--scale", "smoke").stdout.split()
    )  # lines break where they must
    assert "composition-2: CFQ" in shown and "lrf-2: CFQ" in shown and "from hf:roberta" in shown
    # LRF is in another table.
    lrf = ["lrf-2" if word == "composition-2" else word for word in words(out, downloads)]
    assert "1 run in" in run(*lrf, "--systems", "RoBERTa LRF", "--init", roberta).stdout
    # Other weights are another run.
    other = write_deep(tmp_path / "other", 1)
    again = words(out, downloads, "--systems", "RoBERTa", "--init")
    assert "1 of 1 runs are done" in run(*again, roberta).stderr
    assert "0 of 1 runs are done" in run(*again, other).stderr


def test_rows_of_t5_run_on_the_queries_that_it_can_write(run, tmp_path, downloads):
    """From the archive to both scores, with and without the order of clauses."""
    pieces = ["lb", "rb", "COUNT", "SELECT", "count", "(", "*", ")", "WHERE", "film.wrote"]
    t5 = write_model(tmp_path / "t5", "t5", words=(*WORDS, *pieces, "film.edited"))
    out = tmp_path / "out"
    chosen = ("--systems", ",".join(OF_T5), "--init", t5)
    assert "2 runs in" in run(*words(out, downloads, *chosen)).stdout
    for path in (out / "runs").glob("*/*/result.json"):
        result = json.loads(path.read_text())
        assert result["figures"].keys() == {"exact match", "exact match of clauses"}
    targets = {
        form: (out / "data" / f"cfq-{form}" / "mcd2" / "train.tgt").read_text().splitlines()[0]
        for form in ("t5", "f3-t5")
    }
    assert targets == {
        "t5": "SELECT count ( * ) WHERE lb M0 film.wrote M1 rb",
        "f3-t5": "COUNT M0 lb film.wrote lb M1 rb rb",
    }


def test_tables_say_what_weights_a_row_needs(run):
    listed = " ".join(run("reproduce", "list").stdout.split())
    assert f"with {HUB}: RoBERTa, RoBERTa Dangle, RoBERTa+CReg, RoBERTa LRF" in listed
    rows = json.loads(run("reproduce", "list", "lrf-2", "--format", "json").stdout)[0]["rows"]
    needed = {
        row["system"]
        for row in rows
        if row.get("init") == "FacebookAI/roberta-base" and not row["why"]
    }
    assert needed == {"RoBERTa", "RoBERTa Dangle", "RoBERTa+CReg", "RoBERTa LRF"}
    line, *_ = [
        line
        for line in run("reproduce", "list", "lrf-2").stdout.splitlines()
        if "RoBERTa LRF" in line
    ]
    assert "with --init" in line


def test_without_the_weights_its_rows_are_left_out(run, tmp_path):
    planned = run("reproduce", "run", "lrf-2", "--seeds", "1", "--dry-run").stdout
    assert "cgps" in planned and "roberta" not in planned and "t5" not in planned
    lines = run(
        "reproduce", "run", "devil-9", "--benchmarks", "CFQ MCD1", "--seeds", "1", "--dry-run"
    ).stdout
    assert "roberta" not in lines
    assert all(row.init == "" for row in all_tables()["devil-9"].rows)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("lrf-2", "--systems", "RoBERTa"), f"starts from a pre-trained model; give {HUB}"),
        (
            ("lrf-2", "--init", "roberta-base"),
            "not an external model; write hf:ID@REVISION or hf:FOLDER",
        ),
        (
            ("lexicon-8", "--init", "hf:x"),
            "no chosen row starts from a pre-trained model; leave it out",
        ),
        (("lrf-2", "--systems", "RoBERTa", "--init", "hf:nowhere"), "there is no folder nowhere"),
        (
            ("lrf-2", "--init", "hf:nowhere"),
            "RoBERTa LRF from FacebookAI/roberta-base); choose those of one model with --systems",
        ),
    ],
)
def test_bad_input_has_one_line(run, tmp_path, monkeypatch, more, said):
    monkeypatch.chdir(tmp_path)
    assert said in run("reproduce", "run", *more, status=2).stderr
    assert not (tmp_path / "reproduction").exists()


def test_another_kind_of_model_is_refused(run, tmp_path, downloads):
    bart = write_bart(tmp_path / "bart", words=WORDS)
    assert (
        "bart is not roberta"
        in run(
            *words(tmp_path / "out", downloads, "--systems", "RoBERTa", "--init", bart), status=2
        ).stderr
    )
