"""Pages in a real browser, offline: skipped with the reason where there is none.

Debian's Chromium (`apt install chromium`) is enough, with Playwright (`pip install playwright`),
which need not download its own browsers. CGBENCH_BROWSER names another one.
"""

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from few import few
from once_per_run import once_per_run
from web import listening

ROOT = Path(__file__).parents[2]
LOOKS = {
    f"{scheme}-{width}{'' if script else '-without-script'}": {
        "color_scheme": scheme,
        "viewport": {"width": width, "height": 900},
        "script": script,
    }
    for scheme in ("light", "dark")
    for width in (1400, 400)
    for script in (True, False)
}
TOO_WIDE = """() => {
    const wide = document.documentElement.clientWidth;
    const clips = ["auto", "scroll", "hidden"];
    const page = [document.documentElement, document.body];
    const scrolls = (one) => one && (clips.includes(getComputedStyle(one).overflowX)
        ? !page.includes(one) : scrolls(one.parentElement));
    return Array.from(document.body.querySelectorAll("*")).filter((one) => {
        const box = one.getBoundingClientRect();
        return box.width && box.right > wide + 1 && !scrolls(one.parentElement) && box.left >= 0;
    }).map((one) => one.outerHTML.slice(0, 120));
}"""
PALE_CHART_TEXT = """() => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
        .getContext("2d", { willReadFrequently: true });
    const light = (colour) => {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const linear = (x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
        const pixel = Array.from(canvas.getImageData(0, 0, 1, 1).data);
        const [r, g, b] = pixel.map((value) => linear(value / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const paper = light(getComputedStyle(document.body).backgroundColor);
    return Array.from(document.querySelectorAll("svg text")).filter((one) => {
        const ink = light(getComputedStyle(one).fill);
        return Math.max(ink, paper) / Math.min(ink, paper) < 4.5;
    }).map((one) => one.outerHTML);
}"""


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install playwright"
    )
    names = (os.environ.get("CGBENCH_BROWSER", ""), "chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, filter(None, names))), None)
    if path is None:
        pytest.skip("Chromium is not installed (apt install chromium; or CGBENCH_BROWSER=PATH)")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield found
        found.close()


@pytest.fixture
def new_page(browser):
    """A page in a context of its own: ``new_page(script=False, color_scheme="dark")``."""
    contexts = []

    def call(*, script=True, **options):
        contexts.append(browser.new_context(**options))
        if not script:
            contexts[-1].route("**/*", serve_without_scripts)
        return contexts[-1].new_page()

    yield call
    for context in contexts:
        context.close()


def serve_without_scripts(route):
    """Show a page as it is with JavaScript off; with it really off, axe could not run either."""
    if route.request.resource_type != "document":
        return route.continue_()
    url = urlsplit(route.request.url)
    html = (
        Path(unquote(url.path)).read_text("utf-8") if url.scheme == "file" else route.fetch().text()
    )
    html = re.sub(r"<script\b.*?</script>", "", html, flags=re.DOTALL).replace("noscript>", "div>")
    return route.fulfill(body=html, content_type="text/html; charset=utf-8")


@pytest.fixture
def opened(new_page):
    """Open a file: ``opened(path, color_scheme="dark")``, offline.

    At the end: the console is empty, no script failed, and nothing but the file was requested.
    """
    opened, said, asked = [], [], []

    def call(path, **options):
        opened.append(page := new_page(offline=True, **options))
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield call
    assert said == []
    assert len(asked) == len(opened) and all(url.startswith("file:") for url in asked), asked


@pytest.fixture(params=few(LOOKS, "light-1400", "dark-400-without-script"))
def look(request):
    """A width, a colour scheme, and whether scripts run: options of ``new_page``."""
    return LOOKS[request.param]


@pytest.fixture
def check_page():
    """``check_page(page)``: axe has no serious or critical finding, and nothing is wider than the
    screen.
    """
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python"
    ).Axe()

    def call(page):
        options = {"resultTypes": ["violations"], "preload": False}
        found = [
            f"{one['id']}: {node['html'][:200]} {node['failureSummary']}"
            for one in axe.run(page, options=options).response["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]
        found += [f"pale: {one}" for one in page.evaluate(PALE_CHART_TEXT)]
        found += [f"too wide: {one}" for one in page.evaluate(TOO_WIDE)]
        assert not found, "\n".join(found)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
            "wider than the screen"
        )

    return call


@pytest.fixture(scope="session")
def release_file(small_release, tmp_path_factory):
    """The page of a small release; tests only read it."""
    from cgbench.report.release_page import release_page

    path = tmp_path_factory.mktemp("browser") / "release.html"
    path.write_text(release_page(small_release), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def scores_file(tmp_path_factory):
    """A page of BLEU scores of systems with one and several runs, and names as long as they
    come.
    """
    import warnings

    import cgbench
    from cgbench.report.score_page import score_page

    lines = [
        f"the {number} dogs saw {'very ' * (number % 5)}old cats in {number % 11} parks ."
        for number in range(90)
    ]
    worse = [
        line.replace("dogs", "dog") if number % 3 else line for number, line in enumerate(lines)
    ]
    bad = [line.replace("saw", "see").replace("old", "new") for line in lines]
    systems = {
        "baseline": [bad, worse],
        "good": lines[:60] + worse[60:],
        "a-system-with-a-very-long-name-and-a-checkpoint-2026-11-22": [
            worse,
            lines[:30] + bad[30:],
            lines,
        ],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cgbench.evaluate(
            "bleu",
            systems,
            lines,
            sources=worse,
            by="length",
            breakdown={"differences": True},
            accept_text=True,
        )
    path = tmp_path_factory.mktemp("browser") / "scores.html"
    path.write_text(score_page(found, command="cgbench score bleu"), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The address of the documentation, built and served to this machine."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install '.[docs]'")

    def make(folder):
        subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder],
            cwd=ROOT,
            check=True,
        )

    # `make test` has just built it
    folder = os.environ.get("CGBENCH_SITE") or once_per_run(tmp_path_factory, "site", make)
    handler = functools.partial(QuietHandler, directory=folder)
    with listening(handler) as address:
        yield f"{address}/"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass
