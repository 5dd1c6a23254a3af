"""Objects at s3:// and gs:// addresses, in a store that is fsspec's memory."""

import hashlib
from pathlib import Path
from typing import ClassVar

import pytest

from cgbench.errors import InputError
from cgbench.text import remote
from cgbench.text.inputs import as_column
from cgbench.text.remote import as_given, if_here, is_address, local

fsspec = pytest.importorskip("fsspec")
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402
from fsspec.registry import _registry as REGISTRY  # noqa: E402


class Store(MemoryFileSystem):
    """Memory with etags, as S3 and GCS have them; counts what is read."""

    protocol = ("s3", "gs")
    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list] = [""]
    read: ClassVar[list] = []
    short = False

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(str(path).partition("://")[2] or path)

    def info(self, path, **options):
        found = super().info(path, **options)
        if found["type"] == "file":
            found["ETag"] = hashlib.md5(self.store[self._strip_protocol(path)].getvalue()).hexdigest()
            found["size"] += self.short
        return found

    def open(self, path, mode="rb", **options):
        if mode == "rb":
            self.read.append(path)
        return super().open(path, mode, **options)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(remote, "_addresses", {})
    monkeypatch.setattr(Store, "store", {})
    monkeypatch.setattr(Store, "read", [])
    for scheme in ("s3", "gs"):
        monkeypatch.setitem(REGISTRY, scheme, Store)
    found = Store()
    found.pipe("/bucket/data/train.tsv", b"de\ten\nja\tyes\n")
    found.pipe("/bucket/plain.txt", b"one\ntwo\n")
    return found


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_an_object_is_read_like_a_file(store, scheme):
    assert as_column(f"{scheme}://bucket/data/train.tsv:en", "text").values == ["yes"]
    assert as_column(f"{scheme}:/bucket/plain.txt", "text").values == ["one", "two"]
    assert is_address(f"{scheme}://bucket/plain.txt") and not is_address("bucket/plain.txt")
    path = local(f"{scheme}://bucket/data/train.tsv")
    assert as_given(f"{path}, row 2: bad") == f"{scheme}://bucket/data/train.tsv, row 2: bad"


def test_each_version_is_fetched_once(store):
    first = local("s3://bucket/plain.txt")
    assert local("s3://bucket/plain.txt") == first and len(store.read) == 1
    store.pipe("/bucket/plain.txt", b"uno\ndue\n")  # of the same size
    second = local("s3://bucket/plain.txt")
    assert [Path(path).read_bytes() for path in (first, second)] == [b"one\ntwo\n", b"uno\ndue\n"]
    # Of what a stranger's file names, no server is asked.
    store.pipe("/bucket/plain.txt", b"drei\n")
    assert if_here("s3://bucket/plain.txt") == second and len(store.read) == 2
    assert if_here("s3://bucket/none.txt") == "s3://bucket/none.txt"


def test_the_command_line_takes_addresses(store, run):
    store.pipe("/bucket/bad.tsv", b"de\ten\nein\n")
    error = run("lm", "train", "s3://bucket/bad.tsv:en", "--out", "m.arpa", status=2).stderr
    assert error.startswith("error: s3://bucket/bad.tsv, row ")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("s3://bucket", r"not the address of an object; write s3://BUCKET/PATH/FILE"),
        ("gs://bucket/../x", r"not the address of an object; write gs://"),
        ("s3://bucket/none.txt", r"s3://bucket/none\.txt: there is no such object"),
        ("s3://bucket/data", r"a folder, not a file"),
    ],
)
def test_what_is_wrong_is_a_line(store, address, expected):
    with pytest.raises(InputError, match=expected):
        local(address)


def test_what_arrives_in_part_is_not_kept(store, monkeypatch, tmp_path):
    monkeypatch.setattr(Store, "short", True)
    with pytest.raises(InputError, match=r"8 of 9 bytes arrived"):
        local("s3://bucket/plain.txt")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_libraries_that_are_missing_and_servers_that_refuse(store, monkeypatch):
    def refuse(self, path, **options):
        raise PermissionError("Forbidden\nby the owner")

    monkeypatch.setattr(Store, "info", refuse)
    with pytest.raises(InputError, match=r"plain\.txt: cannot be fetched \(Forbidden by the owner\)"):
        local("s3://bucket/plain.txt")

    def missing(address):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(InputError, match=r"s3fs is not installed; run: pip install s3fs"):
        local("s3://bucket/plain.txt")
