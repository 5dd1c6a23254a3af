"""List architectures, methods, pipelines and presets; describe one of them, with its settings and
number of parameters.

Counting builds a model without allocating memory, which needs PyTorch.
"""

import dataclasses
import inspect
import itertools
import math
from importlib import resources
from typing import Any

from cgbench.errors import InputError, require
from cgbench.extensions import of_packages
from cgbench.models.config.architectures import (
    ARCHITECTURES,
    OUTSIDE,
    added_architectures,
    find_architecture,
)
from cgbench.models.config.common import ModelConfig
from cgbench.models.config.encoders import OverEncoderConfig
from cgbench.models.config.methods import METHODS
from cgbench.models.config.presets import (
    Preset,
    added_presets,
    architecture_preset,
    is_preset,
    list_presets,
    load_preset,
    section_config,
)
from cgbench.models.hpd.settings import HPDSettings
from cgbench.settings import did_you_mean, metadata_of


@dataclasses.dataclass(frozen=True)
class Pipeline:
    """A published system of several networks, which ``cgbench reproduce`` trains."""

    settings: type
    summary: str
    paper: str


PIPELINES = {
    "hpd": Pipeline(HPDSettings, "two networks and a phrase table, for CFQ", "Guo et al. 2020")
}
SOURCE, TARGET = 1_000_003, 1_000_033  # primes, which no other dimension of a parameter equals


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Return all architectures, training methods, pipelines and presets, without counting
    parameters.
    """
    presets = [load_preset(name) for name in [*list_presets(), *added_presets()]]
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
        **{
            kind: [
                {"name": name, "summary": entry.summary, "paper": entry.paper}
                for name, entry in entries.items()
            ]
            for kind, entries in (("methods", METHODS), ("pipelines", PIPELINES))
        },
        "presets": [_preset_row(preset) for preset in presets],
    }


def _preset_row(preset: Preset) -> dict[str, Any]:
    source_size, target_size = preset.vocabulary or (None, None)
    return {
        "name": preset.name,
        "architecture": preset.model.architecture,
        "method": preset.method.name,
        "paper": preset.paper,
        "source_size": source_size,
        "target_size": target_size,
    }


def describe_model(
    name: str, vocabulary: tuple[int, int] | None = None, count: bool = True
) -> dict[str, Any]:
    """Return a preset, architecture, method or pipeline: its row, ``comment``, ``settings`` and
    number of ``parameters``.

    A setting has ``name``, ``value``, ``default`` and ``help``.

    :param vocabulary: source and target size for the count (default: the published ones of the
        preset).
    :param count: whether to count parameters; unknown counts are None.
    """
    # A preset differs from the defaults of its architecture and its method.
    if is_preset(name):
        preset = load_preset(name)
        defaults = architecture_preset(preset.model.architecture)
        return {
            "kind": "preset",
            **_counted_row(preset, vocabulary, count),
            "comment": _comment(name),
            "settings": [
                *_settings("model", preset.model, defaults.model),
                *_settings("training", preset.training, defaults.training),
                *_settings(
                    "method", preset.method, section_config("method", {"name": preset.method.name})
                ),
                *_settings("text", preset.text, defaults.text),
            ],
        }
    # An architecture and a method are described by their defaults.
    if entry := find_architecture(name):
        preset = architecture_preset(name)
        return {
            "kind": "architecture",
            **_counted_row(preset, vocabulary, count),
            "name": name,
            "paper": entry.paper,
            "comment": _first_paragraph(entry.config),
            "settings": _settings("model", preset.model, preset.model),
        }
    # A method is described by its settings; models have the parameters.
    if name in METHODS:
        config = section_config("method", {"name": name})
        return {
            "kind": "method",
            "name": name,
            "paper": METHODS[name].paper,
            "comment": METHODS[name].summary if name == "none" else _first_paragraph(type(config)),
            "settings": _settings("method", config, config),
        }
    # A pipeline has settings, and networks of its own.
    if name in PIPELINES:
        config = PIPELINES[name].settings()
        return {
            "kind": "pipeline",
            "name": name,
            "paper": PIPELINES[name].paper,
            "comment": _first_paragraph(type(config)),
            "settings": _settings(name, config, config),
        }
    names = [*list_presets(), *ARCHITECTURES, *OUTSIDE, *METHODS, *PIPELINES]
    names += [*of_packages("presets"), *of_packages("architectures")]
    raise InputError(f"unknown model {name!r}{did_you_mean(name, names)}")


def _counted_row(preset: Preset, vocabulary: tuple[int, int] | None, count: bool) -> dict[str, Any]:
    row = _preset_row(preset) | {"parameters": None, "parameters_without_vocabulary": None}
    if vocabulary := vocabulary or preset.vocabulary:
        row["source_size"], row["target_size"] = vocabulary
    if count and preset.model.architecture not in OUTSIDE:  # external models are counted on loading
        unknown = (SOURCE, SOURCE if _shares_embeddings(preset.model) else TARGET)
        total, row["parameters_without_vocabulary"] = count_parameters(
            preset.model, *(vocabulary or unknown)
        )
        row["parameters"] = total if vocabulary else None
    return row


def _shares_embeddings(config: ModelConfig) -> bool:
    """Whether both sides of a model have one table of embeddings, so one vocabulary."""
    return getattr(config, "share_embeddings", False)


def count_parameters(config: ModelConfig, source_size: int, target_size: int) -> tuple[int, int]:
    """Return the number of parameters of a model, and of those that do not depend on the
    vocabularies.
    """
    from cgbench.models.config.architectures import build_model

    require("torch", "models")
    from cgbench.models.shapes import shapes_only

    def shapes(*sizes: int) -> list[tuple[int, ...]]:
        with shapes_only():
            return [
                tuple(parameter.shape) for parameter in build_model(config, *sizes).parameters()
            ]

    # Other sizes for both sides, which differ unless the sides share one table.
    more = 1 if _shares_embeddings(config) else 3
    counted, others = shapes(source_size, target_size), shapes(source_size + 1, target_size + more)
    same = (first for first, second in zip(counted, others, strict=True) if first == second)
    return sum(map(math.prod, counted)), sum(map(math.prod, same))


def _settings(section: str, config: Any, defaults: Any) -> list[dict[str, Any]]:
    """All settings of a section, those specific to an architecture first."""
    values, default = dataclasses.asdict(config), dataclasses.asdict(defaults)
    metadata = metadata_of(config.__class__)
    common = (
        {field.name for field in dataclasses.fields(OverEncoderConfig)}
        if section == "model"
        else set()
    )
    return [
        {
            "name": f"{section}.{key}",
            "value": values[key],
            "default": default[key],
            "help": metadata[key]["help"],
        }
        for key in sorted(values, key=lambda key: key in common)
    ]


def _first_paragraph(config: type) -> str:
    return inspect.cleandoc(config.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def _comment(name: str) -> str:
    if name not in list_presets():  # of another package
        return ""
    text = (
        resources.files("cgbench.models.config")
        .joinpath("presets", f"{name}.yaml")
        .read_text(encoding="utf-8")
    )
    comments = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    return " ".join(line.lstrip("# ") for line in comments)
