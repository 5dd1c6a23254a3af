"""The settings of HPD, without torch."""

from dataclasses import dataclass
from typing import Any

from cgbench.settings import option


@dataclass(frozen=True)
class HPDSettings:
    """Hierarchical poset decoding (Guo et al., 2020), for CFQ: a GRU predicts paths of abstract
    clauses, a phrase table proposes clauses for them, and a classifier accepts or rejects the
    filled paths. ``cgbench reproduce run composition-2 --systems HPD`` trains and tests it.
    """

    split: str = option(
        "mcd1",
        "Split of CFQ, which decides what a question that begins with an entity may be about: any"
        " of its entities (mcd1), or that one",
    )
    width: int = option(512, "Width of the sketch parser", least=1)
    classifier_width: int = option(200, "Width of the path classifier", least=2)
    embedding: int = option(300, "Width of all embeddings", least=1)
    parser_epochs: int = option(100, "Number of epochs of the sketch parser", least=1)
    parser_batch: int = option(64, "Number of questions per batch of the sketch parser", least=1)
    classifier_epochs: int = option(50, "Number of epochs of the path classifier", least=1)
    classifier_batch: int = option(256, "Number of paths per batch of the path classifier", least=1)
    learning_rate: float = option(1e-3, "Learning rate of Adam, for both", above=0)
    clip_norm: float = option(1.0, "Maximum norm of the sketch parser's gradient", above=0)
    updates: int = option(
        0, "Maximum number of updates of each network, to test that all runs; 0: no limit", least=0
    )


def settings_at(settings: HPDSettings, scale: str, fraction: float) -> dict[str, Any]:
    """The settings that a scale of ``reproduce run`` changes."""
    if scale == "smoke":
        return {"updates": 4, "parser_batch": 8, "classifier_batch": 32}
    if scale == "short":
        return {
            "parser_epochs": max(1, round(settings.parser_epochs * fraction)),
            "classifier_epochs": max(1, round(settings.classifier_epochs * fraction)),
        }
    return {}
