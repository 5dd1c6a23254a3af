"""Whether a test set separates systems that compose from a translation memory, which cannot.

The test set is harder than its control set. If this is due to composition, a memory loses more than a system that
composes: the difference between the two drops is also what the system gains over the memory on the test set, minus what
it gains on the control set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from cgbench.benchmark.candidates.correlations import Interval, with_interval
from cgbench.benchmark.comparison.comparison import Comparison
from cgbench.benchmark.outputs.systems import Runs
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.score.evaluate import evaluate
from cgbench.benchmark.score.request import Control
from cgbench.benchmark.score.with_memory import NAME
from cgbench.tables import p_text, render


@dataclass(frozen=True)
class ControlDrop:
    """The scores of a system on the test set and the control set, and its ``drop`` in points with its interval.

    ``difference``: the drop of the memory minus that of the system, with its interval and p-value (Holm); None for the
    memory.
    """

    system: str
    test: float | None
    control: float | None
    drop: float | None
    interval: Interval
    ratio: float | None
    difference: float | None = None
    difference_interval: Interval = None
    p: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the set separates the system from the memory: ``yes``, ``no``, or the opposite, ``reversed``."""
        if self.difference_interval is None:
            return ""
        low, high = self.difference_interval
        return "yes" if low > 0 else "reversed" if high < 0 else "no"


@dataclass(frozen=True)
class Separation:
    """The drops of all systems, the memory first."""

    metric: str
    signature: str
    drops: tuple[ControlDrop, ...]

    @property
    def card(self) -> str:
        """A sentence for the card of the test set."""
        memory, *systems = (
            f"{row.system} by {with_interval(row.drop, row.interval, 1)}"
            + (f" (difference {with_interval(row.difference, row.difference_interval, 1)})" if row.verdict else "")
            for row in self.drops
        )
        return (
            f"{self.metric} falls from the control set to the test set: a translation {memory}, {', '.join(systems)}."
        )

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        rows = {row.system: {**asdict(row), "separated": row.verdict or None} for row in self.drops}
        for row in rows.values():
            del row["system"]
        return {"metric": self.metric, "signature": self.signature, "card": self.card, "systems": rows}

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
                row.system, with_interval(row.test, None, 1), with_interval(row.control, None, 1),
                with_interval(row.drop, row.interval, 1), with_interval(row.ratio, None),
                with_interval(row.difference, row.difference_interval, 1), p_text(row.p), row.verdict,
            ]
            for row in self.drops
        ]  # fmt: skip
        title = f"does the test set separate systems from a translation memory? {self.metric} ({self.signature})"
        return f"{title}\n{render(head, rows)}\nfor the card: {self.card}"


def separate(
    release: Release, systems: Mapping[str, Runs], control_systems: Mapping[str, Runs], corpus: Any, metric: str,
    settings: Mapping[str, Any], comparison: Comparison,
) -> Separation:  # fmt: skip
    """Compare the drop of each system from the control set to the test set with that of a memory of ``corpus``.

    :param comparison: its samples, seed and clusters; the baseline is the memory.
    """
    evaluation = evaluate(
        metric, systems, release=release, control=Control(control_systems, memory=corpus),
        comparison=comparison, settings=dict(settings),
    )  # fmt: skip
    scored, rows = evaluation.scored, []
    for result in scored.results:
        name = scored.metric.figures[0]
        drop, test = scored.drops[result.system][name], result.whole.figures[name].value
        row = ControlDrop(
            result.system, test, drop.control, drop.value, _interval(drop.ci_low, drop.ci_high), drop.ratio
        )
        if drop.difference is not None:  # from the drop of the memory
            low, high = drop.difference_low, drop.difference_high
            between = _interval(None if high is None else -high, None if low is None else -low)
            row = replace(row, difference=-drop.difference, difference_interval=between, p=drop.p_holm)
        rows.append(row)
    rows.sort(key=lambda row: row.system != NAME)
    return Separation(scored.metric.name, str(scored.signature), tuple(rows))


def _interval(low: float | None, high: float | None) -> Interval:
    return None if low is None or high is None else (low, high)
