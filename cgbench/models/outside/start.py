"""A model from outside that a training starts from: ``--init hf:...``; known before it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cgbench.errors import InputError
from cgbench.files import read_json
from cgbench.models.config.outside import OUTSIDE
from cgbench.models.config.presets import Preset, load_preset

if TYPE_CHECKING:
    from cgbench.models.outside.opening import Planned
    from cgbench.models.outside.trainable import TokenizerText, TrainableModel

PRESET = "fine_tuning"  # where none is named


def is_outside(init: object) -> bool:
    """Whether what a training starts from is named as a model from outside."""
    return str(init).startswith("hf:")


@dataclass(frozen=True)
class Start:
    """A model that is not loaded yet; it goes to worker processes as it is."""

    planned: Planned

    @property
    def key(self) -> str:
        """What it is, for a run to be known by."""
        return self.planned.key

    def open(self, dropout: float, freeze: str, max_length: int, device: str) -> tuple[TrainableModel, TokenizerText]:
        """Load it.

        :param max_length: of the longest side that is trained on.
        :raises InputError: its files do not fit together, or it cannot be trained so.
        """
        from cgbench.models.outside.loading import load_member
        from cgbench.models.outside.trainable import TokenizerText, TrainableModel, check_fit

        planned, shown = self.planned, self.planned.address.text
        member = load_member(
            planned.address,
            planned.folder,
            identity=planned.identity,
            vocabulary=planned.vocabulary,
            template=planned.template,
            device=device,
            dropout=dropout,
        )
        model, text = TrainableModel(member, freeze), TokenizerText(member)
        check_fit(model, text, max_length, shown)
        return model.train(), text


def plan_start(text: str, preset: Preset) -> tuple[Start, Preset]:
    """What ``hf:...`` stands for, and the preset with what its configuration says; nothing is loaded.

    :raises InputError: the name is wrong, there is no such model, or it is none that is trained here.
    """
    from cgbench.models.outside.opening import plan_member

    if preset.model.architecture not in OUTSIDE:
        raise InputError(
            f"--init {text}: a whole model from outside; leave --model and --arch out, or name a preset of "
            f"architecture {' or '.join(OUTSIDE)} (cgbench models), not one of {preset.model.architecture}"
        )
    planned = plan_member(text)
    config: Any = read_json(planned.folder / "config.json")
    if planned.address.seed is not None:
        raise InputError(f"--init {text}: mc: has masks for translating; training draws its own: write hf:...")
    if not config.get("is_encoder_decoder"):
        raise InputError(
            f"--init {text}: {config['model_type']} is no encoder-decoder, and what is trained whole is one (T5, BART, "
            "Marian, NLLB)"
        )
    if planned.address.options.get("dtype", "float32") != "float32" or "device_map" in planned.address.options:
        raise InputError(
            f"--init {text}: weights are trained in float32, on one device: leave dtype= and device_map= out"
        )
    return Start(planned), preset.replace({f"model.{name}": value for name, value in _shape(config).items()})


def default_preset() -> Preset:
    """How a model from outside is trained where nobody says otherwise."""
    return load_preset(PRESET)


def _shape(config: Any) -> dict[str, int]:
    """Layers and width, as BART's and T5's configurations call them."""
    names = {
        "encoder_layers": ("encoder_layers", "num_layers"),
        "decoder_layers": ("decoder_layers", "num_decoder_layers", "num_layers"),
        "width": ("d_model", "hidden_size"),
    }
    found = {}
    for name, theirs in names.items():
        value = next((config[key] for key in theirs if isinstance(config.get(key), int)), None)
        if value is not None:
            found[name] = value
    return found
