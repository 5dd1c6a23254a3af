"""BLEU, chrF and TER as computed by sacrebleu, and presets that score as in the papers.

sacrebleu (Post 2018) computes all scores and signatures, and counts the statistics of chrF;
``bleu_matches.py`` counts those of BLEU, ``ter_edits.py`` those of TER. A preset changes the text
or the statistics as a paper's script does, and marks the signature:

``sacrebleu``   sacrebleu's defaults.
``react``       no tokenisation: the text is tokenised (Zheng and Lapata 2023; equal to tokenised
                multi-bleu).
``cognition``   remove blanks and BPE marks, then one token per character (Li et al. 2021), with
                sacrebleu's 13a.
``lexicon``     NLTK's ``corpus_bleu`` (Akyürek and Andreas 2021): no tokenisation, no smoothing,
                and a sentence that is too short for any n-gram still counts one n-gram in the
                denominator.
"""

import math
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np

from cgbench import __version__
from cgbench.benchmark.measure.metrics.bleu_matches import bleu_statistics
from cgbench.benchmark.measure.metrics.metric import Metric, Signature
from cgbench.benchmark.measure.metrics.statistics_cache import StatisticsCache
from cgbench.benchmark.measure.metrics.ter_edits import ter_statistics
from cgbench.errors import InputError, argument
from cgbench.kept import WORTH_KEEPING
from cgbench.progress import bar
from cgbench.settings import did_you_mean, read_value
from cgbench.text.hypothesis_form import BLANKS, CHARACTERS, MARKS, Reading
from cgbench.text.languages import UNSPACED

CLASSES = {"bleu": "BLEU", "chrf": "CHRF", "ter": "TER"}
PRESETS: dict[str, dict[str, Any]] = {
    "sacrebleu": {},
    "react": {"tokenize": "none"},
    "cognition": {},
    "lexicon": {"tokenize": "none", "smooth_method": "none"},
}
BENCHMARKS = {"react": "ReaCT", "cognition": "CoGnition", "lexicon": "Tatoeba en-zh"}
"""The benchmark of each preset."""
WORTH_A_PROCESS = {"bleu": 100_000, "chrf": 4_000, "ter": 40_000}
"""Number of sentences from which on several processes are faster."""

TOGETHER = {"bleu": 200_000, "chrf": 5_000, "ter": 20_000}
"""Number of sentences per task, after which the progress bar moves."""
OF_OTHER_PACKAGES = ("ja-mecab", "ko-mecab", "spm", "flores101", "flores200")
"""Tokenisers that may change without sacrebleu, so that their statistics are not kept."""

_OWN = ("force", "references", "trg_lang")


class SacreMetric(Metric):
    """A sacrebleu metric with fixed references."""

    kind: str
    as_sacrebleu = True

    def __init__(
        self,
        references: Sequence[Sequence[str]],
        *,
        preset: str = "sacrebleu",
        lowercase: bool = False,
        jobs: int = 1,
        **options: Any,
    ) -> None:
        """
        :param references: one or more for each example.
        :param jobs: number of processes for large input; does not change scores.
        :param options: of the sacrebleu class (``tokenize``, ``word_order``), overriding the
            preset.
        :raises InputError: an option is unknown or invalid, or an example has no
            reference.
        """
        kind = self.kind
        # The options: those of the preset, then the given ones.
        if preset not in PRESETS:
            raise InputError(f"{argument('preset', preset)}{did_you_mean(preset, PRESETS)}")
        if kind != "bleu" and preset not in ("sacrebleu", "cognition"):
            raise InputError(f"{argument('preset', preset)} is for BLEU, not {CLASSES[kind]}")
        if lowercase:
            if kind == "ter":
                raise InputError(
                    f"{argument('lowercase')}: TER ignores case unless"
                    f" {argument('case_sensitive', True)}"
                )
            options["lowercase"] = True
        # The references in the form that is scored.
        super().__init__(references)
        self.preset, self.jobs = preset, jobs
        self.references = [
            [self._prepare(reference) for reference in example] for example in references
        ]
        self._options = _read_options(
            kind, {**(PRESETS[preset] if kind == "bleu" else {}), **options}
        )
        self._metric = _make(kind, self._options)
        counts = {len(example) for example in self.references}
        self._metric.num_refs = counts.pop() if len(counts) == 1 else -1
        self.joins_pieces = preset == "cognition"
        self.tokenises = (
            kind == "bleu"
            and preset != "cognition"
            and self._metric.tokenizer.signature() != "none"
        )
        self.reading = _reading(kind, preset, self._options)
        self.name = self._metric._compute_score_from_stats(
            [0] * (3 * getattr(self._metric, "order", 0) + 64)
        ).name

    @classmethod
    def has_option(cls, name: str) -> bool:
        """The same; also the options of the sacrebleu class."""
        return super().has_option(name) or name in _hints(cls.kind)

    def signature(self) -> Signature:
        """sacrebleu's signature, with ``prep`` or ``totals`` if the preset changes something."""
        import sacrebleu

        signature = self._metric.get_signature()
        items = {
            key: value
            for key, value in signature.info.items()
            if key != "version" and value is not None
        }
        if self.preset == "cognition":
            items["prep"] = "chars"
        if self.preset == "lexicon":
            items["totals"] = "nltk"
        return Signature(items, signature._abbr, sacrebleu.__version__)

    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """BLEU: lengths of hypothesis and reference, matches and totals; chrF and TER: as in
        sacrebleu.
        """
        return self.all_statistics([hypotheses])[0]

    def all_statistics(self, runs: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """The same for many lists of hypotheses, in parallel for large input; those that were
        counted before are read again.
        """
        for run in runs:
            self.check_hypotheses(run)
        prepared = [[self._prepare(hypothesis) for hypothesis in run] for run in runs]
        if self.n < WORTH_KEEPING or self._options.get("tokenize") in OF_OTHER_PACKAGES:
            return self._count(prepared)
        import sacrebleu

        versions = [__version__, sacrebleu.__version__]
        made_by = [self.kind, self.preset, self._options, *versions]
        cache = StatisticsCache(made_by, self.references)
        statistics = [cache.read(run) for run in prepared]
        unknown = [index for index, known in enumerate(statistics) if known is None]
        counts = self._count([prepared[index] for index in unknown]) if unknown else []
        for index, of_run in zip(unknown, counts, strict=True):
            statistics[index] = of_run
            cache.write(prepared[index], of_run)
        return [of_run for of_run in statistics if of_run is not None]

    def _count(self, prepared: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """The statistics of lists of prepared hypotheses."""
        sentences = self.n * (len(prepared) + 1)
        jobs = self.jobs if sentences >= WORTH_A_PROCESS[self.kind] else 1
        blocks_per_job = 4 * jobs if jobs > 1 else 1
        block_count = max(blocks_per_job, math.ceil(sentences / TOGETHER[self.kind]))
        bounds = np.linspace(0, self.n, block_count + 1).astype(int).tolist()
        tasks = (
            (self.references[low:high], [run[low:high] for run in prepared])
            for low, high in pairwise(bounds)
            if high > low
        )
        extract = partial(_extract, self.kind, self._options)
        blocks: Iterator[list[np.ndarray]] = map(extract, tasks)
        if jobs > 1:
            from cgbench.engines import Local

            blocks = iter(Local(jobs).map(extract, tasks))
        results = list(_with_progress(blocks, sentences, block_count, f"score by {self.name}"))
        statistics = [np.concatenate(blocks) for blocks in zip(*results, strict=True)]
        if self.preset == "lexicon":
            for run_statistics in statistics:
                totals = run_statistics[:, 2 + self._metric.max_ngram_order :]
                np.maximum(totals, 1, out=totals)
        return statistics

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """sacrebleu's score of each row of sums, to the last bit; most rows are vectorised."""
        scores = np.full(len(sums), np.nan)
        if self.kind == "bleu":
            usual = _many_bleu(sums, scores, self._metric.max_ngram_order)
            if self._metric.smooth_method == "add-k":
                usual[:] = False
        elif self.kind == "ter":
            usual = sums[:, 1] > 0
            scores[usual] = 100 * (sums[usual, 0] / sums[usual, 1])
        else:
            usual = np.full(len(sums), not self._metric.eps_smoothing)
            scores[usual] = _many_chrf(sums[usual], self._metric.beta**2)
        for row in np.flatnonzero(~usual).tolist():
            scores[row] = self._metric._compute_score_from_stats(sums[row].tolist()).score
        return scores[:, None]

    def describe(self, sums: np.ndarray) -> str:
        """The details that sacrebleu prints after a score (BLEU: precisions and lengths)."""
        return self._metric._compute_score_from_stats(sums.tolist())._verbose

    def per_example(
        self, hypotheses: Sequence[str], statistics: np.ndarray
    ) -> list[dict[str, Any]]:
        """Sentence scores; BLEU with the effective order, as sacrebleu recommends."""
        compute = self._metric._compute_score_from_stats
        if self.kind == "bleu":
            from sacrebleu.metrics import BLEU

            order = self._metric.max_ngram_order

            def compute(row: list[Any]) -> Any:
                return BLEU.compute_bleu(
                    row[2 : 2 + order],
                    row[2 + order :],
                    int(row[0]),
                    int(row[1]),
                    self._metric.smooth_method,
                    self._metric.smooth_value,
                    True,
                    order,
                )

        return [{"score": compute(row).score} for row in statistics.tolist()]

    def published_benchmark(self) -> str | None:
        """The benchmark of the preset."""
        return BENCHMARKS.get(self.preset)

    def _prepare(self, text: str) -> str:
        return (
            " ".join(text.replace("@@ ", "").replace(" ", ""))
            if self.preset == "cognition"
            else text
        )


class Bleu(SacreMetric):
    """BLEU, as in sacrebleu or in a paper's script."""

    kind = "bleu"

    def __init__(
        self, references: Sequence[Sequence[str]], *, tokenize: str | None = None, **options: Any
    ) -> None:
        """As :class:`SacreMetric`; ``tokenize``: sacrebleu tokeniser (default 13a)."""
        if tokenize is not None:
            options["tokenize"] = tokenize
        super().__init__(references, **options)

    def details(self, sums: np.ndarray) -> dict[str, float]:
        """Brevity penalty, length ratio, and the precision of each n-gram order in percent."""
        score_ = self._metric._compute_score_from_stats(sums.tolist())
        precisions = {f"{order}-gram %": value for order, value in enumerate(score_.precisions, 1)}
        return {"BP": score_.bp, "length ratio": score_.ratio, **precisions}


class ChrF(SacreMetric):
    """chrF as in sacrebleu (chrF++: word_order=2)."""

    kind = "chrf"


class Ter(SacreMetric):
    """TER as in sacrebleu."""

    kind = "ter"
    unit = "%"
    lower_is_better = True
    top = None  # more edits than words


def _hints(kind: str) -> dict[str, Any]:
    """The options of a sacrebleu class with their types."""
    from sacrebleu import metrics

    hints = typing.get_type_hints(getattr(metrics, CLASSES[kind]).__init__)
    return {name: hint for name, hint in hints.items() if name not in _OWN}


def _with_progress(
    blocks: Iterable[list[np.ndarray]], sentences: int, block_count: int, description: str
) -> Iterator[list[np.ndarray]]:
    """Yield the blocks, on a terminal with a progress bar from the second second on."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield from blocks
        return
    with bar(sentences, description, "sentence", delay=1, leave=False) as progress:
        for block in blocks:
            yield block
            progress.update(sentences / block_count)


def _read_options(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Convert options to the types of the sacrebleu class.

    :raises InputError: an option is unknown or invalid.
    """
    from sacrebleu import metrics

    metric = getattr(metrics, CLASSES[kind])
    hints = _hints(kind)
    known = list(hints)
    values: dict[str, Any] = {}
    for key, value in options.items():
        if key not in known:
            raise InputError(f"{CLASSES[kind]} has no option {key}{did_you_mean(key, known)}")
        # "none" names a tokeniser and a smoothing method, not an absent value
        values[key] = (
            value if key in ("tokenize", "smooth_method") else read_value(key, value, hints[key])
        )
    choices = {
        "tokenize": getattr(metric, "TOKENIZERS", ()),
        "smooth_method": getattr(metric, "SMOOTH_DEFAULTS", ()),
    }
    for key, allowed in choices.items():
        if key in values and values[key] not in allowed:
            raise InputError(
                f"{argument(key, values[key])} is unknown{did_you_mean(values[key], allowed)}"
            )
    for key, least in (("max_ngram_order", 1), ("char_order", 1), ("beta", 1), ("word_order", 0)):
        if not least <= values.get(key, 1) <= 100:
            raise InputError(f"{argument(key, values[key])} is not from {least} to 100")
    if (smooth := values.get("smooth_value")) is not None and not 0 <= smooth < float("inf"):
        raise InputError(f"{argument('smooth_value', smooth)} is not a number of at least 0")
    if kind == "bleu":
        values["force"] = True  # no warnings by sacrebleu: scored.py has its own
    return values


CUTS = {
    "zh": {"han"},
    "ja-mecab": {"han", "kana"},
    **dict.fromkeys(("spm", "flores101", "flores200"), UNSPACED),
}
"""Scripts without blanks between words that each sacrebleu tokeniser splits."""


def _reading(kind: str, preset: str, options: Mapping[str, Any]) -> Reading:
    """How the metric treats case, punctuation and blanks."""
    if kind == "ter":
        cuts = {"han", "kana"} if options.get("normalized") and options.get("asian_support") else ()
        words = MARKS if options.get("normalized") else BLANKS
        return Reading(bool(options.get("case_sensitive")), words, frozenset(cuts))
    case = not options.get("lowercase")
    if kind == "chrf":
        words = (
            BLANKS
            if options.get("whitespace")
            else MARKS
            if options.get("word_order")
            else CHARACTERS
        )
        joins = preset == "cognition"
        return Reading(case, CHARACTERS if joins else words, lowercase=True, joins=joins)
    tokenize = options.get("tokenize") or "13a"
    words = (
        CHARACTERS
        if tokenize == "char" or preset == "cognition"
        else BLANKS
        if tokenize == "none"
        else MARKS
    )
    scripts = frozenset(CUTS.get(tokenize, ()))
    return Reading(case, words, scripts, lowercase=True, tokenize=True, joins=preset == "cognition")


def _make(
    kind: str, options: dict[str, Any], references: list[list[str | None]] | None = None
) -> Any:
    from sacrebleu import metrics

    try:
        return getattr(metrics, CLASSES[kind])(**options, references=references)
    except (
        ImportError,
        RuntimeError,
        OSError,
    ) as error:  # tokenisers that need another package, or a download
        raise InputError(
            f"tokenize: {options.get('tokenize')}: {' '.join(str(error).split())}"
        ) from None


def _extract(
    kind: str, options: dict[str, Any], task: tuple[list[list[str]], list[list[str]]]
) -> list[np.ndarray]:
    """The statistics of some examples, float64 ``[examples, k]`` for each list of hypotheses."""
    references, runs = task
    if kind == "bleu":
        return bleu_statistics(_make(kind, options), references, runs)
    if kind == "ter":
        return ter_statistics(_make(kind, options), references, runs)
    metric = _make(kind, options, [list(column) for column in zip_longest(*references)])
    return [np.array(metric._extract_corpus_statistics(run, None), np.float64) for run in runs]


def _many_bleu(sums: np.ndarray, scores: np.ndarray, order: int) -> np.ndarray:
    """Fill in the BLEU of rows that need no smoothing, with the same operations as sacrebleu.

    :param sums: ``[m, 2 + 2 * order]``: lengths of hypotheses and references, matches, totals.
    :returns: which rows these are, bool ``[m]``
    """
    usual: np.ndarray = (sums[:, 2:] > 0).all(axis=1) & (sums[:, 0] > 0)
    rows = sums[usual]
    precisions = 100.0 * rows[:, 2 : 2 + order] / rows[:, 2 + order :]
    gaps = 1 - rows[:, 1] / rows[:, 0]
    log, exp = math.log, math.exp  # NumPy's differ in the last bit
    scores[usual] = [
        (exp(gap) if gap < 0 else 1.0) * exp(sum([log(precision) for precision in row]) / order)
        for gap, row in zip(gaps.tolist(), precisions.tolist(), strict=True)
    ]
    return usual


def _many_chrf(sums: np.ndarray, factor: float) -> np.ndarray:
    """chrF of each row of sums ``[m, 3 * orders]``: n-grams of the hypothesis, of the reference,
    and matches.
    """
    precision, recall, orders = (np.zeros(len(sums)) for _ in range(3))
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, sums.shape[1], 3):
            reference_counts, hypothesis_counts, matches = sums[:, start : start + 3].T
            in_both = (reference_counts > 0) & (hypothesis_counts > 0)
            precision[in_both] += (matches / reference_counts)[in_both]
            recall[in_both] += (matches / hypothesis_counts)[in_both]
            orders += in_both
        precision, recall = (
            np.where(orders > 0, value / orders, 0.0) for value in (precision, recall)
        )
        score = (1 + factor) * precision * recall / (factor * precision + recall)
    return np.where(precision + recall > 0, 100 * score, 0.0)


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF of each hypothesis."""
    metric = ChrF([[reference] for reference in references])
    return list(map(float, metric.compute(metric.statistics(hypotheses))[:, 0]))


def chrf_and_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """``chrf`` and ``bleu`` of a tokenised text with one reference per example."""
    examples = [[reference] for reference in references]
    metrics = {"chrf": ChrF(examples), "bleu": Bleu(examples, tokenize="none")}
    return {
        name: float(metric.value(metric.statistics(hypotheses))[0])
        for name, metric in metrics.items()
    }
