import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgbench.errors import InputError
from cgbench.models.config import TextConfig
from cgbench.models.text import EOS, UNK, Subwords, read_lines

SOURCE = "der alte hund schläft\n\nder hund läuft\nalte hunde laufen\n"
TARGET = "the old dog sleeps\n\nthe dog runs\nold dogs run\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "de").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "en").write_text(TARGET, encoding="utf-8")
    return tmp_path / "de", tmp_path / "en"


@pytest.fixture
def subwords(files):
    return Subwords.learn(*files, TextConfig(merges=20))


def test_first_merges_are_the_most_frequent_pairs(tmp_path):
    """'ab' occurs five times, 'abc' three times as a whole word."""
    (tmp_path / "s").write_text("abc abc abc\n")
    (tmp_path / "t").write_text("abd abd\n")
    learnt = Subwords.learn(tmp_path / "s", tmp_path / "t", TextConfig(merges=2))
    assert learnt.merges == [("a", "b"), ("ab", "c</w>")]
    assert learnt.source[4:] == ["abc</w>"]
    assert learnt.target[4:] == ["ab", "d</w>"]


def test_a_side_knows_only_what_occurs_on_it(subwords):
    assert UNK in subwords.encode_target(["schläft"])[0]
    assert UNK not in subwords.encode_source(["schläft"])[0]


def test_dictionaries_are_sorted_by_frequency(tmp_path):
    (tmp_path / "s").write_text("b a a c c\n")
    learnt = Subwords.learn(tmp_path / "s", tmp_path / "s", TextConfig(merges=0))
    assert learnt.source == ["<s>", "<pad>", "</s>", "<unk>", "a</w>", "c</w>", "b</w>"]


def test_empty_lines_are_the_end_alone_and_unknown_characters_are_unk(subwords):
    empty, blank, unknown = subwords.encode_source(["", " \t ", "der 犬"])
    assert empty.tolist() == blank.tolist() == [EOS]
    assert unknown.dtype == np.int32
    assert unknown.tolist()[-2:] == [UNK, EOS]


def test_only_ascii_white_space_separates(tmp_path):
    (tmp_path / "s").write_text("a\u00a0b c\td\x0be\n", encoding="utf-8")
    learnt = Subwords.learn(tmp_path / "s", tmp_path / "s", TextConfig(merges=50))
    assert sum(entry.endswith("</w>") for entry in learnt.source) == 4
    assert learnt.decode_target(learnt.encode_target(["a\u00a0b  c"])[0]) == "a\u00a0b c"


LETTERS = "adehnorstuäß"


@pytest.fixture(scope="module")
def every_letter(tmp_path_factory):
    """Subwords that know each letter within and at the end of a word."""
    path = tmp_path_factory.mktemp("letters") / "text"
    path.write_text(" ".join(a + b for a in LETTERS for b in LETTERS) + " that hat that\n", encoding="utf-8")
    return Subwords.learn(path, path, TextConfig(merges=15))


@given(st.lists(st.text(LETTERS, min_size=1, max_size=12), max_size=8))
@settings(max_examples=50, deadline=None)
def test_words_survive_the_way_to_ids_and_back(every_letter, words):
    ids = every_letter.encode_target([" ".join(words)])[0]
    if UNK not in ids:
        assert every_letter.decode_target(ids) == " ".join(words)
    assert every_letter.decode_target(every_letter.encode_target(["hat that"])[0]) == "hat that"


def test_decoding_stops_at_the_end_and_shows_unknown_words(subwords):
    ids = subwords.encode_target(["the dog"])[0].tolist()
    assert subwords.decode_target([0, *ids, *ids]) == "the dog"
    assert subwords.decode_target([*ids[:-1], UNK, *ids]) == "the dog <unk> the dog"
    assert subwords.decode_target([]) == ""


def test_what_is_saved_is_read_back(subwords, tmp_path):
    subwords.save(tmp_path / "a")
    again = Subwords.load(tmp_path / "a")
    again.save(tmp_path / "b")
    assert again.digest == subwords.digest
    assert (tmp_path / "a/subwords.json").read_bytes() == (tmp_path / "b/subwords.json").read_bytes()
    lines = ["der alte hund", "unbekannte wörter"]
    for ours, theirs in zip(subwords.encode_source(lines), again.encode_source(lines), strict=True):
        assert np.array_equal(ours, theirs)


def test_other_merges_have_another_digest(files, subwords):
    assert Subwords.learn(*files, TextConfig(merges=3)).digest != subwords.digest


def test_learning_gives_the_same_bytes_in_every_process(tmp_path):
    """Hash tables are salted a process: ties between equally frequent pairs must not follow them."""
    letters = "abcdefghijklmnop"
    (tmp_path / "ties").write_text("\n".join(f"{a}{b} {a}{b}" for a in letters for b in letters) + "\n")
    code = (
        "import sys; from pathlib import Path; from cgbench.models.text import Subwords;"
        "from cgbench.models.config import TextConfig;"
        "print(Subwords.learn(Path(sys.argv[1]), Path(sys.argv[1]), TextConfig(merges=30)).digest)"
    )
    digests = set()
    for seed in "123":
        run = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "ties")],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(run.stdout)
    assert len(digests) == 1


def test_bad_files_are_named(tmp_path, subwords):
    (tmp_path / "bad").write_bytes(b"gut\n\xff\n")
    with pytest.raises(InputError, match="bad: line 2: not UTF-8"):
        read_lines(tmp_path / "bad")
    with pytest.raises(InputError, match="no such file"):
        read_lines(tmp_path / "none")
    (tmp_path / "empty").write_text("\n\n")
    with pytest.raises(InputError, match="no word"):
        Subwords.learn(tmp_path / "empty", tmp_path / "empty", TextConfig())
    subwords.save(tmp_path)
    path = tmp_path / "subwords.json"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="cut short"):
        Subwords.load(tmp_path)
    path.write_text('{"format": 1, "merges": []}')
    with pytest.raises(InputError, match="not a subwords file"):
        Subwords.load(tmp_path)


def test_lines_end_at_newlines_alone(tmp_path):
    (tmp_path / "x").write_bytes("a\u2028b\r\n\nc".encode())
    assert read_lines(tmp_path / "x") == ["a\u2028b\r", "", "c"]
