"""Recompute some candidates of a release: degree, translation, and the measures of translation and reference.

Hashes and sums cannot show whether the measures were ever those of these texts and this ensemble. The check needs the
candidates' text, the known n-grams and the ensemble, which are in the workspace of the build and not in the release.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.pair_measures import REVERSE_LIKELIHOOD
from cgbench.benchmark.candidates.scan import content_of
from cgbench.benchmark.candidates.uncertainty import (
    candidate_lines,
    forget_ensemble,
    measure_reverse,
    measure_sources,
    read_uncertainty,
    search_settings,
    shard_size,
)
from cgbench.benchmark.release.manifest import Check
from cgbench.benchmark.release.release import SIDES, Release
from cgbench.engines import Local
from cgbench.errors import InputError
from cgbench.models.checkpoints import ensemble_identity, member_folders
from cgbench.models.external.addresses import parse_address
from cgbench.models.external.opening import plan_member
from cgbench.models.external.token_space import Measurement, measure_in_token_space

# Results are rounded differently in other batches, on other processors and with other versions of PyTorch. A relative
# change smaller than this does not change the selection in a way that matters.
RELATIVE, ABSOLUTE = 1e-3, 1e-5

Measure = Callable[[Sequence[str], Sequence[str]], list[dict[str, Any]]]
"""From sources and references to the rows of an uncertainty step."""


def recompute(release: Release, count: int) -> Iterator[Check]:
    """Recompute ``count`` unpredictable candidates and compare; a missing workspace is reported."""
    folder = release.step("candidates")
    if folder is None:
        missing = "the workspace (FOLDER.work) of this release is not here, or has since built another one"
        yield Check("recomputed", None, missing)
        return
    rows = release.table().to_pylist()
    chosen = sorted(random.SystemRandom().sample(range(len(rows)), min(count, len(rows))))
    texts = candidate_lines(folder)
    read = candidate_lines(folder, original=True) if reads_originals(release) else texts
    if any(len(lines) != len(rows) for lines in texts):
        yield Check("recomputed", False, f"{folder}: the number of candidates is not {len(rows):,}")
        return
    sample = RecomputedSample(release, rows, texts, read, chosen)
    yield sample.check_texts()
    yield sample.check_degrees()
    if release.until != "candidates":
        yield sample.check_uncertainty()
        if REVERSE_LIKELIHOOD in rows[0]:
            yield sample.check_reverse()


@dataclass(frozen=True)
class RecomputedSample:
    """Candidates to recompute: all rows of the table, their sources and targets as normalised and as the members
    ``read`` them, and the chosen rows."""

    release: Release
    rows: Sequence[dict[str, Any]]
    texts: Sequence[list[str]]
    read: Sequence[list[str]]
    chosen: Sequence[int]

    def check_texts(self) -> Check:
        """The text in the workspace against the hash of each pair."""
        hashes = content_of(*self._sides(self.chosen)).tolist()
        wrong = [row for row, content in zip(self.chosen, hashes, strict=True) if content != self.rows[row]["content"]]
        return self._result("text", wrong, "are other pairs in the workspace")

    def check_degrees(self) -> Check:
        """Pieces, length and degree."""
        ngrams = self.release.ngrams()
        if ngrams is None:
            return Check("degree recomputed", None, "the known n-grams are no longer in the workspace")
        side = self.release.configuration["degree_side"]
        pieces, lengths = ngrams.measure(self._sides(self.chosen)[SIDES.index(side)])
        wrong = [
            row
            for row, some, length in zip(self.chosen, pieces.tolist(), lengths.tolist(), strict=True)
            if [self.rows[row][key] for key in ("pieces", f"{side}_length", "degree")] != [some, length, some / length]
        ]
        return self._result("degree", wrong, "have another degree")

    def check_uncertainty(self) -> Check:
        """Translation and uncertainty, also of the reference."""
        release, rows = self.release, self.rows
        measure = _by_external(release) if release.manifest["inputs"].get("members") else _by_ensemble(release)
        if isinstance(measure, str):
            return Check("translation and uncertainty recomputed", None, measure)

        def differing(indices: Sequence[int]) -> list[int]:
            sources, references = ([lines[row] for row in indices] for lines in self.read)
            measured = measure(sources, references)
            return [row for row, values in zip(indices, measured, strict=True) if not _same(rows[row], values)]

        try:
            # Rounding differs between a single sentence and its shard, which may change a translation: check the shard.
            wrong = differing(self.chosen)
            shard = shard_size(len(rows))
            starts = sorted({row - row % shard for row in wrong})
            wrong = [
                row for start in starts for row in differing(range(len(rows))[start : start + shard]) if row in wrong
            ]
        finally:
            forget_ensemble()
        return self._result("translation and uncertainty", wrong, "have another translation or other measures")

    def check_reverse(self) -> Check:
        """Each pair separately: without a search, differences in rounding are within the tolerance."""
        members = _recorded_members(self.release, self.release.manifest["inputs"]["reverse_ensemble"])
        if isinstance(members, str):
            return Check("reverse likelihood recomputed", None, members)
        sources, targets = self._sides(self.chosen)
        try:
            measured = measure_reverse(members, targets, sources, device=_device(self.release))
        finally:
            forget_ensemble()
        pairs = zip(self.chosen, measured, strict=True)
        wrong = [row for row, values in pairs if not _same_measures(self.rows[row], values)]
        return self._result("reverse likelihood", wrong, "have other measures")

    def _sides(self, indices: Sequence[int]) -> list[list[str]]:
        return [[lines[row] for row in indices] for lines in self.texts]

    def _result(self, name: str, wrong: Sequence[int], difference: str) -> Check:
        if not wrong:
            return Check(f"{name} recomputed", True, f"{len(self.chosen):,} candidates")
        lines = ", ".join(f"{self.rows[row]['line']:,}" for row in wrong[:5])
        detail = f"{len(wrong):,} of {len(self.chosen):,} {difference} (pool lines {lines})"
        return Check(f"{name} recomputed", False, detail)


def reads_originals(release: Release) -> bool:
    """Whether the members of a build read the original text: external models do."""
    members = release.manifest["inputs"].get("members", [])
    return any(member["identity"]["kind"] != "cgbench" for member in members)


def _by_ensemble(release: Release) -> Measure | str:
    """The function that measures with the members of the ensemble, or why they cannot be used."""
    members = ensemble_members(release)
    if isinstance(members, str):
        return members
    search = {"beam": release.configuration["beam"], **search_settings(release.configuration)}
    return partial(measure_sources, members, device=_device(release), **search)


def _by_external(release: Release) -> Measure | str:
    """:func:`_by_ensemble` for external models: folders, and models in the hub's cache; nothing is downloaded."""
    recorded, names = release.manifest["inputs"]["members"], release.external_members()
    if len(names) != len(recorded):
        return "the workspace does not tell where the external models were; use cgbench uncertainty"
    members = []
    for name, record in zip(names, recorded, strict=True):
        identity = record["identity"]
        try:
            prompt = None if "prompt" in parse_address(name).options else identity.get("prompt")
            members.append(plan_member(name, prompt, fetch=False))
        except (InputError, OSError) as error:
            return f"the member {record['name']} cannot be opened ({error})"
        if dict(members[-1].identity) != identity:
            return f"{record['name']}: not the model of the build"
    search = {"beam": release.configuration["beam"], **search_settings(release.configuration)}

    def measure(sources: Sequence[str], references: Sequence[str] | None) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            work = Measurement(tuple(members), sources, None, references, _device(release), search)
            measure_in_token_space(work, Path(folder), Local(1))
            return read_uncertainty(Path(folder))

    return measure


def ensemble_members(release: Release) -> list[Path] | str:
    """The ensemble's members, or why they cannot be used."""
    if release.manifest["inputs"].get("members"):
        return "the members are external models, which are not opened here; use cgbench uncertainty"
    recorded = release.manifest["inputs"].get("ensemble")
    if not recorded:
        steps = [release.step(f"member-{index}") for index in range(int(release.configuration["members"]))]
        here = [folder for folder in steps if folder]
        return here if len(here) == len(steps) else "the ensemble's members are no longer in the workspace"
    return _recorded_members(release, recorded)


def _recorded_members(release: Release, recorded: dict[str, Any]) -> list[Path] | str:
    folder = release.input_path(str(recorded["path"]))
    try:
        if ensemble_identity(folder) != recorded["identity"]:
            return f"{folder}: not the ensemble of the build"
        return member_folders(folder)
    except (InputError, OSError) as error:
        return f"the ensemble is no longer at its recorded path ({error})"


def _device(release: Release) -> str:
    if release.manifest.get("device") != "cuda":
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _same(recorded: dict[str, Any], recomputed: dict[str, Any]) -> bool:
    measures = dict(recomputed)
    hypothesis = measures.pop("hypothesis")
    # A release without text has no hypotheses.
    return bool(recorded.get("hypothesis", hypothesis) == hypothesis) and _same_measures(recorded, measures)


def _same_measures(recorded: dict[str, Any], recomputed: dict[str, Any]) -> bool:
    if any(name not in recorded for name in recomputed):
        return False
    expected, values = (np.array([row[name] for name in recomputed], np.float64) for row in (recorded, recomputed))
    return bool(np.allclose(expected, values, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True))
