"""The registry of architectures: configuration, code and source of each.

It does not import torch, so that ``cgbench models`` and every check of a configuration are instant.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from cgbench.errors import InputError, argument, require
from cgbench.extensions import all_of_packages, load_from_package, of_packages
from cgbench.models.config.common import ModelConfig, Norm, TransformerConfig
from cgbench.models.config.encoders import OverEncoderConfig
from cgbench.settings import option


@dataclass(frozen=True)
class UniversalConfig(TransformerConfig):
    """Transformer with shared weights: one encoder layer is applied ``encoder_layers`` times, and
    one decoder layer.
    """

    architecture: str = "universal"
    step_signals: bool = option(
        False,
        "Whether positions and a learned vector of the step are added before every application of"
        " a layer (the ``basic`` recurrence of tensor2tensor), instead of positions once; needs"
        " ``positions`` ``timing``",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        rule = "timing with model.step_signals"
        self._require("positions", not self.step_signals or self.positions == "timing", rule)


@dataclass(frozen=True)
class EvolvedConfig(TransformerConfig):
    """The Evolved Transformer (So et al., 2019): layers that an architecture search found, with
    gated linear units and branches of convolutions besides attention. One layer is about as deep as
    two of a Transformer.

    They are always pre-norm, and their feed-forward sublayers are four times as wide as the model,
    whatever ``feedforward_width``, ``activation`` and ``activation_dropout`` are.
    """

    architecture: str = "evolved"
    norm: Norm = "pre"
    positions: Literal["timing", "sinusoidal", "interleaved"] = option(
        "timing", "Position encoding, added to the embeddings"
    )
    initialization: Literal["tensor2tensor"] = option(
        "tensor2tensor", "Initialisation of layers: Xavier for every matrix, zeros for biases"
    )
    joint_heads: int = option(
        16,
        "Number of heads of the self-attention beside the attention to the source: 16 at least in"
        " tensor2tensor of 2018 and 2019, later twice ``attention_heads`` and 16 at most",
        least=1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("norm", self.norm == "pre", "pre")
        self._divides("joint_heads")
        self._require("width", self.width % 2 == 0, "even")


@dataclass(frozen=True)
class PrefixConfig(OverEncoderConfig):
    """Common settings of architectures that re-encode the source with target prefixes in mixed
    lower layers.
    """

    mixed_layers: int = option(
        4, "Number of layers over the source and the target prefix (k1)", least=1
    )
    mixed_attention_heads: int = option(8, "Number of attention heads of the mixed layers", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._divides("mixed_attention_heads")
        if self.pretrained_encoder:
            self._require(
                "positions", self.positions == "encoder", "encoder with a pre-trained encoder"
            )
            rule = (
                f"model.encoder_width ({self.encoder_width}): the encoder reads prefixes and"
                " sources"
            )
            self._require("width", self.width == self.encoder_width, rule)

    @property
    def may_read_places(self) -> bool:
        """See :class:`TransformerConfig`: the encoder also reads prefixes."""
        return self.pretrained_encoder

    has_encoder_states = False  # the source encoding depends on the prefix
    shows_attention = False  # source and prefix are read together


@dataclass(frozen=True)
class DangleConfig(PrefixConfig):
    """Dangle (Zheng and Lapata, 2022): the source is re-encoded for every target prefix."""

    architecture: str = "dangle"
    takes_vectors = False  # each prefix has its own vectors
    form: Literal["encoder_decoder", "encoder_only"] = option(
        "encoder_decoder",
        "Parts of the model: ``encoder_decoder``, or ``encoder_only`` (no decoder; the state of the"
        " end vector predicts)",
    )
    encoder_layers: int = option(
        4,
        "Number of source-only layers above the mixed ones (k2); ``encoder_only`` has neither these"
        " nor ``decoder_layers``",
        least=0,
    )
    decoder_layers: int = option(4, "Number of decoder layers", least=0)
    positions: Literal["relative", "sinusoidal", "encoder"] = option(
        "relative",
        "Position encoding: ``relative``; ``sinusoidal``, for the target counted from the end of"
        " each prefix; or ``encoder``, the vectors of RoBERTa, also counted from the end, or of"
        " BART, counted from the beginning",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        rule = "end with model.architecture=dangle, whose prefixes begin with </s>"
        self._require("begin_target", self.begin_target == "end", rule)
        if self.form == "encoder_only":
            for name in ("encoder_layers", "decoder_layers"):
                rule = "0 with model.form=encoder_only, whose layers are model.mixed_layers"
                self._require(name, getattr(self, name) == 0, rule)
        else:
            self._require("decoder_layers", self.decoder_layers >= 1, "at least 1")

    @property
    def may_be_decoder(self) -> bool:
        """See :class:`OverEncoderConfig`."""
        return self.form == "encoder_decoder"


@dataclass(frozen=True)
class RDangleConfig(PrefixConfig):
    """R-Dangle (Zheng and Lapata, 2023): the source is re-encoded for every ``interval``-th target
    prefix.
    """

    architecture: str = "r_dangle"
    may_be_decoder = True
    mixed_layers: int = 2
    encoder_layers: int = option(
        8, "Number of source-only layers above the mixed ones (k2)", least=0
    )
    decoder_layers: int = 12
    positions: Literal["relative", "encoder"] = option(
        "relative",
        "Position encoding: ``relative``, or the vectors of a pre-trained ``encoder``, for the"
        " target counted from its beginning",
    )
    norm: Norm = "pre"
    interval: int = option(1, "Number of target tokens between two re-encodings (o)", least=1)
    values: Literal["separate", "shared"] = option(
        "separate",
        "Values of cross-attention: from an encoder over the source only (``separate``), or"
        " re-encoded with the keys by one encoder (``shared``)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pretrained_encoder:
            self._require("values", self.values == "shared", "shared with a pre-trained encoder")
            self._require(
                "norm",
                self.norm == "post",
                "post with a pre-trained encoder, whose layers are post-norm",
            )

    @property
    def takes_vectors(self) -> bool:
        """See :class:`ModelConfig`; with BART, target vectors differ between encoder and
        decoder.
        """
        return not self.pretrained_decoder


@dataclass(frozen=True)
class CompositionConfig(OverEncoderConfig):
    """COMPOSITION (Lin et al., 2023): each decoder layer reads its own mixtures of all encoder
    sublayers.
    """

    architecture: str = "composition"
    sublayers: Literal["both", "self_attention", "feed_forward"] = option(
        "both",
        "Sublayers whose outputs are mixed: ``both``, ``self_attention`` or ``feed_forward``",
    )
    mixtures: Literal["keys_values", "encoder"] = option(
        "keys_values",
        "Mixtures: ``keys_values`` (two per decoder layer) or ``encoder`` (one for all)",
    )
    top_layers: int = option(0, "Number of encoder layers to mix, from the top; 0: all", least=0)
    initial: Literal["mean", "top"] = option(
        "mean", "Initial weights: ``mean``, or ``top`` (only the output of the encoder)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.initial == "top":
            rule = "mean with model.sublayers=self_attention, which excludes the top"
            self._require("initial", self.sublayers != "self_attention", rule)
        rule = f"from 0 to model.encoder_layers ({self.encoder_layers})"
        self._require("top_layers", self.top_layers <= self.encoder_layers, rule)


@dataclass(frozen=True)
class LRFConfig(OverEncoderConfig):
    """LRF (Zheng et al., 2023, layer-wise representation fusion): positions attend to their states
    in lower layers.
    """

    architecture: str = "lrf"
    fuse: Literal["both", "source", "target"] = option(
        "both", "Stacks with fuse-attention: ``both``, ``source`` or ``target``"
    )
    fuse_layers: Literal["all", "top"] = option(
        "all", "Layers with fuse-attention: ``all``, or ``top`` (only the highest of each stack)"
    )


@dataclass(frozen=True)
class AccuConfig(TransformerConfig):
    """Transformer-accu: layers read sums of layers; two papers use the name for different
    architectures (``form``).
    """

    architecture: str = "transformer_accu"
    form: Literal["inputs", "all", "prefix"] = option(
        "inputs",
        "Sums: ``inputs`` (LRF paper: each layer of both stacks reads the sum of the embedding and"
        " all layers before), ``all`` (COMPOSITION paper, text: every decoder layer reads the sum"
        " of all encoder sublayers) or ``prefix`` (its footnote: decoder layer i reads the sum of"
        " the embedding and the encoder layers before i)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form == "prefix":
            rule = (
                f"at most model.encoder_layers + 1 ({self.encoder_layers + 1}) with"
                " model.form=prefix"
            )
            self._require("decoder_layers", self.decoder_layers <= self.encoder_layers + 1, rule)


@dataclass(frozen=True)
class DLCLConfig(TransformerConfig):
    """DLCL (Wang et al., 2019): each layer reads a learned linear combination of the embedding and
    lower layers.
    """

    architecture: str = "dlcl"


@dataclass(frozen=True)
class ProtoTransformerConfig(TransformerConfig):
    """Proto-Transformer (Yin et al., 2022): source words attend to centroids of the states of their
    word.

    It is a Transformer until the states are clustered, once, in training. The defaults follow the
    authors' script and code for CoGnition.
    """

    architecture: str = "proto_transformer"
    takes_vectors = False  # prototypes need words
    prototypes: int = option(
        3, "Number of centroids per source word (K); with 1 they are means", least=1
    )
    prototype_epochs: int = option(
        8,
        "Number of epochs without prototypes, after which states are clustered and the centroids"
        " stay constant; 0: cluster the states of the untrained model",
        least=0,
    )
    prototype_layer: int = option(
        5,
        "Encoder layer whose output is clustered, from 1. The authors' code takes the fifth of six,"
        " although its comment says the last",
        least=1,
    )
    prototype_min_count: int = option(
        50,
        "Minimum count of a word in the training text to be clustered; rarer words have no"
        " prototypes",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        rule = f"at most model.encoder_layers ({self.encoder_layers})"
        self._require("prototype_layer", self.prototype_layer <= self.encoder_layers, rule)
        rule = f"at least model.prototypes ({self.prototypes})"
        self._require("prototype_min_count", self.prototype_min_count >= self.prototypes, rule)


@dataclass(frozen=True)
class PlainTransformerConfig(OverEncoderConfig):
    """The Transformer."""

    architecture: str = "transformer"
    may_be_decoder = True


LEXICONS_WITH_FILE = ("hard", "soft", "learned")


@dataclass(frozen=True)
class LSTMLexiconConfig(ModelConfig):
    """LSTM encoder-decoder with a lexicon in its output layer (Akyürek and Andreas, 2021)."""

    architecture: str = "lstm_lexicon"
    begin_source = True  # always, as in the authors' code
    takes_vectors = False
    lexicon: Literal["none", "copy", "hard", "soft", "learned", "uniform"] = option(
        "none",
        "Source of word translations: ``none``; ``copy`` (words of both vocabularies translate to"
        " themselves); from a lexicon file, ``hard`` (one word each), ``soft`` (distributions) or"
        " ``learned`` (distributions trained further with the model); or learned without a file"
        " from a ``uniform`` start",
    )
    lexicon_temperature: float = option(
        0.1,
        "Temperature of the distributions of a soft lexicon; half the ``soft_temp`` of the authors'"
        " code",
        above=0,
    )
    encoder_layers: int = option(
        2,
        "Number of layers of the encoder and of the decoder, which starts from the encoder's last"
        " states",
    )
    decoder_layers: int = option(2, "Number of decoder layers, the same as of the encoder")
    dropout: float = 0.4
    feature_dropout: float = option(
        0.0,
        "Additional dropout of the features that predict (the authors' ``highdrop``: 0.5)",
        least=0,
        below=1,
    )

    def __post_init__(self) -> None:
        rule = f"model.encoder_layers ({self.encoder_layers})"
        self._require("decoder_layers", self.decoder_layers == self.encoder_layers, rule)

    @property
    def lexicon_is_learned(self) -> bool:
        """Whether the lexicon is trained with the model."""
        return self.lexicon in ("learned", "uniform")

    @property
    def projects_states(self) -> bool:
        """See :class:`ModelConfig`."""
        return self.lexicon == "none"


@dataclass(frozen=True)
class LSTMAttentionConfig(ModelConfig):
    """LSTM encoder-decoder with attention, as in tensor2tensor, where CFQ's authors trained it. It
    reads the source backwards and feeds back a linear map of its state and the attended source.
    """

    architecture: str = "lstm_attention"
    takes_vectors = False
    encoder_layers: int = option(2, "Number of layers of the encoder and of the decoder")
    decoder_layers: int = option(2, "Number of decoder layers, the same as of the encoder")
    dropout: float = option(
        0.4, "Dropout probability of the inputs of all layers", least=0, below=1
    )

    def __post_init__(self) -> None:
        rule = f"model.encoder_layers ({self.encoder_layers})"
        self._require("decoder_layers", self.decoder_layers == self.encoder_layers, rule)


@dataclass(frozen=True)
class SyntacticAttentionConfig(ModelConfig):
    """Syntactic attention (Russin et al., 2019): attention uses only syntax, predictions only
    meanings.
    """

    architecture: str = "syntactic_attention"
    begin_source = True  # always, as in the authors' code
    has_encoder_states = False  # states and meanings are separate
    takes_vectors = False
    projects_states = False  # predictions read words
    encoder_layers: int = option(
        1, "Number of layers of each of the two encoders and of the decoder"
    )
    decoder_layers: int = option(1, "Number of decoder layers, the same as of the encoders")
    width: int = option(
        400, "Width of both directions of the second encoder together, and of the decoder", least=1
    )
    dropout: float = 0.5
    syntax_width: int = option(
        100, "Width of the embeddings that attention is computed from", least=1
    )
    meaning_width: int = option(120, "Width of the embeddings that are read", least=1)
    read_syntax: bool = option(False, "Whether predictions also read the attended syntax states")

    def __post_init__(self) -> None:
        self._require("width", self.width % 2 == 0, "even")
        rule = f"model.encoder_layers ({self.encoder_layers})"
        self._require("decoder_layers", self.decoder_layers == self.encoder_layers, rule)


@dataclass(frozen=True)
class CGPSConfig(ModelConfig):
    """CGPS (Li et al., 2019): one embedding of a source word decides where attention points, the
    other what it reads. Noise and a penalty on both keep them apart, and a prediction is a linear
    map of the source words that it attends to.
    """

    architecture: str = "cgps"
    has_encoder_states = False  # what a prediction reads is no state
    takes_vectors = False
    projects_states = False  # predictions read words
    encoder_layers: int = option(1, "Number of encoder layers, always 1")
    decoder_layers: int = option(1, "Number of decoder layers, always 1")
    width: int = option(
        64, "Width of both directions of the encoder together, and of the decoder", least=1
    )
    dropout: float = option(0.0, "Dropout probability, always 0: this model has noise instead")
    primitive_width: int = option(16, "Width of the embeddings that are read", least=1)
    function_width: int = option(
        8, "Width of the embeddings that attention is computed from", least=1
    )
    input_slots: int = option(
        10,
        "Maximum number of source words, with the end of the sentence; attention to each position"
        " has its own weights",
        least=1,
    )
    noise: float = option(
        1.0, "Standard deviation of the noise on both embeddings in training", least=0
    )
    penalty: float = option(
        0.1,
        "Weight of the mean square of both embeddings, summed over the words of a source, in the"
        " loss",
        least=0,
    )

    def __post_init__(self) -> None:
        self._require("width", self.width % 2 == 0, "even")
        for name, value in (("encoder_layers", 1), ("decoder_layers", 1), ("dropout", 0)):
            self._require(name, getattr(self, name) == value, str(value))


@dataclass(frozen=True)
class Bert2SeqConfig(OverEncoderConfig):
    """BERT2SEQ (Yin et al., 2021): an LSTM decoder attends to BERT's states of the source and feeds
    its attentional vector back. One softmax chooses between symbols that it generates and pieces of
    the source that it copies.

    ``decoder_layers``, ``width`` and ``dropout`` are the decoder's.
    """

    architecture: str = "bert2seq"
    takes_vectors = False  # copied words are read as one symbol
    projects_states = False  # the output also depends on what may be copied
    decoder_layers: int = option(2, "Number of LSTM layers of the decoder", least=1)
    width: int = 256
    dropout: float = option(
        0.2,
        "Dropout probability between the decoder's layers, and of the vector that predicts",
        least=0,
        below=1,
    )
    target_width: int = option(128, "Width of the target embeddings", least=1)
    copies: bool = option(
        False,
        "Whether pieces of the source can be copied, as with BERT; needs ``text.unit=programs``",
    )


@dataclass(frozen=True)
class NSENConfig(ModelConfig):
    """Neural Shuffle-Exchange network (Freivalds et al., 2019): switches on pairs of neighbouring
    positions and fixed shuffles connect all positions in O(n log n) steps. The whole target is
    predicted at once, from the source alone.
    """

    architecture: str = "nsen"
    has_encoder_states = False  # source and target share all positions
    shows_attention = False  # it has none
    takes_vectors = False
    projects_states = False  # its loss also counts padding
    encoder_layers: int = option(2, "Number of blocks, each a way there and back", least=1)
    decoder_layers: int = option(2, "The same number: the blocks also write the target", least=1)
    width: int = option(384, "Width of the states, an even number", least=2)
    dropout: float = option(
        0.1, "Dropout probability, divided by the binary logarithm of the length", least=0, below=1
    )
    form: Literal["tensor2tensor", "original"] = option(
        "tensor2tensor",
        "Which of the authors' programs: ``tensor2tensor`` (their port), or ``original``, which has"
        " one switch less in each direction and other residual connections",
    )
    max_length: int = option(
        256,
        "Length, a power of two, to which both sides are padded in evaluation; it limits both",
        least=2,
    )

    def __post_init__(self) -> None:
        self._require("width", self.width % 2 == 0, "even")
        rule = f"model.encoder_layers ({self.encoder_layers})"
        self._require("decoder_layers", self.decoder_layers == self.encoder_layers, rule)
        power = self.max_length & (self.max_length - 1) == 0
        self._require("max_length", power, "a power of two")


@dataclass(frozen=True)
class CoarseToFineConfig(Bert2SeqConfig):
    """C2F (Yin et al., 2021): the decoder of BERT2SEQ predicts a sketch of a program with slots.
    Then it predicts the subtree of each slot, starting from the state that predicted the slot.
    """

    architecture: str = "coarse_to_fine"
    tag_width: int = option(
        32, "Number of learned values that tell the decoder that it is in a slot", least=1
    )


@dataclass(frozen=True)
class HuggingFaceConfig(ModelConfig):
    """A fine-tuned encoder-decoder from transformers (T5, BART, Marian, NLLB ...).

    Its ``config.json`` sets layers and width, whatever is set here.
    """

    architecture: str = "hugging_face"
    has_encoder_states = False
    shows_attention = False  # the words of a text have no place in its tokens
    takes_vectors = False
    projects_states = False
    dropout: float = option(
        0.1, "Dropout probability, if the model's own configuration has a single one"
    )
    freeze: Literal["none", "embeddings", "encoder"] = option(
        "none",
        "Frozen part: ``none``, the word ``embeddings`` (with an output layer tied to them), or the"
        " ``encoder`` with its embeddings",
    )

    adapter_rank: int = option(
        0,
        "Rank of the low-rank matrices added to all linear maps but the last (LoRA, Hu et al.,"
        " 2022), with scale 2; only they are trained and saved. 0: train the model itself",
        least=0,
    )

    def __post_init__(self) -> None:
        rule = "none with model.adapter_rank, which freezes the whole model"
        self._require("freeze", not self.adapter_rank or self.freeze == "none", rule)


@dataclass(frozen=True)
class Architecture:
    """A row of the registry: configuration, builder and source.

    :param module: name of a module; ours are relative to :mod:`cgbench.models.architectures`.
    """

    config: type[ModelConfig]
    module: str
    builder: str
    summary: str
    paper: str


ARCHITECTURES = {
    "transformer": Architecture(
        PlainTransformerConfig,
        ".pretrained.transformer",
        "build_transformer",
        "encoder and decoder of self-attention",
        "Vaswani et al. 2017",
    ),
    "universal": Architecture(
        UniversalConfig,
        ".universal",
        "Universal",
        "layers with shared weights",
        "Csordás et al. 2021",
    ),
    "evolved": Architecture(
        EvolvedConfig,
        ".evolved",
        "EvolvedTransformer",
        "searched layers with gates and convolutions",
        "So et al. 2019",
    ),
    "dangle": Architecture(
        DangleConfig,
        ".dangle",
        "build_dangle",
        "source re-encoded for every prefix",
        "Zheng and Lapata 2022",
    ),
    "r_dangle": Architecture(
        RDangleConfig,
        ".r_dangle",
        "RDangle",
        "source re-encoded at intervals, for keys",
        "Zheng and Lapata 2023",
    ),
    "composition": Architecture(
        CompositionConfig,
        ".composition",
        "Composition",
        "mixtures of encoder sublayers",
        "Lin et al. 2023 (COMPOSITION)",
    ),
    "lrf": Architecture(
        LRFConfig, ".lrf", "LRF", "attention to the layers below", "Zheng et al. 2023 (LRF)"
    ),
    "transformer_accu": Architecture(
        AccuConfig,
        ".transformer_accu",
        "TransformerAccu",
        "sums of layers",
        "Lin et al. 2023, Zheng et al. 2023",
    ),
    "dlcl": Architecture(
        DLCLConfig, ".dlcl", "DLCL", "learned combinations of layers", "Wang et al. 2019"
    ),
    "proto_transformer": Architecture(
        ProtoTransformerConfig,
        ".proto_transformer",
        "ProtoTransformer",
        "source words attend to centroids of their states",
        "Yin et al. 2022",
    ),
    "lstm_lexicon": Architecture(
        LSTMLexiconConfig,
        ".lstm_lexicon",
        "LSTMLexicon",
        "LSTMs; plain, copying, or with a lexicon",
        "Akyürek and Andreas 2021",
    ),
    "lstm_attention": Architecture(
        LSTMAttentionConfig,
        ".lstm_attention",
        "LSTMAttention",
        "LSTMs with attention, as in tensor2tensor",
        "Keysers et al. 2020",
    ),
    "syntactic_attention": Architecture(
        SyntacticAttentionConfig,
        ".syntactic_attention",
        "SyntacticAttention",
        "attention uses syntax, output uses words",
        "Russin et al. 2019",
    ),
    "cgps": Architecture(
        CGPSConfig,
        ".cgps",
        "CGPS",
        "two embeddings per word, one to attend and one to read",
        "Li et al. 2019",
    ),
    "bert2seq": Architecture(
        Bert2SeqConfig,
        ".bert2seq",
        "Bert2Seq",
        "LSTM decoder over BERT that copies",
        "Yin et al. 2021",
    ),
    "coarse_to_fine": Architecture(
        CoarseToFineConfig,
        ".coarse_to_fine",
        "CoarseToFine",
        "predicts a sketch, then the subtree of each slot",
        "Yin et al. 2021",
    ),
    "nsen": Architecture(
        NSENConfig,
        ".nsen",
        "NSEN",
        "switches and shuffles; the target at once",
        "Freivalds et al. 2019",
    ),
}


OUTSIDE = {
    "hugging_face": Architecture(
        HuggingFaceConfig,
        "",
        "",
        "a whole pre-trained model, from --init hf:...",
        "Wolf et al. 2020",
    )
}
"""Architectures that the ``config.json`` of an external model defines."""


def added_architectures() -> dict[str, Architecture]:
    """Return the architectures of installed packages (entry points of the group
    ``cgbench.architectures``); warn of those that cannot be loaded.
    """
    return dict(all_of_packages("architectures", Architecture, _WHAT))


def find_architecture(name: str) -> Architecture | None:
    """Return an architecture of this package, of external models or of an installed package; None
    for an unknown name.

    :raises InputError: that of an installed package cannot be loaded.
    """
    if entry := ARCHITECTURES.get(name) or OUTSIDE.get(name):
        return entry
    if (point := of_packages("architectures").get(name)) is None:
        return None
    try:
        loaded: Architecture = load_from_package("architectures", point, Architecture, _WHAT)
    except InputError as error:
        raise InputError(f"model.architecture={name}: {error.message}") from None
    return loaded


_WHAT = "an Architecture (docs/how-to/add-an-architecture.md)"


def check_lexicon(model: object, lexicon: object) -> None:
    """Check that there is a lexicon file if, and only if, a model needs one.

    :param model: any model's configuration; ``lexicon``: the file, or None.
    """
    needed = isinstance(model, LSTMLexiconConfig) and model.lexicon in LEXICONS_WITH_FILE
    if needed and lexicon is None:
        raise InputError(
            f"model.lexicon={getattr(model, 'lexicon', '')}: needs a lexicon; make one with cgbench"
            f" lexicon learn, and add it with {argument('lexicon')}"
        )
    if lexicon is not None and not needed:
        raise InputError(
            f"{lexicon}: this model uses no lexicon; set model.lexicon to"
            f" {', '.join(LEXICONS_WITH_FILE)}"
        )


def build_model(config: ModelConfig, source_size: int, target_size: int) -> Any:
    """Build a model with the interface of the Transformer, initialised from torch's global
    generator.

    :param source_size: source vocabulary size with special tokens; ``target_size``: of the target.
    """
    require("torch", "models")
    name = config.architecture
    entry = find_architecture(name)
    assert entry is not None  # the configuration was checked
    module = import_module(entry.module, "cgbench.models.architectures")
    return getattr(module, entry.builder)(config, source_size, target_size)
