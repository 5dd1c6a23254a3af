"""One build, from its folder to its release: what ``cgbench build-react`` calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgbench.benchmark.react import Inputs, build_react, plan_react
from cgbench.benchmark.react_config import ReactConfig
from cgbench.benchmark.release import write_release, write_timings
from cgbench.errors import InputError
from cgbench.models.training.ensemble import member_folders
from cgbench.settings import did_you_mean
from cgbench.steps import STEPS, Workspace, check_folder, locked


def build(
    inputs: Inputs,
    config: ReactConfig,
    out: Path,
    *,
    until: str = "release",
    jobs: int = 1,
    device: str = "cpu",
    dry_run: bool = False,
    say: Callable[[str], None] | None = None,
) -> tuple[dict[str, Any], Any] | None:
    """Build a release in ``out``, or go on with one. Returns its manifest and the :class:`KnownNgrams` it used.

    :param until: ``candidates``, ``uncertainty`` (neither selects) or ``release``.
    :param say: receives a line a step that says why it runs or is kept. With ``dry_run`` nothing else happens, and
        None is returned.
    :raises InputError: the inputs, the settings or the folder are wrong; nothing is left half-written.
    """
    from cgbench.benchmark.known_ngrams import KnownNgrams, preload

    check_folder(out)
    if not dry_run:
        threading.Thread(target=preload, daemon=True).start()  # while the inputs are hashed
    if until != "candidates":
        check_measure(config.uncertainty)
    if inputs.ensemble and until != "candidates":
        config = replace(config, members=len(member_folders(inputs.ensemble)))
    plan = plan_react(inputs, config, device, until)
    workspace = Workspace(out / STEPS, say)
    if dry_run:
        for step in plan.steps:
            workspace.say(workspace.why(step))
        return None
    with locked(workspace.root / "lock", wait=False):
        built = build_react(plan, workspace, jobs=jobs)
        manifest = write_release(built, out, workspace.root / "release")
        write_timings(workspace, built, out)
    return manifest, KnownNgrams.load(built.ngrams / "ngrams")


def check_measure(name: str) -> None:
    """Check the measure that selects before any model is trained.

    :raises InputError: there is no such measure.
    """
    from cgbench.models.uncertainty import SEQUENCE_MEASURES

    if name not in SEQUENCE_MEASURES:
        raise InputError(f"uncertainty: unknown measure {name}{did_you_mean(name, SEQUENCE_MEASURES)}")
