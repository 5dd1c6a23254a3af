"""What an ensemble says of a given translation, by definition: one sentence at a time, every table in full."""

import torch

from cgbench.models.parts.ragged import Ragged
from cgbench.models.special_ids import EOS
from cgbench.models.uncertainty import sequence_measures


def measures_of_pair(ensemble, source, target):
    """Every sequence measure of ``target`` as a translation of ``source``, by name."""
    (ids,) = ensemble.subwords.encode_target([target])
    packed = Ragged.pack(ensemble.subwords.encode_source([source]))
    shifted = Ragged.pack([[EOS, *ids[:-1].tolist()]])
    with torch.no_grad():
        log_probs = torch.stack([member(packed, shifted).double().log_softmax(-1) for member in ensemble.members])
    return sequence_measures(log_probs, ids)
