"""Records: what they share with frozen dataclasses, and that starts need no dataclass."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from dataclasses import KW_ONLY, FrozenInstanceError, asdict, dataclass, field, replace
from typing import Any

import pytest

from cgbench.records import Record


class Point(Record):
    """A record."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list, compare=False)
    _: KW_ONLY
    name: str = field(default="", repr=False)


@dataclass(frozen=True)
class PlainPoint:
    """The same by dataclasses."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list, compare=False)
    _: KW_ONLY
    name: str = field(default="", repr=False)


class Named(Point):
    """A record that inherits fields, in the order of dataclasses."""

    name: str = "named"
    z: float = 0.5

    def __post_init__(self) -> None:
        if self.z < 0:
            raise ValueError("z is negative")


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, 3, ["a"]), {}),
    ((1,), {"name": "a"}),
    ((), {"y": 5, "x": 4, "name": "b"}),
    ((), {}),
    ((1,), {"x": 1}),
    ((1, 2, [], "a"), {}),
    ((1,), {"z": 1}),
]


@pytest.mark.parametrize(("values", "named"), CALLS)
def test_a_record_takes_the_arguments_of_a_dataclass(values, named):
    try:
        expected = PlainPoint(*values, **named)
    except TypeError:
        with pytest.raises(TypeError):
            Point(*values, **named)
        return
    point = Point(*values, **named)
    assert asdict(point) == asdict(expected)
    assert repr(point) == repr(expected).removeprefix("Plain")
    assert hash(point) == hash(expected)
    signature = str(inspect.signature(PlainPoint)).removesuffix(" -> None")
    assert str(inspect.signature(Point)) == signature


def test_records_are_equal_by_their_values_and_class():
    assert Point(1) == Point(1, 2, ["not compared"])
    assert Point(1) != Point(1, name="other")
    assert Point(1) != PlainPoint(1)
    assert Point(1) != Named(1)


def test_a_factory_is_called_for_each_record():
    assert Point(1).tags is not Point(1).tags


def test_a_record_does_not_change():
    point = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    assert replace(point, x=5) == Point(5)


def test_a_record_is_copied_and_sent_to_another_process():
    point = Named(1, tags=["a"], z=2.0)
    assert pickle.loads(pickle.dumps(point)) == copy.deepcopy(point) == point
    assert [f.name for f in dataclasses.fields(point)] == ["x", "y", "tags", "name", "z"]


def test_values_are_checked():
    with pytest.raises(ValueError, match="z is negative"):
        Named(1, z=-1.0)


@pytest.mark.parametrize("command", ["--help", "score exact --help", "score bleu --help"])
def test_a_start_makes_no_frozen_dataclass(command):
    code = (
        "import dataclasses, sys; from cgbench.cli import main;"
        " main(sys.argv[1:], standalone_mode=False);"
        " print(*{f'{kind.__module__}.{kind.__name__}' for name, module in [*sys.modules.items()]"
        " if name.startswith('cgbench') for kind in vars(module).values()"
        " if isinstance(kind, type) and dataclasses.is_dataclass(kind)"
        " and kind.__dataclass_params__.frozen})"
    )
    process = [sys.executable, "-c", code, *command.split()]
    done = subprocess.run(process, capture_output=True, text=True, check=True)
    assert not done.stdout.splitlines()[-1]
