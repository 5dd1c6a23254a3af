"""Training methods by name: what each minimises, its settings, and where it comes from.

This file imports no torch, so that every check of a configuration is instant. The objectives themselves are in
:mod:`cgbench.models.training.objective` and a file each for the methods that add to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cgbench.errors import InputError
from cgbench.models.config.common import MethodConfig, ModelConfig
from cgbench.settings import setting


@dataclass(frozen=True)
class SeqMixConfig(MethodConfig):
    """SeqMix (Guo et al., 2020): train on mixtures of two random pairs, sentence by sentence."""

    alpha: float = setting(
        0.1,
        "parameter of Beta(alpha, alpha), which shares are drawn from, the larger for the sentence itself. 0.1 is the "
        "authors' script for WMT; for other data they give none.",
        least=0.01,
    )


@dataclass(frozen=True)
class CRegConfig(MethodConfig):
    """CReg (Yin et al., 2023): equal tokens have similar states in all contexts, and two views equal predictions.

    L = cross entropy + alpha·(contrastive loss of states) + beta·(distance of the predictions of two dropout masks).
    The defaults are the authors' script for CoGnition, where it differs from the paper, too (alpha 0.5 there).
    """

    states: Literal["decoder", "encoder"] = setting(
        "decoder",
        "which states are compared: ``decoder`` (top states, by the token that they predict) or ``encoder`` (top "
        "states, by their own token).",
    )
    alpha: float = setting(0.1, "weight of the contrastive loss of states.", least=0)
    beta: float = setting(3.0, "weight of the distance of the predictions of two dropout masks.", least=0)
    temperature: float = setting(0.05, "temperature of the contrastive loss.", above=0)
    scale_by_temperature: bool = setting(
        True,
        "whether the contrastive loss is multiplied by its temperature, too, as the authors' code does but for its "
        "pre-trained models.",
    )
    ramp_updates: int = setting(4000, "updates in which alpha rises linearly; 0 for at once.", least=0)
    projection_width: int = setting(
        128, "width of the two-layer network that states pass through; it is no part of the model.", least=1
    )
    frequent_types: int = setting(
        0, "so many of the most frequent tokens are left out of the contrastive loss.", least=0
    )
    anchors: Literal["code", "paper"] = setting(
        "code",
        "which tokens are compared with others: as the ``code`` (tokens of the first view; the mean over a token's "
        "positives) or as the ``paper`` (tokens of both views; the sum, equation 1).",
    )
    distance: Literal["kl", "js"] = setting(
        "kl",
        "distance of the predictions: ``kl`` (as the code: symmetrised Kullback-Leibler divergence, as in R-Drop) or "
        "``js`` (as the paper says: Jensen-Shannon divergence).",
    )
    cross_entropy: Literal["sum", "mean"] = setting(
        "sum",
        "cross entropy of the two views: their ``sum`` (the code's augnum4ce=1, for CoGnition and CFQ) or ``mean`` "
        "(augnum4ce=2, for COGS).",
    )


@dataclass(frozen=True)
class BowConfig(MethodConfig):
    """Bow (after Raunak et al., 2019): train the encoder first to say which words the target has.

    Neither that paper's abstract nor those that compare with it give the details: the mean of the top encoder states,
    one linear map to the target's dictionary, the mean log-probability of the target's tokens, are ours.
    """

    epochs: int = setting(
        10, "epochs of the first stage; then training begins anew, with the encoder that it has made.", least=1
    )


@dataclass(frozen=True)
class Method:
    """One row of the table: its configuration, where the objective is, what it asks of an architecture, its source."""

    config: type[MethodConfig]
    module: str
    objective: str
    summary: str
    paper: str


METHODS = {
    "none": Method(MethodConfig, "objective", "Objective", "cross entropy", "Vaswani et al. 2017"),
    "seqmix": Method(SeqMixConfig, "seqmix", "SeqMix", "mixtures of two sentences", "Guo et al. 2020"),
    "creg": Method(CRegConfig, "creg", "CReg", "consistent states and predictions", "Yin et al. 2023"),
    "bow": Method(BowConfig, "bow", "BagOfWords", "the encoder first predicts bags of words", "Raunak et al. 2019"),
}


def check_method(model: ModelConfig, method: MethodConfig) -> None:
    """Check that an architecture has what a method needs.

    :raises InputError: it has not.
    """
    on_encoder = isinstance(method, BowConfig) or (isinstance(method, CRegConfig) and method.states == "encoder")
    if on_encoder and not model.has_encoder_states:
        setting = "creg with method.states=encoder" if isinstance(method, CRegConfig) else method.name
        raise InputError(
            f"method.name={setting}: needs encoder states of the source alone, which architecture "
            f"{model.architecture} does not have"
        )
    if isinstance(method, CRegConfig) and not model.projects_states:
        raise InputError(
            f"method.name={method.name}: compares states that decide a prediction alone, which architecture "
            f"{model.architecture} does not have" + (" with a lexicon" if hasattr(model, "lexicon") else "")
        )
    if isinstance(method, SeqMixConfig) and not model.takes_vectors:
        raise InputError(
            f"method.name={method.name}: mixes embedded words, which architecture {model.architecture} cannot read"
        )
