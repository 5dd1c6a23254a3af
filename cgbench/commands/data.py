"""The ``cgbench data`` commands: list, describe and prepare data sets."""

import textwrap

import click

from cgbench.commands.command import Command, Group, Resumable, format_option
from cgbench.commands.lines import note, print_json, show
from cgbench.commands.options import takes
from cgbench.data_recipes.prepared import DataRequest, get_data
from cgbench.data_recipes.registry import find_recipe, recipes
from cgbench.numbers_as_text import counted
from cgbench.request import changed
from cgbench.tables import render
from cgbench.terminal import columns

SHOWN = 6  # missing splits or files that are named


@click.group("data", cls=Group, example="cgbench data get scan --out data/scan")
def data_group() -> None:
    """Download and prepare published data sets."""


@data_group.command("list", cls=Command, example="cgbench data list")
@format_option
def list_command(form: str) -> None:
    """List the data sets with their size and licence."""
    keys = ("name", "summary", "size", "download", "licence", "homepage")
    rows = [{key: getattr(recipe, key) for key in keys} for recipe in recipes().values()]
    table = [
        (row["name"], row["summary"], row["size"], row["download"] or "?", row["licence"])
        for row in rows
    ]
    show(form, rows, render(("name", "contents", "size", "download", "licence"), table, left=5))


@data_group.command("describe", cls=Command, example="cgbench data describe scan")
@click.argument("name")
@format_option
def describe_command(name: str, form: str) -> None:
    """Show the splits, sources, licence and citation of a data set."""
    recipe = find_recipe(name)
    if form == "json":
        print_json(recipe.describe())
        return
    facts = (
        ("size", recipe.size),
        ("download", recipe.download or "not known"),
        ("licence", recipe.licence),
        ("cite", recipe.citation),
        ("home", recipe.homepage),
        ("files", "<split>." + ", <split>.".join(recipe.sides)),
        *(("form", f"{form}: {summary}") for form, summary in recipe.forms.items()),
        *(("note", text) for text in recipe.notes),
    )
    click.echo(f"{recipe.name}: {recipe.summary}\n")
    for fact, text in facts:
        click.echo(
            textwrap.fill(
                f"{fact:10}{text}", columns(), subsequent_indent=" " * 10, break_long_words=False
            )
        )
    click.echo()
    click.echo(
        render(("split", "rows"), _by_folder({split.name: split.rows for split in recipe.splits}))
    )
    direct = [source for source in recipe.sources if not source.archive]
    if direct:
        click.echo("\nsources, and their places in a mirror:")
    for source in direct:
        members = sum(member.archive == source.name for member in recipe.sources)
        contents = (
            f" (holds {members} files, which a mirror may also have unpacked)" if members else ""
        )
        click.echo(f"  {source.place}{contents}\n    {source.url or source.by_hand}")
        click.echo(f"    {', '.join(source.hashes) or 'no known hash'}")


@data_group.command("get", cls=Resumable, example="cgbench data get scan --out data/scan")
@click.argument("name")
@takes(DataRequest, but=("engine",))
@format_option
def get_command(request: DataRequest, form: str) -> None:
    """Download or generate a data set, check it, and write it as aligned plain text.

    The same command resumes an interrupted download. A complete, unchanged data set is kept.
    """
    name, out, recipe = request.name, request.folder, find_recipe(request.name)
    prepared = get_data(changed(request, say=None if form == "json" else note))
    record = prepared.record
    # name the missing splits and files
    if missing := record["missing"]:
        note(
            f"warning: {len(missing)} of {len(recipe.splits)} splits are missing: {_some(missing)}"
        )
        for way in prepared.to_get[:SHOWN]:
            note(f"  {way}")
        if len(prepared.to_get) > SHOWN:
            note(
                f"  and {len(prepared.to_get) - SHOWN} more files: see cgbench data describe {name}"
            )
    if lacking := record["missing_files"]:
        are_missing = (
            f"{counted(len(lacking), 'additional file')} {'is' if len(lacking) == 1 else 'are'}"
            " missing"
        )
        note(f"{are_missing}: {_some(lacking)}; cgbench data describe {name} lists the sources")
    if form == "json":
        print_json({"out": str(out), "made": prepared.made, **record})
        return
    # print what was written
    rows = {split: facts["rows"] for split, facts in record["splits"].items()}
    click.echo(render(("split", "rows"), _by_folder(rows)))
    split_files = {file for facts in record["splits"].values() for file in facts["files"]}
    if further := sorted(set(record["files"]) - split_files):
        click.echo("\nalso written:  " + "\n               ".join(further))
    if generated := sum(facts["origin"] == "generated" for facts in record["splits"].values()):
        released = "" if generated == len(rows) else ", the others are as released"
        click.echo(f"\n{generated} of {len(rows)} splits are generated{released}")
    click.echo(
        f"\n{'written to' if prepared.made else 'kept:'} {out} (licence: {record['licence']})"
    )


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (
        f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    )


def _by_folder(rows: dict[str, int | None]) -> list[tuple[str, str]]:
    """One line per split; the splits of a subfolder share a line."""
    groups: dict[str, list[str]] = {}
    for name, count in rows.items():
        folder, _, split = name.rpartition("/")
        figure = "?" if count is None else f"{count:,}"
        groups.setdefault(folder or name, []).append(f"{split} {figure}" if folder else figure)
    return [(name, ", ".join(figures)) for name, figures in groups.items()]
