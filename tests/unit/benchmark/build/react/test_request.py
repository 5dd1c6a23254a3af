"""Settings of a build: presets, amounts, what is stored of them."""

from importlib.resources import files
from typing import get_args, get_type_hints

import pytest
from small_build import settings_of

from cgbench.benchmark.build.react.request import BuildRequest, default_settings
from cgbench.benchmark.candidates.amounts import resolve_amount
from cgbench.benchmark.candidates.selection import DROPS
from cgbench.errors import InputError
from cgbench.request import changed, flat_values


def test_every_preset_loads_and_react_is_the_papers():
    presets = {path.name for path in (files("cgbench.benchmark.build.react") / "presets").iterdir()}
    assert presets == {f"{name}.yaml" for name in get_args(get_type_hints(BuildRequest)["preset"])}
    for name in ("demo", "small"):
        assert settings_of(name).ranking.drop_by == "reference_pe_stu_given_degree"
    assert settings_of().as_dict() == default_settings()
    paper = flat_values(settings_of())
    assert [paper[name] for name in ("candidates", "drop", "window", "select")] == [
        60_000,
        2_000,
        18_000,
        3_000,
    ]
    assert [paper[name] for name in ("members", "beam", "min_length", "degree_side")] == [
        10,
        5,
        6,
        "target",
    ]


def test_shares_of_the_small_preset_are_the_papers_numbers_for_its_pool_but_for_what_is_dropped():
    small = flat_values(settings_of("small"))
    sizes = {key: resolve_amount(key, small[key], 60_000) for key in (*DROPS, "window", "select")}
    assert sizes == {
        "drop": 0,
        "drop_perplexity": 0,
        "drop_reference": 3_000,
        "window": 18_000,
        "select": 3_000,
    }


def test_amounts():
    assert resolve_amount("x", "1/30", 45) == 2  # half up
    assert resolve_amount("x", "0.5", 3) == 2
    assert resolve_amount("x", 7, 3) == 7
    assert [resolve_amount("x", amount, 45) for amount in ("1/1", "1.0", "3/3", "1", 1)] == [
        45,
        45,
        45,
        1,
        1,
    ]
    for amount in ("3/2", "4/2", "1.5"):
        with pytest.raises(InputError, match="or a share of at most 1"):
            resolve_amount("x", amount, 45)
    assert resolve_amount("x", 0, 3) == 0
    assert (
        settings_of(select="1_000").drawing.select == 1000
        and settings_of(select=0.05).drawing.select == "0.05"
    )
    for wrong in ("a", "1.5", "3/2", "1/0", "-1", True, 1.5):
        with pytest.raises(
            InputError, match="drop=.*: it must be a whole number, or a share such as 1/30"
        ):
            settings_of(drop=wrong)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"degree_side": "both"}, "degree_side='both': it must be one of source, target"),
        ({"filter_sides": "none"}, "filter_sides='none': it must be one of both, source, target"),
        ({"members": "0"}, "members='0': it must be a whole number, at least 1"),
        ({"window": "0"}, "window='0': it must be a whole number above 0, or a share such as 1/30"),
        ({"max_length_ratio": -1}, "max_length_ratio=-1: it must be a number, at least 0"),
        (
            {"max_length_ratio": 0, "max_length_extra": 0},
            "max_length_ratio, max_length_extra: one must be above 0",
        ),
        ({"max_length": 5}, "max_length=5: it must be at least min_length (6)"),
        (
            {"anonymise": "cog"},
            "anonymise='cog': it must be one of none, cogs, smcalflow; did you mean",
        ),
        (
            {"preset": "reakt"},
            "preset='reakt': it must be one of react, small, laptop, demo; did you mean react?",
        ),
        ({"settings": {"select": 5}}, "settings: select is a separate argument"),
        ({"selekt": 5}, "unknown setting selekt; did you mean select?"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change, said):
    with pytest.raises(InputError) as error:
        settings_of(**change)
    assert str(error.value).startswith(said)


def test_model_settings_are_stored_flat_and_the_model_is_no_key():
    stored = settings_of("demo", arch="lstm", **{"training.max_updates": "5"}).as_dict()
    assert stored["training.max_updates"] == "5" and stored["model.architecture"] == "lstm"
    assert not {"settings", "arch", "preset", "train"} & set(stored)


def test_every_setting_is_stored():
    given = {
        "detokenize": True,
        "anonymise": "cogs",
        "max_length_ratio": 2.0,
        "max_length_extra": 0,
    }
    usual = settings_of().as_dict()
    assert {*given, "drop_reference", "drop_by"} <= set(usual)
    assert settings_of(**given).as_dict() == usual | given


def test_another_preset_keeps_what_was_given():
    small = changed(settings_of("demo", members=7), preset="small")
    assert (small.members, small.filters.candidates, small.model) == (7, "1/4", "small")
