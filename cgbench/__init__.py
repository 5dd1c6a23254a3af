"""cgbench: build benchmarks of compositional generalisation, score systems on them, train the published ones.

Names are loaded on first use: ``import cgbench`` reads only this file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; the table below is used at run time
    from cgbench.benchmark.comparison.comparison import Comparison
    from cgbench.benchmark.comparison.sequential import sequential
    from cgbench.benchmark.consistency.linked_translations import consistency
    from cgbench.benchmark.consistency.make import make_items
    from cgbench.benchmark.imported.import_scores import HumanJudgements, ImportedMetric, ScoredTexts, import_scores
    from cgbench.benchmark.imported.rule_scores import RuleJudgements, rules
    from cgbench.benchmark.known_ngrams.known import KnownNgrams
    from cgbench.benchmark.metrics.metric import Metric
    from cgbench.benchmark.overlap.overlap import overlap
    from cgbench.benchmark.parts.parts import parts
    from cgbench.benchmark.react.build_react import build_react
    from cgbench.benchmark.release.export.export import export
    from cgbench.benchmark.release.release import Release
    from cgbench.benchmark.release.verify import verify
    from cgbench.benchmark.score.evaluate import bleu, chrf, cter, evaluate, exact_match, ter
    from cgbench.benchmark.score.request import Breakdown, Control, ExampleOptions
    from cgbench.benchmark.splits.split import split
    from cgbench.benchmark.stats.degree import degree
    from cgbench.benchmark.stats.stats import stats
    from cgbench.benchmark.validity.power import power
    from cgbench.benchmark.validity.validate import validate
    from cgbench.data_recipes.frames import load_data
    from cgbench.errors import InputError
    from cgbench.models.ensemble import Ensemble
    from cgbench.models.external.ensemble_uncertainty import uncertainty
    from cgbench.models.lexicons.lexicon import Lexicon
    from cgbench.models.training.ensemble_training import train_ensemble
    from cgbench.models.training.single import train
    from cgbench.models.translation import translate
    from cgbench.models.uncertainty import token_measures

__version__ = "0.3.0"

__all__ = [
    "Breakdown",
    "Comparison",
    "Control",
    "Ensemble",
    "ExampleOptions",
    "HumanJudgements",
    "ImportedMetric",
    "InputError",
    "KnownNgrams",
    "Lexicon",
    "Metric",
    "Release",
    "RuleJudgements",
    "ScoredTexts",
    "bleu",
    "build_react",
    "chrf",
    "consistency",
    "cter",
    "degree",
    "evaluate",
    "exact_match",
    "export",
    "import_scores",
    "load_data",
    "make_items",
    "overlap",
    "parts",
    "power",
    "rules",
    "sequential",
    "split",
    "stats",
    "ter",
    "token_measures",
    "train",
    "train_ensemble",
    "translate",
    "uncertainty",
    "validate",
    "verify",
]

_MODULES = {
    **dict.fromkeys(("Breakdown", "Control", "ExampleOptions"), "cgbench.benchmark.score.request"),
    **dict.fromkeys(("HumanJudgements", "ImportedMetric", "ScoredTexts"), "cgbench.benchmark.imported.import_scores"),
    **dict.fromkeys(("RuleJudgements", "rules"), "cgbench.benchmark.imported.rule_scores"),
    "Comparison": "cgbench.benchmark.comparison.comparison",
    "Ensemble": "cgbench.models.ensemble",
    "InputError": "cgbench.errors",
    "KnownNgrams": "cgbench.benchmark.known_ngrams.known",
    "Lexicon": "cgbench.models.lexicons.lexicon",
    "Metric": "cgbench.benchmark.metrics.metric",
    "Release": "cgbench.benchmark.release.release",
    "build_react": "cgbench.benchmark.react.build_react",
    "consistency": "cgbench.benchmark.consistency.linked_translations",
    "degree": "cgbench.benchmark.stats.degree",
    "export": "cgbench.benchmark.release.export.export",
    "import_scores": "cgbench.benchmark.imported.import_scores",
    "load_data": "cgbench.data_recipes.frames",
    "make_items": "cgbench.benchmark.consistency.make",
    "overlap": "cgbench.benchmark.overlap.overlap",
    "parts": "cgbench.benchmark.parts.parts",
    "power": "cgbench.benchmark.validity.power",
    "sequential": "cgbench.benchmark.comparison.sequential",
    "split": "cgbench.benchmark.splits.split",
    "stats": "cgbench.benchmark.stats.stats",
    "token_measures": "cgbench.models.uncertainty",
    "train": "cgbench.models.training.single",
    "train_ensemble": "cgbench.models.training.ensemble_training",
    "translate": "cgbench.models.translation",
    "uncertainty": "cgbench.models.external.ensemble_uncertainty",
    "validate": "cgbench.benchmark.validity.validate",
    "verify": "cgbench.benchmark.release.verify",
    **dict.fromkeys(("bleu", "chrf", "cter", "evaluate", "exact_match", "ter"), "cgbench.benchmark.score.evaluate"),
}
"""Where each name is defined."""


def __getattr__(name: str) -> Any:
    """Load a name when it is first used (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        from cgbench.errors import missing_package

        if (missing := missing_package(error)) is None:
            raise
        raise ModuleNotFoundError(f"cgbench.{name}: {missing}", name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
