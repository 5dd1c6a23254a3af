"""Downloads from a server that drops connections, cuts bodies short, and lies about their
length.
"""

import os

import pytest
from raw_web import answer, answering
from web import served

from cgbench.data_recipes import download as module
from cgbench.data_recipes.download import DownloadError, download

pytest.importorskip("requests")
BODY = os.urandom(1 << 20)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "WAIT", 0.001)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def web():
    with served() as web:
        web.files["file"] = BODY
        yield web


@pytest.mark.parametrize(
    "troubles", [[], ["drop"], ["drop", "drop", "drop"], ["long"], ["503", "503"], ["503", "drop"]]
)
def test_a_file_comes_whole_after_some_attempts_and_nothing_else_stays(web, tmp_path, troubles):
    web.troubles = list(troubles)
    download(f"{web.url}/file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == BODY and os.listdir(tmp_path) == ["file"]
    assert len(web.requests) == len(troubles) + 1


def test_it_gives_up_when_nothing_comes(web, tmp_path):
    web.troubles = ["503"] * 99
    with pytest.raises(DownloadError, match=r"/file: cannot be downloaded \(503"):
        download(f"{web.url}/file", tmp_path / "file")
    assert len(web.requests) == module.ATTEMPTS and os.listdir(tmp_path) == []


def test_what_is_not_there_is_asked_for_once(web, tmp_path):
    with pytest.raises(DownloadError, match=r"/none: cannot be downloaded \(404") as caught:
        download(f"{web.url}/none", tmp_path / "none")
    assert caught.value.refused and len(web.requests) == 1


def hostile(tmp_path, *answers, **options):
    """The line with which a download ends, or None; what was asked; what came."""
    with answering(*answers) as (url, asked):
        try:
            download(f"{url}/file", tmp_path / "file", **options)
        except DownloadError as error:
            assert "\n" not in str(error) and os.listdir(tmp_path) == []
            return str(error), asked, b""
    return None, asked, (tmp_path / "file").read_bytes()


@pytest.mark.parametrize("length", ["²", "-5", "1e3", "9" * 5000, "", "5, 6"])
def test_a_length_that_is_no_number(tmp_path, length):
    error, _, body = hostile(
        tmp_path, answer(b"hello", f"Content-Length: {length}", length=False), attempts=2
    )
    assert body == b"hello" or "cannot be downloaded" in error


@pytest.mark.parametrize(
    "location",
    [
        "http://",
        "http://[",
        "http://a b/",
        "ftp://x/y",
        "file:///etc/passwd",
        "//",
        f"http://{'a' * 99}",
        "http://x:99999/",
    ],
)
def test_a_redirect_to_no_address(tmp_path, location):
    error, _, _ = hostile(
        tmp_path, answer(b"", f"Location: {location}", status="302 Found"), attempts=1
    )
    assert "cannot be downloaded" in error


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (answer(b"", "Location: /file", status="302 Found"), "Exceeded 30 redirects"),
        (answer(b"", status="416 Range Not Satisfiable"), "416"),
        (answer(b"", status="403 Forbidden"), "403"),
    ],
)
def test_a_server_that_refuses(tmp_path, sent, said):
    assert said in hostile(tmp_path, sent, attempts=1)[0]


def test_a_chunked_body_says_where_it_ends(tmp_path):
    chunked = answer(b"5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked", length=False)
    _, asked, body = hostile(tmp_path, chunked[:-5], chunked)
    assert body == b"hello" and len(asked) == 2


@pytest.mark.parametrize("length", [True, False])
def test_a_file_that_is_larger_than_it_may_be(tmp_path, length):
    error, asked, _ = hostile(tmp_path, answer(b"hello", length=length), most=4)
    assert "5 bytes or more; at most 4 are allowed" in error and len(asked) == 1


def test_a_body_without_end_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 1 << 10)
    error, _, _ = hostile(tmp_path, answer(bytes(1 << 20), length=False), most=9 << 10)
    assert "10,240 bytes or more" in error
