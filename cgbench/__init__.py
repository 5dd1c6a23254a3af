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
    from cgbench.benchmark.build.react.build_react import build_react as build_react
    from cgbench.benchmark.build.splits.split import split as split
    from cgbench.benchmark.build.stats.degree import degree as degree
    from cgbench.benchmark.build.stats.stats import stats as stats
    from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams as KnownNgrams
    from cgbench.benchmark.measure.metrics.metric import Metric as Metric
    from cgbench.benchmark.measure.overlap.overlap import overlap as overlap
    from cgbench.benchmark.release.export.export import export as export
    from cgbench.benchmark.release.release import Release as Release
    from cgbench.benchmark.release.verify import verify as verify
    from cgbench.benchmark.score.comparison.comparison import Comparison as Comparison
    from cgbench.benchmark.score.comparison.sequential import sequential as sequential
    from cgbench.benchmark.score.evaluation.evaluate import bleu as bleu
    from cgbench.benchmark.score.evaluation.evaluate import chrf as chrf
    from cgbench.benchmark.score.evaluation.evaluate import cter as cter
    from cgbench.benchmark.score.evaluation.evaluate import evaluate as evaluate
    from cgbench.benchmark.score.evaluation.evaluate import exact_match as exact_match
    from cgbench.benchmark.score.evaluation.evaluate import ter as ter
    from cgbench.benchmark.score.evaluation.request import Breakdown as Breakdown
    from cgbench.benchmark.score.evaluation.request import Control as Control
    from cgbench.benchmark.score.evaluation.request import ExampleOptions as ExampleOptions
    from cgbench.benchmark.score.imported.import_scores import import_scores as import_scores
    from cgbench.benchmark.score.imported.request import HumanJudgements as HumanJudgements
    from cgbench.benchmark.score.imported.request import ImportedMetric as ImportedMetric
    from cgbench.benchmark.score.imported.request import ScoredTexts as ScoredTexts
    from cgbench.data_recipes.frames import load_data as load_data
    from cgbench.errors import InputError as InputError
    from cgbench.models.ensemble import Ensemble as Ensemble
    from cgbench.models.external.ensemble_uncertainty import uncertainty as uncertainty
    from cgbench.models.lexicons.lexicon import Lexicon as Lexicon
    from cgbench.models.search_settings import SearchSettings as SearchSettings
    from cgbench.models.training.ensemble_training import train_ensemble as train_ensemble
    from cgbench.models.training.single import train as train
    from cgbench.models.translation import translate as translate
    from cgbench.models.uncertainty import token_measures as token_measures
    from cgbench.studies.consistency.linked_translations import consistency as consistency
    from cgbench.studies.consistency.make import make_items as make_items
    from cgbench.studies.parts.parts import parts as parts
    from cgbench.studies.rules.rule_scores import RuleJudgements as RuleJudgements
    from cgbench.studies.rules.rule_scores import rules as rules
    from cgbench.studies.validity.power import power as power
    from cgbench.studies.validity.validate import validate as validate

__version__ = "0.3.0"

_MODULES = {
    **dict.fromkeys(
        ("Breakdown", "Control", "ExampleOptions"), "cgbench.benchmark.score.evaluation.request"
    ),
    **dict.fromkeys(
        ("HumanJudgements", "ImportedMetric", "ScoredTexts"),
        "cgbench.benchmark.score.imported.request",
    ),
    **dict.fromkeys(("RuleJudgements", "rules"), "cgbench.studies.rules.rule_scores"),
    "Comparison": "cgbench.benchmark.score.comparison.comparison",
    "Ensemble": "cgbench.models.ensemble",
    "InputError": "cgbench.errors",
    "KnownNgrams": "cgbench.benchmark.measure.known_ngrams.known",
    "Lexicon": "cgbench.models.lexicons.lexicon",
    "Metric": "cgbench.benchmark.measure.metrics.metric",
    "Release": "cgbench.benchmark.release.release",
    "SearchSettings": "cgbench.models.search_settings",
    "build_react": "cgbench.benchmark.build.react.build_react",
    "consistency": "cgbench.studies.consistency.linked_translations",
    "degree": "cgbench.benchmark.build.stats.degree",
    "export": "cgbench.benchmark.release.export.export",
    "import_scores": "cgbench.benchmark.score.imported.import_scores",
    "load_data": "cgbench.data_recipes.frames",
    "make_items": "cgbench.studies.consistency.make",
    "overlap": "cgbench.benchmark.measure.overlap.overlap",
    "parts": "cgbench.studies.parts.parts",
    "power": "cgbench.studies.validity.power",
    "sequential": "cgbench.benchmark.score.comparison.sequential",
    "split": "cgbench.benchmark.build.splits.split",
    "stats": "cgbench.benchmark.build.stats.stats",
    "token_measures": "cgbench.models.uncertainty",
    "train": "cgbench.models.training.single",
    "train_ensemble": "cgbench.models.training.ensemble_training",
    "translate": "cgbench.models.translation",
    "uncertainty": "cgbench.models.external.ensemble_uncertainty",
    "validate": "cgbench.studies.validity.validate",
    "verify": "cgbench.benchmark.release.verify",
    **dict.fromkeys(
        ("bleu", "chrf", "cter", "evaluate", "exact_match", "ter"),
        "cgbench.benchmark.score.evaluation.evaluate",
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
