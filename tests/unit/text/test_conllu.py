"""CoNLL-U: words and tags, ranges and empty nodes, and what is wrong with a file."""

import gzip

import pytest
from shared_data import SHARED, needs

from cgbench.errors import InputError
from cgbench.text.conllu import FORM, read_sentences


def row(number, word, upos="X", xpos="x"):
    return f"{number}\t{word}\t_\t{upos}\t{xpos}\t_\t_\t_\t_\t_"


SENTENCES = "\n".join(
    [
        "# sent_id = 1",
        "# text = don't go there",
        row("1-2", "don't", "_", "_"),
        row(1, "do", "AUX", "VBP"),
        row(2, "n't", "PART", "RB"),
        row(3, "go", "VERB", "VB"),
        row("3.1", "went", "VERB", "VBD"),
        row(4, "there", "ADV", "RB"),
        "",
        "",
        row(1, "#", "SYM", "#"),
        row(2, "New York", "PROPN", "NNP"),
    ]
)


@pytest.fixture
def write(tmp_path):
    def make(text, name="x.conllu"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return make


def read_tags(path, tags="xpos"):
    return [
        (sentence.column(FORM), sentence.tags(tags, path), sentence.first)
        for sentence in read_sentences(path)
    ]


def test_syntactic_words_and_their_tags(write):
    assert read_tags(write(SENTENCES)) == [  # neither the range 1-2 nor the empty node 3.1
        (["do", "n't", "go", "there"], ["VBP", "RB", "VB", "RB"], 3),
        (["#", "New York"], ["#", "NNP"], 11),
    ]
    assert read_tags(write(SENTENCES), "upos")[0][1] == ["AUX", "PART", "VERB", "ADV"]


def test_compressed_and_with_carriage_returns(tmp_path):
    path = tmp_path / "x.conllu.gz"
    path.write_bytes(gzip.compress(SENTENCES.replace("\n", "\r\n").encode()))
    assert [words for words, _, _ in read_tags(path)] == [
        ["do", "n't", "go", "there"],
        ["#", "New York"],
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tword\tNN", "line 1: 3 columns; CoNLL-U has 10"),
        (row(1, "a") + "\n" + row(3, "b"), "line 2: ID '3'; 2 is next"),
        (row("x", "a"), "line 1: ID 'x'; 1 is next"),
        (row("2-3", "a") + "\n" + row(1, "b"), "line 1: the range 2-3 does not begin at word 1"),
        (row("1-2", "ab") + "\n" + row(1, "a"), "ends within a range that ends at word 2"),
        (row("1-2", "ab") + "\n" + row("1-3", "abc"), "line 2: the range 1-3"),
        (row("0.1", "e") + "\n\n", "line 1: a sentence without a word"),
        (row("2.1", "e"), "line 1: the empty node 2.1 does not follow word 0"),
        (row(1, " "), "line 1: no word in column 2"),
        (row(1, "a", "X", "_"), "line 1: no xpos tag; use tags='upos'"),
        (row(1, "a", "X", "N N"), "line 1: the tag 'N N' contains a blank"),
        ("# nothing but a comment\n", "no sentences"),
        ("", "no sentences"),
    ],
)
def test_bad_lines(write, text, message):
    with pytest.raises(InputError, match=r"x\.conllu") as caught:
        read_tags(write(text))
    assert message in str(caught.value)


@needs("ud/en_ewt-ud-dev.conllu.gz", "ud/en_ewt-ud-test.conllu.gz")
@pytest.mark.parametrize(("part", "sentences"), [("dev", 2_001), ("test", 2_077)])
def test_the_sentences_of_ud_english_ewt(part, sentences):
    """The counts of the treebank's own description; it has ranges and empty nodes."""
    path = SHARED / "ud" / f"en_ewt-ud-{part}.conllu.gz"
    found = read_tags(path)
    assert len(found) == sentences
    assert {"NN", "VBZ", "-LRB-", "NNPS"} < {tag for _, tags, _ in found for tag in tags}
