"""Sentences that are too long for a checkpoint: one line, the same limit in every command."""

import pytest

pytest.importorskip("transformers")
import numpy as np
from external_models import write_bart, write_roberta

from cgbench.errors import InputError
from cgbench.models.external.opening import plan_member

TRAINED, POSITIONS = (
    20,
    38,
)  # tokens with the end, of sentences of training and of the pre-trained model


@pytest.fixture(scope="module", params=["roberta", "bart"])
def model(request, run, tmp_path_factory):
    """An R-Dangle over a pre-trained encoder (BART: and its decoder), trained for one update."""
    folder = tmp_path_factory.mktemp(request.param)
    start = {"roberta": write_roberta, "bart": write_bart}[request.param](folder / "base")
    settings = {
        **{
            "encoder": request.param,
            "encoder_layers": 2,
            "mixed_layers": 1,
            "interval": 2,
            "values": "shared",
        },
        **{
            "positions": "encoder",
            "norm": "post",
            "activation": "gelu",
            "width": 16,
            "encoder_width": 16,
        },
        **{"encoder_attention_heads": 2, "attention_heads": 4},
    }
    (folder / "s").write_text("der hund\ndie katze\n" * 4)
    (folder / "t").write_text("the dog\nthe cat\n" * 4)
    words = ["train", "--train", folder / "s", folder / "t", "--arch", "r_dangle", "--init", start]
    words += [f"--set=model.{name}={value}" for name, value in settings.items()]
    words += [
        f"--set=training.{one}"
        for one in (f"max_length={TRAINED}", "max_tokens=64", "max_updates=1")
    ]
    words += ["--set=text.unit=words"] * (request.param == "roberta")
    run(*words, "--out", folder / "m")
    return folder / "m"


@pytest.fixture
def refused(run, tmp_path):
    """Call a command with sources and hypotheses of some numbers of words; the line that refuses
    them.
    """

    def call(sources, hypotheses, *words):
        for name, counts in (("s", sources), ("h", hypotheses)):
            (tmp_path / name).write_text("".join("der " * count + "\n" for count in counts))
        out = tmp_path / "out"
        found = run(words[0], tmp_path / "s", *words[1:], "--output", out, status=2)
        lines = [line for line in found.stderr.splitlines() if not line.startswith("warning:")]
        assert len(lines) == 1 and lines[0].startswith("error: "), found.stderr
        assert not out.exists() and not out.with_name("out.work").exists()
        return lines[0]

    return call


def test_a_source_longer_than_those_of_training(model, refused, tmp_path):
    unit = "words" if model.parent.name.startswith("roberta") else "subwords"
    said = (
        f"line 2: {TRAINED + 3} {unit} with the end token, but the model was trained on at most"
        f" {TRAINED} (and 1 m"
    )
    long = [2, TRAINED + 2, POSITIONS + 9]
    assert said in refused(long, [1, 1, 1], "translate", "--model", model)
    for more in ((), ("--hypotheses", tmp_path / "h")):
        assert f"m: {said}" in refused(long, [1, 1, 1], "uncertainty", "--member", model, *more)


def test_a_hypothesis_longer_than_there_are_positions(model, refused, run, tmp_path):
    said = (
        f"m: the hypothesis of line 2 has {POSITIONS + 1} tokens, but the model has positions for"
        f" {POSITIONS}"
    )
    words = ("uncertainty", "--member", model, "--hypotheses", tmp_path / "h")
    assert said in refused([2, 2], [1, POSITIONS], *words)
    # a search may write more words than there were in training, and what it wrote is measured
    (tmp_path / "h").write_text("the\n" + "the " * (POSITIONS - 1) + "\n")
    run(
        "uncertainty",
        tmp_path / "s",
        "--member",
        model,
        "--hypotheses",
        tmp_path / "h",
        "-o",
        tmp_path / "out",
    )
    assert len((tmp_path / "out").read_text().splitlines()) == 2


def test_a_member_asked_for_states_beyond_its_positions(model):
    """Members of a build are asked so, whose candidates no command has read before."""
    member = plan_member(str(model)).open()
    target = np.array([5, 2], np.int32)
    with pytest.raises(
        InputError, match=r"the source of sentence 2 has \d+ tokens, .* positions for"
    ):
        member.states(["der", "der " * (POSITIONS + 2)], [target, target])
    with pytest.raises(
        InputError, match=rf"the target of sentence 1 has {POSITIONS + 1} tokens, .* positions for"
    ):
        member.states(["der"], [np.array([5] * POSITIONS + [2], np.int32)])
