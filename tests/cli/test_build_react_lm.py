"""build-react with a language model: a column, its figures, a cut, and what verify makes of
them.
"""

import json

import numpy as np
import pyarrow.parquet
import pytest
from small_build import CANDIDATES, SMALL, copy_build, rehash
from small_release import build_release

pytest.importorskip("kenlm")


@pytest.fixture(scope="module")
def built(tmp_path_factory, small_release, corpora, demo):
    """A build with a language model of the target side, which is beside it, as the screen is; tests
    only read it.
    """
    from cgbench.lm.training import train_lm

    folder = tmp_path_factory.mktemp("lm")
    train_lm(demo / "train.en", folder / "en.arpa", order=3)
    words = ["--lm", folder / "en.arpa", "--set", "drop_perplexity=1/10", "--set", "drop=1/30"]
    out = copy_build(small_release.folder, folder / "release")
    _, result = build_release(corpora, out, *words, "--set", "drop_reference=0")
    (folder / "screen").write_text(result.stdout)
    return out


def test_a_column_its_figures_and_its_place_in_the_manifest(built, run):
    from cgbench.lm.language_model import LanguageModel
    from cgbench.steps import hash_file

    out, path = built, built.parent / "en.arpa"
    table = pyarrow.parquet.read_table(out / CANDIDATES).to_pandas()
    rows = [json.loads(line) for line in (out / "split.jsonl").read_text().splitlines()]
    test = (out / "test.en").read_text().splitlines()
    assert [row["perplexity"] for row in rows] == LanguageModel.load(path).perplexity(test).tolist()
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["inputs"]["lm"] == {
        "path": path.name,
        "sha256": hash_file(path),
        "side": "target",
    }
    assert manifest["figures"]["perplexity"]["q100"] == table["perplexity"].max()
    assert manifest["figures"]["selected"]["perplexity"]["mean"] == pytest.approx(
        np.mean([row["perplexity"] for row in rows])
    )
    assert (
        f"--lm {path.name}" in manifest["command"]
        and "--set drop_perplexity=1/10" in manifest["command"]
    )
    assert "kenlm" in manifest["versions"]
    assert "perplexity of the test set" in (out.parent / "screen").read_text()
    assert (
        "the 30 candidates with the highest perplexity were dropped first"
        in (out / "README.md").read_text()
    )
    run("verify", out)


def test_the_cut_by_perplexity(built):
    table = pyarrow.parquet.read_table(built / CANDIDATES).to_pandas()
    dropped = table["stage"] == "dropped_perplexity"
    counts = json.loads((built / "manifest.json").read_text())["counts"]
    assert dropped.sum() == counts["dropped_perplexity"] == 30 and counts["dropped"] == 10
    assert table["perplexity"][dropped].min() >= table["perplexity"][~dropped].max()
    # of the others, by uncertainty: dropped, then the window, then the rest
    order = table[~dropped].sort_values("rank")["stage"].tolist()
    assert set(order[:10]) == {"dropped"} and set(order[10:100]) == {"window", "selected"}
    assert set(order[100:]) == {"rest"}


def test_the_other_side_without_a_cut_and_without_an_ensemble(corpora, built, run, tmp_path):
    words = [
        "build-react",
        *corpora,
        *SMALL,
        "--lm",
        built.parent / "en.arpa",
        "--until",
        "candidates",
    ]
    words += ["--set", "lm_side=source"]
    run(*words, "--out", tmp_path / "out")
    table = pyarrow.parquet.read_table(tmp_path / "out" / CANDIDATES)
    assert table.column_names[0] == "translation" and table.column_names[-1] == "perplexity"
    assert (
        json.loads((tmp_path / "out" / "manifest.json").read_text())["inputs"]["lm"]["side"]
        == "source"
    )
    run("verify", tmp_path / "out")
    assert (
        "perplexity: kept" in run(*words, "--out", tmp_path / "out", "--set", "explain=true").stderr
    )
    words[words.index("lm_side=source")] = "lm_side=target"
    explained = run(*words, "--out", tmp_path / "out", "--set", "explain=true").stderr
    assert "perplexity: runs (changed: config.side source -> target)" in explained


def test_without_a_model_nothing_speaks_of_one(small_release):
    text = (small_release.folder / "README.md").read_text()
    assert not any(word in text for word in ("drop_perplexity", "lm_side", "--lm", "kenlm"))
    assert "perplexity" not in small_release.table().column_names


def test_verify_draws_the_split_again_and_counts_the_stages(release, failed):
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["counts"]["dropped_perplexity"] += 1
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert "counts" in failed(release)
    table = pyarrow.parquet.read_table(release / CANDIDATES)
    at = table.column_names.index("perplexity")
    swapped = table.set_column(at, "perplexity", table["perplexity"].combine_chunks()[::-1])
    pyarrow.parquet.write_table(swapped, release / CANDIDATES)
    rehash(release)
    assert {"split redrawn", "statistics"} <= set(failed(release))
