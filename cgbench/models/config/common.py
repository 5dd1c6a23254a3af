"""What a model is made of and how it is trained, as plain immutable data.

Every field has one dotted name (``training.max_updates``), in YAML, on the command line and in a checkpoint. What an
architecture adds to :class:`ModelConfig` is in :mod:`cgbench.models.config.architectures`; how values are read and
presets are found is in :mod:`cgbench.models.config.presets`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from cgbench.errors import InputError
from cgbench.settings import setting

LENGTH = "training.max_updates"  # the one setting that a run may be given more of
Unit = Literal["subwords", "words", "characters"]
UNITS: tuple[Unit, ...] = get_args(Unit)
Norm = Literal["pre", "post"]


class Section:
    """What the settings of a model, of training and so on share: how a value that does not fit others is refused."""

    section: ClassVar[str]

    def __post_init__(self) -> None:
        """Check what the type and the limits of a field cannot say; a class that overrides this calls it, too."""

    def _require(self, name: str, good: bool, rule: str) -> None:
        if not good:
            raise InputError(f"{self.section}.{name}={getattr(self, name)}: must be {rule}")


@dataclass(frozen=True)
class ModelConfig(Section):
    """The shape of a model, whatever its architecture; equal configurations and dictionaries have equal parameters."""

    section = "model"

    architecture: str = setting("", "how the model is built: one of those that cgbench models lists.")
    encoder_layers: int = setting(6, "layers of the encoder.", least=1)
    decoder_layers: int = setting(6, "layers of the decoder.", least=1)
    width: int = setting(512, "width of the states between layers.", least=1)
    dropout: float = setting(
        0.3, "probability to drop an element of embeddings and of what layers add.", least=0, below=1
    )

    @property
    def source_width(self) -> int:
        """Width of the encoder's states."""
        return self.width

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

    def _divides(self, name: str) -> None:
        self._require(name, self.width % getattr(self, name) == 0, f"a divisor of model.width ({self.width})")


@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    """What the Transformer and all that are made of its layers have; the defaults are those of fairseq's ``iwslt``."""

    architecture: str = "transformer"
    feedforward_width: int = setting(1024, "width of the hidden layer of feed-forward sublayers.", least=1)
    attention_heads: int = setting(4, "heads of every attention; they divide the width.", least=1)
    positions: Literal["sinusoidal", "interleaved", "relative", "shaw", "transformer_xl", "encoder"] = setting(
        "sinusoidal",
        "how places are told apart: ``sinusoidal`` (fairseq's order: sines, then cosines), ``interleaved`` (Vaswani et "
        "al., 2017, from place 0), ``relative`` (Huang et al., 2020: a table for queries and keys, one per layer), "
        "``shaw`` (Shaw et al., 2018, queries alone) or ``transformer_xl`` (Dai et al., 2019).",
    )
    max_relative_position: int = setting(
        16, "number P that distances are clipped with, to ±(P-1). Not for ``transformer_xl``.", least=1
    )
    norm: Norm = setting(
        "post",
        "where states are normalised: ``pre``, the input of each sublayer and the output of each stack, or ``post``, "
        "the sum of a sublayer's input and output.",
    )
    attention_dropout: float = setting(0.0, "probability to drop a weight of attention.", least=0, below=1)
    activation_dropout: float = setting(
        0.0, "probability to drop an element of a feed-forward sublayer's hidden layer.", least=0, below=1
    )
    activation: Literal["relu", "gelu"] = setting(
        "relu", "what is between the two maps of feed-forward sublayers: ``relu`` or ``gelu``.", later=True
    )
    embedding: Literal["fairseq", "unit", "length_1", "length_4", "teu", "none", "ped", "xavier"] = setting(
        "fairseq",
        "how word embeddings E (V rows, width d) start, and how they meet the positions P: ``fairseq``, N(0, 1/d), "
        "sqrt(d)·E + P; ``unit``, the same with rows of length 1; ``length_1`` and ``length_4``, rows of that length, "
        "E + P (Zheng and Lapata, 2022, on COGS); and the scalings of Csordás et al. (2021): ``teu``, Xavier uniform, "
        "sqrt(d)·E + P; ``none``, N(0, 1), E + P; ``ped``, N(0, 2/d), E + P/sqrt(d); ``xavier``, Xavier uniform, E.",
    )
    embedding_dropout: bool = setting(True, "whether ``dropout`` applies to embeddings.")
    attention_bias: bool = setting(True, "whether the projections of attention have a bias.")
    output_bias: bool = setting(False, "whether logits have a bias.")
    begin_source: bool = setting(False, "whether <s> is put before each source.")
    initialization: Literal["fairseq", "csordas"] = setting(
        "fairseq",
        "how layers start: ``fairseq``, or ``csordas``: Xavier for attention and (gain sqrt(2)) feed-forward layers.",
    )

    def __post_init__(self) -> None:
        rule = "another: nothing that is pre-trained reads the target here"
        self._require("positions", self.positions != "encoder" or self.may_read_places, rule)
        self._divides("attention_heads")
        if self.positions in ("sinusoidal", "interleaved", "transformer_xl"):
            self._require("width", self.width % 2 == 0 and self.width >= 4, "even for sinusoidal positions")

    @property
    def may_read_places(self) -> bool:
        """Whether ``positions`` may be ``encoder``: the vectors of a pre-trained model."""
        return False


@dataclass(frozen=True)
class TrainingConfig(Section):
    """How a model is trained. Lengths count subwords and the end token; an update is one step of the optimiser."""

    section = "training"

    max_updates: int = setting(100_000, "updates after which training ends.", least=1)
    learning_rate: float = setting(5e-4, "highest rate, reached after ``warmup_updates``.", above=0)
    schedule: Literal["inverse_sqrt", "linear", "constant", "noam"] = setting(
        "inverse_sqrt",
        "how the rate falls after the warm-up: ``inverse_sqrt``, with 1/sqrt(update) (Vaswani et al., 2017); "
        "``linear``, to nothing at the last update, which gets more out of a short run; or ``constant``, not at all. "
        "``noam`` is tensor2tensor's: learning_rate / sqrt(model.width) · min(1/sqrt(update), update / "
        "warmup_updates^1.5).",
    )
    warmup_updates: int = setting(4000, "updates in which the rate rises to its highest; 0 for none.", least=0)
    adam_beta1: float = setting(0.9, "share of the past in Adam's mean of gradients.", least=0, below=1)
    adam_beta2: float = setting(0.98, "share of the past in Adam's mean of squared gradients.", least=0, below=1)
    adam_epsilon: float = setting(1e-8, "what Adam adds to the root that it divides by.", above=0)
    weight_decay: float = setting(
        1e-4, "decoupled weight decay, times the learning rate (AdamW; what fairseq's Adam does).", least=0
    )
    label_smoothing: float = setting(
        0.1, "share of the probability that the loss spreads over the whole dictionary.", least=0, below=1
    )
    clip_norm: float = setting(0.0, "largest norm of the gradient, 0 for no limit.", least=0)
    max_tokens: int = setting(4096, "largest rows x longest side of a batch.", least=1)
    accumulation: int = setting(1, "batches that make an update.", least=1)
    batch_sentences: int = setting(
        0,
        "if not 0, a batch of training is so many pairs of any length, drawn with replacement (Csordás et al., 2021), "
        "whatever ``max_tokens``; an epoch is then as many batches as it takes to draw as many pairs as there are.",
        least=0,
    )
    batch_draw: Literal["replacement", "epoch"] = setting(
        "replacement",
        "how the pairs of ``batch_sentences`` are drawn: with ``replacement``, or an ``epoch`` uses every pair once, "
        "in batches of which the last may be smaller (Akyürek and Andreas, 2021).",
    )
    loss_mean: Literal["tokens", "sentences"] = setting(
        "tokens", "what the loss of an update is divided by: its ``tokens`` or its ``sentences``."
    )
    max_length: int = setting(
        256, "length of the longest side that is trained on; a pair with a longer one is left out.", least=2
    )
    validate_every: int = setting(2000, "updates between validations.", least=1)
    validate_every_epochs: int = setting(
        0,
        "if not 0, validate instead at the end of every so many epochs, as fairseq does. There is one at the end of "
        "training in any case.",
        later=True,
        least=0,
    )
    validate_from_epoch: int = setting(
        0, "number of the first epoch, from 1, at whose end ``validate_every_epochs`` validates.", later=True, least=0
    )
    validate_metric: Literal["loss", "bleu", "exact_match"] = setting(
        "loss", "what is best: ``loss``, ``bleu`` or ``exact_match`` (of whole sentences), both in percent."
    )
    validate_beam: int = setting(
        1, "beam of the decoding that ``bleu`` and ``exact_match`` need; 1 is greedy.", least=1
    )
    validate_length: Literal["targets", "source"] = setting(
        "targets",
        "how long a translation may be: ``targets``, 1.2 times its source and 10 tokens more, or as many more as the "
        "longest right answer needs; ``source``, never more than 10.",
        later=True,
    )
    validate_join: str = setting(
        "",
        "mark at the end of a word that the next word goes on with, where the text itself is in pieces (``@@``): they "
        "are joined, in it and in translations, before they are compared, as fairseq's --remove-bpe does. What "
        "``text.unit`` cuts is joined anyway.",
        later=True,
    )
    validate_tokenize: Literal["none", "13a"] = setting(
        "none", "words of BLEU: ``none``, as they are in the text; ``13a``, tokenised further by sacrebleu.", later=True
    )
    validate_sentences: int = setting(
        0, "how many pairs are decoded, evenly spaced in the validation text; 0 for all.", least=0
    )
    patience: int = setting(0, "stop after so many validations in a row without a better one; 0 for never.", least=0)
    checkpoint_every: int = setting(
        1000, "updates between checkpoints, from which training goes on when it was stopped.", least=1
    )
    log_every: int = setting(100, "updates between lines of the log.", least=1)
    keep: Literal["best", "last"] = setting(
        "best", "which model is the final one: the ``best`` of the validations, or the ``last``."
    )
    keep_checkpoints: int = setting(
        0,
        "keep the last so many of the checkpoints that are made every ``checkpoint_every`` updates and at the end, "
        "each a complete folder.",
        least=0,
    )
    threads: int = setting(
        1, "threads on a CPU; part of the recipe because it decides the order of floating-point sums.", least=1
    )
    precision: Literal["auto", "float32", "bfloat16"] = setting(
        "auto",
        "number format of matrix products: ``float32``, ``bfloat16``, or ``auto`` (bfloat16 where the device "
        "multiplies it in hardware).",
    )

    def __post_init__(self) -> None:
        rule = f"at most training.max_tokens ({self.max_tokens})"
        self._require("max_length", self.max_length <= self.max_tokens, rule)
        rule = "replacement where training.batch_sentences is 0"
        self._require("batch_draw", self.batch_draw != "epoch" or self.batch_sentences > 0, rule)
        rule = "0 where training.validate_every_epochs is 0"
        self._require("validate_from_epoch", self.validate_every_epochs > 0 or self.validate_from_epoch == 0, rule)


@dataclass(frozen=True)
class MethodConfig(Section):
    """What is minimised in training; what a method adds to this is in :mod:`cgbench.models.config.methods`."""

    section = "method"

    name: str = setting(
        "none",
        "what is minimised: one of the methods that cgbench models lists; ``none`` is cross entropy alone.",
    )


@dataclass(frozen=True)
class TextConfig:
    """How a line becomes tokens."""

    unit: Unit = setting(
        "subwords",
        "what a token is: ``subwords`` of words; ``words``, as white space separates them; or ``characters``, each one "
        "of the line a token, blanks included.",
    )
    merges: int = setting(10_000, "merge operations of the joint byte pair encoding that makes subwords.", least=0)
    joint_dictionary: bool = setting(
        False,
        "whether both sides have one dictionary; else each has what occurs on it. Embeddings stay apart.",
    )


def to_dict(config: Any) -> dict[str, Any]:
    """Return a configuration as a dictionary of plain values: what is stored, and what identifies a run.

    A field that came later is left out where it has its default, so that what was made before it is still found.
    """
    values = dataclasses.asdict(config)
    later = {each.name: each.default for each in dataclasses.fields(config) if each.metadata.get("later")}
    return {name: value for name, value in values.items() if name not in later or value != later[name]}
