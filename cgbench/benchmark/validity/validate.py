"""``validate()``: check the validity of a release, as ``cgbench validate`` does."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.matching import word_frequency
from cgbench.benchmark.candidates.selection import selecting_measure
from cgbench.benchmark.candidates.table import SIDES, vocabularies_of
from cgbench.benchmark.candidates.uncertainty import candidate_lines
from cgbench.benchmark.comparison.comparison import Comparison
from cgbench.benchmark.comparison.design import Clusters
from cgbench.benchmark.comparison.significance import SAMPLES
from cgbench.benchmark.metrics.metric import ExampleTexts, Metric
from cgbench.benchmark.metrics.registry import make_metric
from cgbench.benchmark.outputs.systems import Runs, System, read_systems
from cgbench.benchmark.release.manifest import CONTROL, SPLIT, table_file
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.score.with_memory import NAME
from cgbench.benchmark.validity.cell_effects import CellEffects, cell_effects
from cgbench.benchmark.validity.cells import CELLS, Cells, draw_cells
from cgbench.benchmark.validity.measures import ENSEMBLE, SystemMeasures, losses_of, measure_errors
from cgbench.benchmark.validity.ranking import FEWEST_SYSTEMS, rank, score_parts
from cgbench.benchmark.validity.request import ValidateRequest
from cgbench.benchmark.validity.result import RankedSystems, Validity
from cgbench.benchmark.validity.separation import separate
from cgbench.errors import InputError, argument
from cgbench.requests import accepts
from cgbench.text.joins import Examples


@accepts(ValidateRequest)
def validate(request: ValidateRequest) -> Validity:
    """Check the validity of a release.

    Hypotheses have one line per candidate, in the order of ``candidates.parquet``; with ``control_systems`` one line
    per pair of the test set, and of the control set; with ``cells`` one per pair of :func:`cell_sources`. The family of
    a system is the part of its name before a ``/``.

    :raises InputError: files have wrong lengths, there are fewer than three systems, or something required is missing.
    """
    systems, control = request.systems, request.control_systems
    opened = request.release if isinstance(request.release, Release) else Release.open(request.release)
    if control and not systems:
        raise InputError(f"{argument('control_systems')} needs {argument('systems')}, for the test set")
    if systems or request.measures:
        opened.check_finished()
    if request.measures and control:
        raise InputError(
            f"{argument('measures')} needs the hypotheses of all candidates, without {argument('control_systems')}"
        )
    if request.controls is not None and not control:
        raise InputError(
            f"{argument('controls')} compares a memory with systems; give {argument('systems')} and "
            f"{argument('control_systems')}"
        )
    if request.cells:
        if not systems or control or request.measures:
            raise InputError(
                f"{argument('cells')} needs {argument('systems')} with the hypotheses of the cells, without "
                f"{argument('control_systems')} and {argument('measures')}"
            )
        effects = _effects(opened, request)
        return Validity(opened, opened.correlations(), None, (), cells=effects)
    # How measures order errors, and how sets of pairs rank systems.
    measures = _measures(opened, request) if request.measures else ()
    scored = None
    if systems and not ((request.measures or request.controls is not None) and len(systems) < FEWEST_SYSTEMS):
        sets, references = (
            _test_and_control(opened, systems, control)
            if control
            else _candidates(opened, {request.name or "release": _selected(opened)})
        )
        read = _read(opened, systems, control, sets, references)
        metric = _metric(request, references)
        clusters, samples = _clusters(opened, request), request.samples or SAMPLES["bootstrap"]
        scored = _score(metric, clusters, read, sets, samples=samples, seed=request.seed)
    notes = tuple(_cautions(scored)) if scored else ()
    separation = None
    if request.controls is not None and systems and control:
        cluster = (request.cluster,) if request.cluster else ()
        comparison = Comparison(paired=True, baseline=NAME, cluster=cluster, samples=request.samples, seed=request.seed)
        options = _options(request)
        separation = separate(opened, systems, control, request.controls, request.metric, options, comparison)
    return Validity(opened, opened.correlations(), scored, notes, tuple(measures), separation)


def candidate_texts(release: Release) -> tuple[list[str], list[str]]:
    """The sources and targets of the candidates as the members read them, in the order of their table."""
    if not release.finished:
        normalised = not release.reads_originals()
        return release.lines("source", normalised=normalised), release.lines("target", normalised=normalised)
    folder = release.step("candidates")
    if folder is None:
        raise InputError(
            f"{release.folder}: the text of the candidates is in the workspace of the release (FOLDER.work), which "
            f"is not here; name it with {argument('work')}, run the command of the card again, or pass hypotheses of "
            f"the test set with {argument('control_systems')}"
        )
    return candidate_lines(folder, original=release.reads_originals())


def cell_sources(release: Release, most: int) -> list[dict[str, Any]]:
    """The pairs of the four cells in order: ``line`` of the table of candidates, ``cell`` and ``source``."""
    cells, sources, lines = _cells(release, most), candidate_texts(release)[0], release.table()["line"].to_pylist()
    return [
        {"line": lines[row], "cell": cell, "source": sources[row]}
        for cell, rows in zip(CELLS, cells.rows.tolist(), strict=True)
        for row in rows
    ]


def _cells(release: Release, most: int) -> Cells:
    """The four cells, matched also in the mean frequency of their words in the training text."""
    release.check_finished()
    columns, texts, learned = release.table().to_pydict(), release.step("candidates"), release.step("known-ngrams")
    if texts is None or learned is None:
        candidate_texts(release)  # raises the error for a missing workspace
        raise InputError(
            f"{release.folder}: the known n-grams of the build are not in its workspace; run the command of the card "
            "again"
        )
    vocabularies = vocabularies_of(learned, release.configuration["degree_side"])
    for side, lines, vocabulary in zip(SIDES, candidate_lines(texts), vocabularies, strict=True):
        columns[f"{side}_log_count"] = word_frequency(vocabulary, lines).log_count
    return draw_cells(columns, most, int(release.configuration["seed"]))


def _effects(release: Release, request: ValidateRequest) -> CellEffects:
    """The scores of the systems in the four cells, and what degree and uncertainty cost."""
    cells = _cells(release, request.cells or 0)
    rows = cells.rows.ravel()
    sources, references = ([lines[row] for row in rows] for lines in candidate_texts(release))
    name, clusters = f"the four cells ({len(rows):,} pairs)", None
    examples = Examples.of(name, {"reference": references, "source": sources})
    systems = read_systems(request.systems or {}, len(rows), name, examples)
    if request.cluster:
        labels = np.unique(_cluster_names(release, request.cluster, False), return_inverse=True)[1]
        clusters = Clusters((request.cluster,), (labels[rows],))
    samples = request.samples or SAMPLES["bootstrap"]
    return cell_effects(_metric(request, references), cells, systems, clusters, samples=samples, seed=request.seed)


def _selected(release: Release) -> np.ndarray:
    return np.flatnonzero(np.array(release.table()["stage"].to_pylist()) == "selected")


def _metric(request: ValidateRequest, references: Sequence[str]) -> Metric:
    return make_metric(request.metric, ExampleTexts([[reference] for reference in references]), _options(request))


def _options(request: ValidateRequest) -> dict[str, str]:
    options = {} if request.metric == "exact" else {"preset": request.preset}
    return options | ({"tokenize": request.tokenize} if request.tokenize else {})


def _measures(release: Release, request: ValidateRequest) -> list[SystemMeasures]:
    """The measures and the errors of the ensemble, of each system, and of those of no family of the ensemble."""
    columns = release.table().to_pydict()
    references = _candidates(release, {})[1]
    metric, clusters = _metric(request, references), _clusters(release, request)
    read = _read_candidates(release, request.systems, references) if request.systems else []
    ensemble = {ENSEMBLE: [columns["hypothesis"]]} if "hypothesis" in columns else {}
    runs = {**ensemble, **{system.name: system.runs for system in read}}
    if not runs:
        raise InputError(f"{release.folder}: has no translations of its candidates; give {argument('systems')}")
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
    """The requested clusters of the examples."""
    if not request.cluster:
        return None
    names = _cluster_names(release, request.cluster, request.control_systems is not None)
    return Clusters((request.cluster,), (np.unique(names, return_inverse=True)[1],))


def _cluster_names(release: Release, name: str, control: bool) -> list[str]:
    """The source or the document of each candidate, or of each pair of the test set and then the control set."""
    if name == "source":
        return [*release.lines(name), *release.set_lines("control", name)] if control else candidate_texts(release)[0]
    if control:
        documents = [row.get(name) for row in (*release.split(), *release.set_rows("control"))]
    else:
        table = release.table()
        documents = table[name].to_pylist() if name in table.column_names else [None]
    if None in documents:
        raise InputError(f"{argument('cluster', name)}: the release does not name documents; build it with documents")
    return [str(document) for document in documents]


Parts = dict[str, np.ndarray]


def _candidates(release: Release, selected: Mapping[str, np.ndarray]) -> tuple[Parts, list[str]]:
    targets = candidate_texts(release)[1]
    rows = release.table().num_rows
    if len(targets) != rows:
        raise InputError(f"{release.folder}: {len(targets):,} candidates in the workspace for {rows:,} in the table")
    return {**selected, "candidates": np.arange(rows)}, targets


def _test_and_control(
    release: Release, systems: Mapping[str, Runs], control: Mapping[str, Runs]
) -> tuple[Parts, list[str]]:
    lacking = sorted(set(systems) ^ set(control))
    if lacking:
        raise InputError(
            f"{argument('control_systems')}: {lacking[0]} needs hypotheses of both the test set and the control set"
        )
    test, control_targets = release.lines("target"), release.set_lines("control", "target")
    return {"test": np.arange(len(test)), "control": np.arange(len(test), len(test) + len(control_targets))}, [
        *test,
        *control_targets,
    ]


def _read_candidates(release: Release, systems: Mapping[str, Runs], references: Sequence[str]) -> list[System]:
    """The outputs of systems for the candidates."""
    examples = Examples.of("the candidates", {"reference": references, "source": candidate_texts(release)[0]},
                           release.path(table_file("candidates")))  # fmt: skip
    return read_systems(systems, len(references), "the candidates", examples)


def _read(
    release: Release,
    systems: Mapping[str, Runs],
    control: Mapping[str, Runs] | None,
    sets: Parts,
    references: list[str],
) -> list[System]:
    if len(systems) < FEWEST_SYSTEMS:
        raise InputError(
            f"{argument('systems')}: {len(systems)} system{'s' * (len(systems) > 1)}, but a ranking needs at least "
            f"{FEWEST_SYSTEMS}"
        )
    if not control:
        return _read_candidates(release, systems, references)
    texts = {"reference": release.lines("target"), "source": release.lines("source")}
    test = read_systems(systems, len(sets["test"]), "the test set",
                        Examples.of("the test set", texts, release.folder / SPLIT))  # fmt: skip
    texts = {"reference": release.set_lines("control", "target"), "source": release.set_lines("control", "source")}
    control_runs = {system.name: system for system in read_systems(
        control, len(sets["control"]), "the control set",
        Examples.of("the control set", texts, release.folder / CONTROL),
    )}  # fmt: skip
    for system in test:
        files = len(control_runs[system.name].runs)
        if len(system.runs) != files:
            raise InputError(
                f"{argument('control_systems')}: {system.name} has {files} files for the control set "
                f"and {len(system.runs)} for the test set; give the same number"
            )
    return [
        System(system.name, tuple([*a, *b] for a, b in zip(system.runs, control_runs[system.name].runs, strict=True)))
        for system in test
    ]


def _score(
    metric: Any, clusters: Clusters | None, systems: list[System], sets: Parts, *, samples: int, seed: int
) -> RankedSystems:
    whole = list(sets)[-1]
    scores = score_parts(
        metric, clusters, {system.name: system.runs for system in systems}, sets, samples=samples, seed=seed
    )
    return RankedSystems(
        metric=metric.name,
        signature=str(metric.signature()),
        whole=whole,
        scores=scores,
        rankings={set_name: rank(scores, set_name, whole) for set_name in sets if set_name != whole},
    )


def _cautions(scored: RankedSystems) -> list[str]:
    systems = len(scored.scores.systems)
    notes = []
    if systems < 6:
        best = min((ranking.chance for ranking in scored.rankings.values() if ranking.chance is not None), default=None)
        best_p = "" if best is None else f"; a random order would reach the highest tau here with p = {best:.2g}"
        notes.append(f"{systems} systems are few: tau has {systems * (systems - 1) // 2} pairs{best_p}")
    notes.append(
        "the probability of tau for a random order takes systems as independent; systems of one paper or family are "
        "not, and agree on the order more often by chance"
    )
    for name, count in scored.scores.sizes.items():
        if count < 200:
            notes.append(
                f"{name} has {count:,} pairs: intervals are wide, and percentile intervals slightly too narrow"
            )
    return notes
