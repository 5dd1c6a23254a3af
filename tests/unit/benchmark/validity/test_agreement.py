"""What releases of the same candidates have in common."""

import numpy as np
import pytest
from finished_releases import write_finished

from cgbench.benchmark.validity.agreement import Common, agreements, select_alike
from cgbench.errors import InputError


def test_common_beyond_chance():
    one = Common(30, 30, 30, 9.0, 100)
    assert one.jaccard == 1 and one.beyond_chance == 1
    assert Common(30, 30, 9, 9.0, 100).beyond_chance == 0
    assert Common(30, 30, 0, 9.0, 100).beyond_chance < 0
    assert Common(100, 100, 100, 100.0, 100).beyond_chance is None


def test_releases_of_the_same_candidates_in_another_order_are_compared_pair_by_pair(tmp_path):
    rng = np.random.default_rng(1)
    values = rng.random(300)
    order = rng.permutation(300)
    releases = {
        "a": write_finished(tmp_path / "a", values),
        "b": write_finished(tmp_path / "b", values[order], content=order),
    }
    (one,) = agreements(select_alike(releases))
    assert one.rho == 1 and one.window.common == one.window.first == 90 and one.selected.common == 30
    assert one.dropped.common == 10 and one.window.expected == pytest.approx(27)


def test_chance_is_what_releases_that_have_nothing_to_do_with_each_other_share(tmp_path):
    """Forty releases of random uncertainty: what any two share is what is expected, with the same seed and without."""
    rng = np.random.default_rng(2)
    releases = {
        str(number): write_finished(tmp_path / str(number), rng.random(300), seed=1 if number % 2 else number)
        for number in range(40)
    }
    found = agreements(select_alike(releases))
    for same in (True, False):
        some = [one for one in found if bool(int(one.first) % 2 and int(one.second) % 2) == same]
        for part in ("window", "dropped", "selected"):
            common = np.mean([getattr(one, part).common for one in some])
            assert common == pytest.approx(np.mean([getattr(one, part).expected for one in some]), rel=0.1, abs=0.3)
    # 3 of 30 by chance, but 9 where both draw by the same hash.
    assert {round(one.selected.expected) for one in found} == {3, 9}


def test_other_candidates_are_one_line(tmp_path):
    releases = {
        "a": write_finished(tmp_path / "a", range(60)),
        "b": write_finished(tmp_path / "b", range(60), content=range(30, 90)),
    }
    with pytest.raises(InputError, match=r"b: its 60 candidates are not those of .*a \(30 are in both\)"):
        select_alike(releases)
