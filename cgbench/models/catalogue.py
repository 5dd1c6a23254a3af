"""What there is to train: architectures, methods, presets, their settings, and how many parameters they make.

Counts come from the models themselves, built without memory for their numbers; all else is known without torch.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from functools import cache
from importlib import resources
from typing import Any

from cgbench.errors import InputError
from cgbench.models.config.architectures import ARCHITECTURES
from cgbench.models.config.common import ModelConfig, TransformerConfig, to_dict
from cgbench.models.config.methods import METHODS
from cgbench.models.config.presets import Preset, architecture_preset, list_presets, load_preset, method_config
from cgbench.settings import did_you_mean

Sizes = tuple[int, int]
SOURCE, TARGET = 1_000_003, 1_000_033  # primes: no other length of a parameter


def catalogue(sizes: Sizes | None = None, count: bool = True) -> dict[str, list[dict[str, Any]]]:
    """Return every architecture, every training method and every preset.

    :param sizes: of the dictionaries, for the counts; a preset's published ones if not given.
    :param count: whether to count parameters, which needs torch.
    """
    presets = [load_preset(name) for name in list_presets()]
    return {
        "architectures": [
            {
                "name": name,
                "summary": entry.summary,
                "paper": entry.paper,
                "presets": [preset.name for preset in presets if preset.model.architecture == name],
            }
            for name, entry in ARCHITECTURES.items()
        ],
        "methods": [{"name": name, "summary": entry.summary, "paper": entry.paper} for name, entry in METHODS.items()],
        "presets": [preset_row(preset, sizes, count) for preset in presets],
    }


def preset_row(preset: Preset, sizes: Sizes | None = None, count: bool = True) -> dict[str, Any]:
    """Return what the catalogue says of a preset; counts that are not known are None."""
    sizes = sizes or preset.vocabulary
    row: dict[str, Any] = {
        "name": preset.name,
        "architecture": preset.model.architecture,
        "method": preset.method.name,
        "paper": preset.paper,
        "source_size": sizes and sizes[0],
        "target_size": sizes and sizes[1],
        "parameters": None,
        "parameters_without_vocabulary": None,
    }
    if count:
        row["parameters"] = count_parameters(preset.model, *sizes) if sizes else None
        row["parameters_without_vocabulary"] = count_without_vocabulary(preset.model)
    return row


def describe(name: str, sizes: Sizes | None = None, count: bool = True) -> dict[str, Any]:
    """Return everything of one preset, architecture or method: its row, ``comment`` and ``settings``.

    A setting has a ``name``, a ``value``, a ``default``, and ``help``.

    :raises InputError: there is none of them.
    """
    presets = list_presets()
    if name in presets:
        preset = load_preset(name)
        defaults = architecture_preset(preset.model.architecture)
        method = method_config({"name": preset.method.name})
        return {
            "kind": "preset",
            **preset_row(preset, sizes, count),
            "comment": _comment(name),
            "settings": [
                *_settings("model", preset.model, defaults.model),
                *_settings("training", preset.training, defaults.training),
                *_settings("method", preset.method, method),
                *_settings("text", preset.text, defaults.text),
            ],
        }
    if name in ARCHITECTURES:
        preset, entry = architecture_preset(name), ARCHITECTURES[name]
        return {
            "kind": "architecture",
            **preset_row(preset, sizes, count),
            "name": name,
            "paper": entry.paper,
            "comment": _first_paragraph(entry.config),
            "settings": _settings("model", preset.model, preset.model),
        }
    if name in METHODS:
        config = method_config({"name": name})
        return {
            "kind": "method",
            "name": name,
            "paper": METHODS[name].paper,
            "comment": METHODS[name].summary if name == "none" else _first_paragraph(type(config)),
            "settings": _settings("method", config, config),
        }
    raise InputError(f"unknown model {name!r}{did_you_mean(name, [*presets, *ARCHITECTURES, *METHODS])}")


def count_parameters(config: ModelConfig, source_size: int, target_size: int) -> int:
    """Return how many parameters a model has.

    :raises InputError: torch is not installed.
    """
    sizes = {SOURCE: source_size, TARGET: target_size}
    return sum(math.prod(sizes.get(length, length) for length in shape) for shape in _shapes(config))


def count_without_vocabulary(config: ModelConfig) -> int:
    """Return how many parameters a model has but for those whose number depends on the dictionaries."""
    return sum(math.prod(shape) for shape in _shapes(config) if SOURCE not in shape and TARGET not in shape)


@cache
def _shapes(config: ModelConfig) -> list[tuple[int, ...]]:
    """The shapes of a model's parameters, for dictionaries of SOURCE and TARGET entries: built once for any sizes."""
    from cgbench.errors import require
    from cgbench.models.registry import build_model

    torch = require("torch", "models")
    with torch.device("meta"):
        model = build_model(config, SOURCE, TARGET)
    return [tuple(parameter.shape) for parameter in model.parameters()]


def _settings(section: str, config: Any, defaults: Any) -> list[dict[str, Any]]:
    """Every setting of a section; what an architecture adds to the common configuration comes first."""
    texts, values, default = field_help(type(config)), to_dict(config), to_dict(defaults)
    common = {field.name for field in dataclasses.fields(TransformerConfig)} if section == "model" else set()
    return [
        {"name": f"{section}.{key}", "value": values[key], "default": default[key], "help": texts.get(key, "")}
        for key in sorted(values, key=lambda key: key in common)
    ]


def field_help(kind: type) -> dict[str, str]:
    """Return what the docstring of a configuration, and of those that it extends, says of each field."""
    texts: dict[str, str] = {}
    for ancestor in reversed(kind.__mro__):
        if not dataclasses.is_dataclass(ancestor):
            continue
        fields = {field.name for field in dataclasses.fields(ancestor)}
        text = " ".join(inspect.cleandoc(ancestor.__doc__ or "").split())
        for names, said in re.findall(r":param ([\w, ]+): (.*?)(?= :param |$)", text):
            texts |= _parted([name.strip() for name in names.split(",")], said, fields)
    return texts


def _parted(names: list[str], text: str, fields: set[str]) -> dict[str, str]:
    """A text that goes on with ``; ``other``: ...`` speaks of another field from there on."""
    parts = re.split(r"; ``(\w+)``: ", text)
    texts = dict.fromkeys(names, parts[0])
    for name, said in zip(parts[1::2], parts[2::2], strict=True):
        if name in fields:
            texts[name] = said
        else:  # another value of the same field
            last = next(reversed(texts))
            texts[last] += f"; ``{name}``: {said}"
    return texts


def _first_paragraph(kind: type) -> str:
    return inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def _comment(name: str) -> str:
    """The comment at the head of a preset's file."""
    text = resources.files("cgbench.models.config").joinpath("presets", f"{name}.yaml").read_text(encoding="utf-8")
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(lines)
