"""What an ensemble says of a given translation, by definition: one sentence at a time, every table
in full.
"""

import numpy as np
import torch

from cgbench.models.parts.ragged import Ragged
from cgbench.models.special_ids import EOS
from cgbench.models.uncertainty import derive_sequences, derive_tokens


def by_definition(log_p, y):
    """Every measure at every token, from float64 log-probabilities [members, tokens, vocabulary]
    and token ids.
    """
    p = np.exp(log_p)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_log = log_p.mean(0)
        chosen = log_p[:, np.arange(len(y)), y]
        prefix = np.cumsum(np.concatenate([np.zeros((len(chosen), 1)), chosen], 1), 1)[:, :-1]
        weight = np.exp(prefix - prefix.max(0))
        weight /= weight.sum(0)
        values = {"expected_entropy": -weigh(p, log_p).mean(0)}
        for ep, mixture in (("", p.mean(0)), ("ep_", (weight[:, :, None] * p).sum(0))):
            log_mixture = np.log(mixture)
            values[f"{ep}entropy_of_expected"] = -weigh(mixture, log_mixture)
            values[f"{ep}rmi"] = weigh(mixture, log_mixture - mean_log)
            values[f"token_{ep or 'pe_'}tu"] = -log_mixture[np.arange(len(y)), y]
        values["token_du"] = -chosen.mean(0)
    return derive_tokens(values)


def weigh(p, x):
    """Sum p x over the vocabulary; p = 0 adds 0."""
    return np.multiply(p, x, where=p != 0, out=np.zeros_like(p)).sum(-1)


def sequence_measures(log_probs, tokens):
    """Every measure of one hypothesis, from log-probabilities [members, tokens, vocabulary] and its
    token ids.
    """
    log_p, y = np.asarray(log_probs, np.float64), np.asarray(tokens)
    chosen = log_p[:, np.arange(len(y)), y]
    values = derive_sequences(by_definition(log_p, y), chosen, np.array([len(y)]))
    return {name: float(value[0]) for name, value in values.items()}


def measures_of_pair(ensemble, source, target):
    """Every sequence measure of ``target`` as a translation of ``source``, by name."""
    (ids,) = ensemble.subwords.encode_target([target])
    packed = Ragged.pack(ensemble.subwords.encode_source([source]))
    shifted = Ragged.pack([[EOS, *ids[:-1].tolist()]])
    with torch.no_grad():
        log_probs = torch.stack(
            [member(packed, shifted).double().log_softmax(-1) for member in ensemble.members]
        )
    return sequence_measures(log_probs, ids)
