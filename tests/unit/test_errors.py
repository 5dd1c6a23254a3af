"""Optional imports: what a missing package says, and that it is what pyproject.toml lists."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import cgbench
from cgbench.commands.command import Group
from cgbench.errors import (
    EXTRAS,
    InputError,
    InputWarning,
    missing_package,
    printable,
    printable_json,
    require,
)

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_table_of_extras_is_that_of_pyproject():
    tomllib = pytest.importorskip("tomllib")
    stated = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    found = {
        extra: tuple(re.match(r"[\w-]+", line)[0] for line in lines)
        for extra, lines in stated.items()
        if extra not in ("all", "perf", "docs", "dev")  # nothing that the package imports
    }
    assert found == EXTRAS


def test_what_is_there_is_imported():
    assert require("json.decoder", "pandas") is sys.modules["json.decoder"]


def test_a_package_is_named_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(
        InputError, match=r"^kenlm is not installed; run: pip install \"cgbench\[kenlm\]\"$"
    ):
        require("kenlm", "kenlm")


def test_a_model_needs_all_three(monkeypatch):
    for package in ("torch", "tokenizers"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, "safetensors", sys)  # there
    both = r'^torch, tokenizers are not installed; run: pip install "cgbench\[models\]"$'
    for module in ("torch", "tokenizers.models"):  # even where the module itself is there
        with pytest.raises(InputError, match=both):
            require(module, "models")
    with pytest.raises(InputError, match=both):
        raise missing_package(ModuleNotFoundError("x", name="torch.nn"))


def test_what_no_extra_brings_stays_a_traceback():
    assert missing_package(ModuleNotFoundError("x", name="cgbench.nowhere")) is None
    assert missing_package(ModuleNotFoundError("x")) is None


@pytest.mark.parametrize(
    "words",
    [
        ("translate", "--model", "m", "text"),
        ("average", "a", "b", "--out", "c"),
        ("demo", "--out", "d"),
        ("train", "--train", "a", "b", "--model", "small", "--out", "m"),
    ],
    ids=lambda words: words[0],
)
def test_every_command_says_what_to_install(tmp_path, words):
    code = "import sys; sys.modules['torch'] = None; from cgbench.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'error: torch is not installed; run: pip install "cgbench[models]"\n'
    assert not any(tmp_path.iterdir())


def test_other_modules_that_are_missing_are_no_input_error():
    @click.group(cls=Group)
    def group():
        pass

    @group.command()
    def broken():
        raise ModuleNotFoundError("No module named 'cgbench.nowhere'", name="cgbench.nowhere")

    assert isinstance(CliRunner().invoke(group, ["broken"]).exception, ModuleNotFoundError)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("\u202aa\u202e\u2066b\u2069\u200f", "\\u202aa\\u202e\\u2066b\\u2069\u200f"),
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


def test_a_warning_is_given_in_the_name_of_the_user_s_line():
    lines = ["the dog ran", "a cat sat"] * 4
    with pytest.warns(InputWarning) as warned:
        cgbench.evaluate("exact", {"a": [lines, lines], "b": lines}, lines, paired=True)
    assert {warning.filename for warning in warned} == {__file__}
