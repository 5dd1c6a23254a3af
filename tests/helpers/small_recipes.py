"""Recipes for small files of the same form as the published ones."""

import hashlib
from dataclasses import replace

from cgbench.data_recipes.recipe import Split
from cgbench.data_recipes.registry import find_recipe


def git_blob(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def lenient(name):
    """A recipe without expected counts and hashes."""
    recipe = find_recipe(name)
    return replace(
        recipe,
        splits=tuple(Split(split.name) for split in recipe.splits),
        sources=tuple(replace(source, hashes=()) for source in recipe.sources),
    )
