"""What the ensemble says of the given translations: columns, figures, a cut, and what reads
them.
"""

import json

import numpy as np
import pyarrow.parquet
import pytest
from small_build import CANDIDATES, SMALL, copy_build
from small_release import build_release

from cgbench.benchmark.candidates.selection import given_degree, parts_of_candidates
from cgbench.models.config.measures import SEQUENCE_MEASURES

DROP = ("--set", "drop_reference=1/10", "--set", "drop=1/30")


@pytest.fixture(scope="module")
def release(tmp_path_factory, small_release, corpora):
    """A build that drops a tenth by the reference; tests only read it. The screen is beside it."""
    out = copy_build(small_release.folder, tmp_path_factory.mktemp("reference") / "release")
    _, result = build_release(corpora, out, *DROP, "--set", "drop_by=reference_pe_stu")
    (out.parent / "screen").write_text(result.stdout)
    return out


@pytest.fixture(scope="module")
def table(release):
    return pyarrow.parquet.read_table(release / CANDIDATES).to_pandas()


def test_every_measure_of_every_reference(release, table):
    names = [f"reference_{name}" for name in SEQUENCE_MEASURES]
    assert [name for name in table.columns if name.startswith("reference_")] == names
    assert np.isfinite(table[names].to_numpy()).all()
    rows = [json.loads(line) for line in (release / "split.jsonl").read_text().splitlines()]
    of_line = table.set_index("line")
    for row in rows:
        assert [row[name] for name in names] == of_line.loc[row["line"], names].tolist()
    # What was translated by the ensemble itself is what it finds likely.
    assert (table["reference_pe_stu"] > table["pe_stu"]).mean() > 0.9
    assert table["reference_pe_stu"].std() > 0.01


def test_the_cut_by_the_reference(release, table):
    dropped = table["stage"] == "dropped_reference"
    manifest = json.loads((release / "manifest.json").read_text())
    assert dropped.sum() == manifest["counts"]["dropped_reference"] == 30
    assert table["reference_pe_stu"][dropped].min() >= table["reference_pe_stu"][~dropped].max()
    # of the others, by uncertainty: dropped, then the window, then the rest
    drop, window = (manifest["counts"][key] for key in ("dropped", "window"))
    order = table[~dropped].sort_values("rank")["stage"].tolist()
    assert set(order[:drop]) == {"dropped"} and set(order[drop : drop + window]) == {
        "window",
        "selected",
    }
    assert set(order[drop + window :]) == {"rest"}


def test_the_cut_given_degree(release, table, corpora, run, tmp_path):
    out = copy_build(release, tmp_path / "release")
    build_release(corpora, out, *DROP)  # as the preset says
    configuration = json.loads((out / "manifest.json").read_text())["configuration"]
    assert configuration["drop_by"] == "reference_pe_stu_given_degree"
    other = pyarrow.parquet.read_table(out / CANDIDATES).to_pandas()
    dropped = other["stage"] == "dropped_reference"
    assert dropped.sum() == 30 and (dropped != (table["stage"] == "dropped_reference")).any()
    parts = parts_of_candidates(other, {"seed": 1, "degree_side": "target"})
    found = given_degree(other["reference_pe_stu"].to_numpy(), parts)
    assert found[dropped].min() >= found[~dropped].max()
    assert (
        "least likely for candidates of similar degree and length (`drop_r"
        in (out / "README.md").read_text()
    )
    assert "DIFFERS" not in run("verify", out).stdout


def test_what_is_said_of_it(release, table):
    manifest = json.loads((release / "manifest.json").read_text())
    assert manifest["figures"]["reference"]["q100"] == table["reference_pe_stu"].max()
    chosen = table[table["stage"] == "selected"]["reference_pe_stu"]
    assert manifest["figures"]["selected"]["reference"]["mean"] == pytest.approx(chosen.mean())
    assert "--set drop_reference=1/10" in manifest["command"]
    card, screen = (release / "README.md").read_text(), (release.parent / "screen").read_text()
    assert (
        "the 30 candidates whose references the ensemble finds least likely (`drop_reference`"
        in card
    )
    assert "The paper has no such step" in card
    for text in (card, screen):
        assert "dropped: the least likely references" in text
    assert "reference of the test set" in screen and "| reference, test set |" in card


def test_verify_and_score_read_it(release, run, tmp_path):
    assert "DIFFERS" not in run("verify", release).stdout
    scored = run(
        "score", "exact", "--release", release, "--hyp", release / "test.en", "--by", "reference"
    ).stdout
    assert "reference" in scored and "100.0" in scored


@pytest.fixture(scope="module")
def reverse(tmp_path_factory, demo, run):
    """An ensemble of the other direction: one member, a few updates."""
    out = tmp_path_factory.mktemp("reverse") / "ensemble"
    words = [
        "train-ensemble",
        "--train",
        demo / "train.en",
        demo / "train.de",
        "--languages",
        "en,de",
        "--out",
        out,
    ]
    words += [
        "--model",
        "tiny",
        "--members",
        "1",
        "--set",
        "training.max_updates=8",
        "--set",
        "text.merges=300",
    ]
    run(*words)
    return out


def test_a_reverse_ensemble(release, reverse, corpora, run, tmp_path):
    """Two columns, a cut by the second, and what reads them."""
    out = copy_build(release, tmp_path / "out")
    words = ("--set", f"reverse_ensemble={reverse}", "--set", "drop_reference=1/10")
    build_release(corpora, out, *words, "--set", "drop_by=dual_cross_entropy")
    table = pyarrow.parquet.read_table(tmp_path / "out" / CANDIDATES).to_pandas()
    forward, back = table["reference_pe_stu"], table["reverse_pe_stu"]
    assert np.allclose(
        table["dual_cross_entropy"], (forward - back).abs() + (forward + back) / 2, rtol=1e-12
    )
    assert back.std() > 0 and not np.allclose(forward, back)
    dropped = table["stage"] == "dropped_reference"
    assert dropped.sum() == 30
    assert table["dual_cross_entropy"][dropped].min() >= table["dual_cross_entropy"][~dropped].max()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["inputs"]["reverse_ensemble"]["path"] == reverse.name
    assert f"--set reverse_ensemble={reverse.name}" in manifest["command"]
    assert (
        "by `dual_cross_entropy`) were dropped before the most uncertain"
        in (tmp_path / "out/README.md").read_text()
    )
    assert "DIFFERS" not in run("verify", tmp_path / "out").stdout
    again = (
        "build-react",
        *corpora,
        *SMALL,
        "--set",
        f"reverse_ensemble={reverse}",
        "--out",
        out,
        "--dry-run",
    )
    assert "reverse: kept" in run(*again, "--set", "drop_reference=0").stdout


def test_a_reverse_ensemble_that_goes_the_way_of_the_build_is_refused(
    release, reverse, corpora, run, tmp_path
):
    words = ["build-react", *corpora, *SMALL, "--out", tmp_path / "out"]
    for extra in ((), ("--dry-run",)):
        setting = f"reverse_ensemble={release}.work/ensemble"
        said = run(*words, "--set", setting, *extra, status=2).stderr
        assert "this ensemble translates in the direction of the build" in said
        assert said.count("\n") == 1
    assert (
        "contains no trained model"
        in run(*words, "--set", f"reverse_ensemble={tmp_path / 'nowhere'}", status=2).stderr
    )
    for name in ("dual_cross_entropy", "reverse_pe_stu"):
        said = run(*words, "--set", f"drop_by={name}", status=2).stderr
        assert (
            f"drop_by: {name} needs a reverse-direction ensemble; give one with"
            " --set reverse_ensemble" in said
        )
