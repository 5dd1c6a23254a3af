"""The pairs of a release that no prompt and no training text may contain."""

from typing import Any

from cgbench.benchmark.release.manifest import MANIFEST
from cgbench.benchmark.release.release import SIDES, Release
from cgbench.errors import warn
from cgbench.text.formats import Pair
from cgbench.text.inputs import is_path
from cgbench.text.streams import is_stdin, split_name


def reserved_pairs(release: Release) -> list[Pair]:
    """The pairs of the test set, the control set and all candidates, original and normalised; of a
    split, those of its test set.

    :raises InputError: the release has no text.
    """
    pairs = []
    for normalised in (False, *([True] if release.keeps_normalised else [])):
        pairs += release.pairs(normalised=normalised)
        if release.has_control:
            pairs += release.pairs("control", normalised=normalised)
        if not release.is_split:
            candidates = [release.candidate_lines(side, normalised=normalised) for side in SIDES]
            if None in candidates and not normalised:
                warn(
                    f"{release.folder}: has no text of its candidates, so only test and control set"
                    " are left out"
                )
            pairs += zip(*(lines or [] for lines in candidates), strict=True)
    return pairs


def reserved_for(sources: Any) -> list[Pair]:
    """The :func:`reserved_pairs` of the release in the folder of ``sources``; none if there is no
    release.
    """
    if not is_path(sources) or is_stdin(sources):
        return []
    folder = split_name(sources)[0].parent
    for release in (folder, folder.parent):  # its tables are in a folder of their own
        if (release / MANIFEST).is_file():
            return reserved_pairs(Release.of(release))
    return []
