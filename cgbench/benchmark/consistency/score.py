"""``consistency()``: score systems by how alike they translate what sentences share."""

from __future__ import annotations

from cgbench.benchmark.consistency.agreement import Consistency
from cgbench.benchmark.consistency.items import read_items
from cgbench.benchmark.consistency.request import ConsistencyRequest
from cgbench.benchmark.metrics.comparison import Comparison
from cgbench.benchmark.metrics.evaluate import evaluation_of
from cgbench.benchmark.metrics.result import Evaluation
from cgbench.benchmark.metrics.score_request import ScoreRequest
from cgbench.requests import accepts, fields_of

CLUSTER = "piece"


@accepts(ConsistencyRequest)
def consistency(request: ConsistencyRequest) -> Evaluation:
    """Score how alike systems translate the shared parts of sentences, without references.

    The score is the mean share of what became of the shared part in the item's other sentences that an output also has
    (:mod:`cgbench.benchmark.consistency.agreement`). Intervals and tests are those of :func:`cgbench.evaluate`, with
    pieces as clusters.

    :raises InputError: the items or outputs cannot be read or do not fit together.
    """
    metric = Consistency(read_items(request.items), method=request.method)
    passed = {name: getattr(request, name) for name in fields_of(Comparison) if name in request.given}
    passed["cluster"] = (CLUSTER, *(name for name in request.cluster if name != CLUSTER))
    sources = [row.source for row in metric.rows]
    return evaluation_of(ScoreRequest(metric=metric, systems=request.systems, sources=sources, **passed))
