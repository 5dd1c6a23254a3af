"""Every recipe, by its name."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from cgbench.data_recipes.recipe import Recipe
from cgbench.errors import InputError
from cgbench.settings import did_you_mean

MODULES = (
    "translation",
    "cognition",
    "cogs",
    "scan",
    "pcfg",
    "cfq",
    "smcalflow",
    "mathematics",
    "colors",
    "corpora",
    "cogs_successors",
)


@cache
def recipes() -> dict[str, Recipe]:
    """All recipes, in the order in which they are listed."""
    found = [import_module(f"cgbench.data_recipes.{module}").RECIPES for module in MODULES]
    return {recipe.name: recipe for group in found for recipe in group}


def find_recipe(name: str) -> Recipe:
    """The recipe called ``name``.

    :raises InputError: there is none.
    """
    try:
        return recipes()[name]
    except KeyError:
        raise InputError(f"no recipe is called {name}{did_you_mean(name, recipes())}") from None
