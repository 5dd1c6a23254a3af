"""The page of scores, used; and with text that would break it."""

import warnings

import pytest
from hostile_text import HOSTILE

import cgbench
from cgbench.errors import printable
from cgbench.report.score_page import score_page
from cgbench.text.plain_text import words_of

expect = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed").expect
REFERENCES = [f"line {number} of {'long ' * (number % 5)}text" for number in range(60)]
SYSTEMS = {
    "good": REFERENCES[:50] + ["wrong words"] * 10,
    "bad": [text if number % 3 == 0 or number > 55 else "line of text" for number, text in enumerate(REFERENCES)],
    "third": ["nothing"] * 60,
}


def written(path, systems, references, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cgbench.evaluate("exact", systems, references, **options)
    path.write_text(score_page(found, command="cgbench score exact"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("browser") / "scores.html", SYSTEMS, REFERENCES, sources=REFERENCES)


def first_row(page):
    return page.locator(".examples tbody tr").first


def test_every_section_is_there(opened, page_file):
    page = opened(page_file)
    assert page.locator("h2").all_text_contents() == [
        "Systems", "All pairs", "Breakdown", "Where systems differ", "Examples", "Origin",
    ]  # fmt: skip
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("ol li").all_text_contents()[0] == "good"


def test_either_way_and_other_systems(opened, page_file):
    page = opened(page_file)
    differences = [float(text) for text in page.locator("td[data-name='difference']").all_text_contents()]
    assert differences == sorted(differences, reverse=True) and differences[0] == 100.0
    page.locator("th", has_text="difference").locator("button").click()
    differences = [float(text) for text in page.locator("td[data-name='difference']").all_text_contents()]
    assert differences == sorted(differences) and differences[0] == -100.0
    assert "wrong words" in first_row(page).inner_text()
    page.locator("select[data-system=b]").select_option(label="third")
    assert page.locator(".examples th button").all_text_contents() == ["no.", "good", "third", "difference"]
    assert "nothing" in first_row(page).inner_text() and first_row(page).locator("ins").count() >= 1
    page.locator("button[type=reset]").click()
    expect(page.locator(".examples th button").nth(2)).to_have_text("bad")


def test_searching_all_texts(opened, page_file):
    page = opened(page_file)
    page.locator("input[name=search]").fill("wrong words")
    expect(page.locator(".said")).to_contain_text("10 found of 60")
    assert page.locator(".examples tbody tr").count() == 10


def test_hostile_text_shows_as_text(opened, tmp_path):
    texts = [text.replace("\n", " ") for text in HOSTILE]
    systems = {"<img src=x onerror=window.broken=1>": texts, "second": texts[::-1]}
    page = opened(written(tmp_path / "hostile.html", systems, texts, sources=texts))
    assert page.evaluate("window.broken") is None
    assert page.locator("img, svg[onload], iframe").count() == 0
    assert page.locator(".examples tbody tr").count() == len(texts)
    page.locator("th", has_text="no.").locator("button").click()
    rows = page.locator(".examples tbody tr")
    for number, text in enumerate(texts):
        buttons = rows.nth(number).locator(".part button")
        while buttons.count():
            buttons.first.click()  # then a long line is there as a whole
        reference = rows.nth(number).locator(".part", has_text="reference").last.locator("div").text_content()
        assert words_of(reference) == words_of(printable(text))
    assert page.locator("h1").inner_text().startswith("exact: <img src=x")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
