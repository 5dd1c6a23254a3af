"""Print and draw which lower layers each layer of a model reads: Figure 4 of the COMPOSITION and of
the LRF paper.

    python figure4.py PICTURE MODEL                  # composition: |w| / sum |w| of each mixture
    python figure4.py PICTURE MODEL SOURCE TARGET    # lrf: means over all tokens and heads

The LRF paper uses 680 pairs of the CG test set; they must be normalised like the training text.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from cgbench.models.architectures.composition import Composition, mixed_sublayers
from cgbench.models.architectures.lrf import LRF, FuseAttention
from cgbench.models.checkpoints import load_checkpoint
from cgbench.models.parts.ragged import Ragged
from cgbench.text.formats import CorpusSpec, read_pairs


@dataclass(frozen=True)
class Heatmap:
    """A table of weights: how much each column takes of each row.

    :param values: [rows, columns]; nan where nothing can be taken.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: np.ndarray


def numbered(name: str, count: int) -> tuple[str, ...]:
    """``encoder 1``, ``encoder 2``, ..."""
    return tuple(f"{name} {number}" for number in range(1, count + 1))


def mixture_weights(model: Composition) -> np.ndarray:
    """Return the relative weight of each sublayer in each mixture: |w| / sum |w|, float64.

    The sum is over the sublayers of a mixture. The paper's Figure 4 shows these numbers "after
    normalized", without a definition, and only for feed-forward sublayers.

    :returns: [2, decoder layers, encoder layers, 2]: keys or values; self-attention or
        feed-forward. Sublayers outside the mixture have nan; a shared mixture is repeated.
    """
    config = model.config
    weights = model.mixture.detach().double().abs().cpu()
    weights = (weights / weights.sum(-1, keepdim=True)).expand(2, config.decoder_layers, -1)
    result = np.full((2, config.decoder_layers, config.encoder_layers, 2), np.nan)
    for number, (layer, sublayer) in enumerate(mixed_sublayers(config)):
        result[:, :, layer, sublayer] = weights[:, :, number].numpy()
    return result


def composition_panels(model: Composition) -> list[Heatmap]:
    """The weights of each type of encoder sublayer in the keys and in the values of each decoder
    layer.
    """
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
    """Return the weight of each lower layer in each layer, averaged over tokens and heads (the
    paper's Figure 4).

    :param target: translations with the end token.
    :returns: for ``encoder`` and ``decoder`` an array [layers, layers], float64: row l is layer
        l+1, column k is H^k, so column 0 is the embedding. Layers that are not lower, and rows
        without fuse-attention, are nan.
    """
    result = {
        side: np.full((len(model.stack(side)),) * 2, np.nan) for side in ("encoder", "decoder")
    }
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
        Heatmap(
            stack,
            ("embedding", *numbered("layer", len(mean) - 1)),
            numbered("layer", len(mean)),
            mean,
        )
        for stack, mean in means.items()
        if not np.isnan(mean).all()
    ]


def draw_panels(panels: list[Heatmap]) -> Figure:
    """A panel beside another, darker for more, on one scale."""
    rows, columns = (
        max(len(panel.rows) for panel in panels),
        max(len(panel.columns) for panel in panels),
    )
    figure = Figure(
        figsize=(len(panels) * (1.2 + 0.4 * columns) + 1, 1.2 + 0.4 * rows), layout="constrained"
    )
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    top = max(float(np.nanmax(panel.values)) for panel in panels)
    for ax, panel in zip(axes, panels, strict=True):
        image = ax.imshow(panel.values, cmap="Blues", vmin=0, vmax=top, origin="lower")
        ax.set_title(panel.title)
        ax.set_xticks(range(len(panel.columns)), panel.columns, rotation=90)
        ax.set_yticks(range(len(panel.rows)), panel.rows)
    figure.colorbar(image, ax=list(axes))
    return figure


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
    draw_panels(panels).savefig(picture)


if __name__ == "__main__":
    main()
