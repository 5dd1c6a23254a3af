"""Translate a text with a checkpoint, an ensemble or an external system (``cgbench translate``)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cgbench.argument_types import as_path
from cgbench.errors import InputError, argument, warn
from cgbench.files import check_output, write_atomic
from cgbench.models.devices import batches_at_a_time, choose_device
from cgbench.models.server_options import ServerOptions
from cgbench.models.translation_request import TranslateRequest
from cgbench.numbers_as_text import counted
from cgbench.request import accepts, changed, fields_of, given_values
from cgbench.text.inputs import files_of, is_path, lines_of

if TYPE_CHECKING:
    from cgbench.models.ensemble import Ensemble

OF_SEARCH = (
    "beam",
    "length_penalty",
    "max_length_ratio",
    "max_length_extra",
    "batch_tokens",
    "device",
)


@accepts(TranslateRequest)
def translate(request: TranslateRequest) -> list[Any]:
    """Translate sentences by beam search over the mean of the models' probabilities, or with an
    external system.

    A call with ``system`` needs an ``output`` and resumes when it is repeated.

    :returns: the best translation of each sentence; with ``format="json"``, dictionaries
        (docs/reference/formats.md); with several prompts, a list of these per prompt;
        with ``dry_run`` or ``batch_out``, lines that describe what would be sent.
    :raises InputError: a model cannot be read, a sentence is too long, or arguments are
        inconsistent.
    """
    if len(request.prompting.prompt) > 1:
        return [translate(with_prompt) for with_prompt in by_prompt(request)]
    lines = translated(request)
    if request.format == "json" and not request.server.sends_nothing:
        return [json.loads(line) for line in lines]
    return [line.rpartition("\t")[0] for line in lines] if request.uncertainty else lines


def translated(request: TranslateRequest) -> list[str]:
    """The output lines of :func:`translate`, those of several prompts one after another."""
    _check(request)
    if len(request.prompting.prompt) > 1:
        return [
            line
            for with_prompt in by_prompt(request)
            for line in (
                *[f"{with_prompt.output}:"] * request.server.sends_nothing,
                *translated(with_prompt),
            )
        ]
    if request.output is not None:
        check_output(as_path(request.output), files_of(request.sources))
    if request.is_server:
        from cgbench.models.servers.server_translation import translate_by_server

        return translate_by_server(request)
    if request.is_memory:
        from cgbench.models.memory import translate_by_memory

        return translate_by_memory(request)
    if request.system is not None:
        from cgbench.models.external.system_translation import translate_by_system

        return translate_by_system(request, _template(request))
    lines = _by_checkpoints(request)
    if request.output is not None:
        write_atomic(as_path(request.output), "".join(line + "\n" for line in lines))
    return lines


def by_prompt(request: TranslateRequest) -> Iterator[TranslateRequest]:
    """A request for each prompt, with what the earlier ones left of the budget.

    The output ``llm.en`` becomes ``llm.NAME.en``, with the name of the prompt.

    :raises InputError: a prompt is not valid, there is no output, or a batch file would hold
        several prompts.
    """
    from cgbench.models.servers.prompt_templates import read_prompts
    from cgbench.models.servers.server_translation import budget_left

    _check(request)
    if request.server.batch_out is not None or request.server.batch_in:
        raise InputError(
            f"{argument('prompt')}: a batch file has the requests of one prompt; give one at a time"
        )
    output, budget = as_path(request.output or ""), request.server.budget
    remaining = {} if budget is None else {"budget": budget}
    for text, prompt in zip(
        request.prompting.prompt, read_prompts(request.prompting.prompt), strict=True
    ):
        path = output.with_name(f"{output.stem}.{prompt.name}{output.suffix}")
        yield changed(request, prompt=text, output=path, **remaining)
        if remaining and not request.server.dry_run:
            remaining = {"budget": budget_left(changed(request, output=path, **remaining))}


def _template(request: TranslateRequest) -> str | None:
    """The prompt of a Hugging Face model, which must be plain."""
    from cgbench.models.servers.prompt_templates import check_shots, read_prompts

    prompts = read_prompts(request.prompting.prompt)
    if any(prompt.is_jinja for prompt in prompts):
        raise InputError(
            f"{argument('prompt')}: Jinja needs a server; write {{source}} for the sentence"
        )
    check_shots(prompts, request.prompting.examples)
    return prompts[0].text if prompts else None


def _check(request: TranslateRequest) -> None:
    # Options that belong together.
    options, beam = given_values(request), request.decoding.search_options.beam
    model, system = argument("model"), argument("system")

    def refuse(names: Iterable[str], reason: str) -> None:
        if name := next((name for name in names if name in options), None):
            raise InputError(f"{argument(name)} {reason}")

    if request.nbest and request.format != "json":
        raise InputError(
            f"{argument('nbest')} lists several hypotheses per line; it needs"
            f" {argument('format', 'json')}"
        )
    if request.nbest and request.nbest > beam and not request.is_server:
        raise InputError(
            f"{argument('nbest', request.nbest)}: a beam of {beam} finds at most {beam}; raise"
            f" {argument('beam')}"
        )
    # Either checkpoints, without the options of servers and prompts ...
    models = [request.model] if is_path(request.model) else list(request.model or ())
    if external := next((name for name in map(str, models) if name.startswith("hf:")), None):
        raise InputError(
            f"{external}: an external model; name it with {argument('system', external)}"
        )
    if bool(request.model) == (request.system is not None):
        raise InputError(f"use one of {model} and {system}")
    if not request.is_server:
        of_server = (*fields_of(ServerOptions), "system_message", "answer")
        refuse(of_server, f"needs a server ({argument('system', 'openai:URL')})")
    if request.system is None:
        if request.prompting.prompt:
            raise InputError(f"{argument('prompt')} needs {system}; a checkpoint has no prompt")
        return
    # ... or an external system, without those of checkpoints.
    if request.is_memory:
        unused = (*OF_SEARCH, "nbest", "uncertainty", "truncate", "prompt", "examples")
        refuse(unused, "does not work with a memory, which copies translations")
    if request.uncertainty and request.is_server:
        if request.format != "json" or (request.nbest or 1) < 2:
            raise InputError(
                f"{argument('uncertainty')}: of a server it is measured over samples; add "
                f"{argument('format', 'json')}, {argument('nbest', 10)} and ?temperature=1"
            )
    elif request.uncertainty:
        raise InputError(
            f"{argument('uncertainty')} needs {model}; for {system} use cgbench uncertainty"
        )
    if request.decoding.truncate:
        raise InputError(f"{argument('truncate')} needs {model}; it does not work with {system}")
    if request.is_server:
        refuse(
            OF_SEARCH,
            "does not work with a server; set ?max_tokens=N or temperature=T in its address"
            " instead",
        )
    if request.output is None:
        raise InputError(
            f"{argument('output')} is needed with an external system, to keep finished translations"
        )


def _by_checkpoints(request: TranslateRequest) -> list[str]:
    from cgbench.models.ensemble import Ensemble

    ensemble = Ensemble.open(request.model, choose_device(request.device))
    if request.uncertainty and len(ensemble.members) == 1:
        warn(
            "with one model, rmi and all other measures of disagreement are constant up to"
            f" rounding; use several models or an ensemble with {argument('model')}"
        )
    # Translate, with warnings of what the models do not know or cut.
    lines, name = lines_of(request.sources, "sources")
    _check_lengths(ensemble, lines, name, request.decoding.truncate)
    _warn_of_unknown(ensemble, lines, name)
    decoding = request.decoding
    longest = ensemble.max_length if decoding.truncate else None
    nbest_lists = ensemble.search(
        lines,
        decoding.search,
        longest=longest,
        batch_tokens=decoding.batch_tokens,
        jobs=batches_at_a_time(ensemble.device),
        progress=True,
    )
    best = [hypotheses[0] for hypotheses in nbest_lists]
    if cut := sum(item.cut for item in best):
        warn(
            f"{cut:,} of {counted(len(lines), 'translation')} ended at the length limit; to make"
            f" them longer, raise {argument('max_length_ratio')}"
        )
    # One output line per sentence.
    measures = {}
    if request.uncertainty:
        measures = ensemble.score(
            lines, [item.tokens for item in best], longest=longest, progress=True
        )
    if request.format == "text":
        rmi = measures.get("rmi")
        return [
            item.text + (f"\t{rmi[row]:.6f}" if rmi is not None else "")
            for row, item in enumerate(best)
        ]
    rows = []
    for index, item in enumerate(best):
        row = item.scores | {measure: float(values[index]) for measure, values in measures.items()}
        if request.nbest:
            row["nbest"] = [hypothesis.scores for hypothesis in nbest_lists[index][: request.nbest]]
        rows.append(json.dumps(row, ensure_ascii=False))
    return rows


def _check_lengths(ensemble: Ensemble, lines: Sequence[str], name: str, truncate: bool) -> None:
    """Refuse sentences longer than those of training, or warn if they are truncated."""
    from cgbench.models.lengths import longer_than_trained

    count, problem = longer_than_trained(ensemble.subwords, lines, ensemble.max_length)
    if count and not truncate:
        raise InputError(
            f"{name}, {problem}; truncate with {argument('truncate')}, or train with a larger"
            " training.max_length"
        )
    if count:
        warn(f"{name}, {problem}; {counted(count, 'line')} truncated")


def _warn_of_unknown(ensemble: Ensemble, lines: Sequence[str], name: str) -> None:
    unknown = list(ensemble.subwords.unknown_source(lines))
    if not unknown:
        return
    line, word = unknown[0]
    words = counted(len(unknown), "character" if ensemble.subwords.unit == "characters" else "word")
    count = counted(len({row for row, _ in unknown}), "line")
    warn(
        f"{name}: {words} on {count} not in the model's vocabulary, read as <unk>; the first is"
        f" {word!r} on line {line + 1}"
    )
