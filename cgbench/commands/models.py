"""``cgbench models``: list architectures, methods and presets; show one."""

import textwrap
from importlib.util import find_spec
from typing import Any

import click

from cgbench.commands.command import Command, format_option, print_json
from cgbench.tables import render
from cgbench.terminal import columns


@click.command("models", cls=Command, example="cgbench models transformer_iwslt")
@click.argument("name", required=False)
@format_option
def models_command(name: str | None, form: str) -> None:
    """List architectures, training methods, pipelines and presets, or with NAME the settings of
    one of them.

    With PyTorch installed, the parameters of the model NAME are counted.
    """
    from cgbench.models.catalogue import catalogue, describe_model

    has_torch = find_spec("torch") is not None
    description = describe_model(name, count=has_torch) if name else catalogue()
    if form == "json":
        print_json(description)
    elif name:
        _show_model(description)
    else:
        _show_catalogue(description)


def _show_catalogue(catalogue: dict[str, Any]) -> None:
    for kind in ("architectures", "methods", "pipelines"):
        rows = [(row["name"], f"{row['summary']} ({row['paper']})") for row in catalogue[kind]]
        click.echo(render((kind, "summary"), rows, left=2) + "\n")
    presets = [(row["name"], row["architecture"], row["paper"]) for row in catalogue["presets"]]
    click.echo(render(("presets", "architecture", "paper"), presets, left=3))
    click.echo("\nnext:  cgbench models NAME, for its settings")


def _show_model(model: dict[str, Any]) -> None:
    click.echo(
        f"{model['kind']} {model['name']}" + (f" ({model['paper']})" if model["paper"] else "")
    )
    width = min(columns(), 120)
    if model["comment"]:
        click.echo(textwrap.fill(model["comment"].replace("``", ""), width))
    if without := model.get("parameters_without_vocabulary"):
        total = (
            "{parameters:,} with vocabularies of {source_size:,} / {target_size:,}; "
            if model["parameters"]
            else ""
        )
        click.echo(f"parameters: {total.format_map(model)}{without:,} without")
    for row in model["settings"]:
        changed = "" if row["value"] == row["default"] else f"   (default: {row['default']})"
        click.echo(f"\n{row['name']}={row['value']}{changed}")
        if row["help"]:
            text = row["help"].replace("``", "")
            click.echo(textwrap.fill(text, width, initial_indent="    ", subsequent_indent="    "))
