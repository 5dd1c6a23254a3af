"""Downloads from a server that drops connections, cuts bodies short, lies about their length, and changes its mind."""

import json
import os

import pytest
from web import served

from cgbench.data_recipes import download as module
from cgbench.data_recipes.download import DownloadError, NotFoundError, download

pytest.importorskip("requests")
BODY = os.urandom(1 << 20)


@pytest.fixture
def web(monkeypatch):
    monkeypatch.setattr(module, "WAIT", 0.001)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with served() as web:
        web.files["file"] = BODY
        yield web


def fetch(web, tmp_path):
    return download(f"{web.url}/file", tmp_path / "file")


def left(tmp_path):
    return sorted(os.listdir(tmp_path))


def test_a_file_comes_whole_and_nothing_else_stays(web, tmp_path):
    assert fetch(web, tmp_path) is False
    assert (tmp_path / "file").read_bytes() == BODY and left(tmp_path) == ["file"]


@pytest.mark.parametrize(
    "troubles", [["drop"], ["drop", "drop", "drop"], ["long"], ["503", "503"], ["503", "drop"], ["drop", "short"]]
)
def test_what_goes_wrong_is_mended_by_trying_again(web, tmp_path, troubles):
    web.troubles = troubles
    fetch(web, tmp_path)
    assert (tmp_path / "file").read_bytes() == BODY and left(tmp_path) == ["file"]


def test_a_dropped_download_goes_on_where_it_was(web, tmp_path):
    web.troubles = ["drop"]
    fetch(web, tmp_path)
    asked = [given for _, given in web.requests]
    assert asked[0] is None and asked[1] == f"bytes={len(BODY) // 2}-"


def test_a_server_without_ranges_is_read_from_the_start_again(web, tmp_path):
    web.troubles, web.ranges = ["drop"], False
    fetch(web, tmp_path)
    assert (tmp_path / "file").read_bytes() == BODY


def test_a_later_command_goes_on_and_says_so(web, tmp_path):
    web.troubles = ["drop", *["503"] * 9]
    with pytest.raises(DownloadError, match=r"/file: cannot be downloaded \(the server answers 503"):
        fetch(web, tmp_path)
    assert left(tmp_path) == ["file.part", "file.part.json"]
    web.troubles.clear()
    assert fetch(web, tmp_path) is True
    assert web.requests[-1][1] == f"bytes={len(BODY) // 2}-"
    assert (tmp_path / "file").read_bytes() == BODY and left(tmp_path) == ["file"]


@pytest.mark.parametrize("change", ["tag", "shorter", "address"])
def test_parts_of_two_editions_are_never_joined(web, tmp_path, change):
    web.troubles = ["drop", *["503"] * 9]
    with pytest.raises(DownloadError):
        fetch(web, tmp_path)
    web.troubles.clear()
    new = os.urandom(len(BODY) // 4 if change == "shorter" else len(BODY))
    web.files["file"] = new
    if change == "address":
        state = tmp_path / "file.part.json"
        state.write_text(json.dumps({**json.loads(state.read_text()), "url": "http://elsewhere/file"}))
    elif change == "tag":
        web.tag = '"2"'
    fetch(web, tmp_path)
    assert (tmp_path / "file").read_bytes() == new


def test_a_length_that_changed_between_two_parts_is_noticed_without_a_tag(web, tmp_path):
    web.tag = ""
    web.troubles = ["drop", *["503"] * 9]
    with pytest.raises(DownloadError):
        fetch(web, tmp_path)
    web.troubles.clear()
    web.files["file"] = new = os.urandom(len(BODY) + 4)
    fetch(web, tmp_path)
    assert (tmp_path / "file").read_bytes() == new


def test_it_gives_up_when_nothing_comes(web, tmp_path):
    web.troubles = ["503"] * 99
    with pytest.raises(DownloadError):
        fetch(web, tmp_path)
    assert len(web.requests) == module.ATTEMPTS


def test_a_missing_file_is_not_asked_for_twice(web, tmp_path):
    with pytest.raises(NotFoundError, match="no such file"):
        download(f"{web.url}/other", tmp_path / "other")
    assert len(web.requests) == 1 and left(tmp_path) == []


def test_no_network_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WAIT", 0)
    with pytest.raises(DownloadError, match=r"http://127.0.0.1:9/x: cannot be downloaded \(.*refused") as caught:
        download("http://127.0.0.1:9/x", tmp_path / "x")
    assert "\n" not in str(caught.value)


def test_a_proxy_is_taken_from_the_environment(web, tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", web.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    web.files["http://far.invalid/file"] = b"by proxy"
    download("http://far.invalid/file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"by proxy"
