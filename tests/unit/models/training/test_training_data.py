import numpy as np
import pytest

from cgbench.models.config.common import TextConfig, TrainingConfig
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.training_data import Data


@pytest.fixture
def files(tmp_path):
    lines = ["a b c " * (i % 5) + f"w{i % 7}" for i in range(40)]
    for name in ("s", "t"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path / "s", tmp_path / "t"


def data_of(files, **settings):
    return Data(files, Subwords.learn(*files, TextConfig(merges=0)), TrainingConfig(**settings))


def test_an_epoch_has_every_pair_once(files):
    data = data_of(files, max_length=9, max_tokens=30)
    assert len(data.rows) + data.skipped == 40
    assert data.skipped > 0
    first = data.epoch(1, 0)
    assert sorted(np.concatenate(first).tolist()) == data.rows.tolist()
    assert [batch.tolist() for batch in first] != [batch.tolist() for batch in data.epoch(1, 1)]


def test_batches_of_sentences_are_drawn_with_replacement(files):
    data = data_of(files, max_length=9, max_tokens=30, batch_sentences=7)
    epochs = [data.epoch(seed, number) for seed in range(3) for number in range(20)]
    assert {len(batch) for epoch in epochs for batch in epoch} == {7}
    assert all(len(epoch) == -(-len(data.rows) // 7) for epoch in epochs)
    drawn = np.concatenate([row for epoch in epochs for row in epoch])
    # All pairs that are short enough, and no others, about equally often; some more than once in an
    # epoch.
    counts = np.bincount(drawn, minlength=40)
    assert np.flatnonzero(counts).tolist() == data.rows.tolist()
    assert counts[data.rows].max() < 2 * counts[data.rows].min()
    assert len(set(np.concatenate(epochs[0]).tolist())) < len(np.concatenate(epochs[0]))
    assert np.array_equal(data.epoch(2, 5), data.epoch(2, 5))
    assert not np.array_equal(data.epoch(2, 5), data.epoch(5, 2))


def test_the_digest_is_of_the_ids(files, tmp_path):
    data = data_of(files)
    assert data.digest == data_of(files, max_tokens=5000).digest
    (tmp_path / "t").write_text((tmp_path / "t").read_text().replace("w3", "w4"))
    assert data.digest != data_of(files).digest


def test_what_is_left_out_is_counted_by_reason(tmp_path):
    """The end token counts; a pair that is long and empty counts once; counts add up."""
    files = tmp_path / "source", tmp_path / "target"
    files[0].write_text("a\na a a a a a a a a\n\na a a\n \n")
    files[1].write_text("b\nb\nb\nb b b\nb b b b b b b b b\n")
    data = data_of(files, max_length=4)
    assert data.rows.tolist() == [0, 3] and data.skipped == 3
    assert data.left_out == "3 of 5 pairs (2 above training.max_length=4, 1 with an empty side)"
    assert data_of((files[1], files[1]), max_length=99).left_out == ""
