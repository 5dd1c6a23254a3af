"""Servers of others: every way to answer badly, nothing lost, nothing asked twice."""

import dataclasses
import json

import pytest
from fake_openai import Fake, serving, translation

from cgbench.errors import InputError
from cgbench.models.external.addresses import parse_address
from cgbench.models.external.server import ask_all, parse_server

LINES = ["a b", "c d e", "", "f", "g h"]
PROMPT = "Say: {source}"


def ask(fake, kept, lines=LINES, nbest=1, options=""):
    slept = []
    with serving(fake) as url:
        server = parse_server(f"{url}?model=m&timeout=30{options}", PROMPT)
        return ask_all(server, lines, kept, nbest=nbest, sleep=slept.append), slept


@pytest.mark.parametrize(
    "wrong", [429, 500, 503, "breaks off", "html", "too few", "too many", "no text", "deep", "surrogate"]
)
def test_a_bad_answer_is_asked_for_again(wrong, tmp_path):
    fake = Fake({"c d e": [wrong, wrong]})
    found, slept = ask(fake, tmp_path / "kept", nbest=2)
    assert [answer.texts for answer in found] == [
        [translation(line), translation(line, 1)] if line else [""] for line in LINES
    ]
    assert fake.asked.count("c d e") == 3 and len(fake.asked) == 6
    assert slept == ([7.0, 7.0] if wrong == 429 else [1.0, 2.0])


@pytest.mark.parametrize("wrong", ["no text", "filtered", "refused by a filter"])
def test_one_sentence_without_text_does_not_cost_the_run(wrong, tmp_path):
    fake = Fake({"c d e": [wrong] * 6})
    found, _ = ask(fake, tmp_path / "kept")
    assert [answer.texts for answer in found] == [[translation(line)] for line in LINES[:1]] + [[""]] + [
        [translation(line)] for line in LINES[2:]
    ]
    assert [answer.missing for answer in found] == [False, True, False, False, False]
    assert fake.asked.count("c d e") == (6 if wrong == "no text" else 1)
    again = Fake()
    assert ask(again, tmp_path / "kept")[0] == found and again.asked == []  # not asked for again


def test_a_choice_without_text_among_others(tmp_path):
    found, _ = ask(Fake({"f": ["no text"] * 6}), tmp_path / "kept", nbest=2)
    assert found[3].texts == ["", translation("f", 1)] and found[3].missing


def test_a_key_that_no_header_can_have(tmp_path, monkeypatch):
    monkeypatch.setenv("CGBENCH_API_KEY", "sec\nret")
    fake = Fake()
    with pytest.raises(InputError, match="CGBENCH_API_KEY: contains an invalid character"):
        ask(fake, tmp_path / "kept")
    assert fake.asked == []


def test_a_server_that_hangs_is_left_after_a_while(tmp_path):
    fake = Fake({"f": ["hangs"]})
    with serving(fake) as url:
        server = parse_server(f"{url}?model=m&timeout=30", PROMPT)
        hurried = dataclasses.replace(server, timeout=0.2)
        found = ask_all(hurried, LINES, tmp_path / "kept", nbest=1, sleep=lambda seconds: None)
    assert found[3].texts == [translation("f")] and fake.asked.count("f") == 2


def test_what_is_answered_is_never_asked_for_again(tmp_path):
    fake = Fake({"g h": [500] * 6})
    with pytest.raises(
        InputError, match=r"line 5 has no answer after 6 tries \(status 500: not today\); finished answers are kept"
    ):
        ask(fake, tmp_path / "kept", options="&parallel=1")
    assert sorted(fake.answered) == ["a b", "c d e", "f"]
    # killed while an answer was being written
    with (tmp_path / "kept").open("ab") as file:
        file.write(b'{"row": 4, "texts": ["G')
    again = Fake()
    found, _ = ask(again, tmp_path / "kept")
    assert again.asked == ["g h"]
    assert [answer.texts for answer in found] == [[translation(line)] for line in LINES]
    last = Fake()
    assert ask(last, tmp_path / "kept")[0] == found and last.asked == []


def test_an_error_of_one_thread_ends_the_others_without_loss(tmp_path):
    lines = [f"word {number}" for number in range(40)]
    fake = Fake({"word 3": [400]})
    with pytest.raises(InputError, match=r"the server refuses the request \(status 400: not today\)"):
        ask(fake, tmp_path / "kept", lines)
    kept = [json.loads(line)["row"] for line in (tmp_path / "kept").read_text().splitlines()]
    assert sorted(f"word {row}" for row in kept) == sorted(fake.answered)
    again = Fake()
    found, _ = ask(again, tmp_path / "kept", lines)
    assert not {*again.asked} & {*fake.answered} and len(again.asked) == 40 - len(kept)
    assert [answer.texts for answer in found] == [[translation(line)] for line in lines]


def test_an_answer_that_is_cut_short_is_marked(tmp_path):
    found, _ = ask(Fake({"f": ["cut"]}), tmp_path / "kept")
    assert [answer.cut for answer in found] == [[False], [False], [False], [True], [False]]


def test_the_key_goes_to_the_server_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("CGBENCH_API_KEY", "secret-1")
    fake = Fake({"a b": [307]})
    with pytest.raises(InputError, match=r"redirects \(status 307\) to http://127.0.0.1:9/elsewhere"):
        ask(fake, tmp_path / "kept", ["a b"])
    assert fake.keys == ["Bearer secret-1"] and len(fake.asked) == 1
    ask(Fake(), tmp_path / "other", ["a b"])
    assert b"secret" not in (tmp_path / "other").read_bytes()
    server = parse_server("openai:http://x/v1?model=m", PROMPT)
    assert "secret" not in json.dumps(server.identity)


def test_what_is_asked(tmp_path):
    fake = Fake()
    ask(fake, tmp_path / "kept", ["a b"], nbest=3, options="&temperature=0.5&max_tokens=9")
    assert fake.bodies == [
        {
            "model": "m", "messages": [{"role": "user", "content": "Say: a b"}], "n": 3, "temperature": 0.5,
            "max_tokens": 9,
        }
    ]  # fmt: skip


def test_nobody_there(tmp_path):
    server = parse_server("openai:http://127.0.0.1:9/v1?model=m", PROMPT)
    with pytest.raises(InputError, match="no answer after 6 tries .*refused"):
        ask_all(server, ["a"], tmp_path / "kept", nbest=1, sleep=lambda seconds: None)


def test_a_damaged_record_is_named(tmp_path):
    (tmp_path / "kept").write_text('{"row": 77, "texts": ["a"], "cut": [false]}\n')
    with pytest.raises(InputError, match="kept, line 1: is damaged"):
        ask(Fake(), tmp_path / "kept")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("openai:localhost:8000?model=m", "not the address of a server"),
        ("openai:file:///etc/passwd?model=m", "not the address of a server"),
        ("openai:http://x/v1", "no model is named"),
        ("openai:http://x/v1?model=m&temprature=1", "unknown setting temprature; did you mean temperature?"),
        ("openai:http://x/v1?model=m&max_tokens=many", "max_tokens: 'many' is not a whole number from 1 to 1,048,576"),
        ("openai:http://x/v1?model=m&max_tokens=0", "max_tokens: '0' is not a whole number from 1"),
        ("openai:http://x/v1?model=m&temperature=nan", "temperature: 'nan' is not a number from 0 to 2"),
        ("openai:http://x/v1?model=m&temperature=3", "temperature: '3' is not a number from 0 to 2"),
        ("openai:http://x/v1?model=m&timeout=1000000", "timeout: '1000000' is not a number from 1 to 86,400"),
        ("openai:http://x/v1?model=m&parallel=\u0663", "parallel: '\u0663' is not a whole number"),
        ("openai:http://x/v1?model=m&model=n", "an option is given twice"),
        ("openai:http://[::1?model=m", "not the address of a server"),
        ("openai:http://x:port/v1?model=m", "not the address of a server"),
        ("openai:http://x:99999/v1?model=m", "not the address of a server"),
        ("openai:http://a..b/v1?model=m", "not the address of a server"),
        ("openai:http://x y/v1?model=m", "not the address of a server"),
        ("openai:http://x/v1#top?model=m", "not the address of a server"),
        ("openai:http://x/v1\r\nHost: y?model=m", "not the address of a server"),
        ("openai:http://x/v1?model=\udcff", "contains unprintable characters"),
        ("openai:http://me:secret@x/v1?model", "no password belongs here"),
        ("openai:http://x/v1?model", "NAME=VALUE"),
        ("openai:http://me:secret@x/v1?model=m", "no password belongs here; set CGBENCH_API_KEY"),
    ],
)
def test_bad_names_of_servers(text, said):
    with pytest.raises(InputError) as error:
        parse_server(text, PROMPT)
    assert said in str(error.value) and "secret" not in str(error.value)


@pytest.mark.parametrize("text", ["openai:http://x/v1?model=m", "mc:openai:http://x/v1?model=m"])
def test_a_server_is_no_member(text):
    with pytest.raises(InputError, match=r"so it can only translate \(cgbench translate system"):
        parse_address(text)
