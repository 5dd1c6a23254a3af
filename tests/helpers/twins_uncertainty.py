"""What an ensemble says of a given translation, by definition: one sentence at a time, every table in full."""

import numpy as np
import torch

from cgbench.models.parts.ragged import Ragged
from cgbench.models.special_ids import EOS
from cgbench.models.uncertainty import derive_sequences, token_measures


def sequence_measures(log_probs, tokens):
    """Every measure of one hypothesis, from log-probabilities [members, tokens, vocabulary] and its token ids."""
    log_p, y = np.asarray(log_probs, np.float64), np.asarray(tokens)
    chosen = log_p[:, np.arange(len(y)), y]
    values = derive_sequences(token_measures(log_p, y), chosen, np.array([len(y)]))
    return {name: float(value[0]) for name, value in values.items()}


def measures_of_pair(ensemble, source, target):
    """Every sequence measure of ``target`` as a translation of ``source``, by name."""
    (ids,) = ensemble.subwords.encode_target([target])
    packed = Ragged.pack(ensemble.subwords.encode_source([source]))
    shifted = Ragged.pack([[EOS, *ids[:-1].tolist()]])
    with torch.no_grad():
        log_probs = torch.stack([member(packed, shifted).double().log_softmax(-1) for member in ensemble.members])
    return sequence_measures(log_probs, ids)
