"""Check a release: its hashes, its counts, and the split, drawn again from the candidates' figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench.benchmark.react_config import resolve_amount
from cgbench.benchmark.release import FORMAT, select_rows
from cgbench.errors import InputError
from cgbench.files import read_json
from cgbench.steps import hash_file


@dataclass(frozen=True)
class Check:
    """One thing that was checked. ``ok`` is None when it could not be; ``detail`` says what differs, or why not."""

    name: str
    ok: bool | None
    detail: str = ""


def verify(folder: Path) -> list[Check]:
    """Check the release in ``folder``.

    :raises InputError: it is not a release at all, or one of a later version of cgbench.
    """
    manifest = read_json(folder / "manifest.json")
    if not isinstance(manifest, dict) or "files" not in manifest or "counts" not in manifest:
        raise InputError(f"{folder}: manifest.json is not that of a cgbench release")
    if manifest.get("format") != FORMAT:
        raise InputError(f"{folder}: release format {manifest.get('format')} is not known to this version of cgbench")
    hashes = list(_check_hashes(folder, manifest))
    parts: list[tuple[str, Callable[[Path, dict[str, Any]], str]]] = [("counts", _check_counts)]
    if manifest["until"] == "release":
        parts += [("figures of the split", _check_rows), ("split drawn again", _check_split)]
    checks = hashes
    for name, check in parts:
        try:
            problem = check(folder, manifest)
        except (OSError, ValueError, KeyError, TypeError, IndexError, InputError) as error:
            problem = f"cannot be read ({error})"
        checks.append(Check(name, not problem, problem))
    return [*checks, *_check_inputs(manifest)]


def _check_hashes(folder: Path, manifest: dict[str, Any]) -> Iterator[Check]:
    for name, expected in sorted(manifest["files"].items()):
        path = folder / name
        if Path(name).name != name:
            yield Check(name, False, "a name that leaves the folder")
        elif not path.is_file():
            yield Check(name, False, "missing")
        else:
            found = hash_file(path)
            detail = "" if found == expected else f"SHA-256 is {found[:16]}…, the manifest says {expected[:16]}…"
            yield Check(name, found == expected, detail)


def _texts(folder: Path, manifest: dict[str, Any]) -> list[list[str]]:
    stem = "test" if manifest["until"] == "release" else "candidates"
    return [
        (folder / f"{stem}.{language}").read_text(encoding="utf-8").split("\n")[:-1]
        for language in manifest["languages"]
    ]


def _split(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "split.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def _candidates(folder: Path) -> Any:
    import pyarrow
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_table(folder / "candidates.parquet")
    except pyarrow.ArrowException as error:
        raise InputError(str(error)) from None


def _check_counts(folder: Path, manifest: dict[str, Any]) -> str:
    counts = manifest["counts"]
    stage = "selected" if manifest["until"] == "release" else "candidates"
    found = {
        f"lines of {language}": len(lines)
        for language, lines in zip(manifest["languages"], _texts(folder, manifest), strict=True)
    }
    if stage == "selected":
        found["rows of split.jsonl"] = len(_split(folder))
    problems = [f"{name}: {value:,} for {counts[stage]:,}" for name, value in found.items() if value != counts[stage]]
    rows = _candidates(folder).num_rows
    if rows != counts["candidates"]:
        problems.append(f"rows of candidates.parquet: {rows:,} for {counts['candidates']:,}")
    return "; ".join(problems)


def _check_rows(folder: Path, manifest: dict[str, Any]) -> str:
    """Lengths, degree and place of every row against the text beside it."""
    side = manifest["configuration"]["degree_side"]
    texts = _texts(folder, manifest)
    for number, row in enumerate(_split(folder), 1):
        lengths = [len(lines[number - 1].split()) for lines in texts]
        if [row["source_length"], row["target_length"]] != lengths:
            return f"row {number}: lengths {row['source_length']}, {row['target_length']}; the text has {lengths}"
        if row["degree"] != row["pieces"] / row[f"{side}_length"]:
            return f"row {number}: degree {row['degree']} is not pieces over length"
    return ""


def _check_split(folder: Path, manifest: dict[str, Any]) -> str:
    config = manifest["configuration"]
    rows = _candidates(folder).to_pylist()
    sizes = {key: resolve_amount(key, config[key], len(rows)) for key in ("drop", "window", "select")}
    _, stages = select_rows(rows, config, sizes)
    drawn = {row["line"]: row for row, stage in zip(rows, stages, strict=True) if stage == "selected"}
    split = _split(folder)
    strange = sorted({row["line"] for row in split} ^ set(drawn))
    if strange:
        return f"{len(strange):,} pool lines are in one of split.jsonl and the draw only, the first {strange[0]:,}"
    for number, row in enumerate(split, 1):
        for key in sorted(set(row) & set(drawn[row["line"]])):
            if row[key] != drawn[row["line"]][key]:
                return f"row {number}: {key} {row[key]} is not that of the candidates, {drawn[row['line']][key]}"
    return ""


def _check_inputs(manifest: dict[str, Any]) -> Iterator[Check]:
    """The inputs, where they still are: a release is whole without them."""
    inputs = manifest["inputs"]
    for role, entry in [("train", inputs["train"]), *[("pool", pool) for pool in inputs["pool"]]]:
        for file in entry["files"]:
            path = Path(file["path"])
            if not path.is_file():
                yield Check(f"{role} {path}", None, "not here")
            else:
                same = hash_file(path) == file["sha256"]
                yield Check(f"{role} {path}", same, "" if same else "not the file that the release was built from")
