"""Candidates made again: with the settings of the build."""

from types import SimpleNamespace

from cgbench.benchmark.release import recompute


def test_translations_are_made_again_within_the_limit_of_the_build(tmp_path, monkeypatch):
    said = []

    def measure(members, lines, references, **options):
        said.append((references, options))
        return [{"hypothesis": line, "rmi": 0.5, "reference_rmi": 2.0} for line in lines]

    monkeypatch.setattr(recompute, "measure_sources", measure)
    release = SimpleNamespace(
        configuration={"beam": 1, "members": 1, "max_length_ratio": 3.0},
        manifest={"inputs": {}, "device": "cpu"},
        step=lambda name: tmp_path,
    )
    rows = [{"hypothesis": "a", "rmi": 0.5, "line": 1, "reference_rmi": 2.0}]
    assert recompute.RecomputedSample(release, rows, *[[["a"], ["b"]]] * 2, [0]).check_uncertainty().ok
    assert said == [(["b"], {"beam": 1, "device": "cpu", "max_length_ratio": 3.0})]
    rows[0]["reference_rmi"] = 2.1
    assert recompute.RecomputedSample(release, rows, *[[["a"], ["b"]]] * 2, [0]).check_uncertainty().ok is False


def test_a_translation_that_hangs_on_its_shard_is_made_again_as_it_was(tmp_path, monkeypatch):
    rows = [{"hypothesis": "a", "rmi": 0.5, "line": line} for line in range(1, 1001)]
    texts = [["a"] * 1000, ["b"] * 1000]
    release = SimpleNamespace(
        configuration={"beam": 1, "members": 1}, manifest={"inputs": {}, "device": "cpu"}, step=lambda name: tmp_path
    )
    for size, ok in ((100, True), (60, False)):
        sizes = []

        def measure(members, lines, references, *, right=size, seen=sizes, **options):
            seen.append(len(lines))
            return [{"hypothesis": "a" if len(lines) == right else "other", "rmi": 0.5} for _ in lines]

        monkeypatch.setattr(recompute, "measure_sources", measure)
        assert recompute.RecomputedSample(release, rows, texts, texts, [7, 20, 555]).check_uncertainty().ok is ok
        assert sizes[0] == 3 and set(sizes[1:]) <= {100}
