"""Exports to other tools: a metric that cuts the language, and targets of other packages."""

import importlib.util
import sys
from types import SimpleNamespace

import pyarrow.parquet
import pytest
import yaml
from installed_packages import install
from small_build import write_release

from cgbench.benchmark.release.export import lm_eval
from cgbench.benchmark.release.export.export import export
from cgbench.benchmark.release.export.lm_eval import write_lm_eval
from cgbench.benchmark.release.export.pairs import Pairs
from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError

RAW = [("Dogs sleep, too.", "狗也睡觉。"), ("Cats don't.", "猫不睡觉。"), ("He waits.", "他在等。")]


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    """A release of two of the three pairs of a pool, in lower case and cut into characters."""
    form = {"tokenize": "zh=char", "lowercase": True}
    folder = write_release(tmp_path / "release", {}, languages=["en", "zh"], configuration=form)
    monkeypatch.setattr(lm_eval, "shots_of", lambda pairs: {"source": ["a"], "target": ["b"]})
    rows = [
        {
            "source": RAW[line][0],
            "target": RAW[line][1],
            "doc": f"line-{line + 1}",
            "domain": "d",
            "document": f"line-{line + 1}",
            "figures": {"pool": 1, "pool_line": line + 1},
        }
        for line in (2, 0)
    ]
    return Pairs(Release.open(folder), rows)


def exported(pairs, folder):
    folder.mkdir()
    write_lm_eval(pairs, folder)
    table = pyarrow.parquet.read_table(folder / "test.parquet")
    return list(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))


def test_the_metric_cuts_chinese(pairs, tmp_path):
    exported(pairs, tmp_path / "task")
    text = (tmp_path / "task" / "cgbench_en_zh.yaml").read_text()
    assert "aggregation: !function pairs.bleu\n" in text
    task = yaml.safe_load(text.replace("!function ", ""))
    assert [one["metric"] for one in task["metric_list"]] == ["bleu", "chrf"]
    made = importlib.util.spec_from_file_location("pairs", tmp_path / "task" / "pairs.py")
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    longer = "狗也睡觉，猫不睡觉。"  # noqa: RUF001
    assert module.bleu([(f" {longer}", longer), (RAW[0][1], [RAW[0][1]])]) == pytest.approx(100)
    assert 0 < module.bleu([(longer, longer[:-3]), (longer, longer)]) < 100


def test_a_language_with_blanks_has_the_metrics_of_the_harness(pairs, tmp_path):
    pairs.release.manifest["languages"] = ["zh", "en"]
    exported(pairs, tmp_path / "task")
    task = yaml.safe_load(
        (tmp_path / "task" / "cgbench_zh_en.yaml").read_text().replace("!function ", "")
    )
    assert task["metric_list"] == [{"metric": name} for name in ("bleu", "chrf", "ter")]
    assert "def bleu" not in (tmp_path / "task" / "pairs.py").read_text()


def write_tsv(pairs, folder):
    """The example of docs/how-to/add-an-export-target.md."""
    with (folder / "pairs.tsv").open("w", encoding="utf-8") as file:
        print("source", "target", "degree", sep="\t", file=file)
        for row in pairs.rows:
            print(row["source"], row["target"], row["figures"]["degree"], sep="\t", file=file)


def test_a_target_of_another_package(small_release, tmp_path, monkeypatch):
    targets = {"my-tsv": f"{__name__}:write_tsv", "bad": "no:x"}
    install(monkeypatch, {"cgbench.exports": targets})
    monkeypatch.setitem(
        sys.modules, __name__, sys.modules.get(__name__, SimpleNamespace(write_tsv=write_tsv))
    )
    assert export(small_release, "my-tsv", tmp_path / "out") == ["pairs.tsv"]
    rows = [line.split("\t") for line in (tmp_path / "out" / "pairs.tsv").read_text().splitlines()]
    assert rows[0] == ["source", "target", "degree"] and len(rows) == len(small_release.split()) + 1
    assert [row[0] for row in rows[1:]] == list(small_release.lines("source"))
    with pytest.raises(InputError, match=r"no:x cannot be loaded"):
        export(small_release, "bad", tmp_path / "bad")
    with pytest.raises(InputError, match=r"no such target; did you mean my-tsv"):
        export(small_release, "my-tvs", tmp_path / "bad")
    assert not (tmp_path / "bad").exists()
