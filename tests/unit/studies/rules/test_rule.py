"""Each type of rule on outputs of several languages."""

import time
import unicodedata

import msgspec
import pytest

from cgbench.errors import InputError
from cgbench.studies.rules import rule as rule_module
from cgbench.studies.rules.rule import convert_rules, passed


def passes(output, **fields):
    return convert_rules([fields])[0].passes(output)


@pytest.mark.parametrize(
    ("rule", "right", "wrong"),
    [
        ({"type": "contains", "any": ["jail", "gaol"]}, "a gaol.", "a prison"),
        ({"type": "contains", "any": ["Jail"], "case": False}, "JAIL", "jai l"),
        ({"type": "contains", "any": ["straße"], "case": False}, "STRASSE", "Gasse"),
        ({"type": "contains", "any": ["cat"], "whole_words": True}, "the cat.", "category"),
        ({"type": "contains", "any": ["5 %"], "whole_words": True}, "15 5 % x", "15 %"),
        ({"type": "contains", "any": ["हिन"], "whole_words": True}, "हिन", "हिन्दी"),
        ({"type": "contains", "any": ["喜欢"]}, "他 喜 欢 狗", "他欢喜狗"),
        (
            {"type": "contains", "any": ["Apple"], "whole_words": True},
            "买Apple手机",
            "买Apples手机",
        ),
        ({"type": "contains", "any": ["e\u0301te\u0301"]}, "été", "ete"),
        ({"type": "contains", "any": ["cat"], "not": True}, "a dog", "a cat"),
        ({"type": "excludes", "any": ["a", "b"]}, "c", "cb"),
        ({"type": "regex", "pattern": r"\b\d{4}\b"}, "in 1999.", "in 19999"),
        ({"type": "regex", "pattern": "^katze$", "case": False}, "KATZE", "die Katze"),
        ({"type": "equals", "any": ["Der Hund ."]}, "Der  Hund  .", "der Hund ."),
        ({"type": "equals", "any": ["a", "a dog"], "case": False}, "A dog", "a dog b"),
        ({"type": "equals", "any": ["他喜欢狗"]}, "他 喜欢 狗", "他喜欢"),
        ({"type": "length", "most": 3}, "a b c", "a b c d"),
        ({"type": "length", "least": 2, "most": 4}, "他喜欢 it", "他喜欢狗 it"),
        ({"type": "order", "first": ["red"], "then": ["dog"]}, "red dog", "dog red"),
        ({"type": "order", "first": ["red"], "then": ["dog"]}, "a red", "dogred"),
        (
            {"type": "order", "first": ["red"], "then": ["dog"], "unless": ["is"]},
            "dog is red",
            "dog red",
        ),
    ],
)
def test_what_passes(rule, right, wrong):
    assert passes(right, **rule) and not passes(wrong, **rule)
    assert not passes("", **rule) and not passes(" ", **rule)


def test_whole_words_of_scripts_without_blanks():
    pytest.importorskip("jieba")
    rule = {"type": "contains", "any": ["京"], "whole_words": True}
    assert not passes("我在北京大学", **rule) and passes("我在北京大学", **rule | {"any": ["我"]})
    assert passes("我在北京", **rule | {"any": ["北", "北京"]}) and not passes(
        "我在北京", **rule | {"any": ["北", "京"]}
    )


def test_whole_words_without_a_segmenter():
    with pytest.raises(InputError, match="no segmenter for khmer; leave whole_words out"):
        passes("ខ្មែរ", type="contains", any=["ខ"], whole_words=True)


def test_a_pattern_is_stopped(monkeypatch):
    monkeypatch.setattr(rule_module, "SECONDS", 0.1)
    begin = time.monotonic()
    with pytest.raises(InputError, match=r"takes longer than 0\.1 s .* simplify it"):
        passes("a" * 5000 + "!", type="regex", pattern="(a|aa)+$")
    assert time.monotonic() - begin < 20


def test_marks():
    rules = convert_rules(
        [{"type": "contains", "any": ["a"]}, {"type": "verdict", "name": "polite"}]
    )
    assert (passed(rules, "a"), passed(rules, "b"), passed(rules, "")) == ("1?", "0?", "0?")
    assert [rule.label for rule in rules] == ["contains a", "polite"]


@pytest.mark.parametrize(
    ("pattern", "output"),
    [
        (unicodedata.normalize("NFD", "Käse"), "Käse"),
        ("10\u00a0km", "10 km"),
        ("10 km", "10\u00a0km"),
        ("a\tb", "a  b"),
        ("学校 is", "学校 is"),
    ],
)
def test_patterns_are_read_in_the_form_of_outputs(pattern, output):
    (rule,) = convert_rules([{"type": "regex", "pattern": pattern}])
    (negated,) = convert_rules([{"type": "regex", "pattern": pattern, "not": True}])
    assert rule.passes(output) and not negated.passes(output)


@pytest.mark.parametrize("pattern", [r"a\tb", r"10\xa0km", "a  b", "我 们", r"\u3000"])
def test_patterns_that_match_no_output_are_refused(pattern):
    with pytest.raises(msgspec.ValidationError, match="matches no output, which has"):
        convert_rules([{"type": "regex", "pattern": pattern}])
