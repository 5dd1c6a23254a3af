"""What a model is made of and how it is trained, as plain immutable data.

Every field has one dotted name (``training.max_updates``), in YAML, on the command line and in a checkpoint. What an
architecture adds to :class:`ModelConfig` is in :mod:`cgbench.models.config.architectures`; how values are read and
presets are
found is in :mod:`cgbench.models.config.presets`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from cgbench.errors import InputError

POSITIONS = ("sinusoidal", "interleaved", "relative", "shaw", "transformer_xl")
UNITS = ("subwords", "words", "characters")
EMBEDDINGS = ("fairseq", "unit", "teu", "none", "ped", "xavier")


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a model, whatever its architecture; equal configurations and dictionaries have equal parameters.

    :param width: of the states between layers.
    :param dropout: probability to drop an element of embeddings and of what layers add.
    """

    architecture: str = ""
    encoder_layers: int = 6
    decoder_layers: int = 6
    width: int = 512
    dropout: float = 0.3

    def __post_init__(self) -> None:
        for name in ("encoder_layers", "decoder_layers"):
            self._require(name, getattr(self, name) >= self.least_layers(name), f"at least {self.least_layers(name)}")
        self._at_least_one("width")
        self._probability("dropout")

    def least_layers(self, name: str) -> int:
        """Return the smallest number of ``encoder_layers`` or ``decoder_layers``."""
        return 1

    @property
    def has_encoder_states(self) -> bool:
        """Whether the encoder's states depend on the source alone; some training methods need them."""
        return True

    @property
    def takes_vectors(self) -> bool:
        """Whether both sides read vectors only, so that a training method may mix them."""
        return True

    @property
    def projects_states(self) -> bool:
        """Whether the decoder's states alone decide the logits; some training methods compare them."""
        return True

    def _require(self, name: str, good: bool, rule: str) -> None:
        require_field("model", name, getattr(self, name), good, rule)

    def _choose(self, name: str, *choices: str) -> None:
        self._require(name, getattr(self, name) in choices, f"one of {', '.join(choices)}")

    def _at_least_one(self, *names: str) -> None:
        for name in names:
            self._require(name, getattr(self, name) >= 1, "at least 1")

    def _probability(self, *names: str) -> None:
        for name in names:
            self._require(name, 0 <= getattr(self, name) < 1, "at least 0 and below 1")

    def _divides(self, name: str) -> None:
        heads = getattr(self, name)
        self._require(name, heads >= 1 and self.width % heads == 0, f"a divisor of model.width ({self.width})")


@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    """What the Transformer and all that are made of its layers have; the defaults are fairseq's ``iwslt`` Transformer.

    :param positions: ``sinusoidal`` (fairseq's order: sines, then cosines), ``interleaved`` (Vaswani et al., 2017, from
        place 0), ``relative`` (Huang et al., 2020: a table for queries and keys, one a layer), ``shaw`` (Shaw et al.,
        2018, queries alone) or ``transformer_xl`` (Dai et al., 2019).
    :param max_relative_position: P; distances are clipped to ±(P-1). Not for ``transformer_xl``.
    :param norm: ``pre`` (normalise the input of each sublayer, and the output of each stack) or ``post``.
    :param embedding: how word embeddings E (V rows, width d) start, and how they meet the positions P: ``fairseq``,
        N(0, 1/d), sqrt(d)·E + P; ``unit``, the same with rows of length 1; and the scalings of Csordás et al. (2021):
        ``teu``, Xavier uniform, sqrt(d)·E + P; ``none``, N(0, 1), E + P; ``ped``, N(0, 2/d), E + P/sqrt(d); ``xavier``,
        Xavier uniform, E.
    :param embedding_dropout: whether ``dropout`` applies to embeddings.
    :param attention_bias: whether the projections of attention have a bias; ``output_bias``: whether logits have.
    :param begin_source: put <s> before each source.
    :param initialization: ``fairseq``, or ``csordas``: Xavier for attention and (gain sqrt(2)) feed-forward layers.
    """

    architecture: str = "transformer"
    feedforward_width: int = 1024
    attention_heads: int = 4
    positions: str = "sinusoidal"
    max_relative_position: int = 16
    norm: str = "post"
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    embedding: str = "fairseq"
    embedding_dropout: bool = True
    attention_bias: bool = True
    output_bias: bool = False
    begin_source: bool = False
    initialization: str = "fairseq"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._at_least_one("feedforward_width", "attention_heads", "max_relative_position")
        self._probability("attention_dropout", "activation_dropout")
        self._choose("positions", *POSITIONS)
        self._choose("norm", "pre", "post")
        self._choose("embedding", *EMBEDDINGS)
        self._choose("initialization", "fairseq", "csordas")
        self._divides("attention_heads")
        if self.positions in ("sinusoidal", "interleaved", "transformer_xl"):
            self._require("width", self.width % 2 == 0 and self.width >= 4, "even for sinusoidal positions")


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained. Lengths count subwords and the end token; an update is one step of the optimiser.

    :param learning_rate: the highest rate, reached after ``warmup_updates``.
    :param schedule: how it falls then: ``inverse_sqrt``, with 1/sqrt(update) (Vaswani et al., 2017); ``linear``, to
        nothing at the last update, which gets more out of a short run; or ``constant``, not at all. ``noam`` is
        tensor2tensor's: learning_rate / sqrt(model.width) · min(1/sqrt(update), update / warmup_updates^1.5).
    :param weight_decay: decoupled, times the learning rate (AdamW; what fairseq's Adam does).
    :param clip_norm: largest norm of the gradient, 0 for no limit.
    :param max_tokens: largest rows x longest side of a batch; ``accumulation`` such batches make an update.
    :param batch_sentences: if not 0, a batch of training is so many pairs of any length, drawn with replacement
        (Csordás et al., 2021), whatever ``max_tokens``; an epoch is then as many batches as it takes to draw as many
        pairs as there are.
    :param batch_draw: how they are drawn: with ``replacement``, or an ``epoch`` uses every pair once, in batches of
        which the last may be smaller (Akyürek and Andreas, 2021).
    :param loss_mean: what the loss of an update is divided by: its ``tokens`` or its ``sentences``.
    :param max_length: a pair with a longer side is left out.
    :param validate_metric: what is best: ``loss``, ``bleu`` (of words as they are in the text, not tokenised further)
        or ``exact_match`` (of whole sentences), both in percent.
    :param validate_beam: beam of the decoding that the last two need; 1 is greedy.
    :param validate_sentences: how many pairs are decoded, evenly spaced in the validation text; 0 for all.
    :param patience: stop after so many validations in a row without a better one; 0 for never.
    :param keep: the final model: the ``best`` of the validations, or the ``last``.
    :param keep_checkpoints: keep the last so many of the checkpoints that are made every ``checkpoint_every`` updates
        and at the end, each a complete folder.
    :param threads: threads on a CPU; part of the recipe because it decides the order of floating-point sums.
    :param precision: of matrix products: ``float32``, ``bfloat16``, or ``auto`` (bfloat16 where the device multiplies
        it in hardware).
    """

    max_updates: int = 100_000
    learning_rate: float = 5e-4
    schedule: str = "inverse_sqrt"
    warmup_updates: int = 4000
    adam_beta1: float = 0.9
    adam_beta2: float = 0.98
    adam_epsilon: float = 1e-8
    weight_decay: float = 1e-4
    label_smoothing: float = 0.1
    clip_norm: float = 0.0
    max_tokens: int = 4096
    accumulation: int = 1
    batch_sentences: int = 0
    batch_draw: str = "replacement"
    loss_mean: str = "tokens"
    max_length: int = 256
    validate_every: int = 2000
    validate_metric: str = "loss"
    validate_beam: int = 1
    validate_sentences: int = 0
    patience: int = 0
    checkpoint_every: int = 1000
    log_every: int = 100
    keep: str = "best"
    keep_checkpoints: int = 0
    threads: int = 1
    precision: str = "auto"

    def __post_init__(self) -> None:
        for name in (
            "max_updates",
            "max_tokens",
            "accumulation",
            "validate_every",
            "validate_beam",
            "checkpoint_every",
            "log_every",
            "threads",
        ):
            self._require(name, getattr(self, name) >= 1, "at least 1")
        for name in ("learning_rate", "adam_epsilon"):
            self._require(name, getattr(self, name) > 0, "above 0")
        self._require("max_length", self.max_length >= 2, "at least 2")
        for name in (
            "warmup_updates",
            "weight_decay",
            "clip_norm",
            "batch_sentences",
            "validate_sentences",
            "patience",
            "keep_checkpoints",
        ):
            self._require(name, getattr(self, name) >= 0, "at least 0")
        for name in ("label_smoothing", "adam_beta1", "adam_beta2"):
            self._require(name, 0 <= getattr(self, name) < 1, "at least 0 and below 1")
        self._require(
            "max_length", self.max_length <= self.max_tokens, f"at most training.max_tokens ({self.max_tokens})"
        )
        self._choose("schedule", "inverse_sqrt", "linear", "constant", "noam")
        self._choose("batch_draw", "replacement", "epoch")
        if self.batch_draw == "epoch":
            self._require("batch_draw", self.batch_sentences > 0, "replacement where training.batch_sentences is 0")
        self._choose("loss_mean", "tokens", "sentences")
        self._choose("validate_metric", "loss", "bleu", "exact_match")
        self._choose("keep", "best", "last")
        self._choose("precision", "auto", "float32", "bfloat16")

    def _require(self, name: str, good: bool, rule: str) -> None:
        require_field("training", name, getattr(self, name), good, rule)

    def _choose(self, name: str, *choices: str) -> None:
        self._require(name, getattr(self, name) in choices, f"one of {', '.join(choices)}")


@dataclass(frozen=True)
class MethodConfig:
    """What is minimised in training; what a method adds to this is in :mod:`cgbench.models.config.methods`.

    :param name: ``none`` is cross entropy alone.
    """

    name: str = "none"

    def _require(self, name: str, good: bool, rule: str) -> None:
        require_field("method", name, getattr(self, name), good, rule)

    def _choose(self, name: str, *choices: str) -> None:
        self._require(name, getattr(self, name) in choices, f"one of {', '.join(choices)}")


@dataclass(frozen=True)
class TextConfig:
    """How a line becomes tokens.

    :param unit: ``subwords`` of words; ``words``, as white space separates them; or ``characters``, each one of the
        line a token, blanks included.
    :param merges: merge operations of the joint byte pair encoding that makes subwords.
    :param joint_dictionary: one dictionary for both sides; else each has what occurs on it. Embeddings stay apart.
    """

    unit: str = "subwords"
    merges: int = 10_000
    joint_dictionary: bool = False

    def __post_init__(self) -> None:
        require_field("text", "unit", self.unit, self.unit in UNITS, f"one of {', '.join(UNITS)}")
        require_field("text", "merges", self.merges, self.merges >= 0, "at least 0")


def to_dict(config: Any) -> dict[str, Any]:
    """Return a configuration as a dictionary of plain values."""
    return dataclasses.asdict(config)


def require_field(section: str, name: str, value: Any, good: bool, rule: str) -> None:
    """Refuse a value that does not fit.

    :raises InputError: ``good`` is false.
    """
    if not good:
        raise InputError(f"{section}.{name}={value}: must be {rule}")
