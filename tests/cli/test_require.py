"""``--require``: the exit status of a comparison, and a gate in continuous integration."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

import cgbench
from cgbench import Comparison, InputError
from cgbench.benchmark.score.comparison.requirements import Requirement, read_requirement

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "continuous-integration.md"
REFERENCES = [f"the {'small ' * (row % 4)}dog number {row} saw a cat" for row in range(300)]


def outputs(wrong_share, seed):
    """The references with an error in a share of them."""
    luck = np.random.default_rng(seed).random(len(REFERENCES))
    return [
        line.replace("dog", "cow") if is_wrong else line
        for line, is_wrong in zip(REFERENCES, luck < wrong_share, strict=True)
    ]


SYSTEMS = {"last": outputs(0.3, 0), "good": outputs(0.1, 1), "like": outputs(0.28, 3)}


@pytest.fixture
def words(tmp_path):
    for name, lines in {"ref": REFERENCES, **SYSTEMS}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    hypotheses = [word for name in SYSTEMS for word in ("--hyp", f"{name}={tmp_path / name}")]
    return ["exact", "--ref", tmp_path / "ref", *hypotheses]


@pytest.mark.parametrize(
    ("claims", "baseline", "status", "lines"),
    [
        (["good=better"], "last", 0, ["shown: good is better than last (gain in exact +"]),
        (["like=better"], "last", 1, ["not shown: like is better than last"]),
        (["last=better"], "good", 1, ["refuted: last is better than good (gain in exact -"]),
        (["like=not-worse:20"], "last", 0, ["shown: like is at most 20 worse than last"]),
        (["last=not-worse:2"], "good", 1, ["refuted: last is at most 2 worse than good"]),
        (["good=better", "like=better"], "last", 1, ["shown: good", "not shown: like"]),
        (["good=best"], "last", 2, ["error: --require good=best: write SYSTEM=better"]),
        (["good=not-worse"], "last", 2, ["error: --require good=not-worse: write"]),
        (["other=better"], "last", 2, ["no system other; there is last, good, like"]),
        (["last=better"], "last", 2, ["last is the baseline itself; name another"]),
    ],
)
def test_the_exit_status_is_the_verdict(words, run, claims, baseline, status, lines):
    requirements = [word for claim in claims for word in ("--require", claim)]
    done = run("score", *words, "--baseline", baseline, *requirements, status=status)
    errors = done.stderr.splitlines()
    assert len(errors) == len(lines)
    assert all(line in error for line, error in zip(lines, errors, strict=True))
    assert (status == 2) == ("exact" not in done.stdout)


def test_better_is_the_star_of_the_table_and_the_interval_decides_the_margin():
    for name, metric in (("exact", "exact"), ("ter", "TER")):
        comparison = Comparison(require=["good=better", "like=not-worse:3"])
        evaluation = cgbench.evaluate(name, SYSTEMS, REFERENCES, comparison=comparison)
        good, like = evaluation.requirements
        scores = {result.system: result.whole.figures for result in evaluation.results}
        (score,) = scores["good"].values()
        sign = -1 if metric == "TER" else 1
        assert good and score.significant and good.gain == sign * score.difference > 0
        assert good.p_value == score.p_holm and good.metric == metric
        (score,) = scores["like"].values()
        ends = sorted((sign * score.difference_low, sign * score.difference_high))
        assert [like.low, like.high] == ends and bool(like) == (ends[0] > -3)


def test_more_examples_are_those_that_power_names():
    evaluation = cgbench.exact_match(
        {name: SYSTEMS[name] for name in ("last", "like")}, REFERENCES, require="like=better"
    )
    (checked,) = evaluation.requirements
    assert checked.state == "not shown" and checked.gain > 0
    (needs,) = cgbench.power(evaluation, differences=[checked.gain]).needs
    assert checked.more_examples == needs.examples - len(REFERENCES) > 0
    assert f"about {float(f'{checked.more_examples:.2g}'):,.0f} more examples" in str(checked)
    worse = cgbench.exact_match(
        {"like": SYSTEMS["like"], "last": SYSTEMS["last"]}, REFERENCES, require="last=better"
    )
    assert "no number of examples would show it" in str(worse.requirements[0])


def test_several_metrics_must_all_show_it():
    evaluation = cgbench.evaluate(
        ["bleu", "ter"], SYSTEMS, REFERENCES, require=["good=better"], tokenize="none"
    )
    assert [checked.metric for checked in evaluation.requirements] == ["BLEU", "TER"]
    rows = evaluation.to_json()
    assert [row["system"] for row in rows if "requirements" in row] == ["good", "good"]


def test_a_claim_without_intervals_is_not_shown():
    requirement = Requirement("a")
    assert requirement.state(5.0, None, None, significant=None) == "not shown"
    assert requirement.state(5.0, 1.0, 9.0, significant=None) == "not shown"
    assert read_requirement("a=b=better") == Requirement("a=b")
    assert str(read_requirement("a=not-worse:0.5")) == "a=not-worse:0.5"
    for text in ("a", "=better", "a=not-worse:-1", "a=not-worse:nan", "a=not-worse:x"):
        with pytest.raises(InputError, match="write SYSTEM=better"):
            read_requirement(text)
    with pytest.raises(InputError, match="leave all_pairs out"):
        cgbench.exact_match(SYSTEMS, REFERENCES, require="good=better", all_pairs=True)


def test_external_scores(run, tmp_path):
    luck = np.random.default_rng(0)
    for name, mean in (("last", 0.6), ("new", 0.7)):
        scores = luck.normal(mean, 0.1, 200)
        (tmp_path / name).write_text("".join(f"{score}\n" for score in scores))
    files = [word for name in ("last", "new") for word in ("--scores", f"{name}={tmp_path / name}")]
    done = run("score", "import", *files, "--require", "new=better", "--format", "json")
    assert json.loads(done.stdout)[1]["requirements"][0]["state"] == "shown"
    run("score", "import", *files, "--baseline", "new", "--require", "last=better", status=1)


@pytest.mark.parametrize(("new", "status"), [("good", 0), ("like", 1)])
def test_the_workflow_of_the_page_is_a_gate(tmp_path, new, status):
    workflow = yaml.safe_load(PAGE.read_text().partition("```yaml\n")[2].partition("```")[0])
    (gate,) = [step for step in workflow["jobs"]["gate"]["steps"] if step.get("name") == "Gate"]
    files = {"test.en": REFERENCES, "last.en": SYSTEMS["last"], "new.en": SYSTEMS[new]}
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    command = gate["run"].replace("cgbench", f"{sys.executable} -m cgbench")
    done = subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert "| new |" in (tmp_path / "summary.md").read_text()
    assert json.loads((tmp_path / "scores.json").read_text())[1]["requirements"]
    assert (tmp_path / "scores.html").stat().st_size > 1000


def test_warnings_count_the_lines_of_one_file(tmp_path, run):
    (tmp_path / "ref").write_text("".join(f"{line} .\n" for line in REFERENCES))
    for name in ("a1", "a2"):
        lines = [f"{line.replace('saw', name)} .\n" for line in REFERENCES]
        (tmp_path / name).write_text("".join(lines))
    files = f"a={tmp_path / 'a1'},{tmp_path / 'a2'}"
    done = run("score", "bleu", "--ref", tmp_path / "ref", "--hyp", files)
    assert "a: 300 lines end in ' .'" in done.stderr
