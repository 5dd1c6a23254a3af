"""The text contract: what a word is, what is in front of a text, what is no text."""

import gzip
import hashlib
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgbench.benchmark.build.stats.degree import known_ngrams_of
from cgbench.benchmark.build.stats.single_texts import Text, text_digest
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.metrics.bins import lengths
from cgbench.benchmark.measure.metrics.cter_errors import reasons
from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.score.evaluation.features import FeatureInputs, make_feature
from cgbench.data_recipes.geca import Alphabet, count_shared
from cgbench.errors import InputError, InputWarning
from cgbench.lm.counts import read_text_corpus
from cgbench.models.config.common import TextConfig
from cgbench.models.lexicons.bitext import Bitext
from cgbench.models.text import subwords as model_text
from cgbench.text import corpus
from cgbench.text.blocks import read_blocks
from cgbench.text.columns import Column, read_column
from cgbench.text.corpus import index_pair, index_text
from cgbench.text.formats import CorpusSpec, read_pairs
from cgbench.text.normalisation import Normalisation
from cgbench.text.plain_text import MARK, word_bytes, words_of
from cgbench.text.streams import read_lines

# What Python's str.split takes for white space and the contract does not.
LETTERS = "\xa0\u3000\u2028\u2029\u1680\u2009\u202f\u205f\x1c\x1d\x1e\x1f\x85"
BLANKS = " \t\r\x0b\x0c"


def test_the_characters_are_those_that_python_splits_at():
    assert all(len(f"a{letter}b".split()) == 2 for letter in LETTERS + BLANKS)


@pytest.mark.parametrize("letter", LETTERS)
def test_other_white_space_is_part_of_a_word(letter):
    line = f"a{letter}b {letter} c{letter}"
    assert words_of(line) == [f"a{letter}b", letter, f"c{letter}"]


@pytest.mark.parametrize("blank", BLANKS)
def test_ascii_white_space_separates(blank):
    assert words_of(f"{blank}a{blank}{blank}b{blank}") == ["a", "b"]
    assert words_of(blank) == []


@settings(deadline=None)  # the first example loads the compiled loops
@given(st.text(st.sampled_from(LETTERS + BLANKS + "ab\xe4\ufeff\0")))
def test_strings_bytes_and_the_compiled_loops_agree(line):
    """The known n-grams count and cover what the loops over bytes read; the models' text is cut as
    bytes.
    """
    words = words_of(line)
    assert [word.decode() for word in word_bytes(line)] == words
    known = KnownNgrams.learn([line], min_count=1)
    assert {known.words.word(i) for i in range(len(known.words))} == set(words)
    assert known.measure([line])[1].tolist() == [len(words)]
    assert sum(known.cover(line), ()) == tuple(words)
    assert lengths([line]).tolist() == [len(words)]
    assert Alphabet().encode(line) == "".join(
        chr(3 + list(dict.fromkeys(words)).index(word)) for word in words
    )


@pytest.mark.parametrize("letter", LETTERS)
def test_exact_match_length_and_frequency_by_the_contract(tmp_path, letter):
    line = f"a{letter}b c"
    metric = ExactMatch([[line], ["x y"]])
    assert metric.statistics(["a b c", "x\t y "])[:, 0].tolist() == [0, 1]
    (tmp_path / "train").write_bytes(f"a b c\na b c\n{line}\n".encode())
    material = FeatureInputs(Column("text", [line, "a b", "c"]), train=str(tmp_path / "train"))
    assert make_feature("length", 3, material).values.tolist() == [2, 2, 1]
    assert make_feature("frequency", 3, material).values.tolist() == [1, 2, 3]
    assert make_feature("one-shot", 3, material).labels == ("1-shot", "other", "other")


@pytest.mark.parametrize("letter", LETTERS)
def test_models_lexicons_and_augmentation_read_the_same_words(tmp_path, letter):
    (tmp_path / "s").write_bytes(f"a{letter}b c\n".encode())
    subwords = model_text.Subwords.learn(tmp_path / "s", tmp_path / "s", TextConfig(unit="words"))
    assert sorted(subwords.source[4:]) == sorted([f"a{letter}b", "c"])
    assert Bitext.read([(f"a{letter}b c", "x")]).source.words == [f"a{letter}b", "c"]
    found = count_shared([(f"a{letter}b", "x")], [("a b", "x"), (f" a{letter}b\t", "x")])
    assert (found.pairs, found.sources) == (1, 1)
    assert reasons([{"missing": f"a{letter}b c", "order": ""}])["missing"] == {
        f"a{letter}b": 1,
        "c": 1,
    }


def test_a_text_of_no_ascii_white_space_is_not_empty():
    assert text_digest(Text("x", None, ["\x1c"])) == hashlib.sha256(b"\x1c\n").hexdigest()
    with pytest.raises(InputError, match="the text is empty"):
        text_digest(Text("x", None, [" \t\x0b\x0c\r"]))


PLAIN = "das Haus\ndas Haus steht\n"


@pytest.fixture
def marked(tmp_path):
    """A text with a byte order mark, as several files, and the same without one."""
    (tmp_path / "plain").write_text(PLAIN)
    (tmp_path / "bom").write_bytes(MARK + PLAIN.encode())
    (tmp_path / "bom.gz").write_bytes(gzip.compress(MARK + PLAIN.encode()))
    (tmp_path / "bom.tsv").write_bytes(MARK + b"a\tx\nb\ty\n")
    (tmp_path / "bom.jsonl").write_bytes(MARK + b'{"source": "a", "target": "x"}\n')
    return tmp_path


READERS = {
    "lines": lambda path: list(read_lines(path)),
    "column": lambda path: read_column(path).values,
    "blocks": (
        lambda path: (
            b"".join(one.buffer[: one.size].tobytes() for one in read_blocks(path))
            .decode()
            .split("\n")
        )
    ),
    "small blocks": lambda path: [one.buffer[: one.size].tobytes() for one in read_blocks(path, 4)],
    "known n-grams": lambda path: known_ngrams_of(path, 1, Normalisation()).cover("das Haus steht"),
    "lower case": (
        lambda path: known_ngrams_of(path, 1, Normalisation(lowercase=True)).cover("das haus steht")
    ),
    "pairs": lambda path: list(read_pairs(CorpusSpec((path, path)))),
    "language model": lambda path: read_text_corpus(path).arena.tobytes(),
}


CASES = [(reader, name) for reader in READERS for name in ("bom", "bom.gz")]


@pytest.mark.parametrize(("reader", "name"), CASES)
def test_a_byte_order_mark_is_no_part_of_a_text(marked, reader, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = READERS[reader](marked / "plain")
    with pytest.warns(
        InputWarning, match=rf"{name}: begins with a byte order mark, which is ignored"
    ):
        assert READERS[reader](marked / name) == expected


def test_tables_with_a_byte_order_mark(marked):
    with pytest.warns(InputWarning, match=r"bom\.tsv"):
        assert list(read_pairs(CorpusSpec((marked / "bom.tsv",)))) == [("a", "x"), ("b", "y")]
    with pytest.warns(InputWarning, match=r"bom\.jsonl"):
        assert list(read_pairs(CorpusSpec((marked / "bom.jsonl",)))) == [("a", "x")]


@pytest.mark.parametrize("chunk", [4, 1 << 20])
def test_an_indexed_text_is_that_behind_the_mark(marked, monkeypatch, chunk):
    monkeypatch.setattr(corpus, "CHUNK", chunk)
    plain = index_text(marked / "plain")
    with pytest.warns(InputWarning, match="bom"):
        text = index_text(marked / "bom")
    assert text.lines == plain.lines
    assert text.sha256 == hashlib.sha256((marked / "bom").read_bytes()).hexdigest()
    assert (text.bytes, text.milestones.tolist()) == (
        plain.bytes + 3,
        (plain.milestones + np.array([0, 3])).tolist(),
    )


@pytest.mark.parametrize("content", [MARK, b""])
def test_a_mark_alone_is_an_empty_text(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        assert index_text(tmp_path / "x").lines == 0
        assert list(read_blocks(tmp_path / "x")) == []
        assert list(read_lines(tmp_path / "x")) == []
        with pytest.raises(InputError, match="the corpus is empty"):
            index_pair(tmp_path / "x", tmp_path / "x")


def test_a_mark_within_a_text_is_text(tmp_path):
    (tmp_path / "x").write_bytes(b"a\n" + MARK + b"b\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(read_lines(tmp_path / "x")) == ["a", "\ufeffb"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize(
    "reader", [lambda path: list(read_lines(path)), lambda path: list(read_blocks(path))]
)
def test_other_unicode_is_named_with_its_remedy(tmp_path, encoding, reader):
    (tmp_path / "x").write_bytes(("\ufeff" + PLAIN).encode(encoding))
    name = encoding[:6].upper()
    with pytest.raises(
        InputError, match=rf"x, line 1: not UTF-8 but {name}.*iconv -f {name} -t UTF-8"
    ):
        reader(tmp_path / "x")
