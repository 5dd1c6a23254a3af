"""The peer: Hugging Face transformers' MarianMT in the shape of ``transformer_iwslt``, with random
weights.

Needs ``pip install '.[perf]'``; nothing is downloaded.
"""

import torch
from model_work import SOURCE_SIZE, TARGET_SIZE, Setting, adam, finish, padded
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from cgbench.models.config.common import TransformerConfig
from cgbench.models.parts.ragged import Ragged
from cgbench.models.special_ids import EOS, PAD


def build(config: TransformerConfig, device: str) -> MarianMTModel:
    """The same widths, heads, dropout, post-norm, ReLU, and output embeddings tied to the
    target's.
    """
    torch.manual_seed(0)
    theirs = MarianConfig(
        vocab_size=SOURCE_SIZE,
        decoder_vocab_size=TARGET_SIZE,
        share_encoder_decoder_embeddings=False,
        tie_word_embeddings=True,
        d_model=config.width,
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        encoder_ffn_dim=config.feedforward_width,
        decoder_ffn_dim=config.feedforward_width,
        encoder_attention_heads=config.attention_heads,
        decoder_attention_heads=config.attention_heads,
        activation_function="relu",
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        activation_dropout=config.activation_dropout,
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=PAD,
        eos_token_id=EOS,
        bos_token_id=None,
        decoder_start_token_id=EOS,
        forced_eos_token_id=None,
    )
    return MarianMTModel(theirs).to(device)


class MarianTraining:
    """One update with its own loss, cross entropy over real tokens, and the optimiser that ours
    has.
    """

    def __init__(self, config: TransformerConfig, setting: Setting) -> None:
        self.model, self.setting = build(config, setting.device).train(), setting
        self.optimizer = adam(self.model)

    def update(self, source: Ragged, target: Ragged) -> None:
        """Take one step."""
        self.optimizer.zero_grad()
        ids = padded(source, PAD)
        with self.setting.autocast():
            loss: Tensor = self.model(
                input_ids=ids,
                attention_mask=(ids != PAD).long(),
                decoder_input_ids=padded(target.shifted(), PAD),
                labels=padded(target, -100),
                use_cache=False,
            ).loss
        loss.backward()
        finish(self.model, self.optimizer)
