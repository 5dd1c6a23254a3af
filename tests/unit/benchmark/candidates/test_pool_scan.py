"""The pool scan and the cut against their definitions; restarts, order, threads, bad input."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
import twins
from hypothesis import given, settings
from hypothesis import strategies as st
from text_files import write_pairs

from cgbench.benchmark.candidates import cut as cut_module
from cgbench.benchmark.candidates import pool_scan as pool_module
from cgbench.benchmark.candidates.cut import Bounds, Cut, count_lengths, cut
from cgbench.benchmark.candidates.pool_scan import Scan, scan
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.errors import InputError
from cgbench.text.blocks import padded, read_range
from cgbench.text.corpus import ParallelText, index_pair
from cgbench.text.hashes import mix

Pair = tuple[str, str]
texts = st.lists(st.sampled_from(["a", "b", "c", "d", "é", "longer-word"]), max_size=6).map(
    " ".join
)
spaced = st.tuples(texts, st.sampled_from(["", " ", "\t"])).map(
    lambda parts: parts[0].replace(" ", "  ") + parts[1]
)
pairs = st.tuples(texts | spaced, texts | spaced)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cgbench.text.corpus.CHUNK", 32)
    monkeypatch.setattr(pool_module, "CHUNK", 60)
    monkeypatch.setattr(pool_module, "SHARD", 2)


def learn(train: ParallelText, degree_side: str = "target") -> tuple[KnownNgrams, Vocabulary]:
    ours, other = (
        (train.target, train.source) if degree_side == "target" else (train.source, train.target)
    )
    return KnownNgrams.learn(ours.path, min_count=2, jobs=1), Vocabulary.learn(
        other.path, min_count=2
    )


def scan_all(
    folder: Path, train: ParallelText, pools: Sequence[ParallelText], jobs: int = 1, **options: Any
) -> Any:
    ngrams, words = learn(train, options.get("degree_side", "target"))
    parts, counts = [], []
    for number, pool in enumerate(pools):
        out = folder / f"scan-{number}"
        out.mkdir()
        counts.append(scan(Scan(pool, number, ngrams, words, **options), out, jobs=jobs))
        parts += sorted(out.glob("part-*.parquet"))
    return parts, counts


def read(parts: Sequence[Path], pools: Sequence[ParallelText] = ()) -> list[dict[str, Any]]:
    """The rows; where there are several pools, with lines counted through all of them."""
    rows = [row for part in parts for row in pyarrow.parquet.read_table(part).to_pylist()]
    for row in rows:
        row["line"] += sum(pool.lines for pool in pools[: row["pool"]])
    return rows


TRAIN: list[Pair] = [
    ("a b c", "a b c d"),
    ("a b d", "b c d"),
    ("d c a", "a b"),
    ("c b", "d a é"),
    ("é a", "é a é"),
]


@settings(deadline=None, max_examples=40)
@given(st.lists(pairs, min_size=1, max_size=30), st.sampled_from(["source", "target"]), st.data())
def test_rows_are_the_pairs_of_known_words_with_their_degrees(
    corpus: list[Pair], degree_side: str, data: st.DataObject
):
    filter_sides = data.draw(st.sampled_from(["both", "source", "target"]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train, pool = write_pairs(folder, "train", TRAIN), write_pairs(folder, "pool", corpus)
        parts, [counts] = scan_all(
            folder, train, [pool], degree_side=degree_side, filter_sides=filter_sides
        )
        rows = read(parts)
        raw = [path.read_bytes() for path in (pool.source.path, pool.target.path)]

    usable = [
        {
            word
            for word, count in twins.count_words(pair[side] for pair in TRAIN).items()
            if count >= 2
        }
        for side in (0, 1)
    ]
    ours = 1 if degree_side == "target" else 0
    known = twins.known_ngrams([pair[ours] for pair in TRAIN], 2)
    expected, empty, rare = [], 0, 0
    for line, pair in enumerate(corpus):
        if not all(text.split() for text in pair):
            empty += 1
        elif not all(
            twins.survives(pair[side], usable[side])
            for side in (0, 1)
            if filter_sides in ("both", ("source", "target")[side])
        ):
            rare += 1
        else:
            words = [twins.words_of(text) for text in pair]
            pieces = twins.least_pieces(words[ours], known)
            expected.append((line, len(words[0]), len(words[1]), pieces, pieces / len(words[ours])))
    found = [
        tuple(row[key] for key in ("line", "source_length", "target_length", "pieces", "degree"))
        for row in rows
    ]
    assert found == expected
    expected_counts = {"pairs": len(corpus), "empty": empty, "rare": rare, "kept": len(expected)}
    assert {name: counts[name] for name in expected_counts} == expected_counts
    for row in rows:
        for side, text in enumerate(raw):
            line = text[row[("source_offset", "target_offset")[side]] :].split(b"\n")[0]
            assert line.decode() == corpus[row["line"]][side]
    same = {(tuple(twins.words_of(corpus[row["line"]][side])) for side in (0, 1)) for row in rows}
    contents = {row["content"] for row in rows}
    distinct = {tuple(tuple(twins.words_of(text)) for text in corpus[row["line"]]) for row in rows}
    assert len(contents) == len(distinct) <= len(same)


def expected_cut(
    corpus: list[Pair],
    rows: list[dict[str, Any]],
    size: int,
    min_length: int,
    seed: int,
    seen: list[Pair],
):
    """The cut by its definition, on all rows at once."""
    text = [[" ".join(twins.words_of(side)) for side in corpus[row["line"]]] for row in rows]
    salt = mix(np.array([seed], np.uint64))
    ties = mix(np.array([row["content"] for row in rows], np.uint64) ^ salt).tolist()
    order = sorted(
        range(len(rows)), key=lambda i: (-rows[i]["degree"], ties[i], text[i], rows[i]["line"])
    )
    sources = {" ".join(twins.words_of(source)) for source, _ in seen}
    targets = {" ".join(twins.words_of(target)) for _, target in seen}
    taken: list[int] = []
    for i in order:
        if len(taken) == size:
            break
        source, target = text[i]
        if rows[i]["target_length"] < min_length or source in sources or target in targets:
            continue
        if all(source != text[j][0] and target != text[j][1] for j in taken):
            taken.append(i)
    return [rows[i]["line"] for i in taken]


@settings(deadline=None, max_examples=40)
@given(
    st.lists(pairs, min_size=1, max_size=40),
    st.lists(pairs, min_size=1, max_size=5),
    st.integers(1, 12),
    st.integers(1, 3),
    st.integers(0, 3),
)
def test_the_cut_is_its_definition(
    corpus: list[Pair], exclude: list[Pair], size: int, min_length: int, seed: int
):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train, excluded = (
            write_pairs(folder, "train", TRAIN),
            write_pairs(folder, "exclude", exclude),
        )
        half = max(1, len(corpus) // 2)
        pools = [
            write_pairs(folder, str(i), some)
            for i, some in enumerate((corpus[:half], corpus[half:]))
            if some
        ]
        parts, scanned = scan_all(folder, train, pools)
        rows = read(parts, pools)
        result = cut(
            parts, pools, size=size, bounds=Bounds(min_length), seed=seed, seen=[train, excluded]
        )
    first = np.cumsum([0] + [pool.lines for pool in pools])  # lines are counted through all pools
    lines = (result.rows["line"] + first[result.rows["pool"]]).tolist()
    assert lines == expected_cut(corpus, rows, size, min_length, seed, TRAIN + exclude)
    chosen = [corpus[line] for line in lines]
    assert [text.decode() for text in result.source.texts] == [
        " ".join(twins.words_of(source)) for source, _ in chosen
    ]
    assert [text.decode() for text in result.target.texts] == [
        " ".join(twins.words_of(target)) for _, target in chosen
    ]
    lengths = [row["target_length"] for row in rows]
    max_length = min_length + 1
    counted = count_lengths([one["lengths"] for one in scanned], Bounds(min_length, max_length))
    assert counted == {
        "known_words": len(rows),
        "too_short": sum(length < min_length for length in lengths),
        "too_long": sum(length > max_length for length in lengths),
        "within_length": sum(min_length <= length <= max_length for length in lengths),
    }
    counts = result.counts | count_lengths([one["lengths"] for one in scanned], Bounds(min_length))
    assert counts["candidates"] == len(chosen) and counts["too_long"] == 0
    if len(chosen) < size:
        assert (
            counts["within_length"] == counts["candidates"] + counts["seen"] + counts["duplicates"]
        )


def many(count: int, seed: int) -> list[Pair]:
    rng = np.random.default_rng(seed)
    vocabulary = np.array(["a", "b", "c", "d", "é"])
    lengths = rng.integers(1, 9, (count, 2))
    return [tuple(" ".join(vocabulary[rng.integers(0, 5, n)]) for n in both) for both in lengths]


KNOWN: list[Pair] = [("a b c d é", "a b c d é b a")] * 2 + TRAIN


def known_train(folder: Path) -> ParallelText:
    return write_pairs(folder, "train", KNOWN)


def texts_of(result: Cut) -> list[tuple[bytes, bytes, float]]:
    return list(
        zip(result.source.texts, result.target.texts, result.rows["degree"].tolist(), strict=True)
    )


def test_a_byte_order_mark_moves_no_offset(tmp_path: Path):
    """Offsets count after the mark, so that the cut reads the same texts."""
    train, scanned = known_train(tmp_path), []
    for folder, mark in ((tmp_path / "plain", b""), (tmp_path / "marked", b"\xef\xbb\xbf")):
        folder.mkdir()
        paths = [folder / "pool.source", folder / "pool.target"]
        for side, path in enumerate(paths):
            text = "".join(pair[side] + "\n" for pair in many(50, 4))
            path.write_bytes(mark + text.encode("utf-8"))
        pool = index_pair(*paths)
        parts, _ = scan_all(folder, train, [pool])
        scanned.append((read(parts), texts_of(cut(parts, [pool], size=20))))
    assert scanned[0] == scanned[1]


def test_the_cut_holds_few_rows_and_looks_again_when_too_few_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    corpus = many(400, 0) * 3
    train, pool = known_train(tmp_path), write_pairs(tmp_path, "pool", corpus)
    parts, _ = scan_all(tmp_path, train, [pool])
    rows = read(parts)
    asked = []

    class Fewer(cut_module.BestRows):  # as if the slack were far too small
        def __init__(self, limit, bounds, seed):
            asked.append(limit)
            super().__init__(max(1, (limit - 1000) // 4), bounds, seed)

        def rows(self):
            rows = super().rows()
            assert len(rows["line"]) <= 3 * asked[-1]
            return rows

    monkeypatch.setattr(cut_module, "BestRows", Fewer)
    for size in (1, 20, 60, 10_000):
        result = cut(parts, [pool], size=size, bounds=Bounds(2), seed=7, seen=[train])
        assert result.rows["line"].tolist() == expected_cut(corpus, rows, size, 2, 7, KNOWN)
    assert len(asked) > 4


def test_the_order_of_the_pool_does_not_matter(tmp_path: Path):
    corpus = many(300, 1)
    train = known_train(tmp_path)
    results = []
    for number, order in enumerate((range(300), np.random.default_rng(2).permutation(300))):
        folder = tmp_path / str(number)
        folder.mkdir()
        pool = write_pairs(folder, "pool", [corpus[i] for i in order])
        parts, _ = scan_all(folder, train, [pool])
        results.append(cut(parts, [pool], size=50, seed=3))
    assert texts_of(results[0]) == texts_of(results[1])
    assert np.array_equal(results[0].rows["content"], results[1].rows["content"])
    assert results[0].counts == results[1].counts
    assert len(results[0].source.texts) == 50


def test_of_equal_pairs_the_first_of_the_first_corpus_counts(tmp_path: Path):
    train = known_train(tmp_path)
    pools = [
        write_pairs(tmp_path, "one", [("a", "b"), ("c", "d a")]),
        write_pairs(tmp_path, "two", [("c", "d a"), ("b", "c")]),
    ]
    parts, _ = scan_all(tmp_path, train, pools)
    result = cut(parts, pools, size=10)
    places = list(zip(result.rows["pool"].tolist(), result.rows["line"].tolist(), strict=True))
    assert sorted(places) == [(0, 0), (0, 1), (1, 1)] and result.counts["duplicates"] == 1


def test_the_seed_breaks_ties(tmp_path: Path):
    train, pool = known_train(tmp_path), write_pairs(tmp_path, "pool", many(300, 1))
    parts, _ = scan_all(tmp_path, train, [pool])
    one, other = (cut(parts, [pool], size=20, seed=seed) for seed in (1, 2))
    assert one.rows["degree"].tolist() == other.rows["degree"].tolist()
    assert texts_of(one) != texts_of(other)


def test_threads_and_restarts_leave_the_same_bytes(tmp_path: Path):
    train, pool = known_train(tmp_path), write_pairs(tmp_path, "pool", many(300, 4))
    work = Scan(pool, 0, *learn(train))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    counts = scan(work, tmp_path / "one", jobs=1)
    assert scan(work, tmp_path / "two", jobs=3) == counts
    parts = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(parts) > 10

    kept = tmp_path / "two" / parts[1]
    before = kept.stat().st_ino
    (tmp_path / "two" / parts[0]).unlink()
    (tmp_path / "two" / parts[3]).write_bytes(b"not parquet")
    assert scan(work, tmp_path / "two", jobs=2) == counts
    assert kept.stat().st_ino == before
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == parts
    for name in parts:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_rows_of_a_corpus_do_not_depend_on_those_before_it(tmp_path: Path):
    train, pool = known_train(tmp_path), write_pairs(tmp_path, "pool", many(100, 4))
    found = []
    for name, size in (("few", 3), ("more", 30)):
        (tmp_path / name).mkdir()
        before = write_pairs(tmp_path / name, "before", many(size, 5))
        parts, counts = scan_all(tmp_path / name, train, [before, pool])
        mine = [part for part in parts if part.parent.name == "scan-1"]
        found.append(([part.read_bytes() for part in mine], counts[1]))
    assert found[0] == found[1]
    assert found[0][1]["kept"] > 10


def test_bad_text_is_named_by_file_and_line(tmp_path: Path):
    train, pool = known_train(tmp_path), write_pairs(tmp_path, "pool", many(50, 5))
    path = tmp_path / "pool.1"
    lines = path.read_bytes().split(b"\n")
    lines[36] += b" \xe9"
    path.write_bytes(b"\n".join(lines))
    pool = index_pair(tmp_path / "pool.0", path)
    with pytest.raises(InputError, match=r"pool\.1, line 37: not UTF-8"):
        scan(Scan(pool, 0, *learn(train)), tmp_path, jobs=2)


def test_a_last_line_without_newline_and_long_lines(tmp_path: Path):
    (tmp_path / "p.0").write_text("a b\n" + "c d " * 50_000 + "\na b c")
    (tmp_path / "p.1").write_text("a b c d\nd\n" + "é " * 70_000)
    pool = index_pair(tmp_path / "p.0", tmp_path / "p.1")
    parts, _ = scan_all(tmp_path, known_train(tmp_path), [pool])
    found = [
        (row["line"], row["source_length"], row["target_length"], row["pieces"])
        for row in read(parts)
    ]
    assert found == [(0, 2, 4, 1), (1, 100_000, 1, 1), (2, 3, 70_000, 70_000)]
    result = cut(parts, [pool], size=3)
    assert result.target.texts[0] == b"d"
    assert len(result.source.texts[0].split()) == 100_000


def test_a_saved_cut(tmp_path: Path):
    train, pool = known_train(tmp_path), write_pairs(tmp_path, "pool", many(100, 6))
    parts, _ = scan_all(tmp_path, train, [pool])
    result = cut(parts, [pool], size=10)
    result.save(tmp_path)
    assert (tmp_path / "candidates.source").read_bytes().split(b"\n") == [*result.source.texts, b""]
    table = pyarrow.parquet.read_table(tmp_path / "candidates.parquet")
    assert table["line"].to_pylist() == result.rows["line"].tolist()
    assert (tmp_path / "counts.json").is_file()


@pytest.mark.parametrize("scattered", [True, False])
def test_a_range_of_a_file_is_read_with_and_without_preadv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scattered: bool
):
    """Python on macOS has no os.preadv."""
    if not scattered:
        monkeypatch.delattr(os, "preadv", raising=False)
    (tmp_path / "x").write_bytes(b"0123456789")
    file = os.open(tmp_path / "x", os.O_RDONLY)
    try:
        buffer = padded(8)
        assert read_range(file, buffer, 2, 9, "x") == 7
        assert buffer[:7].tobytes() == b"2345678"
        with pytest.raises(InputError, match="the file became shorter"):
            read_range(file, buffer, 5, 11, "x")
    finally:
        os.close(file)
