"""What :func:`cgbench.benchmark.react.build_react.build_react` was asked for, checked before anything runs: the
plan."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgbench.arguments import check_choice, check_flag, check_whole
from cgbench.benchmark.candidates.difficulty import check_difficulty
from cgbench.benchmark.candidates.pair_measures import JOINT, NEEDS, REFERENCE_LIKELIHOOD
from cgbench.benchmark.candidates.selection import GIVEN_DEGREE
from cgbench.benchmark.candidates.uncertainty import NBEST, REFERENCE
from cgbench.benchmark.react.config import ReactConfig, make_config
from cgbench.benchmark.react.inputs import (
    Corpus,
    KnownFrom,
    PathLike,
    corpora_of,
    corpus_of,
    known_from_of,
    languages_of,
    pair_of,
)
from cgbench.benchmark.react.plan import Inputs, Plan, plan_react
from cgbench.benchmark.react.shortage import check_shares
from cgbench.errors import InputError, argument
from cgbench.models.checkpoints import member_folders
from cgbench.models.devices import DEVICES, choose_device
from cgbench.models.external.opening import Planned, check_together, plan_member
from cgbench.models.training.ensemble import check_processes
from cgbench.settings import did_you_mean

STAGES = ("candidates", "uncertainty", "release")
PLANNED = (
    *("train", "pools", "exclude", "preset", "until", "ngrams", "known_from", "ensemble", "reverse_ensemble", "lm"),
    *("difficulty", "member", "prompt", "columns", "languages", "device", "gpus_per_member", "accept_text"),
)
"""The arguments of :func:`plan_of` that are no settings."""


def plan_of(
    texts: Path,
    *,
    train: Corpus,
    pools: Corpus | Sequence[Corpus],
    settings: Mapping[str, Any],
    exclude: Corpus | Sequence[Corpus] = (),
    preset: str = "react",
    until: str = "release",
    ngrams: PathLike | None = None,
    known_from: KnownFrom = (),
    ensemble: PathLike | None = None,
    reverse_ensemble: PathLike | None = None,
    lm: PathLike | None = None,
    difficulty: PathLike | Sequence[PathLike] = (),
    member: str | Sequence[str] = (),
    prompt: str | None = None,
    columns: str | Sequence[str | int] | None = None,
    languages: str | Sequence[str] | None = None,
    device: str = "auto",
    gpus_per_member: int = 1,
    accept_text: bool = False,
) -> Plan:
    """What :func:`build_react` was asked for, checked: the plan. ``texts`` is where lists of sentences are written."""
    check_choice(STAGES, until=until)
    check_choice(DEVICES, device=device)
    check_whole(1, gpus_per_member=gpus_per_member)
    check_flag(accept_text=accept_text)
    config = make_config(preset, dict(settings))
    both = pair_of(columns, "columns")
    spec = corpus_of(train, "train", columns=both, texts=texts)
    inputs = Inputs(
        train=spec,
        pools=corpora_of(pools, "pool", columns=both, texts=texts),
        exclude=corpora_of(exclude, "exclude", columns=both, texts=texts),
        phrases=Path(ngrams) if ngrams is not None else None,
        known=known_from_of(known_from, config.degree_side),
        ensemble=Path(ensemble) if ensemble is not None else None,
        reverse=Path(reverse_ensemble) if reverse_ensemble is not None else None,
        lm=Path(lm) if lm is not None else None,
        difficulty=tuple(map(Path, [difficulty] if isinstance(difficulty, (str, os.PathLike)) else difficulty)),
        members=_from_outside([member] if isinstance(member, str) else member, prompt, ensemble, until),
        languages=languages_of(languages, spec),
    )
    if inputs.phrases and config.degree_side in inputs.known:
        raise InputError(
            f"{argument('known_from')} and {argument('ngrams')}: one of them, for the {config.degree_side}"
        )
    if not inputs.pools:
        raise InputError("pools: a pool of pairs is needed")
    check_difficulty(inputs.difficulty, len(inputs.pools), config.select_by)
    if until != "candidates":
        if inputs.ensemble:
            config = replace(config, members=len(member_folders(inputs.ensemble)))
        if inputs.members:
            config = replace(config, members=len(inputs.members))
            if config.uncertainty == NBEST:
                raise InputError(f"uncertainty={NBEST} is of an ensemble's own search; with {argument('member')}: rmi")
        check_measure(config.uncertainty, config.members, config.beam)
        check_drop_by(config, inputs)
    if until == "release":
        check_shares(config)
    chosen = choose_device("cpu" if until == "candidates" else device)
    if until != "candidates" and not inputs.ensemble and not inputs.members:
        check_processes(gpus_per_member, device, chosen)
    plan = plan_react(
        inputs, config, device=chosen, until=until, accept_text=accept_text, gpus_per_member=gpus_per_member
    )
    if until == "release" and all(pool.plain for pool in plan.pools):
        check_shares(config, sum(pool.plain.lines for pool in plan.pools if pool.plain))
    return plan


def _from_outside(
    names: Sequence[str], prompt: str | None, ensemble: PathLike | None, until: str
) -> tuple[Planned, ...]:
    """The members from outside that somebody gave, checked to make an ensemble."""
    if not names:
        if prompt is not None:
            raise InputError(f"{argument('prompt')} belongs to {argument('member')}")
        return ()
    if ensemble is not None:
        raise InputError(f"{argument('member')} and {argument('ensemble')}: one of them; a member may be a checkpoint")
    if until == "candidates":
        return ()
    members = tuple(plan_member(name, prompt) for name in names)
    check_together(members)
    return members


def check_measure(name: str, members: int, beam: int = 2) -> None:
    """Check the measure that selects before any model is trained.

    :raises InputError: there is no such measure, it is the same for all that a single member translates, or it is of an
        n-best list and the beam has one hypothesis.
    """
    from cgbench.models.uncertainty import DISAGREEMENT, SEQUENCE_MEASURES

    known = (*SEQUENCE_MEASURES, NBEST)
    if name not in known:
        raise InputError(f"uncertainty: unknown measure {name}{did_you_mean(name, known)}")
    if members < 2 and name in (*DISAGREEMENT, NBEST):
        raise _one_member(name, "uncertainty=expected_entropy")
    if name == NBEST and beam < 2:
        raise InputError(f"uncertainty={name}: the n-best list of a beam of 1 is its best; raise beam, or take rmi")


def check_drop_by(config: ReactConfig, inputs: Inputs) -> None:
    """Check the measure that references are dropped by before any model is trained.

    :raises InputError: there is no such measure, what it needs was not given, or it is the same for all references
        where there is one member.
    """
    from cgbench.models.uncertainty import DISAGREEMENT, SEQUENCE_MEASURES

    name = config.drop_by.removesuffix(GIVEN_DEGREE)
    known = [*(f"{REFERENCE}{measure}" for measure in SEQUENCE_MEASURES), *NEEDS]
    if name not in known:
        raise InputError(f"drop_by: unknown measure {name}{did_you_mean(name, known)}")
    if name == JOINT:
        there, how = inputs.lm and (config.lm_side or config.degree_side) == "source", " and lm_side=source"
        option = argument("lm")
    else:
        there, how, option = inputs.reverse, "", argument("reverse_ensemble")
    if name in NEEDS and not there:
        raise InputError(f"drop_by: {name} needs {NEEDS[name]}; give one with {option}{how}")
    if config.members < 2 and name.removeprefix(REFERENCE) in DISAGREEMENT:
        raise _one_member(name, f"drop_by={REFERENCE_LIKELIHOOD}")


def _one_member(name: str, instead: str) -> InputError:
    return InputError(
        f"members: {name} is how far members disagree, and one member gives every candidate the same but for "
        f"rounding; take 2 or more, or a measure that one model has ({instead})"
    )
