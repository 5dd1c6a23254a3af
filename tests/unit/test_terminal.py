import json

import pytest

from cgbench.terminal import printable, printable_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
        ("\udc80", r"\udc80"),
        ("grüße, 你好, می‌خواهم", "grüße, 你好, می‌خواهم"),
    ],
)
def test_control_characters_are_shown_and_nothing_else(text, shown):
    assert printable(text) == shown


def test_line_ends_and_tabs_stay_where_asked():
    assert printable("a\tb\n\x1b\r", "\t\n") == "a\tb\n\\x1b\\r"


def test_json_keeps_its_values():
    value = {"a\x9b": ["\x1b", "\x7f", "é"]}
    text = json.dumps(value, ensure_ascii=False, indent=1)
    assert "\x9b" in text
    assert not set(printable_json(text)) & {"\x9b", "\x7f", "\x1b"}
    assert json.loads(printable_json(text)) == value
