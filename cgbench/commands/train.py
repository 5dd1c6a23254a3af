"""The commands around models: train one or an ensemble, translate, average, look inside, list what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cgbench.commands.options import (
    Command,
    FilesType,
    Resumable,
    changed_settings,
    choose_device,
    corpus,
    default_jobs,
    format_option,
    language_pair,
    options,
    run_options,
    say_if,
    text_options,
)
from cgbench.errors import InputError, require

if TYPE_CHECKING:
    from cgbench.models.config.presets import Preset

PATH = click.Path(path_type=Path)
model_options = options(
    click.option("--model", help="Model preset (see cgbench models)."),
    click.option("--arch", help="Another architecture than the preset's; without --model, with its own defaults."),
    click.option("--method", help="Training method: none, seqmix, creg or bow."),
)


def chosen_preset(
    model: str | None,
    arch: str | None,
    method: str | None,
    config: Path | None,
    assignments: tuple[str, ...],
    start: Preset | None = None,
) -> Preset:
    """The preset that the options describe: a preset or an architecture (else ``start``), then every change.

    :raises InputError: something of it does not exist, or does not fit together.
    """
    from cgbench.models.config.presets import architecture_preset, load_preset

    preset = load_preset(model) if model else architecture_preset(arch) if arch else start
    if preset is None:
        raise InputError("name a preset with --model or an architecture with --arch; cgbench models lists them")
    given = {"model.architecture": arch, "method.name": method}
    return preset.replace(changed_settings(config, assignments, **given))


@click.command("train", cls=Resumable)
@click.option("--train", type=FilesType(), required=True, help="Training corpus: two files, or one with both sides.")
@click.option("--valid", type=FilesType(), help="Validation corpus: the best checkpoint is kept.")
@model_options
@click.option("--out", type=PATH, required=True, help="Folder of the checkpoint; also holds the finished steps.")
@click.option("--subwords", type=PATH, help="Use the subwords of this checkpoint.")
@click.option("--init", type=PATH, help="Start from the parameters of this checkpoint, with its subwords.")
@click.option("--lexicon", type=PATH, metavar="F", help="Lexicon of a model that reads one (model.lexicon).")
@click.option("--max-time", metavar="TIME", help="Stop after so long (90m, 1h30m); the same command then goes on.")
@click.option("--tensorboard", is_flag=True, help="Write TensorBoard files into the folder, too.")
@text_options
@run_options
@format_option
def train_command(
    train: tuple[Path, ...],
    valid: tuple[Path, ...] | None,
    model: str | None,
    arch: str | None,
    method: str | None,
    out: Path,
    subwords: Path | None,
    init: Path | None,
    lexicon: Path | None,
    max_time: str | None,
    tensorboard: bool,
    columns: str | None,
    languages: str | None,
    tokenize: str | None,
    lowercase: bool | None,
    config: Path | None,
    assignments: tuple[str, ...],
    seed: int | None,
    jobs: int | None,
    device: str,
    dry_run: bool,
    explain: bool,
    form: str,
) -> None:
    """Train one model of any architecture by any method. Given again, the command goes on where it was stopped.

    Several processes share the work under torchrun: torchrun --nproc-per-node 4 -m cgbench train ...
    """
    from cgbench.models.training.single import is_first, preset_of, train_single
    from cgbench.text.normalisation import Normalisation

    preset = chosen_preset(model, arch, method, config, assignments, preset_of(init) if init else None)
    train_spec = corpus(train, columns)
    summary = train_single(
        preset,
        train_spec,
        corpus(valid, columns) if valid else None,
        Normalisation(tokenize or "none", bool(lowercase), language_pair(languages, train_spec)),
        out,
        seed=1 if seed is None else seed,
        jobs=default_jobs(jobs),
        device=choose_device(device),
        subwords=subwords,
        init=init,
        lexicon=lexicon,
        max_seconds=_seconds("--max-time", max_time) if max_time else None,
        tensorboard=tensorboard,
        dry_run=dry_run,
        say=say_if((explain or dry_run) and is_first()),
    )
    if not summary or not is_first():
        return
    if form == "json":
        click.echo(json.dumps(summary, indent=1))
        return
    from cgbench.tables import render

    rows = [("updates", f"{summary['updates']:,} of {summary['trained']:,}")]
    if summary["loss"] is not None:
        rows.append(("training loss", f"{summary['loss']:.3f}"))
    rows += [(f"validation {name.replace('_', ' ')}", f"{value:.3f}") for name, value in summary["validation"].items()]
    if not summary["finished"]:
        click.echo(render((), rows) + "\n\nnot finished\nnext:  the same command goes on")
        return
    rows.append(("parameters", f"{summary['parameters']:,}"))
    whole = preset.training.validate_metric == "exact_match"
    # As validation decodes: a wide beam looks for early ends, which make no whole sentence right.
    search = f" --beam {preset.training.validate_beam}" if whole else ""
    click.echo(
        f"{render((), rows)}\n\nnext:  cgbench translate SOURCE --model {out}{search} --output HYPOTHESES\n"
        f"       cgbench score {'exact' if whole else 'bleu'} --ref TARGET --hyp HYPOTHESES"
    )


@click.command("train-ensemble", cls=Resumable)
@click.option("--train", type=FilesType(), required=True, help="Training corpus: two files, or one with both sides.")
@click.option("--valid", type=FilesType(), help="Validation corpus: the best checkpoint of each member is kept.")
@click.option("--members", type=click.IntRange(1), default=4, show_default=True, help="How many, a seed each.")
@model_options
@click.option("--out", type=PATH, required=True, help="Folder of the ensemble; also holds the finished steps.")
@click.option("--lexicon", type=PATH, metavar="F", help="Lexicon of a model that reads one (model.lexicon).")
@click.option("--gpu-jobs", type=click.IntRange(1), default=1, show_default=True, help="Members at once on a GPU.")
@text_options
@run_options
@format_option
def train_ensemble_command(
    train: tuple[Path, ...],
    valid: tuple[Path, ...] | None,
    members: int,
    model: str | None,
    arch: str | None,
    method: str | None,
    out: Path,
    lexicon: Path | None,
    gpu_jobs: int,
    columns: str | None,
    languages: str | None,
    tokenize: str | None,
    lowercase: bool | None,
    config: Path | None,
    assignments: tuple[str, ...],
    seed: int | None,
    jobs: int | None,
    device: str,
    dry_run: bool,
    explain: bool,
    form: str,
) -> None:
    """Train models that differ by their seed alone. Given again, the command goes on where it was stopped."""
    from cgbench.models.training.ensemble import build_ensemble
    from cgbench.text.normalisation import Normalisation

    model = model or (None if arch else "small")
    preset = chosen_preset(model, arch, method, config, assignments)
    train_spec = corpus(train, columns)
    summary = build_ensemble(
        preset,
        train_spec,
        corpus(valid, columns) if valid else None,
        Normalisation(tokenize or "none", bool(lowercase), language_pair(languages, train_spec)),
        out,
        members=members,
        seed=1 if seed is None else seed,
        jobs=default_jobs(jobs),
        gpu_jobs=gpu_jobs,
        lexicon=lexicon,
        device=choose_device(device),
        dry_run=dry_run,
        say=say_if(explain or dry_run),
    )
    if form == "json":
        click.echo(json.dumps(summary, indent=1))
    elif summary:
        from cgbench.tables import render

        head = ("member", "seed", "updates", "parameters")
        rows = [(row["folder"], str(row["seed"]), f"{row['updates']:,}", f"{row['parameters']:,}") for row in summary]
        click.echo(render(head, rows) + f"\n\nnext:  cgbench translate --model {out} < source > hypotheses")


@click.command("average", cls=Command)
@click.argument("folders", type=PATH, nargs=-1, required=True, metavar="DIR...")
@click.option("--last", type=click.IntRange(2), metavar="N", help="DIR is a run: average its last N checkpoints.")
@click.option("--out", type=PATH, required=True, help="Folder of the new checkpoint.")
@format_option
def average_command(folders: tuple[Path, ...], last: int | None, out: Path, form: str) -> None:
    """Average the parameters of checkpoints of one run, which often translates a little better than the last one."""
    from cgbench.models.averaging import average, last_checkpoints

    if last is not None:
        if len(folders) != 1:
            raise InputError("--last takes the checkpoints of one run; name one folder")
        folders = tuple(last_checkpoints(folders[0], last))
    record = average(folders, out)
    if len({row["seed"] for row in record}) > 1:
        click.echo(
            "warning: these are of different runs (seeds); a mean of their parameters is hardly a model", err=True
        )
    if form == "json":
        click.echo(json.dumps({"out": str(out), "checkpoints": record}, indent=1))
        return
    from cgbench.tables import render

    rows = [(row["folder"], str(row["seed"]), f"{row['updates']:,}") for row in record]
    click.echo(render(("checkpoint", "seed", "updates"), rows))
    click.echo(f"\nwritten to {out}\nnext:  cgbench translate --model {out} < source > hypotheses")


def _seconds(option: str, text: str) -> float:
    """A duration such as ``90m``, ``1h30m`` or ``45`` (seconds)."""
    found = re.fullmatch(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?", text.strip())
    total = (
        sum(int(part or 0) * unit for part, unit in zip(found.groups(), (86400, 3600, 60, 1), strict=True))
        if found
        else 0
    )
    if not total:
        raise InputError(f"{option} {text}: write a time such as 90m, 1h30m or 45s")
    return float(total)


@click.command("models", cls=Command)
@click.argument("name", required=False)
@click.option("--source-size", type=click.IntRange(4), help="Source dictionary, for the counts (default: published).")
@click.option("--target-size", type=click.IntRange(4), help="Target dictionary, for the counts.")
@click.option("--parameters/--no-parameters", default=True, help="Count parameters, which takes PyTorch and seconds.")
@format_option
def models_command(
    name: str | None, source_size: int | None, target_size: int | None, parameters: bool, form: str
) -> None:
    """List architectures, training methods and presets; with NAME, all settings of one and what they mean."""
    from importlib.util import find_spec

    from cgbench.models.catalogue import catalogue, describe

    if (source_size is None) != (target_size is None):
        raise InputError("--source-size and --target-size belong together; give both")
    sizes = (source_size, target_size) if source_size and target_size else None
    count = parameters and find_spec("torch") is not None
    found = describe(name, sizes, count) if name else catalogue(sizes, count)
    if form == "json":
        click.echo(json.dumps(found, ensure_ascii=False, indent=1))
    elif name:
        _show_model(found)
    else:
        _show_catalogue(found)


def _show_catalogue(found: dict[str, Any]) -> None:
    from cgbench.tables import render

    for kind in ("architectures", "methods"):
        width = max(len(row["name"]) for row in found[kind])
        click.echo(kind)
        for row in found[kind]:
            click.echo(f"  {row['name']:{width}}  {row['summary']} ({row['paper']})")
        click.echo()
    # Text columns are padded here: a table has its figures to the right.
    rows = found["presets"]
    widths = {key: max(len(row[key]) for row in rows) for key in ("architecture", "paper")}
    words = ("architecture".ljust(widths["architecture"]), "from".ljust(widths["paper"]))
    head = ("presets", words[0], "parameters", "without dictionaries", words[1])
    lines = []
    for row in rows:
        total, _, rest = _counts(row)
        architecture, paper = (row[key].ljust(width) for key, width in widths.items())
        lines.append((row["name"], architecture, total, rest, paper))
    click.echo(render(head, lines))
    click.echo("\nnext:  cgbench models NAME, for its settings")


def _show_model(found: dict[str, Any]) -> None:
    import shutil
    import textwrap

    click.echo(f"{found['kind']} {found['name']}" + (f" ({found['paper']})" if found["paper"] else ""))
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    if found["comment"]:
        click.echo(textwrap.fill(found["comment"].replace("``", ""), width))
    if found.get("parameters_without_vocabulary"):
        total, sizes, rest = _counts(found)
        counts = f"{total} with dictionaries of {sizes}; " if total else ""
        click.echo(f"parameters: {counts}{rest} without dictionaries")
    for row in found["settings"]:
        changed = "" if row["value"] == row["default"] else f"   (default: {row['default']})"
        click.echo(f"\n{row['name']}={row['value']}{changed}")
        if row["help"]:
            text = row["help"].replace("``", "")
            click.echo(textwrap.fill(text, width, initial_indent="    ", subsequent_indent="    "))


def _counts(row: dict[str, Any]) -> tuple[str, str, str]:
    """Parameters, sizes of the dictionaries, parameters without them, as text; empty where not known."""
    total, rest = (row[key] for key in ("parameters", "parameters_without_vocabulary"))
    sizes = f"{row['source_size']:,} / {row['target_size']:,}" if row["source_size"] else ""
    return f"{total:,}" if total else "", sizes, f"{rest:,}" if rest else ""


@click.command("inspect", cls=Command)
@click.argument("folder", type=PATH, metavar="DIR")
@click.option("--source", type=PATH, help="Source text that the model reads, where what is shown depends on it (lrf).")
@click.option("--target", type=PATH, help="Its translations, a line a line.")
@click.option("--out", type=PATH, multiple=True, help="Also write a file: .tsv, .json, .png or .svg; repeatable.")
@format_option
def inspect_command(folder: Path, source: Path | None, target: Path | None, out: tuple[Path, ...], form: str) -> None:
    """Show which lower layers the layers of the model in DIR read, and how much: composition and lrf."""
    from cgbench.files import check_output, write_atomic
    from cgbench.models.inspection import inspect_checkpoint, panel_rows

    for path in out:
        check_output(path, [folder])
        if path.suffix not in (".tsv", ".json", ".png", ".svg"):
            raise InputError(f"--out {path}: the name must end in .tsv, .json, .png or .svg")
        if path.suffix in (".png", ".svg"):
            require("matplotlib", "plots")
    if (source is None) != (target is None):
        raise InputError("--source and --target belong together; give both")
    from cgbench.tables import render
    from cgbench.text.formats import CorpusSpec, read_pairs

    panels = inspect_checkpoint(folder, read_pairs(CorpusSpec((source, target))) if source and target else None)
    head = ("panel", "reader", "reads", "weight")
    rows = panel_rows(panels)
    listed = json.dumps([dict(zip(head, row, strict=True)) for row in rows], indent=1)
    for path in out:
        if path.suffix in (".png", ".svg"):
            from cgbench.models.pictures import draw

            write_atomic(path, draw(panels, path.suffix[1:]))
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
