"""What a build that is planned will cost here: its texts looked at, rates timed or remembered, steps that are done left
out; and on a CPU that would take days, what would not."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cgbench.benchmark.candidates.uncertainty import shard_needs
from cgbench.benchmark.cost.estimate import SMALLER, Asked, Estimate, advice, cost_table, estimate
from cgbench.benchmark.cost.rates import Rates, kept_rates, look_at_texts, members_at_once, preset_of, times_models
from cgbench.benchmark.react.config import ReactConfig, make_config
from cgbench.benchmark.react.plan import Plan
from cgbench.engines import Engine
from cgbench.models.checkpoints import member_folders
from cgbench.models.config.architectures import ProtoTransformerConfig
from cgbench.steps import Step, Workspace

WANTED = "CGBENCH_ESTIMATE"
"""In the environment: ``0`` for no estimates, which take seconds."""


def estimates_wanted() -> bool:
    """Whether commands estimate what a build will cost."""
    return os.environ.get(WANTED) != "0"


@dataclass(frozen=True)
class Foreseen:
    """What a build will cost, and a line of advice where it is too much for the machine."""

    estimate: Estimate
    advice: str | None = None

    @property
    def lines(self) -> str:
        """For people."""
        return cost_table(self.estimate)


def foresee(
    plan: Plan,
    workspace: Workspace,
    engine: Engine,
    *,
    preset: str,
    settings: Mapping[str, Any],
    rates_of: Callable[..., Rates] | None = None,
) -> Foreseen | None:
    """What the steps of ``plan`` that are not done will cost on this machine; None if all are. What models from outside
    take is left open: nobody has timed them.

    :param preset: that was asked for, with ``settings`` changed: what is compared with the smaller preset.
    :param rates_of: from settings, plan, texts and engine to rates (default: :func:`.rates.kept_rates`).
    """
    groups = {
        "texts": [text.step for text in (plan.train, *plan.pools, *plan.exclude) if text.step],
        "known-ngrams": [plan.ngrams],
        "scan": list(plan.scans),
        "candidates": [plan.candidates],
        "perplexity": [plan.perplexity] if plan.perplexity else [],
        "subwords": [step for step in plan.ensemble.steps if step not in plan.ensemble.members]
        if plan.ensemble
        else [],
        "members": list(plan.ensemble.members) if plan.ensemble else [],
        "uncertainty": [plan.uncertainty] if plan.uncertainty else [],
        "reverse": [plan.reverse] if plan.reverse else [],
    }
    left = {name: _left(steps, workspace) for name, steps in groups.items()}
    if not any(left.values()):
        return None
    texts = look_at_texts(plan)

    def of(config: ReactConfig, done: frozenset[str], members: int) -> Estimate:
        member = preset_of(config) if plan.ensemble else None
        models = times_models(plan)
        asked = Asked(
            until=plan.until,
            cores=engine.jobs,
            members=members_at_once(config, plan, engine)[0] if models else 0,
            shards=engine.at_once(shard_needs(plan.device), 1 << 20) if models else 0,
            training=member.training if member else None,
            reverse=len(member_folders(plan.inputs.reverse)) if plan.inputs.reverse else 0,
            lm=plan.perplexity is not None,
            normalised=bool(groups["texts"]),
            done=done,
            left=members,
            clusters=member is not None and isinstance(member.model, ProtoTransformerConfig),
        )
        rates = (rates_of or kept_rates)(config, plan, texts, engine)
        return estimate(config, texts, rates, asked)

    done = frozenset(name for name, steps in groups.items() if steps and not left[name])
    found = of(plan.config, done, len(left["members"]))

    def smaller() -> Estimate:
        config = make_config(SMALLER, dict(settings))
        if plan.inputs.ensemble:
            config = replace(config, members=plan.config.members)
        return of(config, frozenset({"texts", "known-ngrams", "scan"}) & done, config.members)

    return Foreseen(found, advice(found, preset, plan.device, engine.jobs, smaller))


def _left(steps: list[Step], workspace: Workspace) -> list[Step]:
    return [step for step in steps if not workspace.done(step)]
