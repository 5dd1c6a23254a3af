"""What ``cgbench uncertainty`` calls: from the names of members and a text to a line of measures a sentence."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cgbench.arguments import check_flag, check_number, check_whole
from cgbench.engines import Engine, Local
from cgbench.errors import InputError, argument
from cgbench.files import write_atomic
from cgbench.locks import locked
from cgbench.models.devices import choose_device
from cgbench.models.external.opening import Planned, check_together, plan_member
from cgbench.models.external.token_space import SHARD, Measurement, measure_in_token_space
from cgbench.steps import STEPS, Step, Workspace, hash_value
from cgbench.text.inputs import AnyPath, Texts, as_column


def uncertainty(
    sources: Texts,
    members: str | Sequence[str],
    *,
    hypotheses: Texts | None = None,
    output: AnyPath | None = None,
    prompt: str | None = None,
    text_space: bool = False,
    beam: int = 5,
    max_length_ratio: float = 1.2,
    max_length_extra: int = 10,
    device: str = "auto",
    engine: Engine | None = None,
) -> list[dict[str, Any]]:
    """How uncertain an ensemble is about each sentence: what ``cgbench uncertainty`` writes.

    :param sources: a file or a list of sentences.
    :param members: models by their names (:mod:`cgbench.models.external.addresses`), such as checkpoint folders or
        ``hf:ID@REVISION``; the first translates where there are no ``hypotheses``.
    :param output: also write the result to this file; a call that is repeated resumes. By default nothing is kept.
    :param prompt: what decoder-only models read; ``{source}`` stands for the sentence.
    :param text_space: measures of texts, for members of different tokenisers.
    :returns: one dictionary per sentence: ``hypothesis`` and every measure (:mod:`cgbench.models.uncertainty`).
    :raises InputError: a member cannot be opened, or texts or arguments do not fit together.
    """
    check_whole(1, beam=beam)
    check_whole(0, max_length_extra=max_length_extra)
    check_number(0, max_length_ratio=max_length_ratio)
    check_flag(text_space=text_space)
    names = [members] if isinstance(members, str) else [str(member) for member in members]
    if not names:
        raise InputError(f"{argument('members')}: give at least one model")
    device = choose_device(device)
    lines = as_column(sources, "sources").values
    given = None if hypotheses is None else as_column(hypotheses, "hypotheses").values
    planned = [plan_member(name, prompt) for name in names]
    search = {"beam": beam, "max_length_ratio": max_length_ratio, "max_length_extra": max_length_extra}
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "uncertainty.jsonl" if output is None else Path(output)
        options: dict[str, Any] = {"hypotheses": given, "text_space": text_space, "device": device, "engine": engine}
        measure_text(planned, lines, path, search=search, **options)
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def work_beside(output: Path) -> Path:
    """The folder beside an output in which what is done already is kept; it may be removed when the output is there."""
    return output.with_name(f"{output.name}.work")


def uncertainty_step(members: Sequence[Planned], config: Mapping[str, Any], inputs: Mapping[str, str]) -> Step:
    """The step of a workspace that measures sentences by members from outside."""
    return Step(
        "uncertainty",
        {**config, "members": [dict(member.identity) for member in members], "shard": SHARD},
        inputs,
        revision=3,  # measures in one pass over the logits of all members
    )


def measure_text(
    members: Sequence[Planned],
    lines: Sequence[str],
    output: Path,
    *,
    hypotheses: Sequence[str] | None = None,
    text_space: bool = False,
    device: str = "cpu",
    engine: Engine | None = None,
    search: Mapping[str, Any] | None = None,
    say: Callable[[str], None] | None = None,
) -> None:
    """Write ``output``: a JSON object a sentence, with ``hypothesis`` and every measure; go on with what is there.

    :param hypotheses: translations made before, a line a sentence; else the first member makes them.
    :param text_space: the measures of members whose vocabularies differ (:mod:`.text_space`).
    :param search: how the first member translates: arguments of :meth:`.member.Member.translate`.
    :raises InputError: there are not as many hypotheses as sentences, the members' vocabularies differ, or a
        sentence is too long for a checkpoint.
    """
    if hypotheses is not None and len(hypotheses) != len(lines):
        raise InputError(f"{len(hypotheses):,} hypotheses for {len(lines):,} sentences; a line each is needed")
    if not text_space:
        check_together(members)
    for member in members:
        member.check_lengths(lines, hypotheses)
    searched = dict(search or {}) if hypotheses is None or text_space else {}
    config = {"device": device, "search": searched, **({"space": "text"} if text_space else {})}
    inputs = {"source": hash_value(list(lines))}
    if hypotheses is not None:
        inputs["hypotheses"] = hash_value(list(hypotheses))
    step = uncertainty_step(members, config, inputs)
    workspace = Workspace(work_beside(output) / STEPS, say)
    work = Measurement(tuple(members), lines, hypotheses, None, device, searched)
    engine = engine or Local(1)
    measure = measure_in_token_space
    if text_space:
        from cgbench.models.external.text_space import measure_in_text_space

        measure = measure_in_text_space
    with locked(workspace.root / "lock", wait=False):
        engine.share(workspace.root)
        folder = workspace.run(step, lambda out: measure(work, out, engine), resumable=True)
    write_atomic(output, b"".join(path.read_bytes() for path in sorted(folder.glob("part-*.jsonl"))))
