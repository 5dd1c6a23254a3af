"""An ensemble of untrained models in a folder: small, whole, and of different opinions."""

import torch

from cgbench.models.checkpoints import CheckpointConfig, save_checkpoint
from cgbench.models.config.architectures import build_model
from cgbench.models.config.common import TextConfig, TrainingConfig, TransformerConfig
from cgbench.models.text.subwords import Subwords

SOURCE = [
    "der hund schläft",
    "die katze sieht den hund",
    "ein vogel singt laut",
    "der vogel sieht die katze",
]
TARGET = ["the dog sleeps", "the cat sees the dog", "a bird sings loudly", "the bird sees the cat"]
MODEL = TransformerConfig(
    encoder_layers=1, decoder_layers=1, width=16, feedforward_width=16, attention_heads=2
)


def learn_subwords(folder, merges=20, lines=(SOURCE, TARGET)):
    folder.mkdir(exist_ok=True)
    for name, side in zip(("source", "target"), lines, strict=True):
        (folder / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    return Subwords.learn(folder / "source", folder / "target", TextConfig(merges=merges))


def write_member(folder, subwords, seed, max_length=256):
    """An untrained model, with a sharpened output so that members disagree."""
    torch.manual_seed(seed)
    model = build_model(MODEL, subwords.source_size, subwords.target_size)
    with torch.no_grad():
        model.target_embedding.weight.mul_(4)
    training, sizes = (
        TrainingConfig(max_length=max_length),
        (
            subwords.source_size,
            subwords.target_size,
        ),
    )
    config = CheckpointConfig(MODEL, training, *sizes, subwords.digest, seed=seed)
    tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_checkpoint(folder, config, tensors, subwords)
