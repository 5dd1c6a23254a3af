import random

import numpy as np
import pytest
import sacrebleu
from nltk.translate.bleu_score import corpus_bleu
from sacrebleu.metrics import BLEU, CHRF, TER
from shared_data import SHARED, needs

from cgbench.benchmark.measure.metrics import bleu_chrf_ter
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Bleu
from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.measure.metrics.registry import metric_class
from cgbench.errors import InputError

WORDS = ["the", "a", "dog", "cat", ",", "saw", "red", ".", "near"]


def sentences(rng, number, shortest=0):
    return [" ".join(rng.choices(WORDS, k=rng.randrange(shortest, 9))) for _ in range(number)]


@pytest.fixture
def texts():
    rng = random.Random(1)
    references = [
        [one, other]
        for one, other in zip(sentences(rng, 40, 1), sentences(rng, 40, 1), strict=True)
    ]
    hypotheses = [
        " ".join(word for word in pair[0].split() if rng.random() > 0.2) for pair in references
    ]
    return hypotheses, references


@pytest.mark.parametrize(
    ("kind", "theirs", "options"),
    [
        ("bleu", BLEU, {}),
        (
            "bleu",
            BLEU,
            {"tokenize": "intl", "lowercase": True, "smooth_method": "add-k", "smooth_value": 1},
        ),
        ("bleu", BLEU, {"tokenize": "none", "smooth_method": "none"}),
        ("chrf", CHRF, {}),
        ("chrf", CHRF, {"word_order": 2}),
        ("chrf", CHRF, {"word_order": 30}),
        ("ter", TER, {}),
    ],
)
def test_score_and_signature_are_those_of_sacrebleu(texts, kind, theirs, options):
    hypotheses, references = texts
    metric = metric_class(kind)(references, **{key: str(value) for key, value in options.items()})
    statistics = metric.statistics(hypotheses)
    other = theirs(**options, **({"force": True} if kind == "bleu" else {}))
    score = other.corpus_score(hypotheses, list(zip(*references, strict=True)))
    assert metric.value(statistics)[0] == pytest.approx(score.score, abs=1e-12)
    assert metric.describe(statistics.sum(axis=0)) == score._verbose
    assert metric.name == score.name
    for short in (False, True):
        assert metric.signature().format(short) == other.get_signature().format(short)


@pytest.mark.parametrize(("kind", "preset"), [("bleu", "lexicon"), ("ter", "sacrebleu")])
def test_processes_change_nothing(texts, kind, preset, monkeypatch):
    hypotheses, references = texts
    references = [example[: 1 + number % 2] for number, example in enumerate(references)]
    alone = metric_class(kind)(references, preset=preset)
    monkeypatch.setitem(bleu_chrf_ter.WORTH_A_PROCESS, kind, 0)
    together = metric_class(kind)(references, preset=preset, jobs=2)
    runs = [hypotheses, hypotheses[::-1]]
    for one, other in zip(alone.all_statistics(runs), together.all_statistics(runs), strict=True):
        assert np.array_equal(one, other)
    assert str(alone.signature()) == str(together.signature()) and "nrefs:var" in str(
        alone.signature()
    )


def test_one_sentence_at_a_time(texts):
    hypotheses, references = texts
    metric = Bleu(references)
    rows = metric.per_example(hypotheses, metric.statistics(hypotheses))
    alone = [
        sacrebleu.sentence_bleu(*pair).score for pair in zip(hypotheses, references, strict=True)
    ]
    assert [row["score"] for row in rows] == pytest.approx(alone)


def test_the_lexicon_preset_is_nltk(texts):
    """Akyürek and Andreas (2021) scored with NLTK, whose denominators count a short sentence once
    for every order.
    """
    rng = random.Random(2)
    hypotheses, references = (
        sentences(rng, 60, 1),
        [[*sentences(rng, rng.randrange(1, 4), 1)] for _ in range(60)],
    )
    hypotheses[:20] = [example[0] for example in references[:20]]
    hypotheses[20] = ""
    metric = Bleu(references, preset="lexicon")
    theirs = corpus_bleu(
        [[one.split() for one in some] for some in references], [one.split() for one in hypotheses]
    )
    value = metric.value(metric.statistics(hypotheses))[0]
    assert value == pytest.approx(100 * theirs, rel=1e-12)
    plain = Bleu(references, tokenize="none", smooth_method="none")
    assert (
        abs(plain.value(plain.statistics(hypotheses))[0] - value) > 0.1
    )  # the denominators matter
    assert str(metric.signature()).startswith("nrefs:var|") and "totals:nltk" in str(
        metric.signature()
    )


def test_the_cognition_preset_scores_characters_and_that_of_react_words_as_they_are():
    metric = Bleu([["狗 在 公园 里 玩耍 。"]], preset="cognition")
    assert metric.value(metric.statistics(["狗在公@@ 园里玩耍。"]))[0] == pytest.approx(100)
    metric = Bleu([["狗 在 公园 里"], ["他 跑 了。3,5"]], preset="cognition")
    theirs = BLEU(force=True).corpus_score(
        ["狗 在 园 里", "他 跑 。 3 , 5"], [["狗 在 公 园 里", "他 跑 了 。 3 , 5"]]
    )
    assert metric.value(metric.statistics(["狗在园里", "他跑。3,5"]))[0] == pytest.approx(
        theirs.score
    )
    assert "prep:chars" in str(metric.signature()) and "tok:none" in str(
        Bleu([["a ."]], preset="react").signature()
    )


@pytest.mark.parametrize(
    ("kind", "preset", "options", "message"),
    [
        ("bleu", "reakt", {}, "preset='reakt'; did you mean react?"),
        ("chrf", "react", {}, "is for BLEU, not CHRF"),
        ("bleu", "sacrebleu", {"tokenize": "13b"}, "tokenize='13b' is unknown; did you mean 13a?"),
        ("bleu", "sacrebleu", {"smooth_method": "x"}, "smooth_method='x' is unknown"),
        ("bleu", "sacrebleu", {"word_order": "2"}, "BLEU has no option word_order"),
        ("chrf", "sacrebleu", {"word_order": "two"}, "'two' is not a whole number"),
        ("chrf", "sacrebleu", {"word_order": "-1"}, "word_order=-1 is not from 0 to 100"),
        (
            "bleu",
            "sacrebleu",
            {"smooth_method": "floor", "smooth_value": "nan"},
            "smooth_value: 'nan' is not a number",
        ),
        ("bleu", "sacrebleu", {"max_ngram_order": "0"}, "max_ngram_order=0 is not from 1 to 100"),
    ],
)
def test_bad_options(kind, preset, options, message):
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        metric_class(kind)([["a"]], preset=preset, **options)


def test_exact_match():
    metric = ExactMatch([["a b", "c"], ["a b"], ["a b"], [""]])
    statistics = metric.statistics(
        ["c", " a  b ", "a B", ""]
    )  # an empty hypothesis is wrong, even for an empty one
    assert statistics[:, 0].tolist() == [1, 1, 0, 0]
    assert metric.value(statistics)[0] == 50
    assert metric.describe(statistics.sum(axis=0)) == "(2 of 4)"
    assert ExactMatch([["a b"]], lowercase=True).statistics(["A b"])[0, 0] == 1
    assert ExactMatch([["a b"]], preset="lexicon").statistics(["a b </s> c </s>"])[0, 0] == 1
    assert str(ExactMatch([["a"], ["a", "b"]], preset="lexicon").signature()).startswith(
        "nrefs:var|case:mixed|tok:blanks|cut"
    )


@needs("iwslt14-hypotheses/hypotheses.test.de-en.txt.gz", "react/test.en.gz")
@pytest.mark.parametrize(
    ("preset", "options"), [("sacrebleu", {}), ("react", {"tokenize": "none"})]
)
def test_real_output_against_sacrebleu(preset, options):
    from cgbench.text.columns import read_column

    hypotheses = read_column(SHARED / "iwslt14-hypotheses/hypotheses.test.de-en.txt.gz").values
    references = read_column(SHARED / "react/test.en.gz").values
    metric = Bleu([[one] for one in references], preset=preset)
    score = BLEU(force=True, **options).corpus_score(hypotheses, [references])
    assert metric.value(metric.statistics(hypotheses))[0] == pytest.approx(score.score, abs=1e-12)
