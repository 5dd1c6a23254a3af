"""Features of ``--by``: their checks, errors and help follow from their declarations."""

import json

import pytest

from cgbench import evaluate
from cgbench.benchmark.score.evaluation.features import BUILT_IN, features_that_take
from cgbench.benchmark.score.evaluation.request import Breakdown, ExampleOptions
from cgbench.errors import InputError
from cgbench.request import fields_of

TEXTS = [f"a text of number {number}" for number in range(12)]
ARGUMENTS = ("side", "train", "min_count", "exposure", "lm", "table")


@pytest.fixture
def table(tmp_path):
    """A table with every column that a feature reads."""
    columns = [column for feature in BUILT_IN for column in feature.columns]
    rows = [dict.fromkeys(columns, number % 3) for number in range(12)]
    path = tmp_path / "table.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize("feature", [one for one in BUILT_IN if one.columns])
def test_a_feature_with_a_column_takes_a_table(feature, table):
    found = evaluate("exact", TEXTS, TEXTS, by=feature.name, examples={"table": table})
    assert [bin_.label for bin_, _ in found.results[0].bins] != []
    assert found.scored.by == feature.name


@pytest.mark.parametrize("feature", BUILT_IN, ids=lambda feature: feature.name)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_is_refused_where_it_has_no_effect(feature, name, table, tmp_path):
    values = {"side": "target", "train": TEXTS, "min_count": 2, "exposure": tmp_path, "lm": table}
    values["table"] = table
    group = {"examples": {name: values[name]}} if name == "table" else None
    group = group or {"breakdown": {name: values[name]}}
    refusal = f"^{name} has no effect on by='{feature.name}'; leave it out"
    if not feature.takes(name):
        with pytest.raises(InputError, match=refusal):
            evaluate("exact", TEXTS, TEXTS, by=feature.name, **group)
        return
    try:
        evaluate("exact", TEXTS, TEXTS, by=feature.name, **group)
    except InputError as error:  # something else that it needs is missing
        assert "has no effect" not in str(error)


@pytest.mark.parametrize("feature", [one for one in BUILT_IN if one.needs or one.columns])
def test_the_error_names_what_is_missing(feature):
    with pytest.raises(InputError, match=f"by='{feature.name}' needs .*; give ") as error:
        evaluate("exact", TEXTS, TEXTS, by=feature.name)
    assert f"give {feature.needs.argument if feature.needs else 'table'}" in str(error.value)


def test_help_names_every_feature_that_an_option_is_for():
    fields = {**fields_of(Breakdown), **fields_of(ExampleOptions)}
    assert all(feature.name in fields["by"].help for feature in BUILT_IN)
    for name in ("train", "min_count", "exposure", "lm", "table"):
        assert f"--by {features_that_take(name)}" in fields[name].help
