"""Train one model into a checkpoint folder: the text, the subwords, the model; each done once, however often called."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgbench.arguments import check_flag, check_number
from cgbench.arguments import check_whole as check_whole_number  # a model that is whole is another matter here
from cgbench.engines import Engine, Local
from cgbench.errors import InputError, argument
from cgbench.locks import locked
from cgbench.models.checkpoints import CONFIG, METRICS, STATE, member_summary, read_config
from cgbench.models.config.common import TextConfig, to_dict
from cgbench.models.config.lexical import check_lexicon
from cgbench.models.config.outside import OUTSIDE
from cgbench.models.config.presets import Preset
from cgbench.models.external.start import Start, needs_encoder
from cgbench.steps import STEPS, Step, Workspace, check_folder
from cgbench.text.corpus import ParallelText, PlannedText, plan_text
from cgbench.text.formats import CorpusSpec, language_suffixes
from cgbench.text.inputs import AnyPath, Corpus, as_corpus
from cgbench.text.normalisation import Normalisation


def train(
    corpus: Corpus,
    out: AnyPath,
    *,
    model: str | None = None,
    arch: str | None = None,
    method: str | None = None,
    valid: Corpus | None = None,
    columns: tuple[str, str] | None = None,
    languages: tuple[str, str] | None = None,
    tokenize: str = "none",
    detokenize: bool = False,
    lowercase: bool = False,
    seed: int = 1,
    device: str = "auto",
    max_seconds: float | None = None,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Train one model into the folder ``out``, or resume: what ``cgbench train`` does.

    :param corpus: the training text: a file with both sides (``columns``), or two, ``(source, target)``; ``valid``: the
        validation text, by which the best checkpoint is kept.
    :param model: a model preset (``cgbench models``); ``arch``: an architecture; ``method``: a training method.
    :param max_seconds: stop after about this time; the next call resumes.
    :param settings: changes of the preset: ``{"training.max_updates": 500}``.
    :returns: what ``cgbench train --format json`` prints (docs/formats.md).
    :raises InputError: an input, a setting or the folder is wrong.
    """
    from cgbench.models.config.presets import architecture_preset, load_preset
    from cgbench.models.devices import choose_device

    check_whole_number(0, seed=seed)
    check_number(0, max_seconds=max_seconds)
    check_flag(detokenize=detokenize, lowercase=lowercase)
    if model is None and arch is None:
        raise InputError(f"name a preset with {argument('model')} or an architecture with {argument('arch')}")
    preset = load_preset(model) if model else architecture_preset(str(arch))
    named = {"model.architecture": arch, "method.name": method}
    changes = {**(settings or {}), **{key: value for key, value in named.items() if value is not None}}
    spec = as_corpus(corpus, columns)
    pair = languages or language_suffixes(spec) or ("source", "target")
    return train_single(
        preset.replace(changes),
        spec,
        as_corpus(valid, columns) if valid is not None else None,
        Normalisation(tokenize, lowercase, pair, detokenize),
        Path(out),
        seed=seed,
        device=choose_device(device),
        max_seconds=max_seconds,
    )


def train_single(
    preset: Preset,
    train: CorpusSpec,
    valid: CorpusSpec | None,
    normalisation: Normalisation,
    out: Path,
    *,
    seed: int = 1,
    engine: Engine | None = None,
    device: str = "cpu",
    subwords: Path | None = None,
    init: Path | Start | None = None,
    lexicon: Path | None = None,
    max_seconds: float | None = None,
    dry_run: bool = False,
    say: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Train a model into ``out``, or go on with one: what ``cgbench train`` calls.

    Several processes (``torchrun``) share the work; one of them at a time makes the text and the subwords.

    :param engine: where the text is tokenised side by side (default: in this process).
    :param subwords: a folder with subwords to use; those of ``init`` if that is given, else they are learned.
    :param init: a checkpoint whose parameters the model starts from, or a whole model from outside.
    :param lexicon: what source words stand for, where the model reads a file.
    :param max_seconds: stop after about so long, with everything saved that the next call needs to go on.
    :returns: :func:`summary`; nothing with ``dry_run``.
    :raises InputError: the inputs or the folder are wrong.
    """
    from cgbench.models.text.subwords import Subwords
    from cgbench.models.training.trainer import train_model

    check_folder(out)
    outside = init if isinstance(init, Start) else None
    checkpoint = None if isinstance(init, Start) else init
    if checkpoint is None:
        check_whole(preset, outside)
    if outside and subwords:
        raise InputError("--subwords: a model from outside has a tokeniser of its own; leave the option out")
    check_lexicon(preset.model, lexicon, checkpoint)
    if (out / "ensemble.json").is_file():
        raise InputError(f"{out}: holds an ensemble; name another folder with --out")
    if (out / "manifest.json").is_file():
        raise InputError(f"{out}: holds a release; name another folder with --out")
    known = subwords or checkpoint
    if known:
        Subwords.load(known)  # damaged ones are refused before the text is read
    train_text = plan_text("train", train, normalisation)
    valid_text = plan_text("valid", valid, normalisation) if valid else None
    engine = engine or Local(1)
    step = None if known else subwords_step(preset, train_text, outside)
    workspace = Workspace(out / STEPS, say)
    if dry_run:
        if step:
            workspace.say(workspace.why(step))
        _check_settings(out, preset, seed, valid)
        workspace.say(f"train: {_state(out, preset)}")
        return {}
    alone = locked(workspace.root / "lock", wait=False) if is_first() else contextlib.nullcontext()
    with alone:
        text = train_text.realise(workspace, engine)
        valid_plain = valid_text.realise(workspace, engine) if valid_text else None
        known = known or learn_subwords(workspace, step, text, preset, outside)
        workspace.say(f"train: {_state(out, preset)}")
        finished = train_model(
            (text.source.path, text.target.path),
            (valid_plain.source.path, valid_plain.target.path) if valid_plain else None,
            known,
            preset,
            seed,
            out,
            device,
            digests=text.hashes,
            max_seconds=max_seconds,
            init=init,
            lexicon=lexicon,
        )
    return summary(out, finished)


def preset_of(checkpoint: Path) -> Preset:
    """Return the model, training and method of a checkpoint, to go on from it.

    :raises InputError: it is no checkpoint.
    """
    config = read_config(checkpoint)
    if config.model.architecture in OUTSIDE:
        raise InputError(f"--init {checkpoint}: is a Hugging Face model, trained further; write --init hf:{checkpoint}")
    return Preset(config.preset, config.model, config.training, TextConfig(), config.method)


def subwords_step(preset: Preset, train: PlannedText, init: Start | None) -> Step | None:
    """The step that learns subwords; None where there are none to learn, with a whole model from outside.

    :param init: the model from outside; over its encoder, its tokeniser reads the source.
    """
    if init and init.whole:
        return None
    inputs = {"train": train.identity} | ({"tokenizer": init.planned.vocabulary} if init else {})
    return Step("subwords", to_dict(preset.text), inputs)


def learn_subwords(
    workspace: Workspace, step: Step | None, text: ParallelText, preset: Preset, init: Start | None
) -> Path | None:
    """Run :func:`subwords_step`; the folder of the subwords."""

    def learn(out: Path) -> None:
        from cgbench.models.text.subwords import Subwords

        source, target = text.source.path, text.target.path
        learned = init.learn(target, preset.text) if init else Subwords.learn(source, target, preset.text)
        learned.save(out)

    return workspace.run(step, learn) if step else None


def check_whole(preset: Preset, outside: Start | None) -> None:
    """Check that a model that is not ours, or whose encoder is not, has something to start from.

    :raises InputError: it has not.
    """
    if outside is None and (preset.model.architecture in OUTSIDE or needs_encoder(preset)):
        raise InputError(
            f"model {preset.name or preset.model.architecture}: its weights come from a model: --init hf:ID@REVISION "
            "or --init hf:FOLDER"
        )


def is_first() -> bool:
    """Whether this is the process that speaks, where several train together."""
    return int(os.environ.get("RANK", "0")) == 0


def summary(out: Path, finished: bool = True) -> dict[str, Any]:
    """Return what came of a training run.

    :param finished: whether it is; a shorter run's model may be there all the same.

    ``finished``; ``updates`` behind the parameters that are kept, ``trained``, all that were done; ``loss``, the last
    of training; ``validation``, what it said of the kept parameters, or last; ``parameters``.
    """
    reports = [json.loads(line) for line in (out / METRICS).read_text(encoding="utf-8").splitlines()]
    result: dict[str, Any] = {"out": str(out), "finished": finished}
    state = _updates_of_state(out)
    if finished:
        config, member = read_config(out), member_summary(out)
        # A longer run that has begun here has cut the log, and its state is further.
        trained = reports[-1]["update"] if state is None else min(state, config.training.max_updates)
        result |= {"trained": trained} | {key: member[key] for key in ("seed", "updates", "parameters")}
    else:
        result["trained"] = result["updates"] = state
    result["loss"] = next((row["loss"] for row in reversed(reports) if "loss" in row), None)
    validations = [row for row in reports if "valid_loss" in row and row["update"] <= result["updates"]]
    kept = validations[-1] if validations else {}
    result["validation"] = {key.removeprefix("valid_"): kept[key] for key in sorted(kept) if key.startswith("valid_")}
    return result


def _updates_of_state(out: Path) -> int | None:
    """Updates behind the state that a run goes on from; None where there is none."""
    from safetensors import safe_open

    if not (out / STATE).is_file():
        return None
    with safe_open(out / STATE, "np") as state:
        return int(json.loads(state.metadata()["text"])["update"])


def _check_settings(out: Path, preset: Preset, seed: int, valid: CorpusSpec | None) -> None:
    """Check as much of a trained model as is known before the text is read."""
    if not (out / CONFIG).is_file():
        return
    from cgbench.models.training.trainer import is_finished

    training = preset.training if valid else replace(preset.training, keep="last")
    known = replace(read_config(out), updates=0, preset=preset.name, seed=seed, model=preset.model, training=training)
    is_finished(out, replace(known, method=preset.method))


def _state(out: Path, preset: Preset) -> str:
    if (out / CONFIG).is_file():
        there, here = read_config(out).training.max_updates, preset.training.max_updates
        return "kept (the model is trained)" if there >= here else f"goes on (from {there:,} updates to {here:,})"
    return "goes on (an earlier run was stopped)" if (out / METRICS).is_file() else "runs (no earlier result)"
