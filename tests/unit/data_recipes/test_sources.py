"""Where a recipe's files come from, and that they are the right ones."""

import gzip
import hashlib
import tarfile
from dataclasses import replace

import pytest
from small_recipes import git_blob
from web import served

from cgbench.data_recipes import download
from cgbench.data_recipes.recipe import Source
from cgbench.data_recipes.sources import RAW, Sources
from cgbench.errors import InputError

GOOD = b"a b\nc d\n"
SHA256 = "sha256:" + hashlib.sha256(GOOD).hexdigest()
BLOB = "git:" + git_blob(GOOD)


@pytest.fixture
def web(monkeypatch):
    pytest.importorskip("requests")
    monkeypatch.setattr(download, "WAIT", 0.001)
    monkeypatch.delenv("http_proxy", raising=False)
    with served() as web:
        web.files["x.txt"] = GOOD
        yield web


@pytest.fixture
def place(tmp_path):
    """Put a file into a folder that is laid out as a mirror."""

    def put(root, name, data, folder="toy"):
        path = tmp_path / root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    return put


def toy_sources(tmp_path, *sources, **options):
    placed = [replace(source, folder=source.folder or "toy") for source in sources]
    return Sources(placed, tmp_path / "downloads", tmp_path / "work", **options)


def find(tmp_path, source, *more, names=None, **options):
    with toy_sources(tmp_path, source, *more, **options) as sources:
        found = sources.find(*(names or [source.name]))
        return found and [path.read_bytes() for path in found], sources


def test_a_file_is_fetched_once_and_then_at_hand(web, tmp_path):
    source = Source("x.txt", f"{web.url}/x.txt", (SHA256,))
    for _ in range(2):
        data, sources = find(tmp_path, source)
        assert data == [GOOD]
    assert len(web.requests) == 1
    record = {"path": "toy/x.txt", "url": source.url, "bytes": len(GOOD)}
    assert sources.used["x.txt"] == record | {"sha256": SHA256.removeprefix("sha256:")}


@pytest.mark.parametrize("body", [b"another file\n", GOOD[:4]])
def test_a_wrong_file_is_deleted_and_both_hashes_are_named(web, tmp_path, body):
    web.files["x.txt"] = body
    source = Source("x.txt", f"{web.url}/x.txt", (SHA256,))
    with pytest.raises(InputError) as caught:
        find(tmp_path, source)
    wrong = hashlib.sha256(body).hexdigest()
    assert (
        wrong in str(caught.value)
        and SHA256 in str(caught.value)
        and "expected by the recipe" in str(caught.value)
    )
    folder = tmp_path / "downloads" / "toy"
    assert list(folder.iterdir()) == []
    web.files["x.txt"] = GOOD
    assert find(tmp_path, source)[0] == [GOOD]


@pytest.mark.parametrize("packed", [False, True])
def test_a_mirror_folder_is_read_where_it_is(tmp_path, place, packed):
    path = place(
        "mirror", "x.txt.gz" if packed else "x.txt", gzip.compress(GOOD) if packed else GOOD
    )
    source = Source("x.txt", "http://127.0.0.1:9/x.txt", (SHA256,))
    with toy_sources(tmp_path, source, mirror=str(tmp_path / "mirror")) as sources:
        assert sources.find("x.txt") == (path,)
        assert sources.used["x.txt"]["bytes"] == len(GOOD)


@pytest.mark.parametrize("options", [{"offline": True}, {"mirror": "."}])
def test_without_the_network_it_is_said_what_to_fetch_and_where_to_put_it(tmp_path, options):
    data, sources = find(tmp_path, Source("x.txt", "http://127.0.0.1:9/x.txt"), **options)
    assert data is None
    place = tmp_path / "downloads" / "toy" / "x.txt"
    assert sources.missing["x.txt"].startswith(
        f"download http://127.0.0.1:9/x.txt and put it at {place} (or "
    )


def test_a_network_that_fails_is_an_error_that_says_the_same(tmp_path, monkeypatch):
    pytest.importorskip("requests")
    monkeypatch.setattr(download, "WAIT", 0)
    with pytest.raises(
        InputError,
        match=r"cannot be downloaded .*run the same command again.*and put it at .*x\.txt",
    ):
        find(tmp_path, Source("x.txt", "http://127.0.0.1:9/x.txt"))


def test_a_file_in_an_archive_is_taken_out_and_cleared_away(tmp_path, place):
    inner = tmp_path / "x.txt"
    inner.write_bytes(GOOD)
    packed = place("downloads", "all.tgz", b"")
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(inner, "toy-1/data/x.txt")
    sources = (
        Source("all.tgz"),
        Source("x.txt", hashes=(SHA256,), archive="all.tgz", member="data/x.txt"),
        Source("y.txt", archive="all.tgz", member="data/y.txt"),
    )
    with toy_sources(tmp_path, *sources) as found:
        assert found.find("x.txt")[0].read_bytes() == GOOD
        assert found.find("x.txt", "y.txt") is None
        assert "no data/y.txt in" in found.missing["y.txt"]
        assert set(found.used) == {"all.tgz", "x.txt"}
    assert [path.name for path in packed.parent.iterdir()] == ["all.tgz"] and not (
        tmp_path / "work"
    ).exists()


def test_a_mirror_may_hold_the_files_of_an_archive_one_by_one(tmp_path, place):
    place("mirror", "x.txt", GOOD, folder="elsewhere")
    sources = (
        Source("all.tgz", "http://127.0.0.1:9/all.tgz"),
        Source("x.txt", folder="elsewhere", archive="all.tgz"),
    )
    assert find(tmp_path, sources[1], sources[0], mirror=str(tmp_path / "mirror"))[0] == [GOOD]


def test_only_what_is_at_hand(web, tmp_path):
    with toy_sources(tmp_path, Source("x.txt", f"{web.url}/x.txt")) as sources:
        assert sources.find("x.txt", fetch=False) is None
        assert not sources.missing and not web.requests


def released(**fields):
    """A file of a repository by its digests, as the recipes have them."""
    return Source(
        "x.txt", RAW + f"someone/toys/{'c' * 40}/data/deep/x.txt", **{"hashes": (BLOB,), **fields}
    )


@pytest.mark.parametrize("packed", [False, True])
def test_a_git_blob_id_is_a_digest(tmp_path, place, packed):
    path = place(
        "downloads", "x.txt.gz" if packed else "x.txt", gzip.compress(GOOD) if packed else GOOD
    )
    data, sources = find(tmp_path, Source("x.txt", hashes=(BLOB,)), offline=True)
    assert data == [path.read_bytes()] and sources.used["x.txt"]["bytes"] == len(GOOD)


@pytest.mark.parametrize("where", ["download", "mirror", "archive", "at hand"])
def test_a_wrong_git_blob_is_refused_wherever_it_is_from(web, tmp_path, place, where):
    source, more, options = Source("x.txt", f"{web.url}/x.txt", (BLOB,)), (), {}
    web.files = {"x.txt": b"wrong\n"}
    if where == "mirror":
        kept = place("mirror", "x.txt", b"wrong\n")
        options = {"mirror": str(tmp_path / "mirror")}
    elif where == "at hand":
        place("downloads", "x.txt", b"wrong\n")
    elif where == "archive":
        inner = tmp_path / "x.txt"
        inner.write_bytes(b"wrong\n")
        with tarfile.open(place("downloads", "all.tgz", b""), "w:gz") as archive:
            archive.add(inner, "x.txt")
        source, more = (
            Source("x.txt", hashes=(BLOB,), archive="all.tgz", member="x.txt"),
            (Source("all.tgz"),),
        )
    message = (
        f"the hash is sha256:.*, git:58db11e8.*but {BLOB} is expected by the recipe.*it was not"
        " used"
    )
    with pytest.raises(InputError, match=message.replace("58db11e8", git_blob(b"wrong\n"))):
        find(tmp_path, source, *more, **options)
    assert where != "mirror" or kept.read_bytes() == b"wrong\n"


@pytest.mark.parametrize("mirror", ["mirror", "mirror/toy", "mirror/toy/deep"])
def test_of_two_files_with_one_name_a_mirror_gives_the_one_that_fits(tmp_path, place, mirror):
    """data/valid.zh and data/processed/valid.zh."""
    place("mirror", "x.txt", b"other words\n")
    place("mirror", "deep/x.txt", GOOD)
    assert find(tmp_path, released(), mirror=str(tmp_path / mirror))[0] == [GOOD]


def test_a_copy_of_the_repository_is_a_mirror(tmp_path, place):
    place("clone", "x.txt", GOOD, folder="data/deep")
    assert find(tmp_path, released(), mirror=str(tmp_path / "clone"))[0] == [GOOD]


def test_a_file_that_only_has_the_name_is_not_taken(tmp_path, place):
    other = place("mirror", "x.txt", b"other words\n", folder="deep")
    data, sources = find(tmp_path, released(), mirror=str(tmp_path / "mirror"))
    assert data is None and sources.missing["x.txt"].startswith("download ") and other.exists()
    # nor one of which any bytes would do
    place("mirror", "x.txt", b"any words\n", folder=".")
    assert find(tmp_path, released(hashes=()), mirror=str(tmp_path / "mirror"))[0] is None


def test_the_folder_of_the_set_is_a_mirror(tmp_path, place):
    place("set", "x.txt", GOOD, folder=".")
    source = Source("x.txt", "http://127.0.0.1:9/x.txt", folder="set")
    assert find(tmp_path, source, mirror=str(tmp_path / "set"))[0] == [GOOD]
    (tmp_path / "set").rename(tmp_path / "other")
    assert find(tmp_path, source, mirror=str(tmp_path / "other"), names=["x.txt"])[0] is None


def test_an_optional_file_that_cannot_be_fetched_is_missing_and_stops_no_one(tmp_path):
    pytest.importorskip("requests")
    sources = [Source(name, f"http://127.0.0.1:9/{name}") for name in ("x.txt", "y.txt")]
    said = []
    with toy_sources(tmp_path, *sources, say=said.append) as found:
        assert (
            found.find("x.txt", optional=True) is None
            and found.find("y.txt", optional=True) is None
        )
    assert set(found.missing) == {"x.txt", "y.txt"}
    assert [line for line in said if line.startswith("downloading")] == [
        "downloading http://127.0.0.1:9/x.txt"
    ]


@pytest.mark.parametrize("cut", [5, 20, -4])
def test_a_packed_file_that_was_cut_short_is_one_line(tmp_path, place, cut):
    path = place("mirror", "x.txt.gz", gzip.compress(GOOD * 99)[:cut])
    for known in ((SHA256,), ()):
        with pytest.raises(
            InputError, match=r"x\.txt\.gz: cannot be read .* damaged or cut short"
        ) as caught:
            find(tmp_path, Source("x.txt", "", known), mirror=str(tmp_path / "mirror"))
        assert str(path) in str(caught.value)


def test_of_several_mirrors_the_one_that_has_the_file(tmp_path, place):
    place("one", "x.txt", b"wrong", folder="other")
    place("two", "z.txt", GOOD)
    mirrors = [str(tmp_path / "one"), str(tmp_path / "two")]
    assert find(tmp_path, Source("z.txt", "", (SHA256,)), mirror=mirrors)[0] == [GOOD]


def test_one_of_several_hashes_must_fit(tmp_path, place):
    place("downloads", "x.txt", GOOD)
    for known in (
        ("sha256:" + "0" * 64, SHA256),
        ("git:" + "0" * 40, SHA256),
        ("sha256:" + "0" * 64, BLOB),
    ):
        assert find(tmp_path, Source("x.txt", "", known))[0] == [GOOD]
    with pytest.raises(InputError, match="is expected by the recipe"):
        find(tmp_path, Source("x.txt", "", ("sha256:" + "0" * 64, "git:" + "0" * 40)))


def test_a_mirror_is_a_folder(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        Sources((), tmp_path, tmp_path / "work", mirror="nowhere")


def test_a_git_blob_id_is_what_git_says(tmp_path, place):
    place("downloads", "x", b"what is up, doc?")  # the example of the Git book
    source = Source("x", hashes=("git:bd9dbf5aae1a3862dd1526723246b20206e5fc37",))
    assert find(tmp_path, source)[0] == [b"what is up, doc?"]


def test_a_download_has_a_largest_size(web, tmp_path, monkeypatch):
    monkeypatch.setattr("cgbench.data_recipes.sources.MOST_DOWNLOAD", 7)
    with pytest.raises(InputError, match="has 8 bytes or more; at most 7 are allowed"):
        find(tmp_path, Source("x.txt", f"{web.url}/x.txt"))
    # of a file of GitHub another one
    web.files["a/b/c/x.txt"] = GOOD
    monkeypatch.setattr("cgbench.data_recipes.sources.RAW", f"{web.url}/")
    monkeypatch.setattr("cgbench.data_recipes.sources.MOST_OF_GITHUB", 6)
    with pytest.raises(InputError, match="has 8 bytes or more; at most 6 are allowed"):
        find(tmp_path, Source("x.txt", f"{web.url}/a/b/c/x.txt"))
