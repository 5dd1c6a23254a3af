"""A server that fails in every way: nothing lost, nothing asked twice, every token counted."""

import contextlib
import json
import time

import pytest
from fake_openai import Fake, reply_to, serving, translation

from cgbench.errors import InputError
from cgbench.models.server_options import Price, read_budget, read_price
from cgbench.models.servers import client as clients
from cgbench.models.servers.address import parse_server
from cgbench.models.servers.client import Client
from cgbench.models.servers.exchange import BadAnswerError, Request, Usage, read_answer, read_usage
from cgbench.models.servers.journal import Spending, _digest, cost_of

LINES = ["a b", "c d e", "f", "g h"]
PRICE = Price(2.5, 10, 1.25)


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(clients, "FIRST_WAIT", 0.01)


def requests_for(lines, **more):
    chats = [{"messages": [{"role": "user", "content": f"Say: {line}"}]} for line in lines]
    return [Request({"model": "m", "n": 1, **chat, **more}) for chat in chats]


def ask(fake, journal, lines=LINES, options="", client=None, **more):
    """The answers, and what the sidecar would say."""
    with serving(fake) as url:
        server = parse_server(f"{url}?model=m&timeout=30{options}")
        with Client(server, journal, **(client or {})) as asked:
            found = requests_for(lines, **more)
            answers = asked.answers(found)
            return answers, asked.record(found)


def texts(answers):
    return [[choice.text for choice in answer] for answer in answers]


@pytest.mark.parametrize(
    ("wrong", "lost", "failure"),
    [
        (429, 0, "status 429"),
        (503, 0, "status 503"),
        (502, 2, "status 502"),
        *((wrong, 2, "no reply") for wrong in ("breaks off", "half a line", "hangs up", "html")),
        *((wrong, 2, "no reply") for wrong in ("deep", "bomb")),
        *((wrong, 0, "not an answer") for wrong in ("too few", "too many")),
    ],
)
def test_a_fault_is_asked_again_and_its_tokens_are_counted(wrong, lost, failure, tmp_path):
    fake = Fake({"c d e": [wrong, wrong]})
    answers, record = ask(fake, tmp_path / "j", n=2)
    assert texts(answers) == [[translation(line), translation(line, 1)] for line in LINES]
    assert fake.asked.count("c d e") == 3 and record["attempts"] == len(fake.asked) == 6
    assert (record["failures"], record["without_reply"]) == ({failure: 2}, lost)
    assert (record["usage"]["input"], record["usage"]["output"]) == (fake.input, fake.output)


def test_a_server_that_hangs_is_left_at_the_deadline(tmp_path):
    fake = Fake({"f": ["hangs"]})  # until the test is over
    with (
        serving(fake) as url,
        Client(parse_server(f"{url}?model=m&timeout=1"), tmp_path / "j") as client,
    ):
        (answer,) = client.answers(requests_for(["f"]))
    assert answer[0].text == translation("f") and len(fake.asked) >= 2
    spending = (
        client.journal.spending
    )  # on a busy machine, the second request may also end at the deadline
    assert (
        spending.failures == {"no reply": spending.lost} and spending.attempts == 1 + spending.lost
    )


@pytest.mark.parametrize("wrong", ["no text", "filtered", "refused by a filter", "cut"])
def test_an_answer_without_text_is_an_answer(wrong, tmp_path):
    fake = Fake({"f": [wrong] * 6})
    answers, record = ask(fake, tmp_path / "j")
    assert len(fake.asked) == 4 and record["failures"] == {}
    ended = {"no text": "stop", "cut": "length"}.get(wrong, "content_filter")
    assert answers[2][0][::2] == ("F" if wrong == "cut" else None, ended)


def test_what_is_answered_is_never_asked_again(tmp_path):
    fake = Fake({"g h": [500] * 6})
    with pytest.raises(
        InputError, match=r"after 6 tries \(status 500: not today\); finished answers are kept"
    ):
        ask(fake, tmp_path / "j", options="&parallel=1")
    assert sorted(fake.answered) == ["a b", "c d e", "f"]
    with (tmp_path / "j").open("ab") as file:
        file.write(b'{"key": "4", "reply": {"cho')  # killed while an answer was being written
    again = Fake()
    answers, record = ask(again, tmp_path / "j")
    assert again.asked == ["g h"] and texts(answers) == [[translation(line)] for line in LINES]
    assert record["usage"]["output"] == fake.output + again.output  # of both runs
    last = Fake()
    assert ask(last, tmp_path / "j") == (answers, record) and last.asked == []


def test_equal_requests_are_sent_once(tmp_path):
    fake = Fake()
    answers, record = ask(fake, tmp_path / "j", ["a", "a", "b"])
    assert (
        sorted(fake.asked) == ["a", "b"]
        and texts(answers) == [["A"], ["A"], ["B"]]
        and record["requests"] == 2
    )
    with serving(fake) as url, Client(parse_server(f"{url}?model=m"), tmp_path / "j") as client:
        client.answers([*requests_for(["a"]), *requests_for(["a"], seed=5)])
    assert (
        sorted(fake.asked) == ["a", "a", "b"]
        and fake.bodies[-1].keys() - {"seed"} == fake.bodies[0].keys()
    )


def test_an_error_of_one_thread_ends_the_others_without_loss(tmp_path):
    lines = [f"word {number}" for number in range(16)]
    fake = Fake({"word 2": [400]})
    with pytest.raises(
        InputError, match=r"the server refuses the request \(status 400: not today\)"
    ):
        ask(fake, tmp_path / "j", lines)
    events = map(json.loads, (tmp_path / "j").read_text(encoding="utf-8").splitlines()[1:])
    kept = [event for event in events if "reply" in event]
    assert len(kept) == len(fake.answered)
    again = Fake()
    answers, _ = ask(again, tmp_path / "j", lines)
    assert not {*again.asked} & {*fake.answered} and len(again.asked) == 16 - len(kept)
    assert texts(answers) == [[translation(line)] for line in lines]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("other model", "'m-1' on 'fake' to 'other' on 'fake'"),
        ("other software", "to 'm-1' on 'proxy'"),
    ],
)
def test_another_model_or_server_stops_the_run(wrong, said, tmp_path):
    fake = Fake({"f": [wrong]})
    with pytest.raises(
        InputError, match="the model that answers has changed from .*; restore the first one"
    ) as error:
        ask(fake, tmp_path / "j", options="&parallel=1")
    assert said in str(error.value)
    assert fake.asked == LINES[:3]  # nothing is asked afterwards
    answers, record = ask(again := Fake(), tmp_path / "j")
    assert sorted(again.asked) == LINES[2:] and texts(answers) == [
        [translation(line)] for line in LINES
    ]
    assert (record["model"], record["software"]) == ("m-1", "fake")
    assert (
        record["usage"]["input"] == fake.input + again.input
    )  # also of the answer that was refused
    with pytest.raises(InputError, match="has changed from 'm-1' on 'fake' to 'm-2' on 'fake'"):
        ask(Fake(model="m-2"), tmp_path / "j", [*LINES, "more"])


def test_a_server_without_several_choices_is_not_paid_for_ever(tmp_path):
    fake = Fake({"a b": ["too few"] * 9})
    with pytest.raises(
        InputError, match=r"after 3 tries \(1 choices, not 2, which this server may not support\)"
    ):
        ask(fake, tmp_path / "j", ["a b"], n=2)
    assert len(fake.asked) == 3


def test_nothing_is_sent_before_the_time_that_the_server_names(tmp_path, monkeypatch):
    """A shorter pause does not end a longer one."""
    fake = Fake({"w0": [429, 429]})
    monkeypatch.setattr(clients.time, "monotonic", lambda: sent[-1])
    client, sent = Client(parse_server("openai:http://x/v1?model=m"), tmp_path / "j"), [0.0]
    for after, resume in ((3, 3), (1, 3), (5, 5)):
        client._rest(0, after)
        assert client._resume == resume
    monkeypatch.undo()
    began = time.monotonic()
    ask(fake, tmp_path / "k", ["w0"])
    assert len(fake.asked) == 3 and time.monotonic() - began >= 0.04


def test_a_reply_that_names_no_model_does_not_hide_a_change(tmp_path):
    client = Client(parse_server("openai:http://x/v1?model=m"), tmp_path / "j")
    for request, model, software in zip(
        requests_for("abc"), ("", "m-1", ""), ("fake", "", ""), strict=True
    ):
        client.keep(request, reply_to(request.body, model), software, origin="batch")
    (other,) = requests_for("d")
    for model, software in (("m-2", ""), ("m-1", "proxy")):
        with pytest.raises(InputError, match="has changed from 'm-1' on 'fake' to"):
            client.keep(other, reply_to(other.body, model), software, origin="batch")


@pytest.mark.parametrize("limit", ["1300tokens", "0.0072USD"])
def test_a_budget_is_never_exceeded(limit, tmp_path):
    lines = [f"{number:030d}" for number in range(12)]
    budget, fake = read_budget(limit), Fake()
    with pytest.raises(InputError, match="the next request might exceed it"):
        ask(fake, tmp_path / "j", lines, client={"budget": budget, "price": PRICE}, max_tokens=500)
    spent = Usage(fake.input, fake.output)
    size = spent.total if budget.unit == "tokens" else cost_of(spent, PRICE)
    assert 0 < len(fake.answered) < 12 and size <= budget.amount
    before = len(fake.asked)
    more = Fake()
    with pytest.raises(InputError, match="the next request might exceed it"):
        ask(more, tmp_path / "j", lines, client={"budget": budget, "price": PRICE}, max_tokens=500)
    assert more.asked == []  # what the first run spent counts
    last = Fake()
    _, record = ask(last, tmp_path / "j", lines, client={"price": PRICE}, max_tokens=500)
    assert len(last.asked) == 12 - before
    assert record["usage"]["input"] == fake.input + last.input


def test_requests_without_a_reply_count_against_the_budget():
    spending, budget = Spending(), read_budget("1000tokens")
    spending.count({"sent": "a", "most": [100, 500]})
    assert (
        spending.left(budget, None) == 400 and spending.left(budget, None, Usage(100, 500)) == -200
    )


def test_what_a_lost_reply_may_cost_is_a_bound(tmp_path):
    fake = Fake({"f": ["half a line"], "a b": ["no usage"]})
    _, record = ask(fake, tmp_path / "j", client={"price": PRICE}, max_tokens=100)
    assert record["without_reply"] == 1 and record["answers_without_usage"] == 1
    assert record["cost_usd"] + 2 * 100 * 10 / 1e6 < record["cost_usd_at_most"]


def test_a_long_pause_stops_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(clients, "LONGEST_PAUSE", 0.01)
    with pytest.raises(
        InputError, match="the server asks to wait 0 seconds; finished answers are kept"
    ):
        ask(Fake({"f": [429]}), tmp_path / "j")


def test_nobody_there(tmp_path):
    with Client(parse_server("openai:http://127.0.0.1:9/v1?model=m"), tmp_path / "j") as client:
        with pytest.raises(
            InputError, match="no answer after 6 tries .no connection: .*Connect call failed"
        ):
            client.answers(requests_for(["a"]))
        assert client.journal.spending.lost == 0 and client.journal.spending.attempts == 6


@pytest.mark.parametrize(
    "event",
    [
        b"no JSON",
        {"key": "a"},
        {"sent": "a"},
        {"sent": "a", "most": [10**308, 1]},
        {"key": ["a"], "reply": {}},
        {"format": 2, "url": "x"},
        b"[]",
    ],
)
def test_a_damaged_journal_is_named(event, tmp_path):
    ask(Fake(), tmp_path / "j", ["a"])
    with (tmp_path / "j").open("ab") as file:
        file.write(
            event
            if isinstance(event, bytes)
            else json.dumps(event | {"digest": _digest(event)}).encode()
        )
        file.write(b"\n")
    with pytest.raises(InputError, match="j, line 4: is damaged; remove the file"):
        ask(Fake(), tmp_path / "j", ["a"])


def test_a_changed_letter_of_an_answer_is_found(tmp_path):
    ask(Fake(), tmp_path / "j", ["a"])
    text = (tmp_path / "j").read_text()
    assert '"content": "A"' in text
    (tmp_path / "j").write_text(text.replace('"content": "A"', '"content": "B"'))
    with pytest.raises(InputError, match="j, line 3: is damaged; remove the file"):
        ask(Fake(), tmp_path / "j", ["a"])


def test_the_journal_of_another_server(tmp_path):
    first = {"format": 2, "url": "http://elsewhere/v1"}
    (tmp_path / "j").write_text(json.dumps(first | {"digest": _digest(first)}) + "\n")
    with pytest.raises(
        InputError, match=r"j: has answers of another server \(http://elsewhere/v1\)"
    ):
        Client(parse_server("openai:http://x/v1?model=m"), tmp_path / "j")


@pytest.mark.parametrize(
    "message", [{"content": 1}, {"content": ["a"]}, {"content": "a", "refusal": {}}, None]
)
def test_choices_that_are_no_text(message):
    (request,) = requests_for(["a"])
    with pytest.raises(BadAnswerError):
        read_answer({"choices": [{"message": message}]}, request)


@pytest.mark.parametrize(
    ("content", "choice"),
    [
        (
            [{"type": "text", "text": "a "}, {"type": "text", "text": "b"}],
            ("a b", None, None, None),
        ),
        (
            [{"type": "thinking", "thinking": []}, {"type": "text", "text": "b"}],
            ("b", "thinking", None, None),
        ),
        ([{"type": "refusal", "refusal": "no"}], (None, None, None, "no")),
        ([], (None, None, None, None)),
    ],
)
def test_a_content_of_parts(content, choice):
    (request,) = requests_for(["a"])
    assert read_answer({"choices": [{"message": {"content": content}}]}, request) == (choice,)


def test_a_count_of_tokens_that_cannot_be_is_none():
    usage = {"prompt_tokens": 10**308, "completion_tokens": 1}
    assert read_usage({"usage": usage}) is None
    assert read_usage({"usage": usage | {"prompt_tokens": 5}}) == Usage(5, 1)


def test_the_bound_and_the_usage_of_a_request():
    body = {"model": "m", "prompt": "\u00e4", "n": 3, "max_tokens": 9}
    size = len(json.dumps(body, ensure_ascii=False).encode())
    assert Request(body).most == Usage(size + 256, 27)
    assert Request({**body, "max_completion_tokens": 4}).most.output == 12
    details = {
        "prompt_tokens_details": {"cached_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    usage = {"prompt_tokens": 4, "completion_tokens": 7, **details}
    assert read_usage({"usage": usage}) == Usage(4, 7, 2, 5)
    assert read_usage(
        {"usage": {**usage, "prompt_tokens": -1, "completion_tokens": True}}
    ) == Usage(0, 0, 2, 5)
    assert read_usage({}) is read_usage([]) is read_usage({"usage": None}) is None


def test_input_from_the_cache_costs_as_other_input_unless_it_has_a_price():
    assert read_price("in=2.5,out=10") == Price(2.5, 10, 2.5)
    assert read_price("in=2.5,out=10,cached=0") == Price(2.5, 10, 0)


def test_a_request_that_just_fits_into_the_budget_is_sent(tmp_path):
    (request,) = requests_for(["a"], max_tokens=5)
    for fewer, sent in ((1, []), (0, ["a"])):
        budget, fake = read_budget(f"{request.most.total - fewer}tokens"), Fake()
        with contextlib.suppress(InputError):
            ask(fake, tmp_path / "j", ["a"], client={"budget": budget}, max_tokens=5)
        assert fake.asked == sent


def test_a_budget_needs_a_limit_of_each_reply(tmp_path):
    server = parse_server("openai:http://x/v1?model=m&max_tokens=none")
    with pytest.raises(
        InputError, match=r"a reply without a limit may cost anything; set \?max_tokens=N"
    ):
        Client(server, tmp_path / "j", budget=read_budget("900tokens"))


def test_a_batch_answer_without_usage_is_no_lost_attempt():
    spending = Spending()
    spending.count({"key": "k", "reply": {}, "origin": "batch"})
    assert (spending.lost, spending.silent, spending.most) == (0, 1, Usage())


def test_an_answer_with_a_lone_surrogate_is_asked_once(tmp_path):
    """Each further try would cost as much and bring the same."""
    fake = Fake({"c d e": ["surrogate"]})
    answers, record = ask(fake, tmp_path / "j", n=2)
    assert fake.asked.count("c d e") == 1 and record["failures"] == {}
    assert "\ufffd" in texts(answers)[1][0]
