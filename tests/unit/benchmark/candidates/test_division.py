"""One corpus becomes a training side and a pool."""

import json
import random
from collections import Counter
from itertools import pairwise

import pytest

from cgbench.benchmark.candidates.division import POOL_TABLE, divide
from cgbench.errors import InputError
from cgbench.text.formats import CorpusSpec, read_pairs
from cgbench.text.streams import read_lines
from tests.helpers.shared_data import SHARED, needs

LANGUAGES = ("de", "en")


def corpus_of(folder, pairs, name="corpus"):
    folder.mkdir(parents=True, exist_ok=True)
    paths = tuple(folder / f"{name}.{language}" for language in LANGUAGES)
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return CorpusSpec(paths)


def random_pairs(count, seed=1):
    """Few sentences, so that many repeat, some of them but for case and punctuation; some sides
    are empty.
    """
    draw = random.Random(seed)
    texts = [f"word {number}" for number in range(count)]
    ends = ["", ".", " !", "..."]

    def side():
        text = draw.choice(texts) + draw.choice(ends)
        return "" if draw.random() < 0.02 else draw.choice([text, text.upper()])

    return [(side(), side()) for _ in range(count)]


def letters(text):
    return "".join(filter(str.isalnum, text)).lower()


def groups_by_search(pairs):
    """The slow twin: connected components, one pair after another."""
    neighbours = {}
    for row, pair in enumerate(pairs):
        for side, text in enumerate(pair):
            neighbours.setdefault((side, letters(text)), []).append(row)
    group_of = {}
    for start in range(len(pairs)):
        waiting = [] if start in group_of else [start]
        while waiting:
            row = waiting.pop()
            if row in group_of:
                continue
            group_of[row] = start
            for side, text in enumerate(pairs[row]):
                waiting += neighbours[side, letters(text)]
    return group_of


@pytest.mark.parametrize("seed", range(5))
def test_linked_pairs_are_on_one_side_and_every_pair_is_somewhere(tmp_path, seed):
    pairs = [
        tuple(side.replace("word ", "") and f"{side} {chr(97 + index % 26)}" for side in pair)
        for index, pair in enumerate(random_pairs(300, seed))
    ]
    division = divide(corpus_of(tmp_path, pairs), LANGUAGES, tmp_path / "texts")
    train, pool = (list(read_pairs(spec)) for spec in (division.train, division.pool))
    full = [pair for pair in pairs if all(pair)]
    assert Counter(train) + Counter(pool) == Counter(full)
    assert dict(division.counts) == {
        "pairs": len(pairs),
        "train": len(train),
        "pool": len(pool),
        "empty": len(pairs) - len(full),
    }
    groups = groups_by_search(full)
    sides = {group: set() for group in groups.values()}
    for row, pair in enumerate(full):
        sides[groups[row]].add(pair in set(pool))
    assert all(len(side) == 1 for side in sides.values())
    # order is kept
    assert [pair for pair in full if pair in set(train)] == train


def test_digits_case_and_punctuation_make_no_other_sentence(tmp_path):
    plain = [(f"es kostet {n} euro {a}", a * n) for n in range(10, 20) for a in "abcdef"]
    other = [(f"Es kostet {n + 30} Euro, {a}!", 2 * a * n) for n in range(10, 20) for a in "ab"]
    division = divide(corpus_of(tmp_path, [*plain, *other]), LANGUAGES, tmp_path / "texts")
    in_pool = {source.strip("!")[-1] for source, _ in read_pairs(division.pool)}
    in_train = {source.strip("!")[-1] for source, _ in read_pairs(division.train)}
    assert in_pool and in_train and not in_pool & in_train


def test_the_division_depends_on_the_text_alone(tmp_path):
    """Lines in another order, other pairs beside them, a table for two files: the same pairs in
    the pool.
    """
    pairs = [(f"satz {'z' * n}", f"sentence {'x' * n}") for n in range(200)]
    first = divide(corpus_of(tmp_path / "1", pairs), LANGUAGES, tmp_path / "texts")
    again = divide(corpus_of(tmp_path / "2", pairs), LANGUAGES, tmp_path / "other texts")
    for mine, other in zip(first.pool.paths, again.pool.paths, strict=True):
        assert mine.read_bytes() == other.read_bytes()
    pool = set(read_pairs(first.pool))
    assert 50 < len(pool) < 110
    table = tmp_path / "corpus.tsv"
    table.write_text("".join(f"{source}\t{target}\n" for source, target in pairs[::-1]))
    assert set(read_pairs(divide(CorpusSpec((table,)), LANGUAGES, tmp_path).pool)) == pool
    half = divide(corpus_of(tmp_path / "3", pairs[:100]), LANGUAGES, tmp_path)
    assert set(read_pairs(half.pool)) == pool & {*pairs[:100]}


def test_a_larger_share_only_adds_to_the_pool(tmp_path):
    corpus = corpus_of(tmp_path, [("q" * n, "x" * n) for n in range(1, 400)])
    pools = [
        set(read_pairs(divide(corpus, LANGUAGES, tmp_path, share=share).pool))
        for share in (40, "1/5", "1/2", 350)
    ]
    assert all(smaller < larger for smaller, larger in pairwise(pools))
    sizes = zip(pools, (40, 80, 200, 350), strict=True)
    assert all(abs(len(pool) - size) < 30 for pool, size in sizes)


def test_documents_stay_whole(tmp_path):
    """Those of a column, and those between empty lines, which the pool keeps."""
    pairs = [(f"satz {'z' * n}", f"sentence {'x' * n}", f"doc {n // 4}") for n in range(1, 160)]
    table = tmp_path / "corpus.jsonl"
    objects = [dict(zip((*LANGUAGES, "doc"), row, strict=True)) for row in pairs]
    table.write_text("".join(json.dumps(row) + "\n" for row in objects))
    division = divide(CorpusSpec((table,), LANGUAGES), LANGUAGES, tmp_path / "t", document="doc")
    name_of = {row[:2]: row[2] for row in pairs}
    specs = division.train, division.pool
    sides = [{name_of[pair] for pair in read_pairs(spec)} for spec in specs]
    assert all(sides) and not sides[0] & sides[1]
    rows = [json.loads(line) for line in (division.pool.paths[0]).read_text().splitlines()]
    assert division.pool.paths[0].name == POOL_TABLE
    assert all(name_of[row["de"], row["en"]] == row["doc"] for row in rows)
    # The same documents between empty lines.
    lines, before = [], "doc 0"
    for source, target, name in pairs:
        lines += [("", "")] * (name != before) + [(source, target)]
        before = name
    plain = divide(corpus_of(tmp_path, lines), LANGUAGES, tmp_path / "t", document="blank-lines")
    documents = [set()]
    for pair in read_pairs(plain.pool):
        if pair == ("", ""):
            documents.append(set())
        else:
            documents[-1].add(name_of[pair])
    assert len(documents) > 5 and all(len(names) == 1 for names in documents)
    assert set.union(*documents) == sides[1]
    assert plain.counts["empty"] == len(lines) - len(pairs)
    trained = list(read_pairs(plain.train))
    assert ("", "") not in trained and len(trained) == plain.counts["train"]


@pytest.mark.parametrize(
    ("pairs", "options", "message"),
    [
        ([], {}, "no pair of sentences"),
        ([("a", "")], {}, "no pair of sentences"),
        ([("a", "b")] * 9, {}, "pool_share=.2/5.: . of the 9 pairs .* need some"),
        ([("q" * n, "x" * n) for n in range(1, 9)], {"share": 100}, "=100: 8 of the 8 pairs"),
        ([("a", "b"), ("c", "d")], {"document": "blank-lines"}, "no line is empty on both sides"),
        ([("a", "b"), ("c", "d")], {"document": "doc"}, "plain text, which has no columns"),
    ],
)
def test_what_cannot_be_divided(tmp_path, pairs, options, message):
    with pytest.raises(InputError, match=message):
        divide(corpus_of(tmp_path, pairs), LANGUAGES, tmp_path / "texts", **options)
    assert not list(tmp_path.glob("texts/corpus-*"))


@needs("tatoeba-de-en/deu.txt.gz")
def test_real_text_has_no_large_group(tmp_path):
    """Tatoeba, many translations of each sentence: groups stay small, so the share is met."""
    lines = list(read_lines(SHARED / "tatoeba-de-en" / "deu.txt.gz"))[::10]
    rows = [line.split("\t")[1::-1] for line in lines]
    division = divide(corpus_of(tmp_path, rows), LANGUAGES, tmp_path, share="1/5")
    assert abs(division.counts["pool"] / len(rows) - 0.2) < 0.01
