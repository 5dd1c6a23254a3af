"""Compressed texts are read by their suffix, piece by piece; damage, bombs and archives are
refused.
"""

import bz2
import gzip
import lzma
import zipfile

import pytest

from cgbench.errors import InputError
from cgbench.text.blocks import read_blocks
from cgbench.text.columns import read_text
from cgbench.text.formats import CorpusSpec, language_suffixes, read_pairs
from cgbench.text.limits import GRACE
from cgbench.text.streams import open_bytes

LINES = [f"Satz {row} über {row % 7} Häuser" for row in range(20_000)]
TEXT = "".join(f"{line}\n" for line in LINES).encode()


def write_zip(path, *texts, name="../../etc/text", **options):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for number, text in enumerate(texts):
            archive.writestr(f"{name}{number or ''}", text)
    return path


def packed(path, text):
    if path.suffix == ".zip":
        return write_zip(path, text)
    pack = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}[path.suffix]
    path.write_bytes(pack(text))
    return path


SUFFIXES = (".gz", ".xz", ".bz2", ".zip")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_text_and_a_table(suffix, tmp_path):
    path = packed(tmp_path / f"text.de{suffix}", TEXT)
    assert list(read_text(path)) == LINES
    assert b"".join(block.buffer[: block.size].tobytes() for block in read_blocks(path)) == TEXT
    with open_bytes(path) as file:
        assert file.readline() == TEXT.split(b"\n")[0] + b"\n"
    table = packed(tmp_path / f"both.tsv{suffix}", b"ja\tyes\nnein\tno\n")
    assert list(read_pairs(CorpusSpec((table,)))) == [("ja", "yes"), ("nein", "no")]
    assert list(read_text(packed(tmp_path / f"empty.txt{suffix}", b""))) == []
    english = packed(tmp_path / f"text.en{suffix}", TEXT)
    assert language_suffixes(CorpusSpec((path, english))) == ("de", "en")


@pytest.mark.parametrize("pack", [lzma.compress, bz2.compress])
def test_several_streams_are_one_text(pack, tmp_path):
    """As ``cat a.xz b.xz`` and pbzip2 write; .xz may have zeros between them."""
    path = tmp_path / ("text.xz" if pack is lzma.compress else "text.bz2")
    between = b"\0" * 8 if pack is lzma.compress else b""
    path.write_bytes(between.join([pack(TEXT[:1000]), pack(b""), pack(TEXT[1000:])]) + between)
    assert list(read_text(path)) == LINES


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damage(suffix, tmp_path):
    path = packed(tmp_path / f"text{suffix}", TEXT)
    content = path.read_bytes()
    middle = len(content) // 2
    for broken in (
        content[:-20],
        content[:middle],
        content[:middle] + bytes(50) + content[middle + 50 :],
    ):
        path.write_bytes(broken)
        with pytest.raises(InputError, match=r"text\.\w+: cannot be read .*damaged or cut short"):
            list(read_text(path))


@pytest.mark.parametrize("suffix", [".xz", ".bz2", ".zip"])
def test_a_bomb_stops_at_the_limit(suffix, tmp_path):
    line = b"a" * 999 + b"\n"
    path = packed(tmp_path / f"bomb{suffix}", line * (2 * GRACE // len(line)))
    with pytest.raises(InputError, match="unlike any text"):
        list(read_blocks(path))


def test_a_dictionary_that_needs_too_much_memory(tmp_path):
    path = tmp_path / "text.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 28}]
    path.write_bytes(lzma.compress(TEXT, filters=filters))
    with pytest.raises(InputError, match="Memory usage limit"):
        list(read_text(path))


def test_a_zip_of_one_file_only(tmp_path):
    path = write_zip(tmp_path / "two.zip", TEXT, TEXT)
    with pytest.raises(InputError, match="it has 2 files, not one; unpack it"):
        list(read_text(path))
    with zipfile.ZipFile(tmp_path / "bzip2.zip", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("text", TEXT)
    with pytest.raises(InputError, match="not packed by deflation; unpack it"):
        list(read_text(tmp_path / "bzip2.zip"))
    assert not [file for file in tmp_path.rglob("*") if "etc" in file.parts]


def test_the_archives_of_data_sets_stay_packed(tmp_path):
    path = write_zip(tmp_path / "data.zip", TEXT, TEXT)
    with open_bytes(path, text=False) as file:
        assert file.read() == path.read_bytes()
