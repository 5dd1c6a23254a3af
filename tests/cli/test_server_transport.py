"""translate --system openai: costs, limits, caches and batch files, and where the key goes."""

import json
import re

import pytest
from fake_openai import Fake, reply_to, serving, translation

from cgbench.locks import locked
from cgbench.models.servers import client as clients

LINES = ["a b", "c d e", "", "f", "a b"]
PRICE = "in=2.5,out=10,cached=1.25"


@pytest.fixture
def ask(run, tmp_path, monkeypatch):
    monkeypatch.setattr(clients, "FIRST_WAIT", 0.01)
    source = tmp_path / "source"
    source.write_text("".join(f"{line}\n" for line in LINES))

    def call(url, name, *words, status=0, options=""):
        command = (
            "translate",
            source,
            "--system",
            f"{url}?model=m{options}",
            "--prompt",
            "Say: {source}",
        )
        return run(*command, "-o", tmp_path / name, *words, status=status)

    return call


def record(tmp_path, name):
    return json.loads((tmp_path / f"{name}.system.json").read_text())["server"]


def test_the_sidecar_says_all_of_it(ask, tmp_path):
    fake = Fake({"c d e": ["too many", 500], "f": ["cut"]})
    with serving(fake) as url:
        ask(url, "out", "--price", PRICE, "--budget", "1USD", options="&seed=3&top_p=0.9")
    assert (tmp_path / "out").read_text().splitlines() == [translation(line) for line in LINES]
    assert all(body["seed"] == 3 and body["top_p"] == 0.9 for body in fake.bodies)
    made = json.loads((tmp_path / "out.system.json").read_text())
    assert (made["system"]["seed"], made["system"]["top_p"], made["cut"]) == (3, 0.9, 1)
    found = made["server"]
    cached = sum(len(line) % 3 for line in (*LINES[:2], *LINES[1:4]) if line)
    cost = ((fake.input - cached) * 2.5 + cached * 1.25 + fake.output * 10) / 1e6
    assert found.pop("cost_usd") == pytest.approx(cost, rel=1e-12)
    usage = found.pop("usage")
    assert (usage["input"], usage["output"]) == (fake.input, fake.output)
    found.pop("cost_usd_at_most")
    assert found == {
        "model": "m-1",
        "software": "fake",
        "requests": 3,
        "from_batch": 0,
        "attempts": 5,
        "without_reply": 0,
        "failures": {"not an answer": 1, "status 500": 1},
        "answers_without_usage": 0,
        "price": {"input": 2.5, "output": 10.0, "cached": 1.25},
        "budget": "1USD",
    }


def test_answers_whose_tokens_are_not_counted_are_told_of(ask, tmp_path):
    with serving(Fake({"c d e": ["no usage"]})) as url:
        assert "did not count the tokens of 1 answer\n" in ask(url, "out", "--price", PRICE).stderr
        assert record(tmp_path, "out")["answers_without_usage"] == 1


@pytest.mark.parametrize("name", ["out.answers.jsonl", "out.system.json"])
def test_the_source_is_not_overwritten(name, run, tmp_path):
    (tmp_path / name).write_text("a\n")
    words = (
        "--system",
        "openai:http://127.0.0.1:9/v1?model=m",
        "--prompt",
        "{source}",
        "-o",
        tmp_path / "out",
    )
    assert f"{name}: is also an input" in run("translate", tmp_path / name, *words, status=2).stderr
    assert (tmp_path / name).read_text() == "a\n"


def test_two_commands_do_not_ask_for_one_output(ask, tmp_path):
    with serving(fake := Fake()) as url, locked(tmp_path / "out.answers.jsonl", wait=False):
        assert (
            "another cgbench command is working in this folder" in ask(url, "out", status=2).stderr
        )
    assert fake.asked == []


def test_a_dry_run_is_a_bound_and_writes_nothing(ask, tmp_path):
    fake = Fake()
    with serving(fake) as url:
        shown = ask(url, "out", "--dry-run", "--price", PRICE, "--budget", "2000tokens").stdout
        assert fake.asked == [] and [path.name for path in tmp_path.iterdir()] == ["source"]
        most = {
            name: float(number.replace(",", ""))
            for name, number in re.findall(r"(\w+) +at most ([\d.,]+)", shown)
        }
        assert (
            re.search("requests to send +3\n", shown)
            and "2000tokens: may end before the last request" in shown
        )
        ask(url, "out", "--price", PRICE)
        assert fake.input <= most["tokens"] or most["tokens"] == 3 * 512
        assert record(tmp_path, "out")["cost_usd"] <= most["cost"]
        again = ask(url, "out", "--dry-run").stdout
        endless = ask(url, "new", "--dry-run", "--price", PRICE, options="&max_tokens=none").stdout
    assert "no limit; set ?max_tokens=N" in endless and "cost" not in endless
    assert re.search("requests to send +0\n", again) and re.search(
        "with an answer already +3\n", again
    )
    assert f"spent before             {fake.input + fake.output:,} tokens" in re.sub(
        " {2,}", " " * 13, again
    )


def test_a_budget_ends_the_run_with_one_line(ask, tmp_path):
    with serving(fake := Fake()) as url:
        error = ask(url, "out", "--budget", "900tokens", status=2).stderr
        assert error.startswith("error: --budget 900tokens: the next request might exceed it (")
        assert error.count("\n") == 1
        assert fake.input + fake.output <= 900 and not (tmp_path / "out").exists()
        ask(url, "out")
        assert sorted(fake.asked) == ["a b", "c d e", "f"]
        assert (
            "--budget: a limit in dollars needs --price"
            in ask(url, "2", "--budget", "5USD", status=2).stderr
        )
        assert "a price such as in=2.5,out=10" in ask(url, "2", "--price", "2.5", status=2).stderr
        assert (
            "a limit such as 5USD or 100000tokens"
            in ask(url, "2", "--budget", "5EUR", status=2).stderr
        )


def batch_output(path, *, model="m-1", wrong=()):
    """What a batch service makes of a batch file, in another order."""
    rows = []
    for number, line in enumerate(reversed(path.read_text().splitlines())):
        asked = json.loads(line)
        assert (
            asked.keys() == {"custom_id", "method", "url", "body"} and len(asked["custom_id"]) == 64
        )
        assert (asked["method"], asked["url"]) == ("POST", "/v1/chat/completions")
        row = {"id": f"batch_req_{number}", "custom_id": asked["custom_id"], "error": None}
        if number in wrong:
            row |= {"response": None, "error": {"code": "batch_expired", "message": "too late"}}
        else:
            row |= {
                "response": {
                    "status_code": 200,
                    "request_id": "r",
                    "body": reply_to(asked["body"], model),
                }
            }
        rows.append(json.dumps(row) + "\n")
    (path.parent / f"{path.name}.done").write_text("".join(rows))
    return path.parent / f"{path.name}.done"


def test_batch_files(ask, tmp_path):
    batch, rest = tmp_path / "batch.jsonl", tmp_path / "rest.jsonl"
    url = "openai:http://127.0.0.1:9/v1"  # nobody
    assert ask(url, "out", "--batch-out", batch).stdout == f"3 requests in {batch}\n"
    done = batch_output(batch, wrong={1})
    result = ask(url, "out", "--batch-in", done, status=2)
    assert "1 request failed" in result.stderr and "too late" in result.stderr
    assert (
        "--batch-in: 1 request still without an answer; write them with --batch-out FILE"
        in result.stderr
    )
    assert "1 request in" in ask(url, "out", "--batch-in", done, "--batch-out", rest).stdout
    ask(url, "out", "--batch-in", done, "--batch-in", batch_output(rest), "--price", PRICE)
    assert (tmp_path / "out").read_text().splitlines() == [translation(line) for line in LINES]
    found = record(tmp_path, "out")
    assert (found["from_batch"], found["attempts"], found["usage"]["input"]) == (
        3,
        0,
        3 * 8 + sum(map(len, LINES[:4])),
    )
    assert "all requests have answers" in ask(url, "out", "--batch-out", tmp_path / "none").stdout
    assert not (tmp_path / "none").exists()


def test_a_batch_with_other_lines_and_a_filter(ask, tmp_path):
    url, batch = "openai:http://127.0.0.1:9/v1", tmp_path / "batch.jsonl"
    ask(url, "out", "--batch-out", batch)
    done = batch_output(batch)
    first, *rest = map(json.loads, done.read_text().splitlines())
    first["response"] = {"status_code": 400, "body": {"error": {"code": "content_filter"}}}
    done.write_text(
        "".join(json.dumps(row) + "\n" for row in (first, *rest, {**rest[0], "custom_id": "other"}))
    )
    assert (
        "0 requests failed, 1 line for other requests" in ask(url, "out", "--batch-in", done).stderr
    )
    assert (tmp_path / "out").read_text().splitlines() == [
        *map(translation, LINES[:3]),
        "",
        translation(LINES[4]),
    ]
    assert json.loads((tmp_path / "out.system.json").read_text())["answers"]["causes"] == {
        "filtered": 1
    }


def test_a_completion_ends_at_a_line_break_unless_a_rule_reads_on(ask):
    with serving(fake := Fake()) as url:
        ask(url, "out", options="&endpoint=completions")
        ask(url, "new", "--answer", ".+", options="&endpoint=completions")
    assert {body["prompt"] for body in fake.bodies} == {f"Say: {line}" for line in LINES if line}
    assert [body.get("stop") for body in fake.bodies] == [["\n"]] * 3 + [None] * 3


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            '{"custom_id": "x", "response": {"status_code": 200, "body": {}}}\n',
            "answers no request of this",
        ),
        ('{"custom_id": "x"}\n', "line 1: not a line of a batch output file"),
        ("\n[]\n", "line 2: not a line of a batch output file"),
        ("", "answers no request of this command"),
    ],
)
def test_bad_batch_files(content, said, ask, tmp_path):
    (tmp_path / "done").write_text(content)
    assert (
        said
        in ask(
            "openai:http://127.0.0.1:9/v1", "out", "--batch-in", tmp_path / "done", status=2
        ).stderr
    )


def test_a_server_with_another_model_is_reported_once(ask):
    with serving(Fake(model="gpt-other", troubles={"f": ["mark"]})) as url:
        said = ask(url, "out").stderr
    assert (
        said.count("every answer names another model, 'gpt-other'; check what the server runs") == 1
    )


def test_the_key_is_in_no_file_and_no_message(ask, tmp_path, monkeypatch):
    """Whatever happens: answers, refusals that repeat the key, redirects, batch files, caches, dry
    runs.
    """
    monkeypatch.setenv("CGBENCH_API_KEY", "s3cret-Key/+")
    said = []
    with serving(fake := Fake({"f": [500, 401]})) as url:
        for words in (["--dry-run"], ["--batch-out", tmp_path / "batch"], []):
            result = ask(url, "out", *words, status=0 if words else 2)
            said += [result.stdout, result.stderr]
        said.append(ask(url, "out").stderr)
    with serving(Fake({"f": [302]})) as url:
        said.append(ask(url, "other", status=2).stderr)
    with serving(Fake({line: ["echo"] for line in LINES})) as url:
        said.append(ask(url, "echoed").stderr)
    assert (
        json.loads((tmp_path / "echoed.system.json").read_text())["server"]["model"]
        == "m-1 for Bearer [key]"
    )
    assert {*fake.keys} == {"Bearer s3cret-Key/+"} and "status 401" in "".join(said)
    assert "redirects (status 302) to http://127.0.0.1:9/elsewhere" in "".join(said)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"out", "out.system.json", "out.answers.jsonl", "batch"} < {path.name for path in files}
    assert not any(b"s3cret" in path.read_bytes() for path in files) and "s3cret" not in "".join(
        said
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--price", PRICE],
        ["--dry-run"],
        ["--batch-in", "x"],
        ["--answer", "x"],
        ["--system-message", "Hello."],
    ],
)
def test_options_of_servers_need_one(words, run, tmp_path):
    (tmp_path / "source").write_text("a\n")
    error = run("translate", tmp_path / "source", "--model", tmp_path, *words, status=2).stderr
    assert f"{words[0]} needs a server (--system openai:URL)" in error
