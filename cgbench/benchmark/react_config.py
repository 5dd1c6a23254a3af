"""The settings of ``build-react``, and their presets (``presets/*.yaml``).

Defaults are those of ReaCT (Zheng and Lapata 2023, section 4) where the paper states them.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from importlib.resources import files
from typing import Any

from cgbench.errors import InputError
from cgbench.settings import apply_settings, did_you_mean, read_yaml

SIDES = ("source", "target")
MODEL_PREFIXES = ("model.", "training.", "method.", "text.")
LM_SETTINGS = ("drop_perplexity", "lm_side")
Amount = int | str


@dataclass(frozen=True)
class ReactConfig:
    """Every setting of a build. An amount is a number, or a fraction such as ``1/30`` or ``0.05``.

    ``candidates`` as a fraction is one of the pairs within the length bounds; ``drop``, ``drop_perplexity``, ``window``
    and ``select`` as fractions are of the candidates. ``drop_perplexity`` and ``lm_side`` (default: the side of the
    degree) need a language model. ``model_settings`` change the model preset (``training.max_updates`` ...).
    """

    tokenize: str = "none"
    lowercase: bool = False
    word_min_count: int = 3
    ngram_min_count: int = 3
    filter_sides: str = "both"
    degree_side: str = "target"
    min_length: int = 6
    max_length: int | None = None
    candidates: Amount = 60_000
    members: int = 10
    model: str = "transformer_iwslt"
    beam: int = 5
    uncertainty: str = "rmi"
    drop: Amount = 2_000
    drop_perplexity: Amount = 0
    window: Amount = 18_000
    select: Amount = 3_000
    seed: int = 1
    lm_side: str | None = None
    licence: str | None = None
    model_settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, choices in (
            ("tokenize", ("none", "moses")),
            ("filter_sides", ("both", *SIDES)),
            ("degree_side", SIDES),
            ("lm_side", (None, *SIDES)),
        ):
            value = getattr(self, key)
            if value not in choices:
                raise InputError(f"{key}: {value!r} is not one of {', '.join(filter(None, choices))}")
        for key in ("word_min_count", "ngram_min_count", "min_length", "members", "beam"):
            if getattr(self, key) < 1:
                raise InputError(f"{key}: must be at least 1")
        if not 0 <= self.seed < 2**63:
            raise InputError("seed: must be from 0 to 2^63 - 1")
        if self.max_length is not None and self.max_length < self.min_length:
            raise InputError(f"max_length: must be at least min_length ({self.min_length})")
        for key in ("candidates", "drop", "drop_perplexity", "window", "select"):
            smallest = 0 if key.startswith("drop") else 1
            value = parse_amount(key, getattr(self, key))
            if value < 0 or (value >= 1 and value < smallest) or (value == 0 and smallest):
                raise InputError(f"{key}: {getattr(self, key)!r} must be above 0")

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON, model settings flat; those for a language model only where they are set."""
        values = asdict(self)
        for key in LM_SETTINGS:
            if values[key] == getattr(ReactConfig, key):
                del values[key]
        values.update(values.pop("model_settings"))
        return values


def parse_amount(key: str, value: Amount) -> Fraction:
    """``value`` exactly: below 1 it is a share, from 1 on a number.

    :raises InputError: it is neither a whole number nor a fraction below 1.
    """
    try:
        if not re.fullmatch(r"[0-9_]+([./][0-9]+)?|\.[0-9]+", str(value)):
            raise ValueError
        amount = Fraction(str(value).replace("_", ""))
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{key}: {value!r} is not a number or a fraction such as 1/30") from None
    if amount >= 1 and amount.denominator != 1:
        raise InputError(f"{key}: {value!r} must be a whole number, or a share below 1")
    return amount


def resolve_amount(key: str, value: Amount, total: int) -> int:
    """``value`` as a number of items: a share is one of ``total``, rounded to the nearest (half up)."""
    amount = parse_amount(key, value)
    return int(amount) if amount >= 1 or amount == 0 else int(amount * total + Fraction(1, 2))


def list_presets() -> list[str]:
    """The names that ``--preset`` takes."""
    folder = files("cgbench.benchmark") / "presets"
    return sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml"))


def make_config(preset: str, changes: dict[str, Any]) -> ReactConfig:
    """The settings of ``preset`` with ``changes``: keys of :class:`ReactConfig` or of the model preset.

    :raises InputError: the preset or a key is unknown (the nearest is named), or a value does not fit.
    """
    if preset not in list_presets():
        raise InputError(f"unknown preset {preset}{did_you_mean(preset, list_presets())}")
    with_path = files("cgbench.benchmark") / "presets" / f"{preset}.yaml"
    own: dict[str, Any] = read_yaml(with_path)  # type: ignore[arg-type]
    model_settings: dict[str, Any] = {}
    for key, value in changes.items():
        if key.startswith(MODEL_PREFIXES):
            model_settings[key] = value
        else:
            own[key] = value
    if "model_settings" in own:
        raise InputError("unknown setting model_settings; write the model's own keys, such as training.max_updates")
    config = apply_settings(ReactConfig(), own)
    return apply_settings_to_model(config, model_settings)


def apply_settings_to_model(config: ReactConfig, changes: dict[str, Any]) -> ReactConfig:
    """``config`` with settings for the model preset, checked against that preset."""
    from dataclasses import replace

    from cgbench.models.config.presets import load_preset

    load_preset(config.model).replace(changes)
    return replace(config, model_settings=dict(sorted(changes.items())))
