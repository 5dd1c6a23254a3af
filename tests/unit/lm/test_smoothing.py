"""Modified Kneser-Ney smoothing and the files it is written to: by hand, by definition, and as
KenLM has it.
"""

import math
import random

import numpy as np
import pytest
import twins_lm
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import njit

from cgbench.errors import InputError
from cgbench.lm import arpa_kernels
from cgbench.lm.counts import read_text_corpus, sort_positions
from cgbench.lm.smoothing import Smoothing, discounts_of
from cgbench.lm.training import train_lm

words = st.sampled_from("aaabbcd")
corpora = st.lists(st.lists(words, max_size=5), min_size=1, max_size=12).filter(any)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lm")


@njit
def write_figure(value, out, i):
    """As a kernel calls it: Python calls no part of one."""
    return arpa_kernels.write_figure(value, out, i)


def write(folder, text, order, **options):
    (folder / "text").write_text(text)
    trained = train_lm(folder / "text", folder / "x.arpa", order=order, **options)
    return trained, folder / "x.arpa"


def zipf_text():
    """1,000 sentences of made-up words by a fixed rule; few words come often, many once."""
    state, lines = 1, []
    for _ in range(1000):
        words = []
        for _ in range(3 + state % 5):
            state = (state * 1103515245 + 12345) % 2**31
            words.append(f"w{int(200 ** (state / 2**31))}")
        lines.append(" ".join(words) + "\n")
    return "".join(lines)


def test_discounts_by_hand():
    # n1..n4 = 4, 2, 1, 1: Y = 4 / (4 + 2 * 2) = 1/2; 1 - 2Y 2/4, 2 - 3Y 1/2, 3 - 4Y 1/1
    assert discounts_of([4, 2, 1, 1]) == ((0.5, 1.25, 1.0), "")
    assert discounts_of([4, 0, 1, 1]) == (None, "no n-gram with an adjusted count of 2")
    assert discounts_of([4, 2, 1, 3]) == (
        None,
        "the discount for an adjusted count of 3 would be -3.0000",
    )
    assert discounts_of([4, 2, 1, 0]) == ((0.5, 1.25, 3.0), "")


def test_bigrams_by_hand(folder):
    # <s> a b </s>, <s> a </s>, discounts 0.5 1 1.5. Bigrams, all counted as they occur: <s> a: 2,
    # the others: 1. Unigrams by different words on their left: a: 1 (<s>), b: 1 (a), </s>: 2 (a,
    # b); 4 in all. Uniform: 1/4. Taken away: (0.5 + 0.5 + 1) / 4 = 0.5, so p(<unk>) = 0.5 / 4, p(a)
    # = p(b) = 0.5/4 + 1/8, p(</s>) = 1/4 + 1/8. After a (b: 1, </s>: 1): weight (0.5 + 0.5) / 2;
    # p(b | a) = 0.5/2 + 0.5 * 1/4 = 3/8. After <s> (a: 2): weight 1 / 2; p(a | <s>) = (2 - 1)/2 +
    # 1/2 * 1/4 = 5/8.
    trained, path = write(folder, "a b\na\n", 2)
    assert [len(trained.warnings), trained.figures["fallback"], trained.figures["ngrams"]] == [
        2,
        [1, 2],
        [5, 4],
    ]
    sections = twins_lm.read_arpa(path.read_text())
    expected = {
        1: {
            "<unk>": (1 / 8, 1),
            "<s>": (1, 1 / 2),
            "</s>": (3 / 8, 1),
            "a": (1 / 4, 1 / 2),
            "b": (1 / 4, 1 / 2),
        },
        2: {
            "<s> a": (5 / 8, 1),
            "a b": (3 / 8, 1),
            "a </s>": (7 / 16, 1),
            "b </s>": (1 / 2 + 1 / 2 * 3 / 8, 1),
        },
    }
    for order, section in expected.items():
        assert sections[order].keys() == section.keys()
        for ngram, figures in section.items():
            assert 10 ** np.array(sections[order][ngram]) == pytest.approx(figures, abs=2e-6), ngram


@settings(deadline=None, max_examples=120)
@given(corpora, st.integers(1, 5))
@example(
    [[], [], [], ["b"], ["a", "a", "b"]], 2
)  # the discount for 2 is 0: no weight is left after b
def test_every_figure_by_definition(folder, corpus, order):
    text = "".join(" ".join(line) + "\n" for line in corpus)
    trained, path = write(folder, text, order, jobs=2)
    model = twins_lm.Model(corpus, order)
    assert trained.figures["fallback"] == [n for n, bad in enumerate(model.problems, 1) if bad]
    sections = twins_lm.read_arpa(path.read_text())
    for n in range(1, order + 1):
        expected = model.lines(n)
        assert sections[n].keys() == expected.keys()
        assert trained.figures["ngrams"][n - 1] == len(expected)
        for ngram, figures in expected.items():
            assert sections[n][ngram] == pytest.approx(figures, abs=2e-6), ngram


def test_probabilities_sum_to_one_over_the_vocabulary(folder):
    kenlm = pytest.importorskip("kenlm")
    _, path = write(folder, zipf_text(), 3)
    model = quiet(kenlm, path)
    vocabulary = [word for word in twins_lm.read_arpa(path.read_text())[1] if word != "<s>"]
    rng = random.Random(1)
    for length in (0, 1, 2, 3):
        for _ in range(5):
            context = [rng.choice(vocabulary) for _ in range(length)]
            state, after = kenlm.State(), kenlm.State()
            model.NullContextWrite(state) if rng.random() < 0.5 else model.BeginSentenceWrite(state)
            for word in context:
                model.BaseScore(state, word, after)
                state, after = after, state
            total = math.fsum(10 ** model.BaseScore(state, word, after) for word in vocabulary)
            assert total == pytest.approx(1, abs=3e-5), context


# What lmplz of KenLM (the sdist of kenlm 0.3.0) makes of zipf_text(): "lmplz -o 3".
LMPLZ_DISCOUNTS = [
    [0.0909091, 1.64545, 2.66434],
    [0.72757, 1.13856, 1.62352],
    [0.906409, 1.34275, 1.64927],
]
LMPLZ = """
-3.0303257	<unk>	0
0	<s>	-0.67710596
-1.3175073	w1	-0.51758
-1.6858745	w7	-0.36823964
-0.8348473	w1 </s>	0
-1.1292319	w1 w2	-0.27808216
-0.897905	<s> w1	-0.26739714
-1.1374711	w1 w1	-0.21824051
-1.1751889	w4 w1	-0.13248529
-0.53747123	w2 w1 </s>
-0.79089785	w1 w2 w1
-0.89590573	<s> w1 w1
"""


def test_figures_of_lmplz(folder):
    trained, path = write(folder, zipf_text(), 3)
    assert trained.warnings == [] and trained.figures["ngrams"] == [202, 2761, 4398]
    assert np.array(trained.figures["discounts"]) == pytest.approx(
        np.array(LMPLZ_DISCOUNTS), rel=1e-5
    )
    ours = {
        ngram: row
        for section in twins_lm.read_arpa(path.read_text()).values()
        for ngram, row in section.items()
    }
    for line in LMPLZ.strip().split("\n"):
        log, ngram, *backoff = line.split("\t")
        assert ours[ngram] == pytest.approx(
            (float(log), float(backoff[0]) if backoff else 0.0), abs=1e-6
        ), ngram


def test_adjusted_counts_when_ngrams_begin_a_sentence(folder):
    # "a b" twice at the beginning: on the left of "a" stands <s> alone, so a counts 1; but "<s> a"
    # counts 2.
    (folder / "text").write_text("a b\na b\n")
    corpus = read_text_corpus(folder / "text")
    model = Smoothing(corpus, sort_positions(corpus, 3, 1), 1)
    assert [order.tally for order in model.orders] == [(3, 0, 0, 0), (2, 1, 0, 0), (0, 2, 0, 0)]
    assert [order.nodes for order in model.orders] == [3, 3, 2]


def test_same_bytes_with_any_number_of_threads(folder, monkeypatch):
    monkeypatch.setattr("cgbench.lm.smoothing._PART", 500)
    monkeypatch.setattr("cgbench.lm.arpa._BUFFER", 2000)
    found = [write(folder, zipf_text(), 4, jobs=jobs)[1].read_bytes() for jobs in (1, 2, 3)]
    monkeypatch.undo()
    assert found[0] == found[1] == found[2] == write(folder, zipf_text(), 4)[1].read_bytes()


def quiet(kenlm, path):
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    return kenlm.Model(str(path), config)


@settings(deadline=None)
@given(st.lists(st.floats(1e-38, 1.2) | st.just(0.0), min_size=1))
def test_figures_as_text(values):
    numbers = np.array(values, np.float32)
    millionths = arpa_kernels.to_millionths(numbers)
    for value, found in zip(numbers.tolist(), millionths.tolist(), strict=True):
        out = np.zeros(arpa_kernels.LINE, np.uint8)
        end = write_figure(found, out, 3)
        text = out[3:end].tobytes().decode()
        assert text == twins_lm.figure(value)
        assert value == 0 or abs(float(text) - min(0, math.log10(value))) < 5.1e-7


def test_bad_values(folder):
    (folder / "text").write_text("a\n")
    for name, options, message in (
        ("x.txt", {}, r"must end in \.arpa"),
        ("none/x.arpa", {}, "does not exist"),
        ("x.arpa", {"order": 0}, "order=0"),
    ):
        with pytest.raises(InputError, match=message):
            train_lm(folder / "text", folder / name, **options)
    (folder / "d.arpa").mkdir()
    with pytest.raises(InputError, match="a folder"):
        train_lm(folder / "text", folder / "d.arpa")
