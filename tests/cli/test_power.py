"""``cgbench power``."""

import json
import random
import re

import pytest


@pytest.fixture
def pilot(tmp_path):
    rng = random.Random(1)
    hard = [rng.random() for _ in range(200)]
    for name, skill in (("a1", 0.5), ("a2", 0.55), ("b1", 0.6), ("b2", 0.68)):
        right = [int((one + rng.random()) / 2 < skill) for one in hard]
        (tmp_path / name).write_text("".join(f"{value}\n" for value in right))
    (tmp_path / "ref").write_text("1\n" * 200)
    return tmp_path


def test_scores_and_exact_match_say_the_same(pilot, run):
    asked = ["--difference", "5", "--format", "json"]
    scores = run("power", "--scores", pilot / "a1", "--scores", pilot / "b1", *asked)
    texts = run(
        "power", "--hyp", pilot / "a1", "--hyp", pilot / "b1", "--ref", pilot / "ref", *asked
    )
    found, expected = json.loads(scores.stdout), json.loads(texts.stdout)
    assert (found.pop("metric"), expected.pop("metric")) == ("scores", "exact")
    assert found == expected
    assert "the variance between seeds is unknown" in scores.stderr
    at = {row["examples"]: row["difference"] for row in found["smallest"]}
    assert sorted(at) == [100, 200, 400, 800, 2000]
    assert at[800] == pytest.approx(at[200] / 2, rel=0.1)
    (needs,) = found["needs"]
    assert needs["examples"] > 200
    assert needs["power"] < 0.8


def test_several_seeds_have_a_part_that_examples_do_not_remove(pilot, run):
    words = [
        "power",
        "--scores",
        f"a={pilot / 'a1'},{pilot / 'a2'}",
        "--scores",
        f"b={pilot / 'b1'},{pilot / 'b2'}",
    ]
    found = json.loads(run(*words, "--format", "json").stdout)
    assert found["pilot"]["between"] > 0
    assert found["smallest"][-1]["examples"] is None
    assert found["smallest"][-1]["difference"] > 0
    text = run(*words, "--difference", "1").stdout
    assert "any number" in text
    assert "seeds: more examples do not remove it" in text


def test_a_variance_alone(run):
    found = json.loads(
        run("power", "--variance", "4", "--examples", "100", "--format", "json").stdout
    )
    (smallest,) = found["smallest"]
    assert (
        0.56 < smallest["difference"] < 0.59
    )  # (1.96 + 0.84) times 0.2, and a little for the test's own spread
    words = [
        "power",
        "--variance",
        "4",
        "--examples",
        "100",
        "--difference",
        str(smallest["difference"]),
    ]
    assert run(*words).stdout.splitlines()[-1].split()[1:] in (["80.0%", "100"], ["80.0%", "101"])


def test_right_and_wrong_examples_need_more_than_their_variance_says(run):
    words = [
        "power",
        "--variance",
        "2400",
        "--examples",
        "5",
        "--examples",
        "200",
        "--format",
        "json",
    ]
    smooth = json.loads(run(*words).stdout)["smallest"]
    binary = json.loads(run(*words, "--binary").stdout)["smallest"]
    assert (
        smooth[0] == binary[0] == {"examples": 5, "difference": None}
    )  # no five examples are significant
    assert binary[1]["difference"] > smooth[1]["difference"]
    assert "none" in run(*words[:-2], "--binary").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give the scores of a pilot of two systems, or --variance"),
        (["--variance", "1"], "--variance needs the number of examples"),
        (["--variance", "-1", "--examples", "10"], "it must be a number, at least 0"),
        (["--variance", "0", "--examples", "10"], "the variance is 0"),
        (["--variance", "20000", "--examples", "10", "--binary"], "has at most 10,000"),
        (["--variance", "9", "--examples", "10", "--seed-variance", "4"], "give --seeds 2 or more"),
        (["--scores", "a1", "--scores", "b1", "--binary"], "--binary needs --variance"),
        (["--scores", "a1", "--scores", "b=a1"], "differ by the same amount on every example"),
        (["--hyp", "a1"], "references are needed"),
        (["--scores", "a1"], "a pilot needs two systems, not 1;"),
        (
            ["--scores", "a1", "--scores", "b=b1,b2"],
            "a pilot needs the same number of runs of each system: a1 1, b 2",
        ),
        (["--scores", "a1", "--scores", "b1", "--seeds", "3"], "--seeds 3: a pilot with one run"),
        (
            ["--scores", "a1", "--scores", "b1", "--seed-variance", "3"],
            "--seed-variance needs --variance",
        ),
    ],
)
def test_bad_calls_are_one_line(pilot, run, monkeypatch, words, message):
    monkeypatch.chdir(pilot)
    assert message in run("power", *words, status=2).stderr


def test_the_plot_has_the_smallest_differences_of_the_table(run, tmp_path):
    pytest.importorskip("matplotlib")
    words = ["power", "--variance", "4", "--examples", "100", "--examples", "1000", "--plot"]
    run(*words, tmp_path / "power.svg")
    picture = (tmp_path / "power.svg").read_text()
    for text in ("80% power; seeds: 1", "smallest difference, score", ">1,000<", ">100<"):
        assert text in picture
    # Distances are those of logarithms: 100 is as far from 1,000 as that is from 10,000; 1,010 is
    # too near for a label.
    run(*words[:-1], "--examples", "10000", "--examples", "1010", "--plot", tmp_path / "log.svg")
    picture = (tmp_path / "log.svg").read_text()
    low, middle, high = (
        float(re.search(rf'x="([\d.]+)"[^>]*>{text}<', picture)[1])
        for text in ("100", "1,000", "10,000")
    )
    assert middle - low == pytest.approx(high - middle, rel=0.01) and ">1,010<" not in picture
    run(*words, tmp_path / "power.svg", "--seeds", "3", "--seed-variance", "1")
    assert "seeds: 3" in (tmp_path / "power.svg").read_text()
