"""The compiled loops against their twins."""

import numpy as np
import twins
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cgbench.text import blocks, byte_kernels, word_kernels
from cgbench.text.word_counts import WordCounter

pieces_of_utf8 = st.one_of(
    st.characters(codec="utf-8").map(str.encode),
    st.sampled_from(
        [
            b"\xc0\x80",
            b"\xe0\x80\x80",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"\xf5",
            b"\x80",
            b"\xe2\x82",
        ]
    ),
    st.binary(max_size=3),
)


@settings(deadline=None, max_examples=500)
@given(st.lists(pieces_of_utf8, max_size=12).map(b"".join))
@example(b"\xf0\x9f\x98\x80" * 20)
@example(b"a" * 100 + b"\xe2\x82")
@example(b"\xf0\x8f\xbf\xbf")
def test_inspect_knows_utf8(data: bytes):
    text = data + b"\n"
    assert byte_kernels.is_utf8(np.frombuffer(text, np.uint8).copy(), len(text)) == twins.is_utf8(
        text
    )


def test_every_pair_of_bytes_is_judged_as_python_does():
    buffer = np.full(8, ord("a"), np.uint8)
    for first in range(0x80, 0x100):
        for second in range(0x100):
            for rest in (b"a", b"\x80a", b"\x80\x80a", b"\xbf\xbf\xbfa"):
                data = bytes([ord("a"), first, second]) + rest
                buffer[: len(data)] = np.frombuffer(data, np.uint8)
                assert byte_kernels.is_utf8(buffer, len(data)) == twins.is_utf8(data), data


@settings(deadline=None, max_examples=300)
@given(st.lists(st.text(alphabet="ab é\t\x0b\x0c\r\x00\x1f\x1e\u2028", max_size=40), max_size=6))
def test_words_are_what_bytes_split_gives(lines: list[str]):
    block = blocks.block_of_bytes("".join(line + "\n" for line in lines).encode())
    offsets = np.empty(len(lines), np.int64)
    codes = np.empty(len(lines), np.uint64)
    assert word_kernels.hash_lines(block.buffer, block.size, offsets, codes) == len(lines)
    for line, code in zip(lines, codes, strict=True):
        single = blocks.block_of_bytes(b" ".join(line.encode().split()) + b"\n")
        one = np.empty(1, np.uint64)
        word_kernels.hash_lines(single.buffer, single.size, np.empty(1, np.int64), one)
        assert one[0] == code
        assert (code == 0) == (not line.encode().split())


def test_different_lines_have_different_hashes():
    lines = [" ".join(f"{word:b}" for word in (i % 17, i // 17 % 19, i)) for i in range(20_000)]
    lines += ["a b", "b a", "ab", "a b b", "abcdefgh i", "abcdefgh", "abcdefghi"]
    block = blocks.block_of_bytes("\n".join(lines).encode())
    codes = np.empty(len(lines), np.uint64)
    word_kernels.hash_lines(block.buffer, block.size, np.empty(len(lines), np.int64), codes)
    assert len(np.unique(codes)) == len(lines)


def test_blocks_hold_whole_lines(tmp_path):
    path = tmp_path / "text"
    data = b"\n".join(
        [b"one", b"", b"a line longer than a block of sixteen bytes", b"two", b"last"]
    )
    path.write_bytes(data)
    read = [
        (block.line, block.buffer[: block.size].tobytes()) for block in blocks.read_blocks(path, 16)
    ]
    assert b"".join(text for _, text in read) == data + b"\n"
    assert all(text.endswith(b"\n") for _, text in read)
    assert [line for line, _ in read] == np.cumsum([0, *[text.count(b"\n") for _, text in read]])[
        :-1
    ].tolist()


def test_the_example():
    text = "to be\n\nor to\n"
    counter = WordCounter()
    counter.read(blocks.block_of_bytes(text.encode()), keep=True)
    starts = counter.starts[: counter.words + 1]
    tokens = (
        "/" if i == word_kernels.LINE_END else str(i) for i in counter.tokens[: counter.filled]
    )
    for row in (
        f"buffer  {text.replace(chr(10), '/')}",
        f"arena   {counter.arena[: starts[-1]].tobytes().decode()}",
        f"starts  {' '.join(map(str, starts))}",
        f"tokens  {' '.join(tokens)}",
        f"counts  {' '.join(map(str, counter.counts[: counter.words]))}",
    ):
        assert f"    {row}\n" in word_kernels.__doc__


def test_what_of_a_text_is_kept_is_the_callers():
    block = blocks.block_of_bytes(b"to be\n\nor to\n")
    counter = WordCounter(line_end=9, first_kept=1, keep_empty=True)
    counter.read(block, keep=False)
    assert (counter.filled, counter.words) == (0, 3)
    counter.read(block, keep=True)
    assert counter.tokens[: counter.filled].tolist() == [1, 9, 9, 2, 9]
    assert counter.counts[:3].tolist() == [4, 2, 2]
