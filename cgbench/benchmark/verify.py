"""Check a release: its hashes, its counts, and the split, drawn again from the candidates' figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench.benchmark.react_config import resolve_amount
from cgbench.benchmark.release import FORMAT, select_rows, signature, summary
from cgbench.benchmark.scan import content_of
from cgbench.benchmark.selection import count_stages
from cgbench.errors import InputError
from cgbench.files import read_json
from cgbench.steps import hash_file

SHAPE = {
    "files": dict,
    "counts": dict,
    "figures": dict,
    "configuration": dict,
    "inputs": dict,
    "until": str,
    "languages": list,
}


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
    if not isinstance(manifest, dict) or not all(isinstance(manifest.get(key), kind) for key, kind in SHAPE.items()):
        raise InputError(f"{folder}: manifest.json is not that of a cgbench release")
    if manifest.get("format") != FORMAT:
        raise InputError(f"{folder}: release format {manifest.get('format')} is not known to this version of cgbench")
    hashes = list(_check_hashes(folder, manifest))
    parts: list[tuple[str, Callable[[Path, dict[str, Any]], str]]] = [
        ("files", _check_files),
        ("counts", _check_counts),
        ("figures", _check_figures),
        ("text", _check_text),
    ]
    if manifest["until"] == "release":
        parts += [("figures of the split", _check_rows), ("split drawn again", _check_split)]
    checks = hashes
    for name, check in parts:
        try:
            problem = check(folder, manifest)
        except (OSError, ValueError, KeyError, TypeError, IndexError, InputError) as error:
            problem = f"cannot be read ({error})"
        checks.append(Check(name, not problem, problem))
    try:
        inputs = list(_check_inputs(manifest))
    except (KeyError, TypeError) as error:
        inputs = [Check("inputs", False, f"cannot be read ({error!r})")]
    return [*checks, *inputs]


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


def _check_files(folder: Path, manifest: dict[str, Any]) -> str:
    stem = "test" if manifest["until"] == "release" else "candidates"
    expected = {f"{stem}.{language}" for language in manifest["languages"]} | {"README.md", "candidates.parquet"}
    if stem == "test":
        expected.add("split.jsonl")
    strange = sorted(expected ^ set(manifest["files"]))
    if strange:
        return f"the manifest lists other files than such a release has: {', '.join(strange)}"
    return "" if manifest.get("signature") == signature(manifest) else "the signature is not that of the files"


def _check_figures(folder: Path, manifest: dict[str, Any]) -> str:
    """Means and quantiles, computed again."""
    columns = _candidates(folder).to_pydict()
    measure = manifest["configuration"]["uncertainty"]
    found: dict[str, Any] = {"degree": summary(columns["degree"])}
    if measure in columns:
        found["uncertainty"] = summary(columns[measure])
    if "perplexity" in columns:
        found["perplexity"] = summary(columns["perplexity"])
    if "stage" in columns:
        chosen = [number for number, stage in enumerate(columns["stage"]) if stage == "selected"]
        chosen.sort(key=lambda number: columns["line"][number])
        found["selected"] = {
            "degree": summary([columns["degree"][number] for number in chosen]),
            "uncertainty": summary([columns[measure][number] for number in chosen]),
        }
        if "perplexity" in columns:
            found["selected"]["perplexity"] = summary([columns["perplexity"][number] for number in chosen])
    wrong = [
        key for key in sorted(set(found) | set(manifest["figures"])) if found.get(key) != manifest["figures"].get(key)
    ]
    return f"{', '.join(wrong)}: not what the candidates give" if wrong else ""


def _check_text(folder: Path, manifest: dict[str, Any]) -> str:
    """The words of every pair against the hash that the candidates' table has of them."""
    columns = _candidates(folder).to_pydict()
    rows = list(range(len(columns["line"])))
    if manifest["until"] == "release":
        rows = sorted(
            (row for row in rows if columns["stage"][row] == "selected"), key=lambda row: columns["line"][row]
        )
    hashes = content_of(*_texts(folder, manifest)).tolist()
    expected = [columns["content"][row] for row in rows]
    wrong = [number for number, pair in enumerate(zip(hashes, expected, strict=True), 1) if pair[0] != pair[1]]
    return f"line {wrong[0]}: not the pair that was chosen ({len(wrong):,} such lines)" if wrong else ""


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
    table = _candidates(folder)
    stages = table["stage"].to_pylist() if "stage" in table.column_names else []
    recounted = {"candidates": table.num_rows}
    if stages:
        recounted |= {"dropped_perplexity": 0} if "dropped_perplexity" in counts else {}
        recounted |= count_stages(stages)
    problems += [
        f"{key} in candidates.parquet: {value:,} for {counts.get(key)}"
        for key, value in recounted.items()
        if counts.get(key) != value
    ]
    chain = [counts[key] for key in ("pool", "known_words", "within_length", "candidates")]
    if (
        chain != sorted(chain, reverse=True)
        or counts["pool"] != counts["known_words"] + counts["rare_word"] + counts["empty"]
    ):
        problems.append("the counts of the stages do not add up")
    return "; ".join(problems)


def _check_rows(folder: Path, manifest: dict[str, Any]) -> str:
    """Lengths, degree and place of every row against the text beside it."""
    side = manifest["configuration"]["degree_side"]
    texts = _texts(folder, manifest)
    for number, row in enumerate(_split(folder), 1):
        lengths = [len(lines[number - 1].encode().split()) for lines in texts]  # ASCII white space alone
        if [row["source_length"], row["target_length"]] != lengths:
            return f"row {number}: lengths {row['source_length']}, {row['target_length']}; the text has {lengths}"
        if row["degree"] != row["pieces"] / row[f"{side}_length"]:
            return f"row {number}: degree {row['degree']} is not pieces over length"
    return ""


def _check_split(folder: Path, manifest: dict[str, Any]) -> str:
    config = manifest["configuration"]
    rows = _candidates(folder).to_pylist()
    sizes = {key: resolve_amount(key, config[key], len(rows)) for key in ("drop", "window", "select")}
    sizes["drop_perplexity"] = resolve_amount("drop_perplexity", config.get("drop_perplexity", 0), len(rows))
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
    corpora = [("train", inputs["train"]), *(("pool", entry) for entry in inputs["pool"])]
    corpora += [("exclude", entry) for entry in inputs["exclude"]]
    if "ngrams" in inputs:
        corpora.append(("ngrams", {"files": [inputs["ngrams"]]}))
    if "lm" in inputs:
        corpora.append(("lm", {"files": [inputs["lm"]]}))
    for role, entry in corpora:
        for file in entry["files"]:
            path = Path(file["path"])
            if not path.is_file():
                yield Check(f"{role} {path}", None, "not here")
            else:
                same = hash_file(path) == file["sha256"]
                yield Check(f"{role} {path}", same, "" if same else "not the file that the release was built from")
