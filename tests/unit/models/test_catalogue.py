"""The catalogue of models: counts, and what is said of settings."""

import re

import pytest

from cgbench.errors import InputError
from cgbench.models.catalogue import catalogue, count_parameters, describe_model
from cgbench.models.config.architectures import ARCHITECTURES, OUTSIDE, build_model
from cgbench.models.config.common import TransformerConfig
from cgbench.models.config.presets import architecture_preset, list_presets, load_preset


def test_everything_is_listed_without_a_model():
    found = catalogue()
    assert [row["name"] for row in found["architectures"]] == [*ARCHITECTURES, *OUTSIDE]
    assert [row["name"] for row in found["presets"]] == list_presets()
    assert [row["name"] for row in found["pipelines"]] == ["hpd"]
    transformer = next(row for row in found["architectures"] if row["name"] == "transformer")
    assert {"tiny", "transformer_iwslt"} <= set(transformer["presets"])


def test_a_description_names_values_defaults_and_meaning():
    found = describe_model("tiny", (100, 50))
    assert found["kind"] == "preset" and found["comment"].startswith("For tests")
    settings = {row["name"]: row for row in found["settings"]}
    help_text = "Width of the states between layers"
    assert settings["model.width"] == {
        "name": "model.width",
        "value": 32,
        "default": 512,
        "help": help_text,
    }
    assert "that distances are clipped with" in settings["model.max_relative_position"]["help"]
    assert found["parameters"] - found["parameters_without_vocabulary"] == 150 * 32


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("bias", [False, True])
def test_counts_are_those_of_a_model_of_that_size(name, bias):
    own = (
        {"model.output_bias": bias}
        if issubclass(ARCHITECTURES[name].config, TransformerConfig)
        else {}
    )
    config = architecture_preset(name).replace({"model.width": 16, **own}).model
    model = build_model(config, 11, 7)
    assert count_parameters(config, 11, 7)[0] == sum(
        parameter.numel() for parameter in model.parameters()
    )


@pytest.mark.parametrize("name", [*ARCHITECTURES, *OUTSIDE])
def test_every_architecture_is_described_and_has_defaults(name):
    found = describe_model(name, count=False)
    assert (
        found["name"]
        == found["architecture"]
        == name
        == architecture_preset(name).model.architecture
    )
    assert [row["name"] for row in found["settings"] if not row["help"]] == []


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(InputError, match="unknown model 'trasformer'; did you mean transformer"):
        describe_model("trasformer")


def test_a_shared_vocabulary_of_unknown_size_is_counted():
    for name in ("transformer_cfq_tensor2tensor", "evolved_cfq"):
        description = describe_model(name)
        assert description["parameters"] is None
        assert (
            description["parameters_without_vocabulary"]
            == count_parameters(load_preset(name).model, 100, 100)[1]
        )


OF_OTHER_PAPERS = (
    *("evolved", "nsen", "cgps", "lstm_attention", "bert2seq", "coarse_to_fine"),
    *("span_supervision", "hpd"),
)


@pytest.mark.parametrize("name", OF_OTHER_PAPERS)
def test_systems_of_other_papers_are_explained_in_two_sentences(name):
    comment = describe_model(name, count=False)["comment"]
    assert len(re.findall(r"(?<!al)\.(?: |$)", comment)) >= 2
