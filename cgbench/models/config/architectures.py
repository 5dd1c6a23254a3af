"""The registry of architectures: configuration, code and source of each.

The settings of an architecture are in the file of its name beside this one, its code is in the
file of that name in :mod:`cgbench.models.architectures`.

It does not import torch, so that ``cgbench models`` and every check of a configuration are instant.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from cgbench.errors import InputError, argument, require
from cgbench.extensions import all_of_packages, load_from_package, of_packages
from cgbench.models.config.bert2seq import Bert2SeqConfig
from cgbench.models.config.cgps import CGPSConfig
from cgbench.models.config.coarse_to_fine import CoarseToFineConfig
from cgbench.models.config.common import ModelConfig
from cgbench.models.config.composition import CompositionConfig
from cgbench.models.config.dangle import DangleConfig
from cgbench.models.config.dlcl import DLCLConfig
from cgbench.models.config.evolved import EvolvedConfig
from cgbench.models.config.hugging_face import HuggingFaceConfig
from cgbench.models.config.lrf import LRFConfig
from cgbench.models.config.lstm_attention import LSTMAttentionConfig
from cgbench.models.config.lstm_lexicon import LEXICONS_WITH_FILE, LSTMLexiconConfig
from cgbench.models.config.nsen import NSENConfig
from cgbench.models.config.proto_transformer import ProtoTransformerConfig
from cgbench.models.config.r_dangle import RDangleConfig
from cgbench.models.config.syntactic_attention import SyntacticAttentionConfig
from cgbench.models.config.transformer import PlainTransformerConfig
from cgbench.models.config.transformer_accu import AccuConfig
from cgbench.models.config.universal import UniversalConfig


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
