"""Addresses of servers, and where a key goes."""

import json

import pytest

from cgbench.errors import InputError
from cgbench.models.external.addresses import parse_address
from cgbench.models.servers.address import parse_server

NO_ADDRESSES = (
    "localhost:8000",
    "file:///etc/passwd",
    "http://[::1",
    "http://x:port/v1",
    "http://x:99999/v1",
    "http://a..b/v1",
    "http://x y/v1",
    "http://x/v1#top",
    "http://x/v1\r\nHost: y",
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("openai:http://x/v1", "no model is named"),
        (
            "openai:http://x/v1?model=m&temprature=1",
            "unknown setting temprature; did you mean temperature?",
        ),
        (
            "openai:http://x/v1?model=m&max_tokens=many",
            "max_tokens: 'many' is not a whole number from 1 to 1,048,576",
        ),
        (
            "openai:http://x/v1?model=m&temperature=nan",
            "temperature: 'nan' is not a number from 0 to 2",
        ),
        ("openai:http://x/v1?model=m&top_p=0", "top_p: '0' is not a number, at most 1 and above 0"),
        (
            "openai:http://x/v1?model=m&endpoint=text",
            "endpoint: 'text' is not one of chat, completions",
        ),
        ("openai:http://x/v1?model=m&parallel=\u0663", "parallel: '\u0663' is not a whole number"),
        ("openai:http://x/v1?model=m&model=n", "an option is given twice"),
        *((f"openai:{text}?model=m", "not the address of a server") for text in NO_ADDRESSES),
        ("openai:http://x/v1?model=\udcff", "contains unprintable characters"),
        ("openai:http://x/v1?model", "NAME=VALUE"),
        ("openai:http://me:secret@x/v1?model=m", "no password belongs here; set CGBENCH_API_KEY"),
    ],
)
def test_bad_names_of_servers(text, said):
    with pytest.raises(InputError) as error:
        parse_server(text)
    assert said in str(error.value) and "secret" not in str(error.value)


@pytest.mark.parametrize("text", ["openai:http://x/v1?model=m", "mc:openai:http://x/v1?model=m"])
def test_a_server_is_no_member(text):
    with pytest.raises(InputError, match=r"so it can only translate \(cgbench translate system"):
        parse_address(text)


def test_identity_has_what_changes_answers():
    plain = parse_server("openai:http://x/v1/?model=m&parallel=3&timeout=9&key=none").identity
    assert plain == {
        "kind": "openai",
        "url": "http://x/v1/chat/completions",
        "model": "m",
        "temperature": 0.0,
        "max_tokens": 512,
    }
    other = parse_server(
        "openai:http://x/v1?model=m&endpoint=completions&top_p=0.9&seed=3&temperature=none"
    )
    assert "temperature" not in other.identity
    assert {**other.identity, "temperature": 0.0} == {
        **plain,
        "url": "http://x/v1/completions",
        "top_p": 0.9,
        "seed": 3,
    }
    limited = parse_server("openai:http://x/v1?model=m&max_completion_tokens=9")
    assert limited.sampling == {"model": "m", "temperature": 0.0, "max_completion_tokens": 9}


@pytest.mark.parametrize(
    ("url", "query", "header"),
    [
        ("https://x/v1", "", "Bearer own"),
        ("http://localhost:8000/v1", "", "Bearer own"),
        ("http://127.0.0.3/v1", "", "Bearer own"),
        ("http://[::1]:8000/v1", "", "Bearer own"),
        ("http://gpu-server/v1", "&key=none", None),
        ("http://gpu-server/v1", "&key=MINE", "Bearer mine"),
        ("https://x/v1", "&key=MINE", "Bearer mine"),
        ("http://gpu-server/v1", "", "the key in CGBENCH_API_KEY would be sent unencrypted"),
        (
            "http://127.0.0.1.evil.org/v1",
            "",
            "the key in CGBENCH_API_KEY would be sent unencrypted",
        ),
        ("https://x/v1", "&key=BROKEN", "BROKEN: contains an invalid character"),
        ("https://x/v1", "&key=UNSET", "the environment variable UNSET is not set"),
    ],
)
def test_where_a_key_goes(url, query, header, monkeypatch):
    for name, key in {"CGBENCH_API_KEY": "own", "MINE": " mine\n", "BROKEN": "sec\nret"}.items():
        monkeypatch.setenv(name, key)
    server = parse_server(f"openai:{url}?model=m{query}")
    if header and " " in header.removeprefix("Bearer "):
        with pytest.raises(InputError) as error:
            server.headers()
        assert (
            header in str(error.value)
            and "sec" not in str(error.value)
            and "own" not in str(error.value)
        )
    else:
        assert server.headers() == ({"Authorization": header} if header else {})
    assert "mine" not in json.dumps(server.identity)
