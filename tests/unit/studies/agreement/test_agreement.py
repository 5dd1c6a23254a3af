"""``score agreement``: judgements and scores as files, raters, intervals and tests, errors."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from cgbench import InputError
from cgbench.cli import main
from cgbench.studies.agreement.agreement import PEOPLE, RANDOM, agreement
from cgbench.studies.agreement.measures import MEASURES

SYSTEMS = ("Alpha", "Beta", "Gamma")
ITEMS = 60


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Ratings by two of three raters each, and two metrics: a good one, and a weak error rate."""
    folder, draw = tmp_path_factory.mktemp("agreement"), np.random.default_rng(1)
    quality = draw.normal(size=(len(SYSTEMS), ITEMS)) + np.linspace(0, 0.5, 3)[:, None]
    ratings = ["system\tseg_id\trater\tscore"]
    metrics = {"good": [], "weak": []}
    for system, row in zip(SYSTEMS, quality, strict=True):
        for item, value in enumerate(row, 1):
            for rater in draw.choice(["ann", "bob", "cy"], 2, replace=False):
                score = round(50 + 10 * value + draw.normal(0, 4))
                ratings.append(f"{system}\t{item}\t{rater}\t{score}")
            metrics["good"].append(f"{system}\t{value + draw.normal(0, 0.3)}")
            metrics["weak"].append(f"{system}\t{-value + draw.normal(0, 3)}")
    (folder / "human.tsv").write_text("\n".join(ratings) + "\n")
    for name, lines in metrics.items():
        (folder / f"{name}.seg.score").write_text("\n".join(lines) + "\n")
    return folder


def compared(files, **options):
    scores = {name: str(files / f"{name}.seg.score") for name in ("good", "weak")}
    options = {"samples": 200, "lower_is_better": ("weak",)} | options
    return agreement(str(files / "human.tsv"), scores, **options)


def test_metrics_stand_between_random_scores_and_people(files):
    pytest.importorskip("krippendorff")
    result = compared(files)
    assert (result.systems, result.items, result.raters) == (3, ITEMS, 3)
    assert result.judgements == 2 * 3 * ITEMS and 0.6 < result.alpha[1] < result.alpha[0] < 1
    for measure in MEASURES:
        rows = {row.scorer: row for row in result.rows if row.measure == measure.name}
        assert list(rows) == [PEOPLE, "good", "weak", RANDOM]
        assert rows["good"].value > rows["weak"].value > rows[RANDOM].value
        assert rows["good"].low < rows["good"].value < rows["good"].high
        assert rows["good"].p_value is None and rows["weak"].difference < 0
    tests = {row.measure: row for row in result.rows if row.scorer == "weak"}
    assert tests["accuracy"].p_value < 0.02 and tests["pearson"].p_value < 0.02
    # Without its direction, an error rate disagrees with people.
    turned = compared(files, lower_is_better=())
    value = {row.scorer: row.value for row in turned.rows if row.measure == "kendall"}["weak"]
    assert value == pytest.approx(-tests["kendall"].value)


def test_holm_counts_all_pairs_of_metrics(files):
    pytest.importorskip("krippendorff")
    scores = {name: str(files / "good.seg.score") for name in ("one", "two", "three")}
    result = agreement(str(files / "human.tsv"), scores, samples=100)
    assert len(result.pairs) == 3 * len(MEASURES)
    assert all(pair.p_value == pair.p_holm == 1.0 for pair in result.pairs)


def test_the_command_prints_tables_and_json(files):
    pytest.importorskip("krippendorff")
    words = ["score", "agreement", "--human", f"{files}/human.tsv"]
    words += ["--scores", f"good={files}/good.seg.score"]
    text = CliRunner().invoke(main, words)
    assert text.exit_code == 0, text.output
    assert "360 judgements of 3 systems on 60 examples" in text.output
    assert "Krippendorff's alpha" in text.output and "soft accuracy" in text.output
    assert "with 3 systems, intervals of soft accuracy are wider than" in text.output
    result = json.loads(CliRunner().invoke(main, [*words, "--format", "json"]).output)
    assert {row["scorer"] for row in result["rows"]} == {PEOPLE, "good", RANDOM}
    assert set(result["alpha"]) == {"value", "low", "high"}


def test_one_table_with_people_and_metrics(tmp_path):
    """A human score and a metric as columns of one table."""
    draw = np.random.default_rng(2)
    lines = ["system\tseg_id\thuman\tcomet"]
    for system in SYSTEMS:
        for item in range(20):
            value = draw.normal()
            lines.append(f"{system}\t{item}\t{value}\t{value + draw.normal()}")
    table = tmp_path / "table.tsv"
    table.write_text("\n".join(lines) + "\n")
    result = agreement(f"{table}:human", {"comet": f"{table}:comet"}, samples=100)
    assert result.alpha is None and {row.scorer for row in result.rows} == {"comet", RANDOM}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scores": {"m": "short.seg.score"}}, "no score of example 2 of Alpha"),
        ({"lower_is_better": ("missing",)}, "there is no such metric; there is good"),
        ({"human": "one.tsv"}, "judgements of one system"),
        ({"human": "few.tsv"}, "3 judged examples; give at least 10"),
        ({"human": "single.tsv", "scores": {}}, "has one rater; give scores"),
    ],
)
def test_what_is_refused(files, tmp_path, change, words):
    good = (files / "good.seg.score").read_text().splitlines()
    (tmp_path / "short.seg.score").write_text("\n".join(good[::60]) + "\n")
    header = "system\tseg_id\trater\tscore\n"
    one = [f"Alpha\t{item}\tann\t{item}\n" for item in range(20)]
    (tmp_path / "one.tsv").write_text(header + "".join(one))
    few = [f"{system}\t{item}\tann\t{item}\n" for system in SYSTEMS for item in range(3)]
    (tmp_path / "few.tsv").write_text(header + "".join(few))
    single = [f"{system}\t{item}\tann\t{item}\n" for system in SYSTEMS for item in range(20)]
    (tmp_path / "single.tsv").write_text(header + "".join(single))
    options = {"human": str(files / "human.tsv"), "scores": {"good": str(files / "good.seg.score")}}
    options |= change
    options["human"] = str(tmp_path / options["human"]) if "human" in change else options["human"]
    if "m" in options["scores"]:
        options["scores"] = {"m": str(tmp_path / options["scores"]["m"])}
    with pytest.raises(InputError, match=words):
        agreement(**options, samples=100)
