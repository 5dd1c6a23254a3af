"""Measure the uncertainty of an ensemble of native or external models (``cgbench uncertainty``)."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from cgbench.argument_types import File, Models, Text, as_path
from cgbench.errors import InputError, argument, warn
from cgbench.files import check_output, write_atomic
from cgbench.locks import locked
from cgbench.models.devices import choose_device
from cgbench.models.external.opening import Planned, check_together, plan_members
from cgbench.models.external.token_space import SHARD, Measurement, measure_in_token_space
from cgbench.models.translation_request import SearchOptions
from cgbench.request import KW_ONLY, Request, accepts, option
from cgbench.steps import STEPS, Step, TaskOptions, Workspace, hash_value
from cgbench.text.inputs import files_of, is_path, lines_of


class UncertaintyRequest(Request):
    """What :func:`uncertainty` is asked for."""

    sources: Text = option(
        help="Sentences to measure",
    )
    members: Models = option(
        "--member",
        help=(
            "Member: hf:ID@REVISION, hf:FOLDER, mc:...?seed=N, or a checkpoint; repeatable, the"
            " first one translates"
        ),
        group="Models",
    )
    _: KW_ONLY
    output: File | None = option(
        "--output",
        short="-o",
        default=None,
        help="Output file, one JSON object per sentence; an interrupted run resumes",
        group="Output",
    )
    prompt: str | None = option(
        "--prompt",
        default=None,
        help="Prompt of an external model, with {source} for the sentence",
        group="Models",
    )
    device: Literal["auto", "cpu", "cuda"] = option(
        "--device",
        default="auto",
        help="Device that runs the models",
        group="Execution",
    )
    search_options: SearchOptions = option(
        default=SearchOptions(), help="Search settings (SearchOptions)"
    )
    tasks: TaskOptions = option(default=TaskOptions(), help="Where tasks run (TaskOptions)")
    hypotheses: Text | None = option(
        "--hypotheses",
        default=None,
        help="Measure these translations instead of the first member's",
        group="Input",
    )


@accepts(UncertaintyRequest)
def uncertainty(request: UncertaintyRequest) -> list[dict[str, Any]]:
    """Measure the uncertainty of an ensemble about each sentence.

    With ``output``, a repeated call resumes; without it, nothing is kept.

    :returns: one dictionary per sentence: ``hypothesis`` and every measure
        (:mod:`cgbench.models.uncertainty`).
    :raises InputError: a member cannot be opened, or texts or arguments are inconsistent.
    """
    with tempfile.TemporaryDirectory() as scratch:
        output = (
            Path(scratch) / "uncertainty.jsonl"
            if request.output is None
            else as_path(request.output)
        )
        measure_uncertainty(request, output)
        return [json.loads(line) for line in output.read_text(encoding="utf-8").split("\n")[:-1]]


def work_beside(output: Path) -> Path:
    """The folder of intermediate results of an output; it may be deleted once the output exists."""
    return output.with_name(f"{output.name}.work")


def uncertainty_step(
    members: Sequence[Planned], config: Mapping[str, Any], inputs: Mapping[str, str]
) -> Step:
    """The workspace step of an uncertainty measurement."""
    return Step(
        "uncertainty",
        {**config, "members": [dict(member.identity) for member in members], "shard": SHARD},
        inputs,
        revision=3,  # all measures in one pass over the logits
    )


def measure_uncertainty(request: UncertaintyRequest, output: Path) -> None:
    """Write one JSON object per sentence, with ``hypothesis`` and all measures; resumes."""
    # Read the texts, and resolve the members without loading them.
    names = [request.members] if is_path(request.members) else request.members
    if not names:
        raise InputError(
            f"{argument('members')}: give at least one: hf:ID@REVISION, hf:FOLDER, or a checkpoint"
        )
    check_output(output, files_of(request.sources, request.hypotheses))
    device = choose_device(request.device)
    lines, _ = lines_of(request.sources, "sources")
    hypotheses = (
        None if request.hypotheses is None else lines_of(request.hypotheses, "hypotheses")[0]
    )
    members = plan_members(map(str, names), request.prompt)
    if len(members) == 1:
        text = (
            "with one member, rmi and all other measures of disagreement are constant up to"
            f" rounding; repeat {argument('members')}"
        )
        warn(text)
    if hypotheses is not None and len(hypotheses) != len(lines):
        raise InputError(
            f"{len(hypotheses):,} hypotheses for {len(lines):,} sentences; the numbers must be"
            " equal"
        )
    # Check the members before any is loaded.
    check_together(members)
    for member in members:
        member.check_lengths(lines, hypotheses)
    # One step of a workspace beside the output, which resumes.
    search = request.search_options.search
    config = {"device": device, "search": asdict(search) if hypotheses is None else {}}
    inputs = {"source": hash_value(lines)}
    if hypotheses is not None:
        inputs["hypotheses"] = hash_value(hypotheses)
    step = uncertainty_step(members, config, inputs)
    workspace = Workspace(work_beside(output) / STEPS, request.tasks.say)
    work = Measurement(tuple(members), lines, hypotheses, None, device, search)
    engine = request.tasks.workers
    with locked(workspace.root / "lock", wait=False):
        engine.share(workspace.root)
        folder = workspace.run(
            step, lambda out: measure_in_token_space(work, out, engine), resumable=True
        )
    write_atomic(
        output, b"".join(path.read_bytes() for path in sorted(folder.glob("part-*.jsonl")))
    )
