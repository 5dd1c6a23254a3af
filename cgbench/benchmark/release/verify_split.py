"""Check a split: its hashes, its counts, its tables, and that its sets are disjoint parts of the corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cgbench.benchmark.release.checksums import listed_digest
from cgbench.benchmark.release.manifest import (
    ID,
    MANIFEST,
    SETS_FILE,
    SPLIT,
    Check,
    Findings,
    digest,
    file_names,
    signature,
    table_file,
)
from cgbench.benchmark.release.tables import sides_of
from cgbench.errors import InputError
from cgbench.files import to_json
from cgbench.text.streams import read_lines

if TYPE_CHECKING:
    from cgbench.benchmark.release.release import Release

SIDES = ("source", "target")
HEAD = "pair\tset"  # the first row of split.tsv


def sets_of(release: Release) -> list[int]:
    """The set of every pair of the corpus of a split: 0 training, 1 test set, -1 neither.

    :raises InputError: ``split.tsv`` is missing, or has a row that does not belong.
    """
    names = {"train": 0, "test": 1, "neither": -1}
    found = []
    path = release.path(SETS_FILE)
    for number, line in enumerate(read_lines(path)):
        pair, _, name = line.partition("\t")
        if not number and line == HEAD:
            continue
        if not number or pair != str(number) or name not in names:
            raise InputError(f"{path}, row {number + 1}: not a row of a split")
        found.append(names[name])
    return found


def verify_split(release: Release) -> Findings:
    """Check a split: its manifest, hashes, counts, tables, and that its sets are disjoint parts of the corpus."""
    found = Findings()
    manifest = release.manifest
    same = digest(manifest) == manifest["digest"] and _is_plain(release)
    found.append(_check(MANIFEST, "" if same else "was changed: its digest is not that of what it says"))
    lacking = sorted(file_names(manifest) ^ set(manifest["files"]))
    found.append(_check("files", f"it lists other files than a split has: {', '.join(lacking)}" if lacking else ""))
    for name, listed in sorted(manifest["files"].items()):
        try:
            release.path(name)
            problem = "" if listed_digest(release.folder, name) == listed else "was changed"
        except (InputError, OSError, ValueError) as error:
            problem = f"cannot be read ({error})"
        found.append(_check(name, problem))
    for name, check in (("signature", _signature_differs), ("counts", _counts_differ), ("tables", _tables_differ)):
        try:
            found.append(_check(name, check(release)))
        except (InputError, OSError, ValueError, KeyError, TypeError) as error:
            found.append(_check(name, f"cannot be read ({error})"))
    return found


def _is_plain(release: Release) -> bool:
    """Whether the manifest is written as cgbench writes it, byte for byte."""
    try:
        return release.path(MANIFEST).read_bytes() == to_json(release.manifest).encode("utf-8")
    except (InputError, OSError, ValueError):
        return False


def _check(name: str, problem: str) -> Check:
    return Check(name, not problem, problem)


def _signature_differs(release: Release) -> str:
    return "" if signature(release.manifest) == release.signature else "it is not that of the files"


def _counts_differ(release: Release) -> str:
    counts, sides = release.manifest["counts"], sets_of(release)
    expected = {"pool": len(sides), "selected": sides.count(1), "neither": sides.count(-1)}
    if not release.manifest["inputs"]["given"]:
        expected["train"] = sides.count(0)
    for name, value in expected.items():
        if counts[name] != value:
            return f"{name}: {counts[name]:,}, but {SETS_FILE} gives {value:,}"
    for side in SIDES:
        for key, lines in (("train", release.train_lines(side)), ("selected", release.lines(side))):
            if len(lines) != counts[key]:
                return f"{key}, {side}: {len(lines):,} lines, and {counts[key]:,} are listed"
    rows = [row[ID] for row in release.split()]
    if rows != [number for number, side in enumerate(sides, 1) if side == 1]:
        return f"{SPLIT} has other pairs than {SETS_FILE}"
    return ""


def _tables_differ(release: Release) -> str:
    for which, read in (("train", release.train_lines), ("test", release.lines)):
        texts = sides_of(release.table(which, text=True), release.languages)
        if [list(lines) for lines in texts] != [read(side) for side in SIDES]:
            return f"{table_file(which)}: other sentences than the text"
    return ""
