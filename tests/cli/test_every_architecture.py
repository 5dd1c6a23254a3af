"""Every architecture and method, and rows of tables, through the commands: train, ensemble,
translate, score.
"""

import dataclasses
import json

import pytest
from few import few

from cgbench.models.config.architectures import ARCHITECTURES
from cgbench.models.config.methods import METHODS
from cgbench.models.config.universal import UniversalConfig
from cgbench.models.training.request import TrainRequest, begin
from cgbench.reproduction.tables import all_benchmarks

SMALL = {
    **{
        "model.encoder_layers": 2,
        "model.decoder_layers": 2,
        "model.width": 16,
        "model.feedforward_width": 16,
    },
    **{
        "model.attention_heads": 2,
        "training.max_updates": 3,
        "training.max_tokens": 400,
        "training.max_length": 60,
    },
    "text.merges": 100,
}
NO_HEADS = {"model.attention_heads": "", "model.feedforward_width": ""}
OWN = {
    "dangle": {"model.mixed_layers": 1, "model.mixed_attention_heads": 2},
    "r_dangle": {"model.mixed_layers": 1, "model.mixed_attention_heads": 2, "model.interval": 2},
    "proto_transformer": {
        "model.prototype_layer": 1,
        "model.prototype_min_count": 3,
        "model.prototype_epochs": 1,
        "training.max_tokens": 4000,  # an update an epoch
        "training.keep": "last",  # which has prototypes
    },
    "lstm_lexicon": {
        **NO_HEADS,
        "model.lexicon": "copy",
        "model.encoder_layers": 1,
        "model.decoder_layers": 1,
    },
    "lstm_attention": NO_HEADS,
    "nsen": NO_HEADS,
    "syntactic_attention": {**NO_HEADS, "model.encoder_layers": 1, "model.decoder_layers": 1},
    "cgps": {
        **NO_HEADS,
        "model.encoder_layers": 1,
        "model.decoder_layers": 1,
        "model.input_slots": 80,
    },
}
# Rows of published tables whose settings no architecture has by default, and what makes them small.
ROWS = {
    "COMPOSITION-Half (top three layers)": ("CoGnition", {"model.encoder_layers": 4}),
    "Transformer-accu (COMPOSITION: text)": ("CoGnition", {}),
    "Transformer-accu (COMPOSITION: footnote)": ("CoGnition", {}),
    "Proto-Transformer [42M]": ("CoGnition", OWN["proto_transformer"]),
    "R-Dangle_sep o=2": ("ReaCT", OWN["r_dangle"]),
    "R-Dangle_sep o=4": ("ReaCT", OWN["r_dangle"]),
    "R-Dangle_sep o=8": ("ReaCT", OWN["r_dangle"]),
}


def settings(**changes):
    return [
        word
        for key, value in {**SMALL, **changes}.items()
        if value
        for word in ("--set", f"{key}={value}")
    ]


@pytest.fixture(scope="module")
def transformer(corpus, run, tmp_path_factory):
    """A checkpoint whose subwords all others take, so that they can be one ensemble with it."""
    out = tmp_path_factory.mktemp("model") / "transformer"
    run("train", "--arch", "transformer", *corpus, "--out", out, *settings())
    return out


@pytest.fixture
def through(few_lines, corpus, transformer, run, tmp_path):
    """Train by these words, translate with that model and another in one ensemble, and score;
    returns the model.
    """

    def call(*words):
        out = tmp_path / "model"
        words = (
            "train",
            *corpus,
            "--set",
            f"subwords={transformer}",
            "--seed",
            "2",
            "--out",
            out,
            *words,
        )
        figures = json.loads(run(*words, "--format", "json").stdout)
        assert figures["finished"] and figures["updates"] == 3 and figures["parameters"] > 1000
        assert figures["validation"]["loss"] > 0
        hypotheses = tmp_path / "hypotheses"
        search = ("--beam", "2", "--max-length-ratio", "0", "--uncertainty", "--format", "json")
        run(
            "translate",
            few_lines / "valid.de",
            "--model",
            out,
            transformer,
            "--output",
            hypotheses,
            *search,
        )
        rows = [json.loads(line) for line in hypotheses.read_text().splitlines()]
        assert len(rows) == 4 and all(row["rmi"] > 0 for row in rows)
        (tmp_path / "text").write_text("".join(row["hypothesis"] + "\n" for row in rows))
        for metric in ("bleu", "exact"):
            scored = (
                "score",
                metric,
                "--ref",
                few_lines / "valid.en",
                "--hyp",
                tmp_path / "text",
                "--format",
                "json",
                "--accept-text",  # after three updates, hypotheses repeat themselves
            )
            assert 0 <= json.loads(run(*scored).stdout)["value"] < 50
        return json.loads((out / "config.json").read_text())

    return call


@pytest.mark.parametrize("name", few(ARCHITECTURES, "transformer", "r_dangle", "lstm_lexicon"))
def test_train_ensemble_translate_score(name, through):
    assert through("--arch", name, *settings(**OWN.get(name, {})))["model"]["architecture"] == name


@pytest.mark.parametrize("name", few(ROWS, "Proto-Transformer [42M]"))
def test_rows_of_tables_train_ensemble_translate_score(name, through, tmp_path):
    benchmark, small = ROWS[name]
    system = all_benchmarks()[benchmark].systems[name]
    quick = {"training.validate_beam": 1}
    model = through("--model", system.preset, *settings(**{**small, **system.set, **quick}))[
        "model"
    ]
    assert {f"model.{key}": value for key, value in model.items()}.items() >= system.set.items()
    log = (tmp_path / "model" / "metrics.jsonl").read_text()
    assert ("prototypes" in log) == name.startswith("Proto")  # what is translated with has some


def test_an_architecture_has_its_own_defaults_and_a_preset_keeps_its_numbers(run, corpus, tmp_path):
    """--arch alone: the defaults of its class; with --model: the preset's, where the architecture
    has them.
    """
    words = ["train", *corpus, "--out", tmp_path / "m", "--set", "training.max_updates=1"]
    run(*words, "--model", "tiny", "--arch", "universal", "--set", "text.merges=50")
    config = json.loads((tmp_path / "m/config.json").read_text())
    assert (config["model"]["architecture"], config["model"]["width"], config["preset"]) == (
        "universal",
        32,
        "tiny",
    )
    assert begin(TrainRequest("corpus", "out", arch="universal"))[0].model == UniversalConfig()


@pytest.mark.parametrize("method", few([name for name in METHODS if name != "none"], "bow"))
def test_an_ensemble_by_every_method(method, few_lines, corpus, run, tmp_path):
    own = {"bow": ("--set", "method.epochs=1")}.get(method, ())
    words = [
        "train-ensemble",
        *corpus,
        "--arch",
        "transformer",
        "--method",
        method,
        "--members",
        "2",
        *settings(),
    ]
    rows = json.loads(
        run(*words, *own, "--out", tmp_path, "--jobs", "1", "--format", "json").stdout
    )
    assert len(rows) == 2 and rows[0]["parameters"] == rows[1]["parameters"]
    config = json.loads((tmp_path / "member-1/config.json").read_text())
    assert config["method"]["name"] == method
    assert (
        run("translate", few_lines / "valid.de", "--model", tmp_path, "--beam", "1").stdout.count(
            "\n"
        )
        == 4
    )


def test_a_benchmark_is_built_with_any_architecture_and_method(corpora, run, tmp_path):
    small = ("--preset", "demo", "--members", "1", "--set", "candidates=40", "--set", "beam=1")
    small += ("--set", "uncertainty=expected_entropy")  # what a single member has
    small += ("--set", "accept_ensemble=true")  # it has learned nothing
    chosen = (
        "--model",
        "tiny",
        "--arch",
        "universal",
        "--method",
        "seqmix",
        "--set",
        "method.alpha=0.5",
    )
    run(
        "build-react",
        *corpora,
        *small,
        *chosen,
        *settings(),
        "--out",
        tmp_path / "release",
        "--jobs",
        "1",
    )
    written = json.loads((tmp_path / "release/manifest.json").read_text())["configuration"]
    assert (written["model"], written["model.architecture"], written["method.name"]) == (
        "tiny",
        "universal",
        "seqmix",
    )
    (config,) = (tmp_path / "release.work/.cgbench/member-0").glob("*/config.json")
    assert json.loads(config.read_text())["method"] == {"name": "seqmix", "alpha": 0.5}
    words = ["build-react", *corpora, *small, "--out", tmp_path / "other"]
    assert "did you mean lrf" in run(*words, "--model", "tiny", "--arch", "lfr", status=2).stderr
    assert (
        "not a setting of method none" in run(*words, "--set", "method.alpha=0.5", status=2).stderr
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a preset with --model or an architecture with --arch"),
        (("--model", "tinny"), "did you mean tiny"),
        (("--arch", "dangel"), "did you mean dangle"),
        (("--arch", "dangle", "--method", "sekmix"), "did you mean seqmix"),
        (("--arch", "lrf", "--set", "model.intervall=2"), "did you mean model.interval"),
        (
            ("--arch", "lrf", "--set", "model.interval=2"),
            "model.interval: not a setting of architecture lrf",
        ),
        (
            ("--arch", "dlcl", "--set", "model.attention_heads=3"),
            "model.attention_heads=3: must be a divisor",
        ),
        (
            ("--model", "tiny", "--set", "text.unit=syllables"),
            "text.unit: 'syllables' is not one of subwords, words",
        ),
        (
            ("--model", "tiny", "--max-time", "soon"),
            "--max-time soon: it must be a time such as 90m",
        ),
        (("--model", "tiny", "--set", "subwords=nowhere"), "nowhere"),
        (
            ("--model", "tiny", "--init", "nowhere"),
            "nowhere: not an external model; write hf:ID@REVISION or hf:FOLDER",
        ),
    ],
)
def test_what_can_be_checked_is_checked_before_data_are_read(words, said, run, tmp_path):
    missing = ["--train", tmp_path / "no.de", tmp_path / "no.en", "--out", tmp_path / "out"]
    error = run("train", *missing, *words, status=2).stderr
    assert said in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_method_none_replaces_that_of_a_preset():
    request = TrainRequest(
        corpus=(["a"], ["b"]), out="m", model="transformer_cognition_seqmix", method="none"
    )
    assert begin(request)[0].method.name == "none"
    assert begin(dataclasses.replace(request, method=None))[0].method.name == "seqmix"
