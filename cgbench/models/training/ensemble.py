"""Train the members of an ensemble: the same model and data, one seed each, each a step that is never run twice."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench.errors import InputError
from cgbench.files import write_json
from cgbench.models.config.common import to_dict
from cgbench.models.config.lexical import check_lexicon
from cgbench.models.config.presets import Preset
from cgbench.parallel import run_tasks
from cgbench.steps import STEPS, Step, Workspace, check_folder, hash_file, hash_value, locked
from cgbench.text.corpus import ParallelText, PlannedText, plan_text
from cgbench.text.formats import CorpusSpec
from cgbench.text.normalisation import Normalisation

MEMBER = "member-{}"


@dataclass(frozen=True)
class EnsemblePlan:
    """The steps of an ensemble before any has run: the subwords, and a member a seed (``seed``, ``seed + 1``, ...)."""

    preset: Preset
    device: str
    subwords: Step
    members: tuple[Step, ...]
    lexicon: Path | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, in order."""
        return (self.subwords, *self.members)


def plan_ensemble(
    preset: Preset,
    train: PlannedText,
    valid: PlannedText | None,
    members: int,
    seed: int,
    device: str,
    lexicon: Path | None = None,
) -> EnsemblePlan:
    """The steps that train ``members`` models of ``preset``.

    :param lexicon: what source words stand for, where the model reads a file.
    :raises InputError: a lexicon is there and not needed, or needed and not there.
    """
    from cgbench.models.training.reproducible import resolve_precision

    check_lexicon(preset.model, lexicon)
    precision = resolve_precision(preset.training.precision, device)  # what "auto" means depends on the machine
    subwords = Step("subwords", to_dict(preset.text), {"train": train.identity})
    inputs = {"train": train.identity, "subwords": subwords.key}
    if valid:
        inputs["valid"] = valid.identity
    if lexicon:
        inputs["lexicon"] = hash_file(lexicon)
    steps = tuple(
        Step(
            name=MEMBER.format(number),
            config={
                **{f"model.{key}": value for key, value in to_dict(preset.model).items()},
                **{f"training.{key}": value for key, value in to_dict(preset.training).items()},
                **{f"method.{key}": value for key, value in to_dict(preset.method).items()},
                "seed": seed + number,
                "device": device,
                "precision": precision,
            },
            inputs=inputs,
        )
        for number in range(members)
    )
    return EnsemblePlan(preset, device, subwords, steps, lexicon)


def train_ensemble(
    workspace: Workspace, plan: EnsemblePlan, train: ParallelText, valid: ParallelText | None, jobs: int
) -> list[Path]:
    """Run the steps of ``plan`` that are not done, ``jobs`` members at once, and return the members' folders.

    A member is trained by one worker with a fixed number of threads: the number of jobs changes no byte. On a GPU
    that is too fast for one small member, several jobs share it.

    :raises InputError: called by torchrun, whose processes would all train the same members.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError("members of an ensemble are trained side by side with --jobs, not with torchrun")
    from cgbench.models.text.subwords import Subwords

    def learn(out: Path) -> None:
        Subwords.learn(train.source.path, train.target.path, plan.preset.text).save(out)

    subwords = workspace.run(plan.subwords, learn)
    pending = [step for step in plan.members if not workspace.done(step)]
    for step in plan.members:
        if step not in pending:
            workspace.say(workspace.why(step))
    for step in pending:
        workspace.say(workspace.why(step))  # here, and not in the workers, which have no screen
    for _ in run_tasks(_train_one, [(workspace.root, step, plan, subwords, train, valid) for step in pending], jobs):
        pass
    return [workspace.result(step) for step in plan.members]


def _train_one(
    root: Path,
    step: Step,
    plan: EnsemblePlan,
    subwords: Path,
    train: ParallelText,
    valid: ParallelText | None,
) -> None:
    from cgbench.models.text.subwords import Subwords
    from cgbench.models.training.loop import train_member

    def make(out: Path) -> None:
        train_member(
            (train.source.path, train.target.path),
            (valid.source.path, valid.target.path) if valid else None,
            Subwords.load(subwords),
            plan.preset,
            int(step.config["seed"]),
            out,
            plan.device,
            digests=train.hashes,
            lexicon=plan.lexicon,
        )

    Workspace(root).run(step, make, resumable=True)


def build_ensemble(
    preset: Preset,
    train: CorpusSpec,
    valid: CorpusSpec | None,
    normalisation: Normalisation,
    out: Path,
    *,
    members: int,
    seed: int = 1,
    jobs: int = 1,
    gpu_jobs: int = 1,
    device: str = "cpu",
    lexicon: Path | None = None,
    dry_run: bool = False,
    say: Callable[[str], None] | None = None,
) -> list[dict[str, Any]]:
    """Train an ensemble into ``out``, or go on with one: what ``cgbench train-ensemble`` calls.

    Returns a dict a member (``folder``, ``seed``, ``updates``, ``parameters``); nothing with ``dry_run``.

    :param lexicon: what source words stand for, where the model reads a file.
    :param jobs: worker processes; ``gpu_jobs``: members that are trained at once where ``device`` is a GPU.
    :raises InputError: the inputs or the folder are wrong.
    """
    check_folder(out)
    train_text = plan_text("train", train, normalisation)
    valid_text = plan_text("valid", valid, normalisation) if valid else None
    plan = plan_ensemble(preset, train_text, valid_text, members, seed, device, lexicon)
    workspace = Workspace(out / STEPS, say)
    if dry_run:
        for step in plan.steps:
            workspace.say(workspace.why(step))
        return []
    with locked(workspace.root / "lock", wait=False):
        text = train_text.realise(workspace, jobs)
        valid_plain = valid_text.realise(workspace, jobs) if valid_text else None
        at_once = jobs if device == "cpu" else gpu_jobs
        publish_ensemble(train_ensemble(workspace, plan, text, valid_plain, at_once), out)
    return [member_summary(folder) for folder in member_folders(out)]


def member_summary(folder: Path) -> dict[str, Any]:
    """Return ``folder`` (its name), ``seed``, ``updates`` and number of ``parameters`` of a checkpoint."""
    from safetensors import safe_open

    from cgbench.models.checkpoints import read_config

    config = read_config(folder)
    with safe_open(folder / "model.safetensors", "np") as tensors:
        parameters = sum(math.prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
    return {"folder": folder.name, "seed": config.seed, "updates": config.updates, "parameters": parameters}


def publish_ensemble(members: list[Path], out: Path) -> None:
    """Copy trained members to ``out/member-0`` and so on; ``ensemble.json`` comes last and makes it whole."""
    for number, member in enumerate(members):
        folder = out / MEMBER.format(number)
        if folder.exists():
            shutil.rmtree(folder)
        shutil.copytree(member, folder, ignore=shutil.ignore_patterns("step.json"))
    for folder in out.glob(MEMBER.format("*")):
        if folder.is_dir() and folder.name not in {MEMBER.format(number) for number in range(len(members))}:
            shutil.rmtree(folder)
    write_json(out / "ensemble.json", {"format": 1, "members": [MEMBER.format(n) for n in range(len(members))]})


def member_folders(ensemble: Path) -> list[Path]:
    """The member folders of a trained ensemble; a single checkpoint is an ensemble of one.

    :raises InputError: there is none.
    """
    if (ensemble / "config.json").is_file():
        return [ensemble]
    name = re.compile(MEMBER.format("[0-9]+"))
    found = [folder for folder in ensemble.glob(MEMBER.format("*")) if folder.is_dir() and name.fullmatch(folder.name)]
    if not found:
        if (ensemble / "metrics.jsonl").is_file():
            raise InputError(f"{ensemble}: this model is not finished; give the command that trains it again")
        raise InputError(f"{ensemble}: no trained model in it; make one with cgbench train or train-ensemble")
    for folder in found:
        if not (folder / "config.json").is_file():
            raise InputError(f"{folder}: this member is not finished; give the command that trains it again")
    return sorted(found, key=lambda folder: int(folder.name.rpartition("-")[2]))


def ensemble_identity(ensemble: Path) -> str:
    """A hash of all bytes of an ensemble's members that decide what it answers."""
    return hash_value(
        [
            {
                path.name: hash_file(path)
                for path in sorted(folder.iterdir())
                if path.is_file() and path.name != "metrics.jsonl"
            }
            for folder in member_folders(ensemble)
        ]
    )


def check_trained_on(ensemble: Path, train: ParallelText) -> None:
    """Check that ``ensemble`` was trained on ``train``: uncertainty relative to another corpus would mean nothing.

    :raises InputError: it was not, or its vocabulary cannot be that of this corpus.
    """
    from cgbench.models.checkpoints import read_config

    for folder in member_folders(ensemble):
        digests = read_config(folder).corpus
        for side, text in (("source", train.source), ("target", train.target)):
            if digests.get(side) != text.sha256:
                raise InputError(
                    f"{folder}: this ensemble was trained on another {side} text than {text.path} (or one normalised "
                    "in another way), so its vocabulary does not fit; train one with the same --train, --tokenize "
                    "and --lowercase, or leave --ensemble out"
                )
