"""The input of every export target: the pairs of a test set with their measures."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench.benchmark.release.release import Release
from cgbench.files import named

SYSTEM = "ensemble"  # the name of the ensemble's own translations


@dataclass(frozen=True)
class Pairs:
    """The test set of a release.

    :param rows: one per pair: ``source``, ``target``, ``doc`` (its name), ``document`` (that name
        if the release has none), ``domain`` (its bin of degree) and ``figures`` (the row of
        ``split.jsonl``).
    """

    release: Release
    rows: list[dict[str, Any]]

    @property
    def languages(self) -> tuple[str, str]:
        """The language of the source, and that of the target."""
        return self.release.languages


def export_pairs(release: Release) -> Pairs:
    """The pairs of a release with a test set and its text, as in their files."""
    side = release.configuration["degree_side"]
    rows = [
        {
            "source": source,
            "target": target,
            "doc": f"line-{row['line']}",
            "document": row.get("document") or f"line-{row['line']}",
            "domain": f"degree_{10 * row['pieces'] // max(1, row[f'{side}_length']) / 10:.1f}",
            "figures": row,
        }
        for row, (source, target) in zip(release.split(), release.pairs(), strict=True)
    ]
    return Pairs(release, rows)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines of text; creates the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with named(path):
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def write_rows(path: Path, rows: Iterable[Any]) -> None:
    """Write JSON lines."""
    write_lines(path, (json.dumps(row, ensure_ascii=False) for row in rows))
