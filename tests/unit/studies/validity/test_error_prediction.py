"""Which measure predicts errors: by definition, by lm-polygraph's figures, by simulation."""

import dataclasses
import itertools
import json
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from finished_releases import write_finished
from small_build import list_files

import cgbench
from cgbench.benchmark.candidates.strata import OWN_SCORE
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Ter
from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.cli import main
from cgbench.errors import InputError
from cgbench.report import charts
from cgbench.studies.validity import validate
from cgbench.studies.validity.error_prediction import (
    ENSEMBLE,
    OUTSIDE,
    Ordering,
    figures_of,
    losses_of,
    measure_errors,
)
from cgbench.studies.validity.page import measures_page

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")


def found(values, loss, counts=None):
    counts = np.ones(len(loss)) if counts is None else counts
    return figures_of(Ordering(np.asarray(values, float)), Ordering(loss), counts[None], loss)[0]


def by_definition(values, loss):
    """The mean over every order of equal values."""

    def area(values):
        orders = [
            order
            for order in itertools.permutations(range(len(loss)))
            if (np.diff(values[list(order)]) >= 0).all()
        ]
        return np.mean(
            [
                np.mean([loss[list(order[:k])].mean() for k in range(1, len(loss) + 1)])
                for order in orders
            ]
        )

    wrong = loss > (0 if set(loss) <= {0, 1} else np.median(loss))
    pairs = [(a > b) + (a == b) / 2 for a in values[wrong] for b in values[~wrong]]
    random = loss.mean()
    return (random - area(values)) / (random - area(loss)), np.mean(pairs), area(values)


@pytest.mark.parametrize("loss", [[0, 1, 0, 1, 1, 0], [0.1, 0.7, 0.3, 0.3, 1.0, 0.0]])
@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5, 6], [1, 1, 2, 3, 3, 3], [4, 4, 4, 1, 2, 2]])
def test_scores_by_definition_with_ties(values, loss):
    values, loss = np.array(values, float), np.array(loss, float)
    assert found(values, loss) == pytest.approx(by_definition(values, loss))


def arrays(binary):
    at = np.arange(200)
    hard = np.sin(1.7 * at) + np.sin(0.3 * at * at)
    loss = (np.sin(2.9 * at) + 0.5 * hard + 2) / 4
    return hard, (
        (loss > 0.55).astype(float) if binary else (loss - loss.min()) / (loss.max() - loss.min())
    )


@pytest.mark.parametrize(
    ("binary", "area", "oracle", "normalised", "roc"),
    [
        (False, 0.6311043787082269, 0.6916903091559089, 0.7173124850119897, 0.7265),
        (True, 0.7638632119208291, 0.8893352507931246, 0.6069615132009168, 0.7234802121583027),
    ],
)
def test_figures_of_lm_polygraph(binary, area, oracle, normalised, roc):
    """lm-polygraph 0.7.0 on the same arrays: PredictionRejectionArea of the measure and of the
    oracle, normalised by 4,000 random orders (here by their exact mean); ROCAUC;
    RiskCoverageCurveAUC is 1 less the first.
    """
    hard, loss = arrays(binary)
    prr, auc, aurc = found(hard, loss)
    quality = 1 - loss.mean()
    assert (1 - aurc, auc) == pytest.approx((area, roc), abs=1e-12)
    assert prr == pytest.approx((area - quality) / (oracle - quality), abs=1e-12)
    assert prr == pytest.approx(normalised, abs=2e-3)


def test_a_resample_has_the_scores_of_its_examples():
    rng = np.random.default_rng(3)
    loss, values = rng.random(60), rng.integers(0, 9, 60).astype(float)
    counts = rng.integers(0, 4, 60).astype(float)
    rows = np.repeat(np.arange(60), counts.astype(int))
    drawn = found(values, loss, counts)
    assert drawn[[0, 2]] == pytest.approx(found(values[rows], loss[rows])[[0, 2]])
    binary = (loss > 0.5).astype(float)
    assert found(values, binary, counts) == pytest.approx(found(values[rows], binary[rows]))


def test_risks_end_at_the_mean_loss():
    hard, loss = arrays(False)
    risks = Ordering(hard).risks(loss)
    assert len(risks) == 20 and risks[-1] == pytest.approx(loss.mean())
    assert risks[0] == pytest.approx(loss[np.argsort(hard)[:10]].mean())
    assert Ordering(hard[:190]).risks(loss[:190])[0] == pytest.approx(
        loss[np.argsort(hard[:190])[:10]].mean()
    )


def columns(loss, rng, noise=1.0, **more):
    n = len(loss)
    lengths = {"source_length": rng.integers(5, 20, n), "target_length": rng.integers(5, 20, n)}
    return {
        **lengths,
        **{name: loss + noise * rng.normal(size=n) for name in ("rmi", "epkl")},
        **more,
    }


@pytest.mark.parametrize("binary", [True, False])
def test_intervals_cover_and_equal_measures_seldom_differ(binary, n=100, times=60):
    """docs/explanation/which-measure.md has a larger grid."""

    def draw(n, rng):
        loss = rng.random(n)
        return (loss > 0.6).astype(float) if binary else loss

    rng, inside, rejected, found_prr = np.random.default_rng([n, binary]), 0, 0, []
    loss = draw(40_000, rng)
    truth = found(columns(loss, rng)["rmi"], loss)[0]
    for _ in range(times):
        loss = draw(n, rng)
        given = {
            name: values for name, values in columns(loss, rng).items() if "length" not in name
        }
        (one,) = measure_errors(given, {"a": loss[None]}, "rmi", (), samples=100, seed=1)
        by = {row.measure: row for row in one.measures}
        low, high = by["rmi"].intervals["prr"]
        inside += low <= truth <= high
        found_prr.append((by["rmi"].prr, high - low))
        rejected += by["epkl"].p_holm < 0.05
    assert inside >= times * 0.95 - 3 * (times * 0.05 * 0.95) ** 0.5
    values, widths = np.array(found_prr).T
    assert widths.mean() == pytest.approx(2 * 1.98 * values.std(ddof=1), rel=0.25)
    assert rejected <= times * 0.05 + 3 * (times * 0.05 * 0.95) ** 0.5


def test_a_better_measure_is_found_and_length_is_held_constant():
    rng = np.random.default_rng(1)
    length = rng.integers(5, 30, 600).astype(float)
    skill = rng.normal(size=600)
    loss = 1 / (1 + np.exp(-(skill + (length - 17) / 6)))
    given = columns(loss, rng, 3.0, rarest=skill + 0.2 * rng.normal(size=600))
    easy = ("target_rarest", "log_prob", "reference_log_prob", OWN_SCORE)  # a high value means easy
    given |= {"source_length": length, "source_rarest": -skill, **dict.fromkeys(easy, -loss)}
    given |= {"pieces": loss, "token_pe_tu": loss, "chance": rng.random(600)}
    given |= {"text": ["a"] * 600, "same": [1.0] * 600, "missing": [float("nan"), *loss[1:]]}
    (one,) = measure_errors(given, {"a": loss[None]}, "rmi", (), samples=200, seed=1)
    by = {row.measure: row for row in one.measures}
    assert {"pieces", "text", "same", "missing", "token_pe_tu"}.isdisjoint(by)
    assert by["chance"].intervals["prr"][0] < 0 < by["chance"].intervals["prr"][1]
    assert by["rarest"].p_holm < 0.01 and by["rarest"].difference > 0.1
    assert by["rmi"].p_holm is None and by["rmi"].difference is None
    assert (
        by["source_rarest"].prr > 0.4 and by["source_rarest"].given_length > 0.9
    )  # rare words are hard
    for name in easy:
        assert by[name].prr == pytest.approx(1)
    assert by["source_length"].given_length is None
    assert by["rarest"].given_length > 0.9
    assert [row.prr for row in one.measures] == sorted(
        (row.prr for row in one.measures), reverse=True
    )


def test_equal_losses_are_refused_and_json_has_no_nan():
    rng = np.random.default_rng(9)
    loss = rng.random(50)
    with pytest.raises(InputError, match="b: all candidates have the same score"):
        runs = {"a": loss[None], "b": np.stack([loss, np.ones(50)])}
        measure_errors(columns(loss, rng), runs, "rmi", (), samples=100, seed=1)
    (one,) = measure_errors(
        columns(loss, rng), {"a": loss[None]}, "difficulty", (), samples=100, seed=1
    )
    json.dumps(
        dataclasses.asdict(one), allow_nan=False
    )  # without the measure that selects there is no difference


def test_p_values_are_corrected_for_the_number_of_measures():
    rng = np.random.default_rng(7)
    loss = rng.random(100)
    given = {
        name: loss + noise * rng.normal(size=100) for name, noise in (("rmi", 0.8), ("epkl", 0.3))
    }
    p = []
    for more in (0, 3):
        columns = given | {f"epkl{number}": given["epkl"] for number in range(more)}
        (one,) = measure_errors(columns, {"a": loss[None]}, "rmi", (), samples=200, seed=1)
        p.append({row.measure: row.p_holm for row in one.measures}["epkl"])
    assert 0 < p[0] < 0.25 and p[1] == pytest.approx(4 * p[0])


def test_measures_are_compared_run_by_run():
    rng = np.random.default_rng(8)
    hard = rng.random(400)
    loss = np.stack([hard + noise * rng.random(400) for noise in (0.1, 0.6, 2.0)])
    given = {"rmi": hard, "epkl": hard + 0.02 * rng.normal(size=400)}
    (one,) = measure_errors(given, {"a": loss}, "rmi", (), samples=100, seed=1)
    row = {row.measure: row for row in one.measures}["epkl"]
    assert np.diff(row.intervals["prr"])[0] > 0.3  # runs differ in how well they can be predicted
    assert np.diff(row.difference_interval)[0] < 0.1  # both measures alike


def test_seeds_and_outside_systems():
    rng = np.random.default_rng(2)
    loss = rng.random((5, 300))
    given = columns(loss.mean(axis=0), rng, 0.2)
    runs = {"a": loss[:2], "b": loss[2:3], "c": loss[3:]}
    found = measure_errors(given, runs, "rmi", ["b", "c"], samples=100, seed=1)
    by = {one.system: one for one in found}
    assert {name: one.runs for name, one in by.items()} == {"a": 2, "b": 1, "c": 2, OUTSIDE: 2}
    assert by[OUTSIDE].loss == pytest.approx((loss[2].mean() + loss[3:].mean()) / 2)
    ours = {row.measure: row.prr for row in by[OUTSIDE].measures}["rmi"]
    each = [{row.measure: row.prr for row in by[name].measures}["rmi"] for name in "bc"]
    assert ours == pytest.approx(np.mean(each))


def test_clusters_widen_the_intervals():
    rng = np.random.default_rng(4)
    loss = np.repeat(rng.random(60), 5)
    given = {name: np.repeat(values, 5) for name, values in columns(loss[::5], rng, 0.3).items()}
    alone, together = (
        measure_errors(given, {"a": loss[None]}, "rmi", (), samples=300, seed=1, clusters=clusters)[
            0
        ].measures
        for clusters in (None, np.arange(300) // 5)
    )
    widths = [
        {row.measure: np.diff(row.intervals["prr"])[0] for row in rows}["rmi"]
        for rows in (alone, together)
    ]
    assert widths[1] == pytest.approx(5**0.5 * widths[0], rel=0.25)


def test_the_score_of_the_ensembles_own_output_is_no_measure_of_its_errors():
    rng = np.random.default_rng(3)
    columns, losses = (
        {"rmi": rng.random(40), OWN_SCORE: rng.random(40)},
        {ENSEMBLE: rng.random((1, 40))},
    )
    scored = measure_errors(
        columns, losses | {"a": rng.random((1, 40))}, "rmi", [], samples=50, seed=1
    )
    assert [{row.measure for row in one.measures} for one in scored] == [
        {"rmi"},
        {"rmi", OWN_SCORE},
    ]


def test_losses_are_shares():
    assert losses_of(ExactMatch([["a"], ["b"]]), [["a", "x"]]).tolist() == [[0.0, 1.0]]
    assert losses_of(Ter([["a b"], ["c d"]]), [["a b", "c x"]]).tolist() == [[0.0, 0.5]]


def test_the_command(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    targets = [f"the cat sees {row % 7} dogs and {row} birds" for row in range(60)]
    uncertainty = rng.random(60)

    def answers(share):
        wrong = uncertainty + 0.3 * rng.normal(size=60) > share
        return ["no" if one else text for one, text in zip(wrong, targets, strict=True)]

    release = write_finished(tmp_path / "r", uncertainty, targets=targets, hypotheses=answers(0.7))
    for name in "xyz":
        (tmp_path / name).write_text("".join(f"{line}\n" for line in answers(0.5)))
    page = tmp_path / "page.html"
    words = [
        "validate",
        f"own={release.folder}",
        "--measures",
        "--metric",
        "exact",
        "--set",
        "samples=100",
    ]
    hyps = [
        word for name in ("own/x", "y", "z") for word in ("--hyp", f"{name}={tmp_path / name[-1]}")
    ]
    said = (
        CliRunner()
        .invoke(main, [*words, *hyps, "--report", str(page)], catch_exceptions=False)
        .output
    )
    assert "measures and the errors of the ensemble" in said and f"{OUTSIDE} (2)" in said
    assert (
        "the errors of y," not in said
        and "tables of single systems: --report or --format json" in said
    )
    assert "Kendall's tau" in said  # three systems are ranked as well
    assert "<svg" in page.read_text() and "Risk over coverage" in page.read_text()
    lost = CliRunner().invoke(
        main, [*words, "--hyp", "y=none", "--report", str(tmp_path / "no" / "page.html")]
    )
    assert lost.exit_code == 2 and "there is no folder" in lost.output  # before any work
    found = json.loads(
        CliRunner().invoke(main, [*words, "--format", "json"], catch_exceptions=False).stdout
    )
    (one,) = found["measures"]
    first = one["measures"][0]
    assert (one["system"], first["measure"], len(first["risks"])) == ("the ensemble", "rmi", 20)
    result = cgbench.validate(
        release, {"y": tmp_path / "y"}, measures=True, metric="exact", samples=100
    )
    assert [row.system for row in result.measures] == [
        "the ensemble",
        "y",
    ] and result.scored is None
    monkeypatch.setattr(
        validate, "_clusters", lambda *_: SimpleNamespace(labels=(np.arange(60) // 6,))
    )
    clustered = cgbench.validate(
        release, measures=True, metric="exact", samples=100, cluster="source"
    ).measures[0]
    drawn = []
    monkeypatch.setattr(charts, "draw", lambda chart: drawn.extend(chart.series))
    measures_page(result, "")
    assert list(drawn[0].values) == list(result.measures[0].measures[0].risks)[::-1]
    assert clustered.measures[0].prr == result.measures[0].measures[0].prr
    assert clustered.measures[0].intervals != result.measures[0].measures[0].intervals
    refused = CliRunner().invoke(main, ["validate", str(release.folder), "--report", str(page)])
    assert refused.exit_code == 2 and "--report needs --measures" in refused.output
    with pytest.raises(InputError, match="measures needs the hypotheses of all candidates"):
        cgbench.validate(release, {"y": "y"}, control_systems={"y": "y"}, measures=True)


def test_without_translations_of_the_ensemble(tmp_path):
    uncertainty = np.random.default_rng(6).random(60)
    release = write_finished(tmp_path / "r", uncertainty).folder
    (path,) = release.rglob("candidates*.parquet")
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(path).drop_columns(["hypothesis"]), path)
    list_files(release)
    with pytest.raises(InputError, match="no translations of its candidates; give systems"):
        cgbench.validate(release, measures=True)
