"""YAML from anybody: data is read, all else is one line; the package's own files may use
aliases.
"""

import sys
from importlib import resources
from itertools import pairwise

import pytest
import yaml

from cgbench.errors import InputError
from cgbench.yaml_text import DEEPEST, LARGEST_FILE, load_yaml

BOMB = "a: &a [x, x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghi")
)


@pytest.fixture(params=["C", "Python"])
def read(request, tmp_path, monkeypatch):
    """Read a text, by either of PyYAML's parsers."""
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    elif not hasattr(yaml, "CSafeLoader"):
        pytest.skip("PyYAML without libyaml")

    def call(text, **options):
        path = tmp_path / "a.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_yaml(path, **options)

    return call


def test_data_is_read(read):
    text = """
    count: 1_000
    rates: [0.5, -1.5e-3, 5e-4, +7, 0]
    'yes': [true, No, on, off, ~, null, ]
    text: {plain: 1/30, quoted: '2020-01-01', "double": "0x10", folded: a
      b}
    ünïcode: "\\u00e4"
    """
    found = read(text)
    assert found["count"] == 1000 and found["rates"] == [0.5, -0.0015, "5e-4", 7, 0]
    assert found["yes"] == [True, False, True, False, None, None]
    assert found["text"] == {
        "plain": "1/30",
        "quoted": "2020-01-01",
        "double": "0x10",
        "folded": "a b",
    }
    assert found["ünïcode"] == "ä"
    assert read("") is None and read("# nothing\n") is None
    assert read(b"\xef\xbb\xbfa: 1\n") == {"a": 1}
    assert read("a: |\n  b\n   c\n") == {"a": "b\n c\n"}


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (BOMB, 1, "anchors (&) and aliases (*) are not supported"),
        ("a: 1\nb: &x [*x]\n", 2, "anchors"),
        ("a: 1\nb: *x\n", 2, "anchors"),
        ("a: 1\n!!str b: 2\n", 2, "the tag"),
        ("a: 1\n<<: {b: 2}\n", 2, "<<: a key must be text"),
        ("a: 1\nno: 2\n", 2, "no: a key must be text; put it in quotes"),
        ("a: 1\nb: 2\na: 3\n", 3, "a is also set in line 1; keep one"),
        ("a:\n  b: 2\n  b: 3\n", 3, "b is also set in line 2"),
        (
            "a: !!python/object/apply:os.system ['true']\n",
            1,
            "the tag tag:yaml.org,2002:python/object/apply:os...",
        ),
        ("a: 1\n---\nb: 2\n", 2, "found another document"),
        ("a: 1\n? [b, c]\n: 2\n", 2, "a key must be text"),
        ("a: 1\nb: [\n", 3, "not valid YAML"),
        ("a: 1\n\tb: 2\n", 2, "not valid YAML"),
        ("a: 1\nb: \x00\n", 2, "not valid YAML"),
        (b"a: 1\nb: \xff\n", 2, "not UTF-8 text"),
        ("[" * 100_000, 1, f"more than {DEEPEST} nested mappings and lists"),
    ],
)
def test_more_than_data_is_one_line(read, text, line, what):
    with pytest.raises(InputError) as error:
        read(text)
    message = str(error.value)
    assert "\n" not in message and len(message) < 300
    assert f"a.yaml: line {line}: " in message and what in message


@pytest.mark.parametrize("text", [f"a: {'9' * 5000}\n", "a: 2020-99-99\n"])
def test_a_value_that_python_cannot_read(read, text):
    with pytest.raises(InputError, match=r"a\.yaml: a value cannot be read"):
        read(text)


def test_size_is_bounded_before_anything_is_parsed(read, tmp_path):
    read(b"#" * LARGEST_FILE)
    with pytest.raises(InputError, match=r"a\.yaml: larger than 256 KiB"):
        read(b"#" * (LARGEST_FILE + 1))
    with pytest.raises(InputError, match="missing: no such file"):
        load_yaml(tmp_path / "missing")


@pytest.mark.skipif(sys.platform == "win32", reason="no /dev/zero")
def test_a_file_without_end_ends(tmp_path):
    (tmp_path / "endless").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="larger than"):
        load_yaml(tmp_path / "endless")


def test_the_packages_own_files_have_aliases(read):
    text = "a: &a {x: 1, y: &y [2]}\nb: {z: *y, <<: *a, x: 3}\n"
    assert read(text, aliases=True) == yaml.safe_load(text)
    assert list(read(text, aliases=True)["b"]) == list(yaml.safe_load(text)["b"])
    for wrong in ("\na: *b\n", "a: &a [1]\nb: {<<: *a}\n"):
        with pytest.raises(InputError, match="line [12]: not valid YAML"):
            read(wrong, aliases=True)


def test_every_file_of_the_package_says_what_pyyaml_reads():
    folders = (
        ("models/config/presets", False),
        ("benchmark/build/react/presets", False),
        ("reproduction/benchmarks", True),
    )
    files = [
        (file, own)
        for folder, own in folders
        for file in resources.files("cgbench").joinpath(folder).iterdir()
    ]
    files.append((resources.files("cgbench").joinpath("reproduction/tables.yaml"), True))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    assert len(files) > 90
    for file, own in files:
        assert repr(load_yaml(file, aliases=own)) == repr(
            yaml.load(file.read_text("utf-8"), Loader=loader)
        ), file
