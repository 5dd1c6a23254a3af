"""cgbench: build benchmarks of compositional generalisation, score systems on them, train the
published ones.

Names are loaded on first use: ``import cgbench`` reads only this file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if (
    TYPE_CHECKING
):  # for editors and type checkers (`as`: the name is public); the table below is used at run time
    from cgbench.benchmark.comparison.comparison import Comparison as Comparison
    from cgbench.benchmark.comparison.sequential import sequential as sequential
    from cgbench.benchmark.consistency.linked_translations import consistency as consistency
    from cgbench.benchmark.consistency.make import make_items as make_items
    from cgbench.benchmark.imported.import_scores import HumanJudgements as HumanJudgements
    from cgbench.benchmark.imported.import_scores import ImportedMetric as ImportedMetric
    from cgbench.benchmark.imported.import_scores import ScoredTexts as ScoredTexts
    from cgbench.benchmark.imported.import_scores import import_scores as import_scores
    from cgbench.benchmark.imported.rule_scores import RuleJudgements as RuleJudgements
    from cgbench.benchmark.imported.rule_scores import rules as rules
    from cgbench.benchmark.known_ngrams.known import KnownNgrams as KnownNgrams
    from cgbench.benchmark.metrics.metric import Metric as Metric
    from cgbench.benchmark.overlap.overlap import overlap as overlap
    from cgbench.benchmark.parts.parts import parts as parts
    from cgbench.benchmark.react.build_react import build_react as build_react
    from cgbench.benchmark.release.export.export import export as export
    from cgbench.benchmark.release.release import Release as Release
    from cgbench.benchmark.release.verify import verify as verify
    from cgbench.benchmark.score.evaluate import bleu as bleu
    from cgbench.benchmark.score.evaluate import chrf as chrf
    from cgbench.benchmark.score.evaluate import cter as cter
    from cgbench.benchmark.score.evaluate import evaluate as evaluate
    from cgbench.benchmark.score.evaluate import exact_match as exact_match
    from cgbench.benchmark.score.evaluate import ter as ter
    from cgbench.benchmark.score.request import Breakdown as Breakdown
    from cgbench.benchmark.score.request import Control as Control
    from cgbench.benchmark.score.request import ExampleOptions as ExampleOptions
    from cgbench.benchmark.splits.split import split as split
    from cgbench.benchmark.stats.degree import degree as degree
    from cgbench.benchmark.stats.stats import stats as stats
    from cgbench.benchmark.validity.power import power as power
    from cgbench.benchmark.validity.validate import validate as validate
    from cgbench.data_recipes.frames import load_data as load_data
    from cgbench.errors import InputError as InputError
    from cgbench.models.ensemble import Ensemble as Ensemble
    from cgbench.models.external.ensemble_uncertainty import uncertainty as uncertainty
    from cgbench.models.lexicons.lexicon import Lexicon as Lexicon
    from cgbench.models.training.ensemble_training import train_ensemble as train_ensemble
    from cgbench.models.training.single import train as train
    from cgbench.models.translation import translate as translate
    from cgbench.models.uncertainty import token_measures as token_measures

__version__ = "0.3.0"

_MODULES = {
    **dict.fromkeys(("Breakdown", "Control", "ExampleOptions"), "cgbench.benchmark.score.request"),
    **dict.fromkeys(
        ("HumanJudgements", "ImportedMetric", "ScoredTexts"),
        "cgbench.benchmark.imported.import_scores",
    ),
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
    **dict.fromkeys(
        ("bleu", "chrf", "cter", "evaluate", "exact_match", "ter"),
        "cgbench.benchmark.score.evaluate",
    ),
}
"""Where each name is defined."""

__all__ = sorted(_MODULES)


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
