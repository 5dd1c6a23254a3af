"""Measures on a test split, by their names in the table of published results."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Bleu
from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.reproduction.tables import Benchmark
from cgbench.reproduction.texts import read_side
from cgbench.text.columns import Column
from cgbench.text.plain_text import words_of
from cgbench.text.program_trees import comparable_program


@dataclass(frozen=True)
class Translated:
    """A test split with the output of a system.

    :param benchmark: the benchmark; ``data``: folder of the prepared set; ``split``: name of the
        split; ``sides``: suffixes of source and target files.
    :param rows: the translated rows; all lists have only these.
    :param training: the other splits of the benchmark, for measures that need them.
    """

    benchmark: Benchmark
    data: Path
    split: str
    sides: tuple[str, str]
    rows: np.ndarray
    sources: Sequence[str]
    references: Sequence[str]
    hypotheses: Sequence[str]
    training: Sequence[str] = ()

    def column(self, side: str, split: str = "") -> list[str]:
        """The same rows of another file of this split, or a whole file of another split."""
        lines = read_side(self.benchmark, self.data, split or self.split, side)
        return lines if split else [lines[row] for row in self.rows.tolist()]


def measure_test(name: str, tested: Translated) -> dict[str, float]:
    """The scores of a measure, in percent, by name."""
    return MEASURES[name](tested)


def bleu_one_shot(tested: Translated) -> dict[str, float]:
    """BLEU of all sentences, and of those with a word that occurs once in training (Akyürek and
    Andreas 2021, Table 4).

    The references of a source are all its targets in the set.
    """
    source, target = tested.sides
    references: dict[str, dict[str, None]] = defaultdict(dict)
    for split in (*tested.training, tested.split):
        for line, translation in zip(
            tested.column(source, split), tested.column(target, split), strict=True
        ):
            references[line][translation] = None
    metric = Bleu([list(references[line]) for line in tested.sources], preset="lexicon")
    statistics = metric.statistics(tested.hypotheses)
    counts: dict[str, int] = defaultdict(int)
    for line in tested.column(source, tested.training[0]):
        for word in words_of(line):
            counts[word] += 1
    once = [any(counts[word] == 1 for word in words_of(line)) for line in tested.sources]
    scores = {"BLEU full": float(metric.value(statistics)[0])}
    if any(once):
        scores["BLEU 1-shot"] = float(metric.value(statistics, np.flatnonzero(once))[0])
    return scores


def cter_scores(tested: Translated) -> dict[str, float]:
    """Compound translation error rates of all rows and of each phrase type (CoGnition)."""
    from cgbench.benchmark.measure.metrics.cter import Cter
    from cgbench.benchmark.measure.metrics.cter_lexicon import Atoms, TranslationLexicon

    compounds = tested.column("compound")
    has_groups = len(compounds) % 5 == 0
    metric = Cter(
        Column("source", list(tested.sources)),
        Column("compound", compounds),
        TranslationLexicon.read(str(tested.data / "lexicon")),
        Atoms.read("cognition"),
        group_size=5 if has_groups else 1,
    )
    statistics = metric.statistics(tested.hypotheses)
    scores = {}
    kinds = {"": np.arange(metric.n)} | {
        f" {kind}": np.flatnonzero([row_kind == kind for row_kind in metric.kinds])
        for kind in sorted(set(metric.kinds))
    }
    for kind, rows in kinds.items():
        for figure, value in zip(metric.figures, metric.value(statistics, rows), strict=True):
            if has_groups or figure == "instance":
                scores[f"CTER {figure}{kind}"] = float(value)
    return scores


def _whole(figure: str, preset: str = "") -> Callable[[Translated], dict[str, float]]:
    """Exact match, or BLEU with a preset, under its name in the published tables."""

    def measured(tested: Translated) -> dict[str, float]:
        references = [[reference] for reference in tested.references]
        if preset in ("", "cfq"):
            scorer: Metric = ExactMatch(references, preset=preset or None)
        else:
            scorer = Bleu(references, preset=preset)
        return {figure: float(scorer.value(scorer.statistics(tested.hypotheses))[0])}

    return measured


def _grouped(tested: Translated, keys: Sequence[str]) -> dict[str, float]:
    right = ExactMatch([[reference] for reference in tested.references]).statistics(
        tested.hypotheses
    )[:, 0]
    rows: dict[str, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        rows[key].append(row)
    return {
        f"exact match: {key}": 100 * float(right[group].mean())
        for key, group in sorted(rows.items())
    }


def program_match(tested: Translated) -> dict[str, float]:
    """Exact match of programs; literals that are copied are compared without case and blanks."""
    references, hypotheses = (
        [comparable_program(line) for line in lines]
        for lines in (tested.references, tested.hypotheses)
    )
    scorer = ExactMatch([[reference] for reference in references])
    return {"exact match": float(scorer.value(scorer.statistics(hypotheses))[0])}


MEASURES: dict[str, Callable[[Translated], dict[str, float]]] = {
    "exact match": _whole("exact match"),
    "exact match of clauses": _whole("exact match of clauses", "cfq"),
    "exact match of programs": program_match,
    "IID exact match": _whole("IID exact match"),  # on a test set with the distribution of training
    "exact match by source": lambda tested: _grouped(tested, tested.sources),
    "exact match by type": lambda tested: _grouped(tested, tested.column("type")),
    "BLEU": _whole("BLEU", "react"),
    "BLEU in-domain": _whole("BLEU in-domain", "react"),
    "BLEU cg-test": _whole("BLEU cg-test", "react"),
    "BLEU in-domain (characters)": _whole("BLEU in-domain", "cognition"),
    "BLEU cg-test (characters)": _whole("BLEU cg-test", "cognition"),
    "BLEU with one-shot words": bleu_one_shot,
    "CTER": cter_scores,
}
