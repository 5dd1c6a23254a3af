"""Scores of sentences: by hand from a small ARPA file, and what is no language model."""

import contextlib
import os
import signal
from fractions import Fraction

import kenlm_binary
import numpy as np
import pytest

from cgbench.errors import InputError
from cgbench.lm import language_model as module
from cgbench.lm.language_model import CorpusScore, LanguageModel

pytest.importorskip("kenlm")

ARPA = """\\data\\
ngram 1=5
ngram 2=4

\\1-grams:
-2	<unk>	0
0	<s>	-0.3
-0.5	</s>	0
-0.6	a	-0.1
-0.7	b	-0.2

\\2-grams:
-0.2	<s> a
-0.4	a b
-0.5	a </s>
-0.1	b </s>

\\end\\
"""


@pytest.fixture
def model(tmp_path):
    (tmp_path / "x.arpa").write_text(ARPA)
    return LanguageModel.load(tmp_path / "x.arpa")


def test_sentences_by_hand(model, capfd):
    for line, log10, words, oovs in (
        ("a b", -0.2 - 0.4 - 0.1, 2, 0),
        ("a", -0.2 - 0.5, 1, 0),
        ("b b", (-0.3 - 0.7) + (-0.2 - 0.7) - 0.1, 2, 0),  # two back-offs
        ("", -0.3 - 0.5, 0, 0),
        ("a c", -0.2 + (-0.1 - 2) - 0.5, 2, 1),
        (" a\tb \x0b", -0.7, 2, 0),
        ("<s>", (-0.3 - 2) - 0.5, 1, 1),  # no word of a sentence
        ("a </s> <unk>", -0.2 + (-0.1 - 2) - 2 - 0.5, 3, 2),
    ):
        [score] = model.scores([line])
        assert score.log10 == pytest.approx(log10, abs=1e-6), line
        assert (score.words, score.oovs) == (words, oovs)
        assert score.perplexity == pytest.approx(10 ** (-log10 / (words + 1)), rel=1e-6)
    assert capfd.readouterr().err == ""


def test_arrays_and_sums(model):
    lines = ["a b", "a c", ""]
    total = CorpusScore()
    scores = list(model.scores(lines, total))
    assert model.order == 2
    perplexity = model.perplexity(lines)
    assert perplexity.dtype == np.float64 and perplexity.tolist() == [
        score.perplexity for score in scores
    ]
    assert (total.sentences, total.tokens, total.oovs) == (3, 7, 1)
    log10 = -0.7 - 2.8 - 0.8
    assert total.log10 == pytest.approx(log10, abs=1e-5)
    assert total.perplexity == pytest.approx(10 ** (-log10 / 7), rel=1e-5)
    assert total.perplexity_without_oovs == pytest.approx(10 ** (-(log10 + 2.1) / 6), rel=1e-5)
    assert np.isnan(CorpusScore().perplexity)


def test_what_is_no_language_model(tmp_path):
    for name, content, message in (
        ("text", b"a b c\n", r'first non-empty line was "a b c" not \\data\\'),
        ("empty", b"", "not a language model that KenLM reads"),
        ("cut.arpa", ARPA[:150].encode(), "not a language model that KenLM reads"),
        ("bad.binary", b"mmap lm http://kheafield.com/code format version 4\n\0" * 3, "version 4"),
        (
            "one.arpa",
            b"\\data\\\nngram 1=1\n\n\\1-grams:\n-1\t<unk>\n\n\\end\\\n",
            "at least a bigram",
        ),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=message) as error:
            LanguageModel.load(tmp_path / name)
        assert "\n" not in str(error.value) and str(error.value).startswith(str(tmp_path / name))
    with pytest.raises(InputError, match="no such file"):
        LanguageModel.load(tmp_path / "missing")
    with pytest.raises(InputError, match="a folder"):
        LanguageModel.load(tmp_path)


@pytest.fixture
def binary(tmp_path):
    (tmp_path / "2.binary").write_bytes(kenlm_binary.DATA)
    return tmp_path / "2.binary"


def scored(path):
    return list(LanguageModel.load(path).scores(["a b", "b a a", "zebra é", "", *["a"] * 300]))


@pytest.mark.parametrize(
    ("at", "value"),
    [
        *((at, b"\xff") for at in (60, 88, 92, 96)),  # the header
        (108, (1 << 60).to_bytes(8, "little")),  # more n-grams than bytes
        (96, b"\1"),  # of another kind than it is
        (116, b"\1"),
        (136, b"\xff" * 84),  # the vocabulary
        (60, b""),  # cut short
        (-1, b""),
    ],
)
def test_a_damaged_binary_file_ends_no_process_but_its_reader(
    binary, tmp_path, monkeypatch, at, value
):
    monkeypatch.setattr(module, "SECONDS", 1)  # KenLM looks in a full hash table for ever
    data = binary.read_bytes()
    (tmp_path / "x.binary").write_bytes(
        data[:at] + value + data[at + len(value) :] if value else data[:at]
    )
    with contextlib.suppress(InputError) as caught:
        scored(tmp_path / "x.binary")
    assert caught is None or "\n" not in str(caught)


def test_a_process_that_ends_or_gives_no_answer_is_one_line(binary, monkeypatch):
    assert len(scored(binary)) == 304
    for signal_, seconds in ((signal.SIGSEGV, 60), (signal.SIGSTOP, 0.1)):
        model = LanguageModel.load(binary)
        monkeypatch.setattr(module, "SECONDS", seconds)
        os.kill(model._child._process.pid, signal_)
        with pytest.raises(InputError, match=f"^{binary}: a damaged KenLM binary file"):
            list(model.scores(["a b"]))


def test_a_probability_that_is_no_number(binary, tmp_path):
    data = binary.read_bytes()
    begin, end = kenlm_binary.UNIGRAMS, kenlm_binary.UNIGRAMS + 8 * kenlm_binary.WORDS
    (tmp_path / "x.binary").write_bytes(data[:begin] + b"\xff" * (end - begin) + data[end:])
    with pytest.raises(InputError, match="a probability is not a number"):
        scored(tmp_path / "x.binary")


def test_a_missing_package_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "kenlm", None)
    with pytest.raises(InputError, match=r"pip install \"cgbench\[kenlm\]"):
        LanguageModel.load(tmp_path / "x.arpa")


def test_a_nul_byte(model):
    with pytest.raises(InputError, match="line 2: contains a NUL byte"):
        model.perplexity(["a", "a\0b"])


def test_a_long_sentence_has_the_exact_sum_of_its_tokens(tmp_path, words=1_000_000):
    """KenLM's own sum of a sentence, a float of 32 bits, is off by a percent after a million of
    these words.
    """
    (tmp_path / "x.arpa").write_text(ARPA.replace("-2\t<unk>", "-1.2345\t<unk>"))
    total = CorpusScore()
    [score] = LanguageModel.load(tmp_path / "x.arpa").scores(["zz " * words], total)
    # KenLM's scores of the tokens are floats of 32 bits: <s> backs off before the first word.
    unknown, end = (Fraction(float(np.float32(weight))) for weight in (-1.2345, -0.5))
    first = Fraction(float(np.float32(-0.3) + np.float32(-1.2345)))
    unknowns = first + (words - 1) * unknown
    assert (score.log10, total.log10) == (float(unknowns + end),) * 2
    assert total.log10_of_oovs == float(unknowns)
    assert (score.words, score.oovs, total.tokens, total.oovs) == (words, words, words + 1, words)
