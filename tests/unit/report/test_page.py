"""What keeps text of others text, and a page the same bytes."""

import base64
import hashlib
import json
import re

import pytest
from hostile_text import HOSTILE

from cgbench.report.page import as_script_data, asset, page_script, printable_values, render_page


def test_data_comes_back_as_it_was_and_ends_no_script():
    data = {"rows": [[text, 1.5, None] for text in HOSTILE], "<b>": ["&"]}
    written = str(as_script_data(data))
    assert not set(written) & set("<>&\u2028\u2029")
    assert json.loads(written) == printable_values(data)
    assert "\x1b" not in printable_values(HOSTILE[5]) and "\\x1b[31m" in printable_values(
        HOSTILE[5]
    )


def test_no_figure_that_json_has_not():
    with pytest.raises(ValueError):
        as_script_data([float("nan")])


def page(**context):
    given = {"title": "t", "notes": [], **context}
    return render_page("page.html", given, {"rows": None})


def test_many_notes_are_folded_after_the_fourth():
    html = page(notes=[("", f"note {number}") for number in range(10)])
    shown, folded = html.split("<summary>6 more notes</summary>")
    assert re.findall(r"note \d", shown) == [f"note {number}" for number in range(4)]
    assert re.findall(r"note \d", folded) == [f"note {number}" for number in range(4, 10)]
    assert "<summary>" not in page(notes=[("", "note")] * 4)


def test_the_policy_names_this_script_and_this_style():
    html = page()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1].replace("&#39;", "'")
    for element in ("script", "style"):
        inside = re.search(rf"<{element}>(.*?)</{element}>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy


def test_markup_in_what_a_template_shows_is_escaped():
    html = page(title=HOSTILE[0], notes=[("", text) for text in HOSTILE])
    assert "<img" not in html and "onload=window" in html and "<svg" not in html
    assert "\x1b" not in html and "{{ 7 * 7 }}" in html


def test_nothing_that_the_policy_would_refuse_or_that_is_fetched():
    """No style attributes, no handlers, no eval, nothing from elsewhere."""
    script, style = str(page_script()), str(asset("report.css"))
    assert not re.search(
        r"\beval\b|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write", script
    )
    assert "url(" not in style and "@import" not in style
    assert len(script) + len(style) < 42_000
    html = page()
    assert not re.search(r"\s(style|on\w+)=", html.replace(script, "").replace(style, ""))
    assert re.findall(r"https?://[^\"' ]*", html) == ["http://www.w3.org/2000/svg"]
