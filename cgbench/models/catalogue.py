"""List architectures, methods and presets with their settings and numbers of parameters.

Counting builds the models without allocating memory, which needs PyTorch and takes seconds. So the counts of presets
and architectures are stored in a table, by a hash of the configuration; a test compares it with the models.
``python -m cgbench.models.catalogue`` updates it.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
from functools import cache
from importlib import resources
from typing import Any

from cgbench.errors import InputError
from cgbench.models.config.architectures import ARCHITECTURES, added_architectures
from cgbench.models.config.common import ModelConfig, to_dict
from cgbench.models.config.encoders import OverEncoderConfig
from cgbench.models.config.methods import METHODS
from cgbench.models.config.outside import OUTSIDE
from cgbench.models.config.presets import Preset, architecture_preset, list_presets, load_preset, method_config
from cgbench.settings import did_you_mean, metadata_of
from cgbench.steps import KEY_LENGTH, hash_value

Sizes = tuple[int, int]
SOURCE, TARGET = 1_000_003, 1_000_033  # primes, which no other dimension of a parameter equals
TABLE = "parameters.json"

Counts = tuple[int, int, int, int]
"""Parameters of a model: fixed, per source token, per target token, per pair of these."""


def catalogue(sizes: Sizes | None = None, count: bool = True) -> dict[str, list[dict[str, Any]]]:
    """Return all architectures, training methods and presets.

    :param sizes: of the vocabularies, for the counts (default: the published ones of each preset).
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
            for name, entry in {**added_architectures(), **ARCHITECTURES, **OUTSIDE}.items()
        ],
        "methods": [{"name": name, "summary": entry.summary, "paper": entry.paper} for name, entry in METHODS.items()],
        "presets": [preset_row(preset, sizes, count) for preset in presets],
    }


def preset_row(preset: Preset, sizes: Sizes | None = None, count: bool = True) -> dict[str, Any]:
    """Return the catalogue's row of a preset; unknown counts are None."""
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
    if count and preset.model.architecture not in OUTSIDE:  # external models are counted on loading
        row["parameters"] = count_parameters(preset.model, *sizes) if sizes else None
        row["parameters_without_vocabulary"] = count_without_vocabulary(preset.model)
    return row


def describe(name: str, sizes: Sizes | None = None, count: bool = True) -> dict[str, Any]:
    """Return a preset, architecture or method: its row, ``comment`` and ``settings``.

    A setting has ``name``, ``value``, ``default`` and ``help``.
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
    if entry := {**added_architectures(), **ARCHITECTURES, **OUTSIDE}.get(name):
        preset = architecture_preset(name)
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
    raise InputError(f"unknown model {name!r}{did_you_mean(name, [*presets, *ARCHITECTURES, *OUTSIDE, *METHODS])}")


def count_parameters(config: ModelConfig, source_size: int, target_size: int) -> int:
    """Return the number of parameters of a model."""
    fixed, source, target, both = _counts(config)
    return fixed + source * source_size + target * target_size + both * source_size * target_size


def count_without_vocabulary(config: ModelConfig) -> int:
    """Return the number of parameters that does not depend on the vocabularies."""
    return _counts(config)[0]


def config_key(config: ModelConfig) -> str:
    """A hash of a model's settings: its key in the table."""
    return hash_value(to_dict(config))[:KEY_LENGTH]


@cache
def _table() -> dict[str, Counts]:
    text = resources.files("cgbench.models.config").joinpath(TABLE).read_text(encoding="utf-8")
    return {key: tuple(counts) for key, counts in json.loads(text).items()}


def _counts(config: ModelConfig) -> Counts:
    return _table().get(config_key(config)) or counts_of_model(config)


@cache
def counts_of_model(config: ModelConfig) -> Counts:
    """Count the parameters of a model by building it."""
    from cgbench.errors import require
    from cgbench.models.registry import build_model

    torch = require("torch", "models")
    with torch.device("meta"):
        model = build_model(config, SOURCE, TARGET)
    counts = {(False, False): 0, (True, False): 0, (False, True): 0, (True, True): 0}
    for parameter in model.parameters():
        shape = list(parameter.shape)
        sides = SOURCE in shape, TARGET in shape
        for length, present in zip((SOURCE, TARGET), sides, strict=True):
            if present:
                shape.remove(length)
        if {SOURCE, TARGET} & set(shape):
            raise NotImplementedError(f"a parameter with a vocabulary size twice: {tuple(parameter.shape)}")
        counts[sides] += math.prod(shape)
    fixed, source, target, both = counts.values()
    return fixed, source, target, both


def listed_configs() -> list[ModelConfig]:
    """The models in the table of counts: those of every preset and architecture."""
    presets = [*map(load_preset, list_presets()), *map(architecture_preset, ARCHITECTURES)]
    models = [preset.model for preset in presets if preset.model.architecture in ARCHITECTURES]
    return list({config_key(model): model for model in models}.values())


def write_table() -> None:
    """Update the table of counts."""
    rows = sorted((config_key(config), counts_of_model(config)) for config in listed_configs())
    lines = ",\n".join(f' "{key}": {json.dumps(counts)}' for key, counts in rows)
    with resources.as_file(resources.files("cgbench.models.config").joinpath(TABLE)) as path:
        path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def _settings(section: str, config: Any, defaults: Any) -> list[dict[str, Any]]:
    """All settings of a section, those specific to an architecture first."""
    values, default = dataclasses.asdict(config), dataclasses.asdict(defaults)
    metadata = metadata_of(config.__class__)
    common = {field.name for field in dataclasses.fields(OverEncoderConfig)} if section == "model" else set()
    return [
        {"name": f"{section}.{key}", "value": values[key], "default": default[key], "help": metadata[key]["help"]}
        for key in sorted(values, key=lambda key: key in common)
    ]


def _first_paragraph(config: type) -> str:
    return inspect.cleandoc(config.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def _comment(name: str) -> str:
    text = resources.files("cgbench.models.config").joinpath("presets", f"{name}.yaml").read_text(encoding="utf-8")
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(lines)


if __name__ == "__main__":
    write_table()
