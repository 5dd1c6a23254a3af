"""Translate a text with an external model."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from cgbench.argument_types import as_path
from cgbench.errors import InputError, argument
from cgbench.files import check_output, write_json_lines
from cgbench.locks import locked
from cgbench.models.devices import choose_device
from cgbench.models.external.addresses import parse_address
from cgbench.models.external.ensemble_uncertainty import work_beside
from cgbench.models.external.opening import Planned, plan_member
from cgbench.models.external.token_space import SHARD, read_shards, shard_path
from cgbench.models.search import Translation
from cgbench.models.translation_request import TranslateRequest
from cgbench.progress import bar
from cgbench.steps import STEPS, Step, Workspace, hash_value
from cgbench.text.inputs import files_of, lines_of
from cgbench.text.sidecar import check_earlier, sidecar_path, warn_of_cut, write_output


def translate_by_system(request: TranslateRequest, template: str | None) -> list[str]:
    """Translate, and write the output with its sidecar; an interrupted run resumes.

    :param template: the prompt, with ``{source}``.
    :returns: the lines of the output.
    :raises InputError: a sentence is too long for the model, or the output contains translations by
        another system or prompt, or of another text.
    """
    output, text, nbest = as_path(cast("str", request.output)), str(request.system), request.nbest
    check_output(sidecar_path(output), files_of(request.sources))
    if parse_address(text).kind == "own":
        raise InputError(
            f"{text}: not an external model; write hf:... or openai:..., or use {argument('model')}"
            " for a checkpoint"
        )
    system = plan_member(text, template)
    # One step of a workspace beside the output, which resumes.
    lines, _ = lines_of(request.sources, "sources")
    device = choose_device(request.device)
    config: dict[str, Any] = {
        "system": {**system.identity, **request.prompting.shots_identity},
        "nbest": nbest or 1,
        "device": device,
        "search": asdict(request.decoding.search),
        "batch_tokens": request.decoding.batch_tokens,
        "shard": SHARD,
    }
    step = Step("translations", config, {"source": hash_value(lines)})
    check_earlier(output, {**config["system"], "source": step.inputs["source"]})
    workspace = Workspace(work_beside(output) / STEPS)

    def make(out: Path) -> None:
        _translate_shards(out, lines, system, request, config)

    with locked(workspace.root / "lock", wait=False):
        folder = workspace.run(step, make, resumable=True)
    # The output and its record.
    rows = read_shards(folder)
    record = {name: config[name] for name in ("system", "nbest", "search", "device")}
    record["source"], packages = step.inputs["source"], ("torch", "transformers")
    written = write_output(output, rows, nbest, request.format, record, packages)
    warn_of_cut(rows, argument("max_length_ratio"))
    return written


def _translate_shards(
    out: Path,
    lines: Sequence[str],
    system: Planned,
    request: TranslateRequest,
    config: dict[str, Any],
) -> None:
    """Translate shard by shard; every finished shard is a file."""
    starts = range(0, len(lines), SHARD)
    waiting = [start for start in starts if not shard_path(out, start // SHARD).is_file()]
    if not waiting:
        return
    finished = sum(len(lines[start : start + SHARD]) for start in starts if start not in waiting)
    with bar(len(lines), "translating", "sentence", initial=finished) as progress:
        member = system.open(config["device"])
        if request.prompting.examples:
            member.give_shots(dict(zip(lines, request.prompting.examples, strict=True)))
        for start in waiting:
            shard = lines[start : start + SHARD]
            translations = member.translate(
                shard,
                request.decoding.search,
                nbest=config["nbest"],
                batch_tokens=config["batch_tokens"],
                done=progress.update,
            )
            rows = ({"nbest": list(map(_row_of, nbest))} for nbest in translations)
            write_json_lines(shard_path(out, start // SHARD), rows)


def _row_of(hypothesis: Translation) -> dict[str, Any]:
    return {**hypothesis.scores, "cut": hypothesis.cut}
