import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgbench.errors import InputError
from cgbench.models.config.common import TextConfig
from cgbench.models.special_ids import EOS, UNK
from cgbench.models.text.subwords import Subwords

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
    learned = Subwords.learn(tmp_path / "s", tmp_path / "t", TextConfig(merges=2))
    assert learned.merges == [("a", "b"), ("ab", "c</w>")]
    assert learned.source[4:] == ["abc</w>"]
    assert learned.target[4:] == ["ab", "d</w>"]


# What subword-nmt 0.3.8 prints for this text with 40 merges.
MERGES_OF_SUBWORD_NMT = """\
a a, u n, h un, d o, u f, t h, th e</w>, t e</w>, o l, ol d</w>, l ä, l te</w>, hun d</w>, e r</w>,
do g</w>, d er</w>, aa a, a lte</w>"""


def test_ties_as_in_subword_nmt(tmp_path):
    (tmp_path / "s").write_text(SOURCE + TARGET, encoding="utf-8")
    (tmp_path / "t").write_text("aaaa aaab baab\n")
    config = TextConfig(merges=40, ties="subword-nmt")
    learned = Subwords.learn(tmp_path / "s", tmp_path / "t", config)
    expected = [tuple(pair.split()) for pair in MERGES_OF_SUBWORD_NMT.split(",")]
    assert learned.merges == expected
    other_rule = Subwords.learn(tmp_path / "s", tmp_path / "t", TextConfig(merges=40))
    assert other_rule.merges != expected
    assert (
        Subwords.learn(tmp_path / "s", tmp_path / "t", dataclasses.replace(config, merges=5)).merges
        == (expected[:5])
    )


def test_a_side_knows_only_what_occurs_on_it(subwords):
    assert UNK in subwords.encode_target(["schläft"])[0]
    assert UNK not in subwords.encode_source(["schläft"])[0]


def test_dictionaries_are_sorted_by_frequency(tmp_path):
    (tmp_path / "s").write_text("b a a c c\n")
    learned = Subwords.learn(tmp_path / "s", tmp_path / "s", TextConfig(merges=0))
    assert learned.source == ["<s>", "<pad>", "</s>", "<unk>", "a</w>", "c</w>", "b</w>"]


def test_empty_lines_are_the_end_alone_and_unknown_characters_are_unk(subwords):
    empty, blank, unknown = subwords.encode_source(["", " \t ", "der 犬"])
    assert empty.tolist() == blank.tolist() == [EOS]
    assert unknown.dtype == np.int32
    assert unknown.tolist()[-2:] == [UNK, EOS]


def test_only_ascii_white_space_separates(tmp_path):
    (tmp_path / "s").write_text("a\u00a0b c\td\x0be\n", encoding="utf-8")
    learned = Subwords.learn(tmp_path / "s", tmp_path / "s", TextConfig(merges=50))
    assert sum(entry.endswith("</w>") for entry in learned.source) == 4
    assert learned.decode_target(learned.encode_target(["a\u00a0b  c"])[0]) == "a\u00a0b c"


LETTERS = "adehnorstuäß"


@pytest.fixture(scope="module")
def every_letter(tmp_path_factory):
    """Subwords that know each letter within and at the end of a word."""
    path = tmp_path_factory.mktemp("letters") / "text"
    path.write_text(
        " ".join(a + b for a in LETTERS for b in LETTERS) + " that hat that\n", encoding="utf-8"
    )
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
    assert (tmp_path / "a/subwords.json").read_bytes() == (
        tmp_path / "b/subwords.json"
    ).read_bytes()
    lines = ["der alte hund", "unbekannte wörter"]
    for ours, theirs in zip(subwords.encode_source(lines), again.encode_source(lines), strict=True):
        assert np.array_equal(ours, theirs)


UNITS = {
    "subwords": TextConfig(merges=5),
    "words": TextConfig("words"),
    "characters": TextConfig("characters"),
}


@pytest.mark.parametrize("config", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("joint", [False, True])
def test_every_unit_is_read_back_as_it_was(files, tmp_path, config, joint):
    learned = Subwords.learn(*files, dataclasses.replace(config, joint_dictionary=joint))
    learned.save(tmp_path)
    again = Subwords.load(tmp_path)
    assert again.digest == learned.digest and again.unit == config.unit
    assert (again.source == again.target) == joint
    for line in TARGET.splitlines():
        ids = again.encode_target([line])[0]
        assert UNK not in ids and again.decode_target(ids) == line
        assert np.array_equal(ids, learned.encode_target([line])[0])
    if joint:
        assert UNK not in again.encode_target(["schläft"])[0]


def test_words_are_tokens_as_they_are(files):
    words = Subwords.learn(*files, TextConfig("words"))
    assert words.source[4:] == ["alte", "der", "hund", "hunde", "laufen", "läuft", "schläft"]
    assert words.encode_source(["der  hund\tbellt"])[0].tolist() == [5, 6, UNK, EOS]
    assert words.decode_target([4, UNK, 5, EOS, 4]) == f"{words.target[4]} <unk> {words.target[5]}"


def test_characters_keep_every_blank(tmp_path):
    line = "  What is  2 - -3?\u00a0é "
    (tmp_path / "s").write_text(line + "\n\n", encoding="utf-8")
    characters = Subwords.learn(tmp_path / "s", tmp_path / "s", TextConfig("characters"))
    ids, nothing, blank, unknown = characters.encode_source([line, "", " ", "9"])
    assert len(ids) == len(line) + 1 and characters.decode_target(ids) == line
    assert nothing.tolist() == [EOS] and len(blank) == 2 and unknown.tolist() == [UNK, EOS]


@pytest.mark.parametrize("config", UNITS.values(), ids=UNITS)
def test_text_that_is_spelt_like_a_special_is_no_special(tmp_path, config):
    """Of <s>, </s> and the like in a text, nothing may end or pad a sentence."""
    (tmp_path / "s").write_text("a <s> </s> <pad> <unk> b\n" * 20)
    learned = Subwords.learn(tmp_path / "s", tmp_path / "s", dataclasses.replace(config, merges=50))
    ids = learned.encode_source(["a <s> </s> <pad> <unk> b <s>b"])[0].tolist()
    assert not {0, 1, EOS} & set(ids[:-1])


def test_unknown_words_are_named_with_their_lines(files):
    lines = ["der hund", "", "die alte katze", "der die"]
    words = Subwords.learn(*files, TextConfig("words"))
    assert list(words.unknown_source(lines)) == [(2, "die"), (2, "katze"), (3, "die")]
    subwords = Subwords.learn(*files, TextConfig(merges=20))
    assert list(subwords.unknown_source(["hundalte", "hund 犬犬 hund"])) == [(1, "犬犬")]
    characters = Subwords.learn(*files, TextConfig("characters"))
    assert list(characters.unknown_source(["ab"])) == [(0, "b")]


def test_files_of_subwords_are_what_they_were_before_there_were_other_units(tmp_path):
    (tmp_path / "s").write_text("abc abc abd\n")
    Subwords.learn(tmp_path / "s", tmp_path / "s", TextConfig(merges=1)).save(tmp_path)
    words = ["<s>", "<pad>", "</s>", "<unk>", "ab", "c</w>", "d</w>"]
    data = json.loads((tmp_path / "subwords.json").read_text())
    assert data == {"format": 1, "merges": [["a", "b"]], "source": words, "target": words}


def test_learning_gives_the_same_bytes_in_every_process(tmp_path):
    """Hash tables are salted a process: ties between equally frequent pairs must not follow
    them.
    """
    letters = "abcdefghijklmnop"
    (tmp_path / "ties").write_text(
        "\n".join(f"{a}{b} {a}{b}" for a in letters for b in letters) + "\n"
    )
    code = (
        "import sys; from pathlib import Path; from cgbench.models.text.subwords import Subwords;"
        "from cgbench.models.config.common import TextConfig;"
        "print(Subwords.learn(Path(sys.argv[1]), Path(sys.argv[1]), TextConfig(merges=30)).digest)"
    )
    command, digests = [sys.executable, "-c", code, str(tmp_path / "ties")], set()
    for seed in "123":
        salted = {"PYTHONHASHSEED": seed, "PATH": ""}
        digests.add(
            subprocess.run(command, env=salted, capture_output=True, text=True, check=True).stdout
        )
    assert len(digests) == 1


def test_bad_files_are_named(tmp_path, subwords):
    (tmp_path / "empty").write_text("\n\n")
    with pytest.raises(InputError, match="no word"):
        Subwords.learn(tmp_path / "empty", tmp_path / "empty", TextConfig())
    subwords.save(tmp_path)
    path = tmp_path / "subwords.json"
    for text, said in (
        (path.read_text()[:-20], "cut short"),
        ('{"format": 1, "merges": []}', "not a subwords file"),
        (
            '{"format": 2, "unit": "syllables", "source": [], "target": []}',
            "'syllables' is not one of",
        ),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=said):
            Subwords.load(tmp_path)
