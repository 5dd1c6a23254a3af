"""Pages in a real browser, offline: skipped, saying so, where there is none.

Debian's Chromium (`apt install chromium`) does, with Playwright (`pip install playwright`), which need not download
browsers of its own; CGBENCH_BROWSER names another.
"""

import os
import shutil
from pathlib import Path

import pytest


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
        pytest.skip("there is no Chromium here (apt install chromium; or CGBENCH_BROWSER=PATH)")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield found
        found.close()


@pytest.fixture
def opened(browser):
    """Open a file in a context of its own: ``opened(path, color_scheme="dark")``.

    At the end: nothing was said on the console, no script failed, and nothing but the file was asked for.
    """
    contexts, said, asked = [], [], []

    def call(path, **options):
        contexts.append(browser.new_context(offline=True, **options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield call
    for context in contexts:
        context.close()
    assert said == []
    assert len(asked) == len(contexts) and all(url.startswith("file:") for url in asked), asked
