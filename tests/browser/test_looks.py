"""What a person sees of the score page: on a phone, a tablet and a wide screen, light and dark, and
on paper. Each page is loaded once, and all widths are looked at.
"""

import itertools
import json
import random
import re
import warnings
import xml.etree.ElementTree as ElementTree

import pytest

import cgbench
from cgbench.report.score_page import score_page

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
WIDTHS = (1440, 768, 390)
PAPER = 718  # A4 without margins of 12 mm, at 96 dots per inch
SCREEN = 900
NAMES = (
    "Transformer-base",
    "LSTM",
    "mBART-50-many-to-many",
    "Transformer-big",
    "ConvS2S",
    "NLLB-200-distilled-600M",
    "gpt-4o-2024-08-06",
    "retrieval",
    "ensemble",
    "lexicon",
    "phrase-based",
    "baseline_with_a_very_long_system_name_v2",
)
WORDS = [
    "a",
    "red",
    "blue",
    "old",
    "small",
    "dog",
    "cat",
    "bird",
    "house",
    "sees",
    "near",
    "brings",
]

HIDDEN_CELLS = """() => [...document.querySelectorAll(".table td")].filter((cell) => {
  if (!cell.checkVisibility()) return false;
  const box = cell.getBoundingClientRect(), region = cell.closest(".scroll");
  return box.right > region.getBoundingClientRect().right + 1;
}).map((cell) => cell.textContent)"""
SMALL_TEXT = """() => [...document.querySelectorAll("svg.chart")].flatMap((chart) => {
  const scale = chart.getBoundingClientRect().width / chart.viewBox.baseVal.width;
  return [...chart.querySelectorAll("text")]
    .filter((text) => scale && Number.parseFloat(getComputedStyle(text).fontSize) * scale < 10.5)
    .map((text) => text.textContent);
})"""
OVERLAPS = """() => [...document.querySelectorAll("svg.chart")].flatMap((chart) => {
  const boxes = [...chart.querySelectorAll("text:not([transform])")]
    .map((text) => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([text, a], index) => boxes.slice(index + 1)
    .filter(([, b]) => a.left < b.right - 1 && b.left < a.right - 1
      && a.top < b.bottom - 3 && b.top < a.bottom - 3)
    .map(([other]) => `${text} | ${other}`));
})"""
CUT_TEXT = """() => [...document.querySelectorAll("svg.chart")].flatMap((chart) => {
  const room = chart.getBoundingClientRect();
  return [...chart.querySelectorAll("text, circle")].filter((mark) => {
    const box = mark.getBoundingClientRect();
    return box.width && (box.left < room.left - 1 || box.right > room.right + 1
      || box.top < room.top - 1);
  }).map((mark) => mark.textContent);
})"""
# Rows of charts with room for one more: neither a table or a text beside them, nor in the middle.
GAPS = """() => [...document.querySelectorAll(".charts, .flow")].flatMap((group) => {
  const parts = [...group.children].filter((part) => part.checkVisibility());
  const rows = [];
  let last = -Infinity;
  for (const part of parts) {
    const top = part.getBoundingClientRect().top;
    if (top > last + 30) rows.push([]);
    rows.at(-1).push(part);
    last = top;
  }
  const figures = (row) => row.filter((part) => part.matches("figure")).length;
  const most = Math.max(...rows.map(figures));
  const middle = (part) => {
    const box = (part.querySelector(":scope > svg") || part).getBoundingClientRect();
    return (box.left + box.right) / 2;
  };
  return rows.filter((row) => row.length < most && figures(row) === row.length)
    .filter((row) => Math.abs(middle(row[0]) + middle(row.at(-1)) - 2 * middle(group)) > 2)
    .map((row) => row[0].textContent.slice(0, 60));
})"""
PALE_MARKS = """() => {
  const light = (colour) => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    const linear = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll("svg .dot, svg .interval, svg .line, svg .run")]
    .filter((mark) => {
      const style = getComputedStyle(mark);
      const ink = light(style.stroke !== "none" ? style.stroke : style.fill);
      return Math.max(ink, paper) / Math.min(ink, paper) < 3;
    }).map((mark) => mark.outerHTML.slice(0, 90));
}"""


def spoiled(text, share, seed):
    generator = random.Random(seed)
    words = (word if generator.random() > share else "wrong" for word in text.split())
    return " ".join(words)


def written(path, metrics, names, seeds, examples=150, with_control=False, **options):
    generator = random.Random(1)
    references = [
        " ".join(generator.choices(WORDS, k=generator.randint(8, 22))) + " ."
        for _ in range(examples)
    ]
    systems = {
        name: [
            [
                spoiled(text, 0.05 + 0.03 * rank, f"{name} {run} {row}")
                for row, text in enumerate(references)
            ]
            for run in range(seeds)
        ]
        for rank, name in enumerate(names)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cgbench.evaluate(
            metrics,
            systems,
            references,
            sources=references,
            paired=len(names) > 1,
            accept_text=True,
            comparison={"samples": 200} if len(names) > 1 else {},
            **options,
            control=control_of(systems, references) if with_control else {},
        )
    path.write_text(score_page(found), encoding="utf-8")
    return path


def control_of(systems, references):
    """A control set on which every system is half as bad."""
    better = {
        name: [references[: len(references) // 2] + run[len(references) // 2 :] for run in runs]
        for name, runs in systems.items()
    }
    return {"control_systems": better, "control_references": references}


@pytest.fixture(scope="module")
def three_metrics(tmp_path_factory):
    """Three systems, three seeds, three metrics."""
    path = tmp_path_factory.mktemp("looks") / "three.html"
    return written(path, ["bleu", "chrf", "ter"], NAMES[:3], 3)


@pytest.fixture(scope="module")
def with_control(tmp_path_factory):
    """Three metrics, a control set, and bins of a column of a table."""
    folder = tmp_path_factory.mktemp("looks")
    lines = ["number_of_clauses", *(f"{row % 4 + 1}" for row in range(150))]
    (folder / "table.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = {"by": "column:number_of_clauses", "table": folder / "table.tsv"}
    metrics = ["bleu", "chrf", "ter"]
    return written(folder / "page.html", metrics, NAMES[:3], 2, with_control=True, **options)


@pytest.fixture(scope="module")
def one_system(tmp_path_factory):
    return written(tmp_path_factory.mktemp("looks") / "one.html", "bleu", NAMES[:1], 1)


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    """Scores with long names."""
    path = tmp_path_factory.mktemp("looks") / "rules.html"
    outputs = WORDS * 4
    lines = [
        json.dumps({"id": row, "rules": [{"type": "contains", "any": [word]}]})
        for row, word in enumerate(outputs, 1)
    ]
    path.with_suffix(".jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    systems = {
        "Transformer-base": [f"a {word}" for word in outputs],
        "LSTM": ["a red dog"] * len(outputs),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cgbench.rules(systems, path.with_suffix(".jsonl"), paired=True)
    path.write_text(score_page(found), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def twelve_systems(tmp_path_factory):
    return written(tmp_path_factory.mktemp("looks") / "twelve.html", "bleu", NAMES, 1)


def seen(page):
    """Faults at the page's width: a dictionary that should have empty values."""
    return {
        "wider than the screen": [page.evaluate("innerWidth")]
        * page.evaluate("document.documentElement.scrollWidth > innerWidth"),
        "cells that are out of sight": page.evaluate(HIDDEN_CELLS),
        "text that is too small": page.evaluate(SMALL_TEXT),
        "texts over one another": page.evaluate(OVERLAPS),
        "marks and texts that are cut": page.evaluate(CUT_TEXT),
        "rows of charts with a gap": page.evaluate(GAPS),
    }


@pytest.mark.parametrize("name", ["with_control", "one_system", "rules"])
def test_every_width_of_other_pages(opened, name, request):
    page = opened(request.getfixturevalue(name))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": SCREEN})
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        faults = {what: places for what, places in seen(page).items() if places}
        assert not faults, (width, faults)


def test_control_set_of_every_metric_and_a_column_by_its_title(opened, with_control):
    page = opened(with_control, viewport={"width": 1440, "height": SCREEN})
    table = page.locator("section[aria-labelledby=control] table")
    assert table.count() == 1 and not table.evaluate("e => e.classList.contains('as-cards')")
    assert table.locator("th[scope=rowgroup]").all_text_contents() == ["BLEU", "chrF2", "TER (%)"]
    assert table.locator("th[scope=col]", has_text=re.compile("^p$")).is_visible()
    assert page.locator("section[aria-labelledby=control] svg.chart").count() == 3
    bins = page.locator("section[aria-labelledby=bins]")
    assert (
        "BLEU, chrF2 and TER (%) by number of clauses" in bins.locator("caption").first.inner_text()
    )
    assert "column:" not in page.locator("main").inner_text()
    # The p-values of each metric are a click away.
    for metric in ("BLEU", "chrF2", "TER (%)"):
        page.locator("summary", has_text=f"{metric}: all columns").click()
        heads = page.locator(f".scroll[aria-label='{metric}: all columns'] th[scope=col]")
        assert heads.nth(heads.count() - 1).inner_text() in ("p", "p (Holm)")
        assert heads.nth(heads.count() - 1).is_visible()


def test_bins_of_a_narrow_table_are_still_links(opened, tmp_path):
    path = written(
        tmp_path / "bins.html", "bleu", NAMES[:2], 1, by="length", bins=[9, 11, 13, 15, 17, 19]
    )
    page = opened(path, viewport={"width": 390, "height": SCREEN})
    table = page.locator("table:has(a[data-bin])").first
    assert table.evaluate("table => table.classList.contains('as-cards')")
    assert not {what: places for what, places in seen(page).items() if places}
    link = table.locator("a[data-bin]").nth(1)
    link.click()
    assert "found of 150" in page.locator(".said").inner_text()
    # A cell says of which bin it is.
    names = (
        table.locator("tbody tr")
        .first.locator("td")
        .evaluate_all("cells => cells.map((cell) => getComputedStyle(cell, '::before').content)")
    )
    labels = table.locator("a[data-bin]").all_text_contents()
    assert [name.strip('" ') for name in names] == labels


@pytest.mark.parametrize("name", ["three_metrics", "twelve_systems"])
def test_every_width_and_both_themes(opened, name, request):
    page = opened(request.getfixturevalue(name))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": SCREEN})
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        assert page.locator("#systems ~ .table td").first.bounding_box()["y"] < SCREEN, width
        button = page.locator("#theme").bounding_box()
        assert button["x"] + button["width"] <= width
        faults = {what: places for what, places in seen(page).items() if places}
        assert not faults, (width, faults)
    page.set_viewport_size({"width": 720, "height": 450})  # zoom of 200%
    assert page.locator("#systems ~ .table td").first.bounding_box()["y"] < 450
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(PALE_MARKS) == [], scheme
    # Headings go down by one level; numbers have a minus sign; one note of a warning.
    levels = [
        int(name[1])
        for name in page.locator("h1, h2, h3").evaluate_all("a => a.map(e => e.tagName)")
    ]
    assert levels[0] == 1 and all(b - a <= 1 for a, b in itertools.pairwise(levels))
    cells = page.locator("td").all_text_contents()
    assert not [cell for cell in cells if re.match(r"\s*-\d", cell)]
    assert any(cell.startswith("\N{MINUS SIGN}") for cell in cells)
    notes = page.locator(".notes li").all_text_contents()
    assert len([note for note in notes if "tokenised" in note]) == 1


def test_a_page_of_three_metrics_is_short(opened, three_metrics):
    """At most three screens to the last table before the examples."""
    page = opened(three_metrics, viewport={"width": 1440, "height": SCREEN})
    bottoms = page.locator("table:not(.examples)").evaluate_all(
        "tables => tables.map((table) => table.getBoundingClientRect().bottom)"
    )
    assert max(bottoms) <= 3 * SCREEN
    head = page.locator("#systems ~ .table").first.locator("th[scope=col]").all_text_contents()
    assert [name for name in head if name in ("BLEU", "chrF2", "TER")] == ["BLEU", "chrF2", "TER"]
    # Charts fill their rows.
    tops = page.locator("#systems ~ .charts figure").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().top)"
    )
    assert [tops.count(top) for top in dict.fromkeys(tops)] == [3, 3]


def test_pairs_of_twelve_systems_on_a_screen_and_on_paper(opened, twelve_systems):
    page = opened(twelve_systems, viewport={"width": 1440, "height": SCREEN})
    region = page.locator(".scroll:has(> table.matrix)")
    fits = "region => region.scrollWidth <= region.clientWidth + 1"
    assert region.evaluate(fits)
    cells = page.locator("td.matrix").all_text_contents()
    assert sum(text.startswith(("+", "\N{MINUS SIGN}")) for text in cells) == 12 * 11 // 2
    assert {
        text.partition(".")[0] for text in page.locator("table.matrix tbody th").all_text_contents()
    } == {str(rank) for rank in range(1, 13)}
    # No two systems have the same mark.
    dots = page.locator("svg[aria-label='BLEU of each system'] .dot").evaluate_all(
        "dots => dots.map((dot) => dot.tagName + dot.getAttribute('class'))"
    )
    assert len(set(dots)) == len(dots) == 12
    # On paper.
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER, "height": 1000})
    assert region.evaluate("region => region.scrollWidth") <= PAPER
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    assert page.locator("table.examples tbody tr:visible").count() == 10
    assert page.locator(".copy:visible, nav:visible, form:visible").count() == 0
    sheets = re.findall(rb"/Type /Page\b(?!s)", page.pdf(format="A4"))
    assert 3 <= len(sheets) <= 10


def test_a_rectangle_by_keyboard(opened, three_metrics):
    page = opened(three_metrics, viewport={"width": 1440, "height": SCREEN})
    plot = page.locator("details[open] svg .plot").first
    plot.focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("svg .brush").bounding_box()
    for _ in range(4):
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("ArrowUp")
    brush = page.locator("svg .brush").bounding_box()
    assert brush["width"] > 3 * first["width"] and brush["y"] < first["y"]
    listed = page.locator(".brushed p").first.inner_text()
    count = int(re.match(r"(\d+) of 150 examples", listed)[1])
    assert count and f"of {count} found" in page.locator(".said").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("svg .brush").count() == 0


def test_text_from_right_to_left_stands_at_the_right(opened, tmp_path):
    texts = ["ذهب الولد إلى المدرسة", "قرأ كتابا عن المدينة", "رجع إلى البيت"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cgbench.evaluate("chrf", {"a": texts, "b": texts[::-1]}, texts)
    (tmp_path / "arabic.html").write_text(score_page(found), encoding="utf-8")
    page = opened(tmp_path / "arabic.html")
    places = page.locator(".examples .part > div").evaluate_all("""parts => parts.map((part) => {
      const text = document.createRange();
      text.selectNodeContents(part);
      return part.getBoundingClientRect().right - text.getBoundingClientRect().right;
    })""")
    assert places and max(places) < 2


def test_a_chart_is_saved_as_a_file_of_its_own(new_page, three_metrics, tmp_path):
    page = new_page(color_scheme="dark", accept_downloads=True)
    page.goto(three_metrics.as_uri())
    figure = page.locator("figure", has=page.locator("svg[aria-label='BLEU of each system']"))
    with page.expect_download() as download:
        figure.locator("button").click()
    assert download.value.suggested_filename == "BLEU-of-each-system.svg"
    download.value.save_as(tmp_path / "chart.svg")
    text = (tmp_path / "chart.svg").read_text("utf-8")
    drawn = ElementTree.fromstring(text)
    assert drawn.find("{http://www.w3.org/2000/svg}title").text == "BLEU of each system"
    assert "class=" not in text and "rgb(0, 114, 178)" in text and "font-size" in text
    assert page.evaluate("document.documentElement.dataset.theme") is None
