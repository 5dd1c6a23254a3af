"""``cgbench train`` and ``cgbench train-ensemble``."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from cgbench.commands.click_types import corpus_words
from cgbench.commands.command import (
    Resumable,
    format_option,
)
from cgbench.commands.lines import note, print_json
from cgbench.commands.options import takes
from cgbench.models.config.presets import Preset
from cgbench.models.external.start import Start
from cgbench.models.training.request import EnsembleRequest, TrainingOptions, TrainRequest, begin
from cgbench.request import changed
from cgbench.tables import render

EXAMPLE = (
    "cgbench train --train train.de train.en --valid dev.de dev.en --model transformer_iwslt --out "
)
READ = {"corpus": corpus_words, "valid": corpus_words}


@click.command("train", cls=Resumable, example=EXAMPLE + "models/run")
@takes(TrainRequest, read=READ)
@format_option
def train_command(request: TrainRequest, form: str) -> None:
    """Train one model. The same command resumes an interrupted training.

    On several GPUs: torchrun --nproc-per-node 4 -m cgbench train ...
    """
    from cgbench.models.training.single import is_first, train_from

    preset, outside = begin(request)
    request = changed(request, say=_say(request) if is_first() else None)
    summary = train_from(preset, outside, request)
    if not summary or not is_first():
        return
    if form == "json":
        print_json(summary)
        return
    out = request.folder
    of = summary["trained"] if summary["finished"] else preset.training.max_updates
    rows = [("updates", f"{summary['updates']:,} of {of:,}")]
    rows += _left_out(summary["pairs"])
    if summary["loss"] is not None:
        rows.append(("training loss", f"{summary['loss']:.3f}"))
    rows += [
        (f"validation {name.replace('_', ' ')}", f"{value:.3f}")
        for name, value in summary["validation"].items()
    ]
    if not summary["finished"]:
        click.echo(render((), rows) + "\n\nnot finished\nnext:  give the same command again")
        return
    rows.append(("parameters", f"{summary['parameters']:,}"))
    model_option = (
        f"--system {_named(outside, preset, out)}"
        if outside and outside.is_whole
        else f"--model {out}"
    )
    is_exact = preset.training.validate_metric == "exact_match"
    # As validation decodes: a wide beam looks for early ends, which make no whole sentence right.
    search = f" --beam {preset.training.validate_beam}" if is_exact else ""
    click.echo(
        f"{render((), rows)}\n\nnext:  cgbench translate SOURCE {model_option}{search} --output"
        f" HYPOTHESES\n       cgbench score {'exact' if is_exact else 'bleu'} --ref TARGET --hyp"
        " HYPOTHESES"
    )


@click.command(
    "train-ensemble",
    cls=Resumable,
    example=EXAMPLE.replace("train ", "train-ensemble ", 1) + "models/ensemble --members 4",
)
@takes(EnsembleRequest, read=READ)
@format_option
def train_ensemble_command(request: EnsembleRequest, form: str) -> None:
    """Train models that differ only in their seed.

    The same command resumes an interrupted training.
    """
    from cgbench.models.training.ensemble_training import train_ensemble_from

    preset, outside = begin(request, "small")
    summary = train_ensemble_from(preset, outside, changed(request, say=_say(request)))
    if form == "json":
        print_json(summary)
    elif summary:
        out = request.folder
        head = ("member", "seed", "updates", "parameters")
        rows = [
            (row["folder"], str(row["seed"]), f"{row['updates']:,}", f"{row['parameters']:,}")
            for row in summary
        ]
        members_of = " ".join(
            f"--member {_named(outside, preset, out / row['folder'])}" for row in summary
        )
        then = (
            f"uncertainty SOURCE {members_of} --output FILE.jsonl"
            if outside and outside.is_whole
            else f"translate --model {out} < source > hypotheses"
        )
        blocks = [render(head, rows), f"next:  cgbench {then}"]
        # Every member is trained on the same pairs.
        if left_out := _left_out(summary[0]["pairs"]):
            blocks.insert(1, render((), left_out))
        click.echo("\n\n".join(blocks))


def _left_out(pairs: Mapping[str, Sequence[int]]) -> list[tuple[str, str]]:
    """A row per set that is not used as a whole."""
    return [
        (f"{name} pairs", f"{used:,} of {all_pairs:,}")
        for name, (used, all_pairs) in pairs.items()
        if used < all_pairs
    ]


def _say(request: TrainingOptions) -> Callable[[str], None] | None:
    """What prints the plan: on standard output where it is the result."""
    execution = request.execution
    return click.echo if execution.dry_run else note if execution.explain else None


def _named(outside: Start | None, preset: Preset, out: Path) -> str:
    """How commands know a model from outside that was trained into ``out``; an adapter goes with
    its model.
    """
    if outside is None or not getattr(preset.model, "adapter_rank", 0):
        return f"hf:{out}"
    address = outside.shown
    return f"'{address}{'&' if '?' in address else '?'}adapter={out}'"
