"""Everything that changes the number is in the signature."""

import json
from pathlib import Path

import numpy as np
import pytest

from cgbench import evaluate, import_scores
from cgbench.benchmark.measure.metrics import registry
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.measure.metrics.segment_scores import SegmentScores
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.benchmark.score.imported.request import ImportRequest
from cgbench.request import leaves_of

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
WORDS = ("ein", "Haus", "steht", "am", "See", "und", "Wald", "nah")


def signature(evaluation):
    return str(evaluation.scored.signature)


@pytest.fixture
def ratings(tmp_path):
    """Two raters of 20 examples, one of them strict."""
    rows = [
        f"{item}\t{rater}\tmine\t{(item * 7) % 5 - 3 * (rater == 'strict')}"
        for item in range(20)
        for rater in ("mild", "strict")
    ]
    (tmp_path / "r.tsv").write_text("\n".join(["seg_id\trater\tsystem\tscore", *rows]) + "\n")
    return tmp_path / "r.tsv"


def test_standardised_raters(ratings):
    plain = import_scores(str(ratings))
    standardised = import_scores(str(ratings), judgements={"standardise_raters": True})
    assert "raters:standardised" in signature(standardised)
    assert "raters" not in signature(plain)


def test_metric_and_filter_of_a_log(tmp_path):
    rows = [
        {
            "doc_id": row,
            "doc_hash": f"h{row}",
            "filter": name,
            "filtered_resps": ["a"],
            "metrics": ["acc", "acc_norm"],
            "acc": float(row % 2),
            "acc_norm": float(row % 3 == 0),
        }
        for name in ("strict", "loose")
        for row in range(12)
    ]
    path = tmp_path / "samples_task_2026-01-01T00-00-00.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    names = ("acc@strict", "acc@loose", "acc_norm@strict")
    for name in names:
        assert f"field:{name}|" in signature(import_scores({"a": f"{path}:{name}"}))


class OverlapOf(Metric):
    """Whether the first words agree."""

    name = "first"

    def __init__(self, references, *, words=1):
        super().__init__(references)
        self.words = words

    def statistics(self, hypotheses):
        pairs = zip(hypotheses, self.references, strict=True)
        right = [a.split()[: self.words] == b[0].split()[: self.words] for a, b in pairs]
        return np.array([[float(value), 1.0] for value in right])


def test_options_of_an_own_metric(monkeypatch):
    monkeypatch.setitem(registry.METRICS, "first", lambda: OverlapOf)
    texts = ["ein Haus steht", "am See"] * 5
    short, long = (evaluate("first", texts, texts, words=count) for count in (1, 2))
    assert "words:1" in signature(short) and "words:2" in signature(long)


TRAIN = [" ".join(WORDS)] * 3
OTHER_TRAIN = [*TRAIN, "am See"]
SCORES = np.random.default_rng(0).random(40).round(3).tolist()
TEXTS = [" ".join(WORDS[row % 4 : row % 4 + 3 + row % 2]) for row in range(40)]
DEGREE = {"by": "degree", "train": TRAIN, "references": TEXTS, "sources": TEXTS}


def test_the_documentation_names_each_item_of_external_scores():
    page = Path(__file__).parents[5] / "docs" / "reference" / "score-import.md"
    described = page.read_text().split("**The signature**")[1].split("\n\n")[0]
    reading = {"field": "acc@strict", "raters": "standardised"}
    missing = np.arange(40) < 2
    metric = SegmentScores(
        40, scale=(0.0, 1.0), lower_is_better=True, missing=missing, reading=reading
    )
    items = dict(item.split(":", 1) for item in str(metric.signature()).split("|"))
    absent = [name for name in items if f"{name}:" not in described and name != "version"]
    assert {"stat", "scale", "unit", "better", "dropped", *reading} <= set(items) and not absent


def test_a_test_by_its_name_has_the_numbers_and_signature_of_the_calibrated_one():
    systems = {"a": SCORES, "b": SCORES[::-1]}
    chosen, named = (import_scores(systems, paired=test) for test in (True, "randomization"))
    assert signature(chosen) == signature(named)
    p_values = [
        evaluation.scored.results[1].whole.figures["score"].p_value
        for evaluation in (chosen, named)
    ]
    assert p_values[0] == p_values[1] is not None


CHANGES = {
    "statistic": ({}, "share:0.5"),
    "scale": ({}, "0:1"),
    "lower_is_better": ({}, True),
    "paired": ({}, True),
    "all_pairs": ({"paired": True}, True),
    "cluster": ({"confidence": True, "sources": TEXTS}, ["source"]),
    "samples": ({"confidence": True}, 200),
    "seed": ({"confidence": True}, 7),
    "by": ({"references": TEXTS}, "length"),
    "bins": (DEGREE, "0.2,0.3"),
    "side": (DEGREE, "source"),
    "train": (DEGREE, OTHER_TRAIN),
    "min_count": (DEGREE, 2),
}
"""Options that change a number: others to use them with, and a value."""
TEXT = {
    "systems", "references", "sources", "release", "hypotheses", "control_systems", "people",
    "table", "control_references", "control_sources", "control_compounds", "memory", "exposure",
    "lm",
}  # fmt: skip
"""The texts and scores themselves, which a signature does not name."""
ELSEWHERE = {
    "name": "printed before the signature",
    "metric": "printed before the signature",
    "standardise_raters": "test_standardised_raters",
    "settings": "options of metrics: test_options_of_an_own_metric",
    "drop_missing": "the number of examples left out, if there are any",
    "normalise": "norm; tests of hypotheses",
    "estimate": "estimate; test_estimate.py",
    "shared_seeds": "seeds; needs several runs",
    "anytime": "ends in no interval of the table; a table of its own",
}
NO_CHANGE = {
    "baseline": "which differences are printed, by name",
    "confidence": "whether intervals are printed",
    "differences": "whether examples are printed",
    "by_word": "whether a table of words is printed",
    "require": "the exit status",
    "published": "which published scores are printed",
    "ids": "how rows are joined, or an error",
    "accept_text": "an error, or not",
    "columns_of": "which columns hold what, or an error",
    "people_scale": "the interval of the means by people, which have no signature",
    "strata": "the means by people, which have no signature",
}


def test_every_option_is_in_one_of_these_groups():
    """A new option is put into a group, with a value that changes the signature or a reason."""
    names = {*leaves_of(ScoreRequest), *leaves_of(ImportRequest)}
    assert names == {*CHANGES, *TEXT, *ELSEWHERE, *NO_CHANGE}


@pytest.mark.parametrize("name", CHANGES)
def test_options_that_change_numbers_change_the_signature(name):
    others, value = CHANGES[name]
    systems = {"a": SCORES, "b": SCORES[::-1]}
    grouped = {key: value for key, value in others.items() if key not in ("references", "sources")}
    texts = {key: value for key, value in others.items() if key in ("references", "sources")}
    before, after = (
        import_scores(systems, **({"texts": texts} if texts else {}), **(grouped | more))
        for more in ({}, {name: value})
    )
    assert signature(before) != signature(after)
