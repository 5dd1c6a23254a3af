"""``cgbench report``: the page of a release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.correlations import CENTRAL, correlations, numeric
from cgbench.benchmark.candidates.ensemble_quality import TABLE_HEAD, table_of
from cgbench.benchmark.candidates.pair_measures import REFERENCE_LIKELIHOOD
from cgbench.benchmark.candidates.selection import seeded_hash
from cgbench.benchmark.release.manifest import Findings
from cgbench.benchmark.release.release import SIDES, Release
from cgbench.errors import InputError, argument
from cgbench.plots import COLOURS
from cgbench.report import charts
from cgbench.report.page import MOST_EXAMPLES, NONE, as_table, render_page
from cgbench.report.release_data import (
    STAGES,
    Material,
    candidate_lines,
    columns_of,
    find_material,
    funnel,
    novelty_curves,
    stage_rows,
)
from cgbench.text.profile import is_unspaced

QUANTILES = ("mean", "q0", "q25", "q50", "q75", "q100")  # a manifest that was read has its keys by the alphabet
DOTS = 1_500
"""So many dots of a scatter plot are seen as dots."""


def release_page(
    release: Release,
    *,
    train: Sequence[Path] = (),
    pools: Sequence[Sequence[Path]] = (),
    force: bool = False,
) -> str:
    """A page about a release, as HTML: the same bytes for the same release, workspace and inputs.

    :param train: where the training text is now; ``pools`` likewise.
    :param force: report a release that fails its checks; the page begins with what differs.
    :raises InputError: it fails them, or a text is not the one that the release was built from.
    """
    if release.is_split:
        raise InputError(f"{release.folder}: a split has no page; use cgbench verify or cgbench stats --release")
    checks = release.verify()
    if checks.failed and not force:
        raise InputError(failed_line(release, checks))
    try:
        return _page(release, checks, find_material(release, train, pools))
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        # A manifest that was changed may lack anything, or hold anything else in its place.
        raise InputError(
            f"{release.folder}: cannot be reported, its files lack something or do not belong together ({error!r}); "
            "cgbench verify says more"
        ) from None


def _page(release: Release, checks: Findings, material: Material) -> str:
    """The page, if the files of the release hold what they should."""
    columns = columns_of(release)
    examples = _examples(release, columns, material)
    finished = release.finished
    source, target = release.languages
    context = {
        "title": f"{'Test set' if finished else 'Candidates'}: {source} to {target}",
        "sections": [
            ("funnel", "Funnel"), ("figures", "Figures"), ("measures", "Measures"), ("novelty", "Novelty"),
            ("examples", "Examples"), ("checks", "Checks"), ("origin", "Origin"),
        ],
        "release": release,
        "manifest": release.manifest,
        "config": release.configuration,
        "size": release.manifest["counts"]["selected" if finished else "candidates"],
        "facts": _facts(release),
        "notes": _notes(release, checks, material, examples),
        "funnel": _funnel_table(release, columns),
        "quantiles": _quantiles(release),
        "quality": {"head": TABLE_HEAD, "rows": table_of(release.manifest["ensemble"])}
        if release.manifest.get("ensemble")
        else None,
        "histograms": _histograms(release, columns),
        "scatter": _scatter(release, columns),
        "correlations": _correlations(release, columns),
        "novelty": _novelty(release, material),
        "examples": examples,
        "checks": [("passed" if one.ok else "skipped" if one.ok is None else "differs", one) for one in checks],
    }  # fmt: skip
    return render_page("release.html", context, examples["data"])


def failed_line(release: Release, checks: Findings) -> str:
    """Why a release is not reported, in one line."""
    first, *others = checks.failed
    more = f" and {len(others)} more" if others else ""
    return (
        f"{release.folder}: fails its checks ({first.name}: {first.detail or 'differs'}{more}); cgbench verify says "
        f"what; to report it as it is, give {argument('force')}"
    )


def _facts(release: Release) -> list[tuple[str, str]]:
    manifest, config = release.manifest, release.configuration
    facts = [("signature", release.signature)]
    facts.append(("licence of the inputs", str(manifest.get("licence") or "not stated")))
    least = config["ngram_min_count"]
    facts.append(("degree", f"{config['degree_side']} side; an n-gram is known that occurs {least} times in training"))
    if release.until != "candidates":
        seeds = (manifest.get("seeds") or {}).get("members")
        members = f"{len(seeds)} members of preset {config['model']}" if seeds else "an ensemble trained before"
        facts.append(("uncertainty", f"{config['uncertainty']}, {members}, beam {config['beam']}"))
    facts.append(("seed", str(config["seed"])))
    facts.append(("made by", f"cgbench {manifest.get('version', '?')}"))
    return facts


def _notes(release: Release, checks: Findings, material: Material, examples: dict[str, Any]) -> list[tuple[str, str]]:
    notes = [("bad", f"{one.name}{': ' if one.detail else ''}{one.detail}") for one in checks.failed]
    if not release.manifest.get("licence"):
        notes.append(("", "The licence of the inputs is not stated: who may use this text, and how, is not known."))
    if not release.finished:
        notes.append(("", "The build stopped early: these are candidates, of which no test set has been chosen."))
    if examples["shown"] < examples["all"]:
        notes.append(("", f"Of {examples['all']:,} examples {examples['shown']:,} are here, drawn at random."))
    notes += [("", str(line)) for line in release.manifest.get("warnings") or ()]
    return notes + [("", line) for line in material.missing]


def _funnel_table(release: Release, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    stages = funnel(release, columns)
    pools = len(release.manifest["inputs"]["pool"])
    whole = stages[0].pairs or 1
    rows = []
    for stage in stages:
        shares = [pairs / whole for pairs in stage.pools or (stage.pairs,)]
        colours = range(len(shares)) if stage.pools or pools == 1 else (6,)
        label = f"{stage.pairs:,} of {whole:,}"
        rows.append(
            {
                "text": stage.text,
                "pairs": stage.pairs,
                "share": stage.pairs / whole,
                "pools": [pairs / (stage.pairs or 1) for pairs in stage.pools] if stage.pools else None,
                "bar": charts.bar([(share, c % len(COLOURS)) for share, c in zip(shares, colours, strict=True)], label),
            }
        )
    return {"rows": rows, "pools": _pool_names(release) if pools > 1 else []}


def _pool_names(release: Release) -> list[str]:
    """The pools by the names of their files, less what the two sides differ in."""
    names = []
    for entry in release.manifest["inputs"]["pool"]:
        first = Path(str(entry["files"][0]["path"])).name
        names.append(first.rsplit(".", 1)[0] if len(entry["files"]) > 1 and "." in first else first)
    return [f"{place}: {name}" for place, name in enumerate(names, 1)]


def _quantiles(release: Release) -> list[tuple[str, list[float]]]:
    figures, measure = release.manifest["figures"], release.configuration["uncertainty"]
    parts = (
        ("candidates", figures),
        ("test set", figures.get("selected", {})),
        ("control set", figures.get("control", {})),
    )
    rows = []
    for key in ("degree", "uncertainty", "reference", "perplexity"):
        name = {"uncertainty": measure, "reference": REFERENCE_LIKELIHOOD}.get(key, key)
        rows += [(f"{name}, {of}", [found[key][one] for one in QUANTILES]) for of, found in parts if key in found]
    return rows


def _histograms(release: Release, columns: dict[str, np.ndarray]) -> list[tuple[Any, str]]:
    """The distribution of degree, uncertainty, the references' likelihood and perplexity by stage."""
    colours = {"dropped_perplexity": 4, "dropped_reference": 3, "dropped": 1, "window": 5, "selected": 0}
    found = []
    for name in dict.fromkeys(("degree", release.configuration["uncertainty"], REFERENCE_LIKELIHOOD, "perplexity")):
        if name not in columns:
            continue
        values = columns[name]
        series = [charts.Series("all candidates", values.tolist(), 6)]
        for key, text in STAGES.items():
            rows = stage_rows(columns, key)
            if rows is not None and rows.any():
                series.append(charts.Series(text, values[rows].tolist(), colours[key]))
        if name == "degree" and release.has_control:
            degrees = [float(row["degree"]) for row in release.control_rows()]
            series.append(charts.Series("control set", degrees, 2))
        caption = f"{name} by stage, each to its own height; dashed: the median"
        found.append((charts.histograms(series, name, caption), f"{name} by stage"))
    return found


def _scatter(release: Release, columns: dict[str, np.ndarray]) -> Any:
    measure = release.configuration["uncertainty"]
    if measure not in columns or "stage" not in columns:
        return None
    x, y = columns["degree"], columns[measure]
    fine = np.isfinite(x) & np.isfinite(y)
    chosen = np.flatnonzero(fine & (columns["stage"] == "selected"))
    chosen = np.sort(_draw(chosen, DOTS, release))
    others = fine & (columns["stage"] != "selected")
    title = f"{measure} over degree: candidates as shades of grey, the test set as dots"
    return charts.scatter((x[others], y[others]), (x[chosen], y[chosen]), ("degree", measure), title)


def _draw(rows: np.ndarray, most: int, release: Release) -> np.ndarray:
    """At most so many of the rows, drawn by a seeded hash of their places."""
    order = np.argsort(seeded_hash(np.arange(len(rows)), int(release.configuration["seed"]), "shown"), kind="stable")
    return rows[order[:most]]


def _correlations(release: Release, columns: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """How the candidates' figures go with the central ones (Spearman), as tables; the first is seen at once."""
    lists = {name: values.tolist() for name, values in columns.items() if name != "stage"}
    measure = release.configuration["uncertainty"]
    figures = list(numeric(lists))
    central = [name for name in dict.fromkeys([*CENTRAL, measure]) if name in figures]
    found = {(one.first, one.second): one for one in correlations(lists, measure)}
    found |= {(second, first): one for (first, second), one in found.items()}
    of_references = [name for name in figures if name.startswith("reference_") and name not in central]
    others = [name for name in figures if name not in of_references]

    def matrix(label: str, names: Sequence[str], which: str) -> dict[str, Any]:
        rows = []
        for name in names:
            values = [getattr(found.get((name, other)), which, None) for other in central]
            cells = [(NONE if value is None else f"{value:+.2f}", charts.shade(value)) for value in values]
            rows.append((name, cells))
        head = ["", *(name.replace("_", " ") for name in central)]
        caption = f"Spearman's rank correlation over {len(columns['degree']):,} candidates"
        caption += ", given both lengths" if which == "given_length" else ""
        return as_table(label, caption, head, rows)

    tables = [matrix("As they are", others, "rho"), matrix("Given both lengths", others, "given_length")]
    return tables + ([matrix("Measures of the references", of_references, "rho")] if of_references else [])


def _novelty(release: Release, material: Material) -> dict[str, Any] | None:
    if material.training is None:
        return None
    side = release.configuration["degree_side"]
    texts: dict[str, Sequence[str]] = {}
    if release.finished:
        texts["test set"] = release.lines(side)
    if (lines := candidate_lines(release, side)) is not None:
        texts["candidates"] = lines
    if release.has_control:
        texts["control set"] = release.control_lines(side)
    if material.pool:
        texts["pool"] = [pair[SIDES.index(side)] for pair in material.pool]
    found = novelty_curves(material.training, texts, int(release.configuration["seed"]))
    colours = {"test set": 0, "candidates": 1, "control set": 2, "pool": 6}
    series = [charts.Series(name, shares, colours[name]) for name, shares in found.items() if shares]
    size = min(map(len, texts.values()))
    return {
        "chart": charts.curves(series, "words in the n-gram", "share that is novel", "Novel n-grams by their length"),
        "size": size,
        "rows": [(name, [f"{share:.3f}" for share in shares]) for name, shares in found.items()],
        "orders": list(range(1, max(map(len, found.values()), default=0) + 1)),
        "side": side,
    }


def _examples(release: Release, columns: dict[str, np.ndarray], material: Material) -> dict[str, Any]:
    """The rows of the table of examples, and how it shows them."""
    config, side = release.configuration, release.configuration["degree_side"]
    measure = config["uncertainty"]
    sources, targets = release.lines("source"), release.lines("target")
    if release.finished:
        rows: list[dict[str, Any]] = release.split()
    else:
        rows = release.table().to_pylist()
    chosen = np.sort(_draw(np.arange(min(len(rows), len(sources), len(targets))), MOST_EXAMPLES, release)).tolist()
    covered = (sources, targets)[SIDES.index(side)]
    figures = ["degree", measure, "rank", "perplexity"]
    here = [name for name in figures if rows and isinstance(rows[0].get(name), (int, float))]
    pools = _pool_names(release)
    fields = ["number", *here, "words", *(["pool"] if len(pools) > 1 else []), "source", "target"]
    hypothesis = bool(rows) and isinstance(rows[0].get("hypothesis"), str)
    fields += ["hypothesis"] * hypothesis + ["cover"] * (material.ngrams is not None)
    found = []
    for place in chosen:
        row = rows[place]
        values: dict[str, Any] = {name: _number(row.get(name)) for name in here}
        values |= {"number": place + 1, "words": row[f"{side}_length"], "pool": row.get("pool")}
        values |= {"source": sources[place], "target": targets[place], "hypothesis": row.get("hypothesis")}
        if material.ngrams is not None:
            values["cover"] = [len(piece) for piece in material.ngrams.cover(covered[place])]
        found.append([values[name] for name in fields])
    columns_shown = [{"name": "number", "label": "no.", "digits": 0}]
    columns_shown += [
        {"name": name, "label": name, "digits": 0 if name == "rank" else 3, "down": name != "rank"} for name in here
    ]
    columns_shown.append({"name": "words", "label": "words", "digits": 0, "down": True})
    if len(pools) > 1:
        columns_shown.append({"name": "pool", "label": "pool", "digits": 0})
    places = {str(column["name"]): place for place, column in enumerate(columns_shown)}
    filters: list[dict[str, Any]] = [
        {"kind": "range", "label": name, "column": places[name]} for name in here if name != "rank"
    ]
    if len(pools) > 1:
        filters.append({"kind": "is", "label": "pool", "column": places["pool"], "names": list(enumerate(pools, 1))})
    data = {
        "kind": "release",
        "fields": fields,
        "rows": found,
        "columns": columns_shown,
        "sort": [0, False],
        "searched": [name for name in ("source", "target", "hypothesis") if name in fields],
        "names": list(release.languages),
        "langs": [_tag(language) for language in release.languages],
        "side": side,
        "unspaced": is_unspaced(targets),
        "brush": [places["degree"], places[measure]] if measure in here else None,
    }
    return {"data": data, "columns": columns_shown, "filters": filters, "shown": len(found), "all": len(rows),
            "cover": "cover" in fields, "hypothesis": hypothesis}  # fmt: skip


def _tag(language: str) -> str | None:
    """A language as the browser knows it, if it looks like one."""
    return language if 2 <= len(language) <= 3 and language.isascii() and language.isalpha() else None


def _number(value: Any) -> float | int | None:
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value if isinstance(value, int) else None
