"""Where progress bars are drawn, and lines without a terminal."""

import io
import sys

import pytest
import tqdm.autonotebook

from cgbench import progress
from cgbench.errors import InputError
from cgbench.progress import bar


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
    monkeypatch.setattr(tqdm.autonotebook, "tqdm", lambda **options: made.append(options))
    bar(3, "work", "line")
    (options,) = made
    assert (options["total"], options["desc"], options["unit"]) == (3, "work", " line")
    assert options["disable"] is None  # in a notebook: draw


@pytest.mark.parametrize(
    ("total", "unit", "done", "postfix", "line"),
    [
        (
            2000,
            "update",
            800,
            "loss 3.1",
            "train: 800 of 2,000, 10.0 update/s, 02:00 left, loss 3.1",
        ),
        (None, "B", 7_400_000, "", "train: 7.40M, 92.5kB/s, 01:20 so far"),
    ],
)
def test_without_a_terminal_a_line_at_intervals(
    monkeypatch, capsys, total, unit, done, postfix, line
):
    monkeypatch.setenv(progress.EVERY, "30")
    now = [100.0]
    with bar(total, "train", unit, smoothing=0) as shown:
        monkeypatch.setattr(shown, "_time", lambda: now[0])
        shown.start_t = shown.last_print_t = now[0]
        shown.update(1)
        assert capsys.readouterr().err == ""
        now[0] += 80
        shown.set_postfix_str(postfix, False)
        shown.update(done - 1)
        assert capsys.readouterr().err == f"{line}\n"
    assert capsys.readouterr().err == ""


def test_a_bar_names_the_number_of_its_step(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with progress.numbered_steps(["known", "scan-1"]), progress.working("scan-1"):
        with bar(2, "scan pool.en", "pair"):
            assert "step 2 of 2: scan pool.en:   0%, " in stream.getvalue()
        assert progress.step_number("known") == "step 1 of 2"
    assert progress.step_number("known") == ""


@pytest.mark.parametrize("width", [80, 120])
def test_a_bar_fits_the_terminal_with_its_rate_whole(monkeypatch, width):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    name = "step 12 of 15: train member 3 of 4 of transformer_relative on two-devices"
    monkeypatch.setattr("tqdm.std._screen_shape_wrapper", lambda: lambda stream: (width, 24))
    with bar(10**7, name, "update", smoothing=0) as shown:
        now = shown.start_t
        monkeypatch.setattr(shown, "_time", lambda: now + 80)
        shown.update(8000)
        shown.set_postfix_str("loss 3.1415, valid 2.7182")
    last = stream.getvalue().split("\r")[-1].rstrip()
    assert (
        len(last) <= width
        and "step 12 of 15: train member 3 of 4 of…:   0%, 100 update/s, 27:45:20 left" in last
    )
    assert ("loss 3.1" in last) is (width == 120)


@pytest.mark.parametrize("text", ["often", "-1", "inf", "nan"])
def test_a_wrong_interval_is_one_line(monkeypatch, text):
    monkeypatch.setenv(progress.EVERY, text)
    with pytest.raises(InputError, match=f"CGBENCH_LOG_EVERY={text}: seconds are needed"):
        progress.lines_every()
