import gzip
import io
import sys
import tracemalloc
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from cgbench.errors import InputError
from cgbench.text import limits
from cgbench.text.blocks import read_blocks
from cgbench.text.columns import read_column, read_text
from cgbench.text.corpus import index_text
from cgbench.text.formats import CorpusSpec, read_pairs
from cgbench.text.limits import limit
from cgbench.text.streams import open_bytes, read_lines

MIB = 1 << 20


def by_blocks(path):
    return (
        b"".join(block.buffer[: block.size].tobytes() for block in read_blocks(path))
        .decode()
        .split("\n")[:-1]
    )


READERS = [lambda path: list(read_lines(path)), by_blocks]


def peak(work):
    """MiB that Python allocates at most while ``work`` runs, and what it raises."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            work()
        return tracemalloc.get_traced_memory()[1] / MIB, str(caught.value)
    finally:
        tracemalloc.stop()


def bomb(size, unit):
    """``size`` MiB of one thing again and again as one .zst frame of a few kB."""
    packer = zstandard.ZstdCompressor(level=19).compressobj()
    return b"".join(
        [*(packer.compress(unit * (MIB // len(unit))) for _ in range(size)), packer.flush()]
    )


@pytest.fixture
def stdin(monkeypatch):
    def give(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, lambda data: data])
def test_every_way_gives_the_same_lines(tmp_path, stdin, read, pack):
    data = "".join(f"größer {number} \r\n\n\u2028x\n" for number in range(30_000)).encode() + b"end"
    name = tmp_path / ("x" if pack(b"") == b"" else "x.gz" if pack is gzip.compress else "x.zst")
    name.write_bytes(pack(data))
    assert read(name) == data.decode().split("\n")
    stdin(data)
    assert read("-") == data.decode().split("\n")


def test_standard_input_can_be_read_once(stdin):
    stdin(b"a\n")
    assert list(read_lines("-")) == ["a"]
    with pytest.raises(InputError, match="standard input is named twice"):
        list(read_lines("-"))
    with pytest.raises(InputError, match="standard input is named twice"):
        list(read_pairs(CorpusSpec((Path("-"), Path("-")))))
    stdin(b"b\n")
    assert list(read_lines("-")) == ["b"]


def test_frames_of_every_kind_of_block(tmp_path):
    text = [b"ab" * 200_000, bytes(range(1, 10)) * 7 + b"\n", b"", b"z" * 300_000]
    skipped = b"\x5a\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"12345"
    frames = [
        zstandard.ZstdCompressor(
            level=level, write_checksum=check, write_content_size=size
        ).compress(part)
        for part, level, check, size in zip(
            text, (1, 3, 19, 3), (True, False) * 2, (True, True, False, False), strict=True
        )
    ]
    (tmp_path / "x.zst").write_bytes(skipped + skipped.join(frames) + skipped)
    with open_bytes(tmp_path / "x.zst") as file:
        assert file.read() == b"".join(text)


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data)],
)
def test_a_file_cut_anywhere_or_changed_is_one_line(tmp_path, pack):
    whole = pack(b"".join(b"%d\n" % (number * number) for number in range(60)))
    path = tmp_path / ("x.gz" if pack is gzip.compress else "x.zst")
    for cut in range(1, len(whole)):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match="cannot be read .* damaged or cut short") as caught:
            list(read_lines(path))
        assert "\n" not in str(caught.value)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(InputError, match="cannot be read"):
        list(read_lines(path))


@pytest.mark.parametrize("read", READERS)
def test_a_bomb_of_one_line_is_refused_in_little_memory(tmp_path, read, monkeypatch):
    monkeypatch.setenv("CGBENCH_MAX_LINE", "4M")
    (tmp_path / "x.zst").write_bytes(bomb(100, b"a"))
    assert (tmp_path / "x.zst").stat().st_size < 20_000
    memory, said = peak(lambda: read(tmp_path / "x.zst"))
    assert "x.zst, line 1: longer than 4,194,304 bytes" in said
    assert memory < 24


def test_a_bomb_of_many_lines_is_refused_by_its_ratio(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "GRACE", 4 * MIB)
    (tmp_path / "x.zst").write_bytes(bomb(8, b"a" * 65_535 + b"\n"))
    memory, said = peak(lambda: sum(1 for _ in read_lines(tmp_path / "x.zst")))
    assert "x.zst: " in said and "raise CGBENCH_MAX_RATIO" in said
    assert memory < 8
    monkeypatch.setenv("CGBENCH_MAX_RATIO", "1M")
    assert sum(1 for _ in read_lines(tmp_path / "x.zst")) == 128
    monkeypatch.setenv("CGBENCH_MAX_TEXT", "2m")
    with pytest.raises(
        InputError, match="more than 2,097,152 bytes of text; .* raise CGBENCH_MAX_TEXT"
    ):
        sum(1 for _ in read_lines(tmp_path / "x.zst"))


@pytest.mark.parametrize("given", ["0", "-1", "x", "1.5", "²", "K", "9" * 30, "1KB"])
def test_a_limit_that_is_none(monkeypatch, given):
    monkeypatch.setenv("CGBENCH_MAX_LINE", given)
    with pytest.raises(InputError, match="CGBENCH_MAX_LINE=.*a number above 0 is needed"):
        limit("CGBENCH_MAX_LINE")


@pytest.mark.parametrize("read", [*READERS, index_text])
def test_a_line_that_is_none(tmp_path, read, monkeypatch):
    monkeypatch.setenv("CGBENCH_MAX_LINE", "2M")
    (tmp_path / "x").write_bytes(b"a\nb\n" + b"c" * (3 * MIB) + b"\nd\n")
    with pytest.raises(
        InputError, match="x, line 3: longer than 2,097,152 bytes; .* raise CGBENCH_MAX_LINE"
    ):
        read(tmp_path / "x")
    (tmp_path / "x").write_bytes(
        b"a\n" + b"c" * (MIB + MIB // 2) + b"\n" + b"d" * (MIB + MIB // 2) + b"\n"
    )
    read(tmp_path / "x")


@pytest.mark.parametrize("read", [*READERS, index_text])
@pytest.mark.parametrize(
    ("lines", "number"), [((3, 9, 9), 0), ((3, 10), 2), ((10,), 1), ((9, 9, 9, 9, 12, 3), 5)]
)
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_limit_below_a_block_holds_for_every_line(
    tmp_path, monkeypatch, read, lines, number, end
):
    monkeypatch.setenv("CGBENCH_MAX_LINE", "9")
    path = tmp_path / "x"
    path.write_bytes(b"\n".join(b"x" * size for size in lines) + end)
    if number:
        with pytest.raises(InputError, match=f"x, line {number}: longer than 9 bytes"):
            read(path)
    else:
        read(path)


def test_a_window_of_gigabytes_is_refused(tmp_path):
    # magic; no single segment, no checksum; a window of 2^41 bytes; a last raw block of one byte
    (tmp_path / "x.zst").write_bytes(
        b"\x28\xb5\x2f\xfd\x00\xf8" + (1 << 3 | 1).to_bytes(3, "little") + b"a"
    )
    with pytest.raises(InputError, match=r"cannot be read"):
        list(read_lines(tmp_path / "x.zst"))
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=28)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    (tmp_path / "x.zst").write_bytes(packer.compress(b"a\n") + packer.flush())
    with pytest.raises(
        InputError, match=r"needs 268,435,456 bytes of memory, .* compress it without --long"
    ):
        list(read_lines(tmp_path / "x.zst"))


def parquet_bomb(path, rows, size):
    """Many rows that name one long value of a dictionary."""
    values = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * rows, pyarrow.int32()), ["x" * size]
    )
    table = pyarrow.table(
        {"a": values.cast(pyarrow.string()) if rows * size < 1 << 30 else values, "b": ["y"] * rows}
    )
    pyarrow.parquet.write_table(table, path, compression="zstd")


def test_a_parquet_bomb_is_refused_in_little_memory(tmp_path):
    """Five GB: less than a fiftieth of it is ever held, by Python or by Arrow."""
    parquet_bomb(tmp_path / "x.parquet", 5000, MIB)
    assert (tmp_path / "x.parquet").stat().st_size < 100_000
    before = pyarrow.total_allocated_bytes()
    seen = []

    def work():
        for _ in read_text(f"{tmp_path}/x.parquet:a"):
            seen.append(pyarrow.total_allocated_bytes() - before)

    memory, said = peak(work)
    assert "raise CGBENCH_MAX_RATIO" in said
    assert memory < 64 and max(seen) < 64 * MIB
    assert set(read_column(f"{tmp_path}/x.parquet:b").values) == {"y"}
    with pytest.raises(InputError, match="raise CGBENCH_MAX_RATIO"):
        list(read_pairs(CorpusSpec((tmp_path / "x.parquet",), ("a", "b"))))


def test_a_parquet_file_that_claims_much_is_not_read(tmp_path):
    table = pyarrow.table({"a": ["x" * (80 * MIB)], "b": ["y"]})
    pyarrow.parquet.write_table(
        table, tmp_path / "x.parquet", compression="zstd", use_dictionary=False
    )
    before = pyarrow.total_allocated_bytes()
    with pytest.raises(InputError, match=r"expand to more than 83,8.*raise CGBENCH_MAX_RATIO"):
        list(read_text(f"{tmp_path}/x.parquet:a"))
    assert pyarrow.total_allocated_bytes() - before < MIB
