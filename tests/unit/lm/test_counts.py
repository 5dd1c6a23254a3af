"""Reading a corpus for a language model, and sorting its positions backwards."""

from itertools import pairwise

import pytest
import twins_lm
from hypothesis import given, settings
from hypothesis import strategies as st

from cgbench.errors import InputError
from cgbench.lm import count_kernels
from cgbench.lm.counts import read_text_corpus, sort_positions

sentences = st.lists(
    st.lists(st.sampled_from("aabc"), max_size=6).map(" ".join), min_size=1, max_size=8
)


@pytest.fixture(scope="module")
def corpus_of(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "text"

    def read(text: str | bytes, **options):
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_text_corpus(path, **options)

    return read


def words_of(corpus):
    spelled = [
        corpus.arena[begin:end].tobytes().decode()
        for begin, end in pairwise(corpus.starts.tolist())
    ]
    assert len(spelled) == corpus.words
    return spelled


def test_words_by_falling_count_with_the_special_ones_first(corpus_of):
    corpus = corpus_of("b a b\n\n a  c\r\nb")
    assert words_of(corpus) == ["<unk>", "<s>", "</s>", "b", "a", "c"]
    assert corpus.text.tolist() == [2, 3, 4, 3, 2, 2, 4, 5, 2, 3, 2]
    assert corpus.counts.tolist() == [0, 0, 4, 3, 2, 1]
    assert (corpus.tokens, corpus.sentences, corpus.longest) == (6, 4, 5)


@settings(deadline=None, max_examples=40)
@given(sentences, st.integers(1, 5), st.integers(1, 3))
def test_sorting_against_its_definition(corpus_of, lines, order, jobs):
    corpus = corpus_of("a\n" + "".join(line + "\n" for line in lines))
    sort = sort_positions(corpus, order, jobs)
    assert (
        sort.positions.tolist(),
        sort.shared.tolist(),
        sort.depths.tolist(),
    ) == twins_lm.sorted_positions(corpus.text.tolist(), order)
    assert [
        sort.starts[word + 1] - sort.starts[word] for word in range(corpus.words)
    ] == corpus.counts.tolist()


def test_many_words_and_long_lines_over_blocks(corpus_of, monkeypatch):
    monkeypatch.setattr("cgbench.lm.counts.BLOCK", 100)
    lines = [f"w{i} w{i % 7} " + "x" * (i % 150) for i in range(5000)]
    corpus = corpus_of("\n".join(lines))
    spelled = words_of(corpus)
    words = [spelled[i] for i in corpus.text[1:].tolist()]
    assert words == [word for line in lines for word in [*line.split(), "</s>"]]


@pytest.mark.parametrize("word", ["<s>", "</s>", "<unk>", "<UNK>"])
def test_reserved_words_are_refused(corpus_of, word):
    with pytest.raises(InputError, match=f"line 3: .*special symbol {word}"):
        corpus_of(f"a\nb\na {word} b\n")


def test_bad_input(corpus_of, tmp_path):
    for text, message in (
        ("", "contains no words"),
        ("\n \n", "contains no words"),
        (b"a\n\xff\n", "line 2: not UTF-8"),
        ("a\nb\0c\n", "line 2: contains a NUL byte"),
    ):
        with pytest.raises(InputError, match=message):
            corpus_of(text)


def test_the_example(corpus_of):
    corpus = corpus_of("a b\nb\n")
    result = sort_positions(corpus, 3, jobs=1)
    # The text is a ring of which the first END, in front, is the last.
    words = [
        [corpus.text[max(position - back, 0)] for back in range(3)]
        for position in result.positions.tolist()
    ]
    words = [
        " ".join(map(str, row[:depth]))
        for row, depth in zip(words, result.depths.tolist(), strict=True)
    ]
    for name, values in (
        ("text       ", corpus.text),
        ("positions  ", result.positions),
        ("depths     ", result.depths),
        ("shared     ", result.shared),
    ):
        assert f"    {name}{' '.join(map(str, values))}\n" in count_kernels.__doc__
    assert f"    words      {', '.join(words)}\n" in count_kernels.__doc__
