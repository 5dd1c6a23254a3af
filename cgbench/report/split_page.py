"""``cgbench report`` of a split, or of several that were made for a curve of divergences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cgbench.benchmark.release.release import Release
from cgbench.benchmark.splits.split import CURVE
from cgbench.benchmark.splits.split_release import holds_split
from cgbench.errors import InputError
from cgbench.report import charts
from cgbench.report.page import render_page

FIGURES = (("compound divergence", "compound_divergence"), ("atom divergence", "atom_divergence"))
NOVEL = "novel compounds"


def splits_of(folder: Path) -> list[Release]:
    """The split in a folder, or those of a curve, by their targets.

    :raises InputError: there is none, or one of them cannot be read.
    """
    if holds_split(folder):
        return [Release.open(folder)]
    found = [Release.open(one) for one in sorted(folder.iterdir()) if holds_split(one)]
    return sorted(found, key=lambda one: one.manifest["configuration"]["divergence"] or 0.0)


def holds_splits(folder: Path) -> bool:
    """Whether a folder is a split, or has several of a curve."""
    return holds_split(folder) or (folder / CURVE).is_file()


def split_page(folder: Path, *, force: bool = False) -> str:
    """A page about splits, as HTML: the same bytes for the same input.

    :param force: report what fails its checks, as it is.
    :raises InputError: there is no split, or one fails its checks.
    """
    splits = splits_of(folder)
    if not splits:
        raise InputError(f"{folder}: there is no split in it")
    checks = [(one, one.verify()) for one in splits]
    for one, found in checks:
        if not found.ok and not force:
            wrong = "; ".join(f"{check.name}: {check.detail}" for check in found.failed)
            raise InputError(f"{one.folder}: fails its checks ({wrong}); --force reports it as it is")
    first = splits[0].manifest
    inputs = first["inputs"]
    several = len(splits) > 1
    notes = [("", f"{one.folder.name}: {text}" if several else text) for one in splits for text in _warnings(one)]
    notes += [("bad", f"{one.folder.name}: fails its checks") for one, found in checks if not found.ok]
    source, target = splits[0].languages
    context = {
        "title": f"A split for compositional generalisation, {source} to {target}",
        "sections": [("divergence", "Divergence"), ("checks", "Checks"), ("origin", "Origin")],
        "notes": notes,
        "facts": [
            ("method", first["configuration"]["method"]),
            ("elements", f"{first['figures']['elements']}, weights: {first['figures']['weights']}"),
            ("licence", first.get("licence") or "not stated"),
            *([("signature", splits[0].signature)] if not several else []),
        ],
        "figures": _figures(splits),
        "chart": _chart(splits) if several else None,
        "checks": {
            "label": "Checks",
            "caption": "What cgbench verify finds",
            "head": ["split", "checks", "differ"],
            "rows": [
                [one.folder.name, str(len(found)), ", ".join(c.name for c in found.failed) or "none"]
                for one, found in checks
            ],
        },
        "commands": [str(one.manifest.get("command", "")) for one in splits],
        "inputs": {
            "label": "Inputs",
            "caption": "Files that were split",
            "head": ["file", "SHA-256"],
            "rows": [
                [one["path"], one["sha256"]]
                for one in [*inputs["pool"][0]["files"], *(inputs["given"] or ()), *inputs["elements"]]
            ],
        },
    }
    return render_page("split.html", context, {"rows": None})


def _warnings(split: Release) -> list[str]:
    return [str(text) for text in split.manifest.get("warnings", [])]


def _figures(splits: list[Release]) -> dict[str, Any]:
    rows = []
    for one in splits:
        figures, counts = one.manifest["figures"], one.manifest["counts"]
        target = one.manifest["configuration"]["divergence"]
        rows.append([
            one.folder.name,
            "–" if target is None else f"{target:g}",  # noqa: RUF001 - as pages have it
            *(f"{figures[key]:.4f}" for _, key in FIGURES),
            f"{100 * _novel(figures):.1f} %",
            f"{figures['lone_atoms']:,}",
            *(f"{counts[name]:,}" for name in ("train", "selected", "neither")),
        ])  # fmt: skip
    head = ["split", "asked for", *(name for name, _ in FIGURES), NOVEL, "atoms not in training"]
    head += ["train", "test", "neither"]
    return {"label": "Divergences", "caption": "Divergences and sizes", "head": head, "rows": rows}


def _novel(figures: dict[str, Any]) -> float:
    return figures["novel_compounds"] / figures["test_compounds"] if figures["test_compounds"] else 0.0


def _chart(splits: list[Release]) -> Any:
    """Both divergences and the share of novel compounds, a step a split."""
    figures = [one.manifest["figures"] for one in splits]
    series = [charts.Series(name, [one[key] for one in figures], at) for at, (name, key) in enumerate(FIGURES)]
    series.append(charts.Series(NOVEL, [_novel(one) for one in figures], len(FIGURES)))
    return charts.curves(series, "split, as in the table", "divergence, share", "Divergence of each split")
