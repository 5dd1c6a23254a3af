import re
from dataclasses import asdict

import pytest

from cgbench.errors import InputError
from cgbench.models.config.architectures import ARCHITECTURES, OUTSIDE
from cgbench.models.config.common import TrainingConfig
from cgbench.models.config.presets import (
    architecture_preset,
    list_presets,
    load_preset,
    section_config,
)


def test_every_preset_loads():
    assert {"demo", "small", "tiny", "transformer_iwslt", "transformer_iwslt_relative_12"} <= set(
        list_presets()
    )
    for name in list_presets():
        assert load_preset(name).name == name


def test_replace_parses_strings_by_field_type_and_leaves_the_rest():
    tiny = load_preset("tiny")
    changed = tiny.replace(
        {"training.max_updates": "1_000", "model.output_bias": "yes", "text.merges": 7}
    )
    assert changed.training.max_updates == 1000
    assert changed.model.output_bias is True
    assert changed.text.merges == 7
    assert changed.training.learning_rate == tiny.training.learning_rate
    assert tiny.replace({}) == tiny


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("training.max_update", "training.max_updates"),
        ("max_tokens", "training.max_tokens"),
        ("modle.width", "model.width"),
    ],
)
def test_an_unknown_key_names_the_nearest(key, nearest):
    with pytest.raises(InputError, match=f"unknown setting {key}; did you mean {nearest}\\?"):
        load_preset("tiny").replace({key: "1"})


@pytest.mark.parametrize(
    ("architecture", "key", "value", "said"),
    [
        ("transformer", "training.max_updates", "ten", ": 'ten' is not a whole number"),
        ("transformer", "training.max_updates", True, ": True is not a whole number"),
        ("transformer", "training.learning_rate", "nan", ": 'nan' is not a number"),
        ("transformer", "model.dropout", "1", ": '1' is not a number, at least 0 and below 1"),
        ("transformer", "training.max_length", "100000", "max_length"),
        ("universal", "model.attention_heads", 3, "=3: must be a divisor of model.width (512)"),
        (
            "universal",
            "training.schedule",
            "cosine",
            ": 'cosine' is not one of inverse_sqrt, linear, constant, noam",
        ),
        ("dangle", "model.positions", "shaw", ": 'shaw' is not one of relative, sinusoidal"),
        ("dangle", "model.mixed_attention_heads", 5, "=5: must be a divisor of model.width"),
        ("dangle", "model.decoder_layers", 0, "=0: must be at least 1"),
        (
            "dangle",
            "model.form",
            "encoder_only",
            "model.encoder_layers=4: must be 0 with model.form=encoder_only",
        ),
        ("r_dangle", "model.interval", 0, ": 0 is not a whole number, at least 1"),
        (
            "proto_transformer",
            "model.prototype_layer",
            7,
            "=7: must be at most model.encoder_layers (6)",
        ),
        (
            "proto_transformer",
            "model.prototype_min_count",
            2,
            "=2: must be at least model.prototypes (3)",
        ),
        ("lstm_lexicon", "model.dropout", 1, ": 1 is not a number, at least 0 and below 1"),
        ("lstm_lexicon", "model.lexicon_temperature", 0, ": 0 is not a number, above 0"),
    ],
)
def test_a_value_out_of_its_range_is_refused_in_words(architecture, key, value, said):
    with pytest.raises(InputError, match=re.escape(said)) as error:
        architecture_preset(architecture).replace({key: value})
    assert key in str(error.value)


def test_a_configuration_survives_json():
    config = load_preset("transformer_iwslt").model
    assert section_config("model", asdict(config)) == config
    with pytest.raises(InputError, match=r"model\.depth"):
        section_config("model", {"depth": 3})
    assert TrainingConfig().threads == 1


def test_the_settings_and_the_code_of_an_architecture_are_in_files_of_its_name():
    for name, entry in {**ARCHITECTURES, **OUTSIDE}.items():
        assert entry.config.architecture == name
        assert entry.config.__module__ == f"cgbench.models.config.{name}"
        assert entry.module.rpartition(".")[2] in (name, "")  # OUTSIDE has no code here
