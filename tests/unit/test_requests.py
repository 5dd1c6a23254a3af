"""Requests: the same error for the same mistake, in every field, from Python and from the command
line.
"""

import importlib
import inspect
import math
import pkgutil
import typing
from pathlib import Path
from typing import Literal

import click
import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from request_yaml import to_yaml

import cgbench
from cgbench.argument_types import File, Files, Systems, Text
from cgbench.benchmark.score.evaluation.request import Breakdown
from cgbench.commands.options import takes
from cgbench.errors import InputError
from cgbench.request import (
    KW_ONLY,
    Request,
    accepts,
    changed,
    fields_of,
    given_values,
    leaves_of,
    option,
    read_values,
)


class Job(Request):
    source: Text = option(
        "--source",
        help="A text",
    )
    _: KW_ONLY
    mode: Literal["fast", "slow"] = option(
        "--mode",
        default="fast",
        help="How",
        group="Speed",
    )
    beam: int = option(
        "--beam",
        default=5,
        help="Size of the beam",
        least=1,
        most=100,
        unit="hypotheses",
        group="Speed",
    )
    rate: float | None = option(
        "--rate",
        default=None,
        help="A rate",
        least=0,
    )
    orders: list[int] = option(
        "--orders",
        default=(2, 3),
        help="Lengths",
        least=1,
    )
    names: tuple[str, ...] = option(
        "--names",
        default=(),
        help="Names",
    )
    deep: bool = option(
        "--deep",
        default=False,
        help="Whether deep",
    )
    table: File | None = option(
        "--rows",
        default=None,
        help="A table",
    )
    merges: int = option(
        "--set merges",
        default=10,
        help="Merges",
    )


@accepts(Job)
def do(job: Job) -> Job:
    """Do it."""
    return job


def test_values_are_converted_once():
    made = do(
        ["a"], beam=np.int64(3), rate="0.5", orders=[2, np.int32(5)], deep=np.True_, merges="1_000"
    )
    assert (made.beam, made.rate, made.orders, made.deep, made.merges) == (
        3,
        0.5,
        [2, 5],
        True,
        1000,
    )
    assert made.mode == "fast" and made.given >= {"beam", "rate"} and "mode" not in made.given
    assert do(made) is made
    assert list(inspect.signature(do).parameters)[:2] == ["source", "mode"]
    assert ":param beam: Size of the beam" in do.__doc__
    # A part shows its fields too, not (*values, **keywords).
    assert list(inspect.signature(Breakdown).parameters)[:2] == ["by", "bins"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"beam": 0}, "beam=0: it must be a whole number from 1 to 100"),
        ({"beam": 2.5}, "beam=2.5: it must be a whole number from 1 to 100"),
        ({"beam": True}, "beam=True: it must be a whole number from 1 to 100"),
        ({"beam": None}, "beam=None: it must be a whole number from 1 to 100"),
        ({"rate": math.nan}, "rate=nan: it must be a number, at least 0"),
        ({"rate": -1}, "rate=-1: it must be a number, at least 0"),
        ({"mode": "fats"}, "mode='fats': it must be one of fast, slow; did you mean fast?"),
        ({"orders": [0]}, "orders=[0]: it must be a list of whole numbers, at least 1"),
        ({"names": 5}, "names=5: it must be a list of text"),
        ({"deep": "perhaps"}, "deep='perhaps': it must be true or false"),
        ({"source": 5}, "source=5: it must be the name of a file, or a list of strings"),
        ({"beem": 5}, "beem: there is no such argument; did you mean beam?"),
    ],
)
def test_a_wrong_value_names_its_field(values, said):
    with pytest.raises(InputError) as error:
        do(**{"source": ["a"], **values})
    assert str(error.value) == said


def test_too_few_and_too_many():
    with pytest.raises(InputError, match="source: it is missing"):
        do()
    with pytest.raises(InputError, match="2 arguments without a name; name those after source"):
        do(["a"], 3)
    with pytest.raises(InputError, match="source: it is given twice"):
        do(["a"], source=["b"])


def test_a_command_has_the_fields_as_options(run_command):
    @click.command()
    @takes(Job)
    def job(made: Job) -> None:
        click.echo(
            f"{made.source} {made.beam} {made.orders} {made.names} {made.deep} {made.table}"
            f" {made.merges}"
        )

    words = [
        "--source",
        "f",
        "--beam",
        "3",
        "--orders",
        "2,5",
        "--names",
        "a",
        "--names",
        "b",
        "--deep",
        "--rows",
        "t",
    ]
    assert (
        run_command(job, [*words, "--set", "merges=7"]).output == "f 3 [2, 5] ('a', 'b') True t 7\n"
    )
    page = run_command(job, ["--help"]).output
    assert "--mode [fast|slow]" in page and "[default: 5]" in page and "--merges" not in page


class Comparing(Request):
    _: KW_ONLY
    paired: Literal["bootstrap", "mcnemar"] | None = option(
        "--paired",
        default=None,
        help="Test",
        group="Tests",
    )
    samples: int = option(
        "--resamples",
        default=1000,
        help="Number of resamples",
        least=1,
    )
    seed: int = option(
        "--set seed",
        default=1,
        help="Random seed",
    )


class Controlling(Request):
    references: Text = option(
        "--control-ref",
        help="Control references",
        group="Control",
    )
    _: KW_ONLY
    strict: bool = option(
        "--strict",
        default=False,
        help="Whether strict",
    )


class Scoring(Request):
    systems: Systems = option(
        "--hyp",
        help="Hypotheses",
    )
    _: KW_ONLY
    by: str | None = option(
        "--by",
        default=None,
        help="Bins",
    )
    tables: Files | None = option(
        "--tables",
        default=None,
        help="Tables",
    )
    comparison: Comparing = option(
        default=Comparing(),
        help="How systems are compared",
        group="Comparison",
    )
    control: Controlling | None = option(
        "--control",
        default=None,
        help="A control set",
        group="Control",
    )


@accepts(Scoring)
def measure(scoring: Scoring) -> Scoring:
    """Measure it."""
    return scoring


def test_a_part_is_an_instance_or_a_mapping():
    plain = measure(["a"])
    assert (
        plain.comparison == Comparing()
        and plain.comparison.samples == 1000
        and plain.control is None
    )
    for values in (
        {"comparison": Comparing(samples=5)},
        {"comparison": {"samples": "5"}},
        {"samples": 5},
    ):
        assert measure(["a"], **values).comparison == Comparing(samples=5)
    assert measure(["a"], comparison=Comparing(samples=5)) != plain
    assert measure(["a"], control={"references": "r"}).control.references == "r"
    for values, message in (
        (
            {"comparison": 5},
            r"comparison=5: it must be Comparing\(\.\.\.\), or a mapping of its arguments",
        ),
        ({"comparison": None}, "comparison=None: it must be Comparing"),
        ({"comparison": {"samples": 0}}, "samples=0: it must be a whole number, at least 1"),
        (
            {"comparison": {"sampels": 3}},
            "sampels: there is no such argument; did you mean samples?",
        ),
        (
            {"control": {}},
            "references: it is missing; it must be the name of a file, or a list of strings",
        ),
        ({"sampels": 3}, "sampels: there is no such argument; did you mean samples?"),
    ):
        with pytest.raises(InputError, match=f"^{message}"):
            measure(["a"], **values)


def test_the_fields_of_parts_are_flat_on_the_command_line(run_command, tmp_path):
    @click.command()
    @takes(Scoring)
    def score(made: Scoring) -> None:
        click.echo(to_yaml(made))

    page = run_command(score, ["--help"]).output
    assert "--resamples N" in page and "--control-ref FILE" in page and "--comparison" not in page
    assert {leaf.name: leaf.group for leaf in leaves_of(Scoring).values()} == {
        "systems": "",
        "by": "",
        "tables": "",
        "paired": "Tests",
        "samples": "Comparison",
        "seed": "Comparison",
        "references": "Control",
        "strict": "Control",
    }
    words = ["--hyp", "a=x", "--resamples", "7", "--set", "seed=4"]
    assert run_command(score, words).output == "systems:\n  a:\n  - x\nsamples: 7\nseed: 4\n\n"
    (tmp_path / "s.yaml").write_text(
        "comparison: {samples: 3, paired: mcnemar}\ncomparison.seed: 5\nstrict: true\n"
    )
    words += ["--config", tmp_path / "s.yaml"]
    printed = yaml.safe_load(run_command(score, [*words, "--control-ref", "r"]).output)
    values = {"paired": "mcnemar", "samples": 7, "seed": 4, "references": "r", "strict": True}
    assert printed == {"systems": {"a": ["x"]}} | values
    assert (
        str(run_command(score, words).exception)
        == "references: it is missing; it must be the name of a file, or a list of strings"
    )


def test_given_values_of_parts():
    made = measure(["a"], comparison={"samples": 5}, control=Controlling("r"))
    assert made.given == {"systems", "comparison", "control"} and made.comparison.given == {
        "samples"
    }
    assert given_values(made) == {"systems": ["a"], "samples": 5, "references": "r"}
    again = changed(made, seed=3, by="length")
    assert (again.comparison.samples, again.comparison.seed, again.by) == (5, 3, "length")
    assert Scoring(**given_values(made), **{"comparison.seed": 3, "by": "length"}) == again
    assert measure(["a"], samples=3, **{"comparison.samples": 4}).comparison.samples == 4


@pytest.mark.parametrize(
    "values",
    [
        {"systems": "x"},
        {
            "systems": {"a": [Path("x"), "y"], "b: c": ["010"]},
            "by": "1/30",
            "tables": (Path("t"), "yes"),
        },
        {"systems": ["a", "b"], "comparison": Comparing(paired="mcnemar", samples=3)},
        {"systems": ["ä", "- b", "2020-01-01"], "control": Controlling("r", strict=True)},
        {"systems": ["a"], "comparison": {}, "control": None, "by": None},
    ],
)
def test_a_request_written_to_yaml_and_read_again_is_equal(values, tmp_path):
    made = Scoring(**values)
    (tmp_path / "request.yaml").write_text(to_yaml(made), encoding="utf-8")
    again = Scoring(**read_values(Scoring, tmp_path / "request.yaml"))
    assert again.given <= made.given
    assert to_yaml(again) == to_yaml(made)


@pytest.mark.parametrize(
    ("name", "most", "values"),
    [
        (
            "build_react",
            18,
            {
                "train": ["a"],
                "pools": "p",
                "out": Path("o"),
                "preset": "demo",
                "candidates": "1/4",
                "min_length": 2,
                "device": "cpu",
                "training.max_updates": 5,
                "licence": "MIT",
            },
        ),
        (
            "translate",
            14,
            {"sources": "s", "beam": 2, "prompt": ["{source}"], "dry_run": True, "nbest": 2},
        ),
        (
            "train",
            14,
            {
                "corpus": ["a", "b"],
                "out": "o",
                "arch": "lstm",
                "lowercase": True,
                "training.patience": 1,
            },
        ),
        ("train_ensemble", 14, {"corpus": ["a", "b"], "out": "o", "members": 3, "jobs": 2}),
    ],
)
def test_requests_of_several_parts(name, most, values, tmp_path):
    function = getattr(cgbench, name)
    assert len(inspect.signature(function).parameters) <= most + 1  # and the fields of parts
    kind = typing.get_type_hints(function.__wrapped__)["request"]
    made = kind(**values)
    (tmp_path / "request.yaml").write_text(to_yaml(made), encoding="utf-8")
    assert to_yaml(kind(**read_values(kind, tmp_path / "request.yaml"))) == to_yaml(made)
    assert len(given_values(made)) == len(values)
    assert changed(made, preset="small") != made if name == "build_react" else changed(made) == made


def test_yaml_is_flattened_and_never_executed(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("samples: 5\ntraining:\n  max_updates: 7\n")
    assert read_values(Scoring, path) == {"samples": 5, "training.max_updates": 7}
    for text, name in (
        ("training.max_updates: 5\ntraining:\n  max_updates: 7\n", "training.max_updates"),
        ("samples: 1\ncomparison: {samples: 2}\n", "samples"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=rf"a\.yaml: {name} is set twice; keep one"):
            read_values(Scoring, path)
    for text in ("!!python/object/apply:os.system ['true']", "- a\n- b\n", "a: [", ""):
        path.write_text(text)
        with pytest.raises(InputError, match=r"a\.yaml"):
            read_values(Scoring, path)


def test_two_fields_of_one_name_are_refused():
    class Twice(Request):
        comparison: Comparing = option(
            default=Comparing(),
            help="Comparison",
        )
        again: Comparing = option(
            default=Comparing(),
            help="The same",
        )

    with pytest.raises(TypeError, match="two fields are called paired"):
        leaves_of(Twice)


@pytest.fixture
def run_command():
    return lambda command, words: CliRunner().invoke(command, list(map(str, words)))


def _requests():
    """Every request of the package."""
    for module in pkgutil.walk_packages(cgbench.__path__, "cgbench."):
        path = module.module_finder.find_spec(module.name).origin
        if "from cgbench.request import" in Path(path).read_text(encoding="utf-8"):
            importlib.import_module(module.name)
    kinds = [Request]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return [kind for kind in dict.fromkeys(kinds) if kind.__module__.startswith("cgbench.")][1:]


def _plausible(field):
    """A value of a required field, without a look at its meaning."""
    if field.part:
        leaves = leaves_of(field.part).values()
        return {leaf.name: _plausible(leaf) for leaf in leaves if leaf.required}
    return field.choices[0] if field.choices else "text"


@pytest.mark.parametrize("kind", _requests(), ids=lambda kind: kind.__name__)
def test_every_field_of_every_request_refuses_what_it_is_not(kind):
    fields = fields_of(kind)
    assert fields and list(fields) == [*dict.fromkeys(fields)]
    others = {field.name: _plausible(field) for field in fields.values() if field.required}
    for field in fields.values():
        assert field.help and field.help[-1] not in ".:", field.name
        wrong = [object()]
        if not field.kind:
            parts = field.allowed
            wrong += [math.nan] if "number" in parts else []
            wrong += [field.range.least - 1] if field.range.least is not None else []
            wrong += [field.range.most + 1] if field.range.most is not None else []
            wrong += ["no such choice"] if field.choices else []
            wrong += [""] if (field.choices or "number" in parts) and not field.takes_none else []
        wrong += [] if field.takes_none else [None]
        for value in wrong:
            with pytest.raises(InputError) as error:
                kind(
                    **{field.name: value} | others | {field.name: value}
                )  # it is read first, or fails alone
            assert str(error.value).startswith(f"{field.name}="), (
                field.name,
                value,
                str(error.value),
            )
            assert "it must be" in str(error.value)


def test_every_request_has_a_table_in_the_reference():
    pages = (Path(__file__).parents[2] / "docs/reference/options").glob("*.md")
    page = "".join(path.read_text(encoding="utf-8") for path in pages)
    for kind in (
        kind for kind in _requests() if kind.__name__.endswith("Request")
    ):  # others are shared fields
        assert f"<!-- request: {kind.__module__}.{kind.__name__} -->" in page
