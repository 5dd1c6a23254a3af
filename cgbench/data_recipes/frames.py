"""Prepared data sets as pandas DataFrames."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.arguments import check_flag
from cgbench.data_recipes.prepared import get
from cgbench.data_recipes.registry import find_recipe
from cgbench.engines import Engine, Local
from cgbench.errors import InputError, argument, require
from cgbench.settings import did_you_mean
from cgbench.text.streams import read_lines

if TYPE_CHECKING:
    from pandas import DataFrame


def load_data(
    name: str,
    split: str | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    mirror: str | None = None,
    offline: bool = False,
    jobs: int | None = None,
    engine: Engine | None = None,
    say: Callable[[str], None] | None = None,
) -> DataFrame | dict[str, DataFrame]:
    """A data set of the field as DataFrames, a row an example, a column a side (``in``, ``out``; ``de``, ``en``).

    It is prepared as ``cgbench data get`` does it, and kept.

    :param name: such as ``scan``; ``cgbench data list`` has all.
    :param split: one split, such as ``length/test``; else all of them, by name.
    :param out: the folder of the prepared set (default: ``data/NAME``, as that command).
    :param mirror: a folder or an address that has the sources; ``offline``: use no network.
    :param jobs: worker processes (default: the cores); ``engine``: where they run, if not here.
    :param say: receives a line about what is done.
    :raises InputError: there is no such set or split, its sources cannot be had, or pandas is not installed.
    """
    pandas = require("pandas", "analysis")
    check_flag(offline=offline)
    recipe = find_recipe(name)
    names = [one.name for one in recipe.splits]
    if split is not None and split not in names:
        raise InputError(f"{name}: {argument('split', split)}{did_you_mean(split, names)}")
    folder = Path(out) if out is not None else Path("data") / recipe.name
    record = get(recipe, folder, mirror=mirror, offline=offline, engine=engine or Local(jobs), say=say).record
    if split is not None and split not in record["splits"]:
        raise InputError(f"{name}: {split} could not be prepared; cgbench data get {name} says what is missing")
    frames = {
        one: _frame(pandas, folder, one, facts)
        for one, facts in record["splits"].items()
        if split in (None, one)
    }  # fmt: skip
    return frames if split is None else frames[split]


def _frame(pandas: Any, folder: Path, split: str, facts: dict[str, Any]) -> DataFrame:
    columns = {file.removeprefix(f"{split}."): list(read_lines(folder / file)) for file in facts["files"]}
    if any(len(lines) != facts["rows"] for lines in columns.values()):
        raise InputError(f"{folder / facts['files'][0]}: an example takes several lines there; read the file itself")
    return pandas.DataFrame(columns)
