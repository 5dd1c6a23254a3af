from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import pytest

from cgbench.commands.options import parse_assignments
from cgbench.errors import InputError
from cgbench.models.config.architectures import ARCHITECTURES
from cgbench.models.config.common import TextConfig, TrainingConfig
from cgbench.models.config.methods import METHODS
from cgbench.models.lexicons.lexicon import LEARNERS
from cgbench.settings import did_you_mean, make_settings, metadata_of, option

SHOWN = [
    *(entry.config for entry in (*ARCHITECTURES.values(), *METHODS.values())),
    *(settings for settings, _ in LEARNERS.values()),
    *(TrainingConfig, TextConfig),
]


@dataclass(frozen=True)
class Settings:
    count: int = 1
    rate: float = 0.5
    fast: bool = False
    name: str = "x"
    limit: int | None = None
    amount: int | str = 3


@dataclass(frozen=True)
class Whole:
    name: str
    part: Settings = field(default_factory=Settings)
    words: Sequence[str] = ()
    by_name: Mapping[str, Sequence[int]] = field(default_factory=dict)
    anything: Mapping[str, Any] = field(default_factory=dict)


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
        ("amount", "1/30", "1/30"),
        ("fast", "0", False),
        ("fast", 1, True),
        ("name", 5, "5"),
        ("name", "none", "none"),
        ("limit", None, None),
        ("count", 2**63 - 1, 2**63 - 1),
    ],
)
def test_values_are_read_as_the_type_of_their_field(key, text, value):
    read = getattr(make_settings(Settings, {key: text}), key)
    assert read == value and type(read) is type(value)


def test_unknown_keys_are_named():
    with pytest.raises(InputError, match="unknown setting cuont; did you mean count?"):
        make_settings(Settings, {"cuont": "1"})
    with pytest.raises(InputError, match="key=value"):
        parse_assignments(["count"])


def test_the_last_value_of_a_key_counts():
    assert parse_assignments(["count=1", "count = 2"]) == {"count": "2"}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("count", True, "count: True is not a whole number"),
        ("count", "many", "count: 'many' is not a whole number"),
        ("count", 3.0, "count: 3.0 is not a whole number"),
        ("count", "٣", "is not a whole number"),
        ("count", [1], r"count: \[1\] is not a whole number"),
        ("count", 2**63, "count: too large; whole numbers are below 2"),
        ("count", "9" * 5000, "count: too large"),
        ("rate", "nan", "rate: 'nan' is not a number"),
        ("rate", float("inf"), "rate: inf is not a number"),
        ("rate", True, "rate: True is not a number"),
        ("fast", 2, "fast: 2 is not true or false"),
        ("fast", "perhaps", "fast: 'perhaps' is not true or false"),
        ("name", None, "name: None is not text"),
        ("limit", "x", "limit: 'x' is not a whole number$"),
        ("amount", [], r"amount: \[\] is not a whole number or text"),
    ],
)
def test_what_is_not_of_the_type_is_refused(key, value, message):
    with pytest.raises(InputError, match=f"{message}") as error:
        make_settings(Settings, {key: value})
    assert len(str(error.value)) < 150


def test_a_class_is_made_of_names_and_values():
    values = {
        "name": "n",
        "part": {"count": "2"},
        "words": ["a", 1],
        "by_name": {"x": ["1"]},
        "anything": {"y": None},
    }
    made = make_settings(Whole, values)
    assert made == Whole("n", Settings(count=2), ["a", "1"], {"x": [1]}, {"y": None})
    assert make_settings(Whole, {"name": "n", "part": made.part}).part is made.part
    for wrong, message in (
        ({}, "top.name: missing"),
        ({"name": "n", "prat": {}}, "unknown setting top.prat; did you mean top.part"),
        (
            {"name": "n", "part": {"cuont": 1}},
            "unknown setting top.part.cuont; did you mean top.part.count",
        ),
        ({"name": "n", "part": {"count": "x"}}, "top.part.count: 'x' is not a whole number"),
        ({"name": "n", "part": 3}, "top.part: 3 is not settings"),
        ({"name": "n", "words": "ab"}, "top.words: 'ab' is not a list"),
        (
            {"name": "n", "by_name": {"x": ["b"]}},
            r"top.by_name.x: ..b.. is not a list of whole numbers",
        ),
        ({"name": "n", "by_name": []}, "is not a mapping of names to values"),
    ):
        with pytest.raises(InputError, match=message):
            make_settings(Whole, wrong, "top")


@pytest.mark.parametrize("kind", SHOWN, ids=lambda kind: kind.__name__)
def test_every_setting_says_what_it_is_in_a_whole_phrase(kind):
    texts = {name: metadata["help"] for name, metadata in metadata_of(kind).items()}
    assert texts.keys() == {field.name for field in fields(kind)}
    for name, text in texts.items():
        assert not text[0].islower() and text[-1] not in ".:" and len(text.split()) > 2, name
        assert text.split()[0] not in (
            "of",
            "for",
            "and",
            "or",
            "as",
            "to",
            "in",
        ), f"{name}: the end of a phrase"
        assert (
            text.count("(") == text.count(")") and text.count("``") % 2 == 0 and "  " not in text
        ), name
    assert ":param" not in kind.__doc__


def test_help_is_that_of_the_class_that_says_most_of_it():
    @dataclass(frozen=True)
    class Base:
        size: int = option(1, "size of it all.")
        depth: int = option(2, "depth of it all.")

    @dataclass(frozen=True)
    class Special(Base):
        size: int = 5
        depth: int = option(6, "depth of this one.")

    texts = [metadata_of(Special)[name]["help"] for name in ("size", "depth")]
    assert texts == ["size of it all.", "depth of this one."]
    assert (Special().size, Special().depth, Special.size) == (5, 6, 5)
    assert asdict(Special()) == {"size": 5, "depth": 6}


def test_of_many_names_an_error_lists_few():
    names = [f"preset_{number}" for number in range(60)] + ["mean_pooling", "a_mean"]
    assert did_you_mean("presett_7", names) == "; did you mean preset_7?"
    assert did_you_mean("mean_of_layers", names) == "; there is a_mean, mean_pooling and 60 more"
    listed = did_you_mean("zzz", names)
    assert listed.count(",") == 7 and listed.endswith(" and 54 more")
    assert did_you_mean("zzz", ["b", "a"]) == "; there is a, b"
