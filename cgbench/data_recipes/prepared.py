"""Prepare a data set atomically, with a record of its origin."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cgbench import __version__
from cgbench.argument_types import Folder, Paths, as_path
from cgbench.checksums import first_damaged
from cgbench.data_recipes.recipe import Recipe
from cgbench.data_recipes.registry import find_recipe
from cgbench.data_recipes.sources import DOWNLOADS, Sources
from cgbench.data_recipes.writer import GENERATED, RELEASED, Writer
from cgbench.engines import Engine
from cgbench.errors import InputError, argument
from cgbench.files import check_shape, file_name, read_json, write_json
from cgbench.locks import replacing
from cgbench.request import KW_ONLY, Request, option
from cgbench.steps import TaskOptions, hash_file

RECORD = "recipe.json"
FORMAT = 1


class Prepared(NamedTuple):
    """The result of :func:`get`.

    :param made: whether the set was written; else it was already there, complete and unchanged.
    :param to_get: how to get missing files.
    """

    record: dict[str, Any]
    made: bool
    to_get: list[str]


class DataRequest(Request):
    """What :func:`get_data` is asked for."""

    name: str = option(
        help="Name of the data set, such as scan (see `cgbench data list`)",
    )
    _: KW_ONLY
    out: Folder | None = option(
        "--out",
        default=None,
        help="Folder of the data set [default: data/NAME, or data/NAME-FORM]",
        group="Output",
    )
    target_form: str = option(
        "--form",
        default="",
        help="Form of the targets, one of those that `cgbench data describe` lists [default: as"
        " published]",
        metavar="FORM",
        group="Output",
    )
    mirror: Paths = option(
        "--mirror",
        default=(),
        help="Take the sources only from this mirror folder; repeatable",
        metavar="FOLDER",
        group="Input",
    )
    offline: bool = option(
        "--offline",
        default=False,
        help="Do not use the network; use earlier downloads, mirror folders and generated data",
        group="Execution",
    )
    tasks: TaskOptions = option(default=TaskOptions(), help="Where tasks run (TaskOptions)")

    @property
    def folder(self) -> Path:
        """The folder of the prepared set."""
        if self.out is not None:
            return as_path(self.out)
        return Path("data") / set_folder(find_recipe(self.name).name, self.target_form)


def set_folder(name: str, form: str) -> str:
    """The usual name of a set's folder."""
    return f"{name}-{form}" if form else name


def get_data(request: DataRequest) -> Prepared:
    """Prepare a data set, or keep the existing one.

    :raises InputError: there is no such set, or as :func:`get`.
    """
    recipe, engine = find_recipe(request.name), request.tasks.workers
    mirror, offline = request.mirror, request.offline
    return get(
        recipe,
        request.folder,
        mirror=mirror,
        offline=offline,
        engine=engine,
        say=request.tasks.say,
        form=request.target_form,
    )


def get(
    recipe: Recipe,
    out: Path,
    *,
    mirror: str | Sequence[str] | None = None,
    offline: bool = False,
    engine: Engine | None = None,
    extras: bool = False,
    say: Callable[[str], None] | None = None,
    form: str = "",
) -> Prepared:
    """Prepare a set in ``out``.

    The folder is written atomically. Downloads are in ``downloads`` in the parent folder.

    :param mirror: see :class:`Sources`, also for ``offline``.
    :param engine: runs a slow preparation in parallel (default: in this process); does not change
        the result.
    :param extras: also download extra files of a generated set, which needs no network otherwise.
    :param form: one of the recipe's forms, instead of the published one.
    :raises InputError: a source is wrong or unavailable, a count differs, or nothing can be
        prepared.
    """
    if form and form not in recipe.forms:
        known = ", ".join(recipe.forms) or "none"
        raise InputError(
            f"{argument('target_form', form)}: {recipe.name} has no such form; there is {known}"
        )
    # never overwrite anything but a prepared set
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: a file; give a folder for the data set")
    if out.is_dir() and any(out.iterdir()) and not (out / RECORD).is_file():
        raise InputError(
            f"{out}: the folder holds something else already; give a new one with {argument('out')}"
        )
    say = say or (lambda line: None)
    downloads = out.parent / DOWNLOADS
    if record := _kept(recipe, out, form):
        return Prepared(record, False, [])
    with replacing(out) as partial:
        work = out.with_name(f".{out.name}.sources")
        writer = Writer(recipe.name, recipe.sides, recipe.splits, partial, say, form)
        with Sources(recipe.sources, downloads, work, mirror, offline, engine, say) as sources:
            recipe.prepare(sources, writer)
            _copy_extras(recipe, sources, writer, extras)
        record = _finish(recipe, writer, sources)
    # list ways to get missing files, except extra ones
    extra_names = {source.name for source in recipe.sources if source.extra}
    ways = {way for name, way in sources.missing.items() if name not in extra_names}
    return Prepared(record, True, sorted(ways) if record["missing"] else [])


def _copy_extras(recipe: Recipe, sources: Sources, out: Writer, download: bool) -> None:
    """Add the available extra files."""
    # a generated set needs no network, so it does not wait for downloads
    fetch = download or not recipe.generates_released
    for source in recipe.sources if out.splits else ():
        if source.extra:
            if paths := sources.find(source.name, fetch=fetch, optional=True):
                out.copy(source.extra, paths[0])
            else:
                out.lacking.append(source.extra)


def read_set_record(folder: Path, recipe: str) -> dict[str, Any]:
    """The checked record of a set prepared by the recipe of this name.

    :raises InputError: it is missing, damaged, or of another recipe.
    """
    path = folder / RECORD
    record = read_json(path)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(
            f"{path}: not a record of cgbench data get in format {FORMAT}; give another"
            f" {argument('out')}"
        )
    if record.get("recipe") != recipe:
        contents = str(record.get("recipe", "something else"))
        raise InputError(
            f"{folder}: contains {contents[:60]}, not {recipe}; give another {argument('out')}"
        )
    remedy = "it is damaged: delete the folder, and run the same command again"
    check_shape(record, _RECORD, path, remedy)
    for split, facts in record["splits"].items():
        for name in facts["files"]:
            if name not in record["files"]:
                raise InputError(
                    f"{path}: splits.{split} lists {name}, which is not in files; {remedy}"
                )
    return record


_RECORD = {
    "revision": int,
    "version": str,
    "licence": str,
    "form?": str,
    "splits": {
        str: {
            "rows": int,
            "origin": lambda value: value in (RELEASED, GENERATED),
            "files": [file_name],
        }
    },
    "missing": [str],
    "missing_files?": [str],
    "notes": [str],
    "files": {
        file_name: (
            lambda value: isinstance(value, str) and bool(re.fullmatch("[0-9a-f]{64}", value))
        )
    },
}


def _kept(recipe: Recipe, out: Path, form: str) -> dict[str, Any] | None:
    """The record of an existing set that is complete, unchanged, and of this recipe; else None.

    :raises InputError: it has another form.
    """
    if not (out / RECORD).is_file():
        return None
    record = read_set_record(out, recipe.name)
    existing_form = record.get("form", "")
    if existing_form != form:
        in_form = f"the form {existing_form}" if existing_form else "its own form"
        raise InputError(
            f"{out}: contains {recipe.name} in {in_form}; give another {argument('out')}"
        )
    current = record["revision"] == recipe.revision and record["version"] == __version__
    # missing or generated files may be available now
    lacking = record["missing"] or record.get("missing_files")
    complete = not lacking and all(
        split["origin"] == RELEASED for split in record["splits"].values()
    )
    return record if current and complete and first_damaged(out, record["files"]) is None else None


def _finish(recipe: Recipe, writer: Writer, sources: Sources) -> dict[str, Any]:
    missing = [split.name for split in recipe.splits if split.name not in writer.splits]
    if not writer.splits:
        ways = sorted(set(sources.missing.values()))
        raise InputError(f"{recipe.name}: nothing can be prepared; {'; '.join(ways)}")
    paths = sorted(path for path in writer.folder.rglob("*") if path.is_file())
    files = {path.relative_to(writer.folder).as_posix(): path for path in paths}
    record = {
        "format": FORMAT,
        "recipe": recipe.name,
        "revision": recipe.revision,
        "version": __version__,
        **{name: getattr(recipe, name) for name in ("licence", "citation", "homepage")},
        **({"form": writer.form} if writer.form else {}),
        "splits": writer.splits,
        "missing": missing,
        "missing_files": writer.lacking,
        "notes": [*recipe.notes, *writer.notes],
        "sources": sources.used,
        "files": {name: writer.hashes.get(name) or hash_file(path) for name, path in files.items()},
    }
    write_json(writer.folder / RECORD, record)
    return record
