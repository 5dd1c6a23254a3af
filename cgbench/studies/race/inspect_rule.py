"""A rule for the early stopping of Inspect that is valid although it looks after every sample.

``Task(..., early_stopping=StopWhenCertain(baseline))``
(https://inspect.aisi.org.uk/early-stopping.html). The order in which samples finish may depend on
their scores, so the rule counts samples in the order of the data set, up to the first that is not
finished. The data set must be shuffled: ``dataset.shuffle(seed=1)``.
"""

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from cgbench.benchmark.score.comparison.sequential import Claim, SequentialResult, sequential
from cgbench.errors import InputError


class StopWhenCertain:
    """Skip the remaining samples once it is certain how the model compares with a baseline.

    :param baseline: the score of each sample of another model by sample id, or a number to compare
        the mean score with.
    :param low, high: the lowest and highest score of a sample.
    :param level, margin: as of :func:`~cgbench.benchmark.score.comparison.sequential.sequential`.
    :param about: ``models``, or ``test-set`` for a result about these samples alone, on which
        equally good models also differ.
    :param scorer: the name of the scorer, if the task has several.
    :param batch: number of samples between two looks.
    """

    def __init__(
        self,
        baseline: Mapping[str | int, float] | float,
        *,
        low: float = 0.0,
        high: float = 1.0,
        level: float = 0.05,
        margin: float = 0.0,
        about: Claim = "models",
        scorer: str | None = None,
        batch: int = 10,
    ) -> None:
        self.baseline = baseline
        self.low, self.high = low, high
        self.level, self.margin, self.about = level, margin, about
        self.scorer, self.batch = scorer, batch
        self.result: SequentialResult | None = None

    async def start_task(self, task: Any, samples: Sequence[Any], epochs: int) -> str:
        """Note the samples in their order.

        :raises InputError: the baseline has no score of one.
        """
        self.order, self.epochs, self.result = [sample.id for sample in samples], epochs, None
        self.scores: dict[str | int, list[float]] = {name: [] for name in self.order}
        self.complete = 0
        if isinstance(self.baseline, Mapping) and (
            missing := [name for name in self.order if name not in self.baseline]
        ):
            raise InputError(
                f"baseline: no score of sample {missing[0]!r} ({len(missing):,} are missing)"
            )
        return "cgbench"

    async def schedule_sample(self, id: str | int, epoch: int) -> Any:
        """Stop a sample if there is a decision."""
        if self.result is None or self.result.decision == "undecided":
            return None
        return import_module("inspect_ai.util").EarlyStop(
            id=id, epoch=epoch, reason=self.result.decision
        )

    async def complete_sample(self, id: str | int, epoch: int, scores: Mapping[str, Any]) -> None:
        """Count the score of a sample, the mean over its epochs; look after every batch."""
        name, as_float = (
            self.scorer or next(iter(scores)),
            import_module("inspect_ai.scorer").value_to_float(),
        )
        self.scores[id].append(as_float(scores[name].score.value))
        before = self.complete
        while (
            self.complete < len(self.order)
            and len(self.scores[self.order[self.complete]]) >= self.epochs
        ):
            self.complete += 1
        if self.complete // self.batch > before // self.batch:
            self._look()

    async def complete_task(self) -> dict[str, Any]:
        """The decision, p-value and interval, for the log."""
        if self.complete:
            self._look()
        if self.result is None:
            return {"decision": "undecided", "samples": 0}
        summary = {
            "decision": self.result.decision,
            "about": self.about,
            "samples": self.complete,
            "low": float(self.result.low[-1]),
            "high": float(self.result.high[-1]),
        }
        p_value = float(self.result.p[-1])
        return summary if math.isnan(p_value) else {**summary, "p": p_value}

    def _look(self) -> None:
        """Compare the samples so far with the baseline."""
        means = [sum(self.scores[name]) / self.epochs for name in self.order[: self.complete]]
        if isinstance(self.baseline, Mapping):
            reference, least, most = (
                [float(self.baseline[name]) for name in self.order],
                self.low,
                self.high,
            )
        else:
            reference = [float(self.baseline)] * len(self.order)
            least = most = float(self.baseline)
        values = [mean - other for mean, other in zip(means, reference, strict=False)]
        self.result = sequential(
            values,
            self.low - most,
            self.high - least,
            level=self.level,
            margin=self.margin,
            size=len(self.order) if self.about == "test-set" else None,
        )
