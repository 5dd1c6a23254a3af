"""Statistics that were counted before are read again; a changed byte or a damaged file misses."""

import io
import sys

import numpy as np
import pytest

from cgbench.benchmark.measure.metrics import bleu_chrf_ter
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Bleu, ChrF, Ter
from cgbench.benchmark.measure.metrics.statistics_cache import StatisticsCache
from cgbench.kept import cache_folder

REFERENCES = [[f"the small dog number {row} saw a cat"] for row in range(600)]
HYPOTHESES = [texts[0].replace("small dog", "dog small") for texts in REFERENCES]


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """The sizes of the blocks that were counted, with a cache of its own."""
    monkeypatch.setenv("CGBENCH_CACHE", str(tmp_path / "cache"))
    sizes, extract = [], bleu_chrf_ter._extract

    def counting(kind, options, task):
        sizes.append(len(task[0]) * len(task[1]))
        return extract(kind, options, task)

    monkeypatch.setattr(bleu_chrf_ter, "_extract", counting)
    return sizes


@pytest.mark.parametrize("kind", [Ter, ChrF, Bleu])
def test_a_second_call_counts_nothing_and_gives_the_same(counted, kind):
    first = kind(REFERENCES).statistics(HYPOTHESES)
    assert sum(counted) == 600
    np.testing.assert_array_equal(kind(REFERENCES).statistics(HYPOTHESES), first)
    assert sum(counted) == 600
    changed = [*HYPOTHESES[:-1], HYPOTHESES[-1] + "s"]
    runs = kind(REFERENCES).all_statistics([HYPOTHESES, changed])
    assert sum(counted) == 1200 and (runs[0] == first).all() and (runs[1] != first).any()


def test_everything_that_changes_the_statistics_is_in_the_key(counted):
    Ter(REFERENCES).statistics(HYPOTHESES)
    Ter(REFERENCES, case_sensitive=True).statistics(HYPOTHESES)
    Ter([*REFERENCES[:-1], ["another"]]).statistics(HYPOTHESES)
    Ter([[*texts, "x"] for texts in REFERENCES]).statistics(HYPOTHESES)
    ChrF(REFERENCES).statistics(HYPOTHESES)
    ChrF(REFERENCES, preset="cognition").statistics(HYPOTHESES)
    Bleu(REFERENCES, tokenize="none", smooth_method="none").statistics(HYPOTHESES)
    Bleu(REFERENCES, preset="lexicon").statistics(HYPOTHESES)
    assert sum(counted) == 8 * 600
    parts = StatisticsCache(["ter"], [["a b"]]), StatisticsCache(["ter"], [["a", "b"]])
    assert parts[0]._path(["a"]) != parts[1]._path(["a"])
    assert parts[0]._path(["a", "b"]) != parts[0]._path(["ab", ""])


@pytest.mark.parametrize("damage", [b"", b"x" * 40, "cut", "flip"])
def test_a_damaged_file_misses(counted, damage):
    first = Ter(REFERENCES).statistics(HYPOTHESES)
    (path,) = cache_folder().iterdir()
    data = path.read_bytes()
    damaged = {"cut": data[:-1], "flip": data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]}
    path.write_bytes(damaged.get(damage, damage))
    np.testing.assert_array_equal(Ter(REFERENCES).statistics(HYPOTHESES), first)
    assert sum(counted) == 1200 and path.read_bytes() == data


def test_a_pickle_is_never_opened(counted):
    Ter(REFERENCES).statistics(HYPOTHESES)
    (path,) = cache_folder().iterdir()
    import hashlib
    import zlib

    content = io.BytesIO()
    np.save(content, np.array([{}] * 600, object), allow_pickle=True)
    data = zlib.compress(content.getvalue())
    path.write_bytes(hashlib.sha256(data).digest() + data)
    assert Ter(REFERENCES).statistics(HYPOTHESES).dtype == np.float64


def test_the_cache_stays_small_and_can_be_switched_off(counted, monkeypatch, tmp_path):
    from cgbench import kept

    monkeypatch.setattr(kept, "MOST_FILES", 2)
    for ending in "abc":
        Ter(REFERENCES).statistics([text + ending for text in HYPOTHESES])
    files = list(cache_folder().iterdir())
    assert len(files) == 2 and all(path.stat().st_size < 2_000 for path in files)
    Ter(REFERENCES[:100]).statistics(HYPOTHESES[:100])  # too few to keep
    monkeypatch.setenv("CGBENCH_CACHE", "0")
    assert cache_folder() is None
    Ter(REFERENCES).statistics(HYPOTHESES)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CGBENCH_CACHE", str(tmp_path / "file"))  # cannot be written to
    Ter(REFERENCES).statistics(HYPOTHESES)
    assert len(list((tmp_path / "cache" / "statistics").iterdir())) == 2


def test_a_bar_only_on_a_terminal(counted, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    bars = []
    monkeypatch.setattr(
        bleu_chrf_ter, "bar", lambda *words, **options: bars.append(options) or Bar()
    )
    Ter(REFERENCES).statistics(HYPOTHESES)
    assert not bars
    monkeypatch.setattr(sys, "stderr", Terminal())
    Ter(REFERENCES).statistics(HYPOTHESES[::-1])
    assert bars == [{"delay": 1, "leave": False}] and Bar.done == 1200


class Bar:
    done = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def update(self, sentences):
        Bar.done += sentences
