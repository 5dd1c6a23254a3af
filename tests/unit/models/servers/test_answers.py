"""From answers to hypotheses: reasoning is cut, faults are counted, and only the user's pattern
removes more.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgbench.errors import InputError
from cgbench.models.servers import answers
from cgbench.models.servers.answers import (
    count,
    cut_reasoning,
    parse_rule,
    read_choice,
    warnings_of,
)
from cgbench.models.servers.exchange import ReplyChoice

ALL = parse_rule(None)


def read(text, pattern=None, source="The house is red.", **more):
    return read_choice(ReplyChoice(text, **more), parse_rule(pattern), source)


@pytest.mark.parametrize(
    ("text", "hypothesis", "causes"),
    [
        (
            "<think>The user wants German.</think>\n\nDas Haus ist rot.",
            "Das Haus ist rot.",
            ("reasoning",),
        ),
        (
            "The user wants German.\n</think>\nDas Haus ist rot.",
            "Das Haus ist rot.",
            ("reasoning",),
        ),
        ("<think>\n\n</think>\n\nDas Haus ist rot.", "Das Haus ist rot.", ("reasoning",)),
        ("<think>a</think><think>b</think>Das Haus ist rot.", "Das Haus ist rot.", ("reasoning",)),
        ("Gern! <think>red?</think>Das Haus ist rot.", "Das Haus ist rot.", ("reasoning",)),
        ("<think>The user wants German. Das Haus", "", ("reasoning", "unclosed")),
        ("<think>a</think>Das Haus<think>b", "", ("reasoning", "unclosed")),
        ("<think>a</think>", "", ("reasoning", "empty")),
        ("Sure!\nDas Haus ist rot.", "Sure! Das Haus ist rot.", ("lines",)),
        ('"Das Haus ist rot."', '"Das Haus ist rot."', ()),
    ],
)
def test_reasoning_in_the_text(text, hypothesis, causes):
    assert read(text) == (hypothesis, causes)


def test_reasoning_that_the_server_returns_apart_is_counted():
    assert read("Das Haus.", reasoning="Hm.").causes == ("reasoning",)
    reading = read(None, reasoning="Hm, the house", finish_reason="length")
    assert (reading.text, reading.causes) == ("", ("reasoning", "empty", "cut")) and count(
        [reading]
    )["incomplete"] == 1


def test_a_mark_of_the_sentence_is_no_reasoning():
    text = "Das Zeichen <think> steht vor dem Denken."
    assert read(text, source="The mark <think> stands before reasoning.").text == text
    assert read(text).causes == ("reasoning", "unclosed")


def twin(text, start, end):
    """One character after another: inside or outside reasoning; an end drops everything before
    it.
    """
    outside, inside, position = "", False, 0
    while position < len(text):
        if text.startswith(end, position):
            outside, inside, position = "", False, position + len(end)
        elif text.startswith(start, position) and not inside:
            inside, position = True, position + len(start)
        else:
            outside, position = outside if inside else outside + text[position], position + 1
    return None if inside else outside


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "a", "b ", "\n"]), max_size=12).map("".join)
)
def test_reasoning_as_read_character_by_character(text):
    expected, hypothesis = twin(text, "<think>", "</think>"), cut_reasoning(text)
    assert (hypothesis and hypothesis.strip()) == (expected and expected.strip())


@given(st.text(max_size=60))
def test_nothing_is_cut_without_a_mark_or_a_pattern(text):
    assert "think>" in text or "".join(read(text).text.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("pattern", "text", "hypothesis"),
    [
        (r"\S.*(?=\s*\Z)", "Sure!\n\nDas Haus.\n", "Das Haus."),
        ("(?s)<de>(.*?)</de>", "<de>Das\nHaus.</de> done", "Das Haus."),
        ("(?s)<de>(.*?)</de>", "<de>Das Haus.", None),
        ("=> (.*)", "x => Das Haus.\nmore", "Das Haus."),
        ("Das.*", "x => Das Haus.", "Das Haus."),
        ("=> (.*)", "Das Haus.", None),
        ("(x)?", "Das Haus.", None),
    ],
)
def test_patterns(pattern, text, hypothesis):
    reading = read(f"<think>a</think>{text}", pattern)
    assert reading.text == (hypothesis or "")
    assert ("unmatched" in reading.causes) == (hypothesis is None)


def test_a_regular_expression_has_bounded_time(monkeypatch):
    monkeypatch.setattr(answers, "_SECONDS", 0.1)
    with pytest.raises(InputError, match=r"takes more than 0\.1 s on an answer that begins 'aaaa"):
        read("a" * 60 + "b", "(?:a|aa)+$")


@pytest.mark.parametrize(
    ("pattern", "said"), [("", "empty"), ("(", "not a valid"), ("(a)(b)", "at most one group")]
)
def test_bad_patterns(pattern, said):
    with pytest.raises(InputError, match=f"answer=.*{said}"):
        parse_rule(pattern)


def test_counts_and_warnings():
    choices = [
        ReplyChoice("<think>a</think>Das Haus."),
        ReplyChoice("<think>a", finish_reason="length"),
        ReplyChoice(None),
        ReplyChoice("  "),
        ReplyChoice(None, refusal="No."),
        ReplyChoice(None, finish_reason="content_filter"),
        ReplyChoice("Das", finish_reason="length"),
        ReplyChoice("Sure!\nDas Haus."),
        ReplyChoice("Das Haus."),
    ]
    counts = count(read_choice(choice, ALL, "The house.") for choice in choices)
    assert counts == {
        "asked": 9,
        "incomplete": 6,
        "causes": {
            "reasoning": 2,
            "unclosed": 1,
            "refused": 1,
            "filtered": 1,
            "empty": 2,
            "cut": 2,
            "lines": 1,
        },
    }
    empty, faulty = warnings_of(counts, ALL)
    assert (
        empty
        == "of 9 answers, these give an empty hypothesis: 1 whose reasoning does not end, 1 refused"
        " by the model, 1 stopped by a filter, 2 without text"
    )
    assert (
        faulty.startswith("of 9 answers, 2 cut short by the limit of tokens")
        and "1 of several lines" in faulty
    )
    for positions, shown in (
        (range(1, 6), "(line 1, 2, 3, 4, 5)"),
        (range(1, 7), "(line 1, 2, 3, 4, 5, ...)"),
    ):
        assert shown in warnings_of(counts, ALL, positions)[0]
    assert warnings_of(count([read("Das Haus.")]), ALL) == []
