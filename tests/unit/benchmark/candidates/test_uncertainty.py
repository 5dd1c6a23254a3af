"""What a shard does with the ensemble."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from cgbench.benchmark.candidates import uncertainty as candidate_uncertainty
from cgbench.benchmark.candidates.uncertainty import (
    read_uncertainty,
    shard_size,
    uncertainty_of_candidates,
)
from cgbench.engines import Local
from cgbench.models.checkpoints import member_folders
from cgbench.models.search_settings import SearchSettings


@pytest.fixture
def opened(monkeypatch):
    """A small shard, and an ensemble that upper-cases; what it was opened with."""
    from cgbench.models import ensemble

    calls = []

    class Fake:
        @classmethod
        def open(cls, members, device):
            calls.append((members, device))
            return cls()

        def translate(self, lines, search):
            said = f"{search.beam} {search.max_length_ratio}"
            return [
                ensemble.Translation(f"{line.upper()} {said}", np.zeros(1, np.int32), 0.0, 0.0)
                for line in lines
            ]

        def score(self, lines, tokens):
            return {
                "rmi": np.arange(len(lines)) / 4 if len(tokens[0]) else np.full(len(lines), 7.0)
            }

        @property
        def subwords(self):
            return SimpleNamespace(
                encode_target=lambda lines: [np.zeros(0, np.int32) for _ in lines]
            )

    monkeypatch.setattr(ensemble, "Ensemble", Fake)
    monkeypatch.setattr(candidate_uncertainty, "SHARD", 2)
    return calls


def write(folder, lines):
    for side in ("source", "target"):
        (folder / f"candidates.{side}").write_text(lines)


def test_an_ensemble_is_opened_once_whatever_the_number_of_shards(tmp_path, opened):
    write(tmp_path, "".join(f"s{number}\n" for number in range(7)))
    members = [tmp_path / "member-0", tmp_path / "member-1"]
    uncertainty_of_candidates(
        members, tmp_path, tmp_path, search=SearchSettings(beam=3), device="cpu", engine=Local(1)
    )
    assert opened == [(tuple(members), "cpu")]
    measures = read_uncertainty(tmp_path)
    assert measures["hypothesis"] == [f"S{number} 3 1.2" for number in range(7)]
    assert measures["rmi"] == [0, 0.25, 0, 0.25, 0, 0.25, 0]
    assert {*measures["reference_rmi"]} == {7}
    assert (
        candidate_uncertainty.open_ensemble.cache_info().currsize == 0
    )  # the models do not stay in memory


def test_shards_are_small_where_there_are_few_candidates():
    """64 places have work, whoever works; large builds have the shards that they always had."""
    sizes = {
        60_000: 500,
        32_000: 500,
        31_999: 500,
        31_936: 499,
        10_000: 157,
        6_400: 100,
        2_000: 100,
        400: 100,
        7: 100,
    }
    assert {count: shard_size(count) for count in sizes} == sizes
    assert (
        -(-60_000 // 500) == 120
        and -(-10_000 // 157) == 64
        and -(-6_400 // 100) == 64
        and -(-400 // 100) == 4
    )


def test_shards_that_are_there_are_kept(tmp_path, opened):
    write(tmp_path, "a\nb\nc\n")
    (tmp_path / "part-00000.jsonl").write_text(json.dumps({"hypothesis": "kept"}) + "\n")
    uncertainty_of_candidates(
        [tmp_path], tmp_path, tmp_path, search=SearchSettings(beam=1), device="cpu", engine=Local(1)
    )
    assert read_uncertainty(tmp_path)["hypothesis"] == ["kept", "C 1 1.2"]


def test_a_length_limit_reaches_the_search(tmp_path, opened):
    write(tmp_path, "a\n")
    search = SearchSettings(beam=1, max_length_ratio=4.0)
    uncertainty_of_candidates(
        [tmp_path], tmp_path, tmp_path, device="cpu", engine=Local(1), search=search
    )
    assert read_uncertainty(tmp_path)["hypothesis"] == ["A 1 4.0"]


SOURCES = ["der vogel singt laut", "die katze sieht den hund", "ein hund"]
TARGETS = ["the cat sings", "the dog sees a bird that nobody knows", "sleeps"]


def test_what_is_said_of_the_reference_is_what_the_definition_gives(tmp_path):
    """Batched and by running sums, against one pair at a time by definition."""
    from small_ensemble import learn_subwords, write_member
    from twins_uncertainty import measures_of_pair

    from cgbench.models.ensemble import Ensemble

    subwords = learn_subwords(tmp_path / "text")
    for number in range(2):
        write_member(tmp_path / "all" / f"member-{number}", subwords, number)
    members = member_folders(tmp_path / "all")
    rows = candidate_uncertainty.measure_sources(
        members, SOURCES, TARGETS, search=SearchSettings(beam=2), device="cpu"
    )
    alone = candidate_uncertainty.measure_sources(
        members, SOURCES, search=SearchSettings(beam=2), device="cpu"
    )
    candidate_uncertainty.open_ensemble.cache_clear()
    ensemble = Ensemble.open(members)
    for source, target, row, own in zip(SOURCES, TARGETS, rows, alone, strict=True):
        expected = measures_of_pair(ensemble, source, target)
        for name, value in expected.items():
            assert row[f"reference_{name}"] == pytest.approx(value, abs=1e-4), name
        length = len(ensemble.subwords.encode_target([target])[0])
        assert row["reference_log_prob"] == pytest.approx(
            -row["reference_pe_stu"] * length, abs=1e-6
        )
        # Those of the hypothesis are what they are without a reference; so is their order.
        assert {name: row[name] for name in own} == own
        assert list(row) == [*own, *(f"reference_{name}" for name in expected)]
