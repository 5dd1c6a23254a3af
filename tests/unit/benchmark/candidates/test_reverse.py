"""A second ensemble that translates the other way round."""

import math

import pytest
from small_ensemble import SOURCE, TARGET, learn_subwords, write_member

from cgbench.benchmark.candidates import uncertainty as candidate_uncertainty
from cgbench.benchmark.candidates.uncertainty import (
    check_reverse,
    read_uncertainty,
    reverse_of_candidates,
)
from cgbench.engines import Local
from cgbench.errors import InputError
from cgbench.models.checkpoints import CheckpointConfig, member_folders
from cgbench.text.corpus import index_pair


def test_it_reads_the_target_and_writes_the_source(tmp_path, monkeypatch):
    """Shard by shard, against the definition one pair at a time; what is there is kept."""
    from twins_uncertainty import measures_of_pair

    from cgbench.models.ensemble import Ensemble

    monkeypatch.setattr(candidate_uncertainty, "SHARD", 3)
    # Trained on nothing: what it calls source and target is what it was given.
    subwords = learn_subwords(tmp_path / "text", lines=(TARGET, SOURCE))
    write_member(tmp_path / "reverse" / "member-0", subwords, 1)
    for side, lines in (("source", SOURCE), ("target", TARGET)):
        (tmp_path / f"candidates.{side}").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "part-00001.jsonl").write_text('{"reverse_pe_stu": 7.5}\n')
    members = member_folders(tmp_path / "reverse")
    reverse_of_candidates(members, tmp_path, tmp_path, device="cpu", engine=Local(1))
    measures = read_uncertainty(tmp_path)
    values = measures["reverse_pe_stu"]
    assert len(measures) == 1 and values[3] == 7.5 and len(values) == len(SOURCE)
    ensemble = Ensemble.open(members)
    for source, target, value in zip(SOURCE[:3], TARGET, values, strict=False):
        expected = measures_of_pair(ensemble, target, source)["pe_stu"]
        assert value == pytest.approx(expected, abs=1e-4) and math.isfinite(expected)
    assert (
        candidate_uncertainty.open_ensemble.cache_info().currsize == 0
    )  # the models do not stay in memory


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        (("target", "source"), None),
        (("source", "target"), "translates in the direction of the build"),
        (("target", "target"), "was not trained on"),
        ((), "was not trained on"),
    ],
)
def test_one_that_was_trained_the_other_way_round_is_refused(
    tmp_path, monkeypatch, corpus, message
):
    for side, lines in (("source", SOURCE), ("target", TARGET)):
        (tmp_path / side).write_text("\n".join(lines) + "\n")
    train = index_pair(tmp_path / "source", tmp_path / "target")
    (tmp_path / "member-0").mkdir()
    digests = {
        side: train.hashes[of] for side, of in zip(("source", "target"), corpus, strict=False)
    }
    monkeypatch.setattr(
        candidate_uncertainty, "member_folders", lambda folder: [folder / "member-0"]
    )
    monkeypatch.setattr(
        candidate_uncertainty,
        "read_config",
        lambda folder: CheckpointConfig(None, None, 1, 1, "", corpus=digests),
    )
    if message is None:
        check_reverse(tmp_path, train)
        return
    with pytest.raises(InputError, match=message) as caught:
        check_reverse(tmp_path, train)
    assert "\n" not in str(caught.value)
