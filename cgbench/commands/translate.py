"""The command ``cgbench translate``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cgbench.commands.options import Command, FilesType, choose_device, format_option, options, read_text
from cgbench.errors import InputError
from cgbench.files import check_output, write_atomic
from cgbench.text.columns import split_name

if TYPE_CHECKING:
    from cgbench.models.ensemble import Ensemble, Translation

search_options = options(
    click.option("--beam", type=click.IntRange(1), default=5, show_default=True, help="Size of the beam; 1 is greedy."),
    click.option("--nbest", type=click.IntRange(1), help="List so many hypotheses of each line (--format json)."),
    click.option(
        "--length-penalty", "--lenpen", type=float, default=1.0, show_default=True,
        help="A score is log-probability / tokens^penalty; below 1 favours short ones.",
    ),
    click.option(
        "--max-length-ratio", type=click.FloatRange(0), default=1.2, show_default=True,
        help="A translation has at most ratio x source tokens + extra tokens.",
    ),
    click.option("--max-length-extra", type=click.IntRange(0), default=10, show_default=True, help="See the ratio."),
)  # fmt: skip


@click.command("translate", cls=Command)
@click.option("--model", type=FilesType(), required=True, multiple=True, help="A model, an ensemble, or several.")
@click.argument("source", type=click.Path(path_type=Path, allow_dash=True), default="-")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write to this file, whole or not at all.")
@search_options
@click.option("--truncate", is_flag=True, help="Cut sentences that are longer than those of training, not refuse them.")
@click.option(
    "--uncertainty", is_flag=True, help="Add the knowledge uncertainty (RMI) after a tab; JSON: all measures."
)
@click.option("--batch-tokens", type=click.IntRange(1), help="Source tokens of a batch (default: by the device).")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@format_option
def translate_command(
    model: tuple[tuple[Path, ...], ...],
    source: Path,
    output: Path | None,
    beam: int,
    nbest: int | None,
    length_penalty: float,
    max_length_ratio: float,
    max_length_extra: int,
    truncate: bool,
    uncertainty: bool,
    batch_tokens: int | None,
    device: str,
    form: str,
) -> None:
    """Translate SOURCE, a sentence a line, by beam search over the mean of the models' probabilities.

    SOURCE is plain (.gz, .zst too), TABLE:COLUMN, or standard input.
    """
    if nbest and form != "json":
        raise InputError("--nbest lists several hypotheses a line; add --format json")
    if nbest and nbest > beam:
        raise InputError(f"--nbest {nbest}: a beam of {beam} finds at most {beam}; raise --beam")
    models = [path for paths in model for path in paths]
    if str(source) == "-" and len(models) > 1 and split_name(str(models[-1]))[0].is_file():
        source = models.pop()  # --model takes all the words after it, but a text is no folder
    if output:
        check_output(output, [source] if str(source) != "-" else [])
    from cgbench.models.ensemble import Ensemble

    ensemble = Ensemble.open(models, choose_device(device))
    lines = list(read_text(source))
    name = "standard input" if str(source) == "-" else str(source)
    _check_lengths(ensemble, lines, name, truncate)
    _warn_of_unknown(ensemble, lines, name)
    longest = ensemble.max_length if truncate else None
    found = ensemble.search(
        lines,
        beam,
        longest=longest,
        max_length_ratio=max_length_ratio,
        max_length_extra=max_length_extra,
        length_penalty=length_penalty,
        batch_tokens=batch_tokens,
        progress=True,
    )
    best = [hypotheses[0] for hypotheses in found]
    _warn_of_cut(ensemble, lines, best, longest, max_length_ratio, max_length_extra)
    measures = {}
    if uncertainty:
        measures = ensemble.score(lines, [item.tokens for item in best], longest=longest, progress=True)
    written = []
    for number, item in enumerate(best):
        if form == "json":
            row: dict = {"hypothesis": item.text, "score": item.score, "log_prob": item.log_prob}
            row |= {measure: float(values[number]) for measure, values in measures.items()}
            if nbest:
                row["nbest"] = [
                    {"hypothesis": other.text, "score": other.score, "log_prob": other.log_prob}
                    for other in found[number][:nbest]
                ]
            written.append(json.dumps(row, ensure_ascii=False))
        else:
            written.append(item.text + (f"\t{measures['rmi'][number]:.6f}" if uncertainty else ""))
    text = "".join(line + "\n" for line in written)
    if output:
        write_atomic(output, text)
    else:
        click.echo(text, nl=False)


def _check_lengths(ensemble: Ensemble, lines: Sequence[str], name: str, truncate: bool) -> None:
    """Refuse sentences longer than those of training, or warn of them where they are cut."""
    lengths = ensemble.lengths(lines)
    over = (lengths > ensemble.max_length).nonzero()[0]
    if not len(over):
        return
    first = over[0]
    said = (
        f"{name}, line {first + 1}: {lengths[first]} {ensemble.subwords.unit} with the end, where the model was "
        f"trained on at most {ensemble.max_length}"
    ) + (f" (and {_count(len(over) - 1, 'more line')})" if len(over) > 1 else "")
    if not truncate:
        raise InputError(f"{said}; cut them with --truncate, or train with a larger training.max_length")
    click.echo(f"warning: {said}; {_count(len(over), 'line')} cut", err=True)


def _warn_of_unknown(ensemble: Ensemble, lines: Sequence[str], name: str) -> None:
    """Say how many source words are not in the model's dictionary."""
    unknown = list(ensemble.subwords.unknown_source(lines))
    if not unknown:
        return
    line, word = unknown[0]
    words = _count(len(unknown), "character" if ensemble.subwords.unit == "characters" else "word")
    count = _count(len({number for number, _ in unknown}), "line")
    click.echo(
        f"warning: {name}: {words} on {count} that the model does not know, read as <unk>; the first is {word!r} on "
        f"line {line + 1}",
        err=True,
    )


def _warn_of_cut(
    ensemble: Ensemble,
    lines: Sequence[str],
    found: Sequence[Translation],
    longest: int | None,
    ratio: float,
    extra: int,
) -> None:
    """Say how many translations the limit of length has ended."""
    from cgbench.models.search import length_limits

    lengths = ensemble.lengths(lines)
    limits = length_limits(lengths if longest is None else lengths.clip(max=longest), ratio, extra)
    cut = sum(len(item.tokens) > limit for item, limit in zip(found, limits.tolist(), strict=True))
    if cut:
        click.echo(
            f"warning: {cut:,} of {_count(len(lines), 'translation')} ended at the limit of length; if they should be "
            "longer, raise --max-length-ratio or --max-length-extra",
            err=True,
        )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
