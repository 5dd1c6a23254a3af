"""What ``cgbench uncertainty`` calls: from the names of members and a text to a line of measures a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cgbench.engines import Engine, Local
from cgbench.errors import InputError
from cgbench.files import write_atomic
from cgbench.models.outside.opening import Planned, check_together
from cgbench.models.outside.running import SHARD, Work, measure_outside
from cgbench.steps import STEPS, Step, Workspace, hash_value, locked


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
    work = Work(tuple(members), lines, hypotheses, None, device, searched)
    engine = engine or Local(1)
    measure = measure_outside
    if text_space:
        from cgbench.models.outside.text_space import measure_in_text_space

        measure = measure_in_text_space
    with locked(workspace.root / "lock", wait=False):
        engine.share(workspace.root)
        folder = workspace.run(step, lambda out: measure(work, out, engine), resumable=True)
    write_atomic(output, b"".join(path.read_bytes() for path in sorted(folder.glob("part-*.jsonl"))))
