"""Presets, and configurations from names and values: a YAML file, ``--set key=value``, a checkpoint.

A preset names one model, one training recipe and one way to cut words into subwords; presets are YAML files under
``presets/``.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, TypeVar, get_type_hints

from cgbench.errors import InputError
from cgbench.models.architectures import ARCHITECTURES
from cgbench.models.config import ModelConfig, TextConfig, TrainingConfig, to_dict

T = TypeVar("T")


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
            **{section: self._changed(section, fields) for section, fields in sections.items() if fields},
        )

    def _changed(self, section: str, fields: Mapping[str, Any]) -> Any:
        values = to_dict(getattr(self, section))
        name = fields.get("architecture", values.get("architecture"))
        if section == "model" and name != self.model.architecture:
            # What the new architecture does not have is left behind; what it adds has its defaults.
            known = {field.name for field in dataclasses.fields(_model_kind(str(name)))}
            values = {key: value for key, value in values.items() if key in known}
        return _build(self._kind(section, name), section, {**values, **fields})

    def _kind(self, section: str, architecture: Any) -> Any:
        return _model_kind(str(architecture)) if section == "model" else _SECTIONS[section]


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
    parts = {key: _build(kind, key, data.get(key) or {}) for key, kind in _SECTIONS.items() if key != "model"}
    return Preset(name, model=model_config(data.get("model") or {}), **parts)


def model_config(values: Mapping[str, Any]) -> ModelConfig:
    """Return the :class:`ModelConfig` that a checkpoint stored.

    :raises InputError: an unknown field, or a value that does not fit.
    """
    return _build(_model_kind(str(values.get("architecture", "transformer"))), "model", values)


def _model_kind(architecture: str) -> type[ModelConfig]:
    """Return the class that configures an architecture.

    :raises InputError: there is no such architecture.
    """
    if architecture not in ARCHITECTURES:
        names = ", ".join(ARCHITECTURES)
        raise InputError(
            f"model.architecture={architecture}: unknown{_nearest(architecture, list(ARCHITECTURES))}; "
            f"architectures: {names}"
        )
    return ARCHITECTURES[architecture].config


def training_config(values: Mapping[str, Any]) -> TrainingConfig:
    """Return the :class:`TrainingConfig` that a checkpoint stored (errors as :func:`model_config`)."""
    return _build(TrainingConfig, "training", values)


def _build(kind: type[T], section: str, values: Mapping[str, Any]) -> T:
    hints = get_type_hints(kind)
    for key in values:
        if key not in hints:
            owners = [name for name, entry in ARCHITECTURES.items() if key in get_type_hints(entry.config)]
            if section == "model" and owners:
                raise InputError(
                    f"model.{key}: not a setting of architecture {values.get('architecture', 'transformer')}, "
                    f"but of {', '.join(owners)}"
                )
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
    kinds = [*_SECTIONS.items(), *(("model", entry.config) for entry in ARCHITECTURES.values())]
    return list(
        dict.fromkeys(f"{section}.{field.name}" for section, kind in kinds for field in dataclasses.fields(kind))
    )


def _unknown(key: str, known: list[str]) -> InputError:
    return InputError(f"unknown setting {key!r}{_nearest(key, known)}")


def _nearest(key: str, known: list[str]) -> str:
    # A forgotten section is the likeliest slip, so the last part alone counts as well.
    by_field = {name.rpartition(".")[2]: name for name in known}
    field = key.rpartition(".")[2]
    near = [by_field[field]] if field in by_field else difflib.get_close_matches(key, known, n=1)
    near = near or [by_field[name] for name in difflib.get_close_matches(field, list(by_field), n=1)]
    return f"; did you mean {near[0]!r}?" if near else ""
