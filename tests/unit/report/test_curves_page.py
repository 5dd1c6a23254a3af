"""The page of learning curves."""

import json
import re

import pytest

from cgbench.errors import InputError
from cgbench.report.curves_page import MOST_POINTS, curves_page, find_logs


def write_log(folder, updates, **values):
    folder.mkdir(parents=True)
    rows = [{"pairs": 9, "skipped": 0}, {"update": 1, "loss": 9.0, "stage": "bow"}]
    rows += [
        {"update": update, **{name: of(update) for name, of in values.items()}}
        for update in updates
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_curves_of_an_ensemble(tmp_path, run):
    write_log(tmp_path / "e/member-0", range(100, 10_001, 100), loss=lambda update: 100 / update)
    write_log(
        tmp_path / "e/<b>",
        [500, 1000],
        loss=lambda update: 1 / update,
        valid_bleu=lambda update: 2000 / update,
    )
    run("report", tmp_path / "e", "--out", tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    assert re.findall("<h2[^>]*>([^<]*)", html) == [
        "Validation BLEU",
        "Training loss (nats per token)",
        "Origin",
    ]
    rows = re.findall(r'<th scope="row" dir="auto">([^<]*)</th><td>([^<]*)</td>', html)
    assert rows == [("&lt;b&gt;", "2.000"), ("&lt;b&gt;", "0.001"), ("member-0", "0.010")]
    assert "<b>" not in html
    chart = html[html.index('id="loss"') :]
    titles = re.findall("<title>member-0[^:]*: ([0-9.]*)</title>", chart)
    assert titles[-1] == "0.010" and 30 < len(titles) <= MOST_POINTS
    assert curves_page(find_logs(tmp_path / "e"), "x") == curves_page(
        find_logs(tmp_path / "e"), "x"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a log"),
        ("[1]\n", "not a log"),
        ('{"pairs": 3}\n', "no report yet"),
        ("", "no report yet"),
    ],
)
def test_logs_that_are_none(tmp_path, text, message):
    (tmp_path / "metrics.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        curves_page(find_logs(tmp_path), "")


def test_other_folders_have_no_logs(tmp_path):
    assert find_logs(tmp_path) == [] == find_logs(tmp_path / "missing")
