"""Lexicons and models: what a file becomes in a model, what is refused, and that a checkpoint holds
it.
"""

import json

import pytest
import torch

from cgbench.errors import InputError
from cgbench.models.checkpoints import load_checkpoint, read_config
from cgbench.models.config.presets import architecture_preset
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.trainer import train_model
from cgbench.models.training.training_data import Data

SETTINGS = {
    **{
        "model.width": 16,
        "training.max_updates": 3,
        "training.warmup_updates": 0,
        "text.unit": "words",
    },
    **{
        "training.batch_sentences": 2,
        "training.batch_draw": "epoch",
        "training.loss_mean": "sentences",
    },
}


@pytest.fixture
def text(tmp_path):
    files = tmp_path / "s", tmp_path / "t"
    files[0].write_text("dax\nlug\nwif dax\nlug fep\nsame\n")
    files[1].write_text("RED\nBLUE\nGREEN RED\nBLUE BLUE\nsame\n")
    return files


def train(text, tmp_path, entries=None, **changes):
    preset = architecture_preset("lstm_lexicon").replace(SETTINGS | changes)
    subwords = Subwords.learn(*text, preset.text)
    lexicon = None
    if entries is not None:
        lexicon = tmp_path / "lexicon.json"
        lexicon.write_text(json.dumps(entries))
    out = tmp_path / "model"
    assert train_model(text, None, subwords, preset, 1, out, lexicon=lexicon)
    model, _, config = load_checkpoint(out)
    return model, subwords, config


def names(model, subwords, words):
    aligned = model.lexical.aligned.tolist()
    return [subwords.target[aligned[subwords.source.index(word)]] for word in words]


def test_a_hard_lexicon_is_in_the_checkpoint(text, tmp_path):
    model, subwords, config = train(
        text, tmp_path, {"dax": {"RED": 2}, "lug": {"BLUE": 1}}, **{"model.lexicon": "hard"}
    )
    assert names(model, subwords, ["dax", "lug", "same", "</s>"]) == ["RED", "BLUE", "same", "</s>"]
    assert names(model, subwords, ["fep", "wif"]) == [
        "GREEN",
        "GREEN",
    ]  # the first word that nothing stands for
    assert len(config.lexicon) == 64 and read_config(tmp_path / "model").model.lexicon == "hard"


def test_copying_needs_no_file(text, tmp_path):
    model, subwords, _ = train(text, tmp_path, **{"model.lexicon": "copy"})
    assert names(model, subwords, ["same", "dax", "</s>"]) == ["same", "<pad>", "</s>"]


def test_a_soft_lexicon_has_distributions_and_a_learned_one_moves(text, tmp_path):
    entries = {"dax": {"RED": 0.1, "BLUE": 0.1}}
    model, subwords, _ = train(text, tmp_path, entries, **{"model.lexicon": "soft"})
    row = model.lexical.rows[subwords.source.index("dax")]
    assert row.sum() == pytest.approx(1, abs=1e-5)
    assert row[subwords.target.index("RED")] == row[subwords.target.index("BLUE")] == row.max()
    again = tmp_path / "again"
    again.mkdir()
    learned, *_ = train(text, again, entries, **{"model.lexicon": "learned"})
    assert not torch.allclose(learned.lexical.rows.softmax(1), model.lexical.rows, atol=1e-6)


def test_a_file_belongs_to_the_forms_that_read_one(text, tmp_path):
    with pytest.raises(InputError, match="cgbench lexicon learn"):
        train(text, tmp_path, **{"model.lexicon": "hard"})
    with pytest.raises(InputError, match="uses no lexicon; set model.lexicon"):
        train(text, tmp_path, {"dax": {"RED": 1}}, **{"model.lexicon": "copy"})
    with pytest.raises(
        InputError, match="^[^:]*lexicon.json: the lexicon has 1 source word .'blicket'.*'PINK'"
    ):
        train(text, tmp_path, {"blicket": {"PINK": 1}}, **{"model.lexicon": "hard"})
    assert not (tmp_path / "model").exists()


def test_an_empty_lexicon_is_said_once(text, tmp_path):
    with pytest.raises(InputError) as error:
        train(text, tmp_path, {}, **{"model.lexicon": "hard"})
    assert str(error.value).count("lexicon.json") == 1


def test_an_epoch_needs_batches_of_sentences():
    with pytest.raises(InputError, match="replacement with training.batch_sentences=0"):
        architecture_preset("lstm_lexicon").replace({"training.batch_draw": "epoch"})


def test_another_lexicon_is_another_run(text, tmp_path):
    train(text, tmp_path, {"dax": {"RED": 1}}, **{"model.lexicon": "hard"})
    with pytest.raises(InputError, match="other settings, data or seed"):
        train(text, tmp_path, {"dax": {"BLUE": 1}}, **{"model.lexicon": "hard"})


def test_an_epoch_draws_every_pair_once(text):
    preset = architecture_preset("lstm_lexicon").replace(SETTINGS)
    data = Data(text, Subwords.learn(*text, preset.text), preset.training)
    for number in range(3):
        batches = data.epoch(1, number)
        assert [len(batch) for batch in batches] == [2, 2, 1]
        assert sorted(row for batch in batches for row in batch.tolist()) == [0, 1, 2, 3, 4]
    assert [batch.tolist() for batch in data.epoch(1, 0)] != [
        batch.tolist() for batch in data.epoch(1, 1)
    ]


def test_a_mean_over_sentences_has_a_larger_gradient_than_one_over_tokens(text, tmp_path):
    """A step of Adam with a large epsilon is as long as the gradient: 12 tokens to 5 sentences."""
    parameters = {}
    for name, rate in (("start", 1e-9), ("tokens", 1.0), ("sentences", 1.0)):
        changes = {
            **{
                "training.learning_rate": rate,
                "training.loss_mean": "sentences" if name == "start" else name,
            },
            **{
                "training.schedule": "constant",
                "training.max_updates": 1,
                "training.batch_sentences": 5,
            },
            **{"training.adam_epsilon": 1e3, "training.weight_decay": 0},
        }
        (tmp_path / name).mkdir()
        model, *_ = train(text, tmp_path / name, **changes)
        parameters[name] = torch.cat([value.detach().flatten() for value in model.parameters()])
    steps = [
        float((parameters[name] - parameters["start"]).norm()) for name in ("sentences", "tokens")
    ]
    assert steps[0] / steps[1] == pytest.approx(12 / 5, rel=0.01)
