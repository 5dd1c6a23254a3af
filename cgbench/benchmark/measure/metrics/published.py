"""Published results for comparison: ``published/results.tsv``, each score with its paper and table.

Scores are in percent, also those that a paper prints as fractions (devil and lexicon: exact match).
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean

PAPERS = {
    "r-dangle": (
        "Zheng and Lapata 2023, Real-World Compositional Generalization with Disentangled"
        " Sequence-to-Sequence Learning"
    ),
    "lexicon": "Akyürek and Andreas 2021, Lexicon Learning for Few-Shot Neural Sequence Modeling",
    "devil": "Csordás et al. 2021, The Devil is in the Detail",
    "composition": (
        "Lin et al. 2023, Learning to Compose Representations of Different Encoder Layers"
    ),
    "lrf": "Zheng et al. 2023, Layer-wise Representation Fusion for Compositional Generalization",
    "hpd": (
        "Guo et al. 2020, Hierarchical Poset Decoding for Compositional Generalization in Language"
    ),
    "cgps": "Li et al. 2019, Compositional Generalization for Primitive Substitutions",
}
"""Papers by the first word of a row's source."""


@dataclass(frozen=True)
class PublishedScore:
    """A published score in percent, as printed; ``spread``: standard deviation, if any; ``source``:
    paper, table; ``note``: what a reader must know to compare it, if anything.
    """

    benchmark: str
    system: str
    metric: str
    value: str
    spread: str
    runs: str
    source: str
    note: str = ""


@cache
def all_published() -> tuple[PublishedScore, ...]:
    """All rows of the table."""
    path = files("cgbench.benchmark.measure") / "published" / "results.tsv"
    text = path.read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE, restval="")
    return tuple(PublishedScore(**row) for row in rows)


def published_scores(benchmark: str, metric: str) -> list[PublishedScore]:
    """The rows of a benchmark (its name, or the beginning of it) whose metric begins with
    ``metric``.

    :raises InputError: there are none.
    """
    # A colon marks scores of parts of a benchmark.
    rows = [
        row for row in all_published() if row.metric.startswith(metric) and ":" not in row.metric
    ]
    names = sorted({row.benchmark for row in rows})
    if not names:
        raise InputError(
            f"{argument('published')}: no {metric} is in the table of published results"
        )
    name = benchmark.casefold()
    exact = [row for row in rows if row.benchmark.casefold() == name]
    scores = exact or [row for row in rows if row.benchmark.casefold().startswith(name)]
    if not name or not scores:
        raise InputError(
            f"{argument('published', benchmark)}: no such benchmark{did_you_mean(benchmark, names)}"
        )
    return scores
