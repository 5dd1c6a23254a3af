"""train-ensemble and translate."""

import json
import shutil

import pytest
from few import few

SETTINGS = (
    "--set",
    "training.max_updates=6",
    "--set",
    "training.checkpoint_every=2",
    "--set",
    "text.merges=200",
)


@pytest.fixture(scope="module")
def train(demo, run):
    """Train an ensemble of two members with words of one's own."""
    corpora = [demo / f"{name}.{side}" for name in ("train", "valid") for side in ("de", "en")]
    words = (
        "train-ensemble",
        "--train",
        *corpora[:2],
        "--valid",
        *corpora[2:],
        "--members",
        "2",
        "--model",
        "tiny",
    )
    return lambda *more: run(*words, *SETTINGS, *more)


@pytest.fixture(scope="module")
def ensemble(train, tmp_path_factory):
    out = tmp_path_factory.mktemp("ensemble") / "e"
    (out.parent / "screen").write_text(
        train("--out", out, "--jobs", "1", "--format", "json").stdout
    )
    return out


def test_members_differ_by_their_seed_alone(ensemble):
    rows = json.loads((ensemble.parent / "screen").read_text())
    assert [row["folder"] for row in rows] == ["member-0", "member-1"]
    assert [row["seed"] for row in rows] == [1, 2]
    first, second = (
        json.loads((ensemble / f"member-{n}" / "config.json").read_text()) for n in (0, 1)
    )
    changed = {key for key in first if first[key] != second[key]}
    assert changed <= {"seed", "updates"}
    models = [(ensemble / f"member-{n}" / "model.safetensors").read_bytes() for n in (0, 1)]
    assert models[0] != models[1]
    subwords = [(ensemble / f"member-{n}" / "subwords.json").read_bytes() for n in (0, 1)]
    assert subwords[0] == subwords[1]


@pytest.mark.parametrize("jobs", few([1, 2], 1))
def test_jobs_change_no_byte_and_a_finished_ensemble_is_kept(ensemble, train, tmp_path, jobs):
    if jobs == 1:
        shutil.copytree(ensemble, tmp_path / "e")
    words = ("--out", tmp_path / "e", "--set", "explain=true")
    train(*words, "--jobs", jobs)
    for number in (0, 1):
        name = f"member-{number}/model.safetensors"
        assert (tmp_path / "e" / name).read_bytes() == (ensemble / name).read_bytes()
    assert train(*words).stderr.count("kept") == 3


def test_translate_keeps_lines_in_their_place(ensemble, demo, run):
    lines = (demo / "valid.de").read_text().splitlines()[:3]
    text = f"{lines[0]}\n\n{lines[1]}\n{lines[2]}\n"
    out = run("translate", "--model", ensemble, "--beam", "2", input=text).stdout.split("\n")
    assert len(out) == 5 and out[1] == ""
    alone = run("translate", "--model", ensemble, "--beam", "2", input=lines[2] + "\n").stdout
    assert alone == out[3] + "\n"


def test_uncertainty_of_a_translation(ensemble, demo, run):
    line = (demo / "valid.de").read_text().splitlines()[0] + "\n"
    members = [ensemble / "member-0", ensemble / "member-1"]
    row = json.loads(
        run(
            "translate", "--model", *members, "--uncertainty", "--format", "json", input=line
        ).stdout
    )
    assert row["rmi"] > 0
    assert row["epkl"] == pytest.approx(row["mutual_information"] + row["rmi"], abs=1e-5)
    assert row["log_prob"] == pytest.approx(
        -row["pe_stu"] * (row["log_prob"] / row["score"]), abs=1e-3
    )
    text, rmi = (
        run("translate", "--model", ensemble, "--uncertainty", input=line)
        .stdout.rstrip("\n")
        .split("\t")
    )
    assert text == row["hypothesis"] and float(rmi) == pytest.approx(row["rmi"], abs=1e-5)
    one = run("translate", "--model", members[0], "--uncertainty", input=line).stdout
    assert float(one.split("\t")[1]) == pytest.approx(
        0, abs=1e-6
    )  # one model does not disagree with itself


def test_the_shape_is_checked_before_any_data_is_read(run, tmp_path):
    words = [
        "train-ensemble",
        "--train",
        tmp_path / "a",
        tmp_path / "b",
        "--out",
        tmp_path / "e",
        "--model",
        "tiny",
    ]
    assert (
        "model.attention_heads=3"
        in run(*words, "--set", "model.attention_heads=3", status=2).stderr
    )
