"""Print and draw which lower layers each layer of a model reads: Figure 4 of the COMPOSITION and of the LRF paper.

    python figure4.py PICTURE MODEL                  # architecture composition: |w| / sum |w| of each mixture
    python figure4.py PICTURE MODEL SOURCE TARGET    # architecture lrf: means over all tokens and heads of a text

The LRF paper uses 680 pairs of the CG test set; they must be normalised like the training text.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from cgbench.models.architectures.composition import Composition, mixed_sublayers
from cgbench.models.architectures.lrf import LRF, FuseAttention
from cgbench.models.checkpoints import load_checkpoint
from cgbench.models.parts.ragged import Ragged
from cgbench.plots import Heatmap, draw_heatmaps, save_figure
from cgbench.text.formats import CorpusSpec, read_pairs


def numbered(name: str, count: int) -> tuple[str, ...]:
    """``encoder 1``, ``encoder 2``, ..."""
    return tuple(f"{name} {number}" for number in range(1, count + 1))


def mixture_weights(model: Composition) -> np.ndarray:
    """Return the relative weight of each sublayer in each mixture: |w| / sum |w|, float64.

    The sum is over the sublayers of a mixture. The paper's Figure 4 shows these numbers "after normalized", without a
    definition, and only for feed-forward sublayers.

    :returns: [2, decoder layers, encoder layers, 2]: keys or values; self-attention or feed-forward. Sublayers outside
        the mixture have nan; a shared mixture is repeated.
    """
    config = model.config
    weights = model.mixture.detach().double().abs().cpu()
    weights = (weights / weights.sum(-1, keepdim=True)).expand(2, config.decoder_layers, -1)
    result = np.full((2, config.decoder_layers, config.encoder_layers, 2), np.nan)
    for number, (layer, sublayer) in enumerate(mixed_sublayers(config)):
        result[:, :, layer, sublayer] = weights[:, :, number].numpy()
    return result


def composition_panels(model: Composition) -> list[Heatmap]:
    """The weights of each type of encoder sublayer in the keys and in the values of each decoder layer."""
    weights = mixture_weights(model)
    rows, columns = numbered("encoder", weights.shape[2]), numbered("decoder", weights.shape[1])
    return [
        Heatmap(f"{role}: {sublayer}", rows, columns, weights[i, :, :, j].T)
        for j, sublayer in enumerate(("self-attention", "feed-forward"))
        for i, role in enumerate(("keys", "values"))
        if not np.isnan(weights[i, :, :, j]).all()
    ]


@torch.no_grad()
def fuse_weights(model: LRF, source: Ragged, target: Ragged) -> dict[str, np.ndarray]:
    """Return the weight of each lower layer in each layer, averaged over tokens and heads (the paper's Figure 4).

    :param target: translations with the end token.
    :returns: for ``encoder`` and ``decoder`` an array [layers, layers], float64: row l is layer l+1, column k is H^k,
        so column 0 is the embedding. Layers that are not lower, and rows without fuse-attention, are nan.
    """
    result = {side: np.full((len(model.stack(side)),) * 2, np.nan) for side in ("encoder", "decoder")}
    rows = {}
    hooks = []

    def record(module: FuseAttention, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        mean = module.weights(*inputs).double().mean((0, 1))
        rows[module][: len(mean)] = mean.cpu().numpy()

    for side, sublayers in (("encoder", model.encoder_fuse), ("decoder", model.decoder_fuse)):
        for number, sublayer in sublayers.items():
            rows[sublayer.attention] = result[side][int(number)]
            hooks.append(sublayer.attention.register_forward_hook(record))
    training = model.training
    try:
        model.eval()
        model.decode(model.encode(source), target.shifted())
    finally:
        model.train(training)
        for hook in hooks:
            hook.remove()
    return result


def lrf_panels(model: LRF, sources: list[np.ndarray], targets: list[np.ndarray]) -> list[Heatmap]:
    """The mean weight of each lower layer in each layer of the encoder and of the decoder."""
    totals, tokens = {"encoder": 0.0, "decoder": 0.0}, {"encoder": 0, "decoder": 0}
    for first in range(0, len(sources), 32):
        sides = [Ragged.pack(ids[first : first + 32]) for ids in (sources, targets)]
        for (stack, weights), side in zip(fuse_weights(model, *sides).items(), sides, strict=True):
            totals[stack] = totals[stack] + weights * side.layout.tokens
            tokens[stack] += side.layout.tokens
    means = {stack: total.T / tokens[stack] for stack, total in totals.items()}
    return [
        Heatmap(stack, ("embedding", *numbered("layer", len(mean) - 1)), numbered("layer", len(mean)), mean)
        for stack, mean in means.items()
        if not np.isnan(mean).all()
    ]


def main() -> None:
    """Draw the panels of a checkpoint, and print them."""
    picture, folder, *files = map(Path, sys.argv[1:])
    model, subwords, _ = load_checkpoint(folder)
    if isinstance(model, LRF):
        sources, targets = zip(*read_pairs(CorpusSpec((files[0], files[1]))), strict=True)
        panels = lrf_panels(model, subwords.encode_source(sources), subwords.encode_target(targets))
    elif isinstance(model, Composition):
        panels = composition_panels(model)
    else:
        sys.exit(f"{folder}: only composition and lrf have layer weights")
    for panel in panels:
        print(panel.title, *panel.columns, sep="\t")
        for name, values in zip(panel.rows, panel.values, strict=True):
            print(name, *("" if np.isnan(value) else f"{value:.3f}" for value in values), sep="\t")
    save_figure(draw_heatmaps(panels), picture)


if __name__ == "__main__":
    main()
