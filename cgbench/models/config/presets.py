"""Presets, and configurations from YAML files, ``--set key=value`` and checkpoints.

A preset defines a model, its training and its tokenisation. Presets are YAML files under
``presets/``; a file with ``base: other`` lists only the differences from that preset.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import resources
from typing import Any

from cgbench.errors import InputError
from cgbench.extensions import all_of_packages, load_from_package, of_packages
from cgbench.models.config.architectures import ARCHITECTURES, OUTSIDE, find_architecture
from cgbench.models.config.common import MethodConfig, ModelConfig, TextConfig, TrainingConfig
from cgbench.models.config.methods import METHODS, check_method
from cgbench.settings import did_you_mean, make_settings, unknown_setting
from cgbench.yaml_text import load_yaml


@dataclass(frozen=True)
class Preset:
    """A named model with its training and tokenisation.

    :param paper: source of the values; ``vocabulary``: sizes of the source and target vocabulary
        with special tokens. Both are for information only.
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
        """Return a copy with fields replaced by dotted name; strings are parsed by the field's
        type.

        :raises InputError: a name is unknown, or a value is invalid.
        """
        sections: dict[str, dict[str, Any]] = {name: {} for name in _SECTIONS}
        for key, value in changes.items():
            section, _, field = key.partition(".")
            if section not in _SECTIONS or not field:
                raise unknown_setting(key, _all_keys())
            sections[section][field] = value
        return dataclasses.replace(
            self,
            **{
                section: self._changed(section, fields)
                for section, fields in sections.items()
                if fields
            },
        )

    def without_validation(self) -> Preset:
        """The same for a training without validation data, which keeps the last model.

        :raises InputError: ``training.patience`` needs such data.
        """
        if self.training.patience:
            raise InputError(
                f"training.patience={self.training.patience}: needs validation data; add some, or"
                " set it to 0"
            )
        return dataclasses.replace(self, training=dataclasses.replace(self.training, keep="last"))

    def _changed(self, section: str, fields: Mapping[str, Any]) -> Any:
        before = getattr(self, section)
        values = asdict(before)
        config = _class_of(section, {**values, **fields})
        if config is not type(before):
            # Drop fields that the new architecture or method does not have.
            values = {key: value for key, value in values.items() if key in _names(config)}
        return section_config(section, {**values, **fields})


_SECTIONS: dict[str, Any] = {
    "model": ModelConfig,
    "training": TrainingConfig,
    "text": TextConfig,
    "method": MethodConfig,
}
# Sections with a setting that selects their class, and the registry of its values.
_FAMILIES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "model": ("architecture", {**ARCHITECTURES, **OUTSIDE}),
    "method": ("name", METHODS),
}
_NOTES = ("paper", "vocabulary")


def list_presets() -> list[str]:
    """Return the names of the presets, sorted."""
    files = resources.files("cgbench.models.config").joinpath("presets").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def added_presets() -> list[str]:
    """Return the names of the presets of installed packages (entry points of the group
    ``cgbench.presets``); warn of those that cannot be loaded.
    """
    return [name for name, _ in all_of_packages("presets", Mapping, _WHAT)]


def is_preset(name: str) -> bool:
    """Whether a preset of this package or of an installed one has this name."""
    return name in list_presets() or name in of_packages("presets")


def load_preset(name: str) -> Preset:
    """Read a preset by name.

    :raises InputError: there is no such preset, or that of an installed package cannot be loaded.
    """
    data = with_bases(name, _read)
    if unknown := sorted(data.keys() - _SECTIONS.keys() - set(_NOTES)):
        raise unknown_setting(unknown[0], [*_SECTIONS, *_NOTES])
    sections = {section: section_config(section, data.get(section) or {}) for section in _SECTIONS}
    sizes = data.get("vocabulary")
    vocabulary = (int(sizes["source"]), int(sizes["target"])) if sizes else None
    return Preset(name, paper=data.get("paper", ""), vocabulary=vocabulary, **sections)


def with_bases(name: str, read: Callable[[str], Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of a preset's file, merged over that of its ``base``, and so on.

    :param read: returns the content of one file.
    """
    names, files = [name], [dict(read(name))]
    while base := files[-1].pop("base", None):
        if base in names:
            raise InputError(f"model preset {name}: circular bases: {', '.join([*names, base])}")
        names.append(base)
        files.append(dict(read(base)))
    result: dict[str, Any] = {}
    for data in reversed(files):
        for key, value in data.items():
            result[key] = {**result.get(key, {}), **value} if isinstance(value, Mapping) else value
    return result


_WHAT = "a mapping of the sections of a preset"


def _read(name: str) -> Mapping[str, Any]:
    """The content of a preset's file, or of a preset that another package has registered."""
    if name in (names := list_presets()):
        folder = resources.files("cgbench.models.config").joinpath("presets")
        return load_yaml(folder.joinpath(f"{name}.yaml")) or {}
    points = of_packages("presets")
    if name not in points:
        raise InputError(f"unknown model preset {name!r}{did_you_mean(name, [*names, *points])}")
    data: Mapping[str, Any] = load_from_package("presets", points[name], Mapping, _WHAT)
    return data


def architecture_preset(architecture: str) -> Preset:
    """Return the defaults of an architecture as an unnamed preset."""
    defaults = {section: config() for section, config in _SECTIONS.items() if section != "model"}
    return Preset("", model=section_config("model", {"architecture": architecture}), **defaults)


def section_config(section: str, values: Mapping[str, Any]) -> Any:
    """Return the configuration of a section, ``model``, ``training``, ``text`` or ``method``, from
    plain values.
    """
    config = _class_of(section, values)
    choice, table = _FAMILIES.get(section, ("", {}))
    for key in values:
        owners = [name for name, entry in table.items() if key in _names(entry.config)]
        if owners and key not in _names(config):
            raise InputError(
                f"{section}.{key}: not a setting of {_noun(section)}"
                f" {values.get(choice, next(iter(table)))}, but of {', '.join(owners)}"
            )
    return make_settings(config, values, section, _all_keys)


def _class_of(section: str, values: Mapping[str, Any]) -> Any:
    if section not in _FAMILIES:
        return _SECTIONS[section]
    choice, table = _FAMILIES[section]
    name = str(values.get(choice, next(iter(table))))
    entry = find_architecture(name) if section == "model" else table.get(name)
    if entry is None:
        raise InputError(
            f"{section}.{choice}={name}: unknown {_noun(section)}{did_you_mean(name, table)}"
        )
    return entry.config


def _noun(section: str) -> str:
    return "architecture" if section == "model" else "method"


def _names(config: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(config)}


def _all_keys() -> list[str]:
    families = (
        (section, entry.config)
        for section, (_, table) in _FAMILIES.items()
        for entry in table.values()
    )
    return [
        f"{section}.{name}"
        for section, config in (*_SECTIONS.items(), *families)
        for name in _names(config)
    ]
