import pytest
from training_runs import PRESET, make_corpus

from cgbench.models.training import ensemble as ensemble_training
from cgbench.models.training.ensemble import build_ensemble
from cgbench.text.formats import CorpusSpec
from cgbench.text.normalisation import Normalisation


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Build without training; get the steps of the members and how many would be trained at once."""
    make_corpus(tmp_path)
    seen = []
    monkeypatch.setattr(ensemble_training, "run_tasks", lambda train, tasks, jobs: seen.append((tasks, jobs)) or [])
    monkeypatch.setattr(ensemble_training, "publish_ensemble", lambda members, out: None)
    monkeypatch.setattr(ensemble_training, "member_folders", lambda out: [])

    def call(preset=PRESET, **options):
        train = CorpusSpec((tmp_path / "train.de", tmp_path / "train.en"), None)
        normalisation = Normalisation("none", False, ("de", "en"))
        build_ensemble(preset, train, None, normalisation, tmp_path / "out", members=3, **options)
        tasks, jobs = seen.pop()
        return [step for _, step, *_ in tasks], jobs

    return call


def test_members_share_a_gpu_only_if_told_to(build):
    assert build(jobs=4)[1] == 4
    assert build(jobs=4, device="cuda")[1] == 1
    assert build(jobs=4, gpu_jobs=3, device="cuda")[1] == 3


def test_a_member_is_another_step_with_another_method(build):
    plain, mixed, more = (
        build(PRESET.replace(changes))[0]
        for changes in ({}, {"method.name": "seqmix"}, {"method.name": "seqmix", "method.alpha": 0.3})
    )
    assert len({step.key for step in (*plain, *mixed, *more)}) == 9
    assert plain[0].config["method.name"] == "none"
    assert more[0].config["method.alpha"] == 0.3
