"""Regular expressions that are compiled when they are used."""

import copy
import pickle
import re

import pytest

from cgbench.patterns import pattern


def test_a_pattern_is_compiled_when_it_is_used():
    wrong = pattern("a(")
    assert wrong.pattern == "a("
    with pytest.raises(re.error, match="unterminated subpattern"):
        wrong.search("a")


def test_a_pattern_does_what_a_compiled_one_does():
    later = pattern("a(b+)", re.I)
    match = later.fullmatch("ABB")
    assert match is not None
    assert match[1] == "BB"
    assert later.search is later.search  # compiled once
    assert pattern(b"x").sub(b"y", b"axa") == b"aya"


def test_a_pattern_is_copied_and_sent_to_another_process():
    later = pickle.loads(pickle.dumps(pattern("a", re.I)))
    assert later.flags == re.I
    assert later.search("A")
    assert copy.deepcopy(pattern("a")).search("a")
