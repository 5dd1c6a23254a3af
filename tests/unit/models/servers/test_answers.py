"""From answers to hypotheses: reasoning of every family, faults counted but left, rules, and nothing else removed."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgbench.errors import InputError
from cgbench.models.servers import answers
from cgbench.models.servers.answers import TAGS, count, cut_reasoning, parse_rule, read_choice, warnings_of
from cgbench.models.servers.exchange import Choice

ALL = parse_rule(None)
FINAL = "<|start|>assistant<|channel|>final<|message|>"


def read(text, rule=None, source="The house is red.", **more):
    return read_choice(Choice(text, **more), parse_rule(rule), source)


@pytest.mark.parametrize(("start", "end"), TAGS)
@pytest.mark.parametrize(
    ("form", "text", "causes"),
    [
        ("{start}The user wants German.{end}\n\nDas Haus ist rot.", "Das Haus ist rot.", ("reasoning",)),
        ("The user wants German.\n{end}\nDas Haus ist rot.", "Das Haus ist rot.", ("reasoning",)),
        ("{start}\n\n{end}\n\nDas Haus ist rot.", "Das Haus ist rot.", ("reasoning",)),
        ("{start}a{end}{start}b{end}Das Haus ist rot.", "Das Haus ist rot.", ("reasoning",)),
        ("Das Haus {start}red?{end}ist rot.", "Das Haus ist rot.", ("reasoning",)),
        ("{start}The user wants German. Das Haus", "", ("reasoning", "unclosed")),
        ("{start}a{end}Das Haus{start}b", "", ("reasoning", "unclosed")),
        ("{start}a{end}", "", ("reasoning", "empty")),
    ],
)
def test_reasoning_in_tags(start, end, form, text, causes):
    found = read(form.format(start=start, end=end))
    assert (found.text, found.causes) == (text, causes)


@pytest.mark.parametrize(
    ("text", "hypothesis", "causes"),
    [
        # gpt-oss, as its tokens are and as a server shows them that drops special tokens
        (f"<|channel|>analysis<|message|>We.<|end|>{FINAL}Das Haus.<|return|>", "Das Haus.", ("reasoning",)),
        (f"<|channel|>analysis<|message|>We.<|end|>{FINAL}Das Haus.", "Das Haus.", ("reasoning",)),
        ("<|channel|>analysis<|message|>We need", "", ("reasoning", "unclosed")),
        ("analysisWe need German.assistantfinalDas Haus.", "Das Haus.", ("reasoning",)),
        ("analysisWe need German", "", ("reasoning", "unclosed")),
        # Granite 3.2, Hunyuan A13B, Command A
        ("Here is my thought process: red. Here is my response: Das Haus.", "Das Haus.", ("reasoning",)),
        ("<think>\na\n</think>\n<answer>\nDas Haus.\n</answer>", "Das Haus.", ("reasoning",)),
        (
            "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>Das Haus.<|END_RESPONSE|>",
            "Das Haus.",
            ("reasoning",),
        ),
        ("Das Haus.", "Das Haus.", ()),
        ("Here is my response: Das Haus.", "Here is my response: Das Haus.", ()),
        ("analysis of the house", "analysis of the house", ()),
    ],
)
def test_reasoning_of_other_families(text, hypothesis, causes):
    found = read(text, source="a: b")
    assert (found.text, found.causes) == (hypothesis, causes)


def test_reasoning_that_the_server_gives_apart_is_counted():
    assert read("Das Haus.", reasoning="Hm.").causes == ("reasoning",)
    found = read(None, reasoning="Hm, the house", finish_reason="length")
    assert (found.text, found.causes, found.is_incomplete) == ("", ("reasoning", "empty", "cut"), True)


def test_a_mark_of_the_sentence_is_no_reasoning():
    text = "Das Zeichen <think> steht vor dem Denken."
    assert read(text, source="The mark <think> stands before reasoning.").text == text
    assert read(text).causes == ("reasoning", "unclosed")
    text = "Das Zeichen <|channel|>analysis ist ein anderes."
    assert read(text, source="The mark <|channel|>analysis is another one.") == (text, ())
    assert read(text).causes == ("reasoning", "unclosed")


def twin(text, start, end):
    """One character after another: inside or outside reasoning; an end without a start drops all that was kept."""
    kept, inside, place = "", False, 0
    while place < len(text):
        if text.startswith(end, place):
            kept, inside, place = kept if inside else "", False, place + len(end)
        elif text.startswith(start, place) and not inside:
            inside, place = True, place + len(start)
        else:
            kept, place = kept if inside else kept + text[place], place + 1
    return None if inside else kept


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", "b ", "\n"]), max_size=12).map("".join))
def test_reasoning_as_read_character_by_character(text):
    expected = twin(text, "<think>", "</think>")
    found = cut_reasoning(text)
    assert (found and found.strip()) == (expected and expected.strip())


@pytest.mark.parametrize(
    "text", ["</think>", "<think></think>", "<think>", "a\n", '"', "analysis", "<|channel|>final "]
)
def test_an_answer_of_megabytes_takes_no_time(text):
    begin = time.monotonic()
    read(text * (4_000_000 // len(text)))
    assert time.monotonic() - begin < 20


@given(st.text(max_size=60))
def test_nothing_is_cut_without_a_mark_or_a_rule(text):
    marked = any(mark in text for pair in TAGS for mark in pair) or "<|" in text or text.strip().startswith("analysis")
    if not marked:
        assert "".join(read(text).text.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Sure!\nDas Haus ist rot.", "preface"),
        ("Here is the translation: Das Haus ist rot.", "preface"),
        ("Here's the German translation:\n\nDas Haus ist rot.", "preface"),
        ("**Translation:** Das Haus ist rot.", "preface"),
        ("Voici la traduction : Das Haus ist rot.", "preface"),
        ("以下是翻译\uff1aDas Haus ist rot.", "preface"),
        ('"Das Haus ist rot."', "quotes"),
        ("„Das Haus ist rot.“", "quotes"),
        ("**Das Haus ist rot.**", "quotes"),
        ("```\nDas Haus ist rot.\n```", "fence"),
        ("Das Haus ist rot.\n\nDas Gebäude ist rot.", "lines"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        ("I cannot translate this sentence.", "refusal"),
        ("As an AI language model, I do not", "refusal"),
    ],
)
def test_faults_are_counted_and_left(text, cause):
    found = read(text)
    assert cause in found.causes and found.text == " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("The house is red.", "Das Haus ist rot."),
        ("Certainly. The house is red.", "Sicher. Das Haus ist rot."),
        ('"The house is red."', '"Das Haus ist rot."'),
        ("He said: the house is red.", "Er sagte: das Haus ist rot."),
        ("The answer is no.", "Die Antwort ist nein."),
        ("翻译\uff1a红房子", "Übersetzung\uff1a rotes Haus"),
        ("Write ```x``` here.", "Schreibe hier ```x```."),
        ("I'm sorry, I can't come.", "I'm sorry, I can't come."),
        ("It's John's", "Es ist Johns"),
    ],
)
def test_ordinary_sentences_have_no_fault(text, source):
    assert read(text, source=source).causes == ()


@pytest.mark.parametrize(
    ("rule", "text", "hypothesis"),
    [
        ("last-line", "Sure!\n\nDas Haus.\n", "Das Haus."),
        ("tag:de", "<de>Nein</de> or <de>Das\nHaus.</de> done", "Das Haus."),
        ("tag:de", "<de>Das Haus.", None),
        ("regex:=> (.*)", "x => Das Haus.\nmore", "Das Haus."),
        ("regex:Das.*", "x => Das Haus.", "Das Haus."),
        ("regex:=> (.*)", "Das Haus.", None),
        ("json:de", '{"de": "Das Haus."}', "Das Haus."),
        ("json:de", '```json\n{"de": "Das Haus."}\n```', "Das Haus."),
        ("json:de", '{"de": 1}', None),
        ("json:de", '{"en": "x"}', None),
        ("json:de", "Das Haus.", None),
        ("json:de", "[" * 100_000, None),
        ("json:de", '["de"]', None),
    ],
)
def test_rules(rule, text, hypothesis):
    found = read(f"<think>a</think>{text}", rule)
    assert found.text == (hypothesis or "")
    assert ("unmatched" in found.causes) == (hypothesis is None)


def test_the_schema_of_a_field():
    jsonschema = pytest.importorskip("jsonschema")
    asked = parse_rule("json:de").response_format
    schema = asked["json_schema"]["schema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"de": "Das Haus."}, schema)
    for wrong in ({"de": 1}, {"en": "x"}, {"de": "x", "en": "y"}, "x"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
    assert json.loads(json.dumps(asked)) == asked and parse_rule("last-line").response_format is None


def test_a_regular_expression_has_bounded_time(monkeypatch):
    monkeypatch.setattr(answers, "_SECONDS", 0.1)
    begin = time.monotonic()
    with pytest.raises(InputError, match=r"takes more than 0\.1 s on an answer that begins 'aaaa"):
        read("a" * 60 + "b", "regex:(?:a|aa)+$")
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("rule", ["", "lastline", "tag:", "tag:a b", "tag:<a>", "regex:", "regex:(", "json:", "json"])
def test_rules_that_do_not_exist(rule):
    with pytest.raises(InputError, match="answer="):
        parse_rule(rule)
    with pytest.raises(InputError, match="at most one group"):
        parse_rule("regex:(a)(b)")


def test_counts_and_warnings():
    choices = [
        Choice("<think>a</think>Das Haus."), Choice("<think>a", finish_reason="length"), Choice(None), Choice("  "),
        Choice(None, refusal="No."), Choice(None, finish_reason="content_filter"),
        Choice("Das", finish_reason="length"), Choice("Sure!\nDas Haus."), Choice("Das Haus."),
    ]  # fmt: skip
    counts = count(read_choice(one, ALL, "The house.") for one in choices)
    assert counts == {
        "asked": 9, "incomplete": 6,
        "causes": {
            "reasoning": 2, "unclosed": 1, "refused": 1, "filtered": 1, "empty": 2, "cut": 2, "preface": 1, "lines": 1,
        },
    }  # fmt: skip
    empty, faulty = warnings_of(counts, ALL)
    assert empty == (
        "of 9 answers, these give an empty hypothesis: 1 whose reasoning does not end, 1 refused by the model, 1 "
        "stopped by a filter, 2 without text"
    )
    assert faulty.startswith("of 9 answers, 2 cut short by the limit of tokens") and "1 with a preface" in faulty
    assert "nothing was removed" in faulty
    for places, shown in ((range(1, 6), "(line 1, 2, 3, 4, 5)"), (range(1, 7), "(line 1, 2, 3, 4, 5, ...)")):
        assert shown in warnings_of(counts, ALL, places)[0]
    assert warnings_of(count([read("Das Haus.")]), ALL) == []
