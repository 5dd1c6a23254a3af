"""What the demo's record says of a selection."""

from types import SimpleNamespace

import numpy as np
import pytest

from cgbench.benchmark.build.react.demo import noise_by_way, noise_left
from cgbench.benchmark.release.card import shown_counts
from cgbench.commands.build_report import kinds_table, noise_table


def test_noise_left_by_hand():
    # Fifteen candidates, the most uncertain first; the hard good pairs are four: 2, 3, 5 and 6 (0,
    # 1 and 4 are noise).
    noise = np.isin(np.arange(15), (0, 1, 4))
    stages = np.array(
        [
            "dropped",
            "dropped_reference",
            "dropped",
            "selected",
            "window",
            "selected",
            "dropped_reference",
            "window",
        ]
        + ["rest"] * 7
    )
    assert noise_left(noise, -np.arange(15.0), stages) == {
        "window": 1 / 4,
        "test set": 0,
        "kept": 2 / 4,
    }


def test_the_table_has_a_row_a_way():
    text = noise_table({"the paper's way": {"window": 0.053, "test set": 0.0471, "kept": 0.95}})
    assert text.splitlines()[1].split() == ["the", "paper's", "way", "5.3%", "4.7%", "95.0%"]


def test_a_cut_that_drops_nothing_is_not_shown():
    counts = {"candidates": 10, "dropped_reference": 2, "dropped": 0, "window": 3, "selected": 0}
    assert [key for key, _ in shown_counts(counts)] == [
        "candidates",
        "dropped_reference",
        "window",
        "selected",
    ]
    stages = {
        name: {"noise": number, "other": 1}
        for name, number in (("pool", 3), ("dropped_reference", 1))
    }
    text = kinds_table({**stages, "dropped": {"noise": 0, "other": 0}})
    assert "dropped: the least likely references" in text and "most uncertain" not in text
    assert (
        "dropped: the most uncertain  "
        in kinds_table({**stages, "dropped": {"noise": 0, "other": 1}}) + "  "
    )


def test_the_paper_selects_its_own_way(monkeypatch):
    """Whatever the build drops, by the same figures."""
    lines = list(range(1, 61))
    columns = {"line": lines, "content": lines, "rmi": [float(line) for line in lines]}
    columns["reference_pe_stu"] = [100.0 if line in (58, 59) else 1.0 for line in lines]
    settings = {
        "uncertainty": "rmi",
        "seed": 1,
        "drop": 0,
        "drop_reference": 2,
        "window": "3/10",
        "select": "1/20",
    }
    release = SimpleNamespace(
        table=lambda: SimpleNamespace(to_pydict=lambda: columns), selection_settings=settings
    )
    kinds = ["noise" if line in (58, 59) else "new-combination" for line in lines]
    found = noise_by_way(release, kinds)
    assert found["this build"] == {"window": 0, "test set": 0, "kept": 1}
    # The paper drops 1/30 by uncertainty, lines 60 and 59, and draws from the next 18: one is
    # noise.
    assert found["the paper's way"]["window"] == pytest.approx(1 / 18)
    assert found["the paper's way"]["kept"] == pytest.approx(15 / 16)
