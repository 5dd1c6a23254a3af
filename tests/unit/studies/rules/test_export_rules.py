"""A release as rules: one for each word or phrase of a source whose translation a lexicon has."""

import pytest
from small_build import write_release

from cgbench.benchmark.release.export.pairs import Pairs
from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError, InputWarning
from cgbench.studies.rules.export_rules import write_rules
from cgbench.studies.rules.rule import passed
from cgbench.studies.rules.rule_file import read_rules

RAW = [("Dogs sleep, too.", "狗也睡觉。"), ("Cats don't.", "猫不睡觉。"), ("He waits.", "他在等。")]


@pytest.fixture
def pairs(tmp_path):
    """A release of two of the three pairs of a pool, in lower case and cut into characters."""
    form = {"tokenize": "zh=char", "lowercase": True}
    folder = write_release(tmp_path / "release", {}, languages=["en", "zh"], configuration=form)
    rows = [
        {
            "source": RAW[line][0],
            "target": RAW[line][1],
            "doc": f"line-{line + 1}",
            "domain": "d",
            "figures": {"line": str(line + 1)},
        }
        for line in (2, 0)
    ]
    return Pairs(Release.open(folder), rows)


def test_rules_of_a_lexicon(pairs, tmp_path):
    (tmp_path / "lexicon").write_text(
        "he waits\t在等/等\ndogs\t狗\ncats\t猫\nsleep\t睡/眠\ntoo\t虎\n", encoding="utf-8"
    )
    (tmp_path / "out").mkdir()
    with pytest.warns(InputWarning, match="1 of 2 references fail a rule"):
        write_rules(pairs, tmp_path / "out", lexicon=tmp_path / "lexicon")
    rules = read_rules(tmp_path / "out" / "rules.jsonl")
    assert rules.ids == ["3", "1"]
    assert [[rule.name for rule in of] for of in rules.rules] == [
        ["he waits"],
        ["dogs", "sleep", "too"],
    ]
    assert [
        passed(*pair) for pair in zip(rules.rules, ("他在等。", "狗也睡觉。"), strict=True)
    ] == ["1", "110"]
    with pytest.raises(InputError, match="needs translations of words or phrases; give lexicon"):
        write_rules(pairs, tmp_path, lexicon=None)
    (tmp_path / "lexicon").write_text("bird 鸟\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 1: write a word, a tab, and translations"):
        write_rules(pairs, tmp_path, lexicon=tmp_path / "lexicon")
    (tmp_path / "lexicon").write_text("bird\t鸟\n", encoding="utf-8")
    with pytest.raises(InputError, match="none of its words occurs in the sources"):
        write_rules(pairs, tmp_path, lexicon=tmp_path / "lexicon")
