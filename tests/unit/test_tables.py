from cgbench.latex import BOLD, latex_note
from cgbench.numbers_as_text import Cell
from cgbench.tables import OutputTable, render
from cgbench.terminal import columns, folded

HEAD = ("system", "empty", "score")
ROWS = [("a_b", "", "1.5"), ("c|d <x>", "", "± 2")]


def test_text_is_aligned_and_empty_columns_go():
    assert render(HEAD, ROWS) == "system   score\na_b        1.5\nc|d <x>    ± 2"


def test_tsv_keeps_every_column():
    assert render(HEAD, [("a\tb", "", "1")], "tsv") == "system\tempty\tscore\na b\t\t1"


def test_markdown_and_latex_escape_what_has_a_meaning():
    assert render(HEAD, ROWS, "markdown").splitlines()[3] == "| c\\|d &lt;x> | ± 2 |"
    assert render(HEAD, ROWS, "latex").splitlines()[4:6] == [
        r"a\_b & 1.5 \\",
        r"c\textbar{}d $<$x$>$ & $\pm$ 2 \\",
    ]


def test_no_escape_code_and_no_row_that_latex_reads_as_an_option():
    assert render(("a",), [("\x1b[31mred",)]) == "a\n\\x1b[31mred"
    assert "{}[x]" in render(("a",), [("y",), ("[x]",)], "latex")
    assert "\\[x\\](y)" in render(("a",), [("[x](y)",)], "markdown")


def test_text_is_as_wide_as_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    rows = [("scan", "commands and their actions, in order", "20,910"), ("cogs", "forms", "1")]
    shown = render(("name", "contents", "number of rows"), rows, left=2)
    assert max(map(len, shown.splitlines())) <= 30
    assert shown.splitlines()[1:3] == [
        "                        rows",
        "scan  commands        20,910",
    ]
    monkeypatch.setenv("COLUMNS", "80")
    assert (
        render(("name", "contents", "number of rows"), rows, left=2).splitlines()[1].split("  ")[0]
        == "scan"
    )


def test_columns_that_do_not_fit_follow_below(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    shown = render(
        ("system", "one", "two", "three"), [("first", "1.25", "2.25", "3.25"), ("b", "1", "2", "3")]
    )
    assert shown.splitlines()[:2] == ["system   one   two", "first   1.25  2.25"]
    assert shown.splitlines()[3:5] == ["", "system  three"] and len(shown.splitlines()) == 7


def test_groups_of_columns_follow_below_together(monkeypatch):
    head, rows = ("system", "one", "1st", "two", "2nd"), [("first", "1.25", "2.25", "3.25", "4.25")]
    monkeypatch.setenv("COLUMNS", "24")  # "two" alone would fit
    lines = [line.split() for line in render(head, rows, starts=(1, 3)).splitlines()]
    assert [lines[0], lines[3]] == [["system", "one", "1st"], ["system", "two", "2nd"]]
    monkeypatch.setenv("COLUMNS", "14")  # a group that is too wide is divided
    assert max(map(len, render(head, rows, starts=(1, 3)).splitlines())) <= 14


def test_piped_tables_are_as_wide_as_they_are(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    row = [f"value {number}" for number in range(40)]
    lines = render([f"column {number}" for number in range(40)], [row]).splitlines()
    assert len(lines) == 2 and lines[1].split("  ")[-1].strip() == "value 39"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert columns() == 80


def test_folded_lines(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert folded("a  one two three four five", 3) == "a  one two three\n   four five"
    assert folded("signature  x|yy|zzzzzzz|w", 11, "|").splitlines() == [
        "signature  x|yy|",
        "           zzzzzzz|w",
    ]
    assert folded("short", 3) == "short" and folded("x" * 30, 3) == "x" * 30


def test_a_table_in_latex_says_what_bold_means():
    rows = [["a", Cell("1.0", is_best=True)], ["b", Cell("0.5")]]
    assert latex_note(BOLD) in OutputTable(["system", "BLEU"], rows).render("latex")
    assert BOLD not in OutputTable(["system", "BLEU"], rows[1:]).render("latex")
