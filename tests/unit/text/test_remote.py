"""Addresses: a file of the Hub is fetched once, read like any other, and called by its address."""

import sys

import pytest
from hub import COMMIT, OTHER, serving, use

from cgbench.errors import InputError
from cgbench.text import remote
from cgbench.text.inputs import as_column, as_corpus
from cgbench.text.remote import as_given, if_here, is_address, local

huggingface_hub = pytest.importorskip("huggingface_hub")


@pytest.fixture
def hub(tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "_addresses", {})
    with serving() as found:
        use(monkeypatch, found.url, tmp_path / "cache")
        found.files["data/train.tsv"] = b"de\ten\nja\tyes\nnein\tno\n"
        found.older["data/train.tsv"] = b"de\ten\nalt\told\n"
        found.files["plain.txt"] = b"one\ntwo\n"
        yield found


ADDRESS = "hf://datasets/org/name/data/train.tsv"


def test_a_column_of_a_table_at_an_address(hub):
    assert as_column(f"{ADDRESS}:en", "text").values == ["yes", "no"]
    assert as_column("hf://datasets/org/name@v1/data/train.tsv:de", "text").values == ["alt"]
    assert as_column("hf://datasets/org/name/plain.txt", "text").values == ["one", "two"]
    assert as_corpus(ADDRESS, ("de", "en")).paths[0].name == "train.tsv"
    # A path has lost one of the two slashes.
    assert local("hf:/datasets/org/name/plain.txt") == local("hf://datasets/org/name/plain.txt")


def test_a_file_is_fetched_once_and_called_by_the_commit_that_it_is_of(hub):
    path = local(ADDRESS)
    local(ADDRESS)
    local(f"hf://datasets/org/name@{COMMIT}/data/train.tsv")
    assert [request for request in hub.requests if request[0] == "GET"] == [hub.requests[1]]
    assert (
        as_given(f"error: {path}, row 3")
        == f"error: hf://datasets/org/name@{COMMIT}/data/train.tsv, row 3"
    )
    assert as_given(local("hf://datasets/org/name@v1/data/train.tsv:de")).endswith(
        f"@{OTHER}/data/train.tsv:de"
    )


def test_without_the_network_what_was_fetched_is_there(hub, monkeypatch):
    path = local(ADDRESS)
    count = len(hub.requests)
    assert if_here(ADDRESS) == path and if_here("x.txt") == "x.txt"
    assert if_here("hf://datasets/org/name/plain.txt") == "hf://datasets/org/name/plain.txt"
    assert len(hub.requests) == count
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert local(ADDRESS) == path
    with pytest.raises(InputError, match=r"plain\.txt: cannot be fetched"):
        local("hf://datasets/org/name/plain.txt")
    assert len(hub.requests) == count


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("hf://datasets/org/other/f.tsv", "cannot be fetched"),
        ("hf://datasets/org/name@v7/f.tsv", "cannot be fetched"),
        ("hf://datasets/org/name/f.tsv", "cannot be fetched"),
        (
            "hf://org/name/f.tsv",
            r"not the address of a file on the Hub; write hf://datasets/ORG/NAME/FILE",
        ),
        ("hf://datasets/org/name", "not the address of a file"),
        ("hf://datasets/org/name/../../f", "not the address of a file"),
        ("hf://datasets/org/na--me/f.tsv", "cannot be fetched"),
    ],
)
def test_what_is_wrong_with_an_address_is_one_line(hub, address, message):
    with pytest.raises(InputError, match=message) as error:
        local(address)
    assert str(error.value).startswith(f"{address}: ") and "\n" not in str(error.value)


def test_a_data_set_that_has_to_be_asked_for_and_a_hub_that_is_away(hub, monkeypatch, tmp_path):
    hub.gated = True
    with pytest.raises(InputError, match="cannot be fetched"):
        local(ADDRESS)
    use(monkeypatch, "http://127.0.0.1:9", tmp_path / "none")
    monkeypatch.setattr(
        "huggingface_hub.utils._http.time.sleep", lambda seconds: None
    )  # five times it tries again
    with pytest.raises(InputError, match="cannot be fetched"):
        local(ADDRESS)


def test_without_the_library_the_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(
        InputError, match=r"huggingface_hub is not installed; run: pip install \"cgbench\[hub\]"
    ):
        local(ADDRESS)


def test_what_is_no_address_is_left_alone():
    for name in ("x.txt", "-", "hf", "hf:x", "a/hf://x", "C:hf://x", "ftp://bucket/f"):
        assert local(name) == name and not is_address(name)
    assert not is_address(3)
