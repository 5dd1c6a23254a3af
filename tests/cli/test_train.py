"""train, average and models: one checkpoint folder, however often and by however many processes it
is made.
"""

import json
import re
import subprocess
import sys

import pytest

from cgbench.models.catalogue import describe_model
from cgbench.models.checkpoints import STATE, ensemble_identity
from cgbench.models.config.presets import list_presets

TINY = ("--model", "tiny", "--set", "training.max_updates=6", "--set", "text.merges=60")
SHAPE = (
    *(
        "--set",
        "model.encoder_layers=2",
        "--set",
        "model.decoder_layers=2",
        "--set",
        "model.width=16",
    ),
    *(
        "--set",
        "model.feedforward_width=16",
        "--set",
        "training.max_updates=2",
        "--set",
        "text.merges=60",
    ),
)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_what_is_printed_and_that_a_finished_model_is_kept(corpus, run, tmp_path):
    words = ["train", *corpus, *TINY, "--out", tmp_path / "m", "--set", "explain=true"]
    first = run(*words)
    rows = dict(re.split("  +", line, maxsplit=1) for line in first.stdout.splitlines()[:6])
    assert set(rows) == {
        *("updates", "training pairs", "training loss"),
        *("validation loss", "validation perplexity", "parameters"),
    }
    # Training leaves some pairs out, which the summary and a warning count.
    used, pairs = map(int, re.findall("[0-9]+", rows["training pairs"]))
    assert used < pairs and f"left out: training: {pairs - used} of {pairs} pairs" in first.stderr
    assert f"cgbench translate SOURCE --model {tmp_path / 'm'}" in first.stdout
    assert "train: runs" in first.stderr
    before = contents(tmp_path / "m")
    checkpoint = {
        "SHA256SUMS",
        "config.json",
        "model.safetensors",
        "subwords.json",
        "metrics.jsonl",
    }
    assert set(before) == checkpoint | {STATE}
    again = run(*words)
    assert (
        again.stdout == first.stdout
        and "train: kept" in again.stderr
        and "subwords: kept" in again.stderr
    )
    assert contents(tmp_path / "m") == before
    dry = run(*words, "--dry-run")
    assert not dry.stderr and dry.stdout.count("kept") == 2
    assert "remove it or choose another" in run(*words, "--seed", "2", status=2).stderr


def test_a_dry_run_refuses_what_needs_validation_data(corpus, run, tmp_path):
    words = [*TINY, "--set", "training.patience=2", "--dry-run", "--out", tmp_path / "m"]
    run("train", *corpus, *words)
    without_validation = corpus[: corpus.index("--valid")]
    for command in ("train", "train-ensemble"):
        error = run(command, *without_validation, *words, status=2).stderr
        assert "training.patience=2: needs validation data" in error


def test_an_ensemble_says_how_many_pairs_it_uses(corpus, run, tmp_path):
    words = ["train-ensemble", *corpus, *TINY, "--members", "2", "--out", tmp_path / "e"]
    result = run(*words)
    used, pairs = map(int, re.search("training pairs  (\\d+) of (\\d+)", result.stdout).groups())
    assert f"left out: training: {pairs - used} of {pairs} pairs" in result.stderr
    rows = json.loads(run(*words, "--format", "json").stdout)
    assert [row["pairs"]["training"] for row in rows] == [[used, pairs]] * 2


def test_a_run_stopped_by_its_time_goes_on_to_the_same_bytes(corpus, run, tmp_path, monkeypatch):
    text = ["train", *corpus, *TINY, "--out"]
    words = [*text[:-1], "--format", "json", "--out"]
    whole = json.loads(run(*words, tmp_path / "whole").stdout)
    clock = iter(range(0, 100_000, 25))
    monkeypatch.setattr("cgbench.models.training.loop.time.monotonic", lambda: float(next(clock)))
    part = json.loads(run(*words, tmp_path / "part", "--max-time", "1m15s").stdout)
    said = run(*text, tmp_path / "said", "--max-time", "1m15s").stdout
    monkeypatch.undo()
    assert f"{part['trained']} of 6" in said and "not finished" in said
    assert not part["finished"] and not (tmp_path / "part/config.json").exists()
    assert 0 < part["trained"] < 6
    assert "resumes" in run(*words, tmp_path / "part", "--dry-run").stdout
    for further in (["--dry-run"], []):  # another run is refused before anything runs
        error = run(*words, tmp_path / "part", "--seed", "7", *further, status=2).stderr
        assert "with other settings, data or seed (seed is 1 there and 7 here)" in error
    assert (
        "not finished" in run("translate", "--model", tmp_path / "part", input="", status=2).stderr
    )
    rest = json.loads(run(*words, tmp_path / "part").stdout)
    assert rest == {**whole, "out": rest["out"]}
    assert contents(tmp_path / "part") == contents(tmp_path / "whole")


def test_the_member_of_an_ensemble_is_the_same_model(corpus, run, tmp_path):
    run("train", *corpus, *TINY, "--out", tmp_path / "m", "--seed", "7")
    run(
        "train-ensemble",
        *corpus,
        *TINY,
        "--out",
        tmp_path / "e",
        "--seed",
        "7",
        "--members",
        "1",
        "--jobs",
        "1",
    )
    alone = contents(tmp_path / "m")
    del alone[STATE]  # of an ensemble it is beside the steps
    assert alone == contents(tmp_path / "e/member-0")
    assert ensemble_identity(tmp_path / "m") == ensemble_identity(tmp_path / "e/member-0")
    assert (
        "contains an ensemble"
        in run("train", *corpus, *TINY, "--out", tmp_path / "e", status=2).stderr
    )
    (tmp_path / "e/ensemble.json").rename(tmp_path / "e/manifest.json")
    assert (
        "contains a release"
        in run("train", *corpus, *TINY, "--out", tmp_path / "e", status=2).stderr
    )


@pytest.mark.parametrize("unit", ["words", "characters"])
def test_other_units_of_text(unit, corpus, few_lines, run, tmp_path):
    options = (
        "--set",
        f"text.unit={unit}",
        "--set",
        "text.joint_dictionary=true",
        "--set",
        "training.max_length=200",
    )
    said = run("train", *corpus, *TINY, *options, "--out", tmp_path / "m").stdout
    assert "score bleu" in said and "--beam" not in said
    subwords = json.loads((tmp_path / "m/subwords.json").read_text())
    assert subwords["unit"] == unit and subwords["source"] == subwords["target"]
    assert (unit == "characters") == (" " in subwords["source"])
    assert (
        run(
            "translate", few_lines / "valid.de", "--model", tmp_path / "m", "--beam", "2"
        ).stdout.count("\n")
        == 4
    )


def test_models_of_whole_answers_are_translated_as_they_are_validated(corpus, run, tmp_path):
    said = run(
        "train",
        *corpus,
        *TINY,
        "--set",
        "training.validate_metric=exact_match",
        "--out",
        tmp_path / "m",
    ).stdout
    assert f"--model {tmp_path / 'm'} --beam 1 --output" in said and "cgbench score exact" in said


def test_the_last_checkpoints_of_a_run_are_averaged(corpus, few_lines, run, tmp_path):
    keep = ("--set", "training.keep_checkpoints=3", "--set", "training.checkpoint_every=2")
    run("train", *corpus, *TINY, *keep, "--out", tmp_path / "m")
    out = run("average", tmp_path / "m", "--last", "2", "--out", tmp_path / "mean").stdout
    assert "update-0000004" in out and "update-0000006" in out and "update-0000002" not in out
    found = sorted((tmp_path / "m/checkpoints").iterdir())[1:]
    run("average", *found, "--out", tmp_path / "again", "--format", "json")
    assert contents(tmp_path / "mean") == contents(tmp_path / "again")
    assert (
        run(
            "translate", few_lines / "valid.de", "--model", tmp_path / "mean", "--beam", "1"
        ).stdout.count("\n")
        == 4
    )
    assert (
        "keep_checkpoints=4"
        in run("average", tmp_path / "m", "--last", "4", "--out", "x", status=2).stderr
    )
    assert "one run" in run("average", *found, "--last", "2", "--out", "x", status=2).stderr
    run("train", *corpus, *TINY, "--seed", "2", "--out", tmp_path / "n")
    other = run("average", tmp_path / "m", tmp_path / "n", "--out", tmp_path / "o")
    assert "warning: these are of different runs" in other.stderr and "warning" not in out


def test_the_list_of_models(run):
    text = run("models").stdout
    assert "r_dangle" in text and "seqmix" in text and "transformer_iwslt" in text
    found = json.loads(run("models", "--format", "json").stdout)
    assert [row["name"] for row in found["presets"]] == list_presets()
    tiny = json.loads(run("models", "tiny", "--format", "json").stdout)
    assert tiny["parameters"] is None and tiny["parameters_without_vocabulary"] > 1000
    sized = describe_model("tiny", (100, 50))
    assert sized["parameters"] == tiny["parameters_without_vocabulary"] + 150 * 32
    words = run("models", "tiny").stdout
    assert "model.width=32   (default: 512)" in words
    assert "projection_width" in run("models", "creg").stdout
    assert "did you mean creg" in run("models", "cregg", status=2).stderr
    assert "describe_model" in run("models", "--source-size", "9", status=2).stderr


def test_no_model_is_built_for_the_list(run):
    code = "import sys; from cgbench.cli import main; main(['models'], standalone_mode=False)"
    code += "; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_validation_text_that_differs_is_said(run, tmp_path):
    for name, change in (("train", str), ("valid", str.lower)):
        for language in ("de", "en"):
            lines = (change(f"Some {language} Words and {n} More .\n") for n in range(60))
            (tmp_path / f"{name}.{language}").write_text("".join(lines))
    texts = {
        name: [tmp_path / f"{name}.{language}" for language in ("de", "en")]
        for name in ("train", "valid")
    }
    words = [
        "train",
        "--train",
        *texts["train"],
        "--valid",
        *texts["valid"],
        "--model",
        "tiny",
        "--dry-run",
    ]
    said = run(*words, "--out", tmp_path / "out").stderr
    assert (
        f"warning: {texts['valid'][0]} {texts['valid'][1]}: in lower case, but {texts['train'][0]}"
        in said
    )
