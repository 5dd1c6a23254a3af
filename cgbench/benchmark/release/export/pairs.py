"""The input of every export target: the pairs of a test set with their measures."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError, InputWarning, argument
from cgbench.files import named
from cgbench.text.formats import CorpusSpec, read_pairs
from cgbench.text.normalisation import normalise_pairs
from cgbench.text.plain_text import words_of

SYSTEM = "ensemble"  # the name of the ensemble's own translations


@dataclass(frozen=True)
class Pairs:
    """The test set of a release.

    :param rows: one per pair: ``source``, ``target``, ``doc`` (its name), ``domain`` (its bin of degree) and
        ``figures`` (the row of ``split.jsonl``).
    """

    release: Release
    rows: list[dict[str, Any]]

    @property
    def languages(self) -> tuple[str, str]:
        """The language of the source, and that of the target."""
        return self.release.languages

    @property
    def measure(self) -> str:
        """The measure that selected the pairs; the degree for a split."""
        return str(self.release.configuration.get("uncertainty", "degree"))


def pairs_of(release: Release) -> Pairs:
    """The pairs of a release with a test set and its text."""
    figures = release.split()
    texts = [release.lines(side) for side in ("source", "target")]
    if {len(lines) for lines in texts} != {len(figures)}:
        raise InputError(f"{release.folder}: the numbers of sentences and rows differ; see cgbench verify")
    side = release.configuration["degree_side"]
    rows = [
        {
            "source": source,
            "target": target,
            "doc": f"line-{row['line']}",
            "domain": f"degree_{10 * row['pieces'] // max(1, row[f'{side}_length']) / 10:.1f}",
            "figures": row,
        }
        for row, source, target in zip(figures, *texts, strict=True)
    ]
    return Pairs(release, rows)


def as_written(pairs: Pairs) -> Pairs:
    """The pairs as in their pools, before tokenisation and lower-casing, for targets whose models generate answers.

    If a pool is missing or has changed, the pairs stay as in the release, with a warning.
    """
    release = pairs.release
    if release.is_split:  # its pairs are already those of its files
        return pairs
    change = release.normalisation
    if change.is_identity or change.anonymise != "none":  # answers are compared with anonymised forms
        return pairs
    texts = [(row["source"], row["target"]) for row in pairs.rows]
    found = raw_texts(release, [(row["figures"]["pool"], row["figures"]["pool_line"]) for row in pairs.rows], texts)
    if found is None:
        warnings.warn(
            InputWarning(
                f"{release.folder}: the text is normalised ({change.signature(release.languages[1])}"
                f"{', lower case' if change.lowercase else ''}) and its pools are not here, so the export has "
                "normalised text, and answers in ordinary text score too low; score them with cgbench score "
                f"{argument('release')} {argument('normalise', 'release')}"
            ),
            stacklevel=2,
        )
        return pairs
    rows = [
        {**row, "source": source, "target": target} for row, (source, target) in zip(pairs.rows, found, strict=True)
    ]
    return replace(pairs, rows=rows)


def raw_texts(
    release: Release, places: Sequence[tuple[int, int]], texts: Sequence[tuple[str, str]]
) -> list[tuple[str, str]] | None:
    """The pairs at ``places`` (pool and line, from 1) as in the pools; None if a pool is missing or has changed.

    Each pair is normalised again and compared with the text of the release.
    """
    change = release.normalisation
    entries = release.manifest["inputs"]["pool"]
    found: dict[tuple[int, int], tuple[str, str]] = {}
    try:
        for pool in sorted({pool for pool, _ in places}):
            entry, wanted = entries[pool - 1], {line for number, line in places if number == pool}
            paths = tuple(release.input_path(str(file["path"])) for file in entry["files"])
            spec = CorpusSpec(paths, tuple(entry["columns"]) if entry["columns"] else None)
            for line, pair in enumerate(islice(read_pairs(spec), max(wanted)), 1):
                if line in wanted:
                    found[pool, line] = pair
        raw = [found[place] for place in places]
        again = normalise_pairs(iter(raw), change, "")
        alike = all(
            [" ".join(words_of(side)) for side in pair] == list(text) for pair, text in zip(again, texts, strict=True)
        )
    except (InputError, OSError, LookupError, TypeError):
        return None
    return [(source.strip(), target.strip()) for source, target in raw] if alike else None


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines of text; creates the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with named(path):
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def write_rows(path: Path, rows: Iterable[Any]) -> None:
    """Write JSON lines."""
    write_lines(path, (json.dumps(row, ensure_ascii=False) for row in rows))
