"""What the steps of a build share: the plan, the workspace, the engine, and the texts as they are
read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cgbench.benchmark.build.react.build_plan import Plan
from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.benchmark.candidates.cut import Bounds
from cgbench.benchmark.candidates.documents import documents_of
from cgbench.engines import Engine
from cgbench.steps import Workspace
from cgbench.text.corpus import ParallelText


@dataclass(frozen=True)
class Build:
    """What the steps of a build share: the plan, where results are, where tasks run, the texts."""

    plan: Plan
    workspace: Workspace
    engine: Engine
    train: ParallelText
    pools: tuple[ParallelText, ...]
    exclude: tuple[ParallelText, ...]

    @classmethod
    def open(cls, plan: Plan, workspace: Workspace, engine: Engine) -> Build:
        """Read the texts of a plan, normalised if the plan has a normalisation."""
        engine.share(workspace.root)
        return cls(
            plan,
            workspace,
            engine,
            plan.train.realise(workspace, engine),
            tuple(pool.realise(workspace, engine) for pool in plan.pools),
            tuple(text.realise(workspace, engine) for text in plan.exclude),
        )

    @property
    def request(self) -> BuildRequest:
        """The settings of the build."""
        return self.plan.request

    @property
    def bounds(self) -> Bounds:
        """The permitted lengths of a pair."""
        filters = self.request.filters
        return Bounds(filters.min_length, filters.max_length, filters.degree_side)

    @property
    def seen(self) -> tuple[ParallelText, ...]:
        """The texts whose lines may not be in the test set."""
        return self.train, *self.exclude

    def documents(self, pool: np.ndarray, line: np.ndarray) -> list[str]:
        """The document of each pair, by corpus and line, both counted from 1."""
        document = self.request.drawing.document
        assert document is not None
        return documents_of(document, self.plan.inputs.pools, self.pools, pool, line)
