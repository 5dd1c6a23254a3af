"""What is looked at before a release leaves the house: is it in order, and may it be passed on?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.verify import verify
from cgbench.errors import InputError, InputWarning, argument


def check_in_order(release: Release, force: bool = False) -> None:
    """Check that a release passes ``verify``.

    :param force: say what differs, and go on.
    :raises InputError: it does not.
    """
    failed = verify(release).failed
    if not failed:
        return
    first = f"{failed[0].name}{': ' if failed[0].detail else ''}{failed[0].detail}"
    more = f" ({len(failed)} checks differ)" if len(failed) > 1 else ""
    said = f"{release.folder}: does not pass verify: {first}{more}"
    if not force:
        raise InputError(f"{said}; mend it, or go on all the same with {argument('force')}")
    warnings.warn(InputWarning(said), stacklevel=3)


def check_licence(manifest: Mapping[str, Any]) -> None:
    """Warn where nobody has stated a licence."""
    if not manifest.get("licence"):
        warnings.warn(
            InputWarning(
                "no licence of the inputs is stated; find out what their owners allow, and build again with "
                f"{argument('licence')}"
            ),
            stacklevel=3,
        )
