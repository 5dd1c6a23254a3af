"""JSON that strangers wrote, or that a disk damaged."""

import errno
import os

import pytest

from cgbench.benchmark.score.outputs.score_readers import read_score_columns
from cgbench.errors import InputError
from cgbench.files import atomic_path, check_output, read_json
from cgbench.text.columns import read_text
from cgbench.text.shards import find_files, read_shard


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ('{"a": ' * 100_000, "nested too deeply"),
        ("1" * 5000, "not valid JSON"),
        ("[1e999]", "1e999 is too large"),
        ("[NaN]", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "'c' occurs twice"),
        (r'["\ud800"]', "lone surrogate"),
        (r'["\UD800"]', "not valid JSON"),
        ('{"a": 1', "may be cut short"),
        ("", "may be cut short"),
        (b"\xff\xfe\x00", "not valid JSON"),
    ],
)
def test_what_is_no_json_of_any_use_is_one_line(tmp_path, text, said):
    path = tmp_path / "x.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=said) as caught:
        read_json(path)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


def test_whole_surrogate_pairs_are_text(tmp_path):
    (tmp_path / "x.json").write_text(r'["\ud83d\ude00", 1e-999, 9007199254740993]')
    assert read_json(tmp_path / "x.json") == ["😀", 0.0, 9007199254740993]


def test_a_full_disk_has_a_name(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")  # as a write gives it: without a file
    with pytest.raises(OSError) as caught, atomic_path(tmp_path / "big") as temporary:
        temporary.touch()
        raise full
    assert caught.value.filename == str(tmp_path / "big")
    assert not list(tmp_path.iterdir())


def test_an_output_is_cleared_of_what_a_killed_command_left(tmp_path):
    (tmp_path / ".out.tsv.99999999.tmp").touch()
    (tmp_path / f".out.tsv.{os.getppid()}.tmp").touch()  # of a command that runs
    check_output(tmp_path / "out.tsv", [])
    assert os.listdir(tmp_path) == [f".out.tsv.{os.getppid()}.tmp"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('{"text": "a", "text": "b", "score": 1}', "'text' occurs twice"),
        ('{"text": "a", "score": NaN}', "NaN is not a JSON number"),
        ('{"text": "a", "score": 1e999}', "too large a number"),
        (r'{"text": "\ud800", "score": 1}', "lone surrogate"),
        ('{"text": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_every_reader_of_json_refuses_alike(tmp_path, row, said):
    (tmp_path / "x.jsonl").write_text(row + "\n")
    (tmp_path / "x.json").write_text(f"[{row}]")
    readers = [
        lambda: list(read_text(f"{tmp_path / 'x.jsonl'}:text")),
        lambda: [
            list(read_shard(shard)) for shard in find_files([str(tmp_path / "x.jsonl")], "text")
        ],
    ]
    if (
        "number" not in said
    ):  # scores of other programs: NaN and infinity are scores that are missing
        readers.append(lambda: read_score_columns({"a": f"{tmp_path / 'x.json'}:score"}))
    for read in readers:
        with pytest.raises(InputError, match=said) as caught:
            read()
        assert "\n" not in str(caught.value)
