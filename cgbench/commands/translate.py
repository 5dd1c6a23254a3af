"""The command ``cgbench translate``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cgbench.commands.options import (
    Command,
    FilesType,
    ModelType,
    choose_device,
    format_option,
    log_every_option,
    note,
    options,
    prompt_option,
)
from cgbench.errors import InputError
from cgbench.files import check_output, write_atomic
from cgbench.text.columns import read_text
from cgbench.text.streams import is_stdin, shown, split_name

if TYPE_CHECKING:
    from cgbench.models.ensemble import Ensemble, Translation

NAMED = 5  # lines named in a warning

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
@click.option("--model", type=FilesType(many=True), multiple=True, help="A model, an ensemble, or several.")
@click.option(
    "--system", type=ModelType(), metavar="MODEL", help="One from outside: hf:ID@REVISION, hf:FOLDER, openai:URL."
)
@prompt_option
@click.argument("source", type=click.Path(path_type=Path, allow_dash=True), default="-")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write to this file, whole or not at all.")
@search_options
@click.option("--truncate", is_flag=True, help="Cut sentences that are longer than those of training, not refuse them.")
@click.option(
    "--uncertainty", is_flag=True, help="Add the knowledge uncertainty (RMI) after a tab; JSON: all measures."
)
@click.option("--batch-tokens", type=click.IntRange(1), help="Source tokens of a batch (default: by the device).")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@log_every_option
@format_option
def translate_command(
    model: tuple[tuple[Path, ...], ...],
    system: str | None,
    prompt: str | None,
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

    With --system a model or a server from outside translates; given again, the command goes on where it was stopped.
    SOURCE is plain (.gz, .zst too), TABLE:COLUMN, or standard input.
    """
    if nbest and form != "json":
        raise InputError("--nbest lists several hypotheses a line; add --format json")
    if nbest and nbest > beam and not _is_server(system):
        raise InputError(f"--nbest {nbest}: a beam of {beam} finds at most {beam}; raise --beam")
    if bool(model) == bool(system):
        raise InputError("--model or --system: give one of them: what translates is missing, or there twice")
    if system:
        limits = {"max_length_ratio": max_length_ratio, "max_length_extra": max_length_extra}
        search = {"beam": beam, "length_penalty": length_penalty, **limits}
        others = {
            "--uncertainty (cgbench uncertainty has it)": uncertainty,
            "--truncate": truncate,
        }
        if what := next((name for name, given in others.items() if given), None):
            raise InputError(f"{what} belongs to --model, not to --system")
        if _is_server(system):
            _refuse_search()
        return _by_system(system, prompt, source, output, search, nbest, form, device, batch_tokens)
    if prompt is not None:
        raise InputError("--prompt belongs to --system: a checkpoint of cgbench reads the sentence as it is")
    models = [path for paths in model for path in paths]
    if is_stdin(source) and len(models) > 1 and split_name(str(models[-1]))[0].is_file():
        source = models.pop()  # --model takes all the words after it, but a text is no folder
    if output:
        check_output(output, [split_name(source)[0]])
    from cgbench.models.ensemble import Ensemble

    ensemble = Ensemble.open(models, choose_device(device))
    if uncertainty and len(ensemble.members) == 1:
        note(
            "warning: one model: rmi, and whatever else says how far members disagree, is the same for every line but "
            "for rounding; give --model several, or an ensemble"
        )
    lines = list(read_text(source))
    name = shown(source)
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


def _by_system(
    name: str,
    prompt: str | None,
    source: Path,
    output: Path | None,
    search: dict[str, Any],
    nbest: int | None,
    form: str,
    device: str,
    batch_tokens: int | None,
) -> None:
    """Translate by a model or a server from outside."""
    from cgbench.models.external.sidecar import sidecar_path
    from cgbench.models.external.systems import plan_system, translate_text

    if output is None:
        raise InputError("--output: a system from outside needs one: beside it is kept what is done, and what did it")
    check_output(output, [split_name(source)[0]])
    check_output(sidecar_path(output), [split_name(source)[0]])
    system = plan_system(name, prompt)
    lines = list(read_text(source))
    device = "cpu" if _is_server(name) else choose_device(device)
    record = translate_text(
        system, lines, output, search=search, nbest=nbest, form=form, device=device, batch_tokens=batch_tokens
    )
    if record["cut"]:
        limit = "max_tokens=N behind its ?" if _is_server(name) else "--max-length-ratio"
        note(
            f"warning: {record['cut']:,} of {_count(len(lines), 'translation')} were cut short by a limit; see {limit}"
        )

    if missing := record.get("without_text"):
        named = ", ".join(map(str, missing[:NAMED])) + (", ..." if len(missing) > NAMED else "")
        note(
            f"warning: the server gave no text for {len(missing):,} of {_count(len(lines), 'sentence')} "
            f"(line {named}), for example because a filter stopped it: these hypotheses are empty"
        )


def _is_server(system: str | None) -> bool:
    return bool(system) and str(system).startswith("openai:")


def _refuse_search() -> None:
    """Refuse options of the search that somebody has set: a server has a search of its own."""
    context = click.get_current_context()
    names = ("beam", "length_penalty", "max_length_ratio", "max_length_extra", "batch_tokens", "device")
    source = click.core.ParameterSource.DEFAULT
    if found := next((name for name in names if context.get_parameter_source(name) != source), None):
        raise InputError(
            f"--{found.replace('_', '-')} belongs to models that are read here; a server searches as its own settings "
            "say (max_tokens and temperature behind the ? of its address)"
        )


def _check_lengths(ensemble: Ensemble, lines: Sequence[str], name: str, truncate: bool) -> None:
    """Refuse sentences longer than those of training, or warn of them where they are cut."""
    from cgbench.models.lengths import longer_than_trained

    count, said = longer_than_trained(ensemble.subwords, lines, ensemble.max_length)
    if not count:
        return
    if not truncate:
        raise InputError(f"{name}, {said}; cut them with --truncate, or train with a larger training.max_length")
    note(f"warning: {name}, {said}; {_count(count, 'line')} cut")


def _warn_of_unknown(ensemble: Ensemble, lines: Sequence[str], name: str) -> None:
    """Say how many source words are not in the model's dictionary."""
    unknown = list(ensemble.subwords.unknown_source(lines))
    if not unknown:
        return
    line, word = unknown[0]
    words = _count(len(unknown), "character" if ensemble.subwords.unit == "characters" else "word")
    count = _count(len({number for number, _ in unknown}), "line")
    note(
        f"warning: {name}: {words} on {count} that the model does not know, read as <unk>; the first is {word!r} on "
        f"line {line + 1}"
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
    from cgbench.models.search import limits_of

    lengths = ensemble.lengths(lines)
    read = lengths if longest is None else lengths.clip(max=longest)
    limits = limits_of(ensemble.members, read, ratio, extra)
    cut = sum(len(item.tokens) > limit for item, limit in zip(found, limits.tolist(), strict=True))
    if cut:
        note(
            f"warning: {cut:,} of {_count(len(lines), 'translation')} ended at the limit of length; if they should be "
            "longer, raise --max-length-ratio or --max-length-extra"
        )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
