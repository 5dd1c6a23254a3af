"""``cgbench score import``: scores of segments from files of other programs."""

import json

import pytest
from text_files import write_lines

import cgbench

REFERENCES = ["the dog saw a cat .", "a cat ran away .", "we saw it .", "it is red ."] * 5


@pytest.fixture
def exact(tmp_path):
    """References, hypotheses of two systems (one with two runs), a table; and whether each
    hypothesis is right.
    """
    texts = {
        "a1": [line.replace("cat", "dog") for line in REFERENCES],
        "a2": [
            line.replace("red", "blue") if row % 3 else line for row, line in enumerate(REFERENCES)
        ],
        "b": [line if row % 7 else "no" for row, line in enumerate(REFERENCES)],
    }
    write_lines(tmp_path / "ref", REFERENCES)
    for name, lines in texts.items():
        write_lines(tmp_path / name, lines)
        right = [int(line == reference) for line, reference in zip(lines, REFERENCES, strict=True)]
        write_lines(tmp_path / f"{name}.score", right)
    (tmp_path / "table.tsv").write_text("kind\n" + "".join(f"k{row % 3}\n" for row in range(20)))
    return tmp_path


def numbers(row):
    """What a system's JSON says, but for the names of the metric."""
    return {
        key: value
        for key, value in row.items()
        if key not in ("metric", "signature", "signature_short")
    }


@pytest.mark.parametrize(
    "options",
    [
        ["--confidence"],
        ["--paired", "calibrated", "--by", "column:kind", "--table", "table.tsv"],
        ["--all-pairs", "--by", "length", "--bins", "2"],
        ["--paired", "randomization"],
        ["--paired", "mcnemar"],
    ],
)
@pytest.mark.parametrize("seeds", ["a2", "a1,a2"])
def test_scores_of_0_and_1_are_exact_match_to_the_digit(exact, run, monkeypatch, options, seeds):
    if "," in seeds and options[-1] in ("randomization", "mcnemar"):
        pytest.skip("of single runs")
    monkeypatch.chdir(exact)
    shared = ["--ref", "ref", "--set", "samples=200", "--format", "json", *options]
    scores = ",".join(f"{name}.score" for name in seeds.split(","))
    ours = run("score", "import", "--scores", f"a={scores}", "--scores", "b=b.score", *shared)
    theirs = run("score", "exact", "--hyp", f"a={seeds}", "--hyp", "b=b", *shared)
    found, expected = json.loads(ours.stdout), json.loads(theirs.stdout)
    assert [numbers(row) for row in found] == [numbers(row) for row in expected]
    assert [row["ci_low"] for row in found] != [None, None]


def test_a_control_set_is_that_of_exact_match(exact, run, monkeypatch):
    monkeypatch.chdir(exact)
    shared = ["--set", "samples=200", "--format", "json"]
    words = ["--scores", "a=a1.score", "--scores", "b=b.score", "--control-scores", "a=a2.score"]
    ours = run("score", "import", *words, "--control-scores", "b=b.score", *shared)
    words = [
        "--ref",
        "ref",
        "--control-ref",
        "ref",
        "--hyp",
        "a=a1",
        "--hyp",
        "b=b",
        "--control-hyp",
        "a=a2",
    ]
    theirs = run("score", "exact", *words, "--control-hyp", "b=b", *shared)
    assert [row["control"] for row in json.loads(ours.stdout)] == [
        row["control"] for row in json.loads(theirs.stdout)
    ]


SCORES = [0.81, 0.5, -0.25, 0.9]
COMET = [
    {"src": "s", "mt": "t", "ref": "r", "COMET": score, "errors": [{"text": "t"}]}
    for score in SCORES
]
FORMS = {
    "plain.txt": "0.81\n0.5\n-0.25\n0.9\n",
    "dos.txt": "0.81\r\n0.5\r\n-0.25\r\n0.9\r\n",
    "COMET-ref.seg.score": "".join(f"{name}\t{score}\n" for name in ("a", "b") for score in SCORES),
    "table.tsv": "id\tscore\n" + "".join(f"{row}\t{score}\n" for row, score in enumerate(SCORES)),
    # metricx24/predict.py: the rows of its input with "prediction"
    "metricx.jsonl": "".join(
        json.dumps({"source": "s", "reference": "r", "hypothesis": "h", "prediction": score}) + "\n"
        for score in SCORES
    ),
    # comet/cli/score.py: --to_json; XCOMET has "errors", too
    "comet.json": json.dumps({"out/a.txt": COMET}, indent=4),
    # eole/inference_engine.py: a converted COMET model; an estimator of eole's own
    "eole.txt": "\n".join(map(str, SCORES)) + "\n",
    "eole.tsv:3": "".join(f"a translation\t-1.25\t{score}\n" for score in SCORES),
    "list.json": json.dumps([{"score": score} for score in SCORES]),
    "rating.parquet": None,
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_mean(tmp_path, values, name):
    if FORMS[name] is None:
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(
            pytest.importorskip("pyarrow").table({"rating": SCORES}), tmp_path / name
        )
    else:
        (tmp_path / name.removesuffix(":3")).write_text(FORMS[name], newline="")
    assert values("score", "import", "--scores", f"a={tmp_path / name}") == [0.49]


def test_a_file_of_all_systems_gives_them_all(tmp_path, run):
    lines = [
        f"{name}\t{score + place}"
        for place, name in enumerate(("sys-A", "ref.B"))
        for score in SCORES
    ]
    write_lines(tmp_path / "BLEURT.seg.score", lines)
    rows = json.loads(
        run("score", "import", "--scores", tmp_path / "BLEURT.seg.score", "--format", "json").stdout
    )
    assert [(row["system"], row["value"]) for row in rows] == [("sys-A", 0.49), ("ref.B", 1.49)]


@pytest.mark.parametrize(("statistic", "value"), [("mean", 0.55), ("share:0.5", 66.6667)])
def test_statistics(tmp_path, run, statistic, value):
    write_lines(tmp_path / "a", [0.25, 0.5, 0.9] if statistic == "mean" else [0.25, 0.5, 1.0])
    expected = {
        "geometric": 0.125 ** (1 / 3),
        "harmonic": 3 / 7,
        "rms": ((0.0625 + 0.25 + 0.81) / 3) ** 0.5,
    }
    found = run(
        "score",
        "import",
        "--scores",
        tmp_path / "a",
        "--set",
        f"statistic={statistic}",
        "--format",
        "json",
    )
    row = json.loads(found.stdout)
    assert row["value"] == pytest.approx(expected.get(statistic, value), abs=1e-4)
    assert f"stat:{statistic.replace(':', '-')}" in row["signature"]


def test_a_scale_keeps_intervals_within(tmp_path, run):
    write_lines(tmp_path / "a", [5, 5, 5, 4])
    words = ["score", "import", "--scores", tmp_path / "a", "--confidence", "--format", "json"]
    free = json.loads(run(*words).stdout)
    assert free["ci_low"] == pytest.approx(2 * 4.75 - free["ci_high"])  # symmetrical
    assert free["ci_high"] > 5
    kept = json.loads(run(*words, "--scale", "1:5").stdout)
    assert kept["value"] == free["value"] == 4.75
    assert 1 < kept["ci_low"] < 4.75 < kept["ci_high"] <= 5
    assert "scale:1..5" in kept["signature"]


def test_lower_is_better(tmp_path, run):
    write_lines(tmp_path / "a", [1, 2] * 8)
    write_lines(tmp_path / "b", [2, 3] * 8)
    words = [
        "--scores",
        tmp_path / "a",
        "--scores",
        tmp_path / "b",
        "--lower-is-better",
        "--name",
        "MetricX",
    ]
    assert (
        "textbf" not in run("score", "import", *words, "--format", "latex").stdout
    )  # no test said which is better
    text = run("score", "import", *words, "--format", "latex", "--paired").stdout
    assert r"\textbf{1.5}" in text and r"\textbf{2.5}" not in text
    assert "MetricX" in text
    assert "better:lower" in text


def test_missing_scores_are_dropped_from_all_systems_and_counted(tmp_path, run):
    write_lines(tmp_path / "a", [1, "nan", 3, 4])
    write_lines(tmp_path / "b", [2, 2, "inf", 8])
    write_lines(tmp_path / "ref", ["x", "x", "x y", "x y"])
    words = [
        "score",
        "import",
        "--scores",
        tmp_path / "a",
        "--scores",
        tmp_path / "b",
        "--drop-missing",
    ]
    words += ["--format", "json"]
    result = run(*words, "--ref", tmp_path / "ref", "--by", "length")
    a, b = json.loads(result.stdout)
    assert (a["n"], a["value"], b["value"]) == (2, 2.5, 5.0)
    assert [(one["label"], one["n"], one["value"]) for one in b["bins"]] == [
        ("1", 1, 2.0),
        ("2", 1, 8.0),
    ]
    assert "dropped:2" in a["signature"]
    assert "2 of 4 examples are left out of all systems" in result.stderr
    page = tmp_path / "page.html"
    run(*words, "--output", page)
    assert "NaN" not in page.read_text()


def test_the_page_shows_the_texts_that_were_given(exact, run):
    page = exact / "page.html"
    words = [
        "score",
        "import",
        "--scores",
        f"a={exact / 'a1.score'}",
        "--scores",
        f"b={exact / 'b.score'}",
    ]
    run(*words, "--ref", exact / "ref", "--output", page)
    assert "<caption>N-grams" not in page.read_text()
    run(
        *words,
        "--ref",
        exact / "ref",
        "--hyp",
        f"a={exact / 'a1'}",
        "--hyp",
        f"b={exact / 'b'}",
        "--output",
        page,
    )
    assert "<caption>N-grams" in page.read_text()
    assert "the dog saw a dog ." in page.read_text()


def test_rows_are_joined_by_their_ids(tmp_path, run):
    (tmp_path / "a.tsv").write_text("key\tscore\tkind\nx\t1\tp\ny\t2\tq\nz\t3\tq\n")
    (tmp_path / "b.tsv").write_text("key\tscore\nz\t30\nx\t10\ny\t20\n")
    words = [
        "score",
        "import",
        "--scores",
        tmp_path / "a.tsv",
        "--scores",
        tmp_path / "b.tsv",
        "--id",
        "key",
    ]
    result = run(*words, "--by", "column:kind", "--format", "json")
    assert [one["value"] for one in json.loads(result.stdout)[1]["bins"]] == [10.0, 25.0]
    assert run(*words[:-2], "--by", "column:kind", "--format", "json").stdout == result.stdout


BAD = {
    "another length": (["1\n2\n3\n", "1\n2\n"], [], "b has 2 scores and "),
    "no number": (
        ["1\n2\n", "1\nx\n"],
        [],
        "b, row 2: 'x' is not a score; give a number such as 0.5",
    ),
    "decimal comma": (
        ["1\n2\n", "1.5\n82,88\n"],
        [],
        "b, row 2: '82,88' is not a score; write it with a decimal point",
    ),
    "thousands": (
        ["1\n2\n", "1\n1,182.5\n"],
        [],
        "b, row 2: '1,182.5' is not a score; give a number such as 0.5",
    ),
    "underscore": (["1\n2\n", "1\n1_1\n"], [], "b, row 2: '1_1' is not a score"),
    "missing": (
        ["1\n2\n3\n", "nan\n1\ninf\n"],
        [],
        "b: 2 of 3 scores are missing or infinite: rows 1 (nan), 3 (inf).",
    ),
    "all missing": (["nan\n1\n", "1\nnan\n"], ["--drop-missing"], "no example is left"),
    "outside the scale": (
        ["0.5\n1\n", "0.5\n83.1\n"],
        ["--scale", "0:1"],
        "b, row 2: 83.1 is outside the scale",
    ),
    "too large": (["1\n2\n", "1e200\n2\n"], [], "row 1: 1e200 is too large a score"),
    "another script": (["1\n2\n", "1\n٣\n"], [], "row 2: '٣' is not a score"),
    "a raised digit": (["1\n2\n", "1\n²\n"], [], "row 2: '²' is not a score"),
    "a word": (
        ["1\n2\n", "0.7\nTrue\n"],
        [],
        "row 2: 'True', but other rows have numbers other than 0 and 1",
    ),
    "share of a word": (
        ["1\n2\n"] * 2,
        ["--set", "statistic=share:True"],
        "'True' is not a number; write share:0.8",
    ),
    "endless share": (
        ["1\n2\n"] * 2,
        ["--set", "statistic=share:1e999"],
        "'1e999' is not a number; write share:0.8",
    ),
    "scale of another script": (
        ["1\n2\n"] * 2,
        ["--scale", "\u0660:3"],
        "give the lowest and the highest score",
    ),
    "scale with underscore": (
        ["1\n2\n"] * 2,
        ["--scale", "0:1_0"],
        "give the lowest and the highest score",
    ),
    "no scale": (
        ["1\n2\n", "1\n2\n"],
        ["--scale", "1:0"],
        "--scale 1:0: give the lowest and the highest score",
    ),
    "no statistic": (
        ["1\n2\n", "1\n2\n"],
        ["--set", "statistic=meen"],
        "--set statistic=meen; did you mean mean?",
    ),
    "McNemar": (
        ["1\n2\n", "1\n2\n"],
        ["--paired", "mcnemar"],
        "needs examples that are right or wrong",
    ),
    "ids of no table": (["1\n2\n", "1\n2\n"], ["--id", "key"], "--id key names a column; "),
    "empty": (["", ""], [], "no scores"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_scores_are_one_line(tmp_path, run, what):
    texts, options, message = BAD[what]
    for name, text in zip("ab", texts, strict=True):
        (tmp_path / name).write_text(text)
    words = ["score", "import", "--scores", tmp_path / "a", "--scores", tmp_path / "b", *options]
    (line,) = [
        line for line in run(*words, status=2).stderr.splitlines() if line.startswith("error")
    ]
    assert message in line


def test_bad_tables_are_one_line(tmp_path, run):
    (tmp_path / "a.tsv").write_text("key\tscore\nx\t1\nx\t2\n")
    (tmp_path / "b.tsv").write_text("key\tscore\nx\t1\ny\t2\n")
    (tmp_path / "c.tsv").write_text("key\tscore\nx\t1\nw\t2\n")
    (tmp_path / "d.tsv").write_text("key\tone\nx\t1\n")
    twice = run("score", "import", "--scores", tmp_path / "a.tsv", "--id", "key", status=2).stderr
    assert "a.tsv:score, row 2: the id 'x' is also in row 1" in twice
    words = [
        "score",
        "import",
        "--scores",
        tmp_path / "b.tsv",
        "--scores",
        tmp_path / "c.tsv",
        "--id",
        "key",
    ]
    assert "b.tsv:score, row 2 (id 'y') has no row in " in run(*words, status=2).stderr
    assert (
        "which column? Write "
        in run("score", "import", "--scores", tmp_path / "d.tsv", status=2).stderr
    )
    (tmp_path / "e.json").write_text("{")
    assert (
        "not valid JSON" in run("score", "import", "--scores", tmp_path / "e.json", status=2).stderr
    )
    for text, message in (
        ("[1, 2]", "row 1: not an object with one field per column"),
        ('{"a": [1, 2]}', "row 1: not an object with a score"),
        ('{"a": 1}', "an object with one list of objects per system"),
        ('{"a": [{"n": 1}]}', "which field has the scores?"),
    ):
        (tmp_path / "e.json").write_text(text)
        assert message in run("score", "import", "--scores", tmp_path / "e.json", status=2).stderr
    (tmp_path / "M.seg.score").write_text("a\t1\nb\t2\n")
    assert (
        "no system 'c'"
        in run("score", "import", "--scores", f"c={tmp_path / 'M.seg.score'}", status=2).stderr
    )
    write_lines(tmp_path / "ref", ["x"])
    words = ["score", "import", "--scores", tmp_path / "b.tsv", "--ref", tmp_path / "ref"]
    assert "has 2 scores and " in run(*words, status=2).stderr


def test_a_system_without_any_score_is_left_out_and_named(tmp_path, run):
    """As references in the human scores of mt-metrics-eval."""
    rows = {
        "refA": ["None"] * 4,
        "one": ["-1", "None", "-3", "-2"],
        "two": ["-2", "-1", "-3", "-4"],
    }
    file = tmp_path / "mqm.seg.score"
    file.write_text(
        "".join(f"{name}\t{score}\n" for name, scores in rows.items() for score in scores)
    )
    words = ("score", "import", "--scores", file)
    assert "refA: 4 of 4 scores are missing" in run(*words, status=2).stderr
    found = run(*words, "--drop-missing", "--format", "json")
    rows = [(row["system"], row["n"], row["value"]) for row in json.loads(found.stdout)]
    assert rows == [("one", 3, -2.0), ("two", 3, -3.0)]
    assert "left out, because they have no scores: refA" in found.stderr
    assert "1 of 4 examples are left out" in found.stderr
    file.write_text("refA\tNone\nrefB\tNone\n")
    assert "no example is left" in run(*words, "--drop-missing", status=2).stderr


def test_scores_up_to_one_have_digits_that_tell_them_apart(tmp_path, run, values):
    for name, scores in (("a1", [0.81, 0.85]), ("a2", [0.82, 0.85]), ("b", [0.8, 0.85])):
        write_lines(tmp_path / name, scores * 20)
    words = [
        "score",
        "import",
        "--scores",
        f"a={tmp_path / 'a1'},{tmp_path / 'a2'}",
        "--scores",
        f"b={tmp_path / 'b'}",
    ]
    table = run(*words, "--paired", "--output", tmp_path / "page.html").stdout
    assert "0.8325" in table and "0.0035" in table and "-0.0075" in table and " 0.8 " not in table
    page = (tmp_path / "page.html").read_text()
    assert "0.8325" in page and "\N{MINUS SIGN}0.0075" in page
    assert " 0.8 " in run(*words, "--set", "width=1").stdout
    assert values(*words, "--scale", "0:1") == [83.25, 82.5]  # percent


def test_scores_in_0_to_1_and_in_percent_are_not_compared(tmp_path, run):
    write_lines(tmp_path / "a", [0.8, 0.85, 0, 0.9] * 5)
    write_lines(tmp_path / "b", [80, 85, 0, 0.7, *[90] * 16])
    write_lines(tmp_path / "right", [1, 0] * 10)
    write_lines(tmp_path / "right100", [100, 0] * 10)
    write_lines(tmp_path / "counts", [0, 1, 2, 3] * 5)
    for one, other in (("a", "b"), ("b", "a"), ("right", "right100"), ("a", "right100")):
        words = ["score", "import", "--scores", f"x={tmp_path / one}"]
        for more in (
            ["--scores", f"y={tmp_path / other}"],
            ["--control-scores", f"x={tmp_path / other}"],
        ):
            error = run(*words, *more, status=2).stderr
            assert (
                "they seem to have different scales; convert them" in error
                and "--scale, such as 0:100" in error
            )
        run(*words, "--scores", f"y={tmp_path / other}", "--scale", "0:100")
    error = run(
        "score", "import", "--scores", f"x={tmp_path / 'a'},{tmp_path / 'b'}", status=2
    ).stderr
    assert "different scales" in error  # two runs of one system
    write_lines(tmp_path / "unit", [0.81, 0.9, 0.4, 1] * 5)
    for number, scores in enumerate(
        ([7, 0, 9, 10], [1, 5, 3, 4], [-0.2, 0.3, -0.9, 1], [-25, 0, -5, -1])
    ):
        write_lines(tmp_path / f"other{number}", scores * 5)
        words = ["score", "import", "--scores", f"x={tmp_path / 'unit'}", "--scores"]
        assert (
            "different scales" in run(*words, f"y={tmp_path / f'other{number}'}", status=2).stderr
        )
        assert (
            "different scales"
            in run(
                *words,
                f"z={tmp_path / 'a'}",
                "--scores",
                f"y={tmp_path / f'other{number}'}",
                status=2,
            ).stderr
        )
    for one, other in (("a", "right"), ("right", "counts"), ("b", "counts"), ("right100", "b")):
        run(
            "score",
            "import",
            "--scores",
            f"x={tmp_path / one}",
            "--scores",
            f"y={tmp_path / other}",
        )


def test_a_control_set_has_the_scale_of_the_test_set(tmp_path, run):
    """Right or wrong on the test set, partly right on the control set: both in percent."""
    write_lines(tmp_path / "test", [0, 1, 1, 0] * 5)
    write_lines(tmp_path / "control", [0, 0.5, 1, 0.5] * 5)
    words = ["--scores", f"a={tmp_path / 'test'}", "--control-scores", f"a={tmp_path / 'control'}"]
    result = json.loads(run("score", "import", *words, "--format", "json").stdout)
    assert result["value"] == result["control"]["value"] == 50


def test_words_for_right_and_wrong_are_one_and_zero(tmp_path, values):
    path = write_lines(tmp_path / "a", ["True", "False", "1", "0.0"])
    assert values("score", "import", "--scores", path) == [50]


def test_a_file_of_human_judgements_gives_all_systems_and_their_raters(tmp_path, run):
    severity = ("Minor", "Major")
    rows = [
        f"{system}\td{n // 4}\t{n % 4}\t{n + 1}\tr{n % 8}\ts\tt\tStyle\t{severity[n % step > 0]}"
        for n in range(32)
        for system, step in (("mine", 5), ("base", 3))
    ]
    head = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"
    write_lines(tmp_path / "mqm.tsv", [head, *rows])
    words = [
        "score",
        "import",
        "--scores",
        tmp_path / "mqm.tsv",
        "--name",
        "MQM",
        "--paired",
        "--baseline",
        "base",
    ]
    found = run(*words, "--cluster", "rater", "--cluster", "document").stdout
    assert "clusters: 8 by rater and 8 by document" in found
    assert "clusters:rater(8)+document(8)" in found
    one = json.loads(
        run(*words, "--format", "json", "--standardise-raters", "--by", "column:document").stdout
    )
    assert [row["system"] for row in one] == ["base", "mine"] and len(one[0]["bins"]) == 8
    failed = run(
        "score", "import", "--scores", f"a={tmp_path / 'mqm.tsv'}", "--standardise-raters", status=2
    )
    assert "no system 'a'; there is base, mine" in failed.stderr


def test_judgements_of_the_same_example_are_not_independent(tmp_path, run):
    """Rows are judgements if raters are to be clusters or bins, and their examples are clusters."""
    rows = [f"{system}\te{n // 2}\tr{n % 4}\t{n % 7}" for system in ("a", "b") for n in range(32)]
    path = write_lines(tmp_path / "j.tsv", ["system\texample\trater\tscore", *rows])
    words = ["score", "import", "--scores", path, "--paired"]
    assert "clusters:rater(4)+example(16)" in run(*words, "--cluster", "rater").stdout
    assert "clusters:example(16)" in run(*words, "--by", "column:rater").stdout


RATINGS = """doc,segment,sys,annotator,rating
d1,1,A,u,80
d1,1,B,u,70
d1,2,A,v,90
d1,2,B,v,60
d2,1,A,u,50
d2,1,B,u,56
"""


@pytest.fixture
def ratings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text(RATINGS)
    return tmp_path


def figures(run, *words):
    rows = json.loads(run("score", "import", *words, "--format", "json").stdout)
    return {row["system"]: row["value"] for row in (rows if isinstance(rows, list) else [rows])}


def test_a_table_of_ratings_has_a_mean_per_system(ratings, run):
    pandas = pytest.importorskip("pandas")
    means = {"A": pytest.approx(220 / 3), "B": pytest.approx(62)}
    assert figures(run, "--scores", "r.csv") == means
    assert figures(run, "--scores", "A=r.csv") == {"A": means["A"]}
    (ratings / "excel.csv").write_text(RATINGS.replace(",", ";"))
    assert figures(run, "--scores", "excel.csv") == means
    (ratings / "comma.csv").write_text(RATINGS.replace(",", ";").replace("80", "80,5"))
    assert figures(run, "--scores", "comma.csv")["A"] == pytest.approx(220.5 / 3)
    (ratings / "comma.csv").write_text(RATINGS.replace(",", ";").replace("80", "80,5 or so"))
    refused = run("score", "import", "--scores", "comma.csv", status=2).stderr
    assert "comma.csv, row 2: '80,5 or so' is not a score; give a number" in refused
    by_document = ("--scores", "r.csv", "--confidence", "--cluster")
    by_name = figures(run, *by_document, "doc")  # as in the file
    assert by_name == figures(run, *by_document, "document") == means
    refused = run("score", "import", "--scores", "r.csv", "--cluster", "dog", status=2).stderr
    assert "--cluster dog: the scores or the log have no such column; did you mean doc" in refused
    frame = pandas.read_csv(ratings / "r.csv")
    for scores in (frame, str(ratings / "r.csv")):
        result = cgbench.import_scores(scores, comparison={"cluster": "document"})
        assert {system: values["score"] for system, values in result.figures.items()} == means
        assert "clusters: 2 by document" in str(result)
    (ratings / "odd.csv").write_text(RATINGS.replace("sys,annotator", "who,person"))
    assert (
        figures(run, "--scores", "odd.csv", "--set", "columns_of=system=who,rater=person") == means
    )


@pytest.mark.parametrize(
    ("change", "words", "line"),
    [
        (
            ("segment", "x"),
            (),
            "its column 'sys' has 2 systems; name the columns with --set columns_of",
        ),
        (
            ("sys,annotator", "who,person"),
            (),
            "an example has several rows by its column 'segment'; name the columns",
        ),
        (("segment,sys", "x,y"), (), "its column 'annotator' has 2 raters; name the columns"),
        (("", ""), ("--set", "columns_of=sistem=sys"), "did you mean system"),
        (("", ""), ("--set", "columns_of=system=no"), "no column 'no'"),
        (
            ("d2,1,A,u", "d1,1,A,u"),
            (),
            "row 6: a second score of system A, example d1:1, rater u (the first is",
        ),
    ],
)
def test_a_table_of_several_systems_is_no_mean(ratings, run, change, words, line):
    (ratings / "r.csv").write_text(RATINGS.replace(*change) if change[0] else RATINGS)
    error = run("score", "import", "--scores", "r.csv", *words, status=2).stderr
    assert line in error and len(error.splitlines()) == 1


def test_a_score_above_one_keeps_four_digits(ratings, run):
    (ratings / "comet").write_text(
        "".join(f"{0.8 + row / 9000}\n" for row in range(999)) + "1.022\n"
    )
    assert " = 0.8556 (" in run("score", "import", "--scores", "a=comet").stdout
