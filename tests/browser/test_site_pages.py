"""The site as a visitor sees it: first pages, a page that does not exist, code, charts."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEETS = """block => {
  const button = block.querySelector("[data-clipboard-target]"), code = block.querySelector("code");
  if (!button) return false;
  const a = button.getBoundingClientRect(), b = code.getBoundingClientRect();
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}"""


def test_first_pages_and_a_page_that_does_not_exist(new_page, site):
    page = new_page(viewport={"width": 1440, "height": 900})
    page.goto(site)
    assert not page.locator(".md-sidebar--primary").is_visible()  # no empty column
    blocks = page.locator(".highlight")
    page.wait_for_selector("[data-clipboard-target]", state="attached")
    assert blocks.count() > 2
    assert not any(block.evaluate(MEETS) for block in blocks.all())
    for folder in ("tutorial", "how-to", "reference", "explanation", "lab"):
        assert page.goto(f"{site}{folder}/").ok
        links = page.locator("article li a").evaluate_all("all => all.map((link) => link.href)")
        assert len(links) >= 5 and all(link.startswith(site) for link in links)
    page.goto(f"{site}404.html")
    page.locator("article label[for=__search]").click()
    page.keyboard.type("degree")
    page.wait_for_selector(".md-search-result__link", state="visible")


def test_ranges_of_a_table_are_drawn_below_it(new_page, site):
    page = new_page()
    page.goto(f"{site}lab/significance/")
    charts = page.locator("svg.ranges")
    marked = (ROOT / "docs/lab/significance.md").read_text("utf-8").count("<!-- ranges")
    assert charts.count() == marked >= 2
    table = page.locator(
        "table", has=page.locator("xpath=following::*[1]/self::svg | ./tbody")
    ).first
    cells = [text for text in table.locator("td").all_text_contents() if " to " in text]
    titles = charts.first.locator("path title").all_text_contents()
    assert [title.rpartition(": ")[2] for title in titles] == cells
    widths = charts.first.locator("path:has(title)").evaluate_all(
        "bars => bars.map((bar) => bar.getBBox().width)"
    )
    ranges = [float(high) - float(low) for low, high in (cell.split(" to ") for cell in cells)]
    assert max(w / r for w, r in zip(widths, ranges, strict=True)) < 1.05 * min(
        w / r for w, r in zip(widths, ranges, strict=True)
    )


def test_no_source_maps_and_score_rules_in_the_menu(new_page, site):
    page = new_page()
    assert page.goto(site).ok
    scripts = page.locator("script[src]").evaluate_all("all => all.map((one) => one.src)")
    assert scripts and not any(page.request.get(f"{script}.map").ok for script in scripts)
    page.goto(f"{site}how-to/rules/")
    menu = page.locator(".md-nav--primary").first.text_content()
    assert re.search(r"score rules", menu)
