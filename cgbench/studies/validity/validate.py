"""``validate()``: check the validity of a release, as ``cgbench validate`` does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cgbench.benchmark.candidates.matching import LOG_COUNTS, word_frequency
from cgbench.benchmark.candidates.selection import selecting_measure
from cgbench.benchmark.candidates.table import vocabularies_of
from cgbench.benchmark.candidates.uncertainty import candidate_lines
from cgbench.benchmark.measure.metrics.metric import ExampleTexts, Metric
from cgbench.benchmark.measure.metrics.registry import make_metric
from cgbench.benchmark.release.manifest import table_file
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.score.comparison.design import Clusters
from cgbench.benchmark.score.comparison.significance import SAMPLES
from cgbench.benchmark.score.evaluation.example_sets import (
    MetricContext,
    read_control_set,
    read_test_set,
)
from cgbench.benchmark.score.evaluation.request import Control, ScoreRequest
from cgbench.benchmark.score.outputs.hypotheses import Runs, System, check_same_runs, read_systems
from cgbench.errors import InputError, argument
from cgbench.request import accepts
from cgbench.studies.validity.cell_effects import CellEffects, cell_effects
from cgbench.studies.validity.cells import CELLS, Cells, draw_cells
from cgbench.studies.validity.error_prediction import (
    ENSEMBLE,
    SystemMeasures,
    losses_of,
    measure_errors,
)
from cgbench.studies.validity.ranking import FEWEST_SYSTEMS, rank, score_parts
from cgbench.studies.validity.request import ValidateRequest
from cgbench.studies.validity.result import RankedSystems, Validity
from cgbench.studies.validity.separation import separate
from cgbench.text.joins import Examples
from cgbench.text.output_checks import check_outputs


@accepts(ValidateRequest)
def validate(request: ValidateRequest) -> Validity:
    """Check the validity of a release.

    Hypotheses have one line per candidate, in the order of ``candidates.parquet``; with
    ``control_systems`` one line per pair of the test set, and of the control set; with ``cells``
    one per pair of :func:`cell_sources`. The family of a system is the part of its name before a
    ``/``.

    :raises InputError: files have wrong lengths, there are fewer than three systems, or something
        required is missing.
    """
    systems, control = request.systems, request.control_systems
    opened = (
        request.release if isinstance(request.release, Release) else Release.open(request.release)
    )
    if control and not systems:
        raise InputError(
            f"{argument('control_systems')} needs {argument('systems')}, for the test set"
        )
    if systems or request.measures:
        opened.check_finished()
    if request.measures and control:
        raise InputError(
            f"{argument('measures')} needs the hypotheses of all candidates, without"
            f" {argument('control_systems')}"
        )
    if request.controls is not None and not control:
        raise InputError(
            f"{argument('controls')} compares a memory with systems; give {argument('systems')} and"
            f" {argument('control_systems')}"
        )
    if request.cells:
        if not systems or control or request.measures:
            raise InputError(
                f"{argument('cells')} needs {argument('systems')} with the hypotheses of the cells,"
                f" without {argument('control_systems')} and {argument('measures')}"
            )
        effects = _effects(opened, request)
        return Validity(opened, opened.correlations(), None, (), cells=effects)
    # How measures order errors, and how sets of pairs rank systems.
    measures = _measures(opened, request) if request.measures else ()
    scored = None
    if systems and not (
        (request.measures or request.controls is not None) and len(systems) < FEWEST_SYSTEMS
    ):
        scored = _ranked(opened, request, systems)
    notes = tuple(_cautions(scored)) if scored else ()
    separation = None
    if request.controls is not None:
        separation = separate(opened, request, _options(request))
    return Validity(opened, opened.correlations(), scored, notes, tuple(measures), separation)


def candidate_texts(release: Release) -> tuple[list[str], list[str]]:
    """The sources and targets of the candidates as the members read them, in the order of their
    table.
    """
    if not release.finished:
        normalised = not release.reads_originals()
        return release.lines("source", normalised=normalised), release.lines(
            "target", normalised=normalised
        )
    folder = release.step("candidates")
    if folder is None:
        raise InputError(
            f"{release.folder}: the text of the candidates is in the workspace of the release"
            f" (FOLDER.work), which is not here; name it with {argument('work')}, run the command"
            " of the card again, or pass hypotheses of the test set with"
            f" {argument('control_systems')}"
        )
    return candidate_lines(folder, original=release.reads_originals())


def cell_sources(release: Release, most: int) -> list[dict[str, Any]]:
    """The pairs of the four cells in order: ``line`` of the table of candidates, ``cell`` and
    ``source``.
    """
    cells, sources, lines = (
        _cells(release, most),
        candidate_texts(release)[0],
        release.table()["line"].to_pylist(),
    )
    return [
        {"line": lines[row], "cell": cell, "source": sources[row]}
        for cell, rows in zip(CELLS, cells.rows.tolist(), strict=True)
        for row in rows
    ]


def _cells(release: Release, most: int) -> Cells:
    """The four cells, matched also in the mean frequency of their words in the training text."""
    release.check_finished()
    columns, texts, learned = (
        release.table().to_pydict(),
        release.step("candidates"),
        release.step("known-ngrams"),
    )
    if texts is None or learned is None:
        candidate_texts(release)  # raises the error for a missing workspace
        raise InputError(
            f"{release.folder}: the known n-grams of the build are not in its workspace; run the"
            " command of the card again"
        )
    vocabularies = vocabularies_of(learned, release.configuration["degree_side"])
    for name, lines, vocabulary in zip(
        LOG_COUNTS, candidate_lines(texts), vocabularies, strict=True
    ):
        columns[name] = word_frequency(vocabulary, lines).log_count
    return draw_cells(columns, most, int(release.configuration["seed"]))


def _effects(release: Release, request: ValidateRequest) -> CellEffects:
    """The scores of the systems in the four cells, and what degree and uncertainty cost."""
    cells, clusters = _cells(release, request.cells or 0), _clusters(release, request)
    rows = cells.rows.ravel()
    sources, references = ([lines[row] for row in rows] for lines in candidate_texts(release))
    systems = Pairs(f"the four cells ({len(rows):,} pairs)", sources, references).read(
        request.systems or {}
    )
    if clusters:
        clusters = Clusters(clusters.names, (clusters.labels[0][rows],))
    samples = request.samples or SAMPLES["bootstrap"]
    return cell_effects(
        _metric(request, references), cells, systems, clusters, samples=samples, seed=request.seed
    )


def _metric(request: ValidateRequest, references: Sequence[str]) -> Metric:
    return make_metric(
        request.metric, ExampleTexts([[reference] for reference in references]), _options(request)
    )


def _options(request: ValidateRequest) -> dict[str, str]:
    options = {} if request.metric == "exact" else {"preset": request.preset}
    return options | ({"tokenize": request.tokenize} if request.tokenize else {})


def _measures(release: Release, request: ValidateRequest) -> list[SystemMeasures]:
    """The measures and the errors of the ensemble, of each system, and of those of no family of the
    ensemble.
    """
    columns, candidates = release.table().to_pydict(), _candidates(release)
    metric, clusters = _metric(request, candidates.references), _clusters(release, request)
    read = candidates.read(request.systems) if request.systems else []
    ensemble = {ENSEMBLE: [columns["hypothesis"]]} if "hypothesis" in columns else {}
    runs = {**ensemble, **{system.name: system.runs for system in read}}
    if not runs:
        raise InputError(
            f"{release.folder}: has no translations of its candidates; give {argument('systems')}"
        )
    return measure_errors(
        columns,
        {name: losses_of(metric, of) for name, of in runs.items()},
        selecting_measure(release.configuration),
        [system.name for system in read if system.name.split("/")[0] != request.name],
        samples=request.samples or SAMPLES["bootstrap"],
        seed=request.seed,
        clusters=clusters.labels[0] if clusters else None,
    )


def _clusters(release: Release, request: ValidateRequest) -> Clusters | None:
    """The source or the document of each candidate, or of each pair of the test set and then the
    control set.
    """
    name, control = request.cluster, request.control_systems is not None
    if name is None:
        return None
    names: list[Any]
    if name == "source":
        names = (
            [*release.lines(name), *release.set_lines("control", name)]
            if control
            else candidate_texts(release)[0]
        )
    else:
        if control:
            names = [row.get(name) for row in (*release.split(), *release.set_rows("control"))]
        else:
            table = release.table()
            names = table[name].to_pylist() if name in table.column_names else [None]
        if None in names:
            raise InputError(
                f"{argument('cluster', name)}: the release does not name documents; build it with"
                " documents"
            )
    return Clusters((name,), (np.unique(list(map(str, names)), return_inverse=True)[1],))


class Pairs(NamedTuple):
    """Pairs that systems translated, with their ``name`` in messages, and a table with one row per
    pair.
    """

    name: str
    sources: Sequence[str]
    references: Sequence[str]
    table: Path | None = None

    def read(self, outputs: Mapping[str, Runs]) -> list[System]:
        """The outputs of systems for the pairs.

        :raises InputError: they have another form than the references.
        """
        examples = Examples.of(
            self.name, {"reference": self.references, "source": self.sources}, self.table
        )
        systems = read_systems(outputs, len(self.references), self.name, examples)
        of_systems = {system.name: system.runs for system in systems}
        check_outputs(of_systems, self.references, are_references=True)
        return systems


def _candidates(release: Release) -> Pairs:
    sources, targets = candidate_texts(release)
    rows = release.table().num_rows
    if len(targets) != rows:
        raise InputError(
            f"{release.folder}: {len(targets):,} candidates in the workspace for {rows:,} in the"
            " table"
        )
    return Pairs(
        "the table of candidates", sources, targets, release.path(table_file("candidates"))
    )


def _ranked(
    release: Release, request: ValidateRequest, systems: Mapping[str, Runs]
) -> RankedSystems:
    """How the test set ranks systems compared with the candidates, or with the control set."""
    if len(systems) < FEWEST_SYSTEMS:
        raise InputError(
            f"{argument('systems')}: {len(systems)} system{'s' * (len(systems) > 1)}, but a ranking"
            f" needs at least {FEWEST_SYSTEMS}"
        )
    normalised = None
    references: Sequence[Sequence[str]]
    runs: Mapping[str, Sequence[Sequence[str]]]
    if request.control_systems:
        # Hypotheses and references in the form in which `cgbench score` compares them.
        control = Control(control_systems=request.control_systems)
        asked = ScoreRequest(
            request.metric, systems, release=release, control=control, settings=_options(request)
        )
        test, easy = read_test_set(asked, MetricContext()), read_control_set(asked, MetricContext())
        assert easy is not None  # it has systems
        references, at, normalised = (
            [*test.references, *easy.references],
            test.metric.n,
            test.normalised,
        )
        sets = {"test": np.arange(at), "control": np.arange(at, len(references))}
        check_same_runs("control_systems", easy.systems, test.systems)
        runs = {  # the outputs for the test set, then for the control set
            hard.name: [[*a, *b] for a, b in zip(hard.runs, other.runs, strict=True)]
            for hard, other in zip(test.systems, easy.systems, strict=True)
        }
    else:
        candidates = _candidates(release)
        selected = np.flatnonzero(np.array(release.table()["stage"].to_pylist()) == "selected")
        references = [[reference] for reference in candidates.references]
        sets = {request.name or "release": selected, "candidates": np.arange(len(references))}
        runs = {system.name: system.runs for system in candidates.read(systems)}
    metric = make_metric(request.metric, ExampleTexts(references), _options(request))
    samples = request.samples or SAMPLES["bootstrap"]
    parts = score_parts(
        metric, _clusters(release, request), runs, sets, samples=samples, seed=request.seed
    )
    *subsets, whole = parts
    rankings = {name: rank(parts[name], parts[whole]) for name in subsets}
    signature = str(metric.signature()) + (f"|norm:{normalised}" if normalised else "")
    return RankedSystems(metric.name, signature, whole, list(runs), parts, rankings)


def _cautions(scored: RankedSystems) -> list[str]:
    systems = len(scored.systems)
    notes = []
    if systems < 6:
        best = min(
            (ranking.chance for ranking in scored.rankings.values() if ranking.chance is not None),
            default=None,
        )
        best_p = (
            ""
            if best is None
            else f"; a random order would reach the highest tau here with p = {best:.2g}"
        )
        notes.append(
            f"{systems} systems are few: tau has {systems * (systems - 1) // 2} pairs{best_p}"
        )
    notes.append(
        "the probability of tau for a random order takes systems as independent; systems of one"
        " paper or family are not, and agree on the order more often by chance"
    )
    for name, part in scored.parts.items():
        if part.size < 200:
            notes.append(
                f"{name} has {part.size:,} pairs: intervals are wide, and percentile intervals"
                " slightly too narrow"
            )
    return notes
