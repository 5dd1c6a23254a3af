"""The keys of a build's steps: what changes them, and what leaves them as they were."""

from dataclasses import asdict

import pytest

from cgbench.benchmark.build.react.build_plan import plan_build
from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.errors import InputError
from cgbench.models.search_settings import SearchSettings


@pytest.fixture
def plan(tmp_path):
    """The plan of a build with some settings."""
    (tmp_path / "a.tsv").write_text("one two\tuno dos\n")
    corpus = tmp_path / "a.tsv"

    def make(**settings):
        given = {
            "languages": "en,es",
            "preset": "demo",
            "device": "cpu",
            "until": "uncertainty",
            **settings,
        }
        return plan_build(BuildRequest(corpus, corpus, out=tmp_path / "out", **given))

    return make


def test_the_length_limit_is_in_the_key_of_the_uncertainty_alone(plan):
    usual = plan()
    search = asdict(SearchSettings())
    assert usual.uncertainty.config == {"device": "cpu", "shard": 500, **search}
    assert usual.uncertainty.revision == 3
    assert plan(max_length_ratio=1.2, max_length_extra=10).uncertainty.key == usual.uncertainty.key
    for change in ({"max_length_ratio": 4.0}, {"max_length_extra": 50}):
        other = plan(**change)
        assert other.uncertainty.config == usual.uncertainty.config | change
        assert [step.key for step in other.steps[:-2]] == [step.key for step in usual.steps[:-2]]


@pytest.mark.parametrize(
    "change", [{"detokenize": True}, {"anonymise": "cogs"}, {"tokenize": "en=moses"}]
)
def test_how_text_is_normalised_is_in_the_key_of_the_texts(plan, change):
    keys = [step.key for step in plan(**change).steps[:2]]
    assert not set(keys) & {step.key for step in plan().steps[:2]}


def test_what_references_are_dropped_by_is_in_no_step(plan):
    usual, other = plan(), plan(drop_reference="1/20", drop_by="reference_rmi")
    assert [step.key for step in other.steps] == [step.key for step in usual.steps]
    assert other.request.as_dict() == usual.request.as_dict() | {
        "drop_reference": "1/20",
        "drop_by": "reference_rmi",
    }


def test_model_settings_are_checked_against_the_model_preset(plan):
    for change, said in (
        ({"training.max_update": "5"}, "did you mean training.max_updates"),
        ({"model": "smal"}, "unknown model preset 'smal'"),
        ({"tokenize": "mozes"}, "did you mean moses"),
        ({"tokenize": "en=mozes"}, "did you mean moses"),
    ):
        with pytest.raises(InputError, match=said):
            plan(**change)
