"""A model from outside that a training starts from: ``--init hf:...``; known before it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.errors import InputError, argument
from cgbench.files import read_json
from cgbench.models.config.common import TextConfig
from cgbench.models.config.encoders import OFFSET, OverEncoderConfig
from cgbench.models.config.outside import OUTSIDE, HuggingFaceConfig
from cgbench.models.config.presets import Preset, load_preset

if TYPE_CHECKING:
    from cgbench.models.external.fine_tuning import TokenizerText, TrainableModel
    from cgbench.models.external.opening import Planned
    from cgbench.models.text.subwords import Subwords

PRESET = "fine_tuning"  # where none is named


@dataclass(frozen=True)
class Start:
    """A model that is not loaded yet; it goes to worker processes as it is.

    :param whole: whether all of it is trained further, as it is; else it is the encoder of a model of ours, whose
        target has a dictionary of its own, or (``decodes``) encoder and decoder, and its tokeniser reads both sides.
    """

    planned: Planned
    whole: bool
    decodes: bool = False

    @property
    def key(self) -> str:
        """What it is, for a run to be known by."""
        return self.planned.key

    @property
    def shown(self) -> str:
        """What messages call it."""
        return self.planned.address.text

    def open(self, config: HuggingFaceConfig, max_length: int, device: str) -> tuple[TrainableModel, TokenizerText]:
        """Load a whole model; where it gets an adapter, that is drawn from torch's global generator.

        :param max_length: of the longest side that is trained on.
        :raises InputError: its files do not fit together, or it cannot be trained so.
        """
        from cgbench.models.external.adapters import add_adapter
        from cgbench.models.external.fine_tuning import TokenizerText, TrainableModel, check_fit

        planned = self.planned
        member = planned.load(device, config.dropout)
        adapter = None
        if config.adapter_rank:
            name = planned.address.name
            base = name if planned.address.revision else Path(name).resolve().name
            adapter = add_adapter(member.model, config.adapter_rank, config.dropout, base)
        model, text = TrainableModel(member, config.freeze, adapter), TokenizerText(member, planned.vocabulary)
        check_fit(model, text, max_length, self.shown)
        return model.train(), text

    def learn(self, target: Path, config: TextConfig) -> Subwords:
        """The text of a model over an encoder: its tokeniser, and a dictionary of the target, learned.

        Of one over a whole model: its tokeniser.
        """
        from cgbench.models.text.subwords import Subwords
        from cgbench.models.text.tokenized import read_tokenizer

        tokenizer = read_tokenizer(self.planned.folder)
        if self.decodes:
            return Subwords.by(tokenizer)
        return Subwords.learn(target, target, config).with_source_by(tokenizer)

    def load_into(self, model: Any, source_size: int) -> None:
        """Give a model of ours the parameters of the encoder, or of encoder and decoder.

        :param source_size: ids of its tokeniser.
        :raises InputError: they do not fit.
        """
        from cgbench.models.architectures.pretrained.weights import load_pretrained
        from cgbench.models.external.loading import load_weights
        from cgbench.models.text.tokenized import mask_id, read_tokenizer

        weights = load_weights(self.planned.address, self.planned.folder, self.decodes)
        rows = len(weights["shared.weight" if self.decodes else "embeddings.word_embeddings.weight"])
        if rows != source_size:
            raise InputError(
                f"{self.shown}: its tokeniser has {source_size:,} ids, and its embeddings are {rows:,}: it is another "
                "model's"
            )
        load_pretrained(model, weights, mask_id(read_tokenizer(self.planned.folder)))


def plan_start(text: str, preset: Preset) -> tuple[Start, Preset]:
    """What ``hf:...`` stands for, and the preset with what its configuration says; nothing is loaded.

    :raises InputError: the name is wrong, there is no such model, or it is none that is trained here.
    """
    from cgbench.models.external.opening import plan_member

    whole = preset.model.architecture in OUTSIDE
    if not whole and not needs_encoder(preset):
        raise InputError(
            f"{argument('init', text)}: a model from outside; leave {argument('model')} and {argument('arch')} "
            f"out to train it as it is, or name a preset "
            f"over such a model (cgbench models), or set model.encoder; {preset.model.architecture} has an encoder of "
            "its own"
        )
    planned = plan_member(text)
    config: Any = read_json(planned.folder / "config.json")
    if planned.address.seed is not None:
        raise InputError(
            f"{argument('init', text)}: mc: has masks for translating; training draws its own: write hf:..."
        )
    if whole and not config.get("is_encoder_decoder"):
        raise InputError(
            f"{argument('init', text)}: {config['model_type']} is no encoder-decoder, and what is trained whole "
            f"is one (T5, BART, "
            "Marian, NLLB); over an encoder there are presets of ours (cgbench models)"
        )
    if planned.address.options.get("dtype", "float32") != "float32" or "device_map" in planned.address.options:
        raise InputError(
            f"{argument('init', text)}: weights are trained in float32, on one device: leave dtype, device_map out"
        )
    if getattr(preset.model, "adapter_rank", 0) and "adapter" in planned.address.options:
        raise InputError(
            f"{argument('init', text)}: an adapter over an adapter; leave adapter= or model.adapter_rank out"
        )
    values = _shape(config) if whole else _encoder_shape(text, config, preset)
    decodes = isinstance(preset.model, OverEncoderConfig) and preset.model.pretrained_decoder
    return Start(planned, whole, decodes), preset.replace({f"model.{name}": value for name, value in values.items()})


def needs_encoder(preset: Preset) -> bool:
    """Whether the encoder of a preset's model comes from elsewhere."""
    return isinstance(preset.model, OverEncoderConfig) and preset.model.pretrained_encoder


def default_preset() -> Preset:
    """How a model from outside is trained where nobody says otherwise."""
    return load_preset(PRESET)


_KINDS = {"roberta": ("roberta", "xlm-roberta", "camembert"), "bart": ("bart",)}
_WANTED: dict[str, dict[str, Any]] = {  # what their layers are, where their configurations leave a choice
    "roberta": {"layer_norm_eps": 1e-5, "hidden_act": "gelu", "type_vocab_size": 1, "pad_token_id": 1},
    "bart": {
        "activation_function": "gelu",
        "scale_embedding": False,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
    },
}
_NAMES = {
    "roberta": {
        "encoder_width": "hidden_size",
        "encoder_feedforward_width": "intermediate_size",
        "encoder_attention_heads": "num_attention_heads",
    },
    "bart": {
        "encoder_width": "d_model",
        "encoder_feedforward_width": "encoder_ffn_dim",
        "encoder_attention_heads": "encoder_attention_heads",
        "width": "d_model",
        "decoder_layers": "decoder_layers",
        "feedforward_width": "decoder_ffn_dim",
        "attention_heads": "decoder_attention_heads",
    },
}


def _encoder_shape(text: str, config: Any, preset: Preset) -> dict[str, int]:
    """What the settings of a model over an encoder (or over BART) are, by its configuration."""
    model = preset.model
    assert isinstance(model, OverEncoderConfig)
    if config["model_type"] not in _KINDS[model.encoder]:
        raise InputError(
            f"{argument('init', text)}: {config['model_type']} is no {model.encoder} (model.encoder={model.encoder})"
        )
    for name, value in _WANTED[model.encoder].items():
        if config.get(name, value) != value:
            theirs = "BART" if model.encoder == "bart" else "RoBERTa"
            raise InputError(
                f"{argument('init', text)}: its {name} is {config[name]}, and ours is {value}, as that of {theirs}"
            )
    layers = config["encoder_layers" if model.encoder == "bart" else "num_hidden_layers"]
    if parts := model.layers_of_encoder() - model.encoder_layers:
        if model.layers_of_encoder() != layers:
            raise InputError(
                f"{argument('init', text)}: has {layers} layers, and model.mixed_layers ({parts}) and "
                f"model.encoder_layers "
                f"({model.encoder_layers}) are {model.layers_of_encoder()} together"
            )
        layers = model.encoder_layers
    # RoBERTa counts the rows of its table, BART the tokens.
    rows = config["max_position_embeddings"] + (OFFSET if model.encoder == "bart" else 0)
    most = rows - OFFSET - (1 if model.encoder_marks else 0)  # <s> is no part of a sentence's length
    if preset.training.max_length > most:
        raise InputError(
            f"training.max_length={preset.training.max_length}: {text} has positions for {most:,} tokens; lower it"
        )
    found = {ours: config[theirs] for ours, theirs in _NAMES[model.encoder].items()}
    found |= {"encoder_layers": layers, "encoder_positions": rows}
    return found | ({"width": found["encoder_width"]} if model.positions == "encoder" else {})


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
