"""``cgbench train`` and ``cgbench train-ensemble``."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cgbench.commands.options import (
    FilesType,
    ModelType,
    Resumable,
    changed_settings,
    choose_device,
    corpus,
    format_option,
    gpus_per_member_option,
    lexicon_option,
    normalisation_of,
    options,
    run_options,
    say_if,
    text_options,
    train_option,
    warn_of,
)
from cgbench.errors import InputError

if TYPE_CHECKING:
    from cgbench.models.config.presets import Preset
    from cgbench.models.external.start import Start
    from cgbench.text.formats import CorpusSpec
    from cgbench.text.normalisation import Normalisation

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


def _texts(
    train: tuple[Path, ...], valid: tuple[Path, ...] | None, given: dict[str, Any]
) -> tuple[CorpusSpec, CorpusSpec | None, Normalisation]:
    """The training and the validation corpus, and how both are normalised."""
    from cgbench.text.inspection import look_at

    spec = corpus(train, given["columns"])
    other = corpus(valid, given["columns"]) if valid else None
    normalisation = normalisation_of(given, spec)
    # What cannot be read is said by the training, in its place among what it checks.
    with contextlib.suppress(InputError):
        warn_of(look_at(spec, [other] if other else [], normalisation))
    return spec, other, normalisation


def _resources(given: dict[str, Any]) -> dict[str, Any]:
    """What a training is given besides text: seed, processes, device, lexicon."""
    return {
        "seed": 1 if given["seed"] is None else given["seed"],
        "engine": given["engine"],
        "device": choose_device(given["device"]),
        "lexicon": given["lexicon"],
    }


@click.command("train", cls=Resumable)
@train_option
@click.option("--valid", type=FilesType(), help="Validation corpus: the best checkpoint is kept.")
@model_options
@click.option("--out", type=PATH, required=True, help="Folder of the checkpoint; also holds the finished steps.")
@click.option("--subwords", type=PATH, help="Use the subwords of this checkpoint.")
@click.option(
    "--init",
    type=ModelType(),
    metavar="MODEL",
    help="Start from this checkpoint, with its subwords, or from a model from outside: hf:ID@REVISION, hf:FOLDER.",
)
@lexicon_option
@click.option("--max-time", metavar="TIME", help="Stop after so long (90m, 1h30m); the same command then goes on.")
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
    init: str | None,
    max_time: str | None,
    config: Path | None,
    assignments: tuple[str, ...],
    dry_run: bool,
    explain: bool,
    form: str,
    **given: Any,
) -> None:
    """Train one model of any architecture by any method. Given again, the command goes on where it was stopped.

    Several processes share the work under torchrun: torchrun --nproc-per-node 4 -m cgbench train ...
    """
    from cgbench.models.training.single import is_first, preset_of, train_single

    checkpoint = Path(init) if init and not init.startswith("hf:") else None
    preset = chosen_preset(
        model, arch, method, config, assignments, preset_of(checkpoint) if checkpoint else _default(init)
    )
    outside, preset = _outside(init, preset)
    summary = train_single(
        preset,
        *_texts(train, valid, given),
        out,
        **_resources(given),
        subwords=subwords,
        init=outside or checkpoint,
        max_seconds=_seconds("--max-time", max_time) if max_time else None,
        dry_run=dry_run,
        say=say_if((explain or dry_run) and is_first()),
    )
    if not summary or not is_first():
        return
    if form == "json":
        click.echo(json.dumps(summary, indent=1))
        return
    from cgbench.tables import render

    of = summary["trained"] if summary["finished"] else preset.training.max_updates
    rows = [("updates", f"{summary['updates']:,} of {of:,}")]
    if summary["loss"] is not None:
        rows.append(("training loss", f"{summary['loss']:.3f}"))
    rows += [(f"validation {name.replace('_', ' ')}", f"{value:.3f}") for name, value in summary["validation"].items()]
    if not summary["finished"]:
        click.echo(render((), rows) + "\n\nnot finished\nnext:  the same command goes on")
        return
    rows.append(("parameters", f"{summary['parameters']:,}"))
    named = f"--system {_named(outside, preset, out)}" if outside and outside.whole else f"--model {out}"
    whole = preset.training.validate_metric == "exact_match"
    # As validation decodes: a wide beam looks for early ends, which make no whole sentence right.
    search = f" --beam {preset.training.validate_beam}" if whole else ""
    click.echo(
        f"{render((), rows)}\n\nnext:  cgbench translate SOURCE {named}{search} --output HYPOTHESES\n"
        f"       cgbench score {'exact' if whole else 'bleu'} --ref TARGET --hyp HYPOTHESES"
    )


@click.command("train-ensemble", cls=Resumable)
@train_option
@click.option("--valid", type=FilesType(), help="Validation corpus: the best checkpoint of each member is kept.")
@click.option("--members", type=click.IntRange(1), default=4, show_default=True, help="How many, a seed each.")
@model_options
@click.option("--out", type=PATH, required=True, help="Folder of the ensemble; also holds the finished steps.")
@click.option(
    "--init",
    type=ModelType(),
    metavar="MODEL",
    help="Start all members from this model from outside: hf:ID@REVISION, hf:FOLDER.",
)
@lexicon_option
@gpus_per_member_option
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
    init: str | None,
    gpus_per_member: int | None,
    config: Path | None,
    assignments: tuple[str, ...],
    dry_run: bool,
    explain: bool,
    form: str,
    **given: Any,
) -> None:
    """Train models that differ by their seed alone. Given again, the command goes on where it was stopped."""
    from cgbench.models.training.ensemble import build_ensemble, check_processes

    if init and not init.startswith("hf:"):
        raise InputError(
            f"--init {init}: members of an ensemble start from a model from outside: hf:ID@REVISION, hf:FOLDER"
        )
    model = model or (None if arch or init else "small")
    outside, preset = _outside(init, chosen_preset(model, arch, method, config, assignments, _default(init)))
    processes, resources = gpus_per_member or 1, _resources(given)
    check_processes(processes, given["device"], resources["device"])
    summary = build_ensemble(
        preset,
        *_texts(train, valid, given),
        out,
        **resources,
        members=members,
        processes=processes,
        init=outside,
        dry_run=dry_run,
        say=say_if(explain or dry_run),
    )
    if form == "json":
        click.echo(json.dumps(summary, indent=1))
    elif summary:
        from cgbench.tables import render

        head = ("member", "seed", "updates", "parameters")
        rows = [(row["folder"], str(row["seed"]), f"{row['updates']:,}", f"{row['parameters']:,}") for row in summary]
        members_of = " ".join(f"--member {_named(outside, preset, out / row['folder'])}" for row in summary)
        then = (
            f"uncertainty SOURCE {members_of} --output FILE.jsonl"
            if outside and outside.whole
            else f"translate --model {out} < source > hypotheses"
        )
        click.echo(render(head, rows) + f"\n\nnext:  cgbench {then}")


def _named(outside: Start | None, preset: Preset, out: Path) -> str:
    """How commands know a model from outside that was trained into ``out``; an adapter goes with its model."""
    if outside is None or not getattr(preset.model, "adapter_rank", 0):
        return f"hf:{out}"
    given = outside.shown
    return f"'{given}{'&' if '?' in given else '?'}adapter={out}'"


def _default(init: str | None) -> Preset | None:
    """The preset that a model from outside is trained by where none is named."""
    from cgbench.models.external.start import default_preset

    return default_preset() if init and init.startswith("hf:") else None


def _outside(init: str | None, preset: Preset) -> tuple[Start | None, Preset]:
    """The model from outside that training starts from, and the preset with its layers and width."""
    from cgbench.models.external.start import plan_start

    return plan_start(init, preset) if init and init.startswith("hf:") else (None, preset)


def _seconds(option: str, text: str) -> float:
    """A duration such as ``90m``, ``1h30m`` or ``45`` (seconds)."""
    found = re.fullmatch(r"(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s?)?", text.strip())
    total = (
        sum(int(part or 0) * unit for part, unit in zip(found.groups(), (86400, 3600, 60, 1), strict=True))
        if found
        else 0
    )
    if not total:
        raise InputError(f"{option} {text}: write a time such as 90m, 1h30m or 45s")
    return float(total)
