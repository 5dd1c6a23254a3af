"""Atoms and compounds: of words with their weights, syntax, a table; what is wrong with files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins_split import ngram_weights

from cgbench.benchmark.measure.divergence.elements import element_type, elements_of
from cgbench.benchmark.measure.divergence.measure import text_divergences
from cgbench.benchmark.measure.divergence.word_ngrams import words_and_ngrams
from cgbench.errors import InputError

CONLLU = """\
1\tCats\tcat\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_
2\tsaw\tsee\tVERB\tVBD\tTense=Past\t0\troot\t_\t_
3\tcats\tcat\tNOUN\tNNS\tNumber=Plur\t2\tobj\t_\t_

1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
"""


def rows(found):
    """A dict an example, by name."""
    dicts = [{} for _ in range(found.examples)]
    for row, number, weight in zip(found.rows, found.ids, found.weights, strict=True):
        dicts[row][found.names[number]] = float(weight)
    return dicts


def test_words_and_their_ngrams():
    atoms, compounds = words_and_ngrams(["a b a b", "c", ""], (2,), specific=False)
    assert rows(atoms) == [{"a": 2, "b": 2}, {"c": 1}, {}]
    assert rows(compounds) == [{"a b": 2, "b a": 1}, {}, {}]


def test_without_larger_compounds_a_specific_weight_is_1_however_often_it_occurs():
    """The weight in an example is the greatest of its occurrences, not their sum: of one order all
    weigh 1.
    """
    atoms, compounds = words_and_ngrams(["a b a b", "c", ""], (2,), specific=True)
    assert rows(atoms) == [{"a": 2, "b": 2}, {"c": 1}, {}]
    assert rows(compounds) == [{"a b": 1, "b a": 1}, {}, {}]
    # "a b" has 2 of the 3 weights of training, not 3 of 4.
    found = text_divergences(
        ("train", ["a b a b", "a b"]), ("test", ["a b"]), element_type("words")
    )
    assert found.compound == pytest.approx(1 - (2 / 3) ** 0.1)
    counted = text_divergences(
        ("train", ["a b a b", "a b"]), ("test", ["a b"]), element_type("words", "count")
    )
    assert counted.compound == pytest.approx(1 - (3 / 4) ** 0.1)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=7).map(" ".join), max_size=5),
    st.sampled_from([(2,), (2, 3), (2, 4), (2, 3, 4), (3, 5)]),
)
def test_specific_weights_are_those_of_the_definition(lines, orders):
    expected = ngram_weights(lines, orders)
    _, compounds = words_and_ngrams(lines, orders, specific=True)
    assert rows(compounds) == [pytest.approx(row, abs=2**-20) for row in expected]


def test_a_compound_that_is_always_part_of_a_larger_one_weighs_nothing():
    _, compounds = words_and_ngrams(["a b c", "a b c", "b c"], (2, 3), specific=True)
    assert rows(compounds)[0] == {"b c": pytest.approx(1 / 3, abs=1e-6), "a b c": 1}


def test_weights_are_exact_in_any_order():
    _, compounds = words_and_ngrams(["a b c", "a b c", "b c", "c a b"], (2, 3), specific=True)
    assert (compounds.weights * 2**20 == np.rint(compounds.weights * 2**20)).all()


def test_triples_and_lemmas(tmp_path):
    file = tmp_path / "x.conllu"
    file.write_text(CONLLU)
    text = [("x", ["Cats saw cats", "Go"])]
    found = elements_of(element_type(f"triples:{file}"), text)
    assert rows(found.atoms) == [
        {"cat": 2, "see": 1, "nsubj": 1, "root": 1, "obj": 1},
        {"go": 1, "root": 1},
    ]
    assert rows(found.compounds) == [{"see nsubj cat": 1, "see obj cat": 1}, {}]
    found = elements_of(element_type(f"lemmas:{file}"), text)
    assert rows(found.atoms)[0] == {"cat": 2, "see": 1, "Number=Plur": 2, "Tense=Past": 1}
    assert rows(found.compounds) == [{"cat|Number=Plur": 1, "see|Tense=Past": 1}, {"go|VERB": 1}]
    counted = elements_of(element_type(f"lemmas:{file}", "count"), text)
    assert rows(counted.compounds) == [{"cat|Number=Plur": 2, "see|Tense=Past": 1}, {"go|VERB": 1}]


def test_the_rest_of_a_word_that_is_written_apart_has_no_lemma(tmp_path):
    file = tmp_path / "x.conllu"
    file.write_text(
        "1\tbe\tbefore\tADV\tRB\t_\t0\troot\t_\t_\n2\tfore\t_\tX\tRB\t_\t1\tgoeswith\t_\t_\n\n"
    )
    found = elements_of(element_type(f"lemmas:{file}"), [("x", ["be fore"])])
    assert rows(found.compounds) == [{"before|ADV": 1}]


def test_a_table_of_ones_own(tmp_path):
    file = tmp_path / "x.tsv"
    file.write_text("first\tred\tbox\tred box\nsecond\tred\n")
    found = elements_of(element_type(f"table:{file}"), [("x", ["1", "2"])])
    assert rows(found.atoms) == [{"red": 1, "box": 1}, {"red": 1}]
    assert rows(found.compounds) == [{"red box": 1}, {}]


def test_divergences_of_two_texts():
    found = text_divergences(
        ("train", ["a b", "b a"]), ("test", ["a b", "a d"]), element_type("words")
    )
    # atoms: train a 2 b 2, test a 2 b 1 d 1; compounds: train "a b" 1 "b a" 1, test "a b" 1 "a d" 1
    assert found.atom == pytest.approx(1 - ((0.5 * 0.5) ** 0.5 + (0.5 * 0.25) ** 0.5))
    assert found.compound == pytest.approx(1 - 0.5)
    assert (found.lone_atoms, found.compounds, found.novel_compounds) == (("d",), 2, 1)


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ("wrods", "did you mean words"),
        ("words:1", "numbers from 2"),
        ("words:x", "numbers from 2"),
        ("triples", "triples:FILE"),
        ("scan:x", "leave :x out"),
    ],
)
def test_kinds_that_are_none(given_, said):
    with pytest.raises(InputError, match=said):
        element_type(given_)


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (CONLLU, "triples", "2 examples and x 3"),
        (CONLLU.replace("2\tnsubj", "9\tnsubj"), "triples", "line 1: HEAD '9'"),
        (CONLLU.replace("2\tnsubj", "2\t_"), "triples", "line 1: no relation"),
        (CONLLU.replace("\tgo\t", "\t_\t"), "lemmas", "line 5: no lemma"),
        ("a\tb\n\tc\nd\n", "table", "row 3: give an example, then"),
        ("a\tb\na\tc\na\td\n", "table", "no example has a compound of table"),
    ],
)
def test_files_that_do_not_fit(tmp_path, content, kind, said):
    file = tmp_path / "f"
    file.write_text(content)
    with pytest.raises(InputError, match=said):
        elements_of(element_type(f"{kind}:{file}"), [("x", ["1", "2", "3"])])


def test_a_file_a_text():
    with pytest.raises(InputError, match="2 file"):
        elements_of(element_type("table:one"), [("train", ["a"]), ("test", ["b"])])
