import pytest
from training_runs import PRESET, make_corpus

from cgbench.engines import Local, Needs
from cgbench.models.training import ensemble
from cgbench.models.training.ensemble import train_ensemble_from
from cgbench.models.training.request import Beginning, EnsembleRequest


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Build without training; get the steps of the members and what each needs."""
    make_corpus(tmp_path)
    seen = []

    class Idle(Local):
        def run(self, function, tasks, needs):
            seen.append((tasks, needs))
            return []

    monkeypatch.setattr(ensemble, "publish_ensemble", lambda members, out: None)
    monkeypatch.setattr(ensemble, "member_folders", lambda out: [])
    monkeypatch.setattr(ensemble, "choose_device", lambda device: device)

    def call(preset=PRESET, device="cpu"):
        train = (tmp_path / "train.de", tmp_path / "train.en")
        request = EnsembleRequest(train, tmp_path / "out", members=3, engine=Idle(), device=device)
        train_ensemble_from(Beginning(preset), request)
        tasks, needs = seen.pop()
        return [step for _, step, *_ in tasks], needs

    return call


def test_a_member_needs_a_gpu_where_it_is_trained_on_one(build):
    assert build()[1] == Needs(cores=1, gpus=0.0)
    assert build(device="cuda")[1] == Needs(cores=1, gpus=1.0)


def test_a_member_is_another_step_with_another_method(build):
    plain, mixed, more = (
        build(PRESET.replace(changes))[0]
        for changes in ({}, {"method.name": "seqmix"}, {"method.name": "seqmix", "method.alpha": 0.3})
    )
    assert len({step.key for step in (*plain, *mixed, *more)}) == 9
    assert plain[0].config["method.name"] == "none"
    assert more[0].config["method.alpha"] == 0.3
