"""The tables and charts of the page of a release, one function each."""

import math
from collections.abc import Sequence
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.correlations import CENTRAL, correlations, numeric
from cgbench.benchmark.candidates.ensemble_quality import table_of
from cgbench.benchmark.candidates.noise_share import (
    SHUFFLED,
    noise_kinds,
    sees_noise,
    total,
)
from cgbench.benchmark.candidates.pair_measures import REFERENCE_LIKELIHOOD
from cgbench.benchmark.release.card import figure_rows
from cgbench.benchmark.release.release import SIDES, Release
from cgbench.numbers_as_text import fixed
from cgbench.plots import COLOURS, Chart, Series
from cgbench.report import charts
from cgbench.report.names import in_words, with_meanings, with_unit
from cgbench.report.page import MOST_EXAMPLES, NONE, as_table
from cgbench.report.release_data import (
    STAGES,
    Material,
    Stage,
    draw_rows,
    funnel,
    normalised_candidates,
    novelty_curves,
    stage_rows,
)
from cgbench.text.profile import is_unspaced

DOTS = 1_500
"""Maximum number of dots in the scatter plot."""
DEGREE_BINS = 12
"""Degrees are fractions of small numbers, of which narrow bins make a comb."""
MOST_ROWS = 10
"""Rows of the correlation matrix that are not folded away."""


def funnel_table(release: Release, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    """The pairs at each stage from pool to test set, with a bar and the share of each pool."""
    stages, pools = funnel(release, columns), len(release.manifest["inputs"]["pool"])
    pool_size, rows = stages[0].pairs or 1, []
    before: Stage | None = None
    for stage in stages:
        # A bar of the pools beside each other: start, width and colour of each.
        widths = [pairs / pool_size for pairs in stage.pools or (stage.pairs,)]
        starts = accumulate(widths, initial=0.0)
        colours = range(len(widths)) if stage.pools or pools == 1 else (6,)
        bar = [
            (start, width, colour % len(COLOURS))
            for start, width, colour in zip(starts, widths, colours, strict=False)
        ]
        is_compared = before is not None and before.pairs and stage.key != "control"
        of_pools = [pairs / (stage.pairs or 1) for pairs in stage.pools or ()]
        rows.append(
            {
                "text": stage.text,
                "pairs": stage.pairs,
                "share": stage.pairs / pool_size,
                "of_before": stage.pairs / before.pairs if before and is_compared else None,
                "pools": of_pools or None,
                "bar": bar,
            }
        )
        if not stage.key.startswith("dropped"):
            before = stage
    return {"rows": rows, "pools": _pool_names(release) if pools > 1 else []}


def _pool_names(release: Release) -> list[str]:
    """The pools by the common part of their files' names."""
    names = []
    for entry in release.manifest["inputs"]["pool"]:
        first = Path(str(entry["files"][0]["path"])).name
        names.append(first.rsplit(".", 1)[0] if len(entry["files"]) > 1 and "." in first else first)
    return [f"{index}: {name}" for index, name in enumerate(names, 1)]


def measured_tables(release: Release) -> list[dict[str, Any]]:
    """Tables of the quantiles of the measures, and of the quality of the ensemble."""
    quantiles = [
        [with_meanings(name.replace("reference,", f"{REFERENCE_LIKELIHOOD},")), *values]
        for name, values in figure_rows(
            release.manifest["figures"], release.configuration["uncertainty"]
        )
    ]
    head = ["measure", "mean", "min", "25%", "median", "75%", "max"]
    tables = [as_table("Quantiles", "Means and quantiles", head, quantiles)]
    if quality := release.manifest.get("ensemble"):
        title, ((_, *columns), rows) = "Translation quality of the ensemble", table_of(quality)
        tables.append(as_table(title, title, ["measure", *columns], rows))
    return tables


def stage_histograms(release: Release, columns: dict[str, np.ndarray]) -> list[tuple[Any, str]]:
    """The distributions of degree, uncertainty, reference likelihood and perplexity by stage."""
    stages = {"candidates": "all candidates", **STAGES}
    histograms = []
    for name in dict.fromkeys(
        ("degree", release.configuration["uncertainty"], REFERENCE_LIKELIHOOD, "perplexity")
    ):
        if name not in columns:
            continue
        series = []
        for (key, text), colour in zip(stages.items(), (6, 4, 3, 1, 5, 0), strict=True):
            if (rows := stage_rows(columns, key)) is not None and rows.any():
                series.append(Series(text, columns[name][rows].tolist(), colour=colour))
        if name == "degree" and release.has_control:
            degrees = [float(row["degree"]) for row in release.set_rows("control")]
            series.append(Series("control set", degrees, colour=2))
        caption = f"{in_words(name)} by stage, each to its own height; dashed: median"
        bins = DEGREE_BINS if name == "degree" else 40
        is_log = name == "perplexity"
        chart = charts.histograms(series, with_unit(name), caption, bins, is_log=is_log)
        histograms.append((chart, caption))
    return histograms


def uncertainty_over_degree(release: Release, columns: dict[str, np.ndarray]) -> Any:
    """The candidates as shades, the test set as dots in front; None without stages."""
    measure = release.configuration["uncertainty"]
    if measure not in columns or "stage" not in columns:
        return None
    x, y = columns["degree"], columns[measure]
    fine = np.isfinite(x) & np.isfinite(y)
    chosen = np.flatnonzero(fine & (columns["stage"] == "selected"))
    chosen = chosen[draw_rows(len(chosen), DOTS, int(release.configuration["seed"]), "shown")]
    behind = fine & (columns["stage"] != "selected")
    words = f"{in_words(measure)} over degree: candidates as shades of grey, the test set as dots"
    return charts.scatter(
        (x[behind], y[behind]), (x[chosen], y[chosen]), ("degree", with_unit(measure)), words
    )


def noise_of_cut(release: Release, columns: dict[str, np.ndarray]) -> dict[str, Any] | None:
    """Estimated noise in percent, of all candidates and of those that are not dropped: by tenth of
    the uncertainty.

    Which dropped pairs are noise is unknown, but for those that are as unlikely as shuffled pairs,
    so what is left is at most the rest of the estimate (:mod:`.noise_share`).
    """
    quality, measure = release.manifest.get("ensemble"), release.configuration["uncertainty"]
    if quality is None or not sees_noise(quality) or "stage" not in columns:
        return None
    is_dropped = np.isin(
        columns["stage"], [stage for stage in STAGES if stage.startswith("dropped")]
    )
    is_unlikely = columns[REFERENCE_LIKELIHOOD] > quality["candidates"][SHUFFLED]

    def shares(rows: np.ndarray | None) -> list[float]:
        """In percent, of all candidates and of those that are not dropped."""
        share = total(noise_kinds(columns, quality, rows))
        rows = np.arange(len(is_dropped)) if rows is None else rows
        dropped_noise = np.count_nonzero((is_unlikely & is_dropped)[rows])
        remaining = np.count_nonzero(~is_dropped[rows])
        left = max(0.0, share * len(rows) - dropped_noise)
        return [100 * share, min(100.0, 100 * left / remaining) if remaining else math.nan]

    tenths = np.array_split(np.argsort(-columns[measure], kind="stable"), min(10, len(is_dropped)))
    before, after = zip(*map(shares, tenths), strict=True)
    series = [Series("all", before, colour=6), Series("not dropped", after, colour=0)]
    labels = [str(tenth) for tenth in range(1, len(tenths) + 1)]
    chart = Chart(
        labels, series, f"Noise by {measure}", "noise, %", f"tenth by {measure}, highest first"
    )
    return {"chart": charts.draw(chart), "shares": shares(None)}


def correlation_tables(release: Release, columns: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Spearman's correlation of every measure with the central ones, as tables; only the first is
    not folded.
    """
    lists = {name: values.tolist() for name, values in columns.items() if name != "stage"}
    measure = release.configuration["uncertainty"]
    figures = list(numeric(lists))
    central = [name for name in dict.fromkeys([*CENTRAL, measure]) if name in figures]
    pairs = {
        (correlation.first, correlation.second): correlation
        for correlation in correlations(lists, measure)
    }
    pairs |= {(second, first): correlation for (first, second), correlation in pairs.items()}
    of_references = [
        name for name in figures if name.startswith("reference_") and name not in central
    ]
    measures = [
        *central,
        *(name for name in figures if name not in of_references and name not in central),
    ]

    def matrix(label: str, names: Sequence[str], which: str) -> dict[str, Any]:
        rows = []
        for name in names:
            values = [getattr(pairs.get((name, column)), which, None) for column in central]
            rows.append(
                [
                    with_meanings(name),
                    *((fixed(value, 2, "+", NONE), charts.shade(value)) for value in values),
                ]
            )
        head = ["measure", *map(with_meanings, central)]
        caption = f"Spearman's rank correlation over {len(columns['degree']):,} candidates"
        caption += ", with both lengths held constant" if which == "given_length" else ""
        return as_table(label, caption, head, rows)

    tables = [
        ("Table of correlations", measures[:MOST_ROWS], "rho"),
        (f"{len(measures) - MOST_ROWS} more", measures[MOST_ROWS:], "rho"),
    ]
    tables += [
        ("Both lengths held constant", measures, "given_length"),
        ("Of the references", of_references, "rho"),
    ]
    return [matrix(label, names, which) for label, names, which in tables if names]


def novelty_of_texts(release: Release, material: Material) -> dict[str, Any] | None:
    """The share of novel n-grams by length, as a chart and a table; None without the training
    text.
    """
    if material.training is None:
        return None
    side = release.configuration["degree_side"]
    texts = {
        "test set": release.lines(side, normalised=True) if release.finished else None,
        "candidates": normalised_candidates(release, side),
        "control set": (
            release.set_lines("control", side, normalised=True) if release.has_control else None
        ),
        "pool": [pair[SIDES.index(side)] for pair in material.pool] or None,
    }
    colours = dict(zip(texts, (0, 1, 2, 6), strict=True))
    there: dict[str, Sequence[str]] = {
        name: lines for name, lines in texts.items() if lines is not None
    }
    curves = novelty_curves(material.training, there, int(release.configuration["seed"]))
    series = [
        Series(name, shares, colour=colours[name]) for name, shares in curves.items() if shares
    ]
    orders = [str(order) for order in range(1, max(map(len, curves.values()), default=0) + 1)]
    title, axes = "Novel n-grams by length", ("share that is novel", "words in the n-gram")
    columns = [[f"{value:.3f}" for value in shares] for shares in curves.values()]
    rows = list(zip_longest(orders, *columns, fillvalue=NONE))
    return {
        "chart": charts.draw(Chart(orders, series, title, *axes, decimals=3)),
        "table": as_table(title, "Shares of novel n-grams", ["words", *curves], rows),
        "size": min(map(len, there.values())),
        "side": side,
    }


def examples_of_release(release: Release, material: Material) -> dict[str, Any]:
    """The data of the table of examples."""
    config, side = release.configuration, release.configuration["degree_side"]
    measure, languages, pools = config["uncertainty"], release.languages, _pool_names(release)
    # As normalised: covers and the marked differences between hypothesis and reference are of these
    # words.
    texts = {name: release.lines(name, normalised=True) for name in SIDES}
    rows: list[dict[str, Any]] = (
        release.split() if release.finished else release.table().to_pylist()
    )
    chosen = draw_rows(
        min(len(rows), *map(len, texts.values())), MOST_EXAMPLES, int(config["seed"]), "shown"
    )
    rows, first = [rows[row] for row in chosen], rows[0] if rows else {}
    figures = [
        name
        for name in ("degree", measure, "rank", "perplexity")
        if isinstance(first.get(name), (int, float))
    ]
    # The fields that this release has, with a value per example.
    values: dict[str, list[Any]] = {"number": [row + 1 for row in chosen]}
    values |= {name: [_number(row.get(name)) for row in rows] for name in figures}
    values["words"] = [row[f"{side}_length"] for row in rows]
    values |= {"pool": [row.get("pool") for row in rows]} if len(pools) > 1 else {}
    values |= {name: [lines[row] for row in chosen] for name, lines in texts.items()}
    if isinstance(first.get("hypothesis"), str):
        values["hypothesis"] = [row.get("hypothesis") for row in rows]
    if material.ngrams is not None:
        values["cover"] = [
            [len(piece) for piece in material.ngrams.cover(line)] for line in values[side]
        ]
    fields = list(values)
    columns: list[dict[str, Any]] = [{"name": "number", "label": "no."}]
    for name in figures:
        columns.append({"name": name, "label": name, "named": True})
        columns[-1] |= {} if name == "rank" else {"digits": 3, "down": True, "range": True}
    columns.append({"name": "words", "label": "words", "down": True})
    columns += (
        [{"name": "pool", "label": "pool", "names": list(enumerate(pools, 1))}]
        if "pool" in values
        else []
    )
    return {
        "kind": "release",
        "fields": fields,
        "rows": list(zip(*values.values(), strict=True)),
        "columns": columns,
        "sort": [0, False],
        "searched": [name for name in ("source", "target", "hypothesis") if name in values],
        "names": list(languages),
        # Language codes for the browser.
        "langs": [
            code if 2 <= len(code) <= 3 and code.isascii() and code.isalpha() else None
            for code in languages
        ],
        "side": side,
        "unspaced": is_unspaced(texts["target"]),
        "brush": [fields.index("degree"), fields.index(measure)] if measure in figures else None,
    }


def _number(value: Any) -> float | int | None:
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value if isinstance(value, int) else None
