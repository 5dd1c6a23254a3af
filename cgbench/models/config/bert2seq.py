"""Settings of BERT2SEQ."""

from dataclasses import dataclass

from cgbench.models.config.encoders import OverEncoderConfig
from cgbench.settings import option


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
