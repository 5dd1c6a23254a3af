"""Check a release or a split: its checksums, its counts, and the selection, redrawn from the
candidates' measures.
"""

import itertools
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cgbench.argument_types import AnyRelease, Folder
from cgbench.benchmark.candidates.correlations import as_jsonl, correlations
from cgbench.benchmark.candidates.division import divide
from cgbench.benchmark.candidates.matching import LENGTHS, RAREST, balance, covariates_of
from cgbench.benchmark.candidates.noise_share import choose_cut
from cgbench.benchmark.candidates.pair_measures import DUAL, JOINT, pair_measures
from cgbench.benchmark.candidates.pool_scan import content_of
from cgbench.benchmark.candidates.selection import FIRST, count_stages, select_rows, selection_sizes
from cgbench.benchmark.candidates.strata import COLUMNS, SAMPLED, design_of, draw_columns
from cgbench.benchmark.measure.overlap.corpus_counts import sums_of
from cgbench.benchmark.release.data_tables import (
    NORMALISED,
    TEXTS,
    chosen_rows,
    figures_of,
    rows_of,
    sides_of,
    text_contents,
    without_text,
)
from cgbench.benchmark.release.listed_digests import listed_digest
from cgbench.benchmark.release.manifest import (
    CONTROL,
    CORRELATIONS,
    CROISSANT,
    ID,
    MANIFEST,
    ROW_FILES,
    SAMPLE,
    SETS_FILE,
    SPLIT,
    Check,
    Findings,
    digest,
    file_names,
    is_inside,
    signature,
    table_file,
    table_names,
)
from cgbench.benchmark.release.release import SIDES, Release
from cgbench.errors import InputError, MissingPackageError, missing_package
from cgbench.files import read_json, to_json
from cgbench.models.checkpoints import MEMBER, holds_members
from cgbench.request import KW_ONLY, Request, accepts, option
from cgbench.steps import hash_file
from cgbench.text.formats import CorpusSpec
from cgbench.text.normalisation import normalise_pairs
from cgbench.text.plain_text import words_of
from cgbench.text.remote import is_address
from cgbench.text.streams import split_name
from cgbench.text.tokenizers import versions

NORMALISED_AGAIN = 1_000  # pairs of a table whose text is normalised again
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, InputError)

Found: TypeAlias = str | Iterable[Check]
"""The result of a check: the difference (empty: none), or one result for each thing checked."""


class VerifyRequest(Request):
    """What :func:`verify` checks."""

    release: AnyRelease = option(
        help="Release or split to check",
    )
    _: KW_ONLY
    work: Folder | None = option(
        "--work",
        default=None,
        help="Workspace of the release [default: RELEASE.work]",
    )


@accepts(VerifyRequest)
def verify(request: VerifyRequest) -> Findings:
    """Check a release or a split; the ``ok`` of the result is its verdict.

    :raises InputError: it cannot be opened.
    """
    release = Release.of(request.release, request.work, check=False)
    findings = Findings()
    for name, check in _checks(release):
        try:
            result = check(release)
            findings += (
                [Check(name, not result, result)] if isinstance(result, str) else list(result)
            )
        except (MissingPackageError, ModuleNotFoundError) as error:
            missing = error if isinstance(error, MissingPackageError) else missing_package(error)
            if missing is None:
                raise
            findings.append(Check(name, None, missing.message))
        except _UNREADABLE as error:
            findings.append(Check(name, False, f"cannot be read ({error})"))
    return findings


def check_verified(release: Release) -> None:
    """:raises InputError: the release does not pass :func:`verify`."""
    if failed := verify(release).failed:
        first = f"{failed[0].name}{': ' if failed[0].detail else ''}{failed[0].detail}"
        count = f" ({len(failed)} checks fail)" if len(failed) > 1 else ""
        raise InputError(
            f"{release.folder}: does not pass verify: {first}{count}; see cgbench verify"
        )


def _checks(release: Release) -> Iterator[tuple[str, Callable[[Release], Found]]]:
    yield MANIFEST, _check_manifest
    yield from ((name, partial(_check_file, name)) for name in sorted(release.manifest["files"]))
    if release.is_split:
        yield from (
            ("files", _check_files),
            ("counts", _check_sets),
            ("tables", _check_sets_tables),
        )
        yield "metadata", _check_croissant
        return
    yield from (("files", _check_files), ("counts", _check_counts))
    yield from (
        ("statistics", _check_statistics),
        ("text", _check_text),
        ("pair measures", _check_pairs),
    )
    yield "correlations", _check_correlations
    yield from (("tables", _check_tables), ("metadata", _check_croissant))
    if release.keeps_normalised and release.has_text:
        yield "original text", _check_originals
    if release.finished:
        yield from (("split rows", _check_rows), ("split redrawn", _check_split))
        yield "inclusion and strata", _check_draws
        if release.configuration.get("control"):
            yield "control set", _check_control
    if "corpus" in release.manifest["inputs"]:
        yield "division of the corpus", _check_division
    yield from (("inputs", _check_inputs), ("ensemble", _check_ensemble))


def _check_manifest(release: Release) -> str:
    """The manifest against its own digest, and its bytes against the format of cgbench."""
    manifest = release.manifest
    plain = release.path(MANIFEST).read_bytes() == to_json(manifest).encode("utf-8")
    if "digest" not in manifest:
        return "has no digest: it was changed"
    if manifest["digest"] != digest(manifest):
        return "was changed: the digest does not match"
    return "" if plain else "is not in the format that cgbench writes"


def _check_file(name: str, release: Release) -> str:
    """The SHA-256 of a file as listed: without what people wrote in it."""
    if not is_inside(name):
        return "the name leads out of the folder"
    if not os.path.lexists(release.folder / name):
        return "missing"
    release.path(name)  # an ordinary file of the folder
    expected = release.manifest["files"][name]
    sha256 = listed_digest(release.folder, name)
    return (
        ""
        if sha256 == expected
        else f"SHA-256 is {sha256[:16]}…, the manifest says {str(expected)[:16]}…"
    )


def _check_croissant(release: Release) -> str:
    """The Croissant metadata against the manifest: the same files with the same checksums."""
    value = read_json(release.path(CROISSANT))
    digests = {file["contentUrl"]: file["sha256"] for file in value["distribution"]}
    tables = {table_file(name) for name in table_names(release.manifest)}
    return (
        ""
        if digests == {name: release.manifest["files"][name] for name in tables}
        else "it names other files"
    )


def _check_files(release: Release) -> str:
    manifest = release.manifest
    if strange := sorted(file_names(manifest) ^ set(manifest["files"])):
        return f"the manifest has missing or unexpected files: {', '.join(strange)}"
    return (
        ""
        if manifest.get("signature") == signature(manifest)
        else "the signature does not match the files"
    )


def _check_statistics(release: Release) -> str:
    recorded, controls = (
        release.manifest["figures"],
        (release.set_rows("control") if release.has_control else []),
    )
    degrees = [row["degree"] for row in controls]
    recomputed = figures_of(release.table(), release.configuration["uncertainty"], degrees)
    wrong = [
        key
        for key in sorted(set(recomputed) | set(recorded))
        if recomputed.get(key) != recorded.get(key)
    ]
    return f"{', '.join(wrong)}: do not match the candidates" if wrong else ""


def _check_correlations(release: Release) -> str:
    expected = as_jsonl(
        correlations(release.table().to_pydict(), release.configuration["uncertainty"])
    ).split("\n")
    recorded = release.path(CORRELATIONS).read_text(encoding="utf-8").split("\n")
    wrong = [
        row
        for row, pair in enumerate(itertools.zip_longest(expected, recorded), 1)
        if pair[0] != pair[1]
    ]
    return (
        f"row {wrong[0]}: does not match the candidates ({len(wrong):,} such rows)" if wrong else ""
    )


def _check_pairs(release: Release) -> str:
    """Measures that follow from other columns, recomputed."""
    columns = release.table().to_pydict()
    expected = pair_measures(columns, release.manifest["inputs"].get("lm", {}).get("side"))
    return _differing_columns(columns, expected, (DUAL, JOINT))


def _differing_columns(
    columns: dict[str, list[Any]], expected: Mapping[str, Any], names: Iterable[str]
) -> str:
    """Which of these columns of the candidates are missing, unexpected or not as computed from the
    others.
    """
    strange = (set(names) & set(columns)) ^ set(expected)
    wrong = {
        name
        for name, values in expected.items()
        if name in columns
        and not np.allclose(columns[name], values, rtol=1e-9, atol=0, equal_nan=True)
    }
    return (
        f"{', '.join(sorted(strange | wrong))}: do not match the other columns"
        if strange or wrong
        else ""
    )


def _check_text(release: Release) -> str:
    """The words of every pair against its hash in the table of candidates."""
    if not release.has_text:
        return ""
    table = release.table()
    rows, content = (
        chosen_rows(table) if release.finished else range(table.num_rows),
        table["content"].to_pylist(),
    )
    hashes = content_of(*(release.lines(side, normalised=True) for side in SIDES)).tolist()
    expected = [content[row] for row in rows]
    wrong = [
        row for row, pair in enumerate(zip(hashes, expected, strict=True), 1) if pair[0] != pair[1]
    ]
    return f"line {wrong[0]}: not the selected pair ({len(wrong):,} such lines)" if wrong else ""


def _check_tables(release: Release) -> str:
    """The text of the tables against their hashes; the test and control tables against their
    files.
    """
    for name in table_names(release.manifest):
        table, file = release.table(name, text=True), table_file(name)
        texts = sides_of(table, release.languages)
        form = sides_of(table, release.languages, NORMALISED)
        # Text is there if the manifest states it, and matches the hash of its row.
        for sides, expected, noun in (
            (texts, release.has_text, "text"),
            (form, release.has_text and release.keeps_normalised, "normalised text"),
        ):
            if bool(sides) != expected:
                return f"{file} has {'' if sides else 'no '}{noun}"
        if texts:
            hashed = form or [[" ".join(words_of(line)) for line in lines] for lines in texts]
            pairs = zip(content_of(*hashed).tolist(), table["content"].to_pylist(), strict=True)
            if wrong := [
                row for row, (recomputed, expected) in enumerate(pairs, 1) if recomputed != expected
            ]:
                return (
                    f"{file}, row {wrong[0]}: the text does not match its hash ({len(wrong):,} such"
                    " rows)"
                )
        # The text and the rows equal those of the files.
        for text_file, content in text_contents(release.manifest, name, table).items():
            if release.path(text_file).read_bytes() != content.encode("utf-8"):
                return f"{file}: does not match {text_file}"
        if not texts and (
            strange := sorted({*table.column_names} - {*without_text(table).column_names})
        ):
            return f"{file}: the column {strange[0]} holds text"
        if name in ROW_FILES and json.dumps(rows_of(table)) != json.dumps(
            release.set_rows(name)
        ):  # so NaN equals NaN
            return f"{file}: does not match {ROW_FILES[name]}"
    return ""


def _check_originals(release: Release) -> Found:
    """The original text, normalised again, against its normalised form: up to
    :data:`NORMALISED_AGAIN` pairs of each table, evenly spaced."""
    normalisation = replace(
        release.normalisation, detokenize=False
    )  # undone in the original already
    for package, version in versions(normalisation.tokenizers).items():
        if release.manifest["versions"].get(package) != version:
            return [Check("original text", None, f"normalised with another version of {package}")]
    for name in table_names(release.manifest):
        table = release.table(name, text=True)
        table = table.take(
            list(range(0, table.num_rows, max(1, -(-table.num_rows // NORMALISED_AGAIN))))
        )
        texts, form = (sides_of(table, release.languages, column) for column in TEXTS)
        try:
            again = list(normalise_pairs(zip(*texts, strict=True), normalisation, name))
        except InputError as error:  # a tokeniser that is not installed
            return [Check("original text", None, error.message)]
        for line, *pairs in zip(
            table["line"].to_pylist(), again, zip(*form, strict=True), strict=True
        ):
            again_words, form_words = ([words_of(side) for side in pair] for pair in pairs)
            if again_words != form_words:
                return (
                    f"{table_file(name)}, line {line:,} of the pool: the normalised form is not"
                    " that of the text"
                )
    return ""


def _check_sets(release: Release) -> str:
    """The sets of a split: disjoint parts of its corpus, with the numbers of sentences and rows in
    the manifest.
    """
    counts, sets = release.manifest["counts"], release.sets()
    expected = {"pool": len(sets), "selected": sets.count(1), "neither": sets.count(-1)}
    if not release.manifest["inputs"]["given"]:
        expected["train"] = sets.count(0)
    for name, value in expected.items():
        if counts[name] != value:
            return f"{name}: {counts[name]:,}, but {SETS_FILE} gives {value:,}"
    for side in SIDES:
        for key, lines in (("train", release.train_lines(side)), ("selected", release.lines(side))):
            if len(lines) != counts[key]:
                return f"{key}, {side}: {len(lines):,} lines, but {counts[key]:,} are listed"
    trained = set(release.train_lines(SIDES[0]))
    repeated = [row for row, line in enumerate(release.lines(SIDES[0]), 1) if line in trained]
    if repeated:
        return f"test pair {repeated[0]:,}: its source is in training ({len(repeated):,} are)"
    chosen = [pair for pair, set_number in enumerate(sets, 1) if set_number == 1]
    return (
        ""
        if [row[ID] for row in release.split()] == chosen
        else f"{SPLIT} and {SETS_FILE} have different pairs"
    )


def _check_sets_tables(release: Release) -> str:
    """The tables of a split against its text."""
    for which, read in (("train", release.train_lines), ("test", release.lines)):
        texts = sides_of(release.table(which, text=True), release.languages)
        if [list(lines) for lines in texts] != [read(side) for side in SIDES]:
            return f"{table_file(which)}: does not match the text"
    return ""


def _check_counts(release: Release) -> str:
    counts = release.manifest["counts"]
    stage = "selected" if release.finished else "candidates"
    # The files have as many rows as the manifest says.
    sizes = {
        f"lines of {language}": len(release.lines(side))
        for side, language in zip(SIDES, release.languages, strict=True)
        if release.has_text
    }
    if release.finished:
        sizes["rows of split.jsonl"] = len(release.split())
    problems = [
        f"{name}: {value:,} for {counts[stage]:,}"
        for name, value in sizes.items()
        if value != counts[stage]
    ]
    if release.has_sample and (rows := len(release.set_rows("sample"))) != counts["sample"]:
        problems.append(f"rows of {SAMPLE}: {rows:,} for {counts['sample']:,}")
    # The stages of the candidates, counted again.
    table = release.table()
    stages = table["stage"].to_pylist() if "stage" in table.column_names else []
    recounted = {"candidates": table.num_rows}
    if stages:
        recounted |= {stage: 0 for stage in FIRST if stage in counts}
        recounted |= count_stages(stages)
    problems += [
        f"{key} in {table_file('candidates')}: {value:,} for {counts.get(key)}"
        for key, value in recounted.items()
        if counts.get(key) != value
    ]
    # What a stage drops is not in the next.
    chain = [counts[key] for key in ("pool", "known_words", "within_length", "candidates")]
    if (
        chain != sorted(chain, reverse=True)
        or counts["pool"] != counts["known_words"] + counts["rare_word"] + counts["empty"]
    ):
        problems.append("the counts of the stages do not add up")
    return "; ".join(problems)


def _check_rows(release: Release, name: str = "test") -> str:
    """Lengths and degree of every row of a set against its text."""
    side = release.configuration["degree_side"]
    texts = (
        [release.set_lines(name, side, normalised=True) for side in SIDES]
        if release.has_text
        else []
    )
    for row_number, row in enumerate(release.set_rows(name), 1):
        lengths = [len(words_of(lines[row_number - 1])) for lines in texts]
        if texts and [row["source_length"], row["target_length"]] != lengths:
            return (
                f"row {row_number}: lengths {row['source_length']}, {row['target_length']}; the"
                f" text has {lengths}"
            )
        if row["degree"] != row["pieces"] / row[f"{side}_length"]:
            return f"row {row_number}: degree {row['degree']} is not pieces over length"
    return ""


def _check_control(release: Release) -> str:
    """The control set: rows match its text, no overlap with the test set, the same corpora, the
    recorded balance.
    """
    counts, rows = release.manifest["counts"], release.set_rows("control")
    texts = (
        [release.set_lines("control", side, normalised=True) for side in SIDES]
        if release.has_text
        else []
    )
    for name, count in ((CONTROL, len(rows)), *zip(SIDES, map(len, texts), strict=False)):
        if count != counts["control"]:
            return f"{name}: {count:,} rows for {counts['control']:,}"
    if problem := _check_rows(release, "control"):
        return problem
    for side, lines in zip(SIDES, texts, strict=False):
        if shared := set(lines) & set(release.lines(side, normalised=True)):
            return f"{len(shared):,} lines of the {side} are also in the test set"
        if len(set(lines)) < len(lines):
            return f"a line of the {side} occurs twice"
    test = release.split()
    if short := Counter(row["pool"] for row in rows) - Counter(row["pool"] for row in test):
        return f"{short.total():,} pairs too many from corpora with fewer test pairs"
    return _check_balance(release, test, rows)


def _check_balance(release: Release, test: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    """The recorded balance in lengths and rarest words, against the rows of both sets."""
    recorded = {row["covariate"]: row for row in release.manifest.get("balance", [])}
    names = [name for name in (*LENGTHS, *RAREST) if name in recorded]
    columns = [
        {name: np.array([row[name] for row in some]) for name in names} for some in (test, rows)
    ]
    recomputed = balance(*map(covariates_of, columns)) if names else []
    wrong = [str(row["covariate"]) for row in recomputed if row != recorded[row["covariate"]]]
    return f"balance of {', '.join(wrong)}: does not match the rows" if wrong else ""


def _check_split(release: Release) -> str:
    config, columns = release.selection_settings, (table := release.table()).to_pydict()
    noise = choose_cut(columns, release.configuration, release.manifest.get("ensemble"))
    if noise != release.manifest.get("noise"):
        return (
            f"noise: the manifest has {release.manifest.get('noise')}, the candidates have {noise}"
        )
    _, stages = select_rows(columns, config, selection_sizes(config, table.num_rows))
    drawn = {
        row["line"]: row
        for row, stage in zip(table.to_pylist(), stages, strict=True)
        if stage == "selected"
    }
    split = release.split()
    if strange := sorted({row["line"] for row in split} ^ set(drawn)):
        return (
            f"{len(strange):,} pool lines are only in split.jsonl or only in the redrawn split,"
            f" first {strange[0]:,}"
        )
    for row_number, row in enumerate(split, 1):
        for key in sorted(set(row) & set(drawn[row["line"]])):
            if row[key] != drawn[row["line"]][key]:
                return (
                    f"row {row_number}: {key} is {row[key]}, but {drawn[row['line']][key]} in the"
                    " candidates"
                )
    return ""


def _check_draws(release: Release) -> str:
    """The probability of every draw, and the stratified sample, computed again from the
    candidates.
    """
    config, table = release.configuration, release.table()
    columns = table.to_pydict()
    expected = draw_columns(columns, config, selection_sizes(config, table.num_rows))
    if problem := _differing_columns(columns, expected, COLUMNS):
        return problem
    if design_of(table, release.manifest["counts"]) != release.manifest["design"]:
        return "the design in the manifest does not match the candidates"
    drawn = sorted(
        line
        for line, sampled in zip(columns["line"], columns.get(SAMPLED, ()), strict=False)
        if sampled
    )
    same = not release.has_sample or [row["line"] for row in release.set_rows("sample")] == drawn
    return "" if same else f"{SAMPLE} has other pairs than the redrawn sample"


def _check_inputs(release: Release) -> Iterator[Check]:
    """The inputs, if they are still here; a release is complete without them."""
    inputs = release.manifest["inputs"]
    corpora = [
        ("train", inputs["train"]),
        *((role, entry) for role in ("pool", "exclude") for entry in inputs[role]),
    ]
    files = [(role, file) for role, entry in corpora for file in entry["files"]]
    files += [("corpus", file) for file in inputs.get("corpus", {}).get("files", [])]
    files += [("lm", inputs["lm"])] if "lm" in inputs else []
    files += [("difficulty", file) for file in inputs.get("difficulty", [])]
    files += [(f"known-from {side}", file) for side, file in inputs.get("known_from", {}).items()]
    for role, file in files:
        name = file["path"] if is_address(file["path"]) else split_name(file["path"])[0]
        path = split_name(release.input_path(file["path"]))[0]
        if (
            sha256 := _hash_input(sums_of(path) if role.startswith("known-from") else path)
        ) is None:
            yield Check(f"{role} {name}", None, "not here")
        else:
            same = sha256 == file["sha256"]
            yield Check(
                f"{role} {name}",
                same,
                "" if same else "not the file that the release was built from",
            )


def _check_division(release: Release) -> Found:
    """The training text and the pool against the corpus, divided again, if it is here."""
    inputs, name = release.manifest["inputs"], "division of the corpus"
    entry = inputs["corpus"]
    counts = entry["counts"]
    if counts["pairs"] != counts["train"] + counts["pool"] + counts["empty"]:
        return "the counts do not add up"
    paths = [release.input_path(file["path"]) for file in entry["files"]]
    files = [split_name(path)[0] for path in paths]
    if list(map(_hash_input, files)) != [file["sha256"] for file in entry["files"]]:
        return [Check(name, None, "the corpus is not here")]
    corpus = CorpusSpec(tuple(paths), tuple(entry["columns"]) if entry["columns"] else None)
    settings = entry["settings"]
    with tempfile.TemporaryDirectory() as folder:
        division = divide(
            corpus,
            release.languages,
            Path(folder),
            share=settings["pool_share"],
            document=settings["document"],
        )
        for side, spec in (("train", division.train), ("pool", division.pool)):
            recorded = inputs["train"] if side == "train" else inputs["pool"][0]
            hashes = [file["sha256"] for file in recorded["files"]]
            if list(map(hash_file, spec.files)) != hashes:
                return f"{side}: other pairs than those of the corpus divided again"
        same = dict(division.counts) == counts
    return "" if same else "other counts than those of the corpus divided again"


def _check_ensemble(release: Release) -> Iterator[Check]:
    """The members published by the build: still those of this release, or of a later build?"""
    folder = release.ensemble
    if (
        release.until == "candidates"
        or "ensemble" in release.manifest["inputs"]
        or not os.path.lexists(folder)
    ):
        return
    steps = [
        release.step(MEMBER.format(index)) for index in range(int(release.configuration["members"]))
    ]
    members = [step for step in steps if step]
    if len(members) < len(steps):
        yield Check(
            "ensemble", None, "the members' steps are not in the workspace: nothing to compare with"
        )
    else:
        same = holds_members(folder, members)
        yield Check(
            "ensemble",
            same,
            "" if same else "not the members, unchanged, that selected this release",
        )


def _hash_input(path: Path) -> str | None:
    """The hash of an input if it can be read. Files of the system (/proc) may be endless."""
    try:
        if not path.is_file() or path.resolve().parts[:2] in (
            ("/", "proc"),
            ("/", "sys"),
            ("/", "dev"),
        ):
            return None
        return hash_file(path)
    except OSError:
        return None
