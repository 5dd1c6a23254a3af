"""The search of the documentation: what a newcomer asks for comes first."""

import pytest
from few import few

FIRST = {
    "install": ("",),
    "--report": ("reference/report/", "reference/validate/"),
    "bleu confidence interval": ("explanation/significance/", "reference/score/"),
    "own metric": ("how-to/add-a-metric/",),
    "comet": ("how-to/comet/",),
    "gpu": ("how-to/cluster/",),
    "chinese": ("how-to/chinese-japanese-thai/",),
    "what is degree": ("explanation/degree/",),
    "resume": ("reference/train/",),
    "how many examples": ("reference/power/",),
    "p-value": ("explanation/significance/",),
    "license": ("licence/", "how-to/publish/"),
    "seeds": ("explanation/significance/", "tutorial/score-two-systems/"),
    "confidence interval": ("explanation/significance/", "lab/intervals/"),
    "tokenised": ("how-to/mixed-text/",),
    "leaderboard": ("how-to/rules/", "reference/reproduce/"),
    "contamination": ("how-to/exposure/", "reference/overlap/"),
    "LaTeX": ("reference/score/",),
    "GPU memory": ("how-to/cluster/", "reference/train-ensemble/"),
    "several seeds": ("explanation/significance/", "tutorial/score-two-systems/"),
}
QUERY = "[data-md-component=search-query]"
RESULT = ".md-search-result__link"


@pytest.fixture(scope="module")
def page(browser, site):
    """The front page, whose index is loaded once."""
    page = browser.new_page()
    page.goto(site)
    yield page
    page.close()


@pytest.mark.parametrize(
    "query",
    few(FIRST, "install", "--report", "own metric", "p-value", "LaTeX", "how many examples"),
)
def test_what_a_newcomer_asks_for(page, site, query):
    page.fill(QUERY, "")
    page.wait_for_selector(RESULT, state="detached", timeout=60_000)
    page.type(QUERY, query)
    page.wait_for_selector(RESULT, state="attached", timeout=60_000)
    # The results of the whole query follow those of its beginning: wait until they stay.
    first = before = ""
    while not first or first != before:
        page.wait_for_timeout(700)
        before, first = first, page.eval_on_selector(RESULT, "link => link.href").removeprefix(site)
    assert first.partition("?")[0] in FIRST[query], first
