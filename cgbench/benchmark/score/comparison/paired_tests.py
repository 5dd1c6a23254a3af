"""The significance tests of ``--paired``, a class each; :data:`TESTS` registers them.

To add one, write a subclass of :class:`~.paired_test.PairedTest` in a file of its own, import it
here and add it to :data:`BUILT_IN`, or register it from another package as ``cgbench.tests``: help,
checks, signatures and all forms of output follow.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.design import Sampling
from cgbench.benchmark.score.comparison.paired_test import (
    ComparedSystems,
    PairedTest,
    PValues,
    SystemPair,
)
from cgbench.benchmark.score.comparison.significance import (
    SAMPLES,
    SEVERAL_RUNS,
    bootstrap_p,
    calibrated_test,
    mcnemar_p,
    randomization_of_pairs,
)
from cgbench.benchmark.score.comparison.variance_components import FEWEST_UNITS
from cgbench.extensions import Registry

CALIBRATED: Final = "calibrated"


class Bootstrap(PairedTest):
    """The paired bootstrap: by sacrebleu's rule for its metrics, two-sided for others."""

    name = "bootstrap"

    def decides(self, metric: Metric) -> bool:
        """sacrebleu's rule rejects too often."""
        return not metric.as_sacrebleu

    def p_values(
        self, systems: ComparedSystems, pairs: Sequence[SystemPair]
    ) -> dict[SystemPair, PValues]:
        """From the scores of both systems on the same samples."""
        if systems.drawn.count < FEWEST_UNITS:
            return {}
        samples, rule = systems.drawn.samples, systems.metric.as_sacrebleu
        assert samples is not None  # clusters and designs refuse this test
        p_values = {}
        for first, second in pairs:
            first_values, second_values = systems.drawn.values[first], systems.drawn.values[second]
            differences = (first_values.mean(axis=0) - second_values.mean(axis=0)).tolist()
            p_values[first, second] = [
                bootstrap_p(
                    samples[first][:, 0, score],
                    samples[second][:, 0, score],
                    difference,
                    as_sacrebleu=rule,
                )
                for score, difference in enumerate(differences)
            ]
        return p_values

    def in_words(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> str:
        """With the number of samples."""
        return f"a two-sided paired bootstrap ({samples or SAMPLES[self.name]:,} samples)"

    def signature(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> dict[str, Any]:
        """Nothing for sacrebleu's rule, as in sacrebleu's own signature."""
        return {} if metric.as_sacrebleu else {"paired": "two-sided"}


class Randomization(PairedTest):
    """Approximate randomisation (Riezler and Maxwell 2005)."""

    name = "randomization"

    def p_values(
        self, systems: ComparedSystems, pairs: Sequence[SystemPair]
    ) -> dict[SystemPair, PValues]:
        """From swapped examples."""
        if systems.drawn.count < FEWEST_UNITS:
            return {}
        p_values = randomization_of_pairs(
            systems.drawn.units,
            pairs,
            systems.metric.compute,
            systems.count(self.name),
            systems.seed,
            tests=len(pairs) * systems.sets,
        )
        return dict(zip(pairs, p_values, strict=True))

    def in_words(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> str:
        """With the number of samples."""
        count = samples or SAMPLES[self.name]
        return f"approximate randomisation (Riezler and Maxwell, 2005; {count:,} samples)"

    def signature(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> dict[str, Any]:
        """The number of samples, as in sacrebleu."""
        return {"ar": samples or SAMPLES[self.name]}


class McNemar(PairedTest):
    """McNemar's exact test, for examples that are right or wrong."""

    name = "mcnemar"

    def suits(self, metric: Metric) -> str:
        """It needs a binary metric."""
        is_binary = metric.outcomes(np.zeros((metric.n, 2)), np.arange(metric.n)) is not None
        problem = f"needs examples that are right or wrong; {metric.name} is not binary"
        return "" if is_binary else problem

    def p_values(
        self, systems: ComparedSystems, pairs: Sequence[SystemPair]
    ) -> dict[SystemPair, PValues]:
        """From the examples on which the systems differ."""
        metric, drawn = systems.metric, systems.drawn
        outcomes = [metric.outcomes(runs[0], drawn.rows) or {} for runs in drawn.statistics]
        return {
            (first, second): [
                mcnemar_p(outcomes[first][score], outcomes[second][score])
                if len(outcomes[first].get(score, ())) >= FEWEST_UNITS
                else None
                for score in metric.figures
            ]
            for first, second in pairs
        }

    def in_words(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> str:
        """That it is the exact test."""
        return "McNemar's exact test"

    def signature(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> dict[str, Any]:
        """That it is the exact test."""
        return {"mcnemar": "exact"}


class Calibrated(PairedTest):
    """Approximate randomisation for single runs of independent examples, else Student's t with
    variance components.
    """

    name = CALIBRATED
    of_single_runs = False

    def p_values(
        self, systems: ComparedSystems, pairs: Sequence[SystemPair]
    ) -> dict[SystemPair, PValues]:
        """Each pair by the test for its numbers of runs."""
        is_clustered = not systems.sampling.independent
        single: list[SystemPair] = []
        several: list[SystemPair] = []
        for pair in pairs:
            test = calibrated_test(systems.runs(pair), is_clustered)
            (several if test == SEVERAL_RUNS else single).append(pair)
        p_values = systems.component_p_values(several)
        if single:
            p_values |= Randomization().p_values(systems, single)
        return p_values

    def in_words(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> str:
        """The test of these numbers of runs; both if two systems have a single run."""
        randomisation = Randomization().in_words(metric, runs, sampling, samples)
        if calibrated_test(runs, not sampling.independent) != SEVERAL_RUNS:
            return randomisation
        units = "examples" if sampling.clusters is None else "clusters"
        seeds = " and seeds" if max(runs) > 1 else ""
        method = f"Student's t with variance components of {units}{seeds}"
        if sampling.independent and sum(count == 1 for count in runs) > 1:
            method += f" (single runs by {randomisation})"
        return method

    def signature(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> dict[str, Any]:
        """Which of the two tests it is; both if two systems have a single run."""
        if calibrated_test(runs, not sampling.independent) != SEVERAL_RUNS:
            return Randomization().signature(metric, runs, sampling, samples)
        items: dict[str, Any] = {"paired": "components"}
        if sampling.independent and sum(count == 1 for count in runs) > 1:
            items |= Randomization().signature(metric, runs, sampling, samples)
        return items


BUILT_IN = (Calibrated(), Bootstrap(), Randomization(), McNemar())
TESTS: Registry[PairedTest] = Registry(
    "tests", {test.name: test for test in BUILT_IN}, PairedTest, "a PairedTest"
)
"""The tests by the name that ``--paired`` gives them."""
