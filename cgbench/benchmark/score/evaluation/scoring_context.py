"""What an analysis of scores gets."""

from typing import Any

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.benchmark.score.comparison.design import Sampling
from cgbench.benchmark.score.comparison.results import SystemScores
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.evaluation.example_sets import ExampleSet
from cgbench.benchmark.score.evaluation.features import FeatureInputs
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.benchmark.score.evaluation.scored import Binning
from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.records import Record
from cgbench.text.columns import Column


class ScoringContext(Record):
    """Everything that is known when an analysis runs.

    ``test`` and ``control``: the test set and the control set, with their systems. ``scored``: the
    scores of the systems. ``binning``: by the requested feature. ``inputs``: what features are made
    from. ``options``: those of the analysis, an object of its class of options.
    """

    request: ScoreRequest
    test: ExampleSet
    control: ExampleSet | None
    scored: ScoredSystems
    binning: Binning | None
    inputs: FeatureInputs
    options: Any = None

    @property
    def systems(self) -> tuple[System, ...]:
        """The systems with their outputs."""
        return self.test.systems

    @property
    def references(self) -> list[list[str]] | None:
        """The references of each example, if any."""
        return self.test.references or None

    @property
    def text(self) -> Column | None:
        """The side of the text that features measure."""
        return self.inputs.text

    @property
    def metric(self) -> Metric:
        """The metric of the test set."""
        return self.scored.metric

    @property
    def results(self) -> tuple[SystemScores, ...]:
        """The scores of each system, with the statistics of each example."""
        return self.scored.results

    @property
    def sampling(self) -> Sampling:
        """The clusters and the design of the examples."""
        return self.scored.sampling

    @property
    def comparison(self) -> Comparison:
        """The requested intervals and tests."""
        return self.request.comparison
