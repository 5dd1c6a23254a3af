"""The configuration of models and training as immutable data.

A field has the same dotted name (``training.max_updates``) in YAML, on the command line and in a
checkpoint. See :mod:`cgbench.models.config.architectures` for the fields of each architecture, and
:mod:`cgbench.models.config.presets` for reading values and presets.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from cgbench.errors import InputError
from cgbench.settings import option

LENGTH = "training.max_updates"  # the setting that may be raised to extend a run
Unit = Literal["subwords", "words", "characters", "programs", "sketches"]
UNITS: tuple[Unit, ...] = get_args(Unit)
Norm = Literal["pre", "post"]


class Section:
    """Base of settings classes, with checks across fields."""

    section: ClassVar[str]

    def __post_init__(self) -> None:
        """Check constraints beyond the type and limits of a field; overriding methods call this
        one.
        """

    def _require(self, name: str, good: bool, rule: str) -> None:
        if not good:
            raise InputError(f"{self.section}.{name}={getattr(self, name)}: must be {rule}")


@dataclass(frozen=True)
class ModelConfig(Section):
    """The settings of any model; with the vocabularies they determine the shapes of its
    parameters.
    """

    section = "model"

    architecture: str = option("", "Architecture, one of those that cgbench models lists")
    encoder_layers: int = option(6, "Number of encoder layers", least=1)
    decoder_layers: int = option(6, "Number of decoder layers", least=1)
    width: int = option(512, "Width of the states between layers", least=1)
    dropout: float = option(
        0.3, "Dropout probability of embeddings and layer outputs", least=0, below=1
    )

    @property
    def source_width(self) -> int:
        """Width of the encoder's states."""
        return self.width

    @property
    def has_encoder_states(self) -> bool:
        """Whether the encoder's states depend only on the source; some training methods need
        this.
        """
        return True

    @property
    def shows_attention(self) -> bool:
        """Whether the model has ``decode_attending``: one distribution over the tokens of the
        source for each target token, which training can guide.
        """
        return True

    @property
    def begin_source(self) -> bool:
        """Whether the model reads <s> before each source."""
        return False

    @property
    def takes_vectors(self) -> bool:
        """Whether both sides read only vectors, so that a training method may mix them."""
        return True

    @property
    def projects_states(self) -> bool:
        """Whether the logits depend only on the decoder's states; some training methods compare
        these.
        """
        return True

    def _divides(self, name: str, of: str = "width") -> None:
        width = getattr(self, of)
        self._require(name, width % getattr(self, name) == 0, f"a divisor of model.{of} ({width})")


@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    """Settings of the Transformer and all architectures with its layers; the defaults are fairseq's
    ``iwslt``.
    """

    architecture: str = "transformer"
    feedforward_width: int = option(
        1024, "Width of the hidden layer of feed-forward sublayers", least=1
    )
    attention_heads: int = option(4, "Number of attention heads, a divisor of the width", least=1)
    positions: Literal[
        "sinusoidal", "interleaved", "timing", "relative", "shaw", "transformer_xl", "encoder"
    ] = option(
        "sinusoidal",
        "Position encoding: ``sinusoidal`` (fairseq's order: sines, then cosines), ``interleaved``"
        " (Vaswani et al., 2017, from position 0), ``timing`` (tensor2tensor: sines, then cosines,"
        " from position 0), ``relative`` (Huang et al., 2020: one table for"
        " queries and one for keys, per layer), ``shaw`` (Shaw et al., 2018, queries only) or"
        " ``transformer_xl`` (Dai et al., 2019)",
    )
    max_relative_position: int = option(
        16,
        "Number P that distances are clipped with, to ±(P-1); not for ``transformer_xl``",
        least=1,
    )
    norm: Norm = option(
        "post",
        "Layer normalisation: ``pre`` (the input of each sublayer and the output of each stack) or"
        " ``post`` (the sum of a sublayer's input and output)",
    )
    attention_dropout: float = option(
        0.0, "Dropout probability of attention weights", least=0, below=1
    )
    activation_dropout: float = option(
        0.0, "Dropout probability of the hidden layer of feed-forward sublayers", least=0, below=1
    )
    activation: Literal["relu", "gelu"] = option(
        "relu", "Activation function of feed-forward sublayers: ``relu`` or ``gelu``"
    )
    embedding: Literal["fairseq", "unit", "teu", "none", "ped", "xavier"] = option(
        "fairseq",
        "Initialisation of word embeddings E (V rows, width d) and their sum with the positions P."
        " ``fairseq``: N(0, 1/d), sqrt(d)·E + P; ``unit``: the same with rows of length 1. Scalings"
        " of Csordás et al. (2021): ``teu``: Xavier uniform, sqrt(d)·E + P; ``none``: N(0, 1), E +"
        " P; ``ped``: N(0, 2/d), E + P/sqrt(d). ``xavier``: Xavier uniform, E",
    )
    embedding_dropout: bool = option(True, "Whether ``dropout`` applies to embeddings")
    share_embeddings: bool = option(
        False,
        "Whether both sides share one table of word embeddings; needs ``text.joint_dictionary``",
    )
    norm_epsilon: float = option(
        1e-5, "Number that layer normalisation adds to the variance", above=0
    )
    attention_bias: bool = option(True, "Whether the attention projections have a bias")
    output_bias: bool = option(False, "Whether the logits have a bias")
    begin_source: bool = option(False, "Whether each source begins with <s>")
    begin_target: Literal["end", "zeros"] = option(
        "end",
        "What the decoder reads before a target: the vector of </s> (``end``), or ``zeros`` as in"
        " tensor2tensor",
    )
    initialization: Literal["fairseq", "csordas", "tensor2tensor"] = option(
        "fairseq",
        "Initialisation of layers: ``fairseq``, ``csordas`` (Xavier for attention, Xavier with"
        " gain sqrt(2) for feed-forward layers) or ``tensor2tensor`` (Xavier for every matrix,"
        " zeros for biases)",
    )

    def __post_init__(self) -> None:
        rule = "another value: no pre-trained model reads the target here"
        self._require("positions", self.positions != "encoder" or self.may_read_places, rule)
        self._divides("attention_heads")
        if self.positions in ("sinusoidal", "interleaved", "timing", "transformer_xl"):
            self._require(
                "width", self.width % 2 == 0 and self.width >= 4, "even for sinusoidal positions"
            )

    @property
    def may_read_places(self) -> bool:
        """Whether ``positions`` may be ``encoder``: the vectors of a pre-trained model."""
        return False


@dataclass(frozen=True)
class TrainingConfig(Section):
    """Training settings.

    Lengths count subwords and the end token; an update is one step of the optimiser.
    """

    section = "training"

    max_updates: int = option(100_000, "Number of updates", least=1)
    learning_rate: float = option(
        5e-4, "Peak learning rate, reached after ``warmup_updates``", above=0
    )
    pretrained_learning_rate: float = option(
        0.0,
        "Peak learning rate of the parameters that come from a pre-trained encoder; 0: that of all",
        least=0,
    )
    schedule: Literal["inverse_sqrt", "linear", "constant", "noam", "stairs"] = option(
        "inverse_sqrt",
        "Learning rate schedule after the warm-up: ``inverse_sqrt`` (Vaswani et al., 2017),"
        " ``linear`` (to zero at the last update; best for a short run), ``constant``, ``noam``"
        " (tensor2tensor's: learning_rate / sqrt(model.width) · min(1/sqrt(update), update /"
        " warmup_updates^1.5)), or ``stairs`` (0.96 times the rate after every ``stair_updates``"
        " updates; without a warm-up)",
    )
    stair_updates: int = option(
        100, "Number of updates between two decreases of the rate with ``stairs``", least=1
    )
    warmup_updates: int = option(
        4000,
        "Number of warm-up updates, in which the learning rate rises to its peak; 0: none",
        least=0,
    )
    optimizer: Literal["adam", "adafactor"] = option(
        "adam",
        "Optimiser: ``adam``, or ``adafactor`` as T5 was fine-tuned with it (Shazeer and Stern,"
        " 2018): updates are relative to the size of a parameter, and less memory is needed",
    )
    adam_beta1: float = option(0.9, "Decay rate of Adam's mean of gradients", least=0, below=1)
    adam_beta2: float = option(
        0.98, "Decay rate of Adam's mean of squared gradients", least=0, below=1
    )
    adam_epsilon: float = option(1e-8, "Number that Adam adds to the root it divides by", above=0)
    weight_decay: float = option(
        1e-4,
        "Decoupled weight decay, times the learning rate (AdamW, like fairseq's Adam)",
        least=0,
    )
    label_smoothing: float = option(
        0.1,
        "Label smoothing: probability that the loss spreads over the whole vocabulary",
        least=0,
        below=1,
    )
    clip_norm: float = option(0.0, "Maximum norm of the gradient; 0: no limit", least=0)
    max_tokens: int = option(
        4096, "Maximum size of a batch: rows times its longest side, in tokens", least=1
    )
    accumulation: int = option(1, "Number of batches per update", least=1)
    batch_sentences: int = option(
        0,
        "Number of pairs per batch, of any length and drawn with replacement (Csordás et al.,"
        " 2021), instead of ``max_tokens``; an epoch then draws as many pairs as there are. 0: use"
        " ``max_tokens``",
        least=0,
    )
    batch_draw: Literal["replacement", "epoch"] = option(
        "replacement",
        "How the pairs of ``batch_sentences`` are drawn: with ``replacement``, or each once per"
        " ``epoch``, where the last batch may be smaller (Akyürek and Andreas, 2021)",
    )
    loss_mean: Literal["tokens", "sentences"] = option(
        "tokens", "Divisor of the loss of an update: its number of ``tokens`` or of ``sentences``"
    )
    max_length: int = option(
        256,
        "Maximum length of either side of a training pair, with its end token; longer pairs are"
        " left out",
        least=2,
    )
    validate_every: int = option(
        2000,
        "Number of updates between validations; 0: validate only at the end of training",
        least=0,
    )
    validate_every_epochs: int = option(
        0,
        "Number of epochs between validations, at their ends as in fairseq, instead of"
        " ``validate_every``; 0: use ``validate_every``. The end of training always validates",
        least=0,
    )
    validate_from_epoch: int = option(
        0, "First epoch, counted from 1, that ``validate_every_epochs`` validates", least=0
    )
    validate_metric: Literal["loss", "bleu", "exact_match", "consistency"] = option(
        "loss",
        "Metric that decides the best checkpoint: ``loss``, ``bleu`` or ``exact_match`` (of whole"
        " sentences), both in percent, or ``consistency`` of predictions under two dropout masks"
        " (Yin et al., 2023)",
    )
    validate_beam: int = option(1, "Beam size for ``bleu`` and ``exact_match``; 1: greedy", least=1)
    validate_length: Literal["targets", "source"] = option(
        "targets",
        "Maximum length of a validation translation: ``targets`` (1.2 times its source plus 10"
        " tokens, or more where the longest reference needs it) or ``source`` (never more than"
        " these 10)",
    )
    validate_join: str = option(
        "",
        "Mark at the end of a word piece in the text itself, such as ``@@``; pieces are joined in"
        " references and translations before they are compared, like fairseq's --remove-bpe. Pieces"
        " made by ``text.unit`` are always joined",
    )
    validate_tokenize: Literal["none", "13a"] = option(
        "none",
        "Tokenisation for BLEU: ``none`` (words of the text as they are) or ``13a`` (sacrebleu's)",
    )
    patience: int = option(
        0, "Number of validations without improvement after which training stops; 0: never", least=0
    )
    checkpoint_every: int = option(
        1000,
        "Number of updates between checkpoints, from which an interrupted training resumes",
        least=1,
    )
    log_every: int = option(100, "Number of updates between lines of the log", least=1)
    keep: Literal["best", "last"] = option(
        "best", "Final model: the ``best`` of the validations, or the ``last``"
    )
    keep_checkpoints: int = option(
        0,
        "Number of the most recent checkpoints to keep, each a complete folder; they are written"
        " every ``checkpoint_every`` updates and at the end",
        least=0,
    )
    threads: int = option(
        1,
        "Number of CPU threads, a part of the recipe because it decides the order of floating-point"
        " sums",
        least=1,
    )
    precision: Literal["auto", "float32", "bfloat16"] = option(
        "auto",
        "Number format of matrix products: ``float32``, ``bfloat16``, or ``auto`` (bfloat16 where"
        " the device multiplies it in hardware), which is decided once, where a run is planned",
    )

    def __post_init__(self) -> None:
        rule = f"at most training.max_tokens ({self.max_tokens})"
        self._require("max_length", self.max_length <= self.max_tokens, rule)
        rule = "replacement with training.batch_sentences=0"
        self._require("batch_draw", self.batch_draw != "epoch" or self.batch_sentences > 0, rule)
        rule = "0 with training.validate_every_epochs=0"
        self._require(
            "validate_from_epoch",
            self.validate_every_epochs > 0 or self.validate_from_epoch == 0,
            rule,
        )


@dataclass(frozen=True)
class MethodConfig(Section):
    """The training method; :mod:`cgbench.models.config.methods` has the settings of each."""

    section = "method"

    name: str = option(
        "none",
        "Training method, one of those that cgbench models lists; ``none``: cross-entropy only",
    )


@dataclass(frozen=True)
class TextConfig:
    """Tokenisation settings."""

    unit: Unit = option(
        "subwords",
        "Unit of a token: ``subwords`` of words, ``words`` separated by white space,"
        " ``characters``, blanks included, or ``programs`` (words, but those of string literals are"
        " pieces of the source's tokeniser, which can be copied; only over a pre-trained encoder)"
        " or ``sketches`` (programs, with subtrees in the slots of a sketch)",
    )
    merges: int = option(
        10_000,
        "Number of merge operations of the joint byte pair encoding of ``subwords``",
        least=0,
    )
    ties: Literal["tokenizers", "subword-nmt"] = option(
        "tokenizers",
        "Which of equally frequent pairs is merged first: as in the library ``tokenizers``, or the"
        " last one by alphabet, as in ``subword-nmt`` (slower)",
    )
    joint_dictionary: bool = option(
        False, "Whether both sides share one vocabulary; their embeddings stay separate"
    )
