"""Tables of the site on a telephone: what an option or a line means is in sight without scrolling.

Formulas fit it.
"""

import pytest

STARTS_OF_SECOND_COLUMNS = """() => Array.from(
    document.querySelectorAll("article table"), (table) =>
        table.querySelector("th:nth-child(2)")?.getBoundingClientRect().left ?? 0)"""


@pytest.mark.parametrize(
    "path", ["how-to/consistency/", "reference/formats/", "reference/options/score/"]
)
def test_the_second_column_is_in_sight(new_page, site, path):
    page = new_page(viewport={"width": 400, "height": 900})
    page.goto(f"{site}{path}")
    starts = page.evaluate(STARTS_OF_SECOND_COLUMNS)
    assert starts and max(starts) < 0.6 * 400, starts


def test_formulas_are_typeset_and_fit(new_page, site):
    page = new_page(viewport={"width": 400, "height": 900})
    for path, formulas in {
        "explanation/uncertainty/": 5,
        "explanation/is-it-the-composition/": 3,
    }.items():
        page.goto(f"{site}{path}")
        widths = page.evaluate(
            "() => Array.from(document.querySelectorAll('math'), (formula) => formula.scrollWidth)"
        )
        assert len(widths) == formulas and max(widths) <= 400, widths
        assert (
            not page.locator("article :text('\\frac')").count()
            and not page.locator("merror").count()
        )
