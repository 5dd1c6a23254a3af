"""Build a benchmark of compositional generalisation from real text, by ReaCT's method.

Zheng and Lapata, "Real-World Compositional Generalization with Disentangled Sequence-to-Sequence
Learning" (Findings of ACL 2023), section 4: drop pairs with rare words; compute each pair's
compositional degree from the known n-grams of the training corpus; keep the pairs of the highest
degree; translate them with an ensemble and measure its knowledge uncertainty; drop the most
uncertain, draw from the next. :func:`find_pairs` is these steps in order, one function for each;
:func:`build_react` goes from a request to a release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.build.react.build_plan import Built, Plan, plan_build
from cgbench.benchmark.build.react.checks import check_enough, check_ensemble, size_warnings
from cgbench.benchmark.build.react.control import draw_control
from cgbench.benchmark.build.react.known_words import learn_known
from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.benchmark.build.react.write_release import write_release
from cgbench.benchmark.candidates.amounts import resolve_amount
from cgbench.benchmark.candidates.cut import Bounds, count_lengths, cut, scan_parts
from cgbench.benchmark.candidates.division import publish_division
from cgbench.benchmark.candidates.documents import DOCUMENT, documents_of
from cgbench.benchmark.candidates.ensemble_quality import (
    QUALITY,
    control_step,
    measure_quality,
    warning_of,
)
from cgbench.benchmark.candidates.hardness import chrf_gap, chrf_statistics, no_harder
from cgbench.benchmark.candidates.matching import MatchedControl
from cgbench.benchmark.candidates.noise_share import choose_cut, noise_text, with_cut
from cgbench.benchmark.candidates.originals import original_pairs
from cgbench.benchmark.candidates.pair_measures import pair_measures
from cgbench.benchmark.candidates.pool_scan import scan_with
from cgbench.benchmark.candidates.selection import select_rows, selection_sizes
from cgbench.benchmark.candidates.strata import OWN_SCORE, draw_columns
from cgbench.benchmark.candidates.table import (
    DIFFICULTY,
    candidate_table,
    read_difficulty,
    vocabularies_of,
    with_columns,
)
from cgbench.benchmark.candidates.uncertainty import (
    candidate_lines,
    check_reverse,
    read_uncertainty,
    reverse_of_candidates,
    shard_needs,
    translate_sources,
    uncertainty_of_candidates,
)
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import chrf_and_bleu, sentence_chrf
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.work_folder import find_work, keep_private
from cgbench.engines import Engine, saying_where
from cgbench.errors import check_installed, warn
from cgbench.files import read_json, write_atomic, write_json
from cgbench.lm.language_model import LanguageModel
from cgbench.locks import locked
from cgbench.models.checkpoints import member_folders
from cgbench.models.external.token_space import Measurement, measure_in_token_space
from cgbench.models.training.ensemble_training import (
    check_beside,
    check_trained_on,
    publish_beside,
    train_members,
    warn_of_length,
)
from cgbench.models.training.held_out import PARTS, texts_in
from cgbench.progress import numbered_steps
from cgbench.request import accepts
from cgbench.steps import STEPS, Workspace
from cgbench.text.corpus import ParallelText
from cgbench.text.normalisation import SIDES

STATISTICS = "chrf.npy"
TEXTS = "texts"  # in the workspace: lists of sentences, the two sides of a divided corpus


@accepts(BuildRequest)
def build_react(request: BuildRequest) -> Release:
    """Build a release, or resume a build: finished steps are kept.

    One ``corpus`` is divided into a training corpus and a pool; the training side is for the
    systems to be tested, and is in ``OUT.work/corpus``.

    A corpus is one file with both sides (TSV, JSON lines, Parquet), two plain files, ``(source,
    target)``, or two lists of sentences.

    :returns: the release in ``out``; if the build stops early, it contains the candidates.
    :raises InputError: an input or a setting is invalid, or too few pairs are left for the
        selection.
    """
    return run_build(
        plan_build(request, texts_of(request)),
        request.execution.tasks.workers,
        request.execution.tasks.say,
    )


def run_build(plan: Plan, engine: Engine, say: Callable[[str], None] | None = None) -> Release:
    """Run the missing steps of a plan, and write the release.

    :param say: receives one line per step: why it runs or is kept.
    """
    # Nothing is written where a package is missing.
    for package in ("numba", "pyarrow"):
        check_installed(package)
    out, beside = plan.request.folders[0], find_work(*plan.request.folders)
    workspace = Workspace(beside / STEPS, say)
    if plan.ensemble:
        check_beside(workspace)
    with (
        locked(workspace.root / "lock", wait=False),
        numbered_steps(step.name for step in plan.steps),
    ):
        keep_private(beside)
        if plan.inputs.division:
            publish_division(plan.inputs.division, beside)
        built = find_pairs(plan, workspace, engine=engine)
        release = write_release(built, out, workspace)
    for warning in built.warnings:  # with the caller's paths; the manifest has file names only
        warn(warning)
    return release


def explain(plan: Plan, workspace: Workspace) -> list[str]:
    """One line per step: whether :func:`run_build` would run it, and why. Writes nothing.

    :raises InputError: as :func:`build_react`, as far as it can be known before any step runs.
    """
    if plan.ensemble:
        check_beside(workspace)
        warn_of_length(workspace, plan.ensemble)
    if train := plan.train.kept(workspace):
        _check_ensembles(plan, train)
    _open_lm(plan, workspace)
    return [workspace.why(step) for step in plan.steps]


def texts_of(request: BuildRequest) -> Path:
    """The folder for texts that a build writes before it runs."""
    return find_work(*request.folders) / STEPS / TEXTS


def division_lines(plan: Plan) -> list[str]:
    """The line about the division of a single corpus, if there is one."""
    division = plan.inputs.division
    return [f"corpus: {division}"] if division else []


def workspace_of(request: BuildRequest) -> Workspace:
    """The workspace with the finished steps of a build."""
    return Workspace(find_work(*request.folders) / STEPS)


@dataclass(frozen=True)
class Build:
    """What the steps of a build share: the plan, where results are, where tasks run, the texts."""

    plan: Plan
    workspace: Workspace
    engine: Engine
    train: ParallelText
    pools: tuple[ParallelText, ...]
    exclude: tuple[ParallelText, ...]

    @classmethod
    def open(cls, plan: Plan, workspace: Workspace, engine: Engine) -> Build:
        """Read the texts of a plan, normalised if the plan has a normalisation."""
        engine.share(workspace.root)
        return cls(
            plan,
            workspace,
            engine,
            plan.train.realise(workspace, engine),
            tuple(pool.realise(workspace, engine) for pool in plan.pools),
            tuple(text.realise(workspace, engine) for text in plan.exclude),
        )

    @property
    def request(self) -> BuildRequest:
        """The settings of the build."""
        return self.plan.request

    @property
    def bounds(self) -> Bounds:
        """The permitted lengths of a pair."""
        filters = self.request.filters
        return Bounds(filters.min_length, filters.max_length, filters.degree_side)

    @property
    def seen(self) -> tuple[ParallelText, ...]:
        """The texts whose lines may not be in the test set."""
        return self.train, *self.exclude

    def documents(self, pool: np.ndarray, line: np.ndarray) -> list[str]:
        """The document of each pair, by corpus and line, both counted from 1."""
        document = self.request.drawing.document
        assert document is not None
        return documents_of(document, self.plan.inputs.pools, self.pools, pool, line)


@dataclass(frozen=True)
class Draw:
    """Which candidates the test set is drawn from, and which are drawn."""

    columns: dict[str, Any]
    """Columns for the table of candidates: ``rank``, ``stage``, probabilities of the draw."""
    noise: dict[str, Any] | None
    """The estimated share of noise, with the cut chosen for it."""

    @property
    def selected(self) -> list[int]:
        """The rows of the test set."""
        return [row for row, stage in enumerate(self.columns["stage"]) if stage == "selected"]


def find_pairs(plan: Plan, workspace: Workspace, *, engine: Engine) -> Built:
    """The method: from a training corpus and a pool to the pairs of the benchmark.

    Finished steps are kept.
    """
    build = Build.open(plan, workspace, engine)
    # What can fail fails before the expensive scan.
    _check_ensembles(plan, build.train)
    model = _open_lm(plan, workspace)
    difficulty: tuple[np.ndarray, ...] = ()
    if plan.inputs.difficulty:
        difficulty = read_difficulty(plan.inputs.difficulty, build.pools, plan.inputs.pools)
    # Known n-grams: of any length, from the training corpus or an overlap result.
    ngrams = workspace.run(
        plan.ngrams, lambda out: learn_known(out, plan, build.train, build.pools)
    )
    # Pairs with a rare word are dropped; known n-grams cover the others, which gives their degree.
    scans = scan_pools(build, ngrams)
    # Candidates: the highest degrees, without repeats and without seen text.
    candidates = workspace.run(plan.candidates, lambda out: _cut(out, build, scans))
    counts = _counts(build.pools, scans, candidates)
    check_enough(build.request, counts, build.train)
    table = describe_candidates(build, candidates, ngrams, model, difficulty)
    # The ensemble translates the candidates: its uncertainty, and whether it translates at all.
    table, quality = measure_uncertainty(build, candidates, table)
    check_ensemble(build.request, quality)
    # How unlikely is each source given its target?
    table = measure_reverse(build, candidates, table)
    scored_side = plan.perplexity.config["side"] if plan.perplexity else None
    table = with_columns(table, pair_measures(table.to_pydict(), scored_side))
    # The most uncertain are mostly noise and dropped; the test set is drawn from the next.
    control = noise = None
    if build.request.execution.until == "release":
        draw = draw_test_set(build, candidates, table, quality)
        noise = draw.noise
        table = with_columns(table, draw.columns)
        # A control set is like the test set, except in what makes that hard.
        if build.request.drawing.control:
            control = draw_matched_control(build, candidates, scans, ngrams, table, draw.selected)
            counts["control"] = len(control.sources)
        # How hard are they for the ensemble?
        quality = score_sets(build, candidates, table, draw.selected, control, quality)
    return Built(
        plan,
        build.train,
        build.pools,
        candidates,
        table,
        counts,
        _warnings(build, counts, quality, control),
        quality,
        control,
        noise,
    )


def scan_pools(build: Build, ngrams: Path) -> tuple[Path, ...]:
    """Filter the pairs of each corpus of the pool, and measure their degree; returns the scans."""
    filters = build.request.filters
    sides = filters.degree_side, filters.filter_sides

    def scan_pool(out: Path, index: int) -> None:
        counts = scan_with(build.engine, build.pools[index], index, ngrams, sides, out)
        write_json(out / "counts.json", counts)

    with saying_where(build.engine, "scan", build.workspace.say):
        return tuple(
            build.workspace.run(step, partial(scan_pool, index=index), resumable=True)
            for index, step in enumerate(build.plan.scans)
        )


def describe_candidates(
    build: Build,
    candidates: Path,
    ngrams: Path,
    model: LanguageModel | None,
    difficulty: Sequence[np.ndarray],
) -> Any:
    """The table of candidates, with what is known of them without the ensemble.

    :param model: scores their perplexity, if that is not done yet.
    :param difficulty: of every pair of each corpus of the pool; empty if unknown.
    """
    plan = build.plan
    perplexity = None
    if plan.perplexity:
        perplexity = build.workspace.run(
            plan.perplexity, lambda out: _score(out, plan, model, candidates)
        )
    degree_side = build.request.filters.degree_side
    table = candidate_table(candidates, build.pools, perplexity, ngrams, degree_side)
    pool, line = table["pool"].to_numpy(), table["pool_line"].to_numpy()
    if difficulty:
        values = [difficulty[i - 1][j - 1] for i, j in zip(pool, line, strict=True)]
        table = with_columns(table, {DIFFICULTY: list(map(float, values))})
    if build.request.drawing.document is not None:
        table = with_columns(table, {DOCUMENT: build.documents(pool, line)})
    return table


def measure_uncertainty(
    build: Build, candidates: Path, table: Any
) -> tuple[Any, dict[str, Any] | None]:
    """The table with hypotheses and uncertainties, and the quality of the ensemble (None if the
    build stops before).

    That the ensemble translates at all is checked, which is not in the paper.
    """
    plan, workspace = build.plan, build.workspace
    if not (plan.uncertainty and plan.quality):
        return table, None
    # The members translate the candidates.
    members = _members(build)
    with saying_where(build.engine, "uncertainty", workspace.say):
        uncertainty = workspace.run(
            plan.uncertainty,
            lambda out: _measure(out, build, members, candidates),
            resumable=True,
        )
    measures = read_uncertainty(uncertainty)
    # How good are the translations, and those of pairs that training has held out?
    held_out = None
    if plan.ensemble and plan.ensemble.held_out:
        held_out = texts_in(workspace.result(plan.ensemble.held_out), PARTS[1])

    def check_quality(out: Path) -> None:
        measure_quality(
            out,
            measures,
            candidate_lines(candidates, original=plan.inputs.reads_originals),
            members=members,
            train=(build.train.source.path, build.train.target.path),
            train_lines=build.train.lines,
            held_out=held_out,
            search=build.request.ensemble_options.search,
            device=plan.device,
            engine=build.engine,
            scores=chrf_and_bleu,
        )

    quality = read_json(workspace.run(plan.quality, check_quality) / QUALITY)
    return with_columns(table, measures), quality


def measure_reverse(build: Build, candidates: Path, table: Any) -> Any:
    """The table with the scores of the reverse-direction ensemble, if there is one."""
    plan = build.plan
    if not plan.reverse:
        return table
    assert plan.inputs.reverse is not None
    members = member_folders(plan.inputs.reverse)
    scores = build.workspace.run(
        plan.reverse,
        lambda out: reverse_of_candidates(
            members, candidates, out, device=plan.device, engine=build.engine
        ),
        resumable=True,
    )
    return with_columns(table, read_uncertainty(scores))


def draw_test_set(
    build: Build, candidates: Path, table: Any, quality: dict[str, Any] | None
) -> Draw:
    """Drop the least likely references (not in the paper) and the most uncertain candidates, which
    are mostly noise, and draw at random from the next.
    """
    config, rows = build.request.as_dict(), table.to_pydict()
    drawing = build.request.drawing
    # How many, and by which measure the noise is dropped.
    noise = choose_cut(rows, config, quality)
    if noise:
        build.workspace.say(f"selection: {noise_text(noise, config, table.num_rows)}")
    chosen = with_cut(config, noise)
    sizes = selection_sizes(chosen, table.num_rows)
    ranks, stages = select_rows(rows, chosen, sizes)
    columns: dict[str, Any] = {"rank": ranks, "stage": stages}
    # The ensemble's own score allocates a stratified sample (Neyman).
    if drawing.design == "stratified" and drawing.allocation == "neyman":
        _, targets = candidate_lines(candidates, original=build.plan.inputs.reads_originals)
        columns[OWN_SCORE] = sentence_chrf(rows["hypothesis"], targets)
    # The probability of each draw, and a stratified sample of all candidates if there is to be one.
    columns |= draw_columns({**rows, **columns}, config, sizes)
    return Draw(columns, noise)


def draw_matched_control(
    build: Build,
    candidates: Path,
    scans: Sequence[Path],
    ngrams: Path,
    table: Any,
    selected: Sequence[int],
) -> MatchedControl:
    """Draw a control set matched to the test set: the rows ``selected`` of the candidates."""
    test = {
        name: table[name].to_numpy()[selected]
        for name in ("pool", "source_length", "target_length")
    }
    test["pool"] = test["pool"] - 1  # as the scans count
    source, target = (
        (candidates / f"candidates.{side}").read_bytes().split(b"\n") for side in SIDES
    )
    control = draw_control(
        scan_parts(scans),
        build.pools,
        test,
        ([source[row] for row in selected], [target[row] for row in selected]),
        vocabularies_of(ngrams, build.request.filters.degree_side),
        seed=build.request.seed,
        bounds=build.bounds,
        seen=build.seen,
    )
    if build.request.drawing.document is None:
        return control
    documents = build.documents(control.rows["pool"] + 1, control.rows["line"] + 1)
    return replace(control, rows=control.rows | {DOCUMENT: np.array(documents, object)})


def score_sets(
    build: Build,
    candidates: Path,
    table: Any,
    selected: Sequence[int],
    control: MatchedControl | None,
    quality: dict[str, Any] | None,
) -> dict[str, Any] | None:
    """``quality`` with chrF and BLEU of the ensemble on the test set and on the control set.

    External models may cost money, so they do not translate the control set.
    """
    if quality is None:
        return None
    _, references = candidate_lines(candidates, original=build.plan.inputs.reads_originals)
    hypotheses = table["hypothesis"].to_pylist()
    test = [hypotheses[row] for row in selected], [references[row] for row in selected]
    sets = {"test": {"pairs": len(selected), **chrf_and_bleu(*test)}}
    if control and control.sources and not build.plan.inputs.members:
        sets["control"], statistics = _score_control(build, control)
        gap = chrf_gap(chrf_statistics(*test), statistics, build.request.seed)
        sets["harder_by"] = gap
    return {**quality, **sets}


def _score_control(build: Build, control: MatchedControl) -> tuple[dict[str, Any], np.ndarray]:
    """chrF and BLEU of the ensemble on the control set, and the statistics of chrF."""
    plan = build.plan
    assert plan.uncertainty and (plan.ensemble or plan.inputs.ensemble)
    if plan.ensemble:
        members = [build.workspace.result(step) for step in plan.ensemble.members]
    elif plan.inputs.ensemble:
        members = member_folders(plan.inputs.ensemble)
    search = build.request.ensemble_options.search
    step = control_step(plan.uncertainty, control.sources, control.targets)

    def translate(out: Path) -> None:
        tasks = [(members, control.sources, plan.device, search)]
        for hypotheses in build.engine.run(translate_sources, tasks, shard_needs(plan.device)):
            scores = chrf_and_bleu(hypotheses, control.targets)
            write_json(out / QUALITY, {"pairs": len(hypotheses), **scores})
            statistics = chrf_statistics(hypotheses, control.targets)
            np.save(out / STATISTICS, statistics, allow_pickle=False)

    folder = build.workspace.run(step, translate)
    scores: dict[str, Any] = read_json(folder / QUALITY)
    return scores, np.load(folder / STATISTICS, allow_pickle=False)


def _warnings(
    build: Build,
    counts: dict[str, int],
    quality: dict[str, Any] | None,
    control: MatchedControl | None,
) -> list[str]:
    """Errors in the texts, then doubts about the sizes, the control set and the ensemble."""
    warnings = [finding.text for finding in build.plan.findings]
    warnings += size_warnings(build.request, counts)
    doubts = [
        control.warning if control else None,
        warning_of(quality) if quality else None,
        no_harder(quality),
    ]
    return [*warnings, *filter(None, doubts)]


def _check_ensembles(plan: Plan, train: ParallelText) -> None:
    if plan.inputs.ensemble and plan.uncertainty:
        check_trained_on(plan.inputs.ensemble, train)
    if plan.inputs.reverse and plan.reverse:
        check_reverse(plan.inputs.reverse, train)


def _cut(out: Path, build: Build, scans: Sequence[Path]) -> None:
    """Write the candidates, and their original text, into the folder ``out``."""
    request, bounds = build.request, build.bounds
    lengths = count_lengths([read_json(scan / "counts.json")["lengths"] for scan in scans], bounds)
    size = resolve_amount("candidates", request.filters.candidates, lengths["within_length"])
    candidates = cut(
        scan_parts(scans),
        build.pools,
        size=size,
        bounds=bounds,
        seed=request.seed,
        seen=build.seen,
    )
    replace(candidates, counts={**lengths, **candidates.counts}).save(out)
    originals = original_pairs(
        build.plan.inputs.pools, build.pools, candidates.rows, build.plan.train.normalisation
    )
    for side, lines in zip(SIDES, originals, strict=True):
        write_atomic(out / f"originals.{side}", "".join(line + "\n" for line in lines))


def _counts(
    pools: Sequence[ParallelText], scans: Sequence[Path], candidates: Path
) -> dict[str, int]:
    """The number of pairs left at each stage, up to the candidates."""
    counts = [read_json(scan / "counts.json") for scan in scans]
    return {
        "pool": sum(pool.lines for pool in pools),
        "empty": sum(count["empty"] for count in counts),
        "rare_word": sum(count["rare"] for count in counts),
        **read_json(candidates / "counts.json"),
    }


def _members(build: Build) -> list[Path]:
    """The folders of the ensemble's members, trained and published first if needed; empty for
    external models.
    """
    plan, workspace = build.plan, build.workspace
    if plan.inputs.ensemble:
        return member_folders(plan.inputs.ensemble)
    if plan.ensemble is None:
        return []
    members = train_members(workspace, plan.ensemble, build.train, None, build.engine)
    publish_beside(workspace, members)
    return members


def _measure(out: Path, build: Build, members: Sequence[Path], candidates: Path) -> None:
    """Write hypotheses and uncertainties of the candidates, by external models or the members."""
    plan = build.plan
    search = build.request.ensemble_options.search
    if plan.inputs.members:
        sources, targets = candidate_lines(candidates, original=plan.inputs.reads_originals)
        measurement = Measurement(plan.inputs.members, sources, None, targets, plan.device, search)
        measure_in_token_space(measurement, out, build.engine)
    else:
        uncertainty_of_candidates(
            members, candidates, out, device=plan.device, engine=build.engine, **search
        )


def _open_lm(plan: Plan, workspace: Workspace) -> LanguageModel | None:
    """The language model if it is needed to score the candidates, so that a bad file fails before
    the scan.
    """
    if plan.perplexity is None or workspace.done(plan.perplexity):
        return None
    assert plan.inputs.lm is not None
    return LanguageModel.load(plan.inputs.lm)


def _score(out: Path, plan: Plan, model: LanguageModel | None, candidates: Path) -> None:
    assert model is not None and plan.perplexity is not None
    lines = candidate_lines(candidates)[SIDES.index(plan.perplexity.config["side"])]
    np.save(out / "perplexity.npy", model.perplexity(lines), allow_pickle=False)
