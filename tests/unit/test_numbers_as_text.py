"""How numbers are printed: decimals, signs, p-values, and marks in every form."""

import pytest

from cgbench.latex import latex_cell
from cgbench.numbers_as_text import Cell, decimals_of, fixed, p_text
from cgbench.tables import escape_markdown, render


@pytest.mark.parametrize(
    ("value", "sign", "text"),
    [
        (-0.0368, "+", "-0.0"),  # below zero never looks like above
        (0.0368, "+", "+0.0"),
        (0.0, "+", "0.0"),  # zero has no sign
        (-0.0, "+", "0.0"),
        (-0.0368, "", "0.0"),  # a score has no minus before zero
        (-3.26, "", "-3.3"),
        (None, "+", ""),
    ],
)
def test_signs(value, sign, text):
    assert fixed(value, 1, sign) == text


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([-3.5, -0.0368], 2),
        ([-3.5, -0.00368], 3),
        ([-3.5, -0.0000368], 3),  # no more than two further ones
        ([-3.5, 0.0, None], 1),
        ([], 1),
    ],
)
def test_decimals_by_what_would_look_like_zero(values, places):
    assert decimals_of(values, 1) == places


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.5, "0.5000"),
        (0.049996, "0.049996"),  # 0.0500 would be beside a star
        (0.0499999999, "< 0.05"),
        (0.0099999, "0.0099999"),
        (0.05, "0.0500"),
        (0.00004, "< 0.0001"),
        (None, ""),
    ],
)
def test_p_values(p, text):
    assert p_text(p) == text


def test_a_mark_in_every_form():
    cell = Cell("+9.0", "**", is_best=True)
    rows = [["a*", cell], ["gpt4*", "1"]]
    assert render(("x", "y"), rows).splitlines()[1] == "a*     +9.0**"
    assert "| a\\* | +9.0\\*\\* |" in render(("x", "y"), rows, "markdown")
    lines = render(("x", "y"), rows, "latex").splitlines()
    assert lines[4] == r"a* & \textbf{$+$9.0}\rlap{$^{**}$} \\"
    assert lines[5] == r"gpt4* & 1 \\"  # the star of a name is no mark
    assert latex_cell(Cell("9.0", is_best=True)) == r"\textbf{9.0}"


def test_markdown_shows_names_as_they_are():
    assert escape_markdown("*a* _b_ c|d <e> &amp; `f` $g$ ~h~") == (
        "\\*a\\* \\_b\\_ c\\|d &lt;e> \\&amp; \\`f\\` \\$g\\$ \\~h\\~"
    )
