"""Build a benchmark of compositional generalisation from real text, by ReaCT's method.

Zheng and Lapata, "Real-World Compositional Generalization with Disentangled Sequence-to-Sequence
Learning" (Findings of ACL 2023), section 4: drop pairs with rare words; compute each pair's
compositional degree from the known n-grams of the training corpus; keep the pairs of the highest
degree; translate them with an ensemble and measure its knowledge uncertainty; drop the most
uncertain, draw from the next. :func:`find_pairs` is these steps in order, one function for each.
"""

from __future__ import annotations

from typing import Any

from cgbench.benchmark.build.react.build_plan import Built, Plan
from cgbench.benchmark.build.react.build_texts import Build
from cgbench.benchmark.build.react.checks import check_enough, check_ensemble, size_warnings
from cgbench.benchmark.build.react.draw_sets import draw_matched_control, draw_test_set
from cgbench.benchmark.build.react.ensemble_measures import (
    check_ensembles,
    measure_reverse,
    measure_uncertainty,
    score_sets,
)
from cgbench.benchmark.build.react.find_candidates import (
    counts_of,
    describe_candidates,
    open_lm,
    scan_pools,
    write_candidates,
)
from cgbench.benchmark.build.react.known_words import learn_known
from cgbench.benchmark.candidates.ensemble_quality import warning_of
from cgbench.benchmark.candidates.hardness import no_harder
from cgbench.benchmark.candidates.matching import MatchedControl
from cgbench.benchmark.candidates.pair_measures import pair_measures
from cgbench.benchmark.candidates.table import read_difficulty, with_columns
from cgbench.engines import Engine
from cgbench.steps import Workspace


def find_pairs(plan: Plan, workspace: Workspace, *, engine: Engine) -> Built:
    """The method: from a training corpus and a pool to the pairs of the benchmark.

    Finished steps are kept.
    """
    build = Build.open(plan, workspace, engine)
    # What can fail fails before the expensive scan.
    check_ensembles(plan, build.train)
    model = open_lm(plan, workspace)
    difficulty = read_difficulty(plan.inputs.difficulty, build.pools, plan.inputs.pools)
    # Known n-grams: of any length, from the training corpus or an overlap result.
    ngrams = workspace.run(
        plan.ngrams, lambda out: learn_known(out, plan, build.train, build.pools)
    )
    # Pairs with a rare word are dropped; known n-grams cover the others, which gives their degree.
    scans = scan_pools(build, ngrams)
    # Candidates: the highest degrees, without repeats and without seen text.
    candidates = workspace.run(plan.candidates, lambda out: write_candidates(out, build, scans))
    counts = counts_of(build.pools, scans, candidates)
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
