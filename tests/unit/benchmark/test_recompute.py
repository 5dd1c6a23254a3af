"""Candidates made again: with the settings of the build."""

from types import SimpleNamespace

from cgbench.benchmark import recompute


def test_translations_are_made_again_within_the_limit_of_the_build(tmp_path, monkeypatch):
    said = []

    def measure(members, lines, references, **options):
        said.append((references, options))
        return [{"hypothesis": line, "rmi": 0.5, **({"reference_rmi": 2.0} if references else {})} for line in lines]

    monkeypatch.setattr(recompute, "measure_sources", measure)
    release = SimpleNamespace(
        configuration={"beam": 1, "members": 1, "max_length_ratio": 3.0},
        manifest={"inputs": {}, "device": "cpu"},
        step=lambda name: tmp_path,
    )
    rows = [{"hypothesis": "a", "rmi": 0.5, "line": 1}]
    assert recompute._check_uncertainty(release, rows, [["a"], ["b"]], [0]).ok
    options = {"beam": 1, "device": "cpu", "max_length_ratio": 3.0}
    assert said == [(None, options)]  # a release of an earlier version has no figures of the reference
    rows[0]["reference_rmi"] = 2.0
    assert recompute._check_uncertainty(release, rows, [["a"], ["b"]], [0]).ok
    assert said[1:] == [(["b"], options)]
    rows[0]["reference_rmi"] = 2.1
    assert recompute._check_uncertainty(release, rows, [["a"], ["b"]], [0]).ok is False
