"""Train the members of an ensemble: the same model and data, one seed and one step each, which is never run twice."""

from __future__ import annotations

import functools
import os
import shutil
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cgbench.engines import FAILED, Engine, Local, Needs, saying_where
from cgbench.errors import InputError, InputWarning, argument, require
from cgbench.files import atomic_path, link_or_copy, sync_folder
from cgbench.locks import locked
from cgbench.models.checkpoints import (
    BESIDE,
    BEST,
    CONFIG,
    ENSEMBLE,
    MEMBER,
    STATE,
    holds_members,
    member_folders,
    member_summary,
    publish_ensemble,
    read_config,
    read_tensors,
)
from cgbench.models.config.common import LENGTH, to_dict
from cgbench.models.config.lexical import check_lexicon
from cgbench.models.config.presets import Preset
from cgbench.models.devices import choose_device
from cgbench.models.external.start import Start
from cgbench.models.training.held_out import PARTS, hold_out, texts_in
from cgbench.models.training.launcher import train_together
from cgbench.models.training.request import Beginning, EnsembleRequest, begin, planned_texts
from cgbench.models.training.single import check_whole, learn_subwords, subwords_step
from cgbench.progress import bar
from cgbench.requests import accepts
from cgbench.steps import STEPS, Step, Workspace, check_folder, hash_file
from cgbench.text.corpus import ParallelText, PlannedText


@dataclass(frozen=True)
class EnsemblePlan:
    """The steps of an ensemble before any has run: subwords, and a member per seed (``seed``, ``seed + 1``, ...)."""

    preset: Preset
    device: str
    subwords: Step | None  # of a model from outside there are none to learn
    members: tuple[Step, ...]
    lexicon: Path | None = None
    held_out: Step | None = None  # validation pairs are a part of the training text
    init: Start | None = None  # the model from outside that all members start from
    processes: int = 1  # that train a member together

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, in order."""
        return (*(step for step in (self.subwords, self.held_out) if step), *self.members)


def plan_ensemble(
    preset: Preset,
    train: PlannedText,
    valid: PlannedText | None,
    members: int,
    seed: int,
    device: str,
    lexicon: Path | None = None,
    held_out: str | None = None,
    init: Start | None = None,
    processes: int = 1,
) -> EnsemblePlan:
    """The steps that train ``members`` models of ``preset``.

    :param lexicon: what source words stand for, where the model reads a file.
    :param held_out: how much of ``train`` is validated on and not trained on (:func:`.held_out.hold_out`).
    :param init: the model from outside that all start from.
    :param processes: that train a member together, a GPU each where ``device`` is ``cuda``. Their number decides the
        last bits of sums, and how random numbers are drawn.
    :raises InputError: a lexicon is there and not needed, or needed and not there; what validates is not installed.
    """
    from cgbench.models.training.reproducible import resolve_precision

    check_whole(preset, init)
    check_lexicon(preset.model, lexicon)
    precision = resolve_precision(preset.training.precision, device)  # what "auto" means depends on the machine
    subwords = subwords_step(preset, train, init)
    inputs = {"train": train.identity}
    if subwords:
        inputs["subwords"] = subwords.key
    if init:
        inputs["init"] = init.key
    if valid:
        inputs["valid"] = valid.identity
    division = Step("held-out", {"valid": held_out}, {"train": train.identity}) if held_out else None
    if division:
        inputs["held-out"] = division.key
        if preset.training.validate_metric == "bleu":
            require("sacrebleu", "scores")
    if lexicon:
        inputs["lexicon"] = hash_file(lexicon)
    # With this schedule every rate depends on the number of updates: a longer run begins at the start.
    grows = None if preset.training.schedule == "linear" else (LENGTH, STATE)
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
                **({"processes": processes} if processes > 1 else {}),
            },
            inputs=inputs,
            grows=grows,
        )
        for number in range(members)
    )
    return EnsemblePlan(preset, device, subwords, steps, lexicon, division, init, processes)


def train_members(
    workspace: Workspace, plan: EnsemblePlan, train: ParallelText, valid: ParallelText | None, engine: Engine
) -> list[Path]:
    """Run the steps of ``plan`` that are not done, side by side, and return the members' folders.

    A member is trained by one worker, or by as many processes as the plan says, with a fixed number of threads: the
    engine changes no byte.

    :raises InputError: called by torchrun, whose processes would all train the same members; no machine has what a
        member needs.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError(
            f"members of an ensemble are trained side by side with {argument('jobs')}, not with torchrun; several "
            f"processes per member are {argument('gpus_per_member')}"
        )

    warn_of_length(workspace, plan)
    pending = [step for step in plan.members if not workspace.done(step)]
    needs = member_needs(plan.device, plan.processes)
    if pending:
        engine.check_fits(needs)
    subwords = learn_subwords(workspace, plan.subwords, train, plan.preset, plan.init)
    texts: tuple[Path, Path] | None = (train.source.path, train.target.path)
    valid_texts = (valid.source.path, valid.target.path) if valid else None
    if division := plan.held_out:
        parts = workspace.run(division, lambda out: hold_out(train, str(division.config["valid"]), out))
        texts, valid_texts = (texts_in(parts, part) for part in PARTS)
    for step in plan.members:
        if step not in pending:
            workspace.say(workspace.why(step))
    for step in pending:
        workspace.say(workspace.why(step))  # here, and not in the workers, which have no screen
    engine.share(workspace.root)
    tasks = [(workspace.root, step, plan, subwords, texts, valid_texts, train.hashes) for step in pending]
    elsewhere = bool(pending) and not engine.here  # members that this machine trains have bars of their own
    with (
        saying_where(engine, "members", workspace.say),
        bar(len(pending), "train members", "member", elsewhere) as shown,
    ):
        for _ in engine.run(_train_one, tasks, needs):
            shown.update()
    return [workspace.result(step) for step in plan.members]


def member_needs(device: str, processes: int = 1) -> Needs:
    """What the training of a member by so many processes needs, all of it of one machine."""
    return Needs(cores=processes, gpus=float(processes * (device == "cuda")))


def check_processes(number: int, asked: str, device: str) -> None:
    """Check how many GPUs a member was given.

    :param asked: the device as it was asked for; ``device``: what that is here.
    :raises InputError: there are none, and nobody said that processes on the CPU are meant.
    """
    if number > 1 and device == "cpu" and asked != "cpu":
        raise InputError(
            f"{argument('gpus_per_member', number)}: PyTorch sees no GPU here; with {argument('device', 'cpu')} a "
            f"member is trained by {number} processes on the CPU"
        )


def warn_of_length(workspace: Workspace, plan: EnsemblePlan) -> None:
    """Warn where members of fewer updates are there and can be no start, because of the schedule of the rates."""
    if plan.preset.training.schedule != "linear":
        return
    for step in plan.members:
        shorter = workspace.smaller(replace(step, grows=(LENGTH, CONFIG)))
        if shorter and not workspace.done(step):
            updates, before = step.config[LENGTH], read_config(shorter).training.max_updates
            text = (
                f"members of {before:,} updates are there, but with training.schedule=linear every rate depends on "
                f"that number: those of {updates:,} are trained from the start"
            )
            warnings.warn(InputWarning(text), stacklevel=2)
            return


def _train_one(
    root: Path,
    step: Step,
    plan: EnsemblePlan,
    subwords: Path | None,
    train: tuple[Path, Path],
    valid: tuple[Path, Path] | None,
    digests: dict[str, str],
) -> None:
    workspace = Workspace(root)
    title = f"member {plan.members.index(step) + 1} of {len(plan.members)}"

    def make(out: Path) -> None:
        if not (out / STATE).is_file() and (shorter := workspace.smaller(step)):
            _start_from(shorter, out)
        work = functools.partial(
            _train, train, valid, subwords, plan.preset, int(step.config["seed"]), out, plan.device,
            digests=digests, init=plan.init, lexicon=plan.lexicon, title=title,
        )  # fmt: skip
        if plan.processes == 1:
            work()
        else:
            train_together(work, (), count=plan.processes, device=plan.device, title=title, failed=root / FAILED)

    workspace.run(step, make, resumable=True, spare=(STATE, BEST))


def _train(*arguments: Any, **options: Any) -> bool:
    """Import torch where a process has its environment, and not where it unpickles what to do."""
    from cgbench.models.training.trainer import train_model

    return train_model(*arguments, **options)


def _start_from(shorter: Path, out: Path) -> None:
    """Bring a finished run of fewer updates to a folder, for :func:`train_model` to go on from; its state comes last.

    What is there is not written to but replaced: a second name does for it.
    """
    try:
        read_tensors(shorter / STATE)  # named where it is
    except InputError as error:
        raise InputError(f"{error.message}; remove it, and the training begins at the start") from None
    shutil.rmtree(out)
    left_out = shutil.ignore_patterns("step.json", STATE, ".*.tmp")
    shutil.copytree(shorter, out, copy_function=link_or_copy, ignore=left_out)
    with atomic_path(out / STATE) as temporary:
        link_or_copy(shorter / STATE, temporary)


@accepts(EnsembleRequest)
def train_ensemble(request: EnsembleRequest) -> list[dict[str, Any]]:
    """Train models that differ only in their seed, or resume: what ``cgbench train-ensemble`` does.

    :returns: a dict per member (``folder``, ``seed``, ``updates``, ``parameters``); empty with ``dry_run``.
    :raises InputError: an input, a setting or the folder is wrong.
    """
    return train_ensemble_from(begin_ensemble(request), request)


def begin_ensemble(request: EnsembleRequest) -> Beginning:
    """What the members start from; nothing is loaded.

    :raises InputError: as :func:`~cgbench.models.training.request.begin`, or it is a checkpoint.
    """
    if request.init is not None and not str(request.init).startswith("hf:"):
        raise InputError(
            f"{argument('init', str(request.init))}: members of an ensemble start from an external model: "
            "hf:ID@REVISION, hf:FOLDER"
        )
    return begin(request, "small")


def train_ensemble_from(begun: Beginning, request: EnsembleRequest) -> list[dict[str, Any]]:
    """:func:`train_ensemble`, of which it is known what it starts from."""
    out, device, processes = request.folder, choose_device(request.device), request.gpus_per_member
    check_processes(processes, request.device, device)
    check_folder(out)
    train_text, valid_text = planned_texts(request)
    engine = request.engine or Local(request.jobs)
    plan = plan_ensemble(
        begun.preset,
        train_text,
        valid_text,
        request.members,
        request.seed,
        device,
        request.lexicon_path,
        init=begun.outside,
        processes=processes,
    )
    workspace = Workspace(out / STEPS, request.say)
    if request.dry_run:
        warn_of_length(workspace, plan)
        for step in plan.steps:
            workspace.say(workspace.why(step))
        return []
    with locked(workspace.root / "lock", wait=False):
        text = train_text.realise(workspace, engine)
        valid_plain = valid_text.realise(workspace, engine) if valid_text else None
        publish_ensemble(train_members(workspace, plan, text, valid_plain, engine), out)
    return [member_summary(folder) for folder in member_folders(out)]


PUBLISHED = "ensemble.published"  # in the workspace: that folder is ours


def check_beside(workspace: Workspace) -> None:
    """Check, before any training, that :func:`publish_beside` may write its folder.

    :raises InputError: something is there that no build in this folder has made.
    """
    folder = workspace.root.parent / BESIDE
    if os.path.lexists(folder) and not (workspace.root / PUBLISHED).exists():
        raise InputError(
            f"{folder}: is not this build's, whose members would be published there; "
            f"move it away, or use it: {argument('ensemble', str(folder))}"
        )


def publish_beside(workspace: Workspace, members: list[Path]) -> Path:
    """Publish the results of member steps in the folder ``ensemble`` beside the workspace, unless they are there.

    The folder is there as a whole or not at all, by hard links where there are such; what users have put beside the
    members stays. Made on the workspace's disk: a full one leaves the folder as it was.
    """
    folder, old, new = workspace.root.parent / BESIDE, workspace.root / "ensemble.old", workspace.root / "ensemble.new"
    if not holds_members(folder, members):
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        publish_ensemble(members, new, link_or_copy)
        for made in (*(path for path in new.rglob("*") if path.is_dir()), new):
            sync_folder(made)
        (workspace.root / PUBLISHED).touch()
        if os.path.lexists(folder):
            _give_back(old, folder)  # of a call that was killed here
            folder.rename(old)
        new.rename(folder)
        sync_folder(folder.parent)
    _give_back(old, folder)
    return folder


def _give_back(old: Path, folder: Path) -> None:
    """Remove a folder that was replaced; what was not ours in it goes to ``folder``."""
    if old.is_dir() and not old.is_symlink():
        for path in old.iterdir():
            ours = path.name == ENSEMBLE or path.match(MEMBER.format("[0-9]*"))
            if not ours and not os.path.lexists(folder / path.name):
                path.rename(folder / path.name)
        shutil.rmtree(old)
    else:
        old.unlink(missing_ok=True)


def check_trained_on(ensemble: Path, train: ParallelText) -> None:
    """Check that ``ensemble`` was trained on ``train``: uncertainty relative to another corpus would mean nothing.

    :raises InputError: it was not, or its vocabulary cannot be that of this corpus.
    """
    for folder in member_folders(ensemble):
        digests = read_config(folder).corpus
        for side, text in (("source", train.source), ("target", train.target)):
            if digests.get(side) != text.sha256:
                raise InputError(
                    f"{folder}: this ensemble was trained on another {side} text than {text.path} (or one normalised "
                    f"in another way), so its vocabulary does not fit; train one with the same {argument('train')}, "
                    f"{argument('tokenize')} and {argument('lowercase')}, or leave {argument('ensemble')} out"
                )
