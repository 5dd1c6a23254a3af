"""Rank agreement of benchmarks: tau and p by scipy, intervals by simulation, results read, identities checked."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import kendalltau, permutation_test

import cgbench
from cgbench.benchmark.metrics.every_eval_ever import write_records
from cgbench.benchmark.metrics.published import all_published
from cgbench.benchmark.validity.concur import Concur, chance_of, compare, concur, over_systems
from cgbench.benchmark.validity.concur_sources import Scores, _error, identities, published_benchmarks, read_results
from cgbench.cli import main
from cgbench.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")


def scores(values, error=0.0, name="a"):
    values = np.asarray(values, float)
    return Scores(name, tuple(map(str, range(len(values)))), values, np.broadcast_to(error, len(values)))


@pytest.mark.parametrize("values", [[3, 1, 2, 5, 4, 7], [3, 1, 1, 5, 4, 4], [0.82, 0.15, 0.51, 0.82, 0.7, 0.82]])
def test_tau_and_its_exact_p_are_those_of_scipy(values):
    other = np.array([1, 2, 3, 4, 5, 5.5])
    pair = compare(scores(values), scores(other, name="b"), [1])
    assert pair.tau == pytest.approx(kendalltau(values, other).statistic)
    exact = permutation_test(
        (np.array(values),), lambda one: kendalltau(one, other).statistic, permutation_type="pairings",
        n_resamples=np.inf,
    ).pvalue  # fmt: skip
    assert pair.p == pytest.approx(exact)
    assert pair.over_chance == pytest.approx((pair.tau, pair.tau))  # scores without error


def test_p_of_many_systems_with_ties_is_near_the_exact_one():
    rng = np.random.default_rng(3)
    values = rng.normal(size=12)
    tied = np.r_[values[:10], values[9], values[9]]
    p = chance_of((tied), (np.arange(12.0)), rng)
    assert p == pytest.approx(kendalltau(tied, np.arange(12.0), method="asymptotic").pvalue, abs=0.03)


@pytest.mark.parametrize("systems", [5, 8, 20])
@pytest.mark.parametrize("tau", [0.0, 0.5, 0.85])
def test_intervals_over_systems_cover(systems, tau):
    rng, r, inside = np.random.default_rng([systems, round(100 * tau)]), math.sin(math.pi * tau / 2), 0
    for _ in range(300):
        first, noise = rng.normal(size=(2, systems))
        low, high = over_systems((first), (r * first + math.sqrt(1 - r * r) * noise))
        inside += low <= tau <= high
    assert inside >= 300 * 0.95 - 2.6 * math.sqrt(300 * 0.05 * 0.95)


def test_hundreds_of_systems_take_little_memory():
    import tracemalloc

    rng = np.random.default_rng(2)
    sides = [scores(np.round(rng.normal(size=100), 1), 0.1, name) for name in "ab"]
    tracemalloc.start()
    compare(*sides, [1])
    assert tracemalloc.get_traced_memory()[1] < 40e6  # all samples at once would take 80 MB
    tracemalloc.stop()


def test_few_systems_have_intervals_that_say_so():
    low, high = over_systems((np.arange(5.0)), (np.arange(5.0)))
    assert low < 0 < high == 1.0
    low, high = over_systems((np.arange(5.0)), (-np.arange(5.0)))
    assert low == -1.0 < 0 < high
    low, _ = over_systems((np.arange(30.0)), (np.arange(30.0)))
    assert low > 0.9


@pytest.mark.parametrize("systems", [6, 15])
@pytest.mark.parametrize("error", [0.2, 0.7])
def test_equal_rankings_have_tau_at_the_ceiling(systems, error):
    rng, taus, ceilings = np.random.default_rng([systems, round(10 * error)]), [], []
    for _ in range(150):
        truth = rng.normal(size=systems)
        first, second = (scores(values + rng.normal(scale=error, size=systems), error) for values in (truth, truth**3))
        pair = compare(first, second, [7])
        taus.append(pair.tau)
        ceilings.append(pair.ceiling)
    spread = np.std(np.subtract(taus, ceilings)) / math.sqrt(len(taus))
    assert np.mean(taus) == pytest.approx(np.mean(ceilings), abs=3 * spread + 0.03)
    assert np.mean(ceilings) < 0.95


def test_the_ceiling_does_not_depend_on_the_order_of_systems():
    rng = np.random.default_rng(6)
    sides = [scores(rng.normal(size=6), rng.uniform(0.05, 1.5, 6), name) for name in "ab"]
    order = sides[0].systems[::-1]
    assert compare(*sides, [1]).ceiling == compare(*(one.of(order) for one in sides), [1]).ceiling


def test_the_interval_over_chance_covers_other_seeds_of_the_same_systems():
    rng, error, inside = np.random.default_rng(5), 0.4, 0
    truth = rng.normal(size=(2, 10))

    def draw():
        return [scores(one + rng.normal(scale=error, size=10), error) for one in truth]

    expected = np.mean([kendalltau(*(one.values for one in draw())).statistic for _ in range(2000)])
    for _ in range(200):
        low, high = compare(*draw(), [3]).over_chance
        inside += low <= expected <= high
    assert inside >= 180


def test_published_names_are_one_system_only_with_evidence():
    names = {(row.source.split()[0], row.system) for row in all_published()}
    table = {one.name: one for one in published_benchmarks()}
    assert set(identities()) <= names  # no row of the table is about a name that is not there
    assert {"Transformer (composition)"} == {
        one for one in table["CFQ MCD1"].systems if one.startswith("Transformer (c")
    }
    assert not any(one.startswith("Transformer (devil)") for table_ in table.values() for one in table_.systems)
    quoted = {row.value for row in all_published() if row.system in ("R-Dangle_sep [70M]", "R-Dangle_sep o=1")
              and row.benchmark == "CoGnition" and row.metric == "CTER instance"}  # fmt: skip
    assert quoted == {"16.0"}
    for metric, benchmark in (("BLEU cg-test", "CoGnition"), ("BLEU cg-test", "ReaCT")):
        same = {row.value for row in all_published() if row.system in ("R-Dangle_shr o=1", "Dangle 12")
                and (row.metric, row.benchmark) == (metric, benchmark)}  # fmt: skip
        assert len(same) == 1
    assert table["CoGnition (CTER instance)"].values.max() < 0  # lower is better
    assert "ReaCT" in table and "CFQ MCD mean" not in table  # an average of others
    (row,) = (row for row in all_published() if (row.benchmark, row.system) == ("COGS gen", "GECA"))
    systems = [one.partition(" (")[0] for one in table["COGS gen"].systems]
    assert (row.spread, row.runs) == ("5", "10")
    assert table["COGS gen"].errors[systems.index("GECA")] == pytest.approx(5 / 10**0.5)


def test_published_benchmarks_of_the_command():
    words = ["concur", "--published", "--format", "json"]
    found = json.loads(CliRunner().invoke(main, words, catch_exceptions=False).stdout)
    pair = next(
        one for one in found["pairs"] if one["first"].startswith("CoGnition (BLEU") and one["second"] == "ReaCT"
    )
    assert len(pair["systems"]) == 7 and pair["ceiling"] is None  # no spread was published
    smallest = min(found["pairs"], key=lambda one: one["p"])
    assert smallest["p_holm"] == pytest.approx(smallest["p"] * len(found["pairs"]))
    assert next(one for one in found["pairs"] if one["sized"])["given_size"] is not None


REFERENCES = [f"a {row} b" for row in range(40)]
RIGHT = {"one": 38, "two": 33, "three": 28, "org/four": 20, "five": 9}


def evaluated(rights):
    hypotheses = {name: [*REFERENCES[:right], *["x"] * (40 - right)] for name, right in rights.items()}
    return cgbench.evaluate("exact", hypotheses, REFERENCES, confidence=True)


def test_results_of_all_forms_give_the_same(tmp_path):
    other = {"one": 30, "two": 31, "three": 20, "org/four": 12, "five": 11}
    for name, rights in (("first", RIGHT), ("second", other)):
        found = evaluated(rights)
        (tmp_path / f"{name}.json").write_text(found.report("json"))
        write_records(found, tmp_path / name)
    read = read_results([f"{name}={tmp_path / name}.json" for name in ("first", "second")])
    records = [read_results([str(tmp_path / name)])[0] for name in ("first", "second")]
    for one, other in zip(read, records, strict=True):
        np.testing.assert_allclose(one.values, other.of(one.systems).values)
        np.testing.assert_allclose(one.errors, other.of(one.systems).errors)
        assert (one.errors > 0).all()
    found = concur([tmp_path / "first.json", tmp_path / "second.json"])
    assert found.pairs[0].tau == pytest.approx(0.8) and found.benchmarks == ("first", "second")
    assert found.pairs[0].ceiling < 1
    page = tmp_path / "page.html"
    words = [str(tmp_path / "first.json"), str(tmp_path / "second.json"), "--report", str(page)]
    said = CliRunner().invoke(main, ["concur", *words], catch_exceptions=False)
    assert "0.80 (5)" in said.output and "0.80 (5)" in page.read_text() and "<svg" in page.read_text()
    low, high = found.pairs[0].over_systems
    assert f"first, second: 0.80, 95 %: {low:.2f} to {high:.2f}" in page.read_text()
    for word in (str(tmp_path / "first.json"), f"name={tmp_path / 'first.json'}"):
        said = CliRunner().invoke(main, ["concur", word, "--report", str(tmp_path / "first.json")])
        assert said.exit_code == 2 and "is also an input" in said.output


@pytest.mark.parametrize("form", ["first.json", "first"])
def test_lower_is_better_turns_the_scores_round(tmp_path, form):
    found = evaluated(RIGHT)
    (tmp_path / "first.json").write_text(found.report("json", 3))
    write_records(found, tmp_path / "first")
    (higher,) = read_results([str(tmp_path / form)])
    for path in tmp_path.rglob("*.json"):
        path.write_text(path.read_text().replace('"lower_is_better": false', '"lower_is_better": true'))
    (lower,) = read_results([str(tmp_path / form)])
    np.testing.assert_allclose(lower.values, -higher.values)
    np.testing.assert_allclose(lower.errors, higher.errors)


def test_pairs_with_many_systems_come_first():
    few, many = (compare(scores(np.arange(n)), scores(np.arange(n), name="b"), [1]) for n in (5.0, 7.0))
    assert [row[1] for row in Concur(("a", "b"), (few, many)).table()[1]] == ["7", "5"]


def test_a_system_or_a_name_given_twice_is_refused(tmp_path):
    rows = json.loads(evaluated(RIGHT).report("json"))
    (tmp_path / "a.json").write_text(json.dumps([*rows, rows[0]]))
    with pytest.raises(InputError, match="one has two scores on a; give one metric"):
        read_results([str(tmp_path / "a.json")])
    (tmp_path / "a.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match="a: two benchmarks have this name"):
        read_results([str(tmp_path / "a.json"), f"a={tmp_path / 'a.json'}"])


def test_errors_of_several_runs_are_those_of_seeds_and_examples():
    seeds, examples = 1.2**2 / 3, 0.5**2  # the interval has each part with its own quantile
    half = np.sqrt(4.302653**2 * seeds + 1.959964**2 * examples)
    assert _error(50 - half, 50 + half, 1.2, 3) == pytest.approx(np.sqrt(seeds + examples), rel=1e-6)
    assert _error(49, 51, math.nan, 1) == pytest.approx(1 / 1.959964, rel=1e-6)


def test_sizes_in_names(tmp_path):
    sized = dict(zip(RIGHT, ("one [5M]", "two [3M]", "three [4.5M]", "four [1M]", "five [2M]"), strict=True))
    for name, rights in (("a", RIGHT), ("b", {sized[one]: right for one, right in RIGHT.items()})):
        (tmp_path / f"{name}.json").write_text(evaluated(rights).report("json"))
    with pytest.raises(InputError, match="no two of 2 benchmarks share 5 systems: name each system alike"):
        concur([tmp_path / "a.json", tmp_path / "b.json"])
    (pair,) = concur([f"{name}={tmp_path / 'b.json'}" for name in "xy"]).pairs
    assert (pair.tau, pair.sized, pair.given_size) == pytest.approx((1, 5, 1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "not a result of cgbench score"),
        ("[]", "no scores"),
        ('[{"metric": "exact", "system": "a", "value": null, "runs": 1}]', "not a result"),
    ],
)
def test_what_is_no_result(text, said, tmp_path):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=said):
        concur([tmp_path / "a.json"])
    with pytest.raises(InputError, match="give results of cgbench score, or published"):
        concur()
