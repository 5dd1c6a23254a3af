"""What a release was built from, if it is still there: inputs, corpus and ensemble."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cgbench.benchmark.candidates.division import divide
from cgbench.benchmark.measure.overlap.corpus_counts import sums_of
from cgbench.benchmark.release.checks.common import Outcome
from cgbench.benchmark.release.manifest import Check
from cgbench.benchmark.release.release import Release
from cgbench.models.checkpoints import MEMBER, holds_members
from cgbench.steps import hash_file
from cgbench.text.formats import CorpusSpec
from cgbench.text.remote import is_address
from cgbench.text.streams import split_name

DIVISION = "division of the corpus"
"""The name of the check of :func:`check_division`."""


class _Input(NamedTuple):
    """A file that a release was built from."""

    role: str
    path: str
    sha256: str

    def hashed_path(self, release: Release) -> Path:
        """The file whose hash is recorded: of a folder of ``overlap``, its list of checksums."""
        path = split_name(release.input_path(self.path))[0]
        return sums_of(path) if self.role.startswith("known-from") else path

    @property
    def name(self) -> str:
        """The file in a result, without its column."""
        return self.path if is_address(self.path) else str(split_name(self.path)[0])


def _inputs_of(manifest: dict[str, Any]) -> Iterator[_Input]:
    """All inputs that a manifest lists."""
    inputs = manifest["inputs"]
    corpora = [("train", inputs["train"])]
    corpora += [(role, corpus) for role in ("pool", "exclude") for corpus in inputs[role]]
    entries = [(role, entry) for role, corpus in corpora for entry in corpus["files"]]
    entries += [("corpus", entry) for entry in inputs.get("corpus", {}).get("files", [])]
    entries += [("lm", inputs["lm"])] if "lm" in inputs else []
    entries += [("difficulty", entry) for entry in inputs.get("difficulty", [])]
    known_from = inputs.get("known_from", {})
    entries += [(f"known-from {side}", entry) for side, entry in known_from.items()]
    for role, entry in entries:
        yield _Input(role, entry["path"], entry["sha256"])


def check_inputs(release: Release) -> Iterator[Check]:
    """The inputs, if they are still here; a release is complete without them."""
    for file in _inputs_of(release.manifest):
        name = f"{file.role} {file.name}"
        sha256 = _hash_input(file.hashed_path(release))
        if sha256 is None:
            yield Check(name, None, "not here")
        elif sha256 == file.sha256:
            yield Check(name, True)
        else:
            yield Check(name, False, "not the file that the release was built from")


def check_division(release: Release) -> Outcome:
    """The training text and the pool against the corpus, divided again, if it is here."""
    inputs = release.manifest["inputs"]
    entry = inputs["corpus"]
    counts, settings = entry["counts"], entry["settings"]
    if counts["pairs"] != counts["train"] + counts["pool"] + counts["empty"]:
        return "the counts do not add up"
    # The corpus is here, unchanged.
    paths = [release.input_path(file["path"]) for file in entry["files"]]
    hashes = [_hash_input(split_name(path)[0]) for path in paths]
    if hashes != [file["sha256"] for file in entry["files"]]:
        return [Check(DIVISION, None, "the corpus is not here")]
    # Divided again, both sides have the recorded bytes.
    corpus = CorpusSpec(tuple(paths), tuple(entry["columns"]) if entry["columns"] else None)
    with tempfile.TemporaryDirectory() as folder:
        division = divide(
            corpus,
            release.languages,
            Path(folder),
            share=settings["pool_share"],
            document=settings["document"],
        )
        recorded = {"train": inputs["train"], "pool": inputs["pool"][0]}
        for name, side in (("train", division.train), ("pool", division.pool)):
            expected = [file["sha256"] for file in recorded[name]["files"]]
            if list(map(hash_file, side.files)) != expected:
                return f"{name}: other pairs than those of the corpus divided again"
    if dict(division.counts) != counts:
        return "other counts than those of the corpus divided again"
    return ""


def check_ensemble(release: Release) -> Iterator[Check]:
    """The members published by the build: still those of this release, or of a later build?"""
    has_other_members = "ensemble" in release.manifest["inputs"]
    if release.until == "candidates" or has_other_members or not os.path.lexists(release.ensemble):
        return
    member_count = int(release.configuration["members"])
    steps = [release.step(MEMBER.format(index)) for index in range(member_count)]
    members = [step for step in steps if step]
    if len(members) < len(steps):
        reason = "the members' steps are not in the workspace: nothing to compare with"
        yield Check("ensemble", None, reason)
    elif holds_members(release.ensemble, members):
        yield Check("ensemble", True)
    else:
        yield Check("ensemble", False, "not the members, unchanged, that selected this release")


def _hash_input(path: Path) -> str | None:
    """The hash of an input if it can be read. Files of the system (/proc) may be endless."""
    try:
        system_folders = (("/", "proc"), ("/", "sys"), ("/", "dev"))
        if not path.is_file() or path.resolve().parts[:2] in system_folders:
            return None
        return hash_file(path)
    except OSError:
        return None
