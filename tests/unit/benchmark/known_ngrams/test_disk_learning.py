"""Known n-grams learned from the disk: the bytes of those that are learned in memory, and nothing left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgbench.benchmark.known_ngrams import disk_learning
from cgbench.benchmark.known_ngrams.disk_learning import learn_from_disk
from cgbench.benchmark.known_ngrams.known import KnownNgrams
from cgbench.errors import InputError
from cgbench.text.blocks import join_blocks

LINE = st.lists(st.sampled_from("abcdefgh"), max_size=14).map(" ".join)


@st.composite
def corpora(draw):
    """Lines that share passages, and some that are repeated as a whole."""
    some = draw(st.lists(LINE, max_size=8))
    joined = [f"{one} {other}".strip() for one in some[:3] for other in some[:3]]
    return [line for line in [*some, *joined] for _ in range(draw(st.integers(1, 4)))]


def from_disk(lines, folder, min_count, word_min_count, jobs=1, memory=1 << 30, places=None):
    found = learn_from_disk(join_blocks(lines), min_count, word_min_count, jobs, folder, memory, places)
    return KnownNgrams.of(*found, min_count)


def saved(ngrams, folder):
    ngrams.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@settings(deadline=None, max_examples=150)
@given(
    corpora(),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(1, 40),
    st.integers(9, 90),
    st.sampled_from([4000, 1 << 20]),
)
def test_they_are_those_learned_in_memory(lines, min_count, word_min_count, places, stretch, memory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk_learning, "STRETCH", stretch)
        found = from_disk(lines, None, min_count, word_min_count, memory=memory, places=places)
    assert found == KnownNgrams.learn_lines(lines, min_count=min_count, word_min_count=word_min_count, jobs=1)


def text_like(lines):
    """Lines of words by Zipf's law, with passages that come again."""
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, 400)
    words = rng.choice(399, 30 * lines, p=weights / weights.sum())
    cut = [" ".join(f"w{word}" for word in words[at : at + rng.integers(2, 24)]) for at in range(0, 30 * lines, 30)]
    return [*cut, *(f"{cut[i]} {cut[i + 1]}" for i in range(0, lines - 1, 5)), *cut[::3], *cut[::6]]


@pytest.mark.parametrize("min_count", [1, 2, 3, 7])
def test_every_file_has_the_same_bytes(monkeypatch, tmp_path, min_count):
    monkeypatch.setattr(disk_learning, "STRETCH", 5000)
    lines = text_like(3000)
    usual = KnownNgrams.learn_lines(lines, min_count=min_count, word_min_count=2)
    assert len(usual) > 1000
    expected = saved(usual, tmp_path / "usual")
    for jobs in (1, 3):
        assert saved(from_disk(lines, tmp_path, min_count, 2, jobs, places=2000), tmp_path / f"{jobs}") == expected


def test_long_passages_cost_what_they_cost_in_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(disk_learning, "STRETCH", 300)
    rng = np.random.default_rng(1)
    long = " ".join(f"w{number}" for number in rng.permutation(5000))
    lines = [long] * 3 + [f"x {long}", f"{long} y z"] + ["w1 w2 w3"] * 4
    found, usual = from_disk(lines, tmp_path, 3, 3, places=500), KnownNgrams.learn_lines(lines)
    assert found == usual and found.longest == 5000


def test_what_does_not_fit_into_memory_is_learned_on_disk(tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_text("\n".join(text_like(500)) + "\n")
    usual = KnownNgrams.learn(path)
    asked = []
    real = learn_from_disk
    monkeypatch.setattr(disk_learning, "learn_from_disk", lambda *given: asked.append(given) or real(*given))
    monkeypatch.setenv("CGBENCH_MEMORY", "10K")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert KnownNgrams.learn(path) == usual
    assert KnownNgrams.learn(path, scratch=tmp_path) == usual
    assert len(asked) == 2 and all(given[-2:] == (tmp_path, 10 << 10) for given in asked)
    monkeypatch.setenv("CGBENCH_MEMORY", "10M")
    assert KnownNgrams.learn(path) == usual
    assert len(asked) == 2


def test_a_disk_without_room_is_said_before(tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_text("a b c\n" * 1000)
    monkeypatch.setenv("CGBENCH_MEMORY", "10K")
    monkeypatch.setattr(disk_learning, "DISK_A_WORD", 1 << 60)
    with pytest.raises(InputError, match=r"text: the n-grams of about 4,000 words do not fit into memory; "):
        KnownNgrams.learn(path, scratch=tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="files without a name")
def test_a_killed_run_leaves_nothing(tmp_path):
    text, scratch = tmp_path / "text", tmp_path / "scratch"
    text.write_text("\n".join(text_like(400)) + "\n")
    scratch.mkdir()
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from cgbench.benchmark import disk_learning\n"
        "from cgbench.benchmark.known_ngrams.known import KnownNgrams\n"
        "disk_learning._grow = lambda *given: os.kill(os.getpid(), signal.SIGKILL)\n"
        "KnownNgrams.learn(Path(sys.argv[1]), scratch=Path(sys.argv[2]))\n"
    )
    environment = {**os.environ, "CGBENCH_MEMORY": "10K"}
    done = subprocess.run([sys.executable, "-c", code, str(text), str(scratch)], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not list(Path(scratch).iterdir())


def test_more_than_can_be_counted_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_learning, "LARGEST", 7)
    with pytest.raises(InputError, match="has a word that occurs 8 times, and 7 can be counted"):
        from_disk(["a b"] * 8, tmp_path, 2, 2)
    with pytest.raises(InputError, match="more words than can be numbered follow"):
        from_disk(["a b c d e f g h i"] * 2, tmp_path, 2, 2)


def test_thresholds_are_checked(tmp_path):
    with pytest.raises(InputError, match="min_count is 0"):
        from_disk(["a b"], tmp_path, 0, 1)
