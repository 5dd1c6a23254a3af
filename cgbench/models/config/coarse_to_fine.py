"""Settings of C2F."""

from dataclasses import dataclass

from cgbench.models.config.bert2seq import Bert2SeqConfig
from cgbench.settings import option


@dataclass(frozen=True)
class CoarseToFineConfig(Bert2SeqConfig):
    """C2F (Yin et al., 2021): the decoder of BERT2SEQ predicts a sketch of a program with slots.
    Then it predicts the subtree of each slot, starting from the state that predicted the slot.
    """

    architecture: str = "coarse_to_fine"
    tag_width: int = option(
        32, "Number of learned values that tell the decoder that it is in a slot", least=1
    )
