"""The keys of a build's steps: what changes them, and what leaves them as they were."""

import inspect

import pytest

from cgbench.benchmark.react.config import ReactConfig, make_config
from cgbench.benchmark.react.plan import Inputs, plan_react
from cgbench.errors import InputError
from cgbench.text.formats import CorpusSpec


@pytest.fixture
def plan(tmp_path):
    """The plan of a build with some settings."""
    (tmp_path / "a.tsv").write_text("one two\tuno dos\n")
    corpus = CorpusSpec((tmp_path / "a.tsv",))

    def make(**settings):
        inputs = Inputs(corpus, (corpus,), languages=("en", "es"))
        return plan_react(inputs, make_config("demo", settings), device="cpu")

    return make


def test_the_length_limit_is_in_the_key_of_the_uncertainty_alone(plan):
    usual = plan()
    assert usual.uncertainty.config == {"beam": 5, "device": "cpu", "shard": 500}  # as before there was the setting
    assert usual.uncertainty.revision == 3
    assert plan(max_length_ratio=1.2, max_length_extra=10).uncertainty.key == usual.uncertainty.key
    for change in ({"max_length_ratio": 4.0}, {"max_length_extra": 50}):
        other = plan(**change)
        assert other.uncertainty.config == usual.uncertainty.config | change
        assert [step.key for step in other.steps[:-2]] == [step.key for step in usual.steps[:-2]]


def test_the_default_limit_is_that_of_the_search():
    pytest.importorskip("torch")
    from cgbench.models.search import beam_search

    defaults = {name: argument.default for name, argument in inspect.signature(beam_search).parameters.items()}
    config = ReactConfig()
    assert config.max_length_ratio == defaults["max_length_ratio"]
    assert config.max_length_extra == defaults["max_length_extra"]


@pytest.mark.parametrize("change", [{"max_length_ratio": -1}, {"max_length_ratio": 0, "max_length_extra": 0}])
def test_a_length_limit_that_allows_nothing(plan, change):
    with pytest.raises(InputError, match="max_length_ratio, max_length_extra"):
        plan(**change)


def test_what_came_later_is_no_part_of_a_configuration_unless_it_is_set():
    given = {"detokenize": True, "anonymise": "cogs", "max_length_ratio": 2.0, "max_length_extra": 0}
    usual = make_config("react", {}).as_dict()
    assert not set(given) & set(usual)
    assert make_config("react", given).as_dict() == usual | given


@pytest.mark.parametrize("change", [{"detokenize": True}, {"anonymise": "cogs"}, {"tokenize": "en=moses"}])
def test_how_text_is_normalised_is_in_the_key_of_the_texts(plan, change):
    keys = [step.key for step in plan(**change).steps[:2]]
    assert not set(keys) & {step.key for step in plan().steps[:2]}


def test_what_references_are_dropped_by_is_in_no_step(plan):
    usual, other = plan(), plan(drop_reference="1/20", drop_by="reference_rmi")
    assert [step.key for step in other.steps] == [step.key for step in usual.steps]
    assert other.config.as_dict() == usual.config.as_dict() | {"drop_reference": "1/20", "drop_by": "reference_rmi"}


def test_the_preset_of_the_paper_drops_no_reference():
    assert not {"drop_reference", "drop_by"} & set(make_config("react", {}).as_dict())
    for name in ("small", "demo"):
        assert make_config(name, {}).drop_by == "reference_pe_stu_given_degree"


def test_an_unknown_tokeniser_or_form():
    for change in ({"tokenize": "mozes"}, {"tokenize": "de=mozes"}):
        with pytest.raises(InputError, match="did you mean moses"):
            make_config("react", change)
    with pytest.raises(InputError, match="did you mean sparql"):
        make_config("react", {"anonymise": "sparq"})
