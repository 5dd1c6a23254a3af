"""Members one after another: the measures of an ensemble that is in memory, wherever a call is
killed.
"""

import json

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")
from external_models import LINES, forced_log_probs, write_model
from twins_uncertainty import sequence_measures

from cgbench.engines import Local
from cgbench.models import checkpoints, teacher_forcing
from cgbench.models.config.measures import SEQUENCE_MEASURES
from cgbench.models.external import token_space
from cgbench.models.external.member import Head
from cgbench.models.external.opening import plan_member
from cgbench.models.external.token_space import Measurement, measure_in_token_space, measure_states
from cgbench.models.search_settings import SearchSettings

REFERENCES = [
    "the dog sleeps",
    "the cat sees the bird",
    "the bird sings",
    "the cat",
    "the dog sees the cat",
]


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    folder = tmp_path_factory.mktemp("members")
    return tuple(plan_member(write_model(folder / str(seed), "marian", seed)) for seed in range(3))


@pytest.fixture
def small(monkeypatch):
    """Two sentences a file, two files a block, a few tokens at a time: several of everything."""
    for name, value in (("SHARD", 2), ("BLOCK", 2), ("TOKENS", 5)):
        monkeypatch.setattr(token_space, name, value)


def rows_of(folder):
    return [
        json.loads(line)
        for path in sorted(folder.glob("part-*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_measures_are_those_of_an_ensemble_in_memory(members, small, tmp_path):
    measure_in_token_space(
        Measurement(members, LINES, references=REFERENCES, search=SearchSettings(beam=2)),
        tmp_path / "out",
        Local(1),
    )
    rows = rows_of(tmp_path / "out")
    opened = [member.open() for member in members]
    translations = [best for best, *_ in opened[0].translate(LINES, SearchSettings(beam=2))]
    given = opened[0].encode_targets(REFERENCES)
    assert [row["hypothesis"] for row in rows] == [best.text for best in translations]
    for number, line in enumerate(LINES):
        for name, target in (("", translations[number].tokens), ("reference_", given[number])):
            log_probs = torch.stack(
                [forced_log_probs(member, [line], [target]) for member in opened]
            )
            expected = sequence_measures(log_probs.double().log_softmax(2), target)
            assert expected["rmi"] > 0.01  # they do disagree
            for measure in SEQUENCE_MEASURES:
                assert rows[number][f"{name}{measure}"] == pytest.approx(
                    expected[measure], rel=1e-4, abs=1e-6
                ), measure
            assert rows[number][f"{name}rmi"] == pytest.approx(expected["rmi"], abs=1e-6)


class Killed(BaseException):
    pass


def test_killed_between_any_two_files_it_goes_on_to_the_same_bytes(
    members, small, tmp_path, monkeypatch
):
    work = Measurement(members, LINES, references=REFERENCES, search=SearchSettings(beam=2))
    measure_in_token_space(work, tmp_path / "whole", Local(1))
    expected = files_of(tmp_path / "whole")
    assert len(expected) == 3  # and no states are left behind
    written, loads = [], []

    def dying(write):
        def call(path, *given):
            if len(written) % 2:
                written.append(None)
                raise Killed
            written.append(path.name)
            write(path, *given)

        return call

    monkeypatch.setattr(token_space, "write_atomic", dying(token_space.write_atomic))
    monkeypatch.setattr(checkpoints, "write_tensors", dying(checkpoints.write_tensors))
    opened = token_space.Planned.open
    monkeypatch.setattr(
        token_space.Planned,
        "open",
        lambda self, device: loads.append(self.key) or opened(self, device),
    )
    kills = 0
    while True:
        try:
            measure_in_token_space(work, tmp_path / "killed", Local(1))
            break
        except Killed:
            kills += 1
            assert kills < 40
    assert kills > 10
    assert files_of(tmp_path / "killed") == expected
    names = [name for name in written if name]
    assert len(names) == len(set(names))  # nothing is made twice


def test_one_member_is_in_memory_at_a_time(members, tmp_path, monkeypatch):
    alive, most = set(), []
    opened = token_space.Planned.open

    def watch(self, device):
        import gc
        import weakref

        gc.collect()
        member = opened(self, device)
        alive.add(self.key)
        weakref.finalize(member, alive.discard, self.key)
        most.append(len(alive))
        return member

    monkeypatch.setattr(token_space.Planned, "open", watch)
    measure_in_token_space(
        Measurement(members, LINES, search=SearchSettings(beam=1)), tmp_path / "out", Local(1)
    )
    assert (
        len(most) == 3 and max(most) <= 2
    )  # the next is loaded before the cache lets the last one go


def test_given_hypotheses_are_measured_and_nothing_is_translated(members, tmp_path):
    measure_in_token_space(Measurement(members, LINES, REFERENCES), tmp_path / "out", Local(1))
    rows = rows_of(tmp_path / "out")
    assert [row["hypothesis"] for row in rows] == REFERENCES
    both = Measurement(members, LINES, REFERENCES, REFERENCES)
    measure_in_token_space(both, tmp_path / "both", Local(1))
    for row in rows_of(tmp_path / "both"):
        assert row["reference_rmi"] == row["rmi"]


@pytest.mark.parametrize("one_pass", [True, False])
def test_tables_are_never_longer_than_their_bound(small, monkeypatch, one_pass):
    """Memory by chunk x vocabulary: no more tokens than that go through the last layers
    together.
    """
    monkeypatch.setattr(teacher_forcing, "MOST", 2 * 40 * 5)
    if not one_pass:
        monkeypatch.setattr(teacher_forcing, "_in_one_pass", lambda *_: None)
    random = np.random.default_rng(0)
    heads = [Head(torch.from_numpy(random.normal(size=(40, 8))).float()) for _ in range(2)]
    seen = []

    class Watched:
        weight = heads[0].weight

        def logits(self, states, out=None):
            seen.append(len(states))
            return heads[0].logits(states, out)

    targets = [np.array([3] * length) for length in (2, 3, 1, 4, 5, 2)]
    states = [torch.from_numpy(random.normal(size=(17, 8))).float() for _ in heads]
    found = measure_states([Watched(), heads[1]], states, targets)
    assert max(seen) == 5 and sum(seen) == 17
    whole = torch.stack(
        [head.logits(state) for head, state in zip(heads, states, strict=True)]
    ).log_softmax(2)
    start = 0
    for number, target in enumerate(targets):
        expected = sequence_measures(whole[:, start : start + len(target)], target)
        assert found["rmi"][number] == pytest.approx(expected["rmi"], abs=1e-6)
        start += len(target)


def test_a_head_is_what_was_saved(tmp_path):
    head = Head(torch.randn(7, 3), torch.randn(7), 0.5, 30.0)
    head.save(tmp_path / "head.safetensors")
    again, states = Head.load(tmp_path / "head.safetensors"), torch.randn(4, 3)
    assert torch.equal(again.logits(states), head.logits(states))
    expected = 30 * torch.tanh((states @ head.weight.T + head.bias) * 0.5 / 30)
    torch.testing.assert_close(head.logits(states), expected)
