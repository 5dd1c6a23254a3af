"""Known n-grams against their definition, and what is saved, refused and kept small."""

from pathlib import Path

import numpy as np
import pytest
import twins
from hypothesis import given, settings
from hypothesis import strategies as st

from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams, learn_sides
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.errors import InputError

# Few words, so that long n-grams repeat: short, of 8 and 9 bytes, long, accented, and not of the
# Latin alphabet.
WORDS = [
    "a",
    "b",
    "c",
    "eightbyt",
    "ninebytes",
    "Straße",
    "é",
    "日本語",
    "x" * 70,
    "\x1f",
    "\u00a0",
]
words = st.sampled_from(WORDS)
gaps = st.sampled_from([" ", "  ", "\t", " \x0b"])


@st.composite
def lines(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(["", " "]))
    for word in draw(st.lists(words, max_size=14)):
        text += word + draw(gaps)
    return text.rstrip(" ") if draw(st.booleans()) else text


@st.composite
def corpora(draw: st.DrawFn) -> list[str]:
    some = draw(st.lists(lines(), max_size=8))
    return [line for line in some for _ in range(draw(st.integers(1, 4)))]


@settings(deadline=None, max_examples=120)
@given(corpora(), st.lists(lines(), max_size=6), st.integers(1, 4), st.integers(1, 4))
def test_covers_are_least_and_made_of_known_ngrams(training, sentences, min_count, word_min_count):
    ngrams = KnownNgrams.learn(training, min_count=min_count, word_min_count=word_min_count, jobs=1)
    known = twins.known_ngrams(training, min_count)
    assert len(ngrams) == len(known)
    assert ngrams.longest == max(map(len, known), default=0)
    counts = twins.count_words(training)
    for word in [*WORDS, "unseen"]:
        assert (ngrams.words.ids([word])[0] >= ngrams.words.usable) == (
            counts[word] < word_min_count
        )
    for sentence in [*sentences, *training[:3]]:
        expected = twins.words_of(sentence)
        cover = ngrams.cover(sentence)
        assert [word for piece in cover for word in piece] == expected
        assert all(len(piece) == 1 or piece in known for piece in cover)
        assert len(cover) == twins.least_pieces(expected, known)
        assert ngrams.degree(sentence) == twins.degree(expected, known)
    pieces, lengths = ngrams.measure(sentences)
    assert pieces.tolist() == [len(cover) for cover in ngrams.cover(sentences)]
    assert lengths.tolist() == [len(twins.words_of(sentence)) for sentence in sentences]


def test_an_example_to_check_by_eye():
    ngrams = KnownNgrams.learn(["the cat sat on the mat", "the dog sat on the mat"], min_count=2)
    assert ngrams.cover("the mat sat on the cat") == [
        ("the", "mat"),
        ("sat", "on", "the"),
        ("cat",),
    ]
    assert ngrams.degree("the mat sat on the cat") == 0.5
    assert ngrams.degree("") == 0.0
    assert "sat on the mat" in ngrams and "the cat" not in ngrams


def test_the_length_of_ngrams_lines_and_words_has_no_limit(tmp_path: Path):
    rng = np.random.default_rng(0)
    long = [f"w{number}" for number in rng.permutation(70_000)]
    long[100] = "v" * 300_000
    text = " ".join(long)
    path = tmp_path / "train"
    path.write_text("\n".join([text] * 3) + "\nw1 w1 w1")
    ngrams = KnownNgrams.learn(path)
    assert ngrams.longest == 70_000
    assert len(ngrams) == 70_000 * 70_001 // 2
    assert len(ngrams.cover(text)) == 1
    assert len(ngrams.cover(" ".join(long[5:] + long[:5]))) == 2
    assert len(ngrams.slots) < 500_000


def test_repeated_lines_cost_one_node_a_word():
    rng = np.random.default_rng(0)
    lines = [" ".join(f"w{number}" for number in rng.integers(0, 50, 100)) for _ in range(40)]
    few = KnownNgrams.learn(lines * 4)
    assert len(few) > 150_000
    assert len(few.slots) < 40 * 100 * 5
    near = KnownNgrams.learn([f"{line} {ending}" for line in lines for ending in "abcde"])
    assert len(near.slots) < 40 * 100 * 5


def test_a_sentence_that_ends_within_a_long_ngram_leaves_no_trace():
    ngrams = KnownNgrams.learn(["x " * 30] * 3)
    pieces, lengths = ngrams.measure(["x x x x"] * 100 + ["", "x y x"])
    assert pieces.tolist() == [1] * 100 + [0, 3]
    assert lengths.tolist() == [4] * 100 + [0, 3]


def test_saved_ngrams_are_mapped_and_equal(tmp_path: Path):
    lines = ["the cat sat on the mat with the other cat"] * 3 + ["the dog sat on the mat"] * 2
    ngrams = KnownNgrams.learn(lines, word_min_count=2)
    ngrams.save(tmp_path / "one")
    loaded = KnownNgrams.load(tmp_path / "one")
    assert loaded.cover("the dog sat on the cat") == ngrams.cover("the dog sat on the cat")
    assert (len(loaded), loaded.longest, loaded.min_count, loaded.words.min_count) == (
        len(ngrams),
        10,
        3,
        2,
    )
    loaded.save(tmp_path / "two")
    for path in sorted((tmp_path / "one").iterdir()):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_the_bytes_do_not_depend_on_the_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("cgbench.benchmark.measure.known_ngrams.learning._PARTITION", 100)
    rng = np.random.default_rng(1)
    lines = [" ".join(f"w{number}" for number in rng.integers(0, 30, 12)) for _ in range(500)]
    KnownNgrams.learn(lines, jobs=1).save(tmp_path / "1")
    KnownNgrams.learn(lines, jobs=3).save(tmp_path / "3")
    for path in sorted((tmp_path / "1").iterdir()):
        assert path.read_bytes() == (tmp_path / "3" / path.name).read_bytes()


def test_a_vocabulary_is_saved_and_counts(tmp_path: Path):
    words = Vocabulary.learn(["b a a", "a b c"], min_count=2)
    assert [words.word(i) for i in range(len(words))] == ["a", "b"]
    assert (words.count("a"), words.count("c"), "b" in words, words.usable) == (3, 0, True, 2)
    words.save(tmp_path)
    loaded = Vocabulary.load(tmp_path)
    assert loaded.count("a") == 3 and loaded.usable == 2


def test_both_sides_are_learnt_side_by_side(tmp_path: Path):
    (tmp_path / "ours").write_text("a b\n" * 3)
    (tmp_path / "other").write_text("x y x\n" * 2)
    ngrams, words = learn_sides(
        tmp_path / "ours", tmp_path / "other", min_count=3, word_min_count=4
    )
    assert "a b" in ngrams and ngrams.words.usable == 0
    assert (words.usable, words.word(0)) == (1, "x")


@pytest.mark.parametrize("damage", ["missing", "cut", "version"])
def test_a_damaged_index_is_refused(tmp_path: Path, damage: str):
    KnownNgrams.learn(["a b c"] * 3).save(tmp_path)
    path = tmp_path / "trie.slots.npy"
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-8])
    else:
        path = tmp_path / "ngrams.json"
        path.write_text(path.read_text().replace('"format": 1', '"format": 99'))
    with pytest.raises(InputError, match=path.name):
        KnownNgrams.load(tmp_path)


def test_bad_input_is_named(tmp_path: Path):
    with pytest.raises(InputError, match="no such file"):
        KnownNgrams.learn(tmp_path / "absent")
    bad = tmp_path / "bad"
    bad.write_bytes(b"fine\n\xc3\xa9\nn\xe9\n")
    with pytest.raises(InputError, match="bad, line 3: not UTF-8"):
        KnownNgrams.learn(bad)
    with pytest.raises(InputError, match="min_count=0: it must be a whole number, at least 1"):
        KnownNgrams.learn([], min_count=0)


def test_equality_hash_and_repr(tmp_path):
    lines = ["a b c", "a b c", "a b d"]
    one, same = (KnownNgrams.learn(lines, min_count=2) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one.words == same.words
    assert {one: 1}[same] == 1
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in lines))
    one.save(str(tmp_path / "saved"))
    assert (
        KnownNgrams.load(str(tmp_path / "saved"))
        == one
        == KnownNgrams.learn(str(tmp_path / "text"), min_count=2)
    )
    assert one == KnownNgrams.learn(
        ["a b c", "a b c", "b a d"], min_count=2
    )  # the same is known of it
    others = (
        KnownNgrams.learn(lines, min_count=1),
        KnownNgrams.learn(["a b x", "a b x", "a b d"], min_count=2),  # sizes are the same
    )
    for other in others:
        assert one != other
        assert one.words != other.words
    assert hash(one) == hash(others[1])
    assert one != "a b c"
    assert repr(one) == "<KnownNgrams: 6 n-grams of 3 words, min_count=2, longest 3>"
    assert repr(one.words) == "<Vocabulary: 3 words, min_count=2>"


def test_a_list_is_a_list_of_sentences():
    """It was read as the words of one sentence, of which none is known: degree 1.0."""
    known = KnownNgrams.learn(["the cat sat", "the cat ran", ""], min_count=2)
    several = ["the cat sat", "the cat", ""]
    assert known.degree(several) == [known.degree(one) for one in several] == [2 / 3, 1 / 2, 0.0]
    assert known.cover(several) == [[("the", "cat"), ("sat",)], [("the", "cat")], []]
    assert known.measure(iter(several))[0].tolist() == [2, 1, 0]
    assert known.degree([]) == [] == known.cover([])
    assert ("the", "cat") in known  # an n-gram, not a text, may be given as its words


@pytest.mark.parametrize("method", ["degree", "cover", "measure"])
def test_other_things_are_no_sentences(method):
    known = KnownNgrams.learn(["a b", "a b"], min_count=1)
    for kind in (KnownNgrams, Vocabulary):
        with pytest.raises(InputError, match="sentence 1 is 1, not a string"):
            kind.learn([1])
    with pytest.raises(InputError, match="sentence 2 is \\['a', 'b'\\], not a string"):
        getattr(known, method)(["a b", ["a", "b"]])
    with pytest.raises(InputError, match="sentence 1 is nan"):
        getattr(known, method)([float("nan")])
