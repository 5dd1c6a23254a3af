"""Presets, and configurations from names and values: a YAML file, ``--set key=value``, a checkpoint.

A preset names one model, one training recipe and one way to cut words into subwords; presets are YAML files under
``presets/``. A file that begins ``base: other`` says only what differs from that preset.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, TypeVar

from cgbench.errors import InputError
from cgbench.models.config.architectures import ARCHITECTURES, added_architectures
from cgbench.models.config.common import MethodConfig, ModelConfig, TextConfig, TrainingConfig, to_dict
from cgbench.models.config.methods import METHODS, check_method
from cgbench.models.config.outside import OUTSIDE
from cgbench.settings import did_you_mean, load_yaml, make_settings, unknown_setting

T = TypeVar("T")


@dataclass(frozen=True)
class Preset:
    """A model, its training and its subwords under one name.

    :param method: what is minimised in training.
    :param paper: where the numbers are from; ``vocabulary``: sizes of its source and target dictionaries, specials
        included. Both are for people: nothing is computed from them.
    """

    name: str
    model: ModelConfig
    training: TrainingConfig
    text: TextConfig
    method: MethodConfig = field(default_factory=MethodConfig)
    paper: str = ""
    vocabulary: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        check_method(self.model, self.method)

    def replace(self, changes: Mapping[str, Any]) -> Preset:
        """Return a copy with fields replaced by dotted name; strings are read by the type of the field.

        :raises InputError: an unknown name (with the nearest known one) or a value that does not fit.
        """
        sections: dict[str, dict[str, Any]] = {name: {} for name in _SECTIONS}
        for key, value in changes.items():
            section, _, field = key.partition(".")
            if section not in _SECTIONS or not field:
                raise unknown_setting(key, _all_keys())
            sections[section][field] = value
        return dataclasses.replace(
            self,
            **{section: self._changed(section, fields) for section, fields in sections.items() if fields},
        )

    def _changed(self, section: str, fields: Mapping[str, Any]) -> Any:
        before = getattr(self, section)
        values = to_dict(before)
        kind = _kind(section, {**values, **fields})
        if kind is not type(before):
            # What the new architecture or method does not have is left behind; what it adds has its defaults.
            values = {key: value for key, value in values.items() if key in _names(kind)}
        return _build(kind, section, {**values, **fields})


_SECTIONS: dict[str, Any] = {
    "model": ModelConfig,
    "training": TrainingConfig,
    "text": TextConfig,
    "method": MethodConfig,
}
# Sections of which one setting decides what the others are, and the table of its values.
_FAMILIES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "model": ("architecture", {**ARCHITECTURES, **OUTSIDE}),
    "method": ("name", METHODS),
}
_NOTES = ("paper", "vocabulary")
# Settings of 0.1, with the value that every model of today has.
_REMOVED: dict[str, dict[str, Any]] = {
    "r_dangle": {
        "key_scale": 1.0,
        "value_scale": 1.0,
        "static_layers": 0,
        "keep_history": False,
        "causal_target": False,
        "random_interval": False,
    },
    "proto_transformer": {"prototype_restarts": 10, "prototype_iterations": 100},
    "lrf": {"residual": True},
    "dlcl": {"initial": "average"},
}


def list_presets() -> list[str]:
    """Return the names of the presets, sorted."""
    files = resources.files("cgbench.models.config").joinpath("presets").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def load_preset(name: str) -> Preset:
    """Read a preset by name.

    :raises InputError: there is no such preset.
    """
    if name not in (names := list_presets()):
        raise InputError(f"unknown model preset {name!r}{did_you_mean(name, names)}")
    data = with_bases(name, _read_file)
    if unknown := sorted(data.keys() - _SECTIONS.keys() - set(_NOTES)):
        raise unknown_setting(unknown[0], [*_SECTIONS, *_NOTES])
    parts = {key: _build(_kind(key, data.get(key) or {}), key, data.get(key) or {}) for key in _SECTIONS}
    sizes = data.get("vocabulary")
    vocabulary = (int(sizes["source"]), int(sizes["target"])) if sizes else None
    return Preset(name, paper=data.get("paper", ""), vocabulary=vocabulary, **parts)


def with_bases(name: str, read: Callable[[str], Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the file of a preset says, over what the preset says that it names as its ``base``, and so on.

    :param read: returns what one file says.
    :raises InputError: a base leads back to itself.
    """
    names, files = [name], [dict(read(name))]
    while base := files[-1].pop("base", None):
        if base in names:
            raise InputError(f"model preset {name}: its bases never end: {', '.join([*names, base])}")
        names.append(base)
        files.append(dict(read(base)))
    result: dict[str, Any] = {}
    for data in reversed(files):
        for key, value in data.items():
            result[key] = {**result.get(key, {}), **value} if isinstance(value, Mapping) else value
    return result


def _read_file(name: str) -> Mapping[str, Any]:
    return load_yaml(resources.files("cgbench.models.config").joinpath("presets", f"{name}.yaml")) or {}


def architecture_preset(architecture: str) -> Preset:
    """Return the defaults of an architecture, as a preset without a name.

    :raises InputError: there is no such architecture.
    """
    parts = {key: kind() for key, kind in _SECTIONS.items() if key != "model"}
    return Preset("", model=model_config({"architecture": architecture}), **parts)


def model_config(values: Mapping[str, Any]) -> ModelConfig:
    """Return the :class:`ModelConfig` that a checkpoint stored.

    :raises InputError: an unknown field, or a value that does not fit.
    """
    return _build(_kind("model", values), "model", values)


def training_config(values: Mapping[str, Any]) -> TrainingConfig:
    """Return the :class:`TrainingConfig` that a checkpoint stored (errors as :func:`model_config`)."""
    return _build(TrainingConfig, "training", values)


def method_config(values: Mapping[str, Any]) -> MethodConfig:
    """Return the :class:`MethodConfig` that a checkpoint stored (errors as :func:`model_config`)."""
    return _build(_kind("method", values), "method", values)


def _kind(section: str, values: Mapping[str, Any]) -> Any:
    """Return the class that configures a section with these values.

    :raises InputError: there is no such architecture or method.
    """
    if section not in _FAMILIES:
        return _SECTIONS[section]
    choice, table = _FAMILIES[section]
    name = str(values.get(choice, next(iter(table))))
    if name not in table and section == "model":
        table = {**added_architectures(), **table}
    if name not in table:
        raise InputError(f"{section}.{choice}={name}: unknown {_noun(section)}{did_you_mean(name, table)}")
    return table[name].config


def _build(kind: type[T], section: str, values: Mapping[str, Any]) -> T:
    choice, table = _FAMILIES.get(section, ("", {}))
    if section == "model":
        values = _without_removed(values)
    for key in values:
        owners = [name for name, entry in table.items() if key in _names(entry.config)]
        if owners and key not in _names(kind):
            raise InputError(
                f"{section}.{key}: not a setting of {_noun(section)} {values.get(choice, next(iter(table)))}, "
                f"but of {', '.join(owners)}"
            )
    return make_settings(kind, values, section, _all_keys)


def _without_removed(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave out what checkpoints of 0.1 store of settings that were removed.

    :raises InputError: a setting had another value than the one that models still have.
    """
    removed = _REMOVED.get(str(values.get("architecture")), {})
    for name in removed.keys() & values.keys():
        if str(values[name]).lower() != str(removed[name]).lower():
            raise InputError(f"model.{name}={values[name]}: this setting was removed in 0.2; cgbench 0.1 has it")
    return {name: value for name, value in values.items() if name not in removed}


def _noun(section: str) -> str:
    return "architecture" if section == "model" else "method"


def _names(kind: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(kind)}


def _all_keys() -> list[str]:
    families = ((section, entry.config) for section, (_, table) in _FAMILIES.items() for entry in table.values())
    return [f"{section}.{name}" for section, kind in (*_SECTIONS.items(), *families) for name in _names(kind)]
