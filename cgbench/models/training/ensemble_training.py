"""Train the members of an ensemble: the same model and data, one seed and one workspace step per
member.
"""

import functools
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cgbench.engines import FAILED, Engine, Needs, saying_where
from cgbench.errors import InputError, argument, check_installed, warn
from cgbench.files import atomic_path, link_or_copy, sync
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
    pairs_in_use,
    publish_ensemble,
    read_config,
    read_tensors,
)
from cgbench.models.config.architectures import check_lexicon
from cgbench.models.config.common import LENGTH
from cgbench.models.config.presets import Preset
from cgbench.models.devices import choose_device
from cgbench.models.external.start import Start
from cgbench.models.training.held_out import PARTS, hold_out, texts_in
from cgbench.models.training.launcher import train_together
from cgbench.models.training.request import EnsembleRequest, begin, planned_texts
from cgbench.models.training.single import check_whole, learn_subwords, subwords_step
from cgbench.progress import bar, step_number
from cgbench.request import accepts
from cgbench.steps import STEPS, Step, Workspace, check_folder, hash_file, in_short
from cgbench.text.corpus import ParallelText, PlannedText


@dataclass(frozen=True)
class EnsemblePlan:
    """The steps of an ensemble: subwords, and one member per seed (``seed``, ``seed + 1``, ...)."""

    preset: Preset
    device: str
    subwords: Step | None  # None for a whole external model
    members: tuple[Step, ...]
    lexicon: Path | None = None
    held_out: Step | None = None  # holds out validation data from the training data
    init: Start | None = None  # the external model that all members start from
    processes: int = 1  # per member

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
    """Plan the steps that train ``members`` models of ``preset``.

    :param lexicon: the lexicon file of a model that reads one.
    :param held_out: how much of ``train`` to use as validation data instead
        (:func:`.held_out.hold_out`).
    :param init: the external model that all members start from.
    :param processes: per member, with one GPU each if ``device`` is ``cuda``. Their number changes
        rounding and the random numbers.
    """
    from cgbench.models.training.reproducible import resolve_precision

    check_whole(preset, init)
    check_lexicon(preset.model, lexicon)
    if not (valid or held_out):
        # Only to refuse what needs validation data: the settings in the steps' keys are as given.
        preset.without_validation()
    preset = resolve_precision(preset, device)
    subwords = subwords_step(preset, train, init)
    division = (
        Step("held-out", {"valid": held_out}, {"train": train.identity}) if held_out else None
    )
    keys = {
        "train": train.identity,
        "subwords": subwords and subwords.key,
        "init": init and init.key,
        "valid": valid and valid.identity,
        "held-out": division and division.key,
        "lexicon": lexicon and hash_file(lexicon),
    }
    inputs = {name: key for name, key in keys.items() if key}
    # With the linear schedule every rate depends on the number of updates, so a longer run starts
    # from scratch.
    grows = None if preset.training.schedule == "linear" else (LENGTH, STATE)
    sections = ("model", "training", "method")
    config = {
        f"{name}.{key}": value
        for name in sections
        for key, value in asdict(getattr(preset, name)).items()
    }
    config |= {"device": device} | ({"processes": processes} if processes > 1 else {})
    steps = tuple(
        Step(MEMBER.format(index), {**config, "seed": seed + index}, inputs, grows=grows)
        for index in range(members)
    )
    return EnsemblePlan(preset, device, subwords, steps, lexicon, division, init, processes)


def train_members(
    workspace: Workspace,
    plan: EnsemblePlan,
    train: ParallelText,
    valid: ParallelText | None,
    engine: Engine,
) -> list[Path]:
    """Run the unfinished steps of ``plan`` in parallel, and return the members' folders.

    One worker, or the planned number of processes, trains a member with a fixed number of threads,
    so the engine does not change the result.

    :raises InputError: called in torchrun, whose processes would all train the same members, or no
        machine has the resources for a member.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError(
            f"do not use torchrun for an ensemble: {argument('jobs')} trains its members in"
            f" parallel, and {argument('gpus_per_member')} uses several GPUs per member"
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
        folder = workspace.run(
            division, lambda out: hold_out(train, str(division.config["valid"]), out)
        )
        texts, valid_texts = (texts_in(folder, name) for name in PARTS)
    for step in sorted(plan.members, key=pending.__contains__):  # finished ones first
        workspace.say(workspace.why(step))  # workers have no terminal
    engine.share(workspace.root)
    train_member = functools.partial(
        _train,
        texts,
        valid_texts,
        subwords,
        plan.preset,
        device=plan.device,
        digests=train.hashes,
        init=plan.init,
        lexicon=plan.lexicon,
    )
    tasks = []
    for step in pending:
        title = f"member {plan.members.index(step) + 1} of {len(plan.members)}"
        if not engine.here and (bar_number := step_number(step.name)):
            title += f" ({bar_number})"
        tasks.append((workspace.root, step, train_member, title))
    elsewhere = bool(pending) and not engine.here  # local members have their own progress bars
    with (
        saying_where(engine, "members", workspace.say),
        bar(len(pending), "train members", "member", elsewhere) as progress_bar,
    ):
        for _ in engine.run(_train_one, tasks, needs):
            progress_bar.update()
    return [workspace.result(step) for step in plan.members]


def member_needs(device: str, processes: int = 1) -> Needs:
    """The resources for training a member with this number of processes, on one machine."""
    return Needs(cores=processes, gpus=processes * (device == "cuda"))


def check_processes(count: int, requested: str, device: str) -> None:
    """Check the number of GPUs per member.

    :param requested: the requested device; ``device``: the resolved one.
    :raises InputError: there is no GPU, and the CPU was not requested explicitly.
    """
    if count > 1 and device == "cpu" and requested != "cpu":
        raise InputError(
            f"{argument('gpus_per_member', count)}: PyTorch finds no GPU; with"
            f" {argument('device', 'cpu')}, {count} processes on the CPU train a member"
        )


def warn_of_length(workspace: Workspace, plan: EnsemblePlan) -> None:
    """Warn that shorter members cannot be extended because of their learning rate schedule."""
    if plan.preset.training.schedule != "linear":
        return
    for step in plan.members:
        if (
            shorter := workspace.smaller(replace(step, grows=(LENGTH, CONFIG)))
        ) and not workspace.done(step):
            text = (
                f"the existing members with {shorter.config[LENGTH]:,} updates cannot be extended,"
                " because with training.schedule=linear every rate depends on that number: those"
                f" with {step.config[LENGTH]:,} are trained from scratch"
            )
            warn(text)
            return


def _train_one(root: Path, step: Step, train_member: Callable[..., bool], title: str) -> None:
    workspace, processes = Workspace(root), step.config.get("processes", 1)

    def make(out: Path) -> None:
        if not (out / STATE).is_file() and (shorter := workspace.smaller(step)):
            _start_from(workspace.result(shorter), out)
        work = functools.partial(train_member, seed=step.config["seed"], out=out, title=title)
        if processes == 1:
            work()
        else:
            train_together(
                work,
                count=processes,
                device=step.config["device"],
                title=title,
                failed=root / FAILED,
            )

    workspace.run(step, make, resumable=True, spare=(STATE, BEST))


def _train(*arguments: Any, **options: Any) -> bool:
    """Train a model, importing torch only once the process's environment is set, not on
    unpickling.
    """
    from cgbench.models.training.trainer import train_model

    return train_model(*arguments, **options)


def _start_from(shorter: Path, out: Path) -> None:
    """Copy a finished shorter run to a folder, for :func:`train_model` to resume; its state comes
    last.

    Hard links suffice, because files are replaced, never modified.
    """
    try:
        read_tensors(shorter / STATE)  # so that an error names the original file
    except InputError as error:
        raise InputError(f"{error.message}; remove it to train from scratch") from None
    shutil.rmtree(out)
    left_out = shutil.ignore_patterns("step.json", STATE, ".*.tmp")
    shutil.copytree(shorter, out, copy_function=link_or_copy, ignore=left_out)
    with atomic_path(out / STATE) as temporary:
        link_or_copy(shorter / STATE, temporary)


@accepts(EnsembleRequest)
def train_ensemble(request: EnsembleRequest) -> list[dict[str, Any]]:
    """Train models that differ only in their seed, or resume.

    :returns: a dict per member (``folder``, ``seed``, ``updates``, ``parameters``, ``pairs``: of
        both sets, those in use and all); empty with ``dry_run``.
    :raises InputError: an input, a setting or the folder is invalid.
    """
    return train_ensemble_from(*begin(request, "small"), request)


def train_ensemble_from(
    preset: Preset, outside: Start | None, request: EnsembleRequest
) -> list[dict[str, Any]]:
    """Implement :func:`train_ensemble` with a resolved start."""
    check_installed("torch")
    out, device, processes = request.folder, choose_device(request.device), request.gpus_per_member
    check_processes(processes, request.device, device)
    check_folder(out)
    train_text, valid_text = planned_texts(request)
    engine = request.execution.tasks.workers
    plan = plan_ensemble(
        preset,
        train_text,
        valid_text,
        request.members,
        request.seed,
        device,
        request.lexicon_path,
        init=outside,
        processes=processes,
    )
    workspace = Workspace(out / STEPS, request.execution.tasks.say)
    if request.execution.dry_run:
        warn_of_length(workspace, plan)
        for line in in_short([workspace.why(step) for step in plan.steps]):
            workspace.say(line)
        return []
    with locked(workspace.root / "lock", wait=False):
        text = train_text.realise(workspace, engine)
        valid_plain = valid_text.realise(workspace, engine) if valid_text else None
        publish_ensemble(train_members(workspace, plan, text, valid_plain, engine), out)
    return [
        {**member_summary(folder), "pairs": pairs_in_use(folder)} for folder in member_folders(out)
    ]


PUBLISHED = "ensemble.published"  # in the workspace: marks the published folder as ours


def check_beside(workspace: Workspace) -> None:
    """Before training, check that :func:`publish_beside` may write its folder."""
    folder = workspace.root.parent / BESIDE
    if os.path.lexists(folder) and not (workspace.root / PUBLISHED).exists():
        raise InputError(
            f"{folder}: is in the way of this build's members; move it away, or use it with "
            f"{argument('ensemble', str(folder))}"
        )


def publish_beside(workspace: Workspace, members: list[Path]) -> Path:
    """Publish the results of member steps in the folder ``ensemble`` next to the workspace, if not
    done yet.

    The folder is replaced atomically, with hard links where possible; a user's own files in it are
    kept. It is prepared in the workspace, so a full disk leaves the old folder intact.
    """
    folder, old, new = (
        workspace.root.parent / BESIDE,
        workspace.root / "ensemble.old",
        workspace.root / "ensemble.new",
    )
    if not holds_members(folder, members):
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        publish_ensemble(members, new, link_or_copy)
        for path in (*new.rglob("*"), new):
            if path.is_dir():
                sync(path)
        (workspace.root / PUBLISHED).touch()
        if os.path.lexists(folder):
            _remove_old(old, folder)  # from a call that was killed here
            folder.rename(old)
        new.rename(folder)
        sync(folder.parent)
    _remove_old(old, folder)
    return folder


def _remove_old(old: Path, folder: Path) -> None:
    """Remove a replaced folder; a user's files in it move to ``folder``."""
    if old.is_dir() and not old.is_symlink():
        for path in old.iterdir():
            is_published = path.name == ENSEMBLE or path.match(MEMBER.format("[0-9]*"))
            if not is_published and not os.path.lexists(folder / path.name):
                path.rename(folder / path.name)
        shutil.rmtree(old)
    else:
        old.unlink(missing_ok=True)


def check_trained_on(ensemble: Path, train: ParallelText) -> None:
    """Check that ``ensemble`` was trained on ``train``; otherwise its uncertainty would be
    meaningless.
    """
    for folder in member_folders(ensemble):
        digests = read_config(folder).corpus
        for side, text in (("source", train.source), ("target", train.target)):
            if digests.get(side) != text.sha256:
                raise InputError(
                    f"{folder}: this ensemble was trained on another {side} text than {text.path},"
                    " or with other normalisation, so its vocabulary does not fit; train one with"
                    f" the same {argument('train')}, {argument('tokenize')} and"
                    f" {argument('lowercase')}, or leave out {argument('ensemble')}"
                )
