"""Every metric says what is wrong when hypotheses, references, runs, bins or features do not belong
together.
"""

import numpy as np
import pytest

from cgbench.benchmark.measure.metrics.bins import Feature
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Bleu
from cgbench.benchmark.measure.metrics.cter import Cter
from cgbench.benchmark.measure.metrics.cter_lexicon import Atoms, TranslationLexicon
from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.measure.metrics.registry import metric_class
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.benchmark.score.evaluation.scored import Binning, score
from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.errors import InputError
from cgbench.text.columns import Column

REFERENCES = [["a b c d e"], ["a b c d f"]]


def cter(folder):
    (folder / "lexicon").write_text("dog\t狗\nthe\t/\n")
    (folder / "atoms").write_text("N\tdog\tdog\nDET\tthe\tthe\n")
    sources = ["the dog ran", "he saw the dog"]
    lexicon, atoms = (
        TranslationLexicon.read(str(folder / "lexicon")),
        Atoms.read(str(folder / "atoms")),
    )
    return Cter(Column("s", sources), Column("c", ["the dog"] * 2), lexicon, atoms, group_size=2)


METRICS = {
    **{
        kind: lambda folder, kind=kind: metric_class(kind)(REFERENCES)
        for kind in ("bleu", "chrf", "ter")
    },
    "exact": lambda folder: ExactMatch(REFERENCES),
    "cter": cter,
}


@pytest.fixture(params=METRICS)
def metric(request, tmp_path):
    return METRICS[request.param](tmp_path)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_hypothesis_is_needed_for_each_example(metric, number):
    hypotheses = ["a b c d e"] * number
    message = (
        f"hypotheses has {number} strings, but {metric.name} has 2 examples: give one for each"
    )
    for call in (metric.statistics, lambda given: metric.all_statistics([["x", "y"], given])):
        with pytest.raises(InputError) as caught:
            call(hypotheses)
        assert message in str(caught.value)


def test_one_string_is_no_list_of_hypotheses(metric):
    with pytest.raises(InputError, match="hypotheses is one string"):
        metric.statistics("ab")
    assert len(metric.statistics(["a", "b"])) == 2


@pytest.mark.parametrize("make", [ExactMatch, Bleu])
def test_references_are_lists_one_an_example(make):
    with pytest.raises(InputError, match=r"references\[0\] is a string; give a list"):
        make(["a b", "c"])
    with pytest.raises(InputError, match=r"references\[1\] is empty; give a list"):
        make([["a b"], []])


def test_features_are_of_the_examples():
    metric, systems = ExactMatch(REFERENCES), [System("mine", (["x", "y"],))]
    for feature in (Feature("length", np.zeros(3)), Feature("type", labels=("a",))):
        with pytest.raises(
            InputError, match=f"the feature {feature.name} has . values for 2 examples"
        ):
            score(metric, systems, Comparison(), Binning(feature))
