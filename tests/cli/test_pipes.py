"""A pipe is read like a file, by every command: it is copied once."""

import os
import subprocess
import sys
import threading
from itertools import chain, repeat

import pytest

LINES = "the dog sees a cat\nthe cat sees a dog\na bird sees the dog\n" * 20


@pytest.fixture
def pipe(tmp_path):
    """A FIFO that has its text once: who reads it again finds it empty."""

    def make(name, text=LINES):
        path = tmp_path / name
        os.mkfifo(path)

        def write():
            for content in chain([text], repeat("")):
                path.write_text(content)

        threading.Thread(target=write, daemon=True).start()
        return path

    return make


def test_texts_of_every_kind(run, pipe, tmp_path):
    """Read twice, in blocks, in shards, as a table, as a system's output."""
    file = tmp_path / "file"
    file.write_text(LINES)
    table = "".join(f"{line}\t{line[::-1]}\n" for line in LINES.splitlines())
    (tmp_path / "table.tsv").write_text(table)
    for words in (
        ("degree", "--train", "{}", file),
        ("degree", "--train", file, "{}"),
        ("stats", "--train", "{}", "--test", file),
        ("overlap", "--corpus", "{}", "--", file),
        ("score", "bleu", "--ref", file, "--hyp", "A={}"),
    ):
        path = pipe(f"fifo-{words[0]}-{words.index('{}') if '{}' in words else 0}")
        given = [str(word).format(path) for word in words]
        same = [str(word).format(file) for word in words]
        assert run(*given).stdout == run(*same).stdout.replace(str(file), str(file))
    split = ("split", "--set", "method=random", "--columns", "1,2", "--out")
    run(*split, tmp_path / "a", "--corpus", pipe("pipe.tsv", table))
    run(*split, tmp_path / "b", "--corpus", tmp_path / "table.tsv")
    for name in ("test.source", "train.target", "split.tsv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_what_is_trained_on_a_pipe(run, pipe, tmp_path):
    """Language models, lexicons and models are those of the files."""
    target = "".join(f"{line[::-1]}\n" for line in LINES.splitlines())
    files = [tmp_path / "file.de", tmp_path / "file.en"]
    for file, text in zip(files, (LINES, target), strict=True):
        file.write_text(text)
    tiny = ("--model", "tiny", "--set", "training.max_updates=2", "--set", "text.merges=9")
    for suffix, sides in (("a", files), ("b", [pipe("p.de"), pipe("p.en", target)])):
        run("lexicon", "learn", *sides, "--out", tmp_path / f"{suffix}.json")
    for suffix, sides in (("a", files), ("b", [pipe("q.de"), pipe("q.en", target)])):
        run("train", "--train", *sides, *tiny, "--out", tmp_path / suffix)
    for suffix, side in (("a", files[0]), ("b", pipe("r.de"))):
        run("lm", "train", side, "--order", 2, "--out", tmp_path / f"{suffix}.arpa")
    for name in ("{}.json", "{}/model.safetensors", "{}.arpa"):
        first, second = (tmp_path / name.format(suffix) for suffix in "ab")
        assert first.read_bytes() == second.read_bytes(), name


def test_process_substitution_of_a_shell(tmp_path):
    """Several in one command, one of them in a list of runs; and one for output."""
    file = tmp_path / "file"
    file.write_text(LINES)
    command = (
        f"{sys.executable} -m cgbench score exact --ref <(cat {file})"
        f" --hyp 'A='<(cat {file}),<(cat {file}) --per-example >(cat > {tmp_path}/rows.tsv)"
    )
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "100.0" in result.stdout


def test_process_substitution_is_read_more_than_once(run, tmp_path):
    """A second reading of the same pipe would find it empty."""
    file = tmp_path / "file"
    file.write_text(LINES)
    command = f"{sys.executable} -m cgbench stats --train <(cat {file}) --test {file}"
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == run("stats", "--train", file, "--test", file).stdout


def test_errors_name_the_pipe(run, pipe):
    path = pipe("bad.de", "one\n\udcff\n".encode("utf-8", "surrogateescape").decode("latin-1"))
    said = run("score", "exact", "--ref", path, "--hyp", f"A={path}", "--by", "nothing", status=2)
    assert "cgbench-" not in said.stderr
