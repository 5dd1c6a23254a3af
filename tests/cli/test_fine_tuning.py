"""Pre-trained models on the command line: trained further, alone or as an ensemble; used as the
output says.
"""

import json

import pytest

pytest.importorskip("transformers")
from external_models import LINES, write_bart, write_model, write_roberta
from few import few

SETTINGS = (
    "training.max_updates=3",
    "training.max_length=20",
    "training.max_tokens=40",
    "training.warmup_updates=1",
)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("given")
    (folder / "source").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return write_model(folder / "t5", "t5", dropout=0.1), folder / "source"


def options(given):
    model, source = given
    return [
        "--init",
        model,
        "--train",
        source,
        source,
        *(word for one in SETTINGS for word in ("--set", one)),
    ]


def test_from_a_model_to_translations(given, run, tmp_path):
    assert (
        f"--system hf:{tmp_path / 'model'}"
        in run("train", *options(given), "--out", tmp_path / "model").output
    )
    run("translate", given[1], "--system", f"hf:{tmp_path / 'model'}", "--output", tmp_path / "out")
    assert len((tmp_path / "out").read_text(encoding="utf-8").splitlines()) == len(LINES)
    assert "kept" in run("train", *options(given), "--out", tmp_path / "model", "--dry-run").stdout


def test_from_a_model_to_the_uncertainty_of_an_ensemble(given, run, tmp_path):
    said = run("train-ensemble", *options(given), "--members", 2, "--out", tmp_path / "both").output
    command = said.split("next:  cgbench ")[1].split()
    words = [given[1] if word == "SOURCE" else word for word in command[:-1]]
    run(*words, tmp_path / "measures.jsonl")
    rows = [
        json.loads(line)
        for line in (tmp_path / "measures.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert len(rows) == len(LINES) and all("rmi" in row for row in rows)


def test_what_is_refused(given, run, tmp_path):
    for words, said in (
        (["--arch", "hugging_face"], "--init hf:ID@REVISION"),
        (["--init", given[0], "--model", "tiny"], "leave out --model and --arch"),
        (["--init", "hf:org/model"], "add a revision"),
        (["--init", given[0], "--set", f"subwords={tmp_path}"], "has its own tokeniser"),
    ):
        found = run(
            "train", *words, "--train", given[1], given[1], "--out", tmp_path / "out", status=2
        )
        assert said in found.stderr and len(found.stderr.splitlines()) == 1
    words = ("--init", tmp_path, "--train", given[1], given[1], "--out", tmp_path / "out")
    assert "not an external model" in run("train-ensemble", *words, status=2).stderr


def test_over_an_encoder_the_checkpoint_is_ours(given, run, tmp_path):
    start = [
        "--init",
        write_roberta(tmp_path / "roberta"),
        "--arch",
        "lrf",
        "--train",
        given[1],
        given[1],
    ]
    own = (
        "model.encoder=roberta",
        "model.width=8",
        "model.decoder_layers=1",
        "text.unit=words",
        *SETTINGS,
    )
    start += [word for one in own for word in ("--set", one)]
    assert (
        f"--model {tmp_path / 'model'}" in run("train", *start, "--out", tmp_path / "model").output
    )
    run("translate", given[1], "--model", tmp_path / "model", "--output", tmp_path / "out")
    assert len((tmp_path / "out").read_text(encoding="utf-8").splitlines()) == len(LINES)
    assert (
        "--init hf:ID@REVISION"
        in run("train", *start[2:], "--out", tmp_path / "none", status=2).stderr
    )


@pytest.mark.parametrize("kind", few(["dangle", "r_dangle"], "r_dangle"))
def test_over_bart_members_translate_are_scored_and_measured(kind, given, run, tmp_path):
    own = (
        "encoder=bart",
        "encoder_marks=true",
        "positions=encoder",
        "norm=post",
        "activation=gelu",
    )
    own += ("width=16", "encoder_width=16", "encoder_attention_heads=2", "attention_heads=4")
    own += (
        "mixed_layers=1",
        "encoder_layers=2",
        *(("values=shared", "interval=2") if kind == "r_dangle" else ()),
    )
    words = [
        "--init",
        write_bart(tmp_path / "bart"),
        "--arch",
        kind,
        "--train",
        given[1],
        given[1],
        "--members",
        2,
    ]
    words += [
        word for one in (*(f"model.{name}" for name in own), *SETTINGS) for word in ("--set", one)
    ]
    run("train-ensemble", *words, "--out", tmp_path / "both", "--jobs", 1)
    run("translate", given[1], "--model", tmp_path / "both", "--output", tmp_path / "out")
    assert len((tmp_path / "out").read_text(encoding="utf-8").splitlines()) == len(LINES)
    assert (
        "of 5" in run("score", "exact", "--ref", given[1], "--hyp", f"m={tmp_path / 'out'}").stdout
    )
    members = [
        word for number in range(2) for word in ("--member", tmp_path / "both" / f"member-{number}")
    ]
    run("uncertainty", given[1], *members, "--output", tmp_path / "u.jsonl", "--jobs", 1)
    rows = [
        json.loads(line) for line in (tmp_path / "u.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    translated = run(
        "translate", given[1], "--model", tmp_path / "both", "--uncertainty", "--format", "json"
    ).stdout
    assert len(rows) == len(LINES) and all(row["rmi"] >= 0 for row in rows)
    found = [json.loads(line) for line in translated.splitlines()]
    alike = [
        pair
        for pair in zip(rows, found, strict=True)
        if pair[0]["hypothesis"] == pair[1]["hypothesis"]
    ]
    assert alike and all(
        one["rmi"] == pytest.approx(two["rmi"], rel=1e-3, abs=1e-6) for one, two in alike
    )
