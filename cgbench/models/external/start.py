"""Start training from an external model (``--init hf:...``), resolved before it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from cgbench.errors import InputError, argument, warn
from cgbench.files import read_json
from cgbench.models.config.architectures import OUTSIDE
from cgbench.models.config.common import TextConfig
from cgbench.models.config.encoders import BERT_EPSILON, OFFSETS, OverEncoderConfig
from cgbench.models.config.hugging_face import HuggingFaceConfig
from cgbench.models.config.presets import Preset
from cgbench.models.lengths import positions_of

if TYPE_CHECKING:
    from cgbench.models.external.fine_tuning import TokenizerText, TrainableModel
    from cgbench.models.external.opening import Planned
    from cgbench.models.text.subwords import Subwords

FINE_TUNING = "fine_tuning"  # the default preset of a whole model


@dataclass(frozen=True)
class Start:
    """An initial model that is not loaded yet, and can be sent to worker processes.

    :param is_whole: whether the model itself is fine-tuned. Otherwise it becomes the encoder of one
        of our architectures, with a separate target vocabulary, or (``decodes``) encoder and
        decoder, with its tokeniser on both sides.
    """

    planned: Planned
    is_whole: bool
    decodes: bool = False

    @property
    def key(self) -> str:
        """A hash of the identity."""
        return self.planned.key

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return self.planned.address.text

    def open(
        self, config: HuggingFaceConfig, max_length: int, device: str
    ) -> tuple[TrainableModel, TokenizerText]:
        """Load a whole model; torch's global generator initialises a new adapter.

        :param max_length: maximum tokens of a training sentence.
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
        model, text = (
            TrainableModel(member, config.freeze, adapter),
            TokenizerText(member, planned.vocabulary),
        )
        check_fit(model, text, max_length, self.shown)
        return model.train(), text

    def learn(self, target: Path, config: TextConfig) -> Subwords:
        """The source tokeniser, and a vocabulary learned from the target; for a whole model, its
        tokeniser.
        """
        from cgbench.models.text.subwords import Subwords
        from cgbench.models.text.tokenized import read_tokenizer

        tokenizer = read_tokenizer(self.planned.folder)
        if self.decodes:
            return Subwords(tokenizer=tokenizer, both=True)
        return Subwords.learn(target, target, config, tokenizer)

    def load_into(self, model: Any, source_size: int) -> None:
        """Load the parameters of the encoder, or of encoder and decoder, into one of our models.

        :param source_size: ids of its tokeniser.
        """
        from cgbench.models.architectures.pretrained.weights import load_pretrained
        from cgbench.models.external.loading import load_weights
        from cgbench.models.text.tokenized import ids_of_bert, mask_id, read_tokenizer

        weights = load_weights(self.planned.address, self.planned.folder, self.decodes)
        rows = len(
            weights["shared.weight" if self.decodes else "embeddings.word_embeddings.weight"]
        )
        if rows != source_size:
            raise InputError(
                f"{self.shown}: the tokeniser belongs to another model: it has {source_size:,} ids,"
                f" but the model has {rows:,} embeddings"
            )
        if model.config.encoder == "bert":
            words = "embeddings.word_embeddings.weight"
            weights = {**weights, words: weights[words][ids_of_bert(self.planned.folder)]}
        load_pretrained(model, weights, mask_id(read_tokenizer(self.planned.folder)))


def plan_start(text: str, preset: Preset) -> tuple[Start, Preset]:
    """Resolve ``hf:...``, and complete the preset from the model's configuration; nothing is
    loaded.
    """
    from cgbench.models.external.opening import plan_member

    # Check the combination of model and preset.
    both_sides, option = preset.model.architecture in OUTSIDE, argument("init", text)
    if not both_sides and not getattr(preset.model, "pretrained_encoder", False):
        raise InputError(
            f"{option}: {preset.model.architecture} has its own encoder; to fine-tune the model"
            f" itself, leave out {argument('model')} and {argument('arch')}; to use its encoder,"
            " choose a preset for one (cgbench models) or set model.encoder"
        )
    planned = plan_member(text)
    config: Any = read_json(planned.folder / "config.json")
    if planned.address.seed is not None:
        raise InputError(f"{option}: mc: is only for translation; write hf:...")
    if both_sides and not config.get("is_encoder_decoder"):
        raise InputError(
            f"{option}: {config['model_type']} is not an encoder-decoder (T5, BART, Marian, NLLB),"
            " as fine-tuning needs; to use it as an encoder, choose a preset for one (cgbench"
            " models)"
        )
    if (
        planned.address.options.get("dtype", "float32") != "float32"
        or "device_map" in planned.address.options
    ):
        raise InputError(
            f"{option}: training uses float32 on one device; leave out dtype and device_map"
        )
    if getattr(preset.model, "adapter_rank", 0) and "adapter" in planned.address.options:
        raise InputError(
            f"{option}: has an adapter already; leave out adapter= or model.adapter_rank"
        )
    # Complete the preset from the model's configuration.
    longest: int | None
    if both_sides:
        shape, longest = _shape(config), positions_of(SimpleNamespace(**config))
    else:
        shape, longest = _encoder_shape(text, config, preset)
    changes = {f"model.{name}": value for name, value in shape.items()}
    if longest is not None and preset.training.max_length > longest:
        note = (
            f"{text} has positions for {longest:,} tokens, so"
            f" training.max_length={preset.training.max_length} is"
        )
        warn(f"{note} lowered to {longest:,}: longer pairs are skipped")
        changes["training.max_length"] = longest
    return Start(
        planned, both_sides, getattr(preset.model, "pretrained_decoder", False)
    ), preset.replace(changes)


_MODEL_TYPES = {
    "roberta": ("roberta", "xlm-roberta", "camembert"),
    "bert": ("bert",),
    "bart": ("bart",),
}
_WANTED: dict[
    str, dict[str, Any]
] = {  # what our layers implement, where their configurations leave a choice
    "roberta": {
        "layer_norm_eps": 1e-5,
        "hidden_act": "gelu",
        "type_vocab_size": 1,
        "pad_token_id": 1,
    },
    "bert": {
        "layer_norm_eps": BERT_EPSILON,
        "hidden_act": "gelu",
        "type_vocab_size": 2,
        "pad_token_id": 0,
    },
    "bart": {
        "activation_function": "gelu",
        "scale_embedding": False,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
    },
}
_ENCODER_NAMES = {
    "encoder_width": "hidden_size",
    "encoder_feedforward_width": "intermediate_size",
    "encoder_attention_heads": "num_attention_heads",
}
_NAMES = {
    "roberta": _ENCODER_NAMES,
    "bert": _ENCODER_NAMES,
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


def _encoder_shape(text: str, config: Any, preset: Preset) -> tuple[dict[str, int], int]:
    """The model settings that follow from the configuration of an encoder (or BART), and its
    longest sentence.
    """
    model = preset.model
    assert isinstance(model, OverEncoderConfig)
    if config["model_type"] not in _MODEL_TYPES[model.encoder]:
        raise InputError(
            f"{argument('init', text)}: {config['model_type']} is not {model.encoder}"
            f" (model.encoder={model.encoder})"
        )
    for name, value in _WANTED[model.encoder].items():
        if config.get(name, value) != value:
            family = {"roberta": "RoBERTa", "bert": "BERT", "bart": "BART"}[model.encoder]
            raise InputError(
                f"{argument('init', text)}: its {name} is {config[name]}; only {value}, as in"
                f" {family}, is supported"
            )
    layers = config["encoder_layers" if model.encoder == "bart" else "num_hidden_layers"]
    if mixed_layers := getattr(model, "mixed_layers", 0):
        if mixed_layers + model.encoder_layers != layers:
            raise InputError(
                f"{argument('init', text)}: has {layers} layers, but model.mixed_layers"
                f" ({mixed_layers}) and model.encoder_layers ({model.encoder_layers}) add up to"
                f" {mixed_layers + model.encoder_layers}"
            )
        layers = model.encoder_layers
    # RoBERTa's setting counts the rows of its table, BART's the tokens.
    offset = OFFSETS[model.encoder]
    rows = config["max_position_embeddings"] + (offset if model.encoder == "bart" else 0)
    most = (
        rows - offset - (1 if model.encoder_marks else 0)
    )  # <s> does not count in a sentence's length
    shape = {setting: config[name] for setting, name in _NAMES[model.encoder].items()}
    shape |= {"encoder_layers": layers, "encoder_positions": rows}
    return shape | ({"width": shape["encoder_width"]} if model.positions == "encoder" else {}), most


def _shape(config: Any) -> dict[str, int]:
    names = {
        "encoder_layers": ("encoder_layers", "num_layers"),
        "decoder_layers": ("decoder_layers", "num_decoder_layers", "num_layers"),
        "width": ("d_model", "hidden_size"),
    }
    values = {
        name: [config[key] for key in keys if isinstance(config.get(key), int)]
        for name, keys in names.items()
    }
    return {name: choices[0] for name, choices in values.items() if choices}
