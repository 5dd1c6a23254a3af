"""A campaign is exported, Pearmut shows it, a person in a browser judges two pages, and the
judgements are read.

Pearmut is run by this Python, or by the one that CGBENCH_PEARMUT names.
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from types import SimpleNamespace
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from cgbench.benchmark.release.export.pairs import Pairs
from cgbench.benchmark.release.export.pearmut import write_pearmut
from cgbench.benchmark.score.outputs.score_readers import read_score_columns

PEARMUT = os.environ.get("CGBENCH_PEARMUT") or (
    sys.executable if importlib.util.find_spec("pearmut") else None
)
RELEASE = SimpleNamespace(is_split=True, signature="x", languages=("de", "en"))
TEXTS = [("Er wartet.", "news"), ("Katzen <b> schlafen.", "news"), ("Hunde.", "talk")]
SCORES = """(first) => document.querySelectorAll("input[type=range]").forEach((one, number) => {
    one.value = first - 5 * number;
    for (const name of ["input", "change"]) one.dispatchEvent(new Event(name, { bubbles: true }));
})"""


@pytest.fixture
def served(tmp_path):
    """A running Pearmut with an exported campaign: its address, and the name of the campaign."""
    if PEARMUT is None:
        pytest.skip("Pearmut is not installed (pip install pearmut; or CGBENCH_PEARMUT=PYTHON)")
    rows = [
        {"source": text, "target": "?", "document": document, "figures": {"line": line}}
        for line, (text, document) in enumerate(TEXTS, 5)
    ]
    hypotheses = {
        "base": ["He waits.", "Cats sleep.", "Dogs."],
        "mine": ["He is waiting.", "Cats.", "Dogs bark."],
    }
    write_pearmut(Pairs(RELEASE, rows), tmp_path, hypotheses=hypotheses, protocol="cESA", users=1)
    campaign = json.loads((tmp_path / "campaign.json").read_text(encoding="utf-8"))["campaign_id"]
    words = [PEARMUT, "-c", "from pearmut.cli import main; main()"]
    environment = {**os.environ, "PEARMUT_ROOT": str(tmp_path), "PYTHONPATH": ""}
    subprocess.run([*words, "add", str(tmp_path / "campaign.json")], env=environment, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([*words, "run", "--port", str(port)], env=environment, cwd=tmp_path)
    address = f"http://localhost:{port}"
    try:
        for _ in range(100):
            try:
                urlopen(f"{address}/annotate", timeout=5).close()
                break
            except URLError:
                time.sleep(0.2)
        yield address, campaign
    finally:
        server.terminate()
        server.wait()


def test_a_page_is_judged_in_a_browser_and_read_back(served, browser, tmp_path):
    address, campaign = served
    (user,) = json.loads((tmp_path / "data" / "progress" / f"{campaign}.json").read_text())
    page = browser.new_page()
    page.goto(f"{address}/annotate?campaign_id={campaign}&user_id={user}")
    shown = []
    for first in (95, 90):
        page.wait_for_selector("#button_next[value^=Incomplete]")
        shown.append(page.locator(".output_src").all_inner_texts())
        page.evaluate(SCORES, first)
        page.wait_for_selector("#button_next:not([disabled])[value*='✅']")
        with page.expect_response("**/log-response"):
            page.click("#button_next")
    page.close()
    assert sorted(map(len, shown)) == [1, 2]  # a page is a document
    with urlopen(f"{address}/download-annotations?campaign_id={campaign}") as answer:
        (tmp_path / "annotations.json").write_bytes(answer.read())
    columns = read_score_columns({"": tmp_path / "annotations.json"})
    assert sorted(columns) == ["base", "mine"]
    (base,), (mine,) = columns["base"], columns["mine"]
    assert base.ids == mine.ids == ["5", "6", "7"]
    assert base.columns["document"] == ["news", "news", "talk"] and set(base.columns["rater"]) == {
        user
    }
    scores = {float(value) for column in (base, mine) for value in column.values}
    assert scores == ({95, 90, 85, 80} if len(shown[0]) == 2 else {95, 90, 85, 80, 75})
