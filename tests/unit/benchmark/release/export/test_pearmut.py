"""Campaigns for human evaluation."""

import importlib.util
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from cgbench.benchmark.release.export.export import export
from cgbench.benchmark.release.export.pairs import Pairs
from cgbench.benchmark.release.export.pearmut import write_pearmut
from cgbench.errors import InputError

RELEASE = SimpleNamespace(is_split=True, signature="x", languages=("de", "en"))
HYPOTHESES = {
    "base": ["He waits.", "Cats.", "Dogs!"],
    "mine": ["He is waiting.", "<img src=x>", "Dogs sleep."],
}


def pairs(**columns):
    rows = [
        {
            "source": source,
            "target": "?",
            "doc": f"line-{line}",
            "document": f"line-{line}",
            "domain": "d",
            "figures": {"line": line},
            **{name: values[number] for name, values in columns.items()},
        }
        for number, (line, source) in enumerate(
            zip((4, 7, 9), ("Er wartet.", "Katzen.", "Hunde."), strict=True)
        )
    ]
    return Pairs(RELEASE, rows)


def campaign(folder, *, columns=None, **options):
    folder.mkdir()
    write_pearmut(pairs(**columns or {}), folder, hypotheses=HYPOTHESES, **options)
    return json.loads((folder / "campaign.json").read_text(encoding="utf-8"))


def test_contrastive_esa_shows_all_systems_on_a_page(tmp_path):
    found = campaign(tmp_path / "out", protocol="cESA", users=3, seed=5)
    assert found["info"] == {
        "assignment": "single-stream",
        "protocol": "cESA",
        "users": 3,
        "shuffle": True,
        "seed": 5,
    }
    item = {"item_id": "4", "document": "line-4", "src": "Er wartet."}
    assert found["data"][0] == [{**item, "tgt": {"base": "He waits.", "mine": "He is waiting."}}]
    assert [[item["item_id"] for item in page] for page in found["data"]] == [["4"], ["7"], ["9"]]
    assert found["data"][1][0]["tgt"]["mine"] == " <img src=x>"  # the page would load it


def test_esa_shows_one_system_on_a_page_and_a_document_is_a_page(tmp_path):
    found = campaign(tmp_path / "out", columns={"document": ["news", "talk", "news"]})
    assert found["info"]["protocol"] == "ESA"
    pages = [
        [(item["item_id"], item["document"], *item["tgt"]) for item in page]
        for page in found["data"]
    ]
    assert pages == [
        [("4", "news", "base"), ("9", "news", "base")],
        [("4", "news", "mine"), ("9", "news", "mine")],
        [("7", "talk", "base")],
        [("7", "talk", "mine")],
    ]
    assert found["campaign_id"] != campaign(tmp_path / "other", seed=1)["campaign_id"]


def test_a_release_is_exported_with_the_outputs_of_systems(small_release, tmp_path):
    lines = list(small_release.lines("target"))
    (tmp_path / "mine.txt").write_text("".join(f"{line}\n" for line in lines))
    systems = {"mine": tmp_path / "mine.txt", "other": lines}
    files = export(small_release, "pearmut", tmp_path / "out", hypotheses=systems, protocol="cESA")
    assert files == ["campaign.json"]
    data = json.loads((tmp_path / "out" / "campaign.json").read_text(encoding="utf-8"))["data"]
    assert [page[0]["tgt"] for page in data] == [{"mine": line, "other": line} for line in lines]
    assert [page[0]["item_id"] for page in data] == [
        str(row["line"]) for row in small_release.split()
    ]


@pytest.mark.parametrize(
    ("to", "options", "said"),
    [
        ("lm-eval", {"hypotheses": {"a": ["x"]}}, "hypotheses has no effect on to"),
        ("lm-eval", {"users": 2}, "users has no effect on to"),
        ("pearmut", {}, "needs outputs of systems"),
        ("pearmut", {"hypotheses": {"a": ["x"]}}, "hypotheses of a has 1 lines"),
        ("pearmut", {"hypotheses": {"a": [["x"], ["y"]]}}, "one file per system"),
    ],
)
def test_unsuitable_outputs_are_one_line(small_release, tmp_path, to, options, said):
    with pytest.raises(InputError, match=said):
        export(small_release, to, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_names_that_pearmut_refuses(tmp_path):
    for name in ("12", 'my "best"'):
        with pytest.raises(InputError, match="rename the system"):
            write_pearmut(pairs(), tmp_path, hypotheses={name: ["", "", ""]})


PEARMUT = os.environ.get("CGBENCH_PEARMUT") or (
    sys.executable if importlib.util.find_spec("pearmut") else None
)
"""A Python that has Pearmut."""


@pytest.mark.skipif(
    PEARMUT is None,
    reason="Pearmut is not installed (pip install pearmut; or CGBENCH_PEARMUT=PYTHON)",
)
@pytest.mark.parametrize("protocol", ["ESA", "cESA"])
def test_pearmut_loads_the_campaign(tmp_path, protocol):
    found = campaign(tmp_path / "out", protocol=protocol, users=2)
    words = [
        PEARMUT,
        "-c",
        "from pearmut.cli import main; main()",
        "add",
        str(tmp_path / "out" / "campaign.json"),
    ]
    environment = {**os.environ, "PEARMUT_ROOT": str(tmp_path), "PYTHONPATH": ""}
    added = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert "Warning" not in added.stdout and added.stdout.count("user_id=") == 2
    stored = json.loads(
        (tmp_path / "data" / "campaigns" / f"{found['campaign_id']}.json").read_text()
    )
    assert len(stored["data"]) == (3 if protocol == "cESA" else 6)
