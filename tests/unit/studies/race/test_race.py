"""Races between servers of this process: their ends, the budget, clusters, and kills."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from click.testing import CliRunner
from fake_openai import Fake, serving, translation
from few import few

from cgbench import InputError, sequential
from cgbench.cli import main
from cgbench.studies.race.forecast import expected_examples
from cgbench.studies.race.race import Race
from cgbench.studies.race.request import RaceRequest

LINES = [f"word number {number}" for number in range(200)]
RUN = """
import sys
from pathlib import Path
from test_race import request_for
from cgbench.studies.race.race import Race
list(Race(request_for(sys.argv[1], Path(sys.argv[2]))).run())
"""


class Rivals(Fake):
    """Models that are right on a share of the sentences: ``good`` 90%, ``bad`` 50%, ``worst`` 20%,
    ``same`` as good.
    """

    shares: ClassVar = {"good": 0.9, "bad": 0.5, "worst": 0.2, "same": 0.9}

    def reply(self, body, wrong):
        reply = super().reply(body, wrong)
        reply["model"] = body["model"]
        luck = zlib.crc32(body["messages"][-1]["content"].encode()) / 2**32
        if luck > self.shares[body["model"]]:
            reply["choices"][0]["message"]["content"] = "wrong"
        return reply


def request_for(url, folder, models=("bad", "good"), **options):
    (folder / "source").write_text("".join(f"{line}\n" for line in LINES))
    (folder / "reference").write_text("".join(f"{translation(line)}\n" for line in LINES))
    systems = [f"{url}?model={model}&parallel=3" for model in models]
    defaults = {"output": folder / "race", "prompting": {"prompt": ["Say: {source}"]}, "batch": 10}
    texts = {"sources": folder / "source", "references": [folder / "reference"]}
    return RaceRequest(systems, **(texts | defaults | options))


def raced(request):
    race = Race(request)
    return list(race.run()), json.loads((race.folder / "race.json").read_text()), race


def test_a_better_server_is_found_early(tmp_path):
    with serving(fake := Rivals()) as url:
        lines, result, race = raced(
            request_for(url, tmp_path, plot=tmp_path / "race.svg", price=["in=1,out=2"])
        )
        assert result["best"] == ["good"] and result["answered"] < 100
        assert lines[-3].startswith("good is better (after") and "USD saved" in lines[-1]
        assert lines[-2].startswith("report the interval")
        assert (
            len(fake.asked) == 2 * result["answered"]
            and (tmp_path / "race.svg").stat().st_size > 1000
        )
        # The last line is what cgbench.sequential says of the scores.
        scores = np.loadtxt(tmp_path / "race" / "scores.tsv", skiprows=1)
        np.testing.assert_array_equal(scores[:, 0] - 1, race.order[: len(scores)])
        last, known = (
            result["trajectory"][-1],
            sequential(scores[:, 1] - scores[:, 2], -100, 100),
        )
        assert (last["low"], last["high"], last["p"]) == (
            known.low[-1],
            known.high[-1],
            known.p[-1],
        )
        # The same command asks nothing again; a dry run knows the variance of the answers.
        again = raced(request_for(url, tmp_path, price=["in=1,out=2"]))[0]
        assert again == lines and len(fake.asked) == 2 * result["answered"]
        expected = Race(request_for(url, tmp_path)).dry_run()
        assert f"{result['answered']} examples with answers" in expected[0] and len(expected) == 5


def test_worse_systems_are_asked_no_more(tmp_path):
    with serving(fake := Rivals()) as url:
        _, result, _ = raced(request_for(url, tmp_path, ("good", "worst", "bad")))
        asked = {
            model: sum(body["model"] == model for body in fake.bodies) for model in Rivals.shares
        }
    assert (
        result["best"] == ["good"]
        and asked["worst"] < asked["bad"] <= asked["good"] == result["answered"]
    )


def test_equal_servers_are_equivalent(tmp_path):
    with serving(Rivals()) as url:
        lines, result, _ = raced(request_for(url, tmp_path, ("good", "same")))
        assert result["answered"] == 200 and "undecided between good and same" in lines[-3]
        assert lines[-2] == (
            "even 4,000 more examples would not decide, if the true difference is this one"
        )
        whole = {"about": "test-set", "output": tmp_path / "test-set"}
        lines, result, _ = raced(request_for(url, tmp_path, ("good", "same"), **whole))
        # All answers are known, so there is nothing left to test.
        assert "[0.0, 0.0] (0.0 so far): equivalent" in lines[-3] and "p " not in lines[-3]
        assert "within 0 points on this test set (after 200" in lines[-2]
        _, result, _ = raced(
            request_for(url, tmp_path, ("good", "same"), margin=10, output=tmp_path / "margin")
        )
    assert result["best"] == ["good", "same"] and result["answered"] < 200
    assert result["end"] == "good and same are equivalent within 10 points"


def test_the_budget_is_for_all_systems(tmp_path):
    with serving(fake := Rivals()) as url:
        request = request_for(url, tmp_path, ("good", "same"), budget="2500tokens")
        _, result, _ = raced(request)
        assert "the budget is spent" in result["end"] and 0 < result["answered"] < 30
        spent = request_for(url, tmp_path, ("good", "same"), budget="2500tokens", about="test-set")
        left = 200 - result["answered"]
        lines = raced(spent)[0]
        assert f"the other {left} examples would decide for certain" in lines
        assert fake.input + fake.output <= 2500
        asked = len(fake.asked)
        assert raced(request)[1] == result and len(fake.asked) == asked
        further = raced(request_for(url, tmp_path, ("good", "same"), margin=10))[1]
    assert further["answered"] > result["answered"] and further["best"] == ["good", "same"]


def test_clusters_are_asked_as_a_whole(tmp_path):
    labels = tmp_path / "documents"
    labels.write_text("".join(f"{row // 4}\n" for row in range(200)))
    with serving(Rivals()) as url:
        _, result, race = raced(request_for(url, tmp_path, cluster=labels, batch=10))
    assert result["answered"] % 4 == 0 and result["best"] == ["good"]
    assert (np.diff(race.order.reshape(-1, 4), axis=1) == 1).all()


def test_runs_of_one_name_are_seeds(tmp_path):
    with serving(Rivals()) as url:
        request = request_for(url, tmp_path)
        systems = [
            f"a={url}?model=good&seed=1",
            f"a={url}?model=bad&seed=2",
            f"b={url}?model=worst",
        ]
        race = Race(
            RaceRequest(
                **{name: getattr(request, name) for name in request.given} | {"systems": systems}
            )
        )
        assert race.systems == ["a", "b"]
        list(race.run())
    assert set(race.mean_scores("a")[race.order[:10]]) <= {0.0, 50.0, 100.0}


@pytest.mark.parametrize("every", few([4, 14], 14))
def test_killed_while_questions_are_in_flight(tmp_path, every):
    """The same end as without kills, and only what was in flight is asked twice."""
    draw, kills = random.Random(3), 0
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*map(str, sys.path), str(Path(__file__).parent)]),
    }
    with serving(fake := Rivals(delay=0.03)) as url:
        for until in (moments := range(4, 44, every)):
            child = subprocess.Popen(
                [sys.executable, "-c", RUN, url, str(tmp_path)], env=environment
            )
            while len(fake.asked) < until and child.poll() is None:
                time.sleep(0.001)
            time.sleep(draw.random() * 0.03)
            kills += child.poll() is None
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            while fake.in_hand:
                time.sleep(0.001)
        fake.delay = 0.0
        _, result, _ = raced(request_for(url, tmp_path))
        asked = len(fake.asked)
        whole = raced(request_for(url, tmp_path, output=tmp_path / "whole"))[1]
    assert kills == len(moments) and result == whole
    assert 2 * result["answered"] <= asked <= 2 * result["answered"] + kills * 3


def test_expected_examples_fall_with_the_difference():
    means = [expected_examples(points, 0.3, 500, 0.05, 10) for points in (0.02, 0.1, 0.3)]
    assert means[0] > 1.5 * means[1] > 3 * means[2] and means[0] <= 500


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"models": ["good"]}, "at least two systems"),
        ({"price": ["in=1,out=2"] * 3}, "3 prices for 2 systems"),
        ({"budget": "5USD"}, "needs price"),
        ({"metric": "bleu"}, "metric"),
        ({"references": [Path("missing")]}, "missing"),
        ({"prompting": {"prompt": ["{source}", "Say {source}"]}}, "one prompt"),
        ({"cluster": ["a", "b"]}, "2 labels for 200 sources"),
        ({"output": None}, "output is missing"),
        ({"sources": None}, "give release, or sources and references"),
    ],
)
def test_bad_requests(tmp_path, change, words):
    models = change.pop("models", ("good", "bad"))
    request = request_for("openai:http://127.0.0.1:9/v1", tmp_path, models)
    with pytest.raises(InputError) as error:
        Race(RaceRequest(**{name: getattr(request, name) for name in request.given} | change))
    assert words in str(error.value)


def test_rules_are_the_metric(tmp_path):
    rows = [
        {"id": row, "source": line, "rules": [{"type": "equals", "any": [translation(line)]}]}
        for row, line in enumerate(LINES)
    ]
    (tmp_path / "rules.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    rules = {
        "sources": None,
        "references": None,
        "metric": "rules",
        "rules": tmp_path / "rules.jsonl",
    }
    with serving(Rivals()) as url:
        by_rules = raced(request_for(url, tmp_path, output=tmp_path / "rules", **rules))[1]
        exact = raced(request_for(url, tmp_path))[1]
        assert by_rules["trajectory"] == exact["trajectory"]
        with pytest.raises(InputError, match="belong together"):
            Race(request_for(url, tmp_path, metric="rules"))
        rows[0]["rules"].append({"type": "verdict", "name": "polite"})
        (tmp_path / "rules.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        with pytest.raises(InputError, match="cannot wait for the verdicts of a judge"):
            Race(request_for(url, tmp_path, **rules))


def test_the_command_prints_batches_and_the_end(tmp_path):
    with serving(Rivals()) as url:
        request_for(url, tmp_path)  # writes the texts
        words = ["race", "--system", f"bad={url}?model=bad", "--system", f"good={url}?model=good"]
        words += [
            "--source",
            f"{tmp_path}/source",
            "--ref",
            f"{tmp_path}/reference",
            "--prompt",
            "Say: {source}",
        ]
        words += ["--batch", "20", "-o", f"{tmp_path}/race"]
        first, again = (CliRunner().invoke(main, words) for _ in range(2))
        assert first.exit_code == 0, first.stderr
        lines = first.stdout.splitlines()
        assert lines[0].startswith("20 of 200: bad - good [-") and lines[-3].startswith(
            "good is better (after "
        )
        assert again.stdout == first.stdout
        dry = CliRunner().invoke(main, [*words, "--dry-run"])
        assert dry.exit_code == 0 and dry.stdout.startswith("expected number of 200 examples")


class Chatty(Rivals):
    """Models of which ``bad`` begins with chatter, is cut short, or is another model."""

    shares: ClassVar = {"good": 0.9, "bad": 0.9}
    fault = "chatter"

    def reply(self, body, wrong):
        reply = super().reply(body, wrong)
        choice = reply["choices"][0]
        if body["model"] == "bad" and self.fault == "chatter":
            choice["message"]["content"] = f"Translation: {choice['message']['content']}"
        elif body["model"] == "bad" and self.fault == "cut":
            choice["finish_reason"] = "length"
        elif body["model"] == "bad" and self.fault == "model":
            reply["model"] = "gpt-other"
        return reply


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("chatter", "bad: 'Translation: ' before the text of 10 of 10 hypotheses"),
        ("cut", "bad: 10 of the first 10 answers are empty or cut short .cut 10."),
        ("model", "bad: every answer names another model, 'gpt-other'; check what"),
    ],
)
def test_the_first_batch_is_checked_before_the_second_is_paid(tmp_path, fault, message):
    fake = Chatty()
    fake.fault = fault
    with serving(fake) as url:
        with pytest.raises(InputError, match=message):
            raced(request_for(url, tmp_path))
        assert len(fake.asked) == 20  # a batch of each
        with pytest.warns(UserWarning, match=message):
            _, result, _ = raced(request_for(url, tmp_path, accept_text=True))
    assert result["answered"] >= 10


def test_a_requirement_is_the_exit_status(tmp_path):
    words = ["race", "--prompt", "Say: {source}", "--batch", "10", "--output", str(tmp_path / "r")]
    with serving(Rivals()) as url:
        request_for(url, tmp_path)  # writes the texts
        words += ["--source", str(tmp_path / "source"), "--ref", str(tmp_path / "reference")]
        for model in ("bad", "good"):
            words += ["--system", f"{model}={url}?model={model}&parallel=3"]
        for claim, status, state in (
            ("good=better", 0, "shown"),
            ("good=not-worse:1", 0, "shown"),
            ("bad=better", 1, "refuted"),
        ):
            done = CliRunner().invoke(main, [*words, "--require", claim, "--format", "json"])
            assert done.exit_code == status, done.output
            result = json.loads(done.stdout)
            (checked,) = result["requirements"]
            assert checked["state"] == state and result["end"] == "good is better"
            assert f"{state}: {claim.partition('=')[0]} is" in done.stderr.splitlines()[-1]
        wrong = CliRunner().invoke(main, [*words, "--require", "x=better"])
        assert wrong.exit_code == 2 and "no system x; there is bad, good" in wrong.stderr


def test_shifted_references_stop_after_the_first_batch(tmp_path):
    """The examples are asked in random order, so their neighbours are not in the batch."""
    with serving(fake := Chatty()) as url:
        fake.fault = "none"
        request = request_for(url, tmp_path)
        lines = (tmp_path / "reference").read_text().splitlines()
        (tmp_path / "reference").write_text("".join(f"{line}\n" for line in lines[1:] + lines[:1]))
        with pytest.raises(InputError, match="bad: shifted by 1 line, from line 2 on; check where"):
            raced(request)
    assert len(fake.asked) == 20


def test_the_result_of_other_systems_is_kept(tmp_path):
    with serving(Rivals()) as url:
        lines, result, race = raced(request_for(url, tmp_path))
        with pytest.raises(InputError, match=r"a race with the systems bad, good, not good, worst"):
            raced(request_for(url, tmp_path, ("good", "worst")))
        assert json.loads((race.folder / "race.json").read_text()) == result
        assert raced(request_for(url, tmp_path))[0] == lines
