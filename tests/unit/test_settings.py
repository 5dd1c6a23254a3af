from dataclasses import dataclass

import pytest

from cgbench.benchmark.react_config import ReactConfig, list_presets, make_config, resolve_amount
from cgbench.errors import InputError
from cgbench.settings import apply_settings, parse_assignments, read_yaml


@dataclass(frozen=True)
class Settings:
    count: int = 1
    rate: float = 0.5
    fast: bool = False
    name: str = "x"
    limit: int | None = None
    amount: int | str = 3


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("count", "7", 7),
        ("count", "1_000", 1000),
        ("rate", "1e-3", 0.001),
        ("rate", 2, 2.0),
        ("fast", "true", True),
        ("name", "y", "y"),
        ("limit", "none", None),
        ("limit", "9", 9),
        ("amount", "1/30", "1/30"),
        ("amount", "12", 12),
    ],
)
def test_values_are_read_as_the_type_of_their_field(key, text, value):
    read = getattr(apply_settings(Settings(), {key: text}), key)
    assert read == value and type(read) is type(value)


def test_wrong_values_and_unknown_keys_are_named():
    with pytest.raises(InputError, match="count: 'many' is not a value of type int"):
        apply_settings(Settings(), {"count": "many"})
    with pytest.raises(InputError, match="fast"):
        apply_settings(Settings(), {"fast": "perhaps"})
    with pytest.raises(InputError, match="unknown setting cuont; did you mean count?"):
        apply_settings(Settings(), {"cuont": "1"})
    with pytest.raises(InputError, match="key=value"):
        parse_assignments(["count"])


def test_yaml_is_flattened_and_never_executed(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("select: 5\ntraining:\n  max_updates: 7\n")
    assert read_yaml(path) == {"select": 5, "training.max_updates": 7}
    for text in ("!!python/object/apply:os.system ['true']", "- a\n- b\n", "a: [", ""):
        path.write_text(text)
        with pytest.raises(InputError, match=r"a\.yaml"):
            read_yaml(path)


def test_every_preset_loads_and_react_is_the_papers():
    assert set(list_presets()) == {"react", "small", "demo"}
    for name in list_presets():
        make_config(name, {})
    config = make_config("react", {})
    assert (config.candidates, config.drop, config.window, config.select) == (60_000, 2_000, 18_000, 3_000)
    assert (config.members, config.beam, config.min_length, config.degree_side) == (10, 5, 6, "target")


def test_shares_of_the_small_preset_are_the_papers_numbers_for_its_pool():
    config = make_config("small", {})
    assert [resolve_amount(key, getattr(config, key), 60_000) for key in ("drop", "window", "select")] == [
        2_000,
        18_000,
        3_000,
    ]


def test_amounts():
    assert resolve_amount("x", "1/30", 45) == 2  # half up
    assert resolve_amount("x", "0.5", 3) == 2
    assert resolve_amount("x", 7, 3) == 7
    assert resolve_amount("x", 0, 3) == 0
    for wrong in ("a", "1.5", "3/2", "1/0"):
        with pytest.raises(InputError):
            resolve_amount("x", wrong, 10)


@pytest.mark.parametrize(
    ("key", "value"),
    [("degree_side", "both"), ("filter_sides", "none"), ("members", "0"), ("select", "-1"), ("window", "0")],
)
def test_settings_that_make_no_sense_are_refused(key, value):
    with pytest.raises(InputError, match=key):
        make_config("react", {key: value})


def test_model_settings_are_checked_against_the_model_preset():
    config = make_config("demo", {"training.max_updates": "5"})
    assert config.as_dict()["training.max_updates"] == "5"
    with pytest.raises(InputError, match="did you mean 'training.max_updates'"):
        make_config("demo", {"training.max_update": "5"})
    with pytest.raises(InputError, match="unknown model preset 'smal'"):
        make_config("demo", {"model": "smal"})
    with pytest.raises(InputError, match="unknown preset reakt; did you mean react?"):
        make_config("reakt", {})
    assert "model_settings" not in ReactConfig().as_dict()
