"""``cgbench inspect``: look inside a trained model."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cgbench.commands.options import Command, format_option
from cgbench.errors import InputError

PATH = click.Path(path_type=Path)


@click.command("inspect", cls=Command, example="cgbench inspect models/composition --out weights.svg")
@click.argument("folder", type=PATH, metavar="MODEL")
@click.option("--source", type=PATH, metavar="FILE", help="Source text, which an lrf model needs")
@click.option("--target", type=PATH, metavar="FILE", help="Translations of the source text, one per line")
@click.option(
    "--out",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="Also write a .tsv, .json, .png, .svg or .pdf file; repeatable",
)
@format_option
def inspect_command(folder: Path, source: Path | None, target: Path | None, out: tuple[Path, ...], form: str) -> None:
    """Show the weight of each lower layer in the input of each layer (architectures composition and lrf)."""
    from cgbench.files import check_output, write_atomic
    from cgbench.models.inspection import inspect_checkpoint, panel_rows
    from cgbench.plots import draw_heatmaps, is_picture, save

    pictures = [path for path in out if is_picture(path, f"--out {path}", (".tsv", ".json"))]
    for path in out:
        check_output(path, [folder])
    if (source is None) != (target is None):
        raise InputError("--source and --target belong together; give both")
    from cgbench.tables import render
    from cgbench.text.formats import CorpusSpec, read_pairs

    panels = inspect_checkpoint(folder, read_pairs(CorpusSpec((source, target))) if source and target else None)
    head = ("panel", "reader", "reads", "weight")
    rows = panel_rows(panels)
    listed = json.dumps([dict(zip(head, row, strict=True)) for row in rows], indent=1)
    for path in out:
        if path in pictures:
            save(draw_heatmaps(panels), path)
        else:
            table = render(head, [(*names, f"{weight:.6f}") for *names, weight in rows], "tsv")
            write_atomic(path, (listed if path.suffix == ".json" else table) + "\n")
    if form == "json":
        click.echo(listed)
        return
    tables = [
        render(
            (panel.title, *panel.columns),
            [
                (name, *("" if value != value else f"{value:.3f}" for value in row))
                for name, row in zip(panel.rows, panel.values.tolist(), strict=True)
            ],
        )
        for panel in panels
    ]
    click.echo("\n\n".join(tables) + (f"\n\nwritten to {', '.join(map(str, out))}" if out else ""))
