"""Train one model into a checkpoint folder: the text, the subwords, the model; each done once, however often called."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cgbench.errors import InputError
from cgbench.models.config.common import TextConfig, to_dict
from cgbench.models.config.lexical import check_lexicon
from cgbench.models.config.presets import Preset
from cgbench.models.training.ensemble import member_summary
from cgbench.steps import STEPS, Step, Workspace, check_folder, locked
from cgbench.text.corpus import plan_text
from cgbench.text.formats import CorpusSpec
from cgbench.text.normalisation import Normalisation


def train_single(
    preset: Preset,
    train: CorpusSpec,
    valid: CorpusSpec | None,
    normalisation: Normalisation,
    out: Path,
    *,
    seed: int = 1,
    jobs: int = 1,
    device: str = "cpu",
    subwords: Path | None = None,
    init: Path | None = None,
    lexicon: Path | None = None,
    max_seconds: float | None = None,
    tensorboard: bool = False,
    dry_run: bool = False,
    say: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Train a model into ``out``, or go on with one: what ``cgbench train`` calls.

    Several processes (``torchrun``) share the work; one of them at a time makes the text and the subwords.

    :param subwords: a folder with subwords to use; those of ``init`` if that is given, else they are learnt.
    :param init: a checkpoint whose parameters the model starts from.
    :param lexicon: what source words stand for, where the model reads a file.
    :param max_seconds: stop after about so long, with everything saved that the next call needs to go on.
    :return: :func:`summary`; nothing with ``dry_run``.
    :raises InputError: the inputs or the folder are wrong.
    """
    from cgbench.models.text.subwords import Subwords
    from cgbench.models.training.loop import train_member

    check_folder(out)
    check_lexicon(preset.model, lexicon, init)
    if (out / "ensemble.json").is_file():
        raise InputError(f"{out}: holds an ensemble; name another folder with --out")
    given = subwords or init
    known = Subwords.load(given) if given else None
    train_text = plan_text("train", train, normalisation)
    valid_text = plan_text("valid", valid, normalisation) if valid else None
    step = Step("subwords", to_dict(preset.text), {"train": train_text.identity})
    workspace = Workspace(out / STEPS, say)
    if dry_run:
        if not known:
            workspace.say(workspace.why(step))
        workspace.say(f"train: {_state(out)}")
        return {}
    alone = locked(workspace.root / "lock", wait=False) if is_first() else contextlib.nullcontext()
    with alone:
        text = train_text.realise(workspace, jobs)
        valid_plain = valid_text.realise(workspace, jobs) if valid_text else None
        if not known:

            def learn(folder: Path) -> None:
                Subwords.learn(text.source.path, text.target.path, preset.text).save(folder)

            known = Subwords.load(workspace.run(step, learn))
        workspace.say(f"train: {_state(out)}")
        train_member(
            (text.source.path, text.target.path),
            (valid_plain.source.path, valid_plain.target.path) if valid_plain else None,
            known,
            preset,
            seed,
            out,
            device,
            digests=text.hashes,
            max_seconds=max_seconds,
            tensorboard=tensorboard,
            init=init,
            lexicon=lexicon,
        )
    return summary(out)


def preset_of(checkpoint: Path) -> Preset:
    """Return the model, training and method of a checkpoint, to go on from it.

    :raises InputError: it is no checkpoint.
    """
    from cgbench.models.checkpoints import read_config

    config = read_config(checkpoint)
    return Preset(config.preset, config.model, config.training, TextConfig(), config.method)


def is_first() -> bool:
    """Whether this is the process that speaks, where several train together."""
    return int(os.environ.get("RANK", "0")) == 0


def summary(out: Path) -> dict[str, Any]:
    """Return what came of a training run.

    ``finished``; ``updates`` behind the parameters that are kept, ``trained``, all that were done; ``loss``, the last
    of training; ``validation``, what it said of the kept parameters, or last; ``parameters``.
    """
    from safetensors import safe_open

    from cgbench.models.checkpoints import METRICS
    from cgbench.models.training.state import STATE

    reports = [json.loads(line) for line in (out / METRICS).read_text(encoding="utf-8").splitlines()]
    finished = (out / "config.json").is_file()
    result: dict[str, Any] = {"out": str(out), "finished": finished}
    if finished:
        member = member_summary(out)
        result |= {"trained": reports[-1]["update"]} | {key: member[key] for key in ("seed", "updates", "parameters")}
    else:
        with safe_open(out / STATE, "np") as state:
            result["trained"] = result["updates"] = json.loads(state.metadata()["text"])["update"]
    result["loss"] = next((row["loss"] for row in reversed(reports) if "loss" in row), None)
    validations = [row for row in reports if "valid_loss" in row and row["update"] <= result["updates"]]
    kept = validations[-1] if validations else {}
    result["validation"] = {key.removeprefix("valid_"): kept[key] for key in sorted(kept) if key.startswith("valid_")}
    return result


def _state(out: Path) -> str:
    if (out / "config.json").is_file():
        return "kept (the model is trained)"
    return "goes on (an earlier run was stopped)" if (out / "metrics.jsonl").is_file() else "runs (no earlier result)"
