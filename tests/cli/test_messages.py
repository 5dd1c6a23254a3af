"""What of others' words reaches a terminal, and what goes wrong with files as one line."""

import io

import click
import pytest
from click.testing import CliRunner

from cgbench.commands.command import Failure, Group, note, text_alone
from cgbench.errors import InputError, InputWarning


def fails(error, *words):
    """The lines on standard error, and the status, of a command that raises ``error``."""

    @click.group(cls=Group)
    def group():
        pass

    @group.command()
    def work():
        raise error

    result = CliRunner().invoke(group, ["work", *words])
    return result.stderr.splitlines(), result.exit_code


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InputError("x\x1b[2J: bad\nworse"), r"error: x\x1b[2J: bad\nworse"),
        (OSError(27, "File too large"), "ulimit -f"),
        (OSError(27, "File too large", "x"), "error: x: a file would exceed the size limit"),
        (OSError(28, "No space left on device"), "the disk is full"),
        (
            OSError("3201 requested and 1008 written"),
            "an array was written in part (3201 requested",
        ),
        (OSError(5, "Input/output error"), "error: Input/output error"),
        (
            EOFError("Compressed file ended"),
            "error: a file ends in the middle (Compressed file ended)",
        ),
    ],
)
def test_what_goes_wrong_is_one_line(error, said):
    (line,), status = fails(error)
    assert said in line and line.startswith("error: ") and status == 2


def test_a_word_of_the_call_that_a_terminal_obeys():
    lines, status = fails(None, "\x1b[2J")
    assert status == 2 and "\x1b" not in "".join(lines) and r"\x1b[2J" in "".join(lines)


def test_a_long_message_is_cut():
    (line,), _ = fails(Failure("x" * 9999))
    assert len(line) < 2100


def test_warnings_and_notes_too():
    import warnings

    @click.group(cls=Group)
    def group():
        pass

    @group.command()
    def work():
        warnings.warn(InputWarning("x\x1b[2J\ny"), stacklevel=1)
        note("two\tcells\nz\x9b31m\r")

    assert (
        CliRunner().invoke(group, ["work"]).stderr
        == "warning: x\\x1b[2J\\ny\ntwo\tcells\nz\\x9b31m\\r\n"
    )


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("say", [print, click.echo])
def test_a_terminal_gets_text_alone_and_a_pipe_every_byte(monkeypatch, say):
    for stream, kept in ((Terminal(), "a\\x07b\tc\nd\n"), (io.StringIO(), "a\x07b\tc\nd\n")):
        monkeypatch.setattr("sys.stdout", stream)
        with text_alone():
            say("a\x07b\tc\nd")
        assert stream.getvalue() == kept


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("scroe",), "no such command 'scroe'; did you mean score?"),
        (
            ("score", "COMET"),
            (
                "its own program computes this metric; compare its segment scores: cgbench score"
                " import"
            ),
        ),
        (
            ("score", "-m", "bleu"),
            "no such option '-m': the metric is the command: cgbench score bleu --ref",
        ),
        (
            ("score", "chrf", "hyp", "ref"),
            "(hyp ref): name the files: cgbench score chrf --ref REFERENCES --hyp NAME=",
        ),
        (
            ("score", __file__, "-i", "hyp"),
            "name the files: cgbench score bleu --ref REFERENCES --hyp",
        ),
        (
            ("score", "bleu", "--lang", "ja"),
            "no language is needed; a tokeniser is named: cgbench score bleu --tok",
        ),
        (("score", "blue"), "no such command 'blue'; did you mean bleu?"),
        (("score", "bleu"), "--hyp is missing; give --hyp SYSTEM=FILE[,FILE...]"),
        (("split", "--out", "x"), "--corpus is missing; give --corpus FILE"),
        (("verify", "."), "manifest.json: no such file; give the folder of a release"),
        (
            ("score", "bleu", "--ref", "r", "--hyp", "r", "--tokenize", "13b"),
            "13b is unknown; did you mean 13a?",
        ),
    ],
)
def test_a_wrong_command_line_says_what_to_give(words, said, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r").write_text("a b\n")
    assert said in run(*words, status=2).stderr
