"""Prepared data sets as pandas DataFrames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.data_recipes.prepared import DataRequest, get_data
from cgbench.data_recipes.registry import find_recipe
from cgbench.errors import InputError, argument, require
from cgbench.request import KW_ONLY, Request, accepts, option
from cgbench.settings import did_you_mean
from cgbench.text.streams import read_lines

if TYPE_CHECKING:
    from pandas import DataFrame


class LoadRequest(Request):
    """What :func:`load_data` is asked for."""

    data: DataRequest = option(help="The data set (DataRequest)")
    _: KW_ONLY
    split: str | None = option(
        default=None,
        help="Name of one split, such as length/test [default: all splits, by name]",
    )


@accepts(LoadRequest)
def load_data(request: LoadRequest) -> DataFrame | dict[str, DataFrame]:
    """A data set as DataFrames: one row per example, one column per side (``in``, ``out``).

    It is prepared as by ``cgbench data get``, and cached.

    :raises InputError: there is no such set or split, its sources are unavailable, or pandas is not
        installed.
    """
    pandas = require("pandas", "pandas")
    name, split = request.data.name, request.split
    names = [split.name for split in find_recipe(name).splits]
    if split is not None and split not in names:
        raise InputError(f"{name}: {argument('split', split)}{did_you_mean(split, names)}")
    record = get_data(request.data).record
    if split is not None and split not in record["splits"]:
        raise InputError(
            f"{name}: {split} could not be prepared; run cgbench data get {name} for the missing"
            " files"
        )
    frames = {
        prepared: _frame(pandas, request.data.folder, prepared, facts)
        for prepared, facts in record["splits"].items()
        if split in (None, prepared)
    }
    return frames if split is None else frames[split]


def _frame(pandas: Any, folder: Path, split: str, facts: dict[str, Any]) -> DataFrame:
    columns = {
        file.removeprefix(f"{split}."): list(read_lines(folder / file)) for file in facts["files"]
    }
    if any(len(lines) != facts["rows"] for lines in columns.values()):
        raise InputError(
            f"{folder / facts['files'][0]}: examples have several lines; read the file itself"
        )
    return pandas.DataFrame(columns)
