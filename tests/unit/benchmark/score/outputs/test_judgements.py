"""Human judgements: Pearmut's annotations, MQM, ratings of mt-metrics-eval; raters and
documents.
"""

import json
import statistics

import numpy as np
import pytest

from cgbench.benchmark.score.imported.import_scores import import_scores
from cgbench.benchmark.score.outputs.judgements import error_weight
from cgbench.benchmark.score.outputs.score_files import ReadOptions
from cgbench.benchmark.score.outputs.score_readers import read_score_columns
from cgbench.errors import InputError


def entry(user, page, items, annotation):
    """A page as Pearmut 1.1.6 stores it."""
    shown = [
        {"item_id": one, "src": "Quelle", "tgt": {"a": "x", "b": "y"}, **more}
        for one, more in items
    ]
    return {"annotation": annotation, "actions": [], "item": shown, "user_id": user, "item_i": page}


def scored(**scores):
    return {
        name: {"score": score, "error_spans": [], "textfield": None}
        for name, score in scores.items()
    }


ANNOTATIONS = [
    entry("eva", "welcome_0", [("tutorial", {})], [scored(a=1, b=1)]),
    entry("eva", 0, [("10", {}), ("9", {})], [scored(a=50, b=60), scored(a=10, b=20)]),
    entry("tom", 1, [("11", {"document": "talk"})], [scored(a=0, b=0)]),
    entry("tom", 1, [], "__RESET__"),
    entry("tom", 1, [("11", {"document": "talk"})], [scored(a=30, b=70)]),
    entry("tom", "random_0", [("check", {})], [scored(a=1, b=1)]),
    entry(
        "tom",
        2,
        [("12", {"document": "talk"})],
        [{"a": {"sliders": {"Fluency": 40, "Adequacy": 60, "Other": None}}, "b": {"score": None}}],
    ),
    entry("eva", 0, [("10", {}), ("9", {})], [scored(a=55, b=60), None]),
]


@pytest.fixture
def pearmut(tmp_path):
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps({"empty": [], "c": ANNOTATIONS}))
    return path


def test_pearmut_scores_are_those_of_its_own_results(pearmut):
    columns = read_score_columns({"": pearmut})
    assert list(columns) == ["a", "b"]
    (a,), (b,) = columns.values()
    assert a.ids == b.ids == ["9", "10", "11", "12"]
    assert list(map(float, a.values)) == [
        10,
        55,
        30,
        50,
    ]  # later scores replace earlier ones; 50: of sliders
    assert b.values == ["20.0", "60.0", "70.0", "nan"]
    assert a.columns["rater"] == ["eva", "eva", "tom", "tom"]
    assert a.columns["document"] == [
        "10",
        "10",
        "talk",
        "talk",
    ]  # without a name: the first item of the page


def test_several_campaigns_need_a_name(tmp_path):
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps({"c": ANNOTATIONS, "d": ANNOTATIONS[1:2]}))
    with pytest.raises(InputError, match=r"which campaign\? Write .*:CAMPAIGN; there is c, d"):
        read_score_columns({"": path})
    assert read_score_columns({"a": f"{path}:d"})["a"][0].values == ["10.0", "50.0"]
    with pytest.raises(InputError, match="no campaign 'e'"):
        read_score_columns({"a": f"{path}:e"})


HEAD = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"
ERRORS = [
    ("a", "d1", 1, "r1", "Accuracy/Mistranslation", "Major"),
    ("a", "d1", 1, "r1", "Fluency/Punctuation", "Minor"),
    ("a", "d1", 1, "r2", "No-error", "No-error"),
    ("a", "d1", 2, "r1", "Non-translation!", "Major"),
    ("a", "d2", 3, "r2", "Style/Awkward", "minor"),
    ("b", "d1", 1, "r1", "Fluency/Punctuation", "Major"),
    ("b", "d1", 1, "r2", "Other", "Neutral"),
    ("b", "d1", 2, "r1", "No-error", "No-error"),
    ("b", "d2", 3, "r2", "No-error", "No-error"),
]


@pytest.fixture
def mqm(tmp_path):
    path = tmp_path / "mqm.tsv"
    rows = [f'{s}\t{d}\t{n}\t{n}\t{r}\ta "source\ttarget\t{c}\t{v}' for s, d, n, r, c, v in ERRORS]
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return path


def test_mqm_is_minus_the_weights_of_the_errors(mqm):
    columns = read_score_columns({"": mqm})
    assert {name: list(map(float, one.values)) for name, (one,) in columns.items()} == {
        "a": [pytest.approx(-5.1 / 2), -25, -1],
        "b": [-2.5, 0, 0],
    }
    (a,) = columns["a"]
    assert a.ids == ["1", "2", "3"] and a.columns["document"] == ["d1", "d1", "d2"]
    assert "rater" not in a.columns  # segment 1 has two


def test_segments_numbered_in_each_document_are_kept_apart(tmp_path):
    path = tmp_path / "sqm.tsv"
    rows = ["a\td1\t1\tr1\t5", "a\td2\t1\tr1\t3", "a\td2\t1\tr2\t4"]
    path.write_text("\n".join(["system\tdoc\tseg_id\trater\tscore", *rows]) + "\n")
    (a,) = read_score_columns({"": path})["a"]
    assert a.ids == ["d1:1", "d2:1"] and a.values == ["5.0", "3.5"]


def test_a_severity_without_a_weight_is_named(mqm):
    mqm.write_text(mqm.read_text().replace("Neutral", "Fatal"))
    with pytest.raises(InputError, match=r"mqm.tsv, row 8: the severity 'fatal' has no weight"):
        read_score_columns({"": mqm})
    assert (
        error_weight("Non-translation!", "Minor", "") == 1
        and error_weight("Fluency/Punctuation", "major", "") == 5
    )


def test_z_scores_are_those_of_each_rater(mqm):
    (a,) = read_score_columns({"": mqm}, ReadOptions(standardise=True))["a"]
    one, two = [-5.1, -25.0, -5.0, 0.0], [0.0, -1.0, 0.0, 0.0]
    spread = [(statistics.mean(of), statistics.stdev(of)) for of in (one, two)]
    first = np.mean([(-5.1 - spread[0][0]) / spread[0][1], (0 - spread[1][0]) / spread[1][1]])
    assert float(a.values[0]) == pytest.approx(first)
    assert float(a.values[2]) == pytest.approx((-1 - spread[1][0]) / spread[1][1])
    with pytest.raises(InputError, match="the files of scores have no raters"):
        import_scores({"a": [1, 2, 3]}, judgements={"standardise_raters": True})


def rated(path, raters, judged_by):
    """60 segments of 12 documents, each judged for two systems by those of the raters that
    ``judged_by`` names.
    """
    random = np.random.default_rng(4)
    severity = {rater: random.normal(0, 3) for rater in raters}
    rows = [
        f"{system}\td{number // 5}\t{number + 1}\t{rater}"
        f"\t{severity[rater] + random.normal(0, 1):.3f}"
        for number in range(60)
        for rater in judged_by(number)
        for system in "ab"
    ]
    path.write_text("\n".join(["system\tdoc\tseg_id\trater\tscore", *rows]) + "\n")
    return {"": path}


def test_one_rater_for_an_example_is_a_cluster_of_examples(tmp_path):
    raters = [f"r{number}" for number in range(6)]
    given = rated(tmp_path / "sqm.tsv", raters, lambda number: [raters[number % 6]])
    found = import_scores(given, comparison={"cluster": ["rater"], "confidence": True})
    clusters = found.scored.sampling.clusters
    assert clusters.counts == {"rater": 6} and found.scored.metric.n == 60
    both = import_scores(given, comparison={"cluster": ["document", "rater"]})
    assert both.scored.sampling.clusters.counts["document"] == 12
    apart = import_scores(given, comparison={"confidence": True})
    one, other = (json.loads(each.report("json"))[0] for each in (apart, found))
    assert other["ci_high"] - other["ci_low"] > 1.5 * (one["ci_high"] - one["ci_low"])
    assert other["value"] == one["value"]


def test_several_raters_for_an_example_make_a_row_of_each_judgement(tmp_path):
    raters = [f"r{number}" for number in range(6)]
    given = rated(
        tmp_path / "sqm.tsv", raters, lambda number: [raters[number % 6], raters[(number + 1) % 6]]
    )
    scored = import_scores(given, comparison={"cluster": ["rater"]}, paired=True).scored
    assert scored.metric.n == 120 and scored.sampling.clusters.counts == {"rater": 6, "example": 60}
    assert "a row is the judgement of one rater" in scored.metric.notes
    named = import_scores(given, comparison={"cluster": ["rater", "document"]}).scored
    assert named.sampling.clusters.counts == {"rater": 6, "document": 12}
    assert import_scores(given, comparison={"cluster": ["document"]}).scored.metric.n == 60
    (tmp_path / "more.tsv").write_text(
        "seg_id\tkind\n" + "".join(f"{n + 1}\tk\n" for n in range(60))
    )
    kinds = {"by": "column:kind", "examples": {"table": tmp_path / "more.tsv", "ids": "seg_id"}}
    with pytest.raises(InputError, match="a row is a judgement, which cannot be joined"):
        import_scores(given, comparison={"cluster": ["rater"]}, **kinds)
    assert import_scores(given, **kinds).scored.metric.n == 60


def test_judgements_are_joined_with_texts_by_id(pearmut, tmp_path):
    (tmp_path / "table.tsv").write_text("line\tkind\n12\tq\n9\tp\n10\tp\n11\tq\n")
    table = tmp_path / "table.tsv"
    found = import_scores(
        {"a": pearmut}, by="column:kind", examples={"table": table, "ids": "line"}
    )
    assert [part["value"] for part in json.loads(found.report("json"))["bins"]] == pytest.approx(
        [32.5, 40]
    )
    with pytest.raises(
        InputError, match="judgements are joined with other texts and scores by the example"
    ):
        import_scores({"a": pearmut}, by="column:kind", examples={"table": table})


def test_some_judgements_and_a_metric_of_all_rows(tmp_path):
    random = np.random.default_rng(2)
    truth = random.normal(50, 10, 40)
    pages = [entry("eva", n, [(str(n), {})], [scored(a=float(truth[n]))]) for n in range(0, 40, 3)]
    (tmp_path / "annotations.json").write_text(json.dumps({"c": pages}))
    rows = "".join(f"{n}\t{truth[n] / 100 + random.normal(0, 0.01)}\n" for n in range(40))
    (tmp_path / "comet.tsv").write_text(f"line\tscore\n{rows}")
    people = {"people": {"a": tmp_path / "annotations.json"}}
    found = import_scores(
        {"a": tmp_path / "comet.tsv"}, judgements=people, examples={"ids": "line"}
    )
    (mean,) = found.scored.people
    assert (
        mean.judged == 14 and mean.alone == pytest.approx(truth[::3].mean()) and mean.narrower > 0.2
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one.pop("user_id"), "entry 2 of c: not an annotation with a user_id"),
        (
            lambda one: one.update(item={"item_id": "x"}),
            "entry 2 of c: its item and annotation are not lists",
        ),
        (
            lambda one: one.update(annotation=[scored(a="good")] * 2),
            "entry 2 of c, item 10, a: 'good' is not a score",
        ),
    ],
)
def test_damaged_annotations_are_one_line(tmp_path, change, said):
    entries = json.loads(json.dumps(ANNOTATIONS))
    change(entries[1])
    (tmp_path / "annotations.json").write_text(json.dumps({"c": entries}))
    with pytest.raises(InputError, match=said):
        read_score_columns({"": tmp_path / "annotations.json"})


def test_ids_of_thousands_of_digits_are_sorted_as_numbers(tmp_path):
    long = "9" * 5000
    rows = [("A", long, 1), ("A", "10", 2), ("A", "9", 3), ("A", "09999", 4)]
    table = "".join(f"{system}\t{segment}\tr\t{score}\n" for system, segment, score in rows)
    (tmp_path / "t.tsv").write_text(f"system\tseg_id\trater\tscore\n{table}")
    (column,) = read_score_columns({"": tmp_path / "t.tsv"})["A"]
    assert column.ids == ["9", "10", "09999", long]


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        (
            ["a\t1\tr\t1", "a\t1\tr\t2"],
            "row 3: a second score of system a, example 1, rater r \\(the first is in row 2",
        ),
        (["a\t1\tr\t1", "a\t001\tr\t2"], "the segment is written '1' and '001'"),
        (["a\t1\tRater1\t1", "a\t2\trater1 \t2"], "the rater is written 'Rater1' and 'rater1 '"),
    ],
)
def test_judgements_twice_or_in_two_spellings_are_refused(tmp_path, rows, cause):
    path = tmp_path / "judged.tsv"
    path.write_text("\n".join(["system\tseg_id\trater\tscore", *rows]) + "\n")
    with pytest.raises(InputError, match=cause):
        import_scores({"": path})
