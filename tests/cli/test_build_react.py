import gzip
import json
import re
import shutil
import subprocess
import sys

import pyarrow.parquet
import pytest
from small_build import CANDIDATES, MORE, SMALL, copy_build, release_bytes

from cgbench.data_recipes.demo.corpus import write_demo


@pytest.fixture
def release(small_release):
    return small_release.folder


def split(folder):
    return [json.loads(line) for line in (folder / "split.jsonl").read_text().splitlines()]


def test_the_release_is_whole_and_consistent(release, demo):
    manifest = json.loads((release / "manifest.json").read_text())
    rows, pool = (
        split(release),
        [(demo / f"pool.{side}").read_text().splitlines() for side in ("de", "en")],
    )
    tests = [(release / f"test.{side}").read_text().splitlines() for side in ("de", "en")]
    counts = manifest["counts"]
    assert counts["candidates"] == 300
    stages = ("dropped", "dropped_reference", "window", "selected")
    assert [counts[stage] for stage in stages] == [0, 15, 90, 35]
    assert len(rows) == len(tests[0]) == len(tests[1]) == 35
    assert counts["pool"] == 2500 > counts["known_words"] > counts["within_length"] >= 300
    for row, source, target in zip(rows, *tests, strict=True):
        assert source == pool[0][row["line"] - 1] and target == pool[1][row["line"] - 1]
        assert (
            row["source_length"] == len(source.split())
            and row["target_length"] == len(target.split()) >= 6
        )
        assert row["degree"] == row["pieces"] / row["target_length"]
        assert (
            0 < row["rank"] <= 105
        )  # of all; up to 15 of those before it may have been dropped for their reference
        assert row["rmi"] > 0 and abs(row["epkl"] - row["mutual_information"] - row["rmi"]) < 1e-4
        assert isinstance(row["hypothesis"], str)
    for key in ("configuration", "inputs", "versions", "seeds", "command", "signature", "files"):
        assert manifest[key]
    assert manifest["seeds"]["members"] == [1, 2]
    assert len(list(release.parent.glob("release.work/.cgbench/uncertainty/*/part-*.jsonl"))) == 3


def test_candidates_are_clean(release, demo):
    """No duplicates on either side, nothing that occurs in training or in the excluded corpus."""
    lines = pyarrow.parquet.read_table(release / CANDIDATES)["line"].to_pylist()
    for side in ("de", "en"):
        pool = (demo / f"pool.{side}").read_text().splitlines()
        texts = [pool[line - 1] for line in lines]
        assert len(set(texts)) == len(texts)
        for name in ("train", "valid"):
            assert not set(texts) & set((demo / f"{name}.{side}").read_text().splitlines())


def test_the_screen_shows_counts_quantiles_pairs_and_what_comes_next(release):
    text = (release.parent / "screen").read_text()
    for words in ("pairs in the pool", "median", "cover", "cgbench verify", "ensemble"):
        assert words in text
    assert text.count("  cover  ") == 5


def test_its_members_are_the_ensemble_that_the_screen_names(release, run):
    (line,) = (
        line
        for line in (release.parent / "screen").read_text().splitlines()
        if "cgbench translate" in line
    )
    words = line.split()
    model, source = words[words.index("--model") + 1], words[words.index("<") + 1]
    assert model == f"{release}.work/ensemble"
    listing = json.loads((release.parent / "release.work/ensemble/ensemble.json").read_text())
    assert listing == {"format": 1, "members": ["member-0", "member-1"]}
    result = run("translate", source, "--model", model, "--beam", "2", "--max-length-ratio", "0.1")
    assert result.stdout.splitlines() == [row["hypothesis"] for row in split(release)]


def test_a_folder_of_that_name_that_no_build_made_is_refused_before_anything_runs(
    corpora, run, tmp_path
):
    (tmp_path / "x.work/.cgbench").mkdir(parents=True)
    (tmp_path / "x.work/ensemble").mkdir()
    for more in ([], ["--dry-run"]):
        result = run("build-react", *corpora, *SMALL, "--out", tmp_path / "x", *more, status=2)
        assert (
            f"{tmp_path / 'x.work/ensemble'}: is in the way of this build's members"
            in result.stderr
        )
    assert not list((tmp_path / "x.work/.cgbench").glob("*/*"))


def test_the_card_escapes_html(release):
    card = (release / "README.md").read_text()
    outside_code = "".join(card.split("```")[::2])
    assert "MIT &lt;b&gt;" in outside_code and "<b>" not in outside_code
    headings = (
        "Abstract, How it was made, Statistics, Correlations, Examples, Use, Data source and"
        " licence, Limits"
    )
    assert all(f"## {heading}" in card for heading in headings.split(", "))


def test_a_folder_changes_no_byte_and_the_manifests_command_rebuilds(
    release, run, tmp_path, demo, monkeypatch
):
    import shlex

    monkeypatch.chdir(demo)
    manifest = json.loads((release / "manifest.json").read_text())
    words = shlex.split(manifest["command"])
    assert words[0] == "cgbench"
    words[words.index("DIR")] = str(tmp_path / "again")
    shutil.rmtree(copy_build(release, tmp_path / "again"))
    assert ": runs" not in run(*words[1:], "--set", "explain=true").stderr
    assert release_bytes(tmp_path / "again") == release_bytes(release)


def test_a_finished_build_is_kept_and_a_change_runs_only_what_depends_on_it(
    release, corpora, run, tmp_path
):
    copy_build(release, tmp_path / "release")
    words = [
        "build-react",
        *corpora,
        *SMALL,
        "--out",
        tmp_path / "release",
        *MORE,
        "--set",
        "explain=true",
    ]
    result = run(*words)
    assert ": runs" not in result.stderr and result.stderr.count(": kept") == 10
    assert release_bytes(tmp_path / "release") == release_bytes(release)
    result = run(*words, "--set", "beam=1", "--dry-run")
    assert (
        result.stdout.count("kept") == 7
        and "uncertainty: runs (changed: config.beam 2 -> 1)" in result.stdout
    )
    result = run(*words, "--set", "min_length=7", "--dry-run")
    assert "candidates: runs (changed: config.min_length 6 -> 7)" in result.stdout
    assert "member-0: kept" in result.stdout


def test_dry_run_writes_nothing(corpora, run, tmp_path):
    result = run(
        "build-react", *corpora, *SMALL, "--out", tmp_path / "x", "--dry-run", "--format", "json"
    )
    assert json.loads(result.stdout)["steps"][-2:] == [
        "uncertainty: runs (no earlier result)",
        "ensemble-quality: runs (no earlier result)",
    ]
    text = run("build-react", *corpora, *SMALL, "--out", tmp_path / "x", "--dry-run").stdout
    assert text.startswith("no earlier result, so these run: ") and text.count("runs") == 0
    assert not list(tmp_path.iterdir())


def test_until_candidates_needs_no_model(corpora, run, tmp_path):
    words = (
        "build-react",
        *corpora,
        "--preset",
        "demo",
        "--out",
        tmp_path / "x",
        "--until",
        "candidates",
    )
    result = run(*words, "--format", "json")
    manifest = json.loads(result.stdout)
    assert manifest["until"] == "candidates" and "selected" not in manifest["counts"]
    lines = (tmp_path / "x" / "candidates.en").read_text().splitlines()
    assert len(lines) == manifest["counts"]["candidates"]
    degrees = pyarrow.parquet.read_table(tmp_path / "x" / CANDIDATES)["degree"].to_pylist()
    assert degrees == sorted(degrees, reverse=True)
    run("verify", tmp_path / "x")


def test_until_candidates_loads_no_heavy_package(corpora, tmp_path):
    """pyarrow imports pandas for arrays and lists, though nothing here needs a data frame."""
    words = ["build-react", *corpora, "--preset", "demo", "--out", tmp_path / "x"]
    code = (
        "import sys; from cgbench.cli import main;"
        f" main({[*map(str, words), '--until', 'candidates']}, standalone_mode=False);"
        " print({'pandas', 'torch', 'sacrebleu', 'spacy'} & {*sys.modules})"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.endswith("\nset()\n")


def test_files_of_the_users_own_are_left_alone(corpora, run, tmp_path):
    words = [
        "build-react",
        *corpora,
        "--preset",
        "demo",
        "--out",
        tmp_path / "x",
        "--until",
        "candidates",
    ]
    run(*words)
    for name in ("test.hypotheses", "candidates.notes"):
        (tmp_path / "x" / name).write_text("mine")
    run(*words, "--languages", "deu,eng")
    for name in ("test.hypotheses", "candidates.notes", "candidates.deu"):
        assert (tmp_path / "x" / name).exists()
    assert not (
        tmp_path / "x" / "candidates.de"
    ).exists()  # what the earlier release wrote under another name


def test_several_pools_of_any_form_are_one_pool(demo, run, tmp_path):
    pool = [(demo / f"pool.{side}").read_text().splitlines() for side in ("de", "en")]
    pairs = list(zip(*pool, strict=True))
    (tmp_path / "one.tsv").write_text("".join(f"7\t{s}\t{t}\n" for s, t in pairs[:700]))
    for side in (0, 1):
        text = "".join(pair[side] + "\n" for pair in pairs[700:])
        (tmp_path / f"two.{('de', 'en')[side]}.gz").write_bytes(gzip.compress(text.encode()))
    common = [
        "--train",
        demo / "train.de",
        demo / "train.en",
        "--preset",
        "demo",
        "--until",
        "candidates",
    ]
    run(
        "build-react",
        *common,
        "--pool",
        demo / "pool.de",
        demo / "pool.en",
        "--out",
        tmp_path / "a",
    )
    result = run(
        *(
            "build-react",
            *common,
            "--pool",
            tmp_path / "one.tsv",
            "--columns",
            "2,3",
            "--format",
            "json",
        ),
        *("--pool", tmp_path / "two.de.gz", tmp_path / "two.en.gz", "--out", tmp_path / "b"),
    )
    assert "--columns 2,3" in json.loads(result.stdout)["command"]
    for name in ("candidates.de", "candidates.en"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    first, second = (
        pyarrow.parquet.read_table(tmp_path / x / CANDIDATES).to_pylist() for x in "ab"
    )
    assert [row["line"] for row in first] == [row["line"] for row in second]
    assert {row["pool"] for row in second} == {1, 2}
    for row in second:
        assert row["pool_line"] == (row["line"] if row["pool"] == 1 else row["line"] - 700)


def test_an_ensemble_that_learned_nothing_stops_the_build_and_is_kept(corpora, run, tmp_path):
    assert SMALL[-1] == "accept_ensemble=true"
    words = ["build-react", *corpora, *SMALL[:-2], "--out", tmp_path / "x"]
    # Without a selection, nothing is selected wrongly.
    run(*words, "--until", "uncertainty")
    refused = run(*words, "--set", "explain=true", status=2)
    assert "no better than copying or a constant: the ensemble predicts" in refused.stderr
    assert "train longer" in refused.stderr and ": runs" not in refused.stderr
    manifest = json.loads((tmp_path / "x" / "manifest.json").read_text())
    assert manifest["until"] == "uncertainty"  # the earlier release stays
    accepted = run(*words, "--set", "accept_ensemble=true", "--set", "explain=true")
    assert ": runs" not in accepted.stderr
    assert (
        "--set accept_ensemble=true"
        in json.loads((tmp_path / "x" / "manifest.json").read_text())["command"]
    )


def test_an_ensemble_trained_before_can_be_used_and_one_of_another_corpus_cannot(
    demo, corpora, run, tmp_path
):
    run(
        *(
            "train-ensemble",
            "--train",
            demo / "train.de",
            demo / "train.en",
            "--valid",
            demo / "valid.de",
        ),
        *(demo / "valid.en", "--members", "2", "--model", "tiny", "--out", tmp_path / "ensemble"),
        *("--set", "training.max_updates=4", "--set", "text.merges=200"),
    )
    small = ["--preset", "demo", "--set", "candidates=100", "--set", "beam=1"]
    small += ["--ensemble", tmp_path / "ensemble"]
    refused = run("build-react", *corpora, *small, "--out", tmp_path / "a", status=2)
    assert "no better than copying or a constant: the ensemble predicts" in refused.stderr
    assert "; use another one, or select with it anyway (--set accept_ensemble=true)" in (
        refused.stderr
    )
    assert not (tmp_path / "a").exists()
    small += ["--set", "accept_ensemble=true"]
    run("build-react", *corpora, *small, "--out", tmp_path / "a")
    write_demo(tmp_path / "other", train_pairs=1_000, pool_pairs=10, valid_pairs=10, seed=9)
    other = [
        "--train",
        tmp_path / "other" / "train.de",
        tmp_path / "other" / "train.en",
        *corpora[3:],
    ]
    other += [*small, "--out", tmp_path / "b"]
    assert "trained on another source text" in run("build-react", *other, status=2).stderr
    assert (
        "trained on another source text" in run("build-react", *other, "--dry-run", status=2).stderr
    )
    shortened = tmp_path / "ensemble" / "member-1" / "model.safetensors"
    shortened.write_bytes(shortened.read_bytes()[:-100])
    assert (
        "model.safetensors"
        in run("build-react", *corpora, *small, "--out", tmp_path / "c", status=2).stderr
    )
    assert not (tmp_path / "c" / "manifest.json").exists()


def test_a_build_can_stop_before_the_selection_and_go_on(release, corpora, run, tmp_path):
    shutil.copytree(
        f"{release}.work", tmp_path / "x.work"
    )  # the steps are finished, the release is not
    words = ["build-react", *corpora, *SMALL, "--out", tmp_path / "x"]
    run(*words, "--until", "uncertainty")
    manifest = json.loads((tmp_path / "x" / "manifest.json").read_text())
    assert manifest["until"] == "uncertainty" and "uncertainty" in manifest["figures"]
    assert "selected" not in manifest["counts"]
    table = pyarrow.parquet.read_table(tmp_path / "x" / CANDIDATES).to_pydict()
    assert min(table["rmi"]) > 0 and "stage" not in table
    run("verify", tmp_path / "x")
    result = run(*words, "--set", "explain=true", "--set", "select=7")
    assert "runs" not in result.stderr  # the selection alone needs no step
    expected = {"test.de", "test.en", "split.jsonl", CANDIDATES, "data/test-00000-of-00001.parquet"}
    expected |= {"manifest.json", "README.md", "correlations.jsonl", "croissant.json"}
    assert {*release_bytes(tmp_path / "x")} == expected
    assert len(split(tmp_path / "x")) == 7
    run("verify", tmp_path / "x")


def test_the_estimate_is_printed_and_is_not_in_the_release(
    release, corpora, run, tmp_path, monkeypatch
):
    """On standard error, before the build begins; a build that takes days starts nevertheless."""
    from cgbench.benchmark.build.react import cost

    monkeypatch.setenv("CGBENCH_ESTIMATE", "1")
    counts = {"pool": 900, "known_words": 600, "within_length": 600, "candidates": 300}
    monkeypatch.setattr(cost, "_measure_text", lambda *texts: (1e-6, 1e-6, counts))
    monkeypatch.setattr(cost, "_time_model", lambda *model: (60.0, 1e-3))
    words = ["build-react", *corpora, *SMALL, "--out", tmp_path / "release", *MORE, "--jobs", "1"]
    result = run(*words, "--dry-run")
    assert re.search(r"members +[0-9]+ minutes", result.stdout) and "\ntotal" in result.stdout
    estimate = json.loads(run(*words, "--dry-run", "--format", "json").stdout)["estimate"]
    assert estimate["seconds"] > 60 and list(estimate["steps"])[-2:] == ["members", "uncertainty"]
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(cost, "_time_model", lambda *model: (1e6, 1e-3))
    shutil.rmtree(copy_build(release, tmp_path / "release"))
    shutil.rmtree(tmp_path / "release.work/.cgbench/member-1")
    assert "CPU cores; a GPU (--device cuda), --preset small" in run(*words).stderr
    assert release_bytes(tmp_path / "release") == release_bytes(release)
    assert "total" not in run(*words).stderr  # all steps are kept: there is nothing to wait for
