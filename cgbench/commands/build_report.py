"""What a build prints at its end: counts, quantiles, a few pairs with their covers, the commands that come next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cgbench.benchmark.card import COUNTS
from cgbench.tables import render

EXAMPLES = 5


def counts_table(counts: dict[str, int]) -> str:
    """How many pairs were left at each stage."""
    return render((), [(text, f"{counts[key]:,}") for key, text in COUNTS if key in counts])


def quantile_table(figures: dict[str, Any], measure: str) -> str:
    """Degree, uncertainty and perplexity: mean and quantiles."""
    rows = [("degree of the candidates", figures["degree"])]
    if "selected" in figures:
        rows += [
            ("degree of the test set", figures["selected"]["degree"]),
            (f"{measure} of the candidates", figures["uncertainty"]),
            (f"{measure} of the test set", figures["selected"]["uncertainty"]),
        ]
    if "perplexity" in figures:
        rows.append(("perplexity of the candidates", figures["perplexity"]))
    if "perplexity" in figures.get("selected", {}):
        rows.append(("perplexity of the test set", figures["selected"]["perplexity"]))
    body = [(name, *(f"{value:.3f}" for value in row.values())) for name, row in rows]
    return render(("", "mean", "min", "25 %", "median", "75 %", "max"), body)


def report(out: Path, manifest: dict[str, Any], ngrams: Any) -> str:
    """The whole report. ``ngrams`` is the :class:`KnownNgrams` of the build, for the covers."""
    config, languages = manifest["configuration"], manifest["languages"]
    finished = manifest["until"] == "release"
    parts = [counts_table(manifest["counts"]), quantile_table(manifest["figures"], config["uncertainty"])]
    stem = "test" if finished else "candidates"
    texts = [_first_lines(out / f"{stem}.{language}") for language in languages]
    rows: list[dict[str, Any]] = [{}] * EXAMPLES
    if finished:
        rows = [json.loads(line) for line in _first_lines(out / "split.jsonl")]
    blocks = []
    for row, source, target in zip(rows, *texts, strict=False):
        covered = target if config["degree_side"] == "target" else source
        pieces = ngrams.cover(covered)
        length = sum(map(len, pieces))
        figures = f"{len(pieces)}/{length} = {len(pieces) / length:.2f}"
        if finished:
            figures += f"   {config['uncertainty']} {row[config['uncertainty']]:.3f}"
        block = [figures, f"  {languages[0]}  {source}", f"  {languages[1]}  {target}"]
        if finished:
            block.append(f"  ensemble  {row['hypothesis']}")
        block.append("  cover  " + " | ".join(" ".join(piece) for piece in pieces))
        blocks.append("\n".join(block))
    parts.append("\n".join(blocks))
    parts.append(_next(out, manifest))
    return "\n\n".join(parts)


def _next(out: Path, manifest: dict[str, Any]) -> str:
    if manifest["until"] != "release":
        rest = "selects" if manifest["until"] == "uncertainty" else "trains the ensemble and selects"
        return f"written to {out}\nnext: the same command without --until {manifest['until']} {rest}"
    source = manifest["languages"][0]
    return "\n".join(
        [
            f"written to {out} ({manifest['signature']})",
            f"next:  cgbench verify {out}",
            f"       cgbench translate --model ENSEMBLE < {out / ('test.' + source)} > hypotheses",
            f"       read {out / 'README.md'} and fill in what only you know: --licence, where the text is from",
        ]
    )


def _first_lines(path: Path) -> list[str]:
    lines = []
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            lines.append(line.rstrip("\n"))
            if len(lines) == EXAMPLES:
                break
    return lines


def kinds_table(kinds: dict[str, dict[str, int]]) -> str:
    """The demo's record: the share of each planted kind at each stage."""
    names = sorted(kinds["pool"])
    words = dict(COUNTS)
    rows = []
    for stage, counts in kinds.items():
        total = sum(counts.values())
        shares = (f"{counts[name] / total:.1%}" if total else "-" for name in names)
        rows.append((words[stage].partition(":")[0], f"{total:,}", *shares))
    return render(("share of each kind, by stage", "pairs", *names), rows)
