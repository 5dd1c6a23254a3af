"""Tables of the site on a telephone: what an option or a line means is in sight without scrolling."""

import pytest

STARTS_OF_SECOND_COLUMNS = """() => Array.from(document.querySelectorAll("article table"), (table) =>
    table.querySelector("th:nth-child(2)")?.getBoundingClientRect().left ?? 0)"""


@pytest.mark.parametrize("path", ["how-to/consistency/", "reference/formats/", "reference/options/score/"])
def test_the_second_column_is_in_sight(browser, site, path):
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.goto(f"{site}{path}")
    starts = page.evaluate(STARTS_OF_SECOND_COLUMNS)
    page.close()
    assert starts and max(starts) < 0.6 * 400, starts
