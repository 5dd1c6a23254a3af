"""Ensembles drawn from the members of a release."""

import numpy as np
import pytest
from finished_releases import write_finished

from cgbench.benchmark.release.work_folder import default_work
from cgbench.benchmark.validity.members import draw_members, plan_draws
from cgbench.errors import InputError


def test_the_plan_of_draws():
    plan = plan_draws(5, 8, 1)
    assert set(plan) == {(2, "all"), (2, "apart"), (3, "all"), (4, "all"), (5, "bootstrap")}
    everyone = (0, 1, 2, 3, 4)
    for (size, how), pairs in plan.items():
        assert pairs and len(set(pairs)) == len(pairs)
        for one, other in pairs:
            assert len(one) == size and set(one) <= set(everyone)
            assert other == everyone if how != "apart" else len(other) == size and not set(one) & set(other)
            assert len(set(one)) == size if how != "bootstrap" else len(set(one)) >= 2
    assert plan_draws(5, 8, 1) == plan and plan_draws(5, 8, 2) != plan


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    pytest.importorskip("torch")
    from small_ensemble import learn_subwords, write_member

    root = tmp_path_factory.mktemp("members")
    subwords = learn_subwords(root / "text")
    for number in range(4):
        write_member(root / "four" / f"member-{number}", subwords, number)
    for number in range(2):
        write_member(root / "two" / f"member-{number}", subwords, number)
    return root


def hypotheses(n):
    words = ["the cat sees", "a dog", "the bird sings loudly and", "sees"]
    return [f"{words[row % 4]} {words[row % 3]}" for row in range(n)]


def built(tmp_path, folder, n=40, **config):
    from cgbench.models.checkpoints import ensemble_identity

    inputs = {"ensemble": {"path": str(folder), "identity": ensemble_identity(folder)}}
    return write_finished(tmp_path / "release", range(n), hypotheses=hypotheses(n), inputs=inputs, **config)


def test_drawn_ensembles_score_as_ensembles_of_these_members_do(tmp_path, members):
    from cgbench.models.ensemble import Ensemble

    release = built(tmp_path, members / "four")
    found = draw_members(release, draws=2, sample=40, seed=1, batch=16)
    assert (found.candidates, found.members, found.by_chance) == (40, 4, 12 / 40)
    by_kind = {(one.members, one.how): one for one in found.draws}
    assert (2, "apart") in by_kind and (4, "bootstrap") in by_kind and (3, "all") in by_kind
    # By hand, for the first pair of three members.
    from cgbench.benchmark.validity.members import candidate_texts

    (three, everyone), *_ = plan_draws(4, 2, 1)[3, "all"]
    folders = [members / "four" / f"member-{number}" for number in range(4)]
    values = []
    for some in (three, everyone):
        ensemble = Ensemble.open([folders[number] for number in some])
        tokens = ensemble.subwords.encode_target(hypotheses(40))
        values.append(ensemble.score(candidate_texts(release)[0], tokens)["rmi"])
    from twins import spearman

    assert by_kind[3, "all"].rho[0] == pytest.approx(float(spearman(*np.round(values, 6).tolist())), abs=0.02)
    assert all(0 <= share <= 1 for one in found.draws for share in one.window)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ensemble": "two"}, "2 members, but draws needs at least 3"),
        ({"uncertainty": "rank"}, "draws: rank cannot be computed from one translation"),
        ({"select_by": "easiness"}, "selects by easiness, which does not depend on members"),
        ({"ensemble": "gone"}, "required by draws"),
        ({"workspace": False}, "the text of the candidates is in the workspace"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(tmp_path, members, change, message):
    import shutil

    release = built(tmp_path, members / ("two" if change.get("ensemble") == "two" else "four"))
    if change.get("ensemble") == "gone":
        release.manifest["inputs"]["ensemble"]["path"] = str(tmp_path / "gone")
    release.manifest["configuration"] |= {key: change[key] for key in ("uncertainty", "select_by") if key in change}
    if "workspace" in change:
        shutil.rmtree(default_work(release.folder))
    with pytest.raises(InputError, match=message) as caught:
        draw_members(release, draws=1, sample=10, seed=1)
    assert "\n" not in caught.value.message
