"""Requests for training one model or an ensemble, and what they start from."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from cgbench.argument_types import Bitext, File, Folder, Kind, Model, Name, as_path
from cgbench.errors import InputError, argument
from cgbench.models.config.presets import Preset, architecture_preset, load_preset
from cgbench.models.external.start import FINE_TUNING, Start, plan_start
from cgbench.request import KW_ONLY, Request, option
from cgbench.steps import STEPS, TaskOptions
from cgbench.text.corpus import PlannedText, plan_text
from cgbench.text.inputs import as_corpus
from cgbench.text.normalisation import PairOptions, TextAcceptance


def _seconds(value: Any) -> float | None:
    """The seconds of ``90m``, ``1h30m``, ``45`` or a number; None where it is no time."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    amount = "([0-9]{1,9}(?:[.][0-9]+)?)"
    match = re.fullmatch(
        f"(?:{amount}d)?(?:{amount}h)?(?:{amount}m)?(?:{amount}s?)?", str(value).strip()
    )
    amounts = zip(match.groups(), (86400, 3600, 60, 1), strict=True) if match else ()
    return sum(float(amount or 0) * unit for amount, unit in amounts) or None


Duration: TypeAlias = Annotated[
    float | str,
    Kind(
        "duration",
        "a time such as 90m, 1h30m or 45s",
        lambda value: _seconds(value) is not None,
        read=_seconds,
    ),
]
"""Seconds: a number, or words such as ``1h30m``."""


class ModelOptions(Request):
    """The model that is trained, besides its preset."""

    _: KW_ONLY
    arch: str | None = option(
        "--arch",
        metavar="NAME",
        default=None,
        help="Override the preset's architecture; without a preset, use its defaults",
        group="Model",
    )
    method: Name | None = option(
        "--method",
        metavar="NAME",
        default=None,
        help="Training method: none, seqmix, creg, bow or span_supervision",
        group="Model",
    )
    init: Model | None = option(
        "--init",
        default=None,
        help="Start from an external model, hf:ID@REVISION or hf:FOLDER",
        group="Model",
    )
    lexicon: File | None = option(
        "--lexicon",
        default=None,
        help="Lexicon, for a model with model.lexicon",
        group="Model",
    )


class TrainingExecution(Request):
    """How a training runs."""

    _: KW_ONLY
    explain: bool = option(
        "--set explain",
        default=False,
        help="Print for each step why it runs or is kept",
    )
    tasks: TaskOptions = option(default=TaskOptions(), help="Where tasks run (TaskOptions)")
    dry_run: bool = option(
        "--dry-run",
        default=False,
        help="Print the plan and write nothing",
        group="Execution",
    )


class TrainingOptions(Request):
    """What both are asked for."""

    open_field = "settings"
    settings_group = "Model"
    corpus: Bitext = option(
        "--train",
        help="Training corpus: two files, or one with both sides",
        group="Input",
    )
    out: Folder = option(
        "--out",
        help="Folder of the result and its finished steps",
        group="Output",
    )
    _: KW_ONLY
    valid: Bitext | None = option(
        "--valid",
        default=None,
        help="Validation corpus, which decides the best checkpoint",
        group="Input",
    )
    model: str | None = option(
        "--model",
        metavar="NAME",
        default=None,
        help="Model preset (see `cgbench models`)",
        group="Model",
    )
    seed: int = option(
        "--seed",
        default=1,
        help="Random seed; in an ensemble, of the first member",
        least=0,
        group="Model",
    )
    device: Literal["auto", "cpu", "cuda"] = option(
        "--device",
        default="auto",
        help="Device that runs the models",
        group="Execution",
    )
    text_options: PairOptions = option(
        default=PairOptions(),
        help="How text is read and normalised",
    )
    acceptance: TextAcceptance = option(
        default=TextAcceptance(), help="Whether wrong texts are read (TextAcceptance)"
    )
    model_options: ModelOptions = option(
        default=ModelOptions(),
        help="Architecture, method and start of the model",
    )
    execution: TrainingExecution = option(
        default=TrainingExecution(),
        help="Where training runs",
    )
    settings: Mapping[str, Any] | None = option(
        default=None,
        help="Settings of the model preset by dotted name, such as training.max_updates",
    )

    @property
    def folder(self) -> Path:
        """The folder of the result."""
        return as_path(self.out)

    @property
    def lexicon_path(self) -> Path | None:
        """The file of the lexicon."""
        lexicon = self.model_options.lexicon
        return None if lexicon is None else as_path(lexicon)


class TrainRequest(TrainingOptions):
    """What :func:`~cgbench.models.training.single.train` is asked for."""

    _: KW_ONLY
    subwords: Folder | None = option(
        "--set subwords",
        default=None,
        help="Use the subwords of this checkpoint",
    )
    max_seconds: Duration | None = option(
        "--max-time",
        default=None,
        help="Stop after this time; the same command resumes",
        unit="seconds",
        metavar="TIME",
        group="Execution",
    )


class EnsembleRequest(TrainingOptions):
    """What :func:`~cgbench.models.training.ensemble_training.train_ensemble` is asked for."""

    _: KW_ONLY
    members: int = option(
        "--members",
        default=4,
        help="Number of members to train, each with its own seed",
        least=1,
        group="Model",
    )
    gpus_per_member: int = option(
        "--set gpus_per_member",
        default=1,
        help="Number of GPUs that train one member together; processes on the CPU",
        least=1,
    )


def begin(request: TrainingOptions, default: str = "") -> tuple[Preset, Start | None]:
    """Resolve what a request starts from, a preset and perhaps an external model; nothing is
    loaded.

    :param default: the preset if the request names no preset, architecture or initial model.
    """
    options = request.model_options
    init = None if options.init is None else str(options.init)
    if init and not init.startswith("hf:"):
        raise InputError(
            f"{argument('init', init)}: not an external model; write hf:ID@REVISION or hf:FOLDER"
        )
    if request.model or options.arch:
        preset = (
            load_preset(request.model) if request.model else architecture_preset(str(options.arch))
        )
    elif init:
        preset = load_preset(FINE_TUNING)
    elif default:
        preset = load_preset(default)
    else:
        raise InputError(
            f"name a preset with {argument('model')} or an architecture with {argument('arch')};"
            " cgbench models lists them"
        )
    overrides = {"model.architecture": options.arch, "method.name": options.method}
    changes = {key: value for key, value in overrides.items() if value is not None}
    preset = preset.replace({**(request.settings or {}), **changes})
    if not init:
        return preset, None
    start, preset = plan_start(init, preset)
    return preset, start


def planned_texts(request: TrainingOptions) -> tuple[PlannedText, PlannedText | None]:
    """The training and validation data; warns if they differ, for example in tokenisation or
    case.

    :raises InputError: a text cannot be read, or its pairs are no pairs.
    """
    from cgbench.text.inspection import look_at, report

    lists = request.folder / STEPS / "texts"
    train = as_corpus(request.corpus, request.text_options.columns, "train", lists)
    valid = (
        None
        if request.valid is None
        else as_corpus(request.valid, request.text_options.columns, "valid", lists)
    )
    normalisation = request.text_options.normalisation_of(train)
    findings = look_at(train, [valid] if valid else [], normalisation)
    # A model may be trained on text of any form, but not on pairs that are none.
    pairs, forms = ([f for f in findings if f.of_pairs is of_pairs] for of_pairs in (True, False))
    report(pairs, accept=request.acceptance.accept_text)
    report(forms, accept=True)
    return plan_text("train", train, normalisation), (
        plan_text("valid", valid, normalisation) if valid else None
    )
