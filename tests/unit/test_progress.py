"""Where progress bars are drawn."""

import io
import sys
import threading

import pytest
import tqdm.auto

from cgbench import progress
from cgbench.errors import InputError
from cgbench.progress import bar


@pytest.fixture(autouse=True)
def nothing_open(monkeypatch):
    monkeypatch.setattr(progress, "_open", [])


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_has_a_bar_and_a_file_has_none(monkeypatch):
    for stream, drawn in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with bar(3, "work", "line") as shown:
            shown.update(3)
        assert ("work" in stream.getvalue()) is drawn
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with bar(3, "work", show=False) as shown:
        shown.update(3)
    assert stream.getvalue() == ""


def test_a_notebook_has_its_own(monkeypatch):
    made = []
    monkeypatch.setattr(tqdm.auto, "tqdm", lambda **options: made.append(options))
    bar(3, "work", "line")
    (options,) = made
    assert (options["total"], options["desc"], options["unit"]) == (3, "work", "line")
    assert options["disable"] is None  # in a notebook: draw


def test_without_a_terminal_a_line_says_how_far_the_innermost_work_is(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.working("known-ngrams"), bar(2000, "train member 1 of 4", "update", initial=200) as shown:
        now[0] += 80
        shown.update(800)
        shown.set_postfix_str("loss 3.1", False)
        progress.say_line()
        shown.close()
        progress.say_line()
    progress.say_line()
    assert capsys.readouterr().err == (
        "train member 1 of 4: 1,000 of 2,000 updates, 10/s, 1:40 left, loss 3.1\nknown-ngrams: 1:20 so far\n"
    )


def test_a_line_names_the_step_and_its_number(monkeypatch, capsys):
    monkeypatch.setattr(progress.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with progress.numbered(["known", "scan-1"]), progress.working("scan-1"):
        progress.say_line()
        with bar(2, "scan pool.en", "pair"):
            monkeypatch.setattr(progress._open[-1], "visible", False)
            progress.say_line()
        assert progress.number_of("known") == "step 1 of 2"
    shown = stream.getvalue()
    assert "step 2 of 2: scan-1: 0:00 so far\n" in shown
    assert "step 2 of 2: scan pool.en:   0%|" in shown
    assert "step 2 of 2, scan-1: scan pool.en: 0 of 2 pairs, 0:00 so far\n" in shown
    assert progress.number_of("known") == ""


def test_what_is_said_of_the_work_comes_before_its_rate(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with bar(3, "train", "update", ncols=200) as shown:
        shown.update(1)
        shown.set_postfix_str("loss 3.1")
    last = stream.getvalue().split("\r")[-1]
    assert last.index("loss 3.1") < last.index("update/s")


def test_bytes_are_megabytes_and_what_has_no_end_has_the_time_so_far(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with bar(None, "read", "B") as shown:
        now[0] += 3700
        shown.update(7_400_000_000)
        progress.say_line()
    assert capsys.readouterr().err == "read: 7,400.0 MB, 2/s, 1:01:40 so far\n"


def test_a_bar_on_the_screen_needs_no_lines(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with bar(3, "work", "line"):
        drawn = stream.getvalue()
        progress.say_line()
        assert stream.getvalue() == drawn


def test_a_worker_speaks_of_its_bars_alone(capsys):
    with progress.working("known-ngrams"):
        progress.say_line(progress.Bar)
    assert capsys.readouterr().err == ""


def test_a_command_is_never_silent(monkeypatch):
    said = threading.Event()
    monkeypatch.setenv(progress.EVERY, "0.001")
    monkeypatch.setattr(progress, "say_line", lambda kind: said.set())
    with progress.said_aloud("stats"):
        assert said.wait(60)
    monkeypatch.setenv(progress.EVERY, "0")
    before = threading.active_count()
    with progress.said_aloud("stats"):
        assert threading.active_count() <= before


@pytest.mark.parametrize("text", ["often", "-1", "inf", "nan"])
def test_a_wrong_interval_is_one_line(monkeypatch, text):
    monkeypatch.setenv(progress.EVERY, text)
    with pytest.raises(InputError, match=f"CGBENCH_LOG_EVERY={text}: seconds are needed"):
        progress.lines_every()
