"""Shots against their definitions: covers by brute force, BM25 by formula and by bm25s, degrees by
known n-grams.
"""

import gzip
import hashlib
import random
import warnings

import numpy as np
import pytest
import twins_shots as twins
from shared_data import SHARED, needs
from twins import words_of

from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.release.shots.choose import choose_shots, cover_sets, prompt_degree, widest
from cgbench.benchmark.release.shots.postings import bm25_weights, piece_counts
from cgbench.errors import InputError

WORDS = [
    "the",
    "a",
    "big",
    "small",
    "red",
    "dog",
    "cat",
    "house",
    "sees",
    "finds",
    "likes",
    "near",
    "under",
    "old",
]


def made_text(seed, lines, least=3, most=9):
    made = random.Random(seed)
    return [
        " ".join(made.choices(WORDS, k=made.randint(least, most))) + f" {line % 7}"
        for line in range(lines)
    ]


@pytest.fixture(scope="module")
def train():
    sources = made_text(1, 300)
    return sources, [source[::-1].upper() + " !" for source in sources]


def choose(sources, train, **options):
    return choose_shots(sources, **{"shots": 4, "shots_from": list(train), **options})


def test_smallest_covers_are_those_of_brute_force():
    made = random.Random(2)
    greedy_is_larger = 0
    for _ in range(300):
        sets = [
            sum(1 << bit for bit in range(9) if made.random() < 0.35)
            for _ in range(made.randint(1, 9))
        ]
        chosen, proved = cover_sets(sets, len(sets))
        union = twins.smallest_cover(sets)
        assert proved and len(chosen) == union
        assert np.bitwise_or.reduce([sets[at] for at in chosen] or [0]) == np.bitwise_or.reduce(
            sets
        )
        greedy_is_larger += greedy(sets) > union
    assert greedy_is_larger > 5  # or the exact search would not be tested


def greedy(sets):
    missing, count = int(np.bitwise_or.reduce(sets)), 0
    while missing:
        missing &= ~max(sets, key=lambda one: (one & missing).bit_count())
        count += 1
    return count


def test_a_cover_that_is_too_large_takes_the_sets_with_most_elements():
    sets = [0b000111, 0b111000, 0b1000000, 0b10000000]
    assert cover_sets(sets, 2) == ([0, 1], True)
    assert cover_sets([], 3) == ([], True)
    assert cover_sets([0b11, 0b01, 0b11], 1) == ([0], True)  # the first of equals
    # Greedy takes the four in the middle, then needs two more; two others are enough.
    assert cover_sets([0b00111100, 0b00001111, 0b11110000], 3) == ([1, 2], True)


@pytest.mark.parametrize("min_count", [1, 2, 3])
def test_a_cover_has_the_fewest_sources_with_all_pieces_of_the_sentence(train, min_count):
    lines = [
        *made_text(3, 1000 if min_count == 3 else 50),
        "the unseen dog",
        "the the the dog dog 3",
    ]
    found = choose(lines, train, shots=9, min_count=min_count)
    free = [source for source in dict.fromkeys(train[0]) if source not in lines]
    known = KnownNgrams.learn(free, min_count=min_count)
    more_than_two = 0
    for line, choice in zip(lines, found, strict=True):
        pieces = list(dict.fromkeys(known.cover(line)))
        every = sorted(set(twins.masks(pieces, free)) - {0})
        widest = [
            one for one in every if not any(one != other and one & ~other == 0 for other in every)
        ]
        shown = int(
            np.bitwise_or.reduce(twins.masks(pieces, [source for source, _ in choice.pairs]))
        )
        assert shown == int(np.bitwise_or.reduce(every))
        assert choice.cover == twins.smallest_cover(widest)
        more_than_two += choice.cover > 2
    assert more_than_two > 3


def test_covers_are_filled_by_bm25_and_the_most_similar_comes_last(train):
    line = "the big dog sees the cat 3"
    covers, similar = (choose([line], train, shots=8, shots_by=by)[0] for by in ("cover", "bm25"))
    sources = list(dict.fromkeys(train[0]))
    scores = dict(
        zip(sources, twins.bm25(words_of(line), list(map(words_of, sources))), strict=True)
    )
    shown = [scores[source] for source, _ in covers.pairs]
    assert shown == sorted(shown) and 0 < covers.cover < 8
    best = sorted(scores.values(), reverse=True)[:8]
    assert [scores[source] for source, _ in reversed(similar.pairs)] == best
    filled = set(covers.pairs) - set(similar.pairs)
    assert len(filled) <= covers.cover
    assert all(
        train[0][row - 1] == source
        for row, (source, _) in zip(covers.rows, covers.pairs, strict=True)
    )


@pytest.mark.parametrize("by", ["cover", "bm25"])
def test_ties_are_broken_by_the_hash_of_the_pair(by):
    pairs = [(f"dog {letter}", letter.upper()) for letter in "abcdefgh"]
    pairs += [(f"dog {letter}", f"{letter} again") for letter in "abcdefgh"]
    order = sorted(
        pairs, key=lambda pair: hashlib.blake2b("\0".join(pair).encode(), digest_size=8).digest()
    )
    (found,) = choose(
        ["dog x"], list(map(list, zip(*pairs, strict=True))), shots=3, shots_by=by, min_count=1
    )
    sources = list(
        dict.fromkeys(source[-1] for source, _ in order)
    )  # of equal sources the first pair counts
    first = [next(pair for pair in order if pair[0][-1] == letter) for letter in sources[:3]]
    assert list(found.pairs) == first[::-1]  # the first is the nearest to the sentence


def test_of_too_many_pieces_the_rarest_count(monkeypatch):
    monkeypatch.setattr("cgbench.benchmark.release.shots.choose.BITS", 1)
    pairs = [["a x", "b y", "c y"], ["A", "B", "C"]]
    (found,) = choose(["y x"], pairs, shots=1, min_count=1)
    assert found.pairs == (("a x", "A"),) and found.cover == 1


def test_sets_within_another_one_are_left_out():
    masks = np.array([0b011, 0b001, 0, 0b110, 0b011, 0b100, 0b1000], np.uint64)
    assert sorted(map(int, widest(masks))) == [0b011, 0b110, 0b1000]


def ids_of(texts):
    numbers: dict[str, int] = {}
    ids = [[numbers.setdefault(word, len(numbers)) for word in words_of(text)] for text in texts]
    lengths = np.array(list(map(len, ids)), np.int32)
    return numbers, np.concatenate(ids).astype(np.int32), lengths


def bm25_of(query, sources):
    numbers, ids, lengths = ids_of(sources)
    wanted = np.array(sorted({numbers[word] for word in query if word in numbers}))
    weights = bm25_weights(ids, lengths, wanted)
    return sum(
        weights[np.searchsorted(wanted, numbers[word])].toarray()[0]
        for word in query
        if word in numbers
    )


def test_bm25_is_its_formula(train):
    for query in ("the dog 1", "the the old", "unseen big"):
        expected = twins.bm25(words_of(query), list(map(words_of, train[0])))
        assert bm25_of(words_of(query), train[0]) == pytest.approx(expected, abs=1e-12)


def test_bm25_is_that_of_bm25s(train):
    bm25s = pytest.importorskip("bm25s", reason="bm25s is not installed")
    theirs = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    theirs.index([words_of(source) for source in train[0]], show_progress=False)
    for query in ("the dog 1", "old house near a cat"):
        assert bm25_of(words_of(query), train[0]) == pytest.approx(
            theirs.get_scores(words_of(query)), abs=1e-5
        )


def test_pieces_are_found_where_their_words_stand_in_a_row():
    texts = ["a b a b c", "b a", "a", "c a b", "b c"]
    numbers, ids, lengths = ids_of(texts)
    pieces = [("a", "b"), ("a",), ("b", "a", "b"), ("c", "c"), ("a", "b", "c"), ("b", "c", "a")]
    counts = piece_counts(
        [tuple(numbers[word] for word in piece) for piece in pieces], ids, lengths
    )
    for row, piece in zip(counts.toarray(), pieces, strict=True):
        assert (row > 0).tolist() == [twins.contains(words_of(text), piece) for text in texts]
    assert counts[0].toarray().tolist() == [[2, 0, 0, 1, 0]]
    assert piece_counts([], ids, lengths).nnz == 0


@pytest.mark.parametrize("by", ["cover", "bm25", "random"])
def test_shots_depend_on_the_sentence_alone(train, by):
    lines = [*made_text(5, 12), "", "the dog 1"]
    found = choose([*lines, lines[0]], train, shots_by=by)
    assert found[0] == found[-1]
    assert found[-3].rows == () and found[-3].prompt_degree == 0
    alone = choose([lines[3]], train, shots_by=by)
    assert alone[0] == found[3]
    order = random.Random(1).sample(range(300), 300)
    turned = choose(lines, [[side[row] for row in order] for side in train], shots_by=by)
    assert [choice.pairs for choice in turned] == [choice.pairs for choice in found[:-1]]
    assert all(len(set(choice.rows)) == 4 for choice in found if choice.rows)
    assert len({choice.rows for choice in found if choice.rows}) > 1


def test_a_seed_changes_random_shots_alone(train):
    for by, changes in (("random", True), ("bm25", False)):
        one, other = (
            choose(["the dog"], train, shots_by=by, shots_seed=seed)[0].rows for seed in (0, 1)
        )
        assert (one != other) is changes


@pytest.mark.parametrize("by", ["cover", "bm25", "random"])
def test_no_shot_is_test_data(train, by):
    """Planted copies of the test data, in other forms, and candidates by either side."""
    line, candidate = "the big dog sees a cat 3", ("a hidden house", "EIN VERSTECKTES HAUS")
    planted = [(line, "ONE"), ("The big dog sees a cat, 3!", "TWO")]
    planted += [(candidate[0], "THREE"), ("any house", candidate[1])]
    good = [
        *list(zip(*train, strict=True))[:3],
        ("big dog sees", "A"),
        ("a cat 3", "B"),
        ("hidden house", "C"),
    ]
    sources, targets = map(list, zip(*planted, *good, strict=True))
    found = choose(
        [line, "a hidden house"], (sources, targets), shots=6, shots_by=by, exclude=[candidate]
    )
    for choice in found:
        assert set(choice.pairs) == set(good)
    with pytest.raises(InputError, match=r"6 pairs left of 10 .* shots=7 needs 7"):
        choose([line], (sources, targets), shots=7, shots_by=by, exclude=[candidate])


def test_prompt_degree_is_its_definition(train):
    for line, choice in zip(lines := made_text(9, 30), choose(lines, train, shots=3), strict=True):
        plain = KnownNgrams.learn([source for source, _ in choice.pairs], min_count=1)
        assert choice.prompt_degree == pytest.approx(plain.degree(line))
    assert prompt_degree("a b c d", ["x a b", "c d y"]) == 0.5
    assert (
        prompt_degree("a b", ["a", "b"]) == 1
        and prompt_degree("", ["a"]) == 0
        and prompt_degree("a b", []) == 1
    )


def test_pairs_are_read_from_files_and_tables(train, tmp_path):
    for side, lines in zip(("de", "en"), train, strict=True):
        (tmp_path / f"train.{side}").write_text(
            "".join(line + "\n" for line in lines), encoding="utf-8"
        )
    rows = zip(train[1], train[0], strict=True)
    (tmp_path / "train.tsv").write_text(
        "".join(f"{one}\t{other}\n" for one, other in rows), encoding="utf-8"
    )
    expected = choose(["the dog"], train)
    assert (
        choose_shots(
            ["the dog"], shots=4, shots_from=(tmp_path / "train.de", tmp_path / "train.en")
        )
        == expected
    )
    columns = f"{tmp_path}/train.tsv:2", f"{tmp_path}/train.tsv:1"
    assert choose_shots(["the dog"], shots=4, shots_from=columns) == expected


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"shots": None}, "shots is missing"),
        ({"shots_from": None}, "shots_from is missing"),
        ({"shots_from": [["a"], ["b", "c"]]}, "1 source sentences for 2"),
        ({"shots": 1000}, "needs 1000"),
    ],
)
def test_wrong_options(train, options, said):
    with pytest.raises(InputError, match=said):
        choose(["the dog"], train, **options)


def test_a_search_that_stops_is_reported(train, monkeypatch):
    monkeypatch.setattr("cgbench.benchmark.release.shots.choose.NODES", 1)
    with pytest.warns(match="may not be the smallest"):
        choose(made_text(3, 40, 9, 16), train, shots=9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        choose(["the dog"], train)


TATOEBA = "tatoeba-de-en/deu.txt.gz"


@needs(TATOEBA)
def test_covers_of_real_sentences_are_those_of_integer_programming():
    with gzip.open(SHARED / TATOEBA, "rt", encoding="utf-8") as file:
        pairs = [line.split("\t")[:2] for line in file]
    random.Random(0).shuffle(pairs)
    lines, train = [source for source, _ in pairs[:30]], pairs[30:10_030]
    found = choose(lines, list(map(list, zip(*train, strict=True))), shots=20)
    sources = [source for source, _ in train if source not in lines]
    known = KnownNgrams.learn(dict.fromkeys(sources), min_count=3)
    for line, choice in zip(lines, found, strict=True):
        assert choice.cover == twins.least_cover(
            set(twins.masks(list(dict.fromkeys(known.cover(line))), sources))
        )
