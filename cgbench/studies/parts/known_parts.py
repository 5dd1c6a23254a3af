"""Scores by whether a system knows the parts of a test pair: ``cgbench score --parts FOLDER
--probe-hyp SYSTEM=FILE``.

How an output shows that a piece is known depends on the folder of ``cgbench parts``:

- *words*: the words of the piece stand in the output, in a row;
- *outputs*: the output has what the system itself says for the piece in its other probes
  (:mod:`by_outputs`);
- *exact*: the output of the probe equals its reference, by the metric that scores the test set;
- *compound*: the output of the probe translates its compound, as CTER judges it.

:mod:`residual` has the definitions, and the residual composition error.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cgbench.benchmark.measure.metrics.bins import Bin, Feature, lengths, make_bins
from cgbench.benchmark.measure.metrics.cter import Cter
from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.results import Score
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.evaluation.example_sets import ExampleSet, MetricContext, read_test_set
from cgbench.benchmark.score.evaluation.hypothesis_checks import RELEASE, normalise_systems
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.benchmark.score.evaluation.scoring_context import ScoringContext
from cgbench.benchmark.score.outputs.hypotheses import System, check_same_runs, same_systems
from cgbench.errors import InputError, argument
from cgbench.numbers_as_text import counted
from cgbench.studies.parts.by_outputs import (
    by_chance,
    judge_run,
    judge_systems,
    left_out,
    no_residual,
)
from cgbench.studies.parts.folder import SIDES, PartsFolder, Place
from cgbench.studies.parts.gate import Incidence, Parts, gate_of, parts_of_folder
from cgbench.studies.parts.options import PartsOptions
from cgbench.studies.parts.own_translations import Outcomes
from cgbench.studies.parts.residual import compare_composition
from cgbench.text.columns import Column
from cgbench.text.plain_text import words_of


@dataclass(frozen=True)
class PartsScores:
    """The scores by known pieces. ``least``: the probes in which a piece must come out;
    ``outcomes``: what came out, by system and run; ``residual``: the residual composition error;
    ``beyond``: its difference from that of the control set, if there is one; ``scored``: the scores
    on given pairs, on the rest, and on given pairs by degree, as bins; ``determined``: bool
    ``[n]``, the rows whose answer the probes determine, if pieces are judged by outputs.
    """

    folder: PartsFolder
    parts: Parts
    least: int
    outcomes: tuple[tuple[Outcomes, ...], ...]
    residual: ScoredSystems
    scored: ScoredSystems
    determined: np.ndarray | None
    beyond: ScoredSystems | None = None
    warnings: tuple[str, ...] = ()


def score_known_parts(context: ScoringContext) -> PartsScores:
    """The scores by parts.

    :raises InputError: the folder does not belong to the test set or to the metric, or probes are
        missing.
    """
    request, test, control = context.request, context.test, context.control
    options: PartsOptions = context.options
    assert options.parts is not None  # it requests the analysis
    folder = PartsFolder.open(options.parts)
    folder_name = argument("parts", str(options.parts))
    if len(folder.rows) != test.metric.n:
        raise InputError(
            f"{folder_name}: made for a test set of {len(folder.rows):,} rows, but this one has"
            f" {test.metric.n:,}"
        )
    sources = [test.sources.values] if test.sources else []
    for side, texts in (("source", sources), ("target", list(zip(*test.references, strict=False)))):
        if texts and not any(folder.is_test(side, lines) for lines in texts):
            raise InputError(
                f"{folder_name}: made for another test set: its {side} has other words; run cgbench"
                " parts again"
            )
    _check_metric(folder, test.metric, request, folder_name)
    if not folder.probes:
        raise InputError(f"{folder_name}: it has no probes")
    probes = _read_probes(request, folder, test, options)
    check_same_runs("probe_systems", probes.systems, test.systems, "probes")
    # The test set and, if the folder has its pieces, the control set.
    sets = [(test, folder.rows)]
    if control and len(folder.control) == control.metric.n:
        sets.append((control, folder.control))
    measured = [_measure(request, folder, probes, *example_set) for example_set in sets]
    parts, outcomes = measured[0]
    outcomes_by_system = list(zip([system.name for system in test.systems], outcomes, strict=True))
    residual = compare_composition(parts, outcomes_by_system, options.known, request.comparison)
    beyond = None
    for of_control in measured[1:]:
        beyond = compare_composition(
            parts, outcomes_by_system, options.known, request.comparison, of_control
        )
    bins = []
    if folder.manifest["pieces"] == "ngrams":  # which cover the row
        degrees = np.array(
            [len(row) / row[-1].end if row and row[-1].end > 0 else 0.0 for row in folder.rows]
        )
        bins = make_bins(Feature("degree", degrees), None)
        bins = [
            replace(degree_bin, label=f"given, degree {degree_bin.label}") for degree_bin in bins
        ]
    given_pairs = [
        np.stack([gate_of(parts, run.probes, options.known).given for run in runs])
        for runs in outcomes
    ]
    determined = _determined(folder, parts, options.known, test)
    scored = _by_parts(context.scored, given_pairs, bins, determined, request)
    scores = PartsScores(
        folder, parts, options.known, outcomes, residual, scored, determined, beyond
    )
    return replace(
        scores, warnings=(*(f"probes: {line}" for line in probes.warnings), *_warnings(scores))
    )


def _measure(
    request: ScoreRequest,
    folder: PartsFolder,
    probes: ExampleSet,
    example_set: ExampleSet,
    rows: Sequence[Sequence[Place]],
) -> tuple[Parts, tuple[tuple[Outcomes, ...], ...]]:
    """The pieces of a test or control set, and what came out in it and in the probes, by system and
    run.
    """
    # Pieces are in normalised form.
    systems, probe_systems = (_in_form_of_pieces(folder, both) for both in (example_set, probes))
    runs_of_systems = [
        list(zip(of_probes.runs, system.runs, strict=True))
        for of_probes, system in zip(probe_systems, systems, strict=True)
    ]
    if folder.match == "outputs":
        return judge_systems(folder, rows, systems, probe_systems)
    if example_set.targets is None or probes.targets is None:
        raise InputError(
            f"{folder.folder}: the lengths of test pairs are needed; give {argument('references')}"
        )
    words, probe_words = lengths(example_set.targets.values), lengths(probes.targets.values)
    parts = parts_of_folder(folder, rows, words, probe_words, whole=folder.match != "words")
    came_out = partial(_came_out, request, folder)
    return parts, tuple(
        tuple(
            Outcomes(
                came_out(parts.probes, probes.metric, probe_run),
                came_out(parts.rows, example_set.metric, run),
            )
            for probe_run, run in runs
        )
        for runs in runs_of_systems
    )


def _determined(
    folder: PartsFolder, parts: Parts, least: int, test: ExampleSet
) -> np.ndarray | None:
    """Which test rows the text determines: the references of its probes translate every piece
    alike, as a system must that knows it. None where pieces are judged by references, which then
    are right by definition.
    """
    if folder.match != "outputs" or not test.references:
        return None
    texts = (
        [target for _, target in folder.probes],
        [references[0] for references in test.references],
    )
    return gate_of(parts, judge_run(folder, folder.rows, parts, texts).probes, least).given


def _by_parts(
    scored: ScoredSystems,
    given_pairs: Sequence[np.ndarray],
    bins: Sequence[Bin],
    determined: np.ndarray | None,
    request: ScoreRequest,
) -> ScoredSystems:
    """The scores on given pairs, on the rest, on given pairs in each bin, and on pairs that are
    determined or not.

    :param given_pairs: of each system bool ``[runs, n]``; ``determined``: bool ``[n]``.
    """
    comparison = request.comparison.without_tests
    every, results = np.arange(scored.metric.n), []
    for result, given_rows in zip(scored.results, given_pairs, strict=True):
        # As many rows as count in some run: intervals depend on it.
        masks = [(Bin("given", every), given_rows), (Bin("rest", every), ~given_rows)]
        masks += [(bin_, given_rows) for bin_ in bins]
        if determined is not None:
            halves = (
                (Bin("determined", every), determined),
                (
                    Bin("not determined", every),
                    ~determined,
                ),
            )
            masks += [(half, np.broadcast_to(inside, given_rows.shape)) for half, inside in halves]
        subsets = []
        for bin_, inside in masks:
            rows = bin_.rows[inside[:, bin_.rows].any(axis=0)]
            subset = replace(
                result.whole, figures={name: Score(None) for name in result.whole.figures}
            )
            if len(rows):
                masked = replace(result, statistics=result.statistics * inside[:, :, None])
                ((subset,),) = replace(scored, results=(masked,)).on([rows], comparison)
            mean = float(inside[:, rows].sum()) / len(inside)
            examples = max(round(mean), int(mean > 0))  # 0 means none in any run
            subsets.append((bin_, replace(subset, examples=examples)))
        results.append(replace(result, bins=tuple(subsets)))
    return replace(scored, by="parts", results=tuple(results))


def _warnings(scores: PartsScores) -> list[str]:
    lines, counts = [], scores.folder.manifest["counts"]
    if trained := counts["trained"]:
        compared = (
            "the difference from the control set cancels this"
            if scores.beyond
            else "give a control set"
        )
        lines.append(
            f"{trained:,} of {counts['probes']:,} probes are in the training text: memorisation"
            f" alone gives a residual above zero; {compared}"
        )
    lines += left_out(scores.folder, scores.parts)
    if scores.folder.match == "outputs":
        lines.append(by_chance(scores.outcomes))
    elif single := sum(len(piece.probes) == 1 for piece in scores.folder.pieces):
        lines.append(
            f"{counted(single, 'piece')} with one probe: it decides whether the piece is known, and"
            " none is left to predict its error"
        )
    for result, by_parts, runs in zip(
        scores.residual.results, scores.scored.results, scores.outcomes, strict=True
    ):
        given_count = by_parts.bins[0][1].examples
        if result.whole.figures["residual"].value is None:
            lines.append(no_residual(result.system, scores.parts, runs, scores.least, given_count))
        elif given_count < 20:
            lines.append(
                f"{result.system}: only {counted(given_count, 'given pair')}, fewer than 20"
            )
    return lines


def _check_metric(
    folder: PartsFolder, metric: Metric, request: ScoreRequest, folder_name: str
) -> None:
    if isinstance(request.metric, Metric):
        raise InputError(
            f"{folder_name}: name the metric; a Metric belongs to the texts that it was made for"
        )
    if (folder.match == "compound") != isinstance(metric, Cter):
        kind = "compounds" if folder.match == "compound" else "no compounds"
        raise InputError(
            f"{folder_name}: its probes are {kind}, so {metric.name} cannot judge them"
        )
    if folder.match == "exact" and not isinstance(metric, ExactMatch):
        raise InputError(
            f"{folder_name}: its probes are right or wrong as a whole; use the metric exact, not"
            f" {metric.name}"
        )


def _read_probes(
    request: ScoreRequest, folder: PartsFolder, test: ExampleSet, options: PartsOptions
) -> ExampleSet:
    """The probes as a test set: the same metric with the same options, texts in the same form."""
    release_form = test.normalised is not None and request.examples.normalise in (None, RELEASE)
    probes = folder.normalised if release_form else folder.probes
    examples = {name: getattr(request.examples, name) for name in ("normalise", "accept_text")}
    settings = {
        name: value for name, value in request.metric_options.items() if name != "human"
    }  # of the test set
    values: dict[str, Any] = {"metric": request.metric, "examples": examples, "settings": settings}
    values["systems"] = same_systems(
        "probe_systems", options.probe_systems, request.systems, "probes"
    )
    values["sources"], values["references"] = (
        Column(f"{folder.folder}: {name} of probes", list(texts))
        for name, texts in zip(SIDES, zip(*probes, strict=True), strict=True)
    )
    if folder.match == "compound":
        of_probe = {probe: piece.text for piece in folder.pieces for probe in piece.probes}
        del values["references"]
        compounds = [of_probe[probe] for probe in range(len(folder.probes))]
        of_probes = {
            "compounds": Column(f"{folder.folder}: compounds of probes", compounds),
            "group_size": 1,
        }
        values["settings"] |= of_probes
    if (
        release_form and folder.normalisation.anonymise == "none"
    ):  # else hypotheses are in that form already
        values["release"] = request.release
        examples["normalise"] = RELEASE
    try:
        return read_test_set(ScoreRequest(**values), MetricContext())
    except InputError as error:
        raise InputError(f"probes: {error.message}") from None


def _in_form_of_pieces(folder: PartsFolder, example_set: ExampleSet) -> Sequence[System]:
    """The systems with outputs in the form of the pieces, where these are searched in outputs."""
    if folder.match != "words" or folder.normalisation.is_identity:
        return example_set.systems
    return normalise_systems(example_set.systems, folder.normalisation, example_set.references)[0]


def _came_out(
    request: ScoreRequest,
    folder: PartsFolder,
    incidence: Incidence,
    metric: Metric,
    texts: Sequence[str],
) -> np.ndarray:
    """Which pieces came out in which outputs: bool for each of ``incidence``."""
    if folder.match != "words":  # outputs are right or wrong as a whole
        outcomes = metric.outcomes(metric.statistics(texts), np.arange(metric.n))
        assert outcomes is not None  # exact match or CTER
        right = np.asarray((outcomes[metric.figures[0]] > 0) != metric.lower_is_better)
        return np.asarray(right[incidence.sentence])
    case = str.lower if request.metric_options.get("lowercase") else str
    framed = [f" {case(piece.text)} " for piece in folder.pieces]
    ready = [f" {' '.join(words_of(case(text)))} " for text in texts]
    incidences = zip(incidence.piece.tolist(), incidence.sentence.tolist(), strict=True)
    return np.array([framed[piece] in ready[sentence] for piece, sentence in incidences], bool)
