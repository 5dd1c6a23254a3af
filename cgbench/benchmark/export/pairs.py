"""What every target is made of: the pairs of a test set with their figures."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench.benchmark.release import Release
from cgbench.errors import InputError

SYSTEM = "ensemble"  # what the ensemble's own translations are called


@dataclass(frozen=True)
class Pairs:
    """The test set of a release.

    :param rows: a pair each: ``source``, ``target``, ``doc`` (a name of it), ``domain`` (its bin of degree) and
        ``figures`` (the row of ``split.jsonl``).
    """

    release: Release
    rows: list[dict[str, Any]]

    @property
    def languages(self) -> tuple[str, str]:
        """The source's and the target's."""
        return self.release.languages

    @property
    def measure(self) -> str:
        """The measure that chose the pairs."""
        return str(self.release.configuration["uncertainty"])


def pairs_of(release: Release) -> Pairs:
    """The pairs of a release with a test set and its text.

    :raises InputError: there is no test set, or its files do not belong together.
    """
    figures = release.split()
    texts = [release.lines(side) for side in ("source", "target")]
    if {len(lines) for lines in texts} != {len(figures)}:
        raise InputError(f"{release.folder}: not as many sentences as rows; cgbench verify says more")
    side = release.configuration["degree_side"]
    rows = [
        {
            "source": source,
            "target": target,
            "doc": f"line-{row['line']}",
            "domain": f"degree_{10 * row['pieces'] // row[f'{side}_length'] / 10:.1f}",
            "figures": row,
        }
        for row, source, target in zip(figures, *texts, strict=True)
    ]
    return Pairs(release, rows)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines of text; the folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write JSON lines."""
    write_lines(path, (json.dumps(row, ensure_ascii=False) for row in rows))
