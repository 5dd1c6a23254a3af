"""Every page, light and dark, wide and narrow, with and without scripts: readable, labelled, within
the screen.
"""

import pytest
from few import few

SITE_PAGES = few(
    ("", "how-to/noise/", "reference/score/"), "reference/score/"
)  # tables, code, options, long lines


@pytest.mark.parametrize("name", ["release_file", "scores_file"])
def test_report_pages(opened, check_page, look, name, request):
    check_page(opened(request.getfixturevalue(name), **look))


@pytest.mark.parametrize("address", SITE_PAGES, ids=lambda address: address.strip("/") or "index")
def test_the_site(new_page, site, check_page, look, address):
    page, asked = new_page(**look), []
    page.on("request", lambda request: asked.append(request.url))
    assert page.goto(site + address).ok
    check_page(page)
    assert all(url.startswith((site, "data:")) for url in asked), asked
