"""Probes for n-grams: by hand, and against their definition, read from the words."""

import random

import pytest
import twins
from text_files import write_lines

import cgbench
from cgbench.benchmark.candidates import pool_scan
from cgbench.errors import InputError
from cgbench.studies.parts import ngrams
from cgbench.studies.parts.folder import PartsFolder
from cgbench.text import corpus as corpus_module

TRAIN = [
    "the old man",
    "an old man",
    "my old man sleeps",
    "the man sleeps",
    "a man sleeps",
    "the cat sleeps",
    "a cat",
]


def _pair(folder, name, targets, sources=None):
    folder.mkdir(exist_ok=True)
    sources = [f"s {line}" for line in targets] if sources is None else sources
    return write_lines(folder / f"{name}.xx", sources), write_lines(folder / f"{name}.yy", targets)


def _parts(tmp_path, test, corpus, train=TRAIN, sources=None, **more):
    texts = {
        name: _pair(tmp_path, name, lines) for name, lines in (("train", train), ("test", test))
    }
    texts["corpora"] = _pair(tmp_path, "pool", corpus, sources)
    return cgbench.parts(**texts, out=tmp_path / "parts", **{"min_count": 2, **more})


def _probes_of(found):
    return {piece.text: [found.probes[one][1] for one in piece.probes] for piece in found.pieces}


def test_an_example_to_read(tmp_path):
    """``old man`` and ``man sleeps`` are known, ``old man sleeps`` is not: the test has a new
    neighbour.
    """
    corpus = [
        "old man",  # a whole sentence
        "the old man sleeps",  # neither "the old man" nor "old man sleeps" is known
        # the edge of the sentence is known with "old man" and with "the"
        "the cat and the old man",
        "man sleeps",  # known with "sleeps"
        "old man sleeps the cat",  # the test sentence itself
        "the dog",  # "dog" is rare
    ]
    found = _parts(tmp_path, ["old man sleeps the cat"], corpus, k=2)
    assert [[(found.pieces[p.piece].text, p.start, p.end) for p in row] for row in found.rows] == [
        [("old man", 0, 2), ("sleeps", 2, 3), ("the", 3, 4), ("cat", 4, 5)]
    ]
    assert _probes_of(found) == {
        "old man": ["old man", "the cat and the old man"],
        "sleeps": ["man sleeps", "the old man sleeps"],
        "the": ["the old man sleeps", "the cat and the old man"],
        "cat": ["the cat and the old man"],
    }
    assert {piece.text: piece.reason for piece in found.pieces if piece.reason} == {"cat": "few"}


def test_why_there_are_none(tmp_path):
    test = ["zebra man sleeps old", "cat sleeps"]
    corpus = ["cat sleeps", "old " + 30 * "the ", "man the sleeps man"]
    found = _parts(tmp_path, test, corpus)
    assert {piece.text: piece.reason for piece in found.pieces} == {
        "man sleeps": "absent",
        "old": "absent",
        "cat": "absent",
        "sleeps": "few",
        "zebra": "unknown",
    }
    assert found.manifest["reasons"] == {"unknown": 1, "absent": 3, "few": 1}
    assert _probes_of(_parts(tmp_path, test, ["sleeps", *corpus], k=1))["sleeps"] == ["sleeps"]
    again = _parts(tmp_path, test, ["sleeps", *corpus], k=1, train=[*TRAIN, "sleeps"])
    assert _probes_of(again)["sleeps"] == ["man the sleeps man"]
    again = _parts(tmp_path, test, corpus, max_length=32)
    assert next(piece.reason for piece in again.pieces if piece.text == "old") == "few"


WORDS = list("abcdef")


def _sentences(draw, size, longest=6):
    return [
        " ".join(draw.choices(WORDS, range(1, 7), k=draw.randint(1, longest))) for _ in range(size)
    ]


def _neighbours(piece, words, known):
    """The most neighbours that are known with the piece at one of its places; None if it is not
    there.
    """
    found = []
    for i in range(len(words) - len(piece) + 1):
        j = i + len(piece)
        if tuple(words[i:j]) == piece:
            found.append(
                (tuple(words[max(0, i - 1) : j]) in known) + (tuple(words[i : j + 1]) in known)
            )
    return max(found, default=None)


@pytest.mark.parametrize("seed", range(25))
def test_against_the_definition(tmp_path, seed, monkeypatch):
    draw = random.Random(seed)
    train, test, corpus = _sentences(draw, 25), _sentences(draw, 4), _sentences(draw, 60, 9)
    sources = [
        draw.choice(["u", "v w", f"s {line}"]) + f" {draw.randint(0, 40)}" for line in corpus
    ]
    most, k, need = draw.randint(4, 20), draw.randint(1, 4), draw.randint(0, 2)
    monkeypatch.setattr(corpus_module, "CHUNK", 32)  # of the places where a chunk may begin
    monkeypatch.setattr(pool_scan, "CHUNK", 100)  # many chunks
    monkeypatch.setattr(ngrams, "CHOICES", 1000)
    monkeypatch.setattr(ngrams, "usable_cores", lambda: 2)
    texts = {"train": _pair(tmp_path, "train", train), "test": _pair(tmp_path, "test", test)}
    pool = _pair(tmp_path, "pool", corpus, sources)
    settings = {"min_count": need + 1, "k": k, "max_length": most}
    found = cgbench.parts(**texts, corpora=pool, out=tmp_path / "parts", **settings)

    known = twins.known_ngrams(train, need + 1)
    fine = [
        (source, target.split())
        for source, target in zip(sources, corpus, strict=True)
        if target not in test and len(source.split()) <= most
    ]
    for piece in found.pieces:
        words = tuple(piece.text.split())
        if len(words) == 1 and words not in known:
            assert piece.reason == "unknown" and not piece.probes
            continue
        assert words in known
        assert piece.count == sum(
            tuple(line.split()[i : i + len(words)]) == words
            for line in train
            for i in range(len(line.split()))
        )
        # The best that each source offers.
        offers = {}
        for source, target in fine:
            near = _neighbours(words, target, known)
            if near is not None:
                offers[source] = max(near, offers.get(source, 0))
        if offers:
            wanted = sorted(offers.values(), reverse=True)[:k][-1]
        probes = [found.probes[one] for one in piece.probes]
        # No two have the same words on a side; with fewer than k, no other pair could be one.
        sides = [set(texts) for texts in zip(*probes, strict=True)] or [set(), set()]
        assert all(len(texts) == len(probes) for texts in sides) and len(probes) <= k
        for source, target in fine if len(probes) < k else []:
            near = _neighbours(words, target, known)
            if near is not None and near >= wanted:
                assert source in sides[0] or " ".join(target) in sides[1]
        for source, target in probes:
            assert (source, target.split()) in fine
            assert _neighbours(words, target.split(), known) >= wanted
    for row, line in zip(found.rows, test, strict=True):
        words = line.split()
        assert [place.start for place in row] + [len(words)] == [0] + [place.end for place in row]
        assert len(row) == twins.least_pieces(words, known)
        for place in row:
            assert " ".join(words[place.start : place.end]) == found.pieces[place.piece].text
    assert PartsFolder.open(tmp_path / "parts").manifest == found.manifest

    order = list(range(len(corpus)))
    draw.shuffle(order)
    pool = _pair(tmp_path / "b", "pool", [corpus[n] for n in order], [sources[n] for n in order])
    monkeypatch.setattr(pool_scan, "CHUNK", 1 << 20)
    monkeypatch.setattr(ngrams, "usable_cores", lambda: 1)
    cgbench.parts(**texts, corpora=pool, out=tmp_path / "other", **settings)
    for name in ("probes.source", "probes.target", "pieces.jsonl", "rows.jsonl"):
        assert (tmp_path / "parts" / name).read_bytes() == (
            tmp_path / "other" / name
        ).read_bytes(), name


def test_few_choices_bound_what_is_kept_not_who_is_served(tmp_path, monkeypatch):
    draw = random.Random(1)
    train, test, corpus = _sentences(draw, 40), _sentences(draw, 6), _sentences(draw, 400, 9)
    monkeypatch.setattr(ngrams, "CHOICES", 1000)
    wide = _parts(tmp_path / "a", test, corpus, train, k=3)
    monkeypatch.setattr(ngrams, "CHOICES", 1)
    few = _parts(tmp_path / "b", test, corpus, train, k=3)
    for one, other in zip(wide.pieces, few.pieces, strict=True):
        assert (one.text, len(one.probes)) == (other.text, len(other.probes))
    assert len(wide.probes) <= len(few.probes)


def test_a_source_of_the_test_set_is_no_probe_and_an_empty_side_neither(tmp_path):
    test, train = (
        _pair(tmp_path, "test", ["old man sleeps"], ["u v"]),
        _pair(tmp_path, "train", TRAIN),
    )
    pool = _pair(
        tmp_path, "pool", ["old man", "", "sleeps", "old man", "sleeps"], ["u v", "x", "", "y", "z"]
    )
    found = cgbench.parts(test=test, train=train, corpora=pool, min_count=2, out=tmp_path / "parts")
    assert sorted(found.probes) == [("y", "old man"), ("z", "sleeps")]


def test_what_is_not_kept_early_is_not_missed(tmp_path, monkeypatch):
    """Pairs worse than those kept are skipped while text is read; the result is that without."""
    draw = random.Random(2)
    train, test, corpus = _sentences(draw, 40), _sentences(draw, 6), _sentences(draw, 1500, 9)
    monkeypatch.setattr(corpus_module, "CHUNK", 32)
    monkeypatch.setattr(pool_scan, "CHUNK", 1000)
    monkeypatch.setattr(ngrams, "usable_cores", lambda: 1)
    monkeypatch.setattr(ngrams, "CHOICES", 1)
    whole = _parts(tmp_path / "a", test, corpus, train, k=3)
    monkeypatch.setattr(ngrams, "WAITING", 1)
    early = _parts(tmp_path / "b", test, corpus, train, k=3)
    assert (early.pieces, early.probes) == (whole.pieces, whole.probes)
    # The last pair is the only one with known neighbours, but a long one.
    corpus = [*(["b d"] * 400), "a b c a b c"]
    found = _parts(
        tmp_path / "c",
        ["b b"],
        corpus,
        ["a b", "a b", "b c", "b c", "d", "d"],
        k=1,
        sources=range(401),
    )
    assert found.probes == (("400", "a b c a b c"),)


def test_fewer_pieces_come_before_fewer_words(tmp_path):
    train = _pair(tmp_path, "train", ["a b", "a b", "b c", "b c"])
    test = _pair(tmp_path, "test", ["b b"])
    offers = [("u u u u", "a b"), ("u", "a b c"), ("u u u", "b")]
    for number, best in ((2, ("u u u u", "a b")), (3, ("u u u", "b"))):
        sources, targets = zip(*offers[:number], strict=True)
        pool = _pair(tmp_path, "pool", targets, sources)
        found = cgbench.parts(
            test=test, train=train, corpora=pool, min_count=2, k=1, out=tmp_path / "parts"
        )
        assert found.probes == (best,)


def test_the_other_side(tmp_path):
    found = _parts(
        tmp_path, ["old man sleeps the cat"], ["the old man too", "the dog"], side="source", k=1
    )
    assert found.side == "source" and found.match == "outputs"
    assert {name: probes for name, probes in _probes_of(found).items() if probes} == {
        "s": ["the old man too"],
        "old man": ["the old man too"],
        "the": ["the old man too"],
    }


def test_a_release_is_needed_or_a_test_set(tmp_path):
    with pytest.raises(InputError, match="give either a release or a test set"):
        cgbench.parts(out=tmp_path / "parts")
    with pytest.raises(
        InputError, match="what is known follows from the training corpus: give train"
    ):
        cgbench.parts(test=_pair(tmp_path, "test", ["a b"]), out=tmp_path / "parts")


def test_a_test_set_of_unknown_words_only(tmp_path):
    found = _parts(tmp_path, ["zebra yak", ""], ["the old man"])
    assert [piece.reason for piece in found.pieces] == ["unknown", "unknown"] and found.probes == ()
    assert [len(row) for row in found.rows] == [2, 0] and found.manifest["counts"][
        "rows_probed"
    ] == 0
