"""A stage that will not fit into memory says so before it starts."""

import subprocess
import sys

import pytest

from cgbench import machine
from cgbench.benchmark.measure.known_ngrams.known import BYTES_A_WORD, KnownNgrams
from cgbench.errors import InputError
from cgbench.machine import check_memory, free_memory
from cgbench.text import word_counts
from cgbench.text.word_counts import estimate_words


@pytest.mark.skipif(sys.platform != "linux", reason="the system is asked as Linux does it")
def test_free_memory_is_what_the_system_says(monkeypatch, tmp_path):
    monkeypatch.delenv("CGBENCH_MEMORY", raising=False)
    assert 1 << 20 < free_memory() < 1 << 50
    for most, used, files, free in (
        (3 << 20, 1 << 20, 5, (2 << 20) + 5),
        (1 << 20, 2 << 20, 0, 0),
        ("max", 0, 0, None),
    ):
        for name, said in (
            ("max", most),
            ("current", used),
            ("stat", f"anon 7\ninactive_file {files}"),
        ):
            (tmp_path / f"memory.{name}").write_text(f"{said}\n")
        monkeypatch.setattr(machine, "_GROUP", tmp_path)
        assert free_memory() == free if free is not None else free_memory() > 1 << 20
    code = (
        "import resource; from cgbench.machine import free_memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (300 << 20,) * 2)\n"
        "print(free_memory())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 300 << 20


def test_a_setting_says_otherwise(monkeypatch):
    monkeypatch.setenv("CGBENCH_MEMORY", "3G")
    assert free_memory() == 3 << 30
    check_memory("x", 3 << 30, "use less")
    with pytest.raises(
        InputError, match=r"^x needs about 3\.3 GB of memory but 3\.2 GB are free; use less, or set"
    ):
        check_memory("x", 3.3e9, "use less")
    monkeypatch.setenv("CGBENCH_MEMORY", "much")
    with pytest.raises(
        InputError, match=r"CGBENCH_MEMORY=much: a number above 0 is needed, such as 8G"
    ):
        free_memory()


def test_words_are_estimated_by_samples(tmp_path, monkeypatch):
    monkeypatch.setattr(word_counts, "SAMPLE", 1000)
    path = tmp_path / "x"
    for line in ("the house\n", "a b c d e f g h\n", "Donaudampfschifffahrt\n"):
        path.write_text(line * 5000)
        words = 5000 * (1 + len(line.split()))
        assert 0.97 * words < estimate_words(path) < 1.03 * words
    path.write_text("")
    assert estimate_words(path) == 0
    for other in ("-", tmp_path / "no", tmp_path, tmp_path / "x.gz", "t.tsv:de"):
        assert estimate_words(other) is None


@pytest.mark.parametrize(
    "words",
    [
        ("lm", "train", "--order", "2", "--out", "{}/m.arpa", "{}/x"),
        ("lexicon", "learn", "{}/x.de", "{}/x.en", "--out", "{}/l.json"),
    ],
)
def test_commands_say_so_before_they_start(tmp_path, run, monkeypatch, words):
    english, german = "the old house is small", "das alte haus ist klein"
    for name, line in (("x", english), ("x.en", english), ("x.de", german)):
        (tmp_path / name).write_text(f"{line}\n" * 2000)
    monkeypatch.setenv("CGBENCH_MEMORY", "100K")
    words = [word.replace("{}", str(tmp_path)) for word in words]
    said = run(*words, status=2).stderr.splitlines()[-1]
    known = 24_000 if "lexicon" in words else 12_000  # of both sides
    assert (
        f"about {known:,} words needs about 0.0 GB of memory" in said
        and "set CGBENCH_MEMORY (such as 32G)" in said
    )
    assert not (tmp_path / "m.arpa").exists() and not (tmp_path / "l.tsv").exists()


def test_what_fits_is_not_refused(tmp_path, monkeypatch):
    (tmp_path / "x").write_text("the old house is small\n" * 2000)
    monkeypatch.setenv("CGBENCH_MEMORY", str(BYTES_A_WORD * 12_000))
    assert len(KnownNgrams.learn(tmp_path / "x")) == 15


def test_text_of_a_training_and_places_of_a_lexicon(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from cgbench.models.config.common import TextConfig, TrainingConfig
    from cgbench.models.lexicons.bitext import Bitext, find_cooccurrences
    from cgbench.models.text.subwords import Subwords
    from cgbench.models.training.training_data import Data

    files = tmp_path / "x.de", tmp_path / "x.en"
    for path in files:
        path.write_text("the old house is small\n" * 2000)
    subwords = Subwords.learn(*files, TextConfig(merges=20))
    text = Bitext.read([("a b c", "d e")] * 1000)
    monkeypatch.setenv("CGBENCH_MEMORY", "20K")
    with pytest.raises(InputError, match=r"x\.de .*x\.en: training data needs about 0\.0 GB"):
        Data(files, subwords, TrainingConfig())
    with pytest.raises(InputError, match="6,000 co-occurrences of words needs about"):
        find_cooccurrences(text, cells=True)
    monkeypatch.setenv("CGBENCH_MEMORY", "10M")
    assert len(Data(files, subwords, TrainingConfig()).rows) == 2000
    assert len(find_cooccurrences(text, cells=True).cells) == 6000
