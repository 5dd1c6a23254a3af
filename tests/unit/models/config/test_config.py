import pytest

from cgbench.errors import InputError
from cgbench.models.config.common import TrainingConfig, TransformerConfig, to_dict
from cgbench.models.config.presets import list_presets, load_preset, model_config


def test_every_preset_loads():
    assert {"demo", "small", "tiny", "transformer_iwslt", "transformer_iwslt_relative_12"} <= set(list_presets())
    for name in list_presets():
        assert load_preset(name).name == name


def test_relative_12_is_the_published_recipe():
    preset = load_preset("transformer_iwslt_relative_12")
    model, training = preset.model, preset.training
    assert (model.encoder_layers, model.decoder_layers, model.width, model.feedforward_width) == (12, 12, 512, 1024)
    assert (model.dropout, model.attention_dropout, model.activation_dropout) == (0.4, 0.3, 0.4)
    assert (training.clip_norm, training.max_tokens, training.max_updates) == (2.0, 8192, 100_000)


def test_replace_parses_strings_by_field_type_and_leaves_the_rest():
    tiny = load_preset("tiny")
    changed = tiny.replace({"training.max_updates": "1_000", "model.output_bias": "yes", "text.merges": 7})
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
        ("model.max_tokens", "training.max_tokens"),
        ("modle.width", "model.width"),
        ("training.lr", "training.learning_rate"),
        ("lr", "training.learning_rate"),
        ("batch-size", "training.max_tokens"),
        ("d_model", "model.width"),
    ],
)
def test_an_unknown_key_names_the_nearest(key, nearest):
    with pytest.raises(InputError, match=f"unknown setting {key}; did you mean {nearest}\\?"):
        load_preset("tiny").replace({key: "1"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("training.max_updates", "ten"),
        ("training.max_updates", "1.5"),
        ("training.max_updates", True),
        ("training.learning_rate", "nan"),
        ("model.output_bias", "maybe"),
        ("model.norm", "both"),
        ("model.dropout", "1"),
        ("model.width", "0"),
        ("training.max_length", "100000"),
    ],
)
def test_values_that_do_not_fit_are_refused(key, value):
    with pytest.raises(InputError, match=key.replace(".", r"\.")):
        load_preset("tiny").replace({key: value})


def test_heads_must_divide_the_width():
    with pytest.raises(InputError, match=r"model\.attention_heads=3: must be a divisor of model\.width \(512\)"):
        TransformerConfig(attention_heads=3)


def test_an_unknown_preset_names_the_nearest():
    with pytest.raises(InputError, match="did you mean tiny"):
        load_preset("tinny")


def test_a_configuration_survives_json():
    config = load_preset("transformer_iwslt").model
    assert model_config(to_dict(config)) == config
    with pytest.raises(InputError, match=r"model\.depth"):
        model_config({"depth": 3})
    assert TrainingConfig().threads == 1
