"""``cgbench score external`` and ``score comet``, with a fake scorer that behaves as badly as it is told."""

import json
import sys

import pytest

SCORER = """
import json, os, sys, time
how, log = sys.argv[1], sys.argv[2]
rows = [json.loads(line) for line in sys.stdin]
with open(log, "a") as file:
    file.write("".join(json.dumps(row) + "\\n" for row in rows))
def say(row, score=None):
    words = row["hypothesis"].split()
    same = sum(word in row["reference"].split() for word in words)
    value = same / max(len(words), 1) if score is None else score
    print(json.dumps({"id": row["id"], "score": value}), flush=True)
if how == "backwards":
    rows = rows[::-1]
print("loading", file=sys.stderr)
for place, row in enumerate(rows):
    if place == 3 and how == "dies":
        sys.exit("out of memory")
    if place == 3 and how == "killed":
        os.kill(os.getpid(), 9)
    if place == 3 and how == "hangs":
        time.sleep(600)
    if place == 3 and how == "few":
        break
    if place == 3 and how == "talks":
        print("hello there")
    if place == 3 and how == "strange":
        row = dict(row, id=99)
    if place == 3 and how == "twice":
        say(rows[0], 0.123)
    say(row, float("nan") if place == 3 and how == "nan" else "x" if place == 3 and how == "text" else None)
if how == "lingers":
    time.sleep(600)
"""
REFERENCES = [f"the dog saw cat number {number}" for number in range(8)]


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "scorer.py").write_text(SCORER)
    (tmp_path / "ref").write_text("".join(f"{line}\n" for line in REFERENCES))
    (tmp_path / "a").write_text("".join(f"{line}\n" for line in REFERENCES))
    (tmp_path / "b").write_text("".join(f"{line.replace('saw', 'had')}\n" for line in REFERENCES))
    return tmp_path


def command(folder, how, *systems, revision="r1"):
    words = ["score", "external", "--scorer", f"{sys.executable} {folder / 'scorer.py'} {how} {folder / 'log'}"]
    words += ["--model", "org/fake", "--revision", revision, "--ref", folder / "ref", "--cache", folder / "cache"]
    for name in systems or ("a", "b"):
        words += ["--hyp", folder / name]
    return [*words, "--format", "json"]


def asked(folder):
    """What the scorer has been asked since the last time."""
    log = folder / "log"
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    log.unlink(missing_ok=True)
    return rows


@pytest.mark.parametrize("how", ["well", "backwards"])
def test_scores_come_in_any_order_and_are_kept(texts, run, how):
    a, b = json.loads(run(*command(texts, how), "--paired").stdout)
    assert (a["value"], round(b["value"], 6)) == (1.0, 0.833333)
    assert "|model:org/fake|rev:r1" in a["signature"].replace("|stat:mean", "")
    assert b["p_value"] is not None
    rows = asked(texts)
    assert len(rows) == 16
    assert set(rows[0]) == {"id", "hypothesis", "reference", "references"}
    again = json.loads(run(*command(texts, how), "--paired").stdout)
    assert again == [a, b]
    assert asked(texts) == []
    run(*command(texts, how, revision="r2"))
    assert len(asked(texts)) == 16


def test_equal_examples_are_asked_about_once(texts, run):
    (texts / "b").write_text((texts / "a").read_text())
    run(*command(texts, "well"))
    assert len(asked(texts)) == 8


BAD = {
    "dies": "ended with status 1 after 3 of 16 answers (out of memory); 3 of 16 answers are kept",
    "killed": "ended with signal 9 after 3 of 16 answers",
    "few": "ended with status 0 after 3 of 16 answers (loading); 3 of 16 answers are kept",
    "talks": "line 4 of its answers is no {'id': ..., 'score': ...}: 'hello there'",
    "strange": "line 4 of its answers has an id that was not asked about",
    "twice": "gives id 0 another score (0.123) than before (1)",
    "text": "has a score that is no number",
}


@pytest.mark.parametrize("how", BAD)
def test_what_a_scorer_does_wrong_is_one_line_and_what_it_did_is_kept(texts, run, how):
    result = run(*command(texts, how), status=2)
    (line,) = result.stderr.splitlines()
    assert BAD[how] in line
    assert len(asked(texts)) == 16
    run(*command(texts, "well"))
    assert len(asked(texts)) == 13


def test_a_scorer_that_hangs_is_ended(texts, run):
    line = run(*command(texts, "hangs"), "--timeout", "1", status=2).stderr
    assert "no answer for 1 seconds, so it was ended; 3 of 16 answers are kept" in line
    assert "--timeout waits longer" in line


def test_a_scorer_that_lingers_is_not_waited_for(texts, run, monkeypatch):
    monkeypatch.setattr("cgbench.benchmark.imported.external.PATIENCE", 0.1)
    assert len(json.loads(run(*command(texts, "lingers")).stdout)) == 2


def test_no_score_of_an_example_is_an_error_unless_it_may_be_dropped(texts, run):
    error = run(*command(texts, "nan"), status=2).stderr
    assert "a: 1 of 8 scores are missing or infinite: row 4 (nan)." in error
    result = run(*command(texts, "nan"), "--drop-missing")  # it is asked about again, and is now the only one
    assert [row["n"] for row in json.loads(result.stdout)] == [8, 8]


def test_a_file_of_scores_that_a_crash_has_cut(texts, run):
    first = run(*command(texts, "well")).stdout
    (kept,) = (texts / "cache").iterdir()
    kept.write_bytes(kept.read_bytes()[:-10])
    asked(texts)
    assert run(*command(texts, "well")).stdout == first
    assert len(asked(texts)) == 1
    assert run(*command(texts, "well")).stdout == first
    assert asked(texts) == []


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        ("no-such-program-here", "cannot be run: No such file"),
        ("'", "--scorer ': No closing quotation"),
        ("", "is empty"),
    ],
)
def test_programs_that_are_none(texts, run, scorer, message):
    words = ["score", "external", "--scorer", scorer, "--model", "m", "--revision", "1", "--hyp", texts / "a"]
    assert message in run(*words, "--cache", texts / "cache", status=2).stderr


COMET = """
class _Model:
    def predict(self, data, batch_size, gpus, progress_bar):
        print("Lightning says something")
        return type("Output", (), {"scores": [len(row["mt"]) / 100 for row in data]})
def download_model(name):
    return name
def load_from_checkpoint(path):
    return _Model()
"""


def test_comet_in_its_own_environment(texts, run, monkeypatch):
    (texts / "env").mkdir()
    (texts / "env" / "comet.py").write_text(COMET)
    monkeypatch.setenv("PYTHONPATH", str(texts / "env"))
    words = [
        "score",
        "comet",
        "--python",
        sys.executable,
        "--model",
        "Unbabel/wmt22-comet-da",
        "--revision",
        "371e9839",
    ]
    words += ["--hyp", texts / "a", "--ref", texts / "ref", "--cache", texts / "cache", "--format", "json"]
    row = json.loads(run(*words, "--source", texts / "ref").stdout)
    assert row["metric"] == "COMET"
    assert row["value"] == pytest.approx(sum(len(line) for line in REFERENCES) / 800)
    assert "model:Unbabel/wmt22-comet-da|rev:371e9839" in row["signature"]
    assert "COMET reads sources" in run(*words, status=2).stderr


def test_scores_of_a_program_go_through_tests_bins_and_the_report(texts, run):
    words = [*command(texts, "well"), "--all-pairs", "--by", "length", "--differences", "--report", texts / "page.html"]
    a, b = json.loads(run(*words).stdout)
    assert [one["n"] for one in a["bins"]] == [8]
    assert b["pairs"][0]["p_holm"] is not None
    assert b["differences"]["tested_ngrams"] > 0
    page = (texts / "page.html").read_text()
    assert "All pairs" in page
    assert "the dog had cat number 3" in page
