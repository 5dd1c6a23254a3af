"""No damaged language model ends the process that reads it."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from cgbench.errors import InputError
from cgbench.lm import opened
from cgbench.lm.language_model import LanguageModel
from cgbench.lm.training import train

SENTENCES = ["the cat sat", "a dog on the mat", "zebra é", ""]


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    pytest.importorskip("kenlm")
    folder = tmp_path_factory.mktemp("lm")
    write(folder)
    return folder / "3.binary"


def write(folder: Path) -> None:
    chance = random.Random(1)
    words = ["the", "cat", "sat", "on", "a", "mat", "with", "dog", "é"]
    (folder / "text").write_text("".join(" ".join(chance.choices(words, k=7)) + "\n" for _ in range(60)))
    train(folder / "text", folder / "3.binary", order=3)


def changed(path: Path, tmp_path: Path, at: int, form: str, *values: float) -> Path:
    data = bytearray(path.read_bytes())
    struct.pack_into(form, data, at, *values)
    (tmp_path / "changed.binary").write_bytes(data)
    return tmp_path / "changed.binary"


WORDS = 108 + 3 * 8 + 4  # three orders, to a multiple of 8; then the vocabulary's version and number of words


@pytest.mark.parametrize(
    ("at", "form", "value", "message"),
    [
        (60, "<f", 7.0, "its header"),
        (88, "<B", 9, "its header"),
        (92, "<f", 0.0, "its header"),
        (108, "<Q", 1 << 60, "shorter than its counts"),
        (108, "<Q", 11, "not a whole KenLM binary file"),
        (116, "<Q", 1, "its size is not|not a number|a word|list of words|a hash table"),
        (WORDS + 4, "<I", 7, "its number of words"),
    ],
)
def test_sizes_and_bounds_are_checked_before_kenlm_reads(binary, tmp_path, at, form, value, message):
    with pytest.raises(InputError, match=message):
        LanguageModel.load(changed(binary, tmp_path, at, form, value))


def test_a_word_without_a_unigram_is_refused(binary, tmp_path):
    data = binary.read_bytes()
    begin = WORDS + 8
    row = next(at for at in range(begin, begin + 1200, 12) if data[at : at + 8] != bytes(8))
    with pytest.raises(InputError, match="has no unigram"):
        LanguageModel.load(changed(binary, tmp_path, row + 8, "<I", 1 << 30))


def test_a_file_cut_short_or_too_long_is_refused(binary, tmp_path):
    data = binary.read_bytes()
    path = tmp_path / "other.binary"
    for content in (data[:70], data[:120], data[: len(data) // 2], data[:-1], data + b"\0"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not a whole KenLM binary file"):
            LanguageModel.load(path)


def test_words_that_are_not_utf8_are_one_line(tmp_path):
    pytest.importorskip("kenlm")
    path = tmp_path / "bad.arpa"
    path.write_bytes(b"\\data\\\nngram 1=3\nngram 2=1\n\n\\1-grams:\n-1\t<unk>\n\xe9\xff \xe9\n")
    with pytest.raises(InputError, match="not a language model") as caught:
        LanguageModel.load(path)
    assert "\n" not in str(caught.value)


def test_another_kind_is_read_in_a_child_process_whose_death_is_one_line(binary, tmp_path):
    child = opened._Child(binary)
    model = LanguageModel.load(binary)
    assert child.order == model.order
    assert [*LanguageModel(child, binary).scores(SENTENCES)] == [*model.scores(SENTENCES)]
    os.kill(child._process.pid, signal.SIGSEGV)
    child._process.join()
    with pytest.raises(InputError, match=f"^{binary}: not a whole KenLM binary file"):
        child.full_scores("the cat")
    for kind in (1, 2, 3, 5):  # a file that says it is of a kind that it is not
        with contextlib.suppress(InputError):
            list(LanguageModel.load(changed(binary, tmp_path, 96, "<I", kind)).scores(SENTENCES))


def survive(folder: Path) -> None:
    """Flip bits, one at a time, and use what is not refused."""
    write(folder)
    path = folder / "3.binary"
    data = path.read_bytes()
    chance = random.Random(2)
    for number in range(600):
        flipped = bytearray(data)
        # every other time in what is most followed: the header, the vocabulary
        bit = chance.randrange(8 * (len(data) if number % 2 else 400))
        if 96 <= bit // 8 < 100:
            continue  # of another kind: read in a child process, slowly
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with contextlib.suppress(InputError):
            list(LanguageModel.load(path).scores(SENTENCES))


def test_no_flipped_bit_ends_the_process(tmp_path):
    pytest.importorskip("kenlm")
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    program += f"from pathlib import Path\nfrom test_opened import survive\nsurvive(Path({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stderr)
