"""Check a release or a split: its checksums, its counts, and the selection, redrawn from the
candidates' measures.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from cgbench.argument_types import AnyRelease, Folder
from cgbench.benchmark.release.checks import candidates, control, files, inputs, splits, texts
from cgbench.benchmark.release.checks.common import Outcome
from cgbench.benchmark.release.manifest import MANIFEST, Check, Findings
from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError, MissingPackageError, missing_package
from cgbench.request import KW_ONLY, Request, accepts, option

_UNREADABLE = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, InputError)

NamedCheck: TypeAlias = tuple[str, Callable[[Release], Outcome]]


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
        findings += _results(name, check, release)
    return findings


def check_verified(release: Release) -> None:
    """:raises InputError: the release does not pass :func:`verify`."""
    if failed := verify(release).failed:
        first = f"{failed[0].name}{': ' if failed[0].detail else ''}{failed[0].detail}"
        count = f" ({len(failed)} checks fail)" if len(failed) > 1 else ""
        raise InputError(
            f"{release.folder}: does not pass verify: {first}{count}; see cgbench verify"
        )


def _checks(release: Release) -> Iterator[NamedCheck]:
    """The checks of such a release, in the order in which they are printed."""
    yield MANIFEST, files.check_manifest
    for name in sorted(release.manifest["files"]):
        yield name, partial(files.check_file, name)
    yield "files", files.check_files
    if release.is_split:
        yield "counts", splits.check_sets
        yield "tables", splits.check_sets_tables
        yield "metadata", files.check_croissant
        return
    yield "counts", candidates.check_counts
    yield "statistics", candidates.check_statistics
    yield "text", texts.check_text
    yield "pair measures", candidates.check_pair_measures
    yield "correlations", candidates.check_correlations
    yield "tables", texts.check_tables
    yield "metadata", files.check_croissant
    if release.keeps_normalised and release.has_text:
        yield texts.ORIGINALS, texts.check_originals
    if release.finished:
        yield "split rows", texts.check_rows
        yield "split redrawn", candidates.check_split
        yield "inclusion and strata", candidates.check_draws
        if release.configuration.get("control"):
            yield "control set", control.check_control
    if "corpus" in release.manifest["inputs"]:
        yield inputs.DIVISION, inputs.check_division
    yield "inputs", inputs.check_inputs
    yield "ensemble", inputs.check_ensemble


def _results(name: str, check: Callable[[Release], Outcome], release: Release) -> list[Check]:
    """The results of one check, also if the release cannot be read."""
    try:
        outcome = check(release)
        return [Check(name, not outcome, outcome)] if isinstance(outcome, str) else list(outcome)
    except (MissingPackageError, ModuleNotFoundError) as error:
        missing = error if isinstance(error, MissingPackageError) else missing_package(error)
        if missing is None:
            raise
        return [Check(name, None, missing.message)]
    except _UNREADABLE as error:
        return [Check(name, False, f"cannot be read ({error})")]
