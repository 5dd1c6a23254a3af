"""The page of scores, used; and with text that would break it."""

import io
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
    "bad": [
        text if number % 3 == 0 or number > 55 else "line of text"
        for number, text in enumerate(REFERENCES)
    ],
    "third": ["nothing"] * 60,
}


def written(path, systems, references, metric="exact", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cgbench.evaluate(metric, systems, references, **{"accept_text": True, **options})
    path.write_text(score_page(found, command="cgbench score exact"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    return written(
        tmp_path_factory.mktemp("browser") / "scores.html", SYSTEMS, REFERENCES, sources=REFERENCES
    )


def numbers(cells):
    """The numbers in cells, which have a minus sign and no stars."""
    texts = [text.rstrip("*") for text in cells.all_text_contents() if text]
    return [float(text.replace("\N{MINUS SIGN}", "-")) for text in texts]


def first_row(page):
    return page.locator(".examples tbody tr").first


def test_every_section_is_there(opened, page_file):
    page = opened(page_file)
    assert page.locator("h2").all_text_contents() == [
        "Systems",
        "All pairs",
        "Breakdown",
        "Where systems differ",
        "Examples",
        "Origin",
    ]
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("table.matrix tbody th").first.text_content() == "1. good"


def test_either_way_and_other_systems(opened, page_file):
    page = opened(page_file)
    differences = numbers(page.locator("td[data-name='difference']"))
    assert differences == sorted(differences, reverse=True) and differences[0] == 100.0
    assert "wrong words" in first_row(page).text_content()
    page.locator("th", has_text="difference").locator("button").click()
    differences = numbers(page.locator("td[data-name='difference']"))
    assert differences == sorted(differences) and differences[0] == -100.0
    page.locator("select[data-system=a]").select_option(label="third")
    assert page.locator(".examples th button").all_text_contents() == [
        "no.",
        "third",
        "good",
        "difference",
    ]
    assert (
        "nothing" in first_row(page).text_content() and first_row(page).locator("ins").count() >= 1
    )
    page.locator("button[type=reset]").click()
    expect(page.locator(".examples th button").nth(1)).to_have_text(
        "bad"
    )  # against the baseline, good


def test_a_bin_lists_its_examples(opened, page_file):
    page = opened(page_file)
    link = page.locator("a[data-bin]").first
    count = page.locator("tr", has_text="examples").locator("td").first.inner_text()
    link.click()
    expect(page.locator(".said")).to_contain_text(f"of {count} found of 60")
    assert page.locator("select[name=bin]").input_value() == link.get_attribute("data-bin")


def test_a_table_is_copied_as_latex(new_page, page_file):
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    page.goto(page_file.as_uri())
    button = page.locator("section[aria-labelledby=systems] button.copy").first
    button.click()
    expect(button).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("\\begin{table}[t]\n\\centering\n\\caption{exact (\\%)}")
    assert "signature" in copied and copied.endswith("\\end{table}")


def test_every_seed_with_another_output_is_shown(opened, tmp_path):
    runs = {"one": [["a b", "c d"], ["a b", "c x"], ["a b", "c x"]], "two": ["a b", "c d"]}
    page = opened(written(tmp_path / "seeds.html", runs, ["a b", "c d"]))
    page.locator("th", has_text="no.").locator("button").click()
    rows = page.locator(".examples tbody tr")
    assert rows.nth(0).locator(".chip").all_text_contents() == ["seeds 1, 2, 3: 100.0"]
    assert rows.nth(1).locator(".chip").all_text_contents() == ["seeds 2, 3: 0.0", "seed 1: 100.0"]


def test_searching_all_texts(opened, page_file):
    page = opened(page_file)
    page.locator("input[name=search]").fill("wrong words")
    expect(page.locator(".said")).to_contain_text("10 found of 60")
    assert page.locator(".examples tbody tr").count() == 10


def test_a_hundred_systems_fit_a_page_whose_tables_are_sorted_and_filtered(opened, tmp_path):
    lines = [f"{text} and words to make it as long as a sentence" for text in REFERENCES[:40]]
    systems = {
        f"system {number}": lines[number % 40 :] + ["of words"] * (number % 40)
        for number in range(100)
    }
    path = written(
        tmp_path / "many.html",
        systems,
        lines,
        metric="bleu",
        paired=True,
        by="length",
        comparison={"samples": 20},
    )
    for width in (400, 1000):
        page = opened(path, viewport={"width": width, "height": 900})
        assert page.locator("#examples-head").bounding_box()["y"] <= 5700
        heads = page.locator("table.matrix thead th")
        assert heads.all_text_contents() == ["", *map(str, range(2, 101)), "tier"]
    names = page.locator(".tall table.figures").first.locator("tbody th")
    assert (
        names.count() == 100 and names.nth(1).text_content() == "system 40"
    )  # the baseline, then the best
    page.locator("input.rows").first.fill("system 9")
    assert [name for name in names.all() if name.is_visible()] and len(
        [x for x in names.all() if x.is_visible()]
    ) == 11
    head = page.locator("th", has_text="Δ").first
    head.locator("button").click()
    column = head.evaluate("cell => cell.cellIndex + 1")
    values = page.locator(".tall table.figures").first.locator(
        f"tbody tr:not([hidden]) td:nth-child({column})"
    )
    differences = numbers(values)
    assert len(differences) == 11 and differences == sorted(differences)
    assert head.get_attribute("aria-sort") == "ascending"
    shown = page.locator("#systems ~ p.quiet").first.text_content()
    assert shown == (
        "Bars: 95% intervals. Shown: system 0 and the best 19 of the other 99 systems."
    )
    assert page.locator("figure").first.locator(".dot").count() == 19


@pytest.mark.parametrize("width", [400, 1000])
def test_rows_have_their_line_below_the_fixed_column_too(opened, scores_file, width):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    page = opened(scores_file, viewport={"width": width, "height": 900})
    without_line = []
    for cell in page.locator("table:not(.as-cards) tbody th[scope=row]:visible").all()[:30]:
        cell.evaluate("cell => cell.scrollIntoView({ block: 'center' })")
        box = cell.bounding_box()
        clip = {"x": box["x"] + 2, "y": box["y"] + box["height"] - 3, "width": 1, "height": 5}
        colours = image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB").getcolors()
        without_line += [cell.text_content()] if len(colours) == 1 else []  # paper alone
    assert not without_line


def test_hostile_text_shows_as_text(opened, tmp_path):
    texts = [text.replace("\n", " ") for text in HOSTILE]
    systems = {"<img src=x onerror=window.broken=1>": texts, "second": texts[::-1]}
    page = opened(
        written(tmp_path / "hostile.html", systems, texts, sources=texts, accept_text=True)
    )
    assert page.evaluate("window.broken") is None
    assert page.locator("img, svg[onload], iframe").count() == 0
    assert page.locator(".examples tbody tr").count() == len(texts)
    page.locator("th", has_text="no.").locator("button").click()
    rows = page.locator(".examples tbody tr")
    for number, text in enumerate(texts):
        buttons = rows.nth(number).locator(".part button")
        while buttons.count():
            buttons.first.click()  # then a long line is there as a whole
        reference = (
            rows.nth(number)
            .locator(".part", has_text="reference")
            .last.locator("div")
            .text_content()
        )
        assert words_of(reference) == words_of(printable(text))
    assert page.locator("h1").inner_text().startswith("exact: <img src=x")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


CONTRAST = """(selector) => {
  const light = (colour) => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    const linear = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll(selector)].map((mark) => {
    const style = getComputedStyle(mark), ink = light(style.stroke);
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    return style.opacity === "1" ? ratio : 0;
  });
}"""


def test_intervals_can_be_seen_and_marks_do_not_move_decimals(opened, page_file):
    """Three systems have the first three colours, which have a contrast of 3 on paper."""
    page = opened(page_file)
    for selector in ("svg .interval", "svg .end"):
        ratios = page.evaluate(CONTRAST, selector)
        assert ratios and min(ratios) >= 3
    ends = page.evaluate("""() => {
      const row = document.querySelector("table.figures tbody");
      return [...row.rows].map((cells) => {
        const text = document.createRange();
        text.selectNodeContents(cells.cells[1].firstChild);
        return [cells.cells[1].textContent, text.getBoundingClientRect().right];
      });
    }""")
    assert any("★" in text for text, _ in ends) and not all("★" in text for text, _ in ends)
    assert len({round(right) for _, right in ends}) == 1
