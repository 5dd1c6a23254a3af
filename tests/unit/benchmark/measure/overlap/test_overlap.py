"""overlap() against the definition, against known n-grams and novelty, and against itself in other
pieces.
"""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins_overlap import count_ngrams, figures

from cgbench.benchmark.build.stats.stats import stats
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.overlap import reading
from cgbench.benchmark.measure.overlap.corpus_counts import CorpusCounts
from cgbench.benchmark.measure.overlap.known_from import ngrams_of_lines
from cgbench.benchmark.measure.overlap.overlap import overlap
from cgbench.engines import Local
from cgbench.errors import InputError

WORDS = st.lists(st.sampled_from("abcdé"), max_size=8).map(" ".join)
ONE = Local(1)


def rows(found):
    head, *lines = [line.split("\t") for line in found.table().splitlines()]
    return [dict(zip(head, line, strict=True)) for line in lines]


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5),
    st.lists(WORDS, min_size=1, max_size=9).filter(any),
    st.integers(1, 4),
)
def test_as_defined(tmp_path_factory, pairs, corpus, min_count):
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("".join(line + "\n" for line in corpus))
    sides = [list(side) for side in zip(*pairs, strict=True)]
    found = overlap(tuple(sides), path, orders=(1, 2, 5), min_count=min_count, engine=ONE)
    counts = count_ngrams([line.split() for line in corpus])
    for number, row in enumerate(rows(found)):
        words = sides[number % 2][number // 2].split()
        expected = figures(words, counts, min_count, (1, 2, 5))
        span = words[expected["longest_end"] - expected["longest"] : expected["longest_end"]]
        assert [row["example"], row["side"]] == [
            str(number // 2 + 1),
            ("source", "target")[number % 2],
        ]
        assert [int(row[f"known_{order}"]) for order in (1, 2, 5)] == expected["known"]
        assert [int(row[name]) for name in ("pieces", "covered", "longest")] == [
            expected[name] for name in ("pieces", "covered", "longest")
        ]
        assert row["longest_text"].split() == span
    again = overlap(
        tuple(sides), path, orders=(1, 2, 5), min_count=min_count, engine=ONE, shard_bytes=7
    )
    assert again.table() == found.table()
    assert again.report("json") == found.report("json")


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A corpus in three files and a test text of sentences that are partly made of it."""
    folder = tmp_path_factory.mktemp("texts")
    rng = np.random.default_rng(5)
    lines = [
        " ".join(f"w{word}" for word in rng.zipf(1.5, rng.integers(1, 30)) % 400)
        for _ in range(900)
    ]
    for number in range(3):
        (folder / f"{number}.txt").write_text(
            "\n".join(lines[number * 300 : (number + 1) * 300]) + "\n"
        )
    (folder / "all.txt").write_text("\n".join(lines) + "\n")
    test = [
        " ".join(lines[i].split()[3:] + lines[i + 7].split()[:9]) or "w1" for i in range(0, 880, 11)
    ]
    (folder / "test.txt").write_text("\n".join(test) + "\n")
    return folder


def test_files_and_shards_and_workers_change_nothing(texts, monkeypatch):
    monkeypatch.setattr(reading, "SMALL", 0)  # else no worker is started for so little
    files = [texts / f"{number}.txt" for number in range(3)]
    whole = overlap(texts / "test.txt", texts / "all.txt", min_count=2, engine=ONE)
    parts = overlap(texts / "test.txt", files, min_count=2, shard_bytes=2000, engine=Local(2))
    assert parts.table() == whole.table()
    assert [file["documents"] for file in parts.corpus["files"]] == [300] * 3
    assert parts.as_dict()["sides"] == whole.as_dict()["sides"]


def test_as_known_ngrams_and_novelty_have_it(texts, tmp_path):
    out = tmp_path / "out"
    found = overlap(
        texts / "test.txt", texts / "all.txt", orders=(2, 3), min_count=1, out=out, engine=ONE
    )
    test = (texts / "test.txt").read_text().splitlines()
    known = CorpusCounts.load(out)
    for min_count in (1, 2, 3):
        pieces, lengths = KnownNgrams.learn(texts / "all.txt", min_count=min_count).measure(test)
        if min_count == 1:
            assert found.sides[0].pieces.tolist() == pieces.tolist()
            assert found.sides[0].lengths.tolist() == lengths.tolist()
        ours, theirs = ngrams_of_lines(known, test, min_count).measure(test)
        assert ours.tolist() == pieces.tolist()
        assert theirs.tolist() == lengths.tolist()
    usual = stats(texts / "all.txt", texts / "test.txt", orders=list(range(1, 7))).to_json()[0]
    kept = stats(known_from=out, tests=texts / "test.txt", orders=list(range(1, 7))).to_json()[0]
    for name in ("train", "signature", "signature_short"):
        assert usual.pop(name) != kept.pop(name)
    assert kept == usual


def test_a_stopped_run_goes_on(texts, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"w1 w2\n\xff\n")
    corpus, out = [texts / "0.txt", bad], tmp_path / "out"
    with pytest.raises(InputError, match="bad.txt, byte 6: not UTF-8"):
        overlap(texts / "test.txt", corpus, out=out, engine=ONE)
    assert not (out / "overlap.json").exists()
    (kept,) = out.glob(".cgbench/corpus-*/*/step.json")
    before = kept.stat().st_mtime_ns
    bad.write_bytes(b"w1 w2\n")
    found = overlap(texts / "test.txt", corpus, out=out, engine=ONE)
    assert kept.stat().st_mtime_ns == before
    assert (out / "examples.tsv").read_text() == found.table()
    assert found.table() == overlap(texts / "test.txt", corpus, engine=ONE).table()
    assert json.loads((out / "overlap.json").read_text())["corpus"]["documents"] == 301
    # another text, other counts
    bad.write_bytes(b"w3 w4\n")
    assert (
        overlap(texts / "test.txt", corpus, out=out, engine=ONE).corpus["words"]
        == found.corpus["words"]
    )
    assert len(list(out.glob(".cgbench/corpus-*/*/step.json"))) == 3


def test_lower_case_and_tokens(tmp_path):
    (tmp_path / "corpus.txt").write_text("Das ist gut. Oder?\n")
    plain, lower, tokens = (
        overlap(["das ist gut . oder ?"], tmp_path / "corpus.txt", engine=ONE, **settings_)
        .sides[0]
        .spans[0]
        for settings_ in ({}, {"lowercase": True}, {"lowercase": True, "tokenize": "13a"})
    )
    assert (plain, lower, tokens) == ("ist", "das ist", "das ist gut . oder ?")


def test_a_line_without_a_word_counts_in_no_mean(tmp_path):
    (tmp_path / "corpus.txt").write_text("the cat slept\n")
    found = overlap(["the cat", "", " "], tmp_path / "corpus.txt", engine=ONE)
    side = found.as_dict()["sides"]["text"]
    assert (side["examples"], side["degree"], side["longest_mean"]) == (3, 0.5, 2.0)
    assert [row["degree"] for row in rows(found)] == ["0.5000", "", ""]
    assert found.report().splitlines()[3].split()[:4] == ["text", "3", "2", "0.5000"]
    empty = overlap(["", ""], tmp_path / "corpus.txt", engine=ONE)
    assert empty.as_dict()["sides"]["text"]["degree"] is None


def test_two_sides_need_rules_of_two_languages(tmp_path):
    (tmp_path / "corpus.txt").write_text("l'homme dort.\nthe man's asleep.\n")
    pair = (["l'homme dort."], ["the man's asleep."])
    for more in ({"tokenize": "moses"}, {"detokenize": True}, {"tokenize": "source=moses"}):
        with pytest.raises(
            InputError, match="two sides; run each side alone, with its own language"
        ):
            overlap(pair, tmp_path / "corpus.txt", engine=ONE, **more)
    assert (
        len(
            overlap(pair, tmp_path / "corpus.txt", tokenize="13a", lowercase=True, engine=ONE).sides
        )
        == 2
    )
    french = overlap(
        pair[0], tmp_path / "corpus.txt", tokenize="moses", language="fr", engine=ONE
    ).sides[0]
    assert french.lengths.tolist() == [4]  # l' homme dort .


def test_what_is_wrong_with_a_call(texts, tmp_path):
    test, corpus = texts / "test.txt", texts / "0.txt"
    (tmp_path / "empty").write_text("")
    for text, more, said in (
        (test, {"orders": ()}, r"orders=\(\): it must be a list of whole numbers"),
        (test, {"min_count": 0}, "min_count=0: it must be a whole number, at least 1"),
        ((test, corpus), {}, r"has 80 lines and .*0.txt 300"),
        (tmp_path / "empty", {}, "empty: the test text is empty"),
        (test, {"out": texts}, "the folder holds something else"),
    ):
        with pytest.raises(InputError, match=said):
            overlap(text, corpus, engine=ONE, **more)


def test_a_kept_result_that_does_not_serve(texts, tmp_path):
    out = tmp_path / "out"
    overlap(texts / "test.txt", texts / "0.txt", out=out, engine=ONE)
    known = CorpusCounts.load(out)
    with pytest.raises(InputError, match="row 2 of the text is not in the text"):
        ngrams_of_lines(known, [(texts / "test.txt").read_text().splitlines()[4], "w1 q"], 1)
    with pytest.raises(
        InputError,
        match="counts are known up to 3, but min_count=4 needs more; run cgbench overlap",
    ):
        ngrams_of_lines(known, ["w1"], 4)
    with pytest.raises(InputError, match="not a result of cgbench overlap"):
        CorpusCounts.load(tmp_path)
    matches = out / "known" / "matches.npy"
    matches.write_bytes(matches.read_bytes()[:-4] + b"\1\0\0\0")
    with pytest.raises(InputError, match="matches.npy: is damaged"):
        CorpusCounts.load(out)
