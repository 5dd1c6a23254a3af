"""Train one model into a checkpoint folder: text, subwords, model; finished steps are not
repeated.
"""

import contextlib
import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

from cgbench.argument_types import as_path
from cgbench.errors import InputError, argument, check_installed
from cgbench.locks import locked
from cgbench.models.checkpoints import (
    CONFIG,
    METRICS,
    STATE,
    member_summary,
    open_tensors,
    pairs_in_use,
    read_config,
)
from cgbench.models.config.architectures import OUTSIDE, check_lexicon
from cgbench.models.config.presets import Preset
from cgbench.models.devices import choose_device
from cgbench.models.external.start import Start
from cgbench.models.training.request import TrainRequest, begin, planned_texts
from cgbench.request import accepts
from cgbench.steps import NEW, STEPS, Step, Workspace, check_folder
from cgbench.text.corpus import ParallelText, PlannedText


@accepts(TrainRequest)
def train(request: TrainRequest) -> dict[str, Any]:
    """Train one model of any architecture by any method, or resume.

    Processes of ``torchrun`` share the work; only one at a time prepares the text and the subwords.

    :returns: the output of ``cgbench train --format json`` (docs/reference/formats.md); empty with
        ``dry_run``.
    :raises InputError: an input, a setting or the folder is invalid.
    """
    return train_from(*begin(request), request)


def train_from(preset: Preset, outside: Start | None, request: TrainRequest) -> dict[str, Any]:
    """Implement :func:`train` with a resolved start."""
    check_installed("torch")
    from cgbench.models.text.subwords import Subwords
    from cgbench.models.training.reproducible import resolve_precision
    from cgbench.models.training.trainer import train_model

    # Check everything that can be checked before the text is read.
    out, device = request.folder, choose_device(request.device)
    has_validation = request.valid is not None
    preset = resolve_precision(preset if has_validation else preset.without_validation(), device)
    check_folder(out)
    check_whole(preset, outside)
    if outside and request.subwords:
        raise InputError(
            f"{argument('subwords')}: an external model has its own tokeniser; leave it out"
        )
    lexicon = request.lexicon_path
    check_lexicon(preset.model, lexicon)
    for name, content in (("ensemble.json", "an ensemble"), ("manifest.json", "a release")):
        if (out / name).is_file():
            raise InputError(
                f"{out}: contains {content}; choose another folder with {argument('out')}"
            )
    known = None if request.subwords is None else as_path(request.subwords)
    if known:
        Subwords.load(known)  # refuse damaged ones before reading the text
    # Plan the steps; a dry run only prints them.
    train_text, valid_text = planned_texts(request)
    engine = request.execution.tasks.workers
    step = None if known else subwords_step(preset, train_text, outside)
    workspace = Workspace(out / STEPS, request.execution.tasks.say)
    if request.execution.dry_run:
        if step:
            workspace.say(workspace.why(step))
        _check_earlier(out, preset, request.seed)
        workspace.say(f"train: {_state(out, preset)}")
        return {}
    # Run them; of several processes, only the first locks the workspace.
    with locked(workspace.root / "lock", wait=False) if is_first() else contextlib.nullcontext():
        text = train_text.realise(workspace, engine)
        valid_plain = valid_text.realise(workspace, engine) if valid_text else None
        known = known or learn_subwords(workspace, step, text, preset, outside)
        workspace.say(f"train: {_state(out, preset)}")
        finished = train_model(
            (text.source.path, text.target.path),
            (valid_plain.source.path, valid_plain.target.path) if valid_plain else None,
            known,
            preset,
            request.seed,
            out,
            device,
            digests=text.hashes,
            max_seconds=cast("float | None", request.max_seconds),
            init=outside,
            lexicon=lexicon,
        )
    return run_summary(out, finished)


def subwords_step(preset: Preset, train: PlannedText, init: Start | None) -> Step | None:
    """The step that learns subwords; None for a whole external model.

    :param init: the external model, whose tokeniser encodes the source if it is the encoder.
    """
    if init and init.is_whole:
        return None
    inputs = {"train": train.identity} | ({"tokenizer": init.planned.vocabulary} if init else {})
    return Step("subwords", asdict(preset.text), inputs)


def learn_subwords(
    workspace: Workspace, step: Step | None, text: ParallelText, preset: Preset, init: Start | None
) -> Path | None:
    """Run :func:`subwords_step`; the folder of the subwords."""

    def learn(out: Path) -> None:
        from cgbench.models.text.subwords import Subwords

        source, target = text.source.path, text.target.path
        learned = (
            init.learn(target, preset.text) if init else Subwords.learn(source, target, preset.text)
        )
        learned.save(out)

    return workspace.run(step, learn) if step else None


def check_whole(preset: Preset, outside: Start | None) -> None:
    """Check that a preset for pre-trained weights has an external model."""
    needed = preset.model.architecture in OUTSIDE or getattr(
        preset.model, "pretrained_encoder", False
    )
    if needed and outside is None:
        raise InputError(
            f"model {preset.name or preset.model.architecture}: needs the weights of an external"
            f" model: {argument('init', 'hf:ID@REVISION')} or {argument('init', 'hf:FOLDER')}"
        )


def is_first() -> bool:
    """Whether this is the first process of a distributed training, which prints."""
    return int(os.environ.get("RANK", "0")) == 0


def run_summary(out: Path, finished: bool = True) -> dict[str, Any]:
    """Summarise a training run.

    :param finished: whether the run is finished; if not, a shorter run's model may exist.
    :returns: ``finished``; ``updates`` of the kept parameters; ``trained``: all updates; ``loss``:
        last training loss; ``validation``: of the kept parameters, or the last; ``pairs``: of both
        sets, those in use and all; ``parameters``.
    """
    reports = [
        json.loads(line) for line in (out / METRICS).read_text(encoding="utf-8").splitlines()
    ]
    result: dict[str, Any] = {"out": str(out), "finished": finished}
    state = _updates_of_state(out)
    if finished:
        config, member = read_config(out), member_summary(out)
        # If a longer run has begun here, the log is truncated and the state is ahead of the model.
        trained = (
            reports[-1]["update"] if state is None else min(state, config.training.max_updates)
        )
        result |= {"trained": trained} | {
            key: member[key] for key in ("seed", "updates", "parameters")
        }
    else:
        result["trained"] = result["updates"] = state
    result["pairs"] = pairs_in_use(out)
    result["loss"] = next((row["loss"] for row in reversed(reports) if "loss" in row), None)
    validations = [
        row for row in reports if "valid_loss" in row and row["update"] <= result["updates"]
    ]
    metrics = validations[-1] if validations else {}
    result["validation"] = {
        key.removeprefix("valid_"): metrics[key]
        for key in sorted(metrics)
        if key.startswith("valid_")
    }
    return result


def _updates_of_state(out: Path) -> int | None:
    if not (out / STATE).is_file():
        return None
    with open_tensors(out / STATE) as state:
        return int(json.loads(state.metadata()["text"])["update"])


def _check_earlier(out: Path, preset: Preset, seed: int) -> None:
    """Refuse a folder with a run of other settings, as far as they are known before the text is
    read.
    """
    from cgbench.models.training.state import check_state
    from cgbench.models.training.trainer import is_finished

    known: dict[str, Any] = {
        "preset": preset.name,
        "seed": seed,
        "model": preset.model,
        "training": preset.training,
        "method": preset.method,
    }
    if (out / CONFIG).is_file():
        is_finished(out, replace(read_config(out), updates=0, **known))
    else:
        sections = {name: asdict(known[name]) for name in ("model", "training", "method")}
        check_state(out, {**known, **sections})


def _state(out: Path, preset: Preset) -> str:
    if (out / CONFIG).is_file():
        old, new = read_config(out).training.max_updates, preset.training.max_updates
        return (
            "kept (the model is trained)"
            if old >= new
            else f"resumes (from {old:,} updates to {new:,})"
        )
    return "resumes (an earlier run was stopped)" if (out / METRICS).is_file() else NEW
