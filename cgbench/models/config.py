"""What a model is made of and how it is trained, as plain immutable data; presets are YAML files beside this one.

A preset names one model, one training recipe and one way to cut words into subwords. Every field can be replaced by
its dotted name (``training.max_updates``), with the same names in YAML, on the command line and in a checkpoint.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, TypeVar, get_type_hints

from cgbench.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a model; two models with equal configurations and vocabularies have the same parameters.

    :param positions: ``sinusoidal`` (Vaswani et al. 2017) or ``relative`` (Huang et al. 2020, one table a layer).
    :param max_relative_position: P; distances are clipped to ±(P-1).
    :param norm: ``pre`` (normalise the input of each sublayer, and the output of each stack) or ``post``.
    :param scale_embeddings: multiply word embeddings by the square root of the width.
    :param normalize_embeddings: divide each word embedding by its length when it is initialised.
    """

    architecture: str = "transformer"
    encoder_layers: int = 6
    decoder_layers: int = 6
    width: int = 512
    feedforward_width: int = 1024
    attention_heads: int = 4
    positions: str = "sinusoidal"
    max_relative_position: int = 16
    norm: str = "post"
    dropout: float = 0.3
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    scale_embeddings: bool = True
    normalize_embeddings: bool = False

    def __post_init__(self) -> None:
        for name in ("encoder_layers", "decoder_layers", "width", "feedforward_width", "attention_heads"):
            _check(getattr(self, name) >= 1, "model", name, getattr(self, name), "at least 1")
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            _check(0 <= getattr(self, name) < 1, "model", name, getattr(self, name), "at least 0 and below 1")
        _check_choice("model", "positions", self.positions, ("sinusoidal", "relative"))
        _check_choice("model", "norm", self.norm, ("pre", "post"))
        _check(self.max_relative_position >= 1, "model", "max_relative_position", self.max_relative_position, ">= 1")
        _check(
            self.width % self.attention_heads == 0,
            "model",
            "attention_heads",
            self.attention_heads,
            f"a divisor of model.width ({self.width})",
        )
        if self.positions == "sinusoidal":
            _check(
                self.width % 2 == 0 and self.width >= 4, "model", "width", self.width, "even for sinusoidal positions"
            )


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained. Lengths count subwords and the end token; an update is one step of the optimiser.

    :param learning_rate: the highest rate, reached after ``warmup_updates``.
    :param schedule: how it falls then: ``inverse_sqrt``, with 1/sqrt(update) (Vaswani et al., 2017), or ``linear``, to
        nothing at the last update, which gets more out of a short run.
    :param weight_decay: decoupled, times the learning rate (AdamW; what fairseq's Adam does).
    :param clip_norm: largest norm of the gradient, 0 for no limit.
    :param max_tokens: largest rows x longest side of a batch; ``accumulation`` such batches make an update.
    :param max_length: a pair with a longer side is left out.
    :param keep: the final model: ``best`` by validation loss, or ``last``.
    :param threads: threads on a CPU; part of the recipe because it decides the order of floating-point sums.
    :param precision: of matrix products: ``float32``, ``bfloat16``, or ``auto`` (bfloat16 where the device multiplies
        it in hardware).
    """

    max_updates: int = 100_000
    learning_rate: float = 5e-4
    schedule: str = "inverse_sqrt"
    warmup_updates: int = 4000
    adam_beta1: float = 0.9
    adam_beta2: float = 0.98
    weight_decay: float = 1e-4
    label_smoothing: float = 0.1
    clip_norm: float = 0.0
    max_tokens: int = 4096
    accumulation: int = 1
    max_length: int = 256
    validate_every: int = 2000
    checkpoint_every: int = 1000
    log_every: int = 100
    keep: str = "best"
    threads: int = 1
    precision: str = "auto"

    def __post_init__(self) -> None:
        for name in (
            "max_updates",
            "max_tokens",
            "accumulation",
            "validate_every",
            "checkpoint_every",
            "log_every",
            "threads",
        ):
            _check(getattr(self, name) >= 1, "training", name, getattr(self, name), "at least 1")
        _check(self.learning_rate > 0, "training", "learning_rate", self.learning_rate, "above 0")
        _check(self.max_length >= 2, "training", "max_length", self.max_length, "at least 2")
        for name in ("warmup_updates", "weight_decay", "clip_norm"):
            _check(getattr(self, name) >= 0, "training", name, getattr(self, name), "at least 0")
        for name in ("label_smoothing", "adam_beta1", "adam_beta2"):
            _check(0 <= getattr(self, name) < 1, "training", name, getattr(self, name), "at least 0 and below 1")
        _check(
            self.max_length <= self.max_tokens,
            "training",
            "max_length",
            self.max_length,
            f"at most training.max_tokens ({self.max_tokens})",
        )
        _check_choice("training", "schedule", self.schedule, ("inverse_sqrt", "linear"))
        _check_choice("training", "keep", self.keep, ("best", "last"))
        _check_choice("training", "precision", self.precision, ("auto", "float32", "bfloat16"))


@dataclass(frozen=True)
class TextConfig:
    """How words become subwords: ``merges`` merge operations of joint byte pair encoding."""

    merges: int = 10_000

    def __post_init__(self) -> None:
        _check(self.merges >= 0, "text", "merges", self.merges, "at least 0")


@dataclass(frozen=True)
class Preset:
    """A model, its training and its subwords under one name."""

    name: str
    model: ModelConfig
    training: TrainingConfig
    text: TextConfig

    def replace(self, changes: Mapping[str, Any]) -> Preset:
        """Return a copy with fields replaced by dotted name; strings are read by the type of the field.

        :raises InputError: an unknown name (with the nearest known one) or a value that does not fit.
        """
        sections: dict[str, dict[str, Any]] = {name: {} for name in _SECTIONS}
        for key, value in changes.items():
            section, _, field = key.partition(".")
            if section not in _SECTIONS or not field:
                raise _unknown(key, _all_keys())
            sections[section][field] = value
        return dataclasses.replace(
            self,
            **{
                section: _build(_SECTIONS[section], section, {**to_dict(getattr(self, section)), **fields})
                for section, fields in sections.items()
                if fields
            },
        )


_SECTIONS: dict[str, Any] = {"model": ModelConfig, "training": TrainingConfig, "text": TextConfig}


def list_presets() -> list[str]:
    """Return the names of the presets, sorted."""
    files = resources.files("cgbench.models").joinpath("presets").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def load_preset(name: str) -> Preset:
    """Read a preset by name.

    :raises InputError: there is no such preset.
    """
    import yaml

    if name not in (names := list_presets()):
        raise InputError(f"unknown model preset {name!r}{_nearest(name, names)}; presets: {', '.join(names)}")
    text = resources.files("cgbench.models").joinpath("presets", f"{name}.yaml").read_text(encoding="utf-8")
    data = yaml.safe_load(text) or {}
    if unknown := sorted(data.keys() - _SECTIONS.keys()):
        raise _unknown(unknown[0], list(_SECTIONS))
    return Preset(name, **{key: _build(kind, key, data.get(key) or {}) for key, kind in _SECTIONS.items()})


def to_dict(config: Any) -> dict[str, Any]:
    """Return a configuration as a dictionary of plain values."""
    return dataclasses.asdict(config)


def model_config(values: Mapping[str, Any]) -> ModelConfig:
    """Return the :class:`ModelConfig` that a checkpoint stored.

    :raises InputError: an unknown field, or a value that does not fit.
    """
    return _build(ModelConfig, "model", values)


def training_config(values: Mapping[str, Any]) -> TrainingConfig:
    """Return the :class:`TrainingConfig` that a checkpoint stored (errors as :func:`model_config`)."""
    return _build(TrainingConfig, "training", values)


def _build(kind: type[T], section: str, values: Mapping[str, Any]) -> T:
    hints = get_type_hints(kind)
    for key in values:
        if key not in hints:
            raise _unknown(f"{section}.{key}", _all_keys())
    return kind(**{key: _read(f"{section}.{key}", value, hints[key]) for key, value in values.items()})


def _read(key: str, value: Any, kind: type) -> Any:
    """Return ``value`` as ``kind``; a string is parsed, so that the command line and YAML mean the same."""
    text = str(value).strip().lower()
    try:
        if kind is bool:
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text]
        if kind is int:
            if isinstance(value, bool):
                raise ValueError
            return int(text.replace("_", ""))
        if kind is float:
            number = float(text)
            if number != number or number in (float("inf"), float("-inf")):
                raise ValueError
            return number
    except (KeyError, ValueError):
        kinds = {bool: "true or false", int: "a whole number", float: "a number"}
        raise InputError(f"{key}={value}: must be {kinds[kind]}") from None
    return str(value)


def _all_keys() -> list[str]:
    return [f"{section}.{field.name}" for section, kind in _SECTIONS.items() for field in dataclasses.fields(kind)]


def _unknown(key: str, known: list[str]) -> InputError:
    return InputError(f"unknown setting {key!r}{_nearest(key, known)}")


def _nearest(key: str, known: list[str]) -> str:
    # A forgotten section is the likeliest slip, so the last part alone counts as well.
    by_field = {name.rpartition(".")[2]: name for name in known}
    near = difflib.get_close_matches(key, known, n=1) or [
        by_field[field] for field in difflib.get_close_matches(key.rpartition(".")[2], list(by_field), n=1)
    ]
    return f"; did you mean {near[0]!r}?" if near else ""


def _check(good: bool, section: str, name: str, value: Any, rule: str) -> None:
    if not good:
        raise InputError(f"{section}.{name}={value}: must be {rule}")


def _check_choice(section: str, name: str, value: str, choices: tuple[str, ...]) -> None:
    _check(value in choices, section, name, value, f"one of {', '.join(choices)}")
