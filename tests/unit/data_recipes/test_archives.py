"""Archives made by friends and by others."""

import io
import tarfile
import zipfile

import pytest

from cgbench.data_recipes import archives
from cgbench.data_recipes.archives import members, unpack
from cgbench.errors import InputError

FILES = {"top/a.txt": b"one\n", "top/sub/b.txt": b"two\n", "top/sub/a.txt": b"three\n"}


def make(path, files, links=()):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
            for name, target in links:
                entry = zipfile.ZipInfo(name)
                entry.external_attr = 0o120777 << 16
                archive.writestr(entry, target)
        return path
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            item = tarfile.TarInfo(name)
            item.size = len(data)
            archive.addfile(item, io.BytesIO(data))
        for name, target in links:
            for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
                item = tarfile.TarInfo(name)
                item.type, item.linkname = kind, target
                archive.addfile(item)
    return path


@pytest.fixture(params=["x.tar.gz", "x.zip"])
def archive(request, tmp_path):
    return lambda files, links=(): make(tmp_path / request.param, files, links)


def test_members_are_read_in_order(archive):
    found = [(member.name, member.read()) for member in members(archive(FILES))]
    assert found == list(FILES.items())


def test_wanted_members_are_unpacked_to_the_paths_of_the_caller(archive, tmp_path):
    wanted = {"sub/b.txt": tmp_path / "mine", "sub/none.txt": tmp_path / "not"}
    assert unpack(archive(FILES), wanted) == {"sub/b.txt"}
    assert (tmp_path / "mine").read_bytes() == b"two\n" and not (tmp_path / "not").exists()


def test_an_end_is_whole_parts_of_a_path_and_must_be_one_member(archive, tmp_path):
    with pytest.raises(InputError, match="two members end in a.txt"):
        unpack(archive(FILES), {"a.txt": tmp_path / "a"})
    assert unpack(archive(FILES), {"b/b.txt": tmp_path / "b"}) == set()


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "..\\x", "C:/x"])
def test_a_path_outside_is_refused(archive, name):
    with pytest.raises(InputError, match="points outside the archive"):
        list(members(archive({name: b""})))


def test_links_and_devices_are_never_unpacked(archive, tmp_path):
    made = archive({}, links=[("top/a.txt", "/etc/passwd")])
    assert unpack(made, {"a.txt": tmp_path / "a"}) == set()
    assert not (tmp_path / "a").exists()


def test_an_archive_that_unpacks_to_too_much_is_refused(archive, monkeypatch, tmp_path):
    monkeypatch.setattr(archives, "MOST_BYTES", 999)
    with pytest.raises(InputError, match="more than is allowed"):
        unpack(archive({"a": bytes(600), "b": bytes(600)}), {"a": tmp_path / "a", "b": tmp_path / "b"})
    # what nobody reads is not counted
    assert unpack(archive({"a": bytes(600), "b": bytes(600)}), {"b": tmp_path / "b"}) == {"b"}


def test_too_many_members_are_refused(archive, monkeypatch):
    monkeypatch.setattr(archives, "MOST_MEMBERS", 2)
    with pytest.raises(InputError, match="more than 2 members"):
        list(members(archive(FILES)))


@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_a_cut_archive_is_one_line(archive, keep):
    path = archive({f"{number}.txt": bytes(range(256)) * 99 for number in range(9)})
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(InputError, match="may be damaged or cut short"):
        for member in members(path):
            while member.read():
                pass


def test_something_else_is_no_archive(tmp_path):
    (tmp_path / "x.tgz").write_bytes(b"<html>not here</html>")
    with pytest.raises(InputError, match="not an archive"):
        list(members(tmp_path / "x.tgz"))
