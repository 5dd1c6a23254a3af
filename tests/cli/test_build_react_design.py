"""``build-react --design stratified`` and ``score --estimate``: a sample that speaks for all
candidates.
"""

import numpy as np
import pytest
from small_build import CANDIDATES, copy_build, rehash, release_bytes
from small_release import build_release

from cgbench import evaluate
from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError

SAMPLE = ("--design", "stratified", "--set", "sample=90", "--set", "strata=4")


@pytest.fixture(scope="module")
def built(corpora, small_release, tmp_path_factory):
    """A release with a stratified sample and a control set; its members are those of the release
    without.
    """
    out = copy_build(small_release.folder, tmp_path_factory.mktemp("design") / "release")
    return build_release(corpora, out, *SAMPLE, "--control")[0]


def test_the_sample_stands_beside_the_same_test_set_and_verify_draws_it_again(
    built, small_release, run
):
    release = Release.open(built)
    assert release.lines("source") == small_release.lines("source")
    rows, table = release.set_rows("sample"), release.table()
    counts = release.manifest["counts"]
    assert len(rows) == counts["sample"] == 90 and "stage" not in rows[0]
    assert sum(1 / row["inclusion"] for row in rows) == pytest.approx(counts["candidates"])
    by_line = {row["line"]: row for row in table.to_pylist()}
    for row in rows:
        whole = by_line[row["line"]]
        assert whole["sampled"] and whole["sample_inclusion"] == row["inclusion"]
        assert whole["stratum"] == row["stratum"]
    inclusion = np.array(table["inclusion"])
    inside = np.isin(table["stage"].to_pylist(), ("window", "selected"))
    assert (
        set(inclusion[inside]) == {counts["selected"] / counts["window"]}
        and not inclusion[~inside].any()
    )
    assert {row["inclusion"] for row in release.split()} == {counts["selected"] / counts["window"]}
    assert {row["inclusion"] for row in release.set_rows("control")} == {None}
    design = release.manifest["design"]
    assert design["control"] == {"population": None}
    assert design["test"] == {
        "population": "window",
        "pairs": counts["window"],
        "drawn": counts["selected"],
    }
    assert design["sample"] == {"population": "candidates", "pairs": 300, "drawn": 90, "strata": 4}
    assert min(np.bincount([row["stratum"] for row in rows])[1:]) >= 2
    card = (built / "README.md").read_text()
    assert "a stratified sample of all 300 candidates" in card and "speaks for no others" in card
    verified = run("verify", built).stdout
    assert "ok      inclusion and strata" in verified and "DIFFERS" not in verified


def test_the_same_command_writes_the_same_bytes(built, corpora, tmp_path):
    out = copy_build(built, tmp_path / "again")
    assert release_bytes(build_release(corpora, out, *SAMPLE, "--control")[0]) == release_bytes(
        built
    )


@pytest.mark.parametrize("column", ["inclusion", "sample_inclusion", "hypothesis_chrf"])
def test_verify_finds_a_changed_probability(release, failed, column):
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(release / CANDIDATES)
    values = np.array(table[column].to_pylist())
    values[5:150] += 0.001 if "inclusion" in column else values[5:150]
    table = table.set_column(table.column_names.index(column), column, [values])
    pyarrow.parquet.write_table(table, release / CANDIDATES)
    rehash(release)
    assert "inclusion and strata" in failed(release)


def test_estimates_weigh_every_pair_by_its_probability(built):
    release = Release.open(built)
    scores = np.arange(90.0) % 7
    found = evaluate(
        "chrf",
        list(release.set_lines("sample", "target")),
        release=built,
        examples={"estimate": "candidates"},
    )
    assert (
        found.score == 100
        and "estimate for 300 candidates, from 90 of them in 4 strata" in repr(found)
    )
    assert "estimate:candidates|design:jackknife" in found.signature

    from cgbench import import_scores

    shown = import_scores(
        {"a": scores.tolist()}, texts={"release": built}, examples={"estimate": "candidates"}
    )
    weights = np.array([1 / row["inclusion"] for row in release.set_rows("sample")])
    assert shown.score == pytest.approx(scores @ weights / weights.sum())
    assert shown.results[0].whole.figures["score"].ci_low < shown.score


def test_a_population_that_was_not_drawn_is_refused(built, small_release, run):
    test = small_release.folder / "test.en"
    words = (
        "score",
        "bleu",
        "--release",
        small_release.folder,
        "--estimate",
        "window",
        "--hyp",
        f"A={test}",
    )
    assert "estimate for 90 candidates in the window, from 35 of them" in run(*words).stdout
    assert (
        "--set samples has no effect with --estimate"
        in run(*words, "--set", "samples=50", status=2).stderr
    )
    for folder, name, population, message in (
        (
            small_release.folder,
            "test",
            "candidates",
            "the test set was not drawn from 210 of the 300 candidates",
        ),
        (
            built,
            "sample",
            "pool",
            "2,200 of the 2,500 pairs of the pool are not candidates (they have a rare word",
        ),
    ):
        result = run(
            "score",
            "bleu",
            "--release",
            folder,
            "--estimate",
            population,
            "--hyp",
            folder / f"{name}.en",
            status=2,
        )
        assert message in result.stderr
    with pytest.raises(InputError, match="give release"):
        evaluate("bleu", ["a"], ["a"], examples={"estimate": "candidates"})
    with pytest.raises(InputError, match="takes examples as drawn alike"):
        lines = Release.open(built).set_lines("sample", "target")
        evaluate(
            "bleu",
            {"a": lines, "b": lines},
            release=built,
            examples={"estimate": "candidates"},
            paired="bootstrap",
        )


def test_too_small_a_sample_stops_before_training(corpora, tmp_path, run):
    result = run(
        "build-react",
        *corpora,
        "--preset",
        "demo",
        "--model",
        "tiny",
        "--design",
        "stratified",
        "--set",
        "sample=19",
        "--set",
        "candidates=700",
        "--out",
        tmp_path / "release",
        status=2,
    )
    assert (
        "sample: 19 of 700 candidates cannot have 2 draws from each of 10 strata" in result.stderr
    )
