"""Files of rules and of verdicts: what is read, and the one line for what cannot be."""

import json

import pytest

from cgbench.errors import InputError
from cgbench.studies.rules.rule_file import read_rules, read_verdicts

LTB = [
    {
        "id": 7,
        "source_text": "a",
        "source_lang": "English",
        "target_lang": "Czech",
        "source_lang_iso": "en",
        "target_lang_iso": "cs",
        "source_instructions": None,
        "source_media": None,
        "tags": ["LTBv1-eval"],
        "translations": [
            {"model": "A", "translation": "x", "verified": [True, False]},
            {"model": "B", "translation": None, "verified": [True, None]},
            {"model": "SKIP: C", "translation": "z", "verified": [True, True]},
            {"model": "D", "translation": "u", "verified": None},
        ],
        "verification_rules": ["One.", "Two."],
        "linguistics": [],
    }
]


def write(path, *rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_the_last_translation_benchmark(tmp_path):
    (tmp_path / "v1.json").write_text(json.dumps(LTB))
    rules = read_rules(tmp_path / "v1.json")
    assert rules.ids == ["7"] and [rule.name for rule in rules.rules[0]] == ["One.", "Two."]
    assert rules.outputs == {"A": {"7": "x"}, "B": {}, "D": {"7": "u"}}
    assert rules.verdicts == {"A": {"7": "10"}}  # B has no translation, whatever its verdicts
    assert rules.columns["source"] == ["a"] and rules.columns["target_lang"] == ["Czech"]


RULE = {"type": "contains", "any": ["a"]}


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ({"rules": [RULE]}, "row 2: no id"),
        ({"id": True, "rules": [RULE]}, "row 2: no id"),
        ({"id": 1, "rules": [RULE]}, "row 2: the id '1' is also in row 1"),
        ({"id": 2}, "row 2: no rules; write"),
        ({"id": 2, "rules": []}, "row 2: no rules; write"),
        (
            {"id": 2, "rules": [{"type": "contain", "any": ["a"]}]},
            "row 2, rule 1: .*did you mean contains",
        ),
        (
            {"id": 2, "rules": [RULE, {"type": "contains", "any": []}]},
            "row 2, rule 2: .*length >= 1",
        ),
        ({"id": 2, "rules": [{"type": "contains", "any": [" "]}]}, "row 2, rule 1: "),
        (
            {"id": 2, "rules": [{"type": "contains"}]},
            "row 2, rule 1: .*missing required field `any`",
        ),
        ({"id": 2, "rules": [RULE | {"words": True}]}, "row 2, rule 1: .*unknown field `words`"),
        (
            {"id": 2, "rules": [{"type": "equals", "any": ["a"], "whole_words": True}]},
            "unknown field `whole_words`",
        ),
        ({"id": 2, "rules": [RULE | {"weight": 0}]}, "row 2, rule 1: "),
        (
            {"id": 2, "rules": [{"type": "regex", "pattern": "("}]},
            "row 2, rule 1: .*not a valid pattern",
        ),
        ({"id": 2, "rules": [{"type": "length"}]}, "row 2, rule 1: give least, most"),
        (
            {"id": 2, "rules": [{"type": "verdict"}]},
            "row 2, rule 1: .*missing required field `name`",
        ),
        ({"id": 2, "rules": ["a"]}, "row 2, rule 1: "),
    ],
)
def test_what_is_refused(tmp_path, row, line):
    path = write(tmp_path / "rules.jsonl", {"id": 1, "rules": [RULE]}, row)
    with pytest.raises(InputError, match=line) as error:
        read_rules(path)
    assert "\n" not in error.value.message and "rules.jsonl" in error.value.message


VERDICTS = {"type": "verdict", "name": "polite"}


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("id\tsystem\trule\tpass\n1\ta\tpolite\tmaybe\n", "row 2: 'maybe' is not a verdict"),
        ("id\tsystem\trule\tpass\n9\ta\tpolite\t1\n", "row 2: '9' is not an example"),
        (
            "id\tsystem\trule\tpass\n1\ta\tpolit\t1\n",
            "row 2: the example has no verdict rule 'polit'",
        ),
        (
            "id\tsystem\trule\tpass\n1\ta\t1\t1\n1\ta\tpolite\t0\n",
            "row 3: a has two verdicts on rule 1 of 1",
        ),
        ("id\tsystem\trule\n1\ta\t1\n", "no column 'pass'"),
        ("id\trule\tpass\n1\t1\t1\n", "no column 'system'"),
    ],
)
def test_verdicts_that_are_refused(tmp_path, table, line):
    rules = read_rules(write(tmp_path / "rules.jsonl", {"id": 1, "rules": [VERDICTS]}))
    (tmp_path / "v.tsv").write_text(table)
    with pytest.raises(InputError, match=line):
        read_verdicts(tmp_path / "v.tsv", rules, ["a", "b"])


def test_verdicts(tmp_path):
    rules = read_rules(
        write(
            tmp_path / "rules.jsonl",
            {"id": "x", "rules": [RULE, VERDICTS, VERDICTS | {"name": "ok"}]},
        )
    )
    (tmp_path / "v.csv").write_text(
        "segment,model,criterion,verdict\nx,a,ok,pass\nx,a,polite,FAIL\nx,b,2,1\n"
    )
    assert read_verdicts(tmp_path / "v.csv", rules, ["a", "b"]) == {
        "a": {"x": "01"},
        "b": {"x": "?1"},
    }
    (tmp_path / "whole.csv").write_text("id,pass\nx,no\n")
    assert read_verdicts(tmp_path / "whole.csv", rules, ["a"]) == {"a": {"x": "00"}}
    instance = {
        "sample_id": "x",
        "model_id": "a",
        "evaluation": {"is_correct": False},
        "metadata": {"rules_passed": "1/2"},
    }
    assert read_verdicts(write(tmp_path / "samples.jsonl", instance), rules, []) == {
        "a": {"x": "10"}
    }


def test_verdicts_of_every_eval_ever_must_agree_with_their_counts(tmp_path):
    rules = tmp_path / "rules.jsonl"
    verdicts = [{"type": "verdict", "name": "a"}, {"type": "verdict", "name": "b"}]
    rules.write_text(json.dumps({"id": "x", "rules": verdicts}) + "\n")
    rule_set, path = read_rules(rules), tmp_path / "judge.jsonl"

    def read(passed, right):
        row = {"sample_id": "x", "model_id": "m", "evaluation": {"is_correct": right}}
        row["metadata"] = {} if passed is None else {"rules_passed": passed}
        path.write_text(json.dumps(row) + "\n")
        return read_verdicts(path, rule_set, ["m"])["m"]["x"]

    assert read("2/2", True) == read(None, True) == read(2, True) == "11"
    assert read("1/2", False) == "10" and read(None, False) == "00"
    for passed, right, message in (
        ("2/2", False, "2 of 2 rules passed, which contradicts is_correct false"),
        ("1/2", True, "contradicts is_correct true"),
        ("3/3", True, "3 of 3 rules passed, but x has 2 verdict rules"),
        ("many", True, "rules_passed is 'many'; write 3/4 or 3"),
    ):
        with pytest.raises(InputError, match=message):
            read(passed, right)
