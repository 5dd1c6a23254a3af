"""Recipes by name: built-in ones, and those of installed packages (entry point
``cgbench.recipes``).
"""

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from cgbench.data_recipes.recipe import Recipe
from cgbench.errors import InputError, warn
from cgbench.settings import did_you_mean

GROUP = "cgbench.recipes"
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
)


@cache
def built_in() -> dict[str, Recipe]:
    """The recipes of this package, in display order."""
    groups = [import_module(f"cgbench.data_recipes.{module}").RECIPES for module in MODULES]
    return {recipe.name: recipe for group in groups for recipe in group}


def recipes() -> dict[str, Recipe]:
    """All recipes: the built-in ones, then those of installed packages.

    Warns of one that cannot be loaded.
    """
    by_name = dict(built_in())
    for entry in entry_points(group=GROUP):
        try:
            by_name.setdefault(entry.name, _load(entry))
        except InputError as error:
            warn(str(error))
    return by_name


def find_recipe(name: str) -> Recipe:
    """The recipe called ``name``; a built-in one takes precedence over one of an installed package.

    :raises InputError: there is none, or it cannot be loaded.
    """
    if name in built_in():
        return built_in()[name]
    added = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name in added:
        return _load(added[name])
    raise InputError(f"no recipe is called {name}{did_you_mean(name, [*built_in(), *added])}")


def _load(entry: EntryPoint) -> Recipe:
    where = f"recipe {entry.name} of the entry point {entry.value}"
    try:
        recipe = entry.load()
    except Exception as error:  # code of another package
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{where}: cannot be loaded ({reason})") from None
    if not isinstance(recipe, Recipe) or recipe.name != entry.name:
        raise InputError(
            f"{where}: {recipe!r:.60} is not a cgbench.data_recipes.recipe.Recipe with that name"
        )
    return recipe
