"""Layer weights of a trained model, as in Figure 4 of the COMPOSITION and of the LRF paper.

COMPOSITION's mixtures are parameters; LRF's attention to lower layers depends on the text, so it needs pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from cgbench.errors import InputError
from cgbench.models.checkpoints import load_checkpoint
from cgbench.models.text.batches import Rows, make_batches
from cgbench.plots import Heatmap

if TYPE_CHECKING:
    from cgbench.models.architectures.composition import Composition
    from cgbench.models.architectures.lrf import LRF

BATCH_TOKENS = 2048


def inspect_checkpoint(folder: Path, pairs: Iterable[tuple[str, str]] | None = None) -> list[Heatmap]:
    """Return the layer weights of a checkpoint.

    :param pairs: source and target lines, for LRF only.
    """
    model, subwords, config = load_checkpoint(folder)
    name = config.model.architecture
    if name == "composition":
        if pairs is not None:
            raise InputError(f"{folder}: the mixtures of composition do not depend on text; leave out the pairs")
        return _mixtures(cast("Composition", model))
    if name != "lrf":
        raise InputError(f"{folder}: architecture {name} has no layer weights; only composition and lrf do")
    read = list(pairs or ())
    if not read:
        raise InputError(f"{folder}: the weights of lrf depend on text; add pairs, such as 680 of the test set")
    source = Rows.pack(subwords.encode_source(pair[0] for pair in read))
    target = Rows.pack(subwords.encode_target(pair[1] for pair in read))
    return _fused(cast("LRF", model), source, target)


def _mixtures(model: Composition) -> list[Heatmap]:
    """Keys and values, one table per mixed sublayer; over both sublayers a column sums to 1."""
    from cgbench.models.architectures.composition import mixture_weights

    weights = mixture_weights(model)
    readers, layers = _numbered("decoder", weights.shape[1]), _numbered("encoder", weights.shape[2])
    return [
        Heatmap(f"{role}: {name}", layers, readers, weights[number, :, :, sublayer].T)
        for sublayer, name in enumerate(("self-attention", "feed-forward"))
        if not np.isnan(weights[..., sublayer]).all()
        for number, role in enumerate(("keys", "values"))
    ]


def _fused(model: LRF, source: Rows, target: Rows) -> list[Heatmap]:
    """Encoder and decoder: means over all tokens of the pairs; a column sums to 1."""
    from cgbench.models.architectures.lrf import fuse_weights

    totals: dict[str, np.ndarray] = {}
    for batch in make_batches(source.lengths, target.lengths, np.arange(len(source)), BATCH_TOKENS):
        sides = source.take(batch), target.take(batch)
        for (stack, weights), side in zip(fuse_weights(model, *sides).items(), sides, strict=True):
            totals[stack] = totals.get(stack, 0) + weights * side.layout.tokens
    panels = []
    for (stack, total), rows in zip(totals.items(), (source, target), strict=True):
        below = ("embedding", *_numbered("layer", len(total) - 1))
        panels.append(Heatmap(stack, below, _numbered("layer", len(total)), total.T / rows.lengths.sum()))
    return [panel for panel in panels if not np.isnan(panel.values).all()]


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name} {number}" for number in range(1, count + 1))


def panel_rows(panels: list[Heatmap]) -> list[tuple[str, str, str, float]]:
    """Return rows of panel, column, row, weight."""
    return [
        (panel.title, column, row, float(panel.values[i, j]))
        for panel in panels
        for j, column in enumerate(panel.columns)
        for i, row in enumerate(panel.rows)
        if not np.isnan(panel.values[i, j])
    ]
