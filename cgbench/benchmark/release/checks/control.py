"""The control set: rows that match its text, no overlap with the test set, the same corpora, the
recorded balance.
"""

from collections import Counter
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.matching import LENGTHS, RAREST, balance, covariates_of
from cgbench.benchmark.release.checks.texts import check_rows
from cgbench.benchmark.release.manifest import CONTROL
from cgbench.benchmark.release.release import SIDES, Release


def check_control(release: Release) -> str:
    """Everything that a control set promises."""
    expected_size, rows = release.manifest["counts"]["control"], release.set_rows("control")
    sides = SIDES if release.has_text else ()
    texts = {side: release.set_lines("control", side, normalised=True) for side in sides}
    # As many rows and lines as the manifest says.
    sizes = {CONTROL: len(rows)} | {side: len(lines) for side, lines in texts.items()}
    for name, size in sizes.items():
        if size != expected_size:
            return f"{name}: {size:,} rows for {expected_size:,}"
    if problem := check_rows(release, "control"):
        return problem
    # No line twice, and none of the test set.
    for side, lines in texts.items():
        if shared := set(lines) & set(release.lines(side, normalised=True)):
            return f"{len(shared):,} lines of the {side} are also in the test set"
        if len(set(lines)) < len(lines):
            return f"a line of the {side} occurs twice"
    # From the corpora of the test set.
    test = release.split()
    if excess := Counter(row["pool"] for row in rows) - Counter(row["pool"] for row in test):
        return f"{excess.total():,} pairs too many from corpora with fewer test pairs"
    return _check_balance(release, test, rows)


def _check_balance(release: Release, test: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    """The recorded balance in lengths and rarest words, against the rows of both sets."""
    recorded = {row["covariate"]: row for row in release.manifest.get("balance", [])}
    names = [name for name in (*LENGTHS, *RAREST) if name in recorded]
    if not names:
        return ""
    columns = [
        {name: np.array([row[name] for row in set_rows]) for name in names}
        for set_rows in (test, rows)
    ]
    recomputed = balance(*map(covariates_of, columns))
    wrong = [str(row["covariate"]) for row in recomputed if row != recorded[row["covariate"]]]
    return f"balance of {', '.join(wrong)}: does not match the rows" if wrong else ""
