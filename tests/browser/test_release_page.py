"""The page of a release, used."""

import difflib
import json
import statistics

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed").expect


@pytest.fixture
def page_file(release_file):
    return release_file


def column(page, name):
    """The cells of a column of the examples, as numbers."""
    return [
        float(text)
        for text in page.locator(f".examples td[data-name='{name}']").all_text_contents()
    ]


def test_every_section_is_there(opened, page_file, small_release):
    page = opened(page_file)
    heads = page.locator("h2").all_text_contents()
    assert heads == [
        "The first 10 pairs",
        "From pool to test set",
        "Degree and uncertainty",
        "Correlations",
        "Novel n-grams",
        "Examples",
        "Checks",
        "Origin",
    ]
    assert page.locator("h1").count() == 1 and page.title() == "Test set: de to en"
    assert small_release.signature in page.locator("header").inner_text()
    # every table has a caption, every chart its words, every field a name
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("svg[role='img']:not([aria-label])").count() == 0
    assert page.locator("form input, form select").count() > 4
    for field in page.locator("form input, form select").all():
        assert field.evaluate("e => e.getAttribute('aria-label') || e.labels.length > 0")
    for link in page.locator("nav a").all():
        assert page.locator(link.get_attribute("href")).count() == 1


def test_sorting(opened, page_file, small_release):
    page = opened(page_file)
    assert column(page, "no.") == [float(number) for number in range(1, 26)]
    head = page.locator(".examples th", has_text="degree")
    head.locator("button").click()
    degrees = sorted((row["degree"] for row in small_release.split()), reverse=True)
    assert column(page, "degree") == pytest.approx(degrees[:25], abs=6e-4)
    assert head.get_attribute("aria-sort") == "descending"
    assert page.locator("th[aria-sort]").count() == 1
    head.locator("button").press("Enter")  # by keyboard
    assert column(page, "degree") == pytest.approx(degrees[::-1][:25], abs=6e-4)
    assert head.get_attribute("aria-sort") == "ascending"


def test_searching_and_pages(opened, page_file, small_release):
    page = opened(page_file)
    lines = small_release.lines("target")
    word = lines[30].split()[0]
    texts = zip(
        small_release.lines("source"),
        lines,
        [row["hypothesis"] for row in small_release.split()],
        strict=True,
    )
    expected = [
        number
        for number, some in enumerate(texts, 1)
        if any(word.lower() in text.lower() for text in some)
    ]
    page.locator("input[name=search]").fill(word.upper())
    expect(page.locator(".said")).to_contain_text("found")
    assert column(page, "no.") == expected[:25]
    page.locator("input[name=search]").fill("no such words at all")
    expect(page.locator(".said")).to_have_text("nothing found")
    assert page.locator(".examples tbody tr").count() == 0
    page.locator("button[type=reset]").click()
    expect(page.locator(".examples tbody tr")).to_have_count(25)
    page.locator("[data-go='1']").click()
    assert column(page, "no.") == [float(number) for number in range(26, len(lines) + 1)]
    assert (
        page.locator("[data-go='1']").is_disabled() and page.locator("[data-go='-1']").is_enabled()
    )
    page.locator("select[name=size]").select_option("0")
    assert page.locator(".examples tbody tr").count() == len(lines)


def test_filters_and_the_brush(opened, page_file, small_release):
    page = opened(page_file)
    measure = small_release.configuration["uncertainty"]
    values = [row[measure] for row in small_release.split()]
    least = round(statistics.median(values), 4)
    page.locator(f"input[aria-label='{measure}, at least']").fill(f"{least}")
    expected = [number for number, value in enumerate(values, 1) if value >= least]
    assert 0 < len(expected) < len(small_release.split())
    expect(page.locator(".said")).to_contain_text("found")
    assert column(page, "no.") == expected[:25]
    page.locator("button[type=reset]").click()
    expect(page.locator(".said")).not_to_contain_text("found")
    plot = page.locator("svg .plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + 1, box["y"] + 1)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 1)
    page.mouse.up()
    low, high = (
        float(page.locator(f"input[aria-label='degree, at {end}']").input_value())
        for end in ("least", "most")
    )
    assert low < high and page.locator("svg .brush").count() == 1
    page.locator("select[name=size]").select_option("0")
    inside = [row["degree"] for row in small_release.split() if low <= row["degree"] <= high]
    assert page.locator(".brushed p").inner_text().startswith(f"{len(inside)} of ")
    assert page.locator(".brushed li").count() == min(6, len(inside))
    plot_side, found = plot.bounding_box(), page.locator(".brushed").bounding_box()
    assert (
        found["x"] >= plot_side["x"] + plot_side["width"]
        and found["y"] < plot_side["y"] + plot_side["height"]
    )
    assert sorted(column(page, "degree")) == pytest.approx(sorted(inside), abs=6e-4)


def test_column_names_have_definitions(opened, page_file):
    page = opened(page_file)
    assert page.locator("table.examples abbr[title]").all_text_contents()[:2] == ["degree", "rmi"]
    assert page.locator("details dl").evaluate("e => e.children.length") > 20
    assert (
        page.locator("section[aria-labelledby=measures] table").first.locator("tbody tr").count()
        == 10
    )


def test_all_rows_of_a_large_table_show_at_once(opened, page_file, tmp_path):
    """5,000 examples: the page's own data many times over."""
    html = page_file.read_text(encoding="utf-8")
    begin = html.index(">", html.index('id="data"')) + 1
    data = json.loads(html[begin : html.index("</script>", begin)])
    data["rows"] = (data["rows"] * 5_000)[:5_000]
    text = json.dumps(data).replace("<", "\\u003c")
    (tmp_path / "large.html").write_text(
        html[:begin] + text + html[html.index("</script>", begin) :], encoding="utf-8"
    )
    page = opened(tmp_path / "large.html")
    taken = page.evaluate("""() => new Promise((done) => {
        const select = document.querySelector("select[name=size]"), begin = performance.now();
        select.value = "0";
        select.dispatchEvent(new Event("change"));
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)));
    })""")
    assert page.locator(".examples tbody tr").count() == 5_000
    assert taken < 6_000, f"{taken:.0f} ms"  # well under 1 s on an idle machine; tests share theirs


def test_pieces_and_differences(opened, page_file, small_release):
    page = opened(page_file)
    first = page.locator(".examples tbody tr").first
    ngrams, line = small_release.ngrams(), small_release.lines("target")[0]
    pieces = [" ".join(piece) for piece in ngrams.cover(line)]
    assert first.locator(".piece").all_text_contents() == pieces
    assert first.locator(".part").nth(1).locator("div").text_content().split() == line.split()
    # what is marked is what only one of the two texts has, in order
    hypothesis = small_release.split()[0]["hypothesis"].split()
    marked = " ".join(first.locator("ins").all_text_contents()).split()
    kept = len(hypothesis) - len(marked)
    matcher = difflib.SequenceMatcher(None, hypothesis, line.split(), autojunk=False)
    assert kept >= sum(block.size for block in matcher.get_matching_blocks())
    assert first.locator("del").count() > 0 or kept == len(line.split())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes(opened, page_file, scheme):
    page = opened(page_file, color_scheme=scheme)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != background


def test_on_paper(opened, page_file):
    page = opened(page_file, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("form.filter").is_visible()
    assert all(head.is_visible() for head in page.locator("h2").all())
    page.set_viewport_size({"width": 720, "height": 1000})
    first, second = (page.locator("figure").nth(place).bounding_box() for place in (0, 1))
    assert first["y"] == second["y"] and second["x"] >= first["x"] + first["width"]  # two in a row
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_no_script_but_its_own(new_page, page_file):
    """The policy holds: nothing that somebody puts in is run, styled or fetched."""
    page = new_page()
    refused, failed = [], []
    page.on("console", lambda message: refused.append(message.text))
    page.on("requestfailed", lambda request: failed.append((request.url, request.failure)))
    page.goto(page_file.as_uri())
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.broken = 1";
        const picture = document.createElement("img");
        picture.src = "https://example.org/x.png";
        document.body.append(script, picture);
        document.body.setAttribute("style", "color: red");
        document.body.setAttribute("onclick", "window.broken = 1");
    }""")
    page.locator("h1").click()
    assert page.evaluate("window.broken") is None and failed == [
        ("https://example.org/x.png", "csp")
    ]
    assert page.evaluate("getComputedStyle(document.body).color") != "rgb(255, 0, 0)"
    told = [line for line in refused if "Content Security Policy" in line]
    assert len(told) == len(refused) >= 4


OUT_OF_SIGHT = """() => [...document.querySelectorAll("main td")].filter((cell) => {
  const region = cell.closest(".scroll").getBoundingClientRect();
  return cell.checkVisibility() && cell.getBoundingClientRect().right > region.right + 1;
}).map((cell) => cell.textContent.slice(0, 40))"""


CUT_TEXT = """() => [...document.querySelectorAll("svg.chart")].flatMap((chart) => {
  const room = chart.getBoundingClientRect();
  return [...chart.querySelectorAll("text")]
    .filter((text) => text.getBoundingClientRect().right > room.right + 1)
    .map((text) => text.textContent);
})"""


def test_every_cell_is_in_sight_at_every_width(opened, page_file):
    page = opened(page_file)
    for width in (1440, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        assert page.evaluate(OUT_OF_SIGHT) == [], width
        assert page.evaluate(CUT_TEXT) == [], width
