"""Whether a test set separates systems that compose from a translation memory, which cannot.

The test set is harder than its control set. If this is due to composition, a memory loses more than
a system that composes: the difference between the two drops is also what the system gains over the
memory on the test set, minus what it gains on the control set.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cgbench.benchmark.candidates.correlations import Interval, interval_of, with_interval
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.benchmark.score.comparison.drop import Drop
from cgbench.benchmark.score.comparison.significance import LEVEL
from cgbench.benchmark.score.evaluation.evaluate import evaluate
from cgbench.benchmark.score.evaluation.request import Control
from cgbench.benchmark.score.evaluation.with_memory import NAME
from cgbench.numbers_as_text import p_text
from cgbench.studies.validity.request import ValidateRequest
from cgbench.tables import render


@dataclass(frozen=True)
class Separation:
    """The scores of all systems on the test set (``tests``) and their drops from the control set,
    the memory first; the other drops have their ``difference`` from that of the memory."""

    metric: str
    signature: str
    tests: dict[str, float | None]
    drops: dict[str, Drop]

    @property
    def card(self) -> str:
        """A sentence for the card of the test set."""
        memory, *systems = (
            f"{system} by {with_interval(drop.value, interval_of(drop.ci_low, drop.ci_high), 1)}"
            + (f" (difference {with_interval(*_gap(drop), 1)})" if _verdict(drop) else "")
            for system, drop in self.drops.items()
        )
        return (
            f"{self.metric} falls from the control set to the test set: a translation {memory},"
            f" {', '.join(systems)}."
        )

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        rows = {}
        for system, drop in self.drops.items():
            gap, between = _gap(drop)
            rows[system] = {
                "test": self.tests[system],
                "control": drop.control,
                "drop": drop.value,
                "interval": interval_of(drop.ci_low, drop.ci_high),
                "ratio": drop.ratio,
                "difference": gap,
                "difference_interval": between,
                "p": drop.p_holm,
                "separated": _verdict(drop) or None,
            }
        return {
            "metric": self.metric,
            "signature": self.signature,
            "card": self.card,
            "systems": rows,
        }

    def report(self) -> str:
        """A table with one row per system, and the sentence for the card."""
        head = (
            "system",
            "test",
            "control",
            "drop",
            "ratio",
            "memory's drop minus this",
            "p (Holm)",
            "separated",
        )
        rows = [
            [
                system,
                with_interval(self.tests[system], None, 1),
                with_interval(drop.control, None, 1),
                with_interval(drop.value, interval_of(drop.ci_low, drop.ci_high), 1),
                with_interval(drop.ratio, None),
                with_interval(*_gap(drop), 1),
                p_text(drop.p_holm),
                _verdict(drop),
            ]
            for system, drop in self.drops.items()
        ]
        title = (
            f"does the test set separate systems from a translation memory? {self.metric}"
            f" ({self.signature})"
        )
        return f"{title}\n{render(head, rows)}\nfor the card: {self.card}"


def separate(release: Release, request: ValidateRequest, settings: Mapping[str, Any]) -> Separation:
    """Compare the drop of each system from the control set to the test set with that of a memory of
    ``controls``.
    """
    cluster = (request.cluster,) if request.cluster else ()
    evaluation = evaluate(
        request.metric,
        request.systems,
        release=release,
        settings=settings,
        accept_text=request.acceptance.accept_text,
        control=Control(request.control_systems, memory=request.controls),
        comparison=Comparison(
            paired=True, baseline=NAME, cluster=cluster, samples=request.samples, seed=request.seed
        ),
    )
    scored, name = evaluation.scored, evaluation.scored.metric.figures[0]
    tests = {result.system: result.whole.figures[name].value for result in scored.results}
    drops = {
        system: scored.drops[system][name]
        for system in sorted(tests, key=lambda system: system != NAME)
    }
    return Separation(scored.metric.name, str(scored.signature), tests, drops)


def _gap(drop: Drop) -> tuple[float | None, Interval]:
    """The drop of the memory minus that of a system, with its interval; None for the memory."""
    if drop.difference is None:
        return None, None
    between = interval_of(drop.difference_low, drop.difference_high)
    return -drop.difference, between and (-between[1], -between[0])


def _verdict(drop: Drop) -> str:
    """Whether the set separates a system from the memory, by the adjusted p-value: ``yes``, ``no``,
    or the opposite, ``reversed``."""
    gap, interval = _gap(drop)
    if gap is None or interval is None:
        return ""
    is_separated = drop.p_holm is not None and drop.p_holm < LEVEL
    return ("yes" if gap > 0 else "reversed") if is_separated else "no"
