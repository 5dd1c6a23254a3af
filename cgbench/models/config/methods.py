"""The registry of training methods: settings, objective and source of each.

It does not import torch, so that every check of a configuration is instant. The objectives are in
:mod:`cgbench.models.training.objective` and one file per method.
"""

from dataclasses import dataclass
from typing import Literal

from cgbench.errors import InputError
from cgbench.models.config.common import MethodConfig, ModelConfig
from cgbench.settings import option


@dataclass(frozen=True)
class SeqMixConfig(MethodConfig):
    """SeqMix (Guo et al., 2020): train on mixtures of random pairs of sentences."""

    alpha: float = option(
        0.1,
        "Parameter of Beta(alpha, alpha), the distribution of mixing weights; the larger weight"
        " goes to the sentence itself. 0.1 is from the authors' script for WMT; they give none for"
        " other data",
        least=0.01,
    )


@dataclass(frozen=True)
class CRegConfig(MethodConfig):
    """CReg (Yin et al., 2023): equal tokens get similar states in all contexts, and two views
    similar predictions.

    L = cross entropy + alpha·(contrastive loss of states) + beta·(distance of the predictions of
    two dropout masks). The defaults follow the authors' script for CoGnition, even where it differs
    from the paper (alpha 0.5 there).
    """

    states: Literal["decoder", "encoder"] = option(
        "decoder",
        "States to compare: ``decoder`` (top states, by the token they predict) or ``encoder`` (top"
        " states, by their own token)",
    )
    alpha: float = option(0.1, "Weight of the contrastive loss of states", least=0)
    beta: float = option(
        3.0, "Weight of the distance between the predictions of two dropout masks", least=0
    )
    temperature: float = option(0.05, "Temperature of the contrastive loss", above=0)
    scale_by_temperature: bool = option(
        True,
        "Whether the contrastive loss is multiplied by its temperature, as in the authors' code"
        " except for pre-trained models",
    )
    ramp_updates: int = option(
        4000, "Number of updates in which alpha rises linearly; 0: none", least=0
    )
    projection_width: int = option(
        128,
        "Width of the two-layer network that projects the states; it is not part of the model",
        least=1,
    )


@dataclass(frozen=True)
class BowConfig(MethodConfig):
    """Bow (after Raunak et al., 2019): first train the encoder to predict the words of the target.

    Neither that paper's abstract nor the papers that compare with it give the details. The mean of
    the top encoder states, one linear map to the target's vocabulary, and the mean log-probability
    of the target's tokens are ours.
    """

    epochs: int = option(
        10,
        "Number of epochs of the first stage; training then restarts with the encoder it has"
        " trained",
        least=1,
    )


@dataclass(frozen=True)
class SpanSupervisionConfig(MethodConfig):
    """Span supervision (Yin et al., 2021): attention is trained to point from spans of the target
    to spans of the source. Spans come from word links of the training text, or from a file.

    L = cross entropy + weight·(squared difference of attention weights). In a Transformer this is
    the mean over the heads of the last decoder layer, as in the authors' code for T5.
    """

    weight: float = option(
        2.0,
        "Weight of the difference of attention weights. The authors choose 0.1, 0.5, 1, 2 or 4 by"
        " validation",
        least=0,
    )
    spans: str = option(
        "words",
        "Where spans come from: ``words`` (links of single words, by IBM Model 1), ``programs``"
        " (subtrees of SMCalFlow programs that are linked to source words), or a file with the"
        " spans of each pair, such as ``2-7:0-3`` for target words 2 to 6 and source words 0 to 2",
    )


@dataclass(frozen=True)
class Method:
    """A row of the registry: configuration, objective and source."""

    config: type[MethodConfig]
    module: str
    objective: str
    summary: str
    paper: str


METHODS = {
    "none": Method(MethodConfig, "objective", "Objective", "cross entropy", "Vaswani et al. 2017"),
    "seqmix": Method(
        SeqMixConfig, "seqmix", "SeqMix", "mixtures of two sentences", "Guo et al. 2020"
    ),
    "creg": Method(
        CRegConfig, "creg", "CReg", "consistent states and predictions", "Yin et al. 2023"
    ),
    "bow": Method(
        BowConfig,
        "bow",
        "BagOfWords",
        "the encoder first predicts bags of words",
        "Raunak et al. 2019",
    ),
    "span_supervision": Method(
        SpanSupervisionConfig,
        "span_supervision",
        "SpanSupervision",
        "attention points at aligned source words",
        "Yin et al. 2021",
    ),
}


def check_method(model: ModelConfig, method: MethodConfig) -> None:
    """Check that an architecture has what a method needs."""
    on_encoder = isinstance(method, BowConfig) or (
        isinstance(method, CRegConfig) and method.states == "encoder"
    )
    if on_encoder and not model.has_encoder_states:
        setting = (
            "creg with method.states=encoder" if isinstance(method, CRegConfig) else method.name
        )
        raise InputError(
            f"method.name={setting}: needs encoder states that depend only on the source;"
            f" architecture {model.architecture} has none"
        )
    if isinstance(method, SpanSupervisionConfig) and not model.shows_attention:
        raise InputError(
            f"method.name={method.name}: needs attention of target tokens to source tokens, which"
            f" architecture {model.architecture} does not have or show"
        )
    if isinstance(method, CRegConfig) and not model.projects_states:
        raise InputError(
            f"method.name={method.name}: needs decoder states that determine the prediction;"
            f" architecture {model.architecture} has none"
            + (" with a lexicon" if hasattr(model, "lexicon") else "")
        )
    if isinstance(method, SeqMixConfig) and not model.takes_vectors:
        raise InputError(
            f"method.name={method.name}: mixes embedded words, which architecture"
            f" {model.architecture} cannot read"
        )
