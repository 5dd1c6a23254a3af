"""Recipes of installed packages (tests/examples/own_recipe.py is the one that the documentation
shows).
"""

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from cgbench.data_recipes import registry
from cgbench.data_recipes.prepared import get
from cgbench.data_recipes.registry import find_recipe, recipes
from cgbench.errors import InputError, InputWarning

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def installed(monkeypatch):
    """Install a package that has these entry points."""
    monkeypatch.syspath_prepend(EXAMPLES)

    def install(name="toy-numbers", value="own_recipe:RECIPE"):
        found = EntryPoints([EntryPoint(name, value, "cgbench.recipes")])
        monkeypatch.setattr(registry, "entry_points", lambda group: found.select(group=group))

    yield install
    sys.modules.pop("own_recipe", None)


def test_a_recipe_of_a_package_is_listed_found_and_prepared(installed, run, tmp_path):
    installed()
    (tmp_path / "mirror" / "toy-numbers").mkdir(parents=True)
    for part, text in (("train", "one\t1\ntwo\t2\n"), ("test", "three\t3\n")):
        (tmp_path / "mirror" / "toy-numbers" / f"{part}.tsv").write_text(text)
    assert list(recipes())[-1] == "toy-numbers"
    assert (
        "toy-numbers" in run("data", "list").stdout
        and "Doe, Toy" in run("data", "describe", "toy-numbers").stdout
    )
    record = get(
        find_recipe("toy-numbers"), tmp_path / "out", mirror=str(tmp_path / "mirror")
    ).record
    assert record["missing"] == [] and (tmp_path / "out" / "train.tgt").read_text() == "1\n2\n"


def test_the_documentation_shows_the_example():
    page = (EXAMPLES.parents[1] / "docs/how-to/add-a-recipe.md").read_text()
    assert (EXAMPLES / "own_recipe.py").read_text().split('"""\n\n', 1)[1] in page


@pytest.mark.parametrize(
    "value", ["no_such_package:RECIPE", "own_recipe:prepare", "own_recipe:NONE"]
)
def test_a_recipe_that_cannot_be_loaded_is_one_line_and_the_others_are_listed(installed, value):
    installed(value=value)
    with pytest.raises(InputError, match="recipe toy-numbers of the entry point"):
        find_recipe("toy-numbers")
    with pytest.warns(InputWarning, match="toy-numbers"):
        assert "scan" in recipes()


def test_a_built_in_recipe_is_not_replaced(installed):
    installed("scan")
    assert find_recipe("scan").name == "scan" and find_recipe("cogs")
