"""Archives made by friends and by others."""

import io
import struct
import tarfile
import zipfile

import pytest
from text_files import flip

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
    unpack(archive(FILES), wanted)
    assert (tmp_path / "mine").read_bytes() == b"two\n" and not (tmp_path / "not").exists()


def test_an_end_is_whole_parts_of_a_path_and_must_be_one_member(archive, tmp_path):
    with pytest.raises(InputError, match="two members end in a.txt"):
        unpack(archive(FILES), {"a.txt": tmp_path / "a"})
    unpack(archive(FILES), {"b/b.txt": tmp_path / "b"})
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "..\\x", "C:/x"])
def test_a_path_outside_is_refused(archive, name):
    with pytest.raises(InputError, match="points outside the archive"):
        list(members(archive({name: b""})))


def test_links_and_devices_are_never_unpacked(archive, tmp_path):
    made = archive({}, links=[("top/a.txt", "/etc/passwd")])
    unpack(made, {"a.txt": tmp_path / "a"})
    assert not (tmp_path / "a").exists()


def test_an_archive_that_unpacks_to_too_much_is_refused(archive, monkeypatch, tmp_path):
    monkeypatch.setattr(archives, "MOST_BYTES", 999)
    with pytest.raises(InputError, match="more than is allowed"):
        unpack(
            archive({"a": bytes(600), "b": bytes(600)}), {"a": tmp_path / "a", "b": tmp_path / "b"}
        )


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
        read_all(path)


def test_something_else_is_no_archive(tmp_path):
    (tmp_path / "x.tgz").write_bytes(b"<html>not here</html>")
    with pytest.raises(InputError, match="not a readable archive"):
        list(members(tmp_path / "x.tgz"))


def read_all(path):
    return {member.name: b"".join(iter(member.read, b"")) for member in members(path)}


def test_an_archive_that_unpacks_to_many_times_its_size_is_refused(archive, monkeypatch):
    monkeypatch.setattr(archives, "FREE_BYTES", 1 << 20)
    path = archive({"a": bytes(1 << 20), "b": bytes(1 << 20)})
    if path.suffix == ".zip":  # which was made without packing
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
            zipped.writestr("a", bytes(2 << 20))
    with pytest.raises(InputError, match="300 times its size"):
        read_all(path)


def tar_of(path, *items):
    """A plain tar archive of (header, data)."""
    blocks = [
        item.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % 512) for item, data in items
    ]
    path.write_bytes(b"".join(blocks) + bytes(1024))
    return path


def item(name, size, kind=tarfile.REGTYPE):
    made = tarfile.TarInfo(name)
    made.size, made.type = size, kind
    return made


def test_a_damaged_header_is_not_the_end_of_the_archive(tmp_path):
    path = tar_of(tmp_path / "x.tar", (item("a", 3), b"one"), (item("b", 3), b"two"))
    flip(path, 1024)  # the first letter of the second name
    with pytest.raises(InputError, match="not a readable archive"):
        read_all(path)


def test_a_packed_archive_with_a_wrong_check_sum_is_damaged(tmp_path):
    path = make(tmp_path / "x.tar.gz", FILES)
    flip(path, -6)
    with pytest.raises(InputError, match=r"x\.tar\.gz: .*damaged or cut short"):
        read_all(path)


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_notes_on_a_member_are_not_held_in_memory_whatever_their_size(tmp_path, kind):
    path = tar_of(tmp_path / "x.tar", (item("a", 1 << 40, kind), b""))
    with pytest.raises(InputError, match="a header of 1,099,511,627,776 bytes"):
        read_all(path)


@pytest.mark.parametrize(
    ("place", "field", "message"),
    [
        (483, b"77777777777\0", "holes"),  # the size that it claims
        *((place, b"x" * 12, r"\A[^\n]+\Z") for place in (386, 398, 483)),
    ],
)
def test_a_member_with_holes_is_refused_in_one_line(tmp_path, place, field, message):
    sparse = bytearray(item("a", 0, tarfile.GNUTYPE_SPARSE).tobuf(tarfile.GNU_FORMAT))
    sparse[place : place + 12] = field
    sparse[148:156] = b"%06o\0 " % (sum(sparse[:148]) + 8 * 32 + sum(sparse[156:512]))
    (tmp_path / "x.tar").write_bytes(bytes(sparse) + bytes(1024))
    with pytest.raises(InputError, match=message):
        read_all(tmp_path / "x.tar")


def test_every_flipped_byte_of_a_packed_archive_is_found_or_changes_nothing(tmp_path):
    path = make(tmp_path / "x.tar.gz", {"a": b"one two three\n" * 3})
    data, right = path.read_bytes(), read_all(path)
    found = 0
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :])
        try:
            assert read_all(path) == right
        except InputError:
            found += 1
    assert found > len(data) // 2


def test_a_zip_archive_whose_first_member_is_before_the_file(tmp_path):
    path = make(tmp_path / "x.zip", FILES)
    data = bytearray(path.read_bytes())
    end = data.rindex(b"PK\5\6")
    (begin,) = struct.unpack("<I", data[end + 16 : end + 20])  # of the directory
    data[end + 16 : end + 20] = struct.pack("<I", begin + 5)
    path.write_bytes(data)
    with pytest.raises(InputError, match="damaged or cut short"):
        read_all(path)


def test_a_tar_archive_that_holds_a_zip_archive_is_a_tar_archive(tmp_path):
    data = make(tmp_path / "x.zip", {"z": b"1"}).read_bytes()
    path = tar_of(tmp_path / "x.tar", (item("x.zip", len(data)), data))
    assert read_all(path) == {"x.zip": data}
