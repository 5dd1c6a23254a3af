"""What follows from the measures of the candidates, computed again: statistics, counts, and the
draw of the test set and of the sample.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.correlations import as_jsonl, correlations
from cgbench.benchmark.candidates.noise_share import choose_cut
from cgbench.benchmark.candidates.pair_measures import DUAL, JOINT, pair_measures
from cgbench.benchmark.candidates.selection import FIRST, count_stages, select_rows, selection_sizes
from cgbench.benchmark.candidates.strata import COLUMNS, SAMPLED, design_of, draw_columns
from cgbench.benchmark.release.checks.common import difference, differing_rows
from cgbench.benchmark.release.data_tables import figures_of
from cgbench.benchmark.release.manifest import CORRELATIONS, SAMPLE, table_file
from cgbench.benchmark.release.release import SIDES, Release


def check_counts(release: Release) -> str:
    """The counts of the manifest against the rows of the files and the stages of the candidates."""
    counts = release.manifest["counts"]
    stage = "selected" if release.finished else "candidates"
    # The files have as many rows as the manifest says.
    sizes = {
        f"lines of {language}": len(release.lines(side))
        for side, language in zip(SIDES, release.languages, strict=True)
        if release.has_text
    }
    if release.finished:
        sizes["rows of split.jsonl"] = len(release.split())
    problems = [
        f"{name}: {size:,} for {counts[stage]:,}"
        for name, size in sizes.items()
        if size != counts[stage]
    ]
    if release.has_sample:
        sample_size = len(release.set_rows("sample"))
        if sample_size != counts["sample"]:
            problems.append(f"rows of {SAMPLE}: {sample_size:,} for {counts['sample']:,}")
    # The stages of the candidates, counted again.
    table = release.table()
    stages = table["stage"].to_pylist() if "stage" in table.column_names else []
    recounted = {"candidates": table.num_rows}
    if stages:
        recounted |= {stage: 0 for stage in FIRST if stage in counts}
        recounted |= count_stages(stages)
    problems += [
        f"{stage} in {table_file('candidates')}: {count:,} for {counts.get(stage)}"
        for stage, count in recounted.items()
        if counts.get(stage) != count
    ]
    # What a stage drops is not in the next.
    chain = [counts[stage] for stage in ("pool", "known_words", "within_length", "candidates")]
    left_out = counts["rare_word"] + counts["empty"]
    if chain != sorted(chain, reverse=True) or counts["pool"] != counts["known_words"] + left_out:
        problems.append("the counts of the stages do not add up")
    return "; ".join(problems)


def check_statistics(release: Release) -> str:
    """The means and quantiles in the manifest."""
    recorded = release.manifest["figures"]
    controls = release.set_rows("control") if release.has_control else []
    control_degrees = [row["degree"] for row in controls]
    uncertainty = release.configuration["uncertainty"]
    recomputed = figures_of(release.table(), uncertainty, control_degrees)
    names = sorted(set(recomputed) | set(recorded))
    wrong = [name for name in names if recomputed.get(name) != recorded.get(name)]
    return f"{', '.join(wrong)}: do not match the candidates" if wrong else ""


def check_correlations(release: Release) -> str:
    """The file of correlations between measures."""
    columns = release.table().to_pydict()
    expected = as_jsonl(correlations(columns, release.configuration["uncertainty"]))
    recorded = release.path(CORRELATIONS).read_text(encoding="utf-8")
    wrong = differing_rows(expected.split("\n"), recorded.split("\n"))
    return difference("row {}: does not match the candidates", wrong, "rows")


def check_pair_measures(release: Release) -> str:
    """Measures that follow from other columns."""
    columns = release.table().to_pydict()
    lm_side = release.manifest["inputs"].get("lm", {}).get("side")
    return _differing_columns(columns, pair_measures(columns, lm_side), (DUAL, JOINT))


def _differing_columns(
    columns: dict[str, list[Any]], expected: Mapping[str, Any], names: Iterable[str]
) -> str:
    """Which of these columns of the candidates are missing, unexpected or not as computed from the
    others.
    """
    strange = (set(names) & set(columns)) ^ set(expected)
    wrong = {
        name
        for name, values in expected.items()
        if name in columns
        and not np.allclose(columns[name], values, rtol=1e-9, atol=0, equal_nan=True)
    }
    columns_in_error = ", ".join(sorted(strange | wrong))
    return f"{columns_in_error}: do not match the other columns" if columns_in_error else ""


def check_split(release: Release) -> str:
    """The test set, drawn again from the candidates: the same pairs with the same measures."""
    table = release.table()
    columns = table.to_pydict()
    # How many references were dropped.
    noise = choose_cut(columns, release.configuration, release.manifest.get("ensemble"))
    recorded_noise = release.manifest.get("noise")
    if noise != recorded_noise:
        return f"noise: the manifest has {recorded_noise}, the candidates have {noise}"
    # The pairs.
    settings = release.selection_settings
    _, stages = select_rows(columns, settings, selection_sizes(settings, table.num_rows))
    drawn = {
        row["line"]: row
        for row, stage in zip(table.to_pylist(), stages, strict=True)
        if stage == "selected"
    }
    split = release.split()
    if strange := sorted({row["line"] for row in split} ^ set(drawn)):
        return (
            f"{len(strange):,} pool lines are only in split.jsonl or only in the redrawn split,"
            f" first {strange[0]:,}"
        )
    # Their measures.
    for row_number, row in enumerate(split, 1):
        candidate = drawn[row["line"]]
        for key in sorted(set(row) & set(candidate)):
            if row[key] != candidate[key]:
                return (
                    f"row {row_number}: {key} is {row[key]}, but {candidate[key]} in the candidates"
                )
    return ""


def check_draws(release: Release) -> str:
    """The probability of every draw, and the stratified sample."""
    config, table = release.configuration, release.table()
    columns = table.to_pydict()
    expected = draw_columns(columns, config, selection_sizes(config, table.num_rows))
    if problem := _differing_columns(columns, expected, COLUMNS):
        return problem
    if design_of(table, release.manifest["counts"]) != release.manifest["design"]:
        return "the design in the manifest does not match the candidates"
    if not release.has_sample:
        return ""
    is_sampled = columns.get(SAMPLED, ())
    pairs = zip(columns["line"], is_sampled, strict=False)
    drawn = sorted(line for line, sampled in pairs if sampled)
    recorded = [row["line"] for row in release.set_rows("sample")]
    return "" if recorded == drawn else f"{SAMPLE} has other pairs than the redrawn sample"
