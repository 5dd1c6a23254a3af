"""The matrix of a lexicon, by hand; and its picture."""

import numpy as np
import pytest

from cgbench.errors import InputError
from cgbench.models.config.lstm_lexicon import LSTMLexiconConfig
from cgbench.models.lexicons.lexicon import Lexicon
from cgbench.models.lexicons.matrix import lexicon_matrix

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
LEXICON = Lexicon.of(
    {"dax": {"RED": 6}, "lug": {"BLUE": 2, "RED": 1}, "zup": {"TEAL": 1, "RED": 1}}
)
SOURCE = [*SPECIALS, "dax", "lug", "zup", "fep", "the"]
TARGET = [*SPECIALS, "<copy>", "BLUE", "RED", "TEAL", "PINK", "the", "GOLD"]


def matrix_of(form, temperature=0.1, lexicon=LEXICON, source=SOURCE, target=TARGET):
    return lexicon_matrix(
        LSTMLexiconConfig(lexicon=form, lexicon_temperature=temperature), lexicon, source, target
    )


def shown(matrix, source=SOURCE, target=TARGET):
    """The matrix as words; what is 0 is left out."""
    assert matrix.shape == (len(source), len(target)) and matrix.dtype == np.float32
    rows = (
        {word: round(float(value), 6) for word, value in zip(target, row, strict=True) if value}
        for row in matrix
    )
    return dict(zip(source, rows, strict=True))


SAME = {special: {special: 1.0} for special in SPECIALS}


def test_hard():
    """zup ties: the first; fep, which has nothing, stands for the first word that nothing stands
    for.
    """
    expected = {
        "dax": {"RED": 1},
        "lug": {"BLUE": 1},
        "zup": {"RED": 1},
        "fep": {"PINK": 1},
        "the": {"the": 1},
    }
    assert shown(matrix_of("hard")) == {**SAME, **expected}


def test_soft():
    """Over the whole vocabulary; an equal name counts 1/2, a shared rest 1/2 divided by its words
    (PINK, GOLD).
    """
    matrix = matrix_of("soft", temperature=0.5)
    values = {
        "dax": {"RED": 6},
        "lug": {"BLUE": 2, "RED": 1},
        "the": {"the": 0.5},
        "</s>": {"</s>": 0.5},
    }
    values["fep"] = {"PINK": 0.25, "GOLD": 0.25}
    for word, row in values.items():
        weights = np.exp([row.get(target, 0) / 0.5 for target in TARGET])
        assert matrix[SOURCE.index(word)] == pytest.approx(weights / weights.sum(), rel=1e-5)


def test_a_word_stands_for_nothing_when_no_target_word_is_left():
    target = [*SPECIALS, "BLUE", "RED", "TEAL"]
    assert shown(matrix_of("hard", target=target), target=target)["fep"] == {}
    assert matrix_of("soft", target=target)[SOURCE.index("fep")].tolist() == pytest.approx(
        [1 / 7] * 7
    )


def test_specials_never_stand_for_words():
    """Not even one that the target side lacks; nor does it count as a source word that is no target
    word.
    """
    target = ["<s>", "<pad>", "</s>", "dax", "lug", "zup", "fep", "the", "RED", "BLUE", "TEAL"]
    found = shown(matrix_of("hard", target=target), target=target)
    assert found["<unk>"] == {} and found["fep"] == {"fep": 1}
    target = [word for word in TARGET if word != "<unk>"]
    found = shown(matrix_of("hard", target=target), target=target)
    assert found["<unk>"] == {} and "PINK" in found["fep"]


def test_copying_is_the_lexicon_of_equal_names():
    found = shown(matrix_of("copy", lexicon=None))
    assert found == {**SAME, "the": {"the": 1}, "dax": {}, "lug": {}, "zup": {}, "fep": {}}


def test_uniform():
    assert matrix_of("uniform", lexicon=None) == pytest.approx(1 / len(TARGET))


def test_logarithms_of_a_soft_lexicon_are_its_logits():
    matrix = matrix_of("soft")
    weights = np.exp(np.log(matrix + 1e-7))
    assert weights / weights.sum(1, keepdims=True) == pytest.approx(matrix, abs=1e-5)


def test_mutual_information_may_be_negative():
    lexicon = Lexicon.of({"dax": {"RED": -3.0, "BLUE": -1.0}})
    assert shown(matrix_of("hard", lexicon=lexicon))["dax"] == {"BLUE": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": ["dax", "lug"]}, r"has 1 source word \('zup'\) not in the vocabulary"),
        (
            {"source": ["a"], "target": ["RED", "BLUE"]},
            r"has 3 source words \('dax', 'lug', 'zup'\) and 1 target word \('TEAL'\)",
        ),
        ({"lexicon": Lexicon.of({})}, "the lexicon is empty"),
        ({"lexicon": Lexicon.of({"dax": {}})}, "the lexicon is empty"),
        (
            {"lexicon": Lexicon.of({f"v{n}": {"RED": 1} for n in range(1234)})},
            r"1,234 source words .*'v4', \.\.\.\)",
        ),
    ],
)
def test_what_cannot_be(options, message):
    with pytest.raises(InputError, match=message):
        matrix_of("hard", **options)
