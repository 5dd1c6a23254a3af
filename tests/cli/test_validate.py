"""``cgbench validate``."""

import json
import shutil

import numpy as np
import pyarrow.parquet
import pytest
from finished_releases import KEY, write_finished
from small_build import list_files

from cgbench.benchmark.candidates.pool_scan import NGRAMS, WORDS
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.release.card_notes import add_results, marked_part
from cgbench.benchmark.release.manifest import digest, table_file
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.work_folder import RECORD, default_work
from cgbench.benchmark.score.comparison.drop import Drop
from cgbench.files import write_json
from cgbench.report import release_page
from cgbench.steps import KEY_LENGTH, STEPS
from cgbench.studies.validity.separation import Separation


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """A selection from 300 candidates, another without a control set, and the files of four
    systems.
    """
    root = tmp_path_factory.mktemp("validate")
    rng = np.random.default_rng(1)
    targets = [f"the cat sees {row % 7} dogs and {row} birds" for row in range(300)]
    control = [f"a dog likes {row} cats" for row in range(25)]
    write_finished(root / "a", rng.random(300), targets=targets, control=control)
    write_finished(root / "b", rng.random(300), targets=targets)

    def write(name, lines, share):
        said = [line if rng.random() < share else "nothing of it" for line in lines]
        (root / name).write_text("".join(f"{line}\n" for line in said))

    test = Release.open(root / "a").lines("target")
    for name, share in (("a1", 0.9), ("a2", 0.7), ("b1", 0.5), ("b2", 0.2)):
        for stem, lines in (("all", targets), ("test", test), ("control", control)):
            write(f"{stem}.{name}", lines, share)
    return root


def hyp(root, option="--hyp", stem="all"):
    return [
        word
        for name in ("a1", "a2", "b1", "b2")
        for word in (option, f"{name[0]}/{name}={root / stem}.{name}")
    ]


def test_the_ranking_of_systems(releases, run):
    words = ("validate", f"a={releases / 'a'}", *hyp(releases), "--set", "samples=400")
    text = run(*words).stdout
    for part in (
        "correlations (Spearman",
        "does a rank systems like candidates? Kendall's tau 1.00",
        "clusters on candidates: a/a1 > a/a2 > b/b1 > b/b2",
        (
            "note: 4 systems are few: tau has 6 pairs; a random order would reach the highest tau"
            " here with p = 0.042"
        ),
    ):
        assert part in text, part
    found = json.loads(run(*words, "--format", "json").stdout)
    assert found["scored"]["rankings"]["a"]["tau"] == 1
    assert found["scored"]["parts"] == {"a": 30, "candidates": 300}


def test_the_test_set_against_the_control_set(releases, run):
    words = (
        "validate",
        releases / "a",
        *hyp(releases, "--hyp", "test"),
        *hyp(releases, "--control-hyp", "control"),
    )
    found = json.loads(
        run(*words, "--metric", "exact", "--set", "samples=400", "--format", "json").stdout
    )
    assert (
        found["scored"]["parts"] == {"test": 30, "control": 25}
        and found["scored"]["whole"] == "control"
    )
    targets, outputs = (
        Release.open(releases / "a").lines("target"),
        (releases / "test.b1").read_text().splitlines(),
    )
    right = [a == b for a, b in zip(targets, outputs, strict=True)]
    assert found["scored"]["systems"]["b/b1"]["scores"]["test"] == pytest.approx(
        100 * np.mean(right)
    )
    assert 0 < np.mean(right) < 1


def test_the_tokeniser_none_is_a_tokeniser(releases, run):
    words = (
        "validate",
        releases / "a",
        *hyp(releases),
        "--set",
        "samples=400",
        "--set",
        "tokenize=none",
        "--format",
        "json",
    )
    assert "tok:none" in json.loads(run(*words).stdout)["scored"]["signature"]


def test_pairs_that_belong_together(releases, run):
    words = ("validate", releases / "a", *hyp(releases), "--set", "samples=400")
    refused = run(*words, "--cluster", "document", status=2).stderr
    assert "--cluster document: the release does not name documents" in refused
    assert "tau" in run(*words, "--cluster", "source").stdout


def test_the_sources_to_translate(releases, run, tmp_path):
    run("validate", releases / "a", "--sources", tmp_path / "sources")
    assert (tmp_path / "sources").read_text(encoding="utf-8").splitlines()[
        4
    ] == "die katze sieht 4 vögel"


def test_a_memory_as_a_control(small_release, run, tmp_path):
    """A memory of the control set falls further than a system that is always right; one of the test
    set falls less.
    """
    # A copy, because the verdict is written into the card.
    release = Release.open(shutil.copytree(small_release.folder, tmp_path / "release"))

    def write(name, lines):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return tmp_path / name

    targets = {"test": release.lines("target"), "control": release.set_lines("control", "target")}
    pairs = {
        "reversed": list(zip(release.lines("source"), targets["test"], strict=True)),
        "yes": list(zip(release.set_lines("control", "source"), targets["control"], strict=True)),
    }
    systems = ("--hyp", f"right={write('test', targets['test'])}")
    systems += ("--control-hyp", f"right={write('control', targets['control'])}")
    for verdict, corpus in pairs.items():
        path = write("train.tsv", ["\t".join(pair) for pair in corpus])
        words = ("validate", release.folder, *systems, "--metric", "chrf", "--controls", path)
        found = json.loads(run(*words, "--format", "json").stdout)
        assert found["scored"] is None  # too few systems for a ranking
        memory, system = (
            found["controls"]["systems"]["memory"],
            found["controls"]["systems"]["right"],
        )
        assert memory["test" if verdict == "reversed" else "control"] == 100
        assert system["separated"] == verdict and memory["separated"] is None
        assert system["difference"] == pytest.approx(memory["drop"] - system["drop"])
        low, high = system["difference_interval"]
        assert low < system["difference"] < high
        text = run(*words).stdout
        assert found["controls"]["card"] in text and "does the test set separate systems" in text
    refused = run("validate", release.folder, "--controls", path, status=2).stderr
    assert "--controls compares a memory with systems; give --hyp and --control-hyp" in refused


def test_separation_is_adjusted_for_the_number_of_systems():
    bounds = {"difference": -2.0, "difference_low": -3.9, "difference_high": -0.1, "p_value": 0.04}
    systems = {
        "memory": Drop(30, 3),
        "a": Drop(30, 1, p_holm=0.08, **bounds),
        "b": Drop(30, 1, p_holm=0.04, **bounds),
    }
    rows = Separation("chrF2", "", dict.fromkeys(systems, 29.0), systems).as_dict()["systems"]
    assert [row["separated"] for row in rows.values()] == [None, "no", "yes"]


@pytest.fixture
def with_cells(tmp_path):
    """A release of 900 candidates of a degree without relation to their length, with known n-grams
    and a card.
    """
    folder, rng = tmp_path / "cells", np.random.default_rng(1)
    targets = [f"the cat sees {row % 7} dogs and {row} birds" for row in range(900)]
    write_finished(folder, rng.random(900), targets=targets, degree_side="target")
    path = folder / table_file("candidates")
    table = pyarrow.parquet.read_table(path).append_column("pool", [[1] * 900])
    pyarrow.parquet.write_table(table, path)
    (folder / "README.md").write_text(
        f"# Card\n\n{marked_part('contact')}{marked_part('validity')}"
    )
    list_files(folder)
    steps = default_work(folder) / STEPS
    learned = steps / "known-ngrams" / KEY[:KEY_LENGTH]
    for name in (NGRAMS, WORDS):
        Vocabulary.learn(targets, min_count=1).save(learned / name)
    (learned / "step.json").write_text("{}")
    record = {"signature": "react|made", "steps": {"candidates": KEY, "known-ngrams": KEY}}
    write_json(steps / RECORD, {**record, "digest": digest(record)})
    return folder


def test_degree_and_uncertainty_in_four_cells(with_cells, run, tmp_path):
    words = ("validate", with_cells, "--cells", 30)
    run(*words, "--sources", tmp_path / "cells.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "cells.jsonl").read_text().splitlines()]
    cells = [row["cell"] for row in rows]
    assert len(rows) == 120 and len({row["line"] for row in rows}) == 120 and len(set(cells)) == 4
    run(*words, "--sources", tmp_path / "cells.de")
    assert (tmp_path / "cells.de").read_text(encoding="utf-8").splitlines() == [
        row["source"] for row in rows
    ]
    # A system that is wrong wherever uncertainty is high, and twice in the others.
    targets = [
        f"the cat sees {(row['line'] - 1) % 7} dogs and {row['line'] - 1} birds" for row in rows
    ]
    wrong = [
        cell.endswith("high uncertainty") or row in (40, 100) for row, cell in enumerate(cells)
    ]
    lines = ["x" if bad else line for bad, line in zip(wrong, targets, strict=True)]
    (tmp_path / "hyp").write_text("".join(f"{line}\n" for line in lines))
    words = (*words, "--hyp", f"a<b={tmp_path / 'hyp'}", "--metric", "exact")
    found = json.loads(run(*words, "--format", "json").stdout)["cells"]
    system = found["systems"]["a<b"]
    assert [system["values"][cell] for cell in dict.fromkeys(cells)] == pytest.approx(
        [0, 100 * 29 / 30] * 2
    )
    assert (
        system["hardest"] == "uncertainty"
        and found["pairs"] == 30
        and found["card"] in run(*words).stdout
    )
    # The card, which stays what the release answers for, and its page.
    card = (with_cells / "README.md").read_text()
    assert (
        "- **Degree or uncertainty.** Uncertainty makes the test set hard" in card
        and "(a&lt;b; 30 pairs" in card
    )
    assert Release.open(with_cells).path("README.md").read_text() == card
    assert release_page._results(Release.open(with_cells)) == [
        f"Degree or uncertainty. {found['card']}"
    ]
    assert add_results(with_cells / "README.md", {"Memory": "Far."})
    assert "- **Degree or uncertainty.** " in (changed := (with_cells / "README.md").read_text())
    assert changed.count("- **Memory.** Far.") == 1
    (with_cells / "README.md").write_text("# Card\n")
    assert not add_results(with_cells / "README.md", {"Memory": "Far."})
    assert (
        "--cells needs --hyp with the hypotheses of the cells"
        in run(*words[:4], "--measures", status=2).stderr
    )


def test_bad_input_is_one_line(releases, run, tmp_path):
    a, b = releases / "a", releases / "b"
    (tmp_path / "short").write_text("one\n")
    three = hyp(releases)[:6]
    for words, message in (
        ((a, *hyp(releases)[:4]), "--hyp: 2 systems, but a ranking needs at least 3"),
        (
            (a, *three[:4], "--hyp", f"x={tmp_path / 'short'}"),
            "has 1 lines and the table of candidates has 300",
        ),
        ((a, *hyp(releases, "--control-hyp", "control")), "--control-hyp needs --hyp"),
        (
            (a, *hyp(releases, stem="test"), "--control-hyp", f"z={releases / 'control.a1'}"),
            "z is not one of",
        ),
        (
            (b, *hyp(releases, stem="test"), *hyp(releases, "--control-hyp", "control")),
            "no control set",
        ),
        ((a, *three, "--metric", "comet"), "comet"),
        ((tmp_path,), "no such file"),
    ):
        said = run("validate", *words, status=2).stderr
        assert message in said and said.startswith("error: ") and said.count("\n") == 1, said


def test_a_release_away_from_its_workspace(releases, run, tmp_path):
    copy = shutil.copytree(releases / "a", tmp_path / "copy")
    said = run("validate", copy, *hyp(releases), status=2).stderr
    assert (
        "(FOLDER.work), which is not here; name it with --work, run the command of the card again"
        in said
    )
    assert (
        "tau"
        in run(
            "validate", copy, *hyp(releases), "--set", "samples=400", "--work", releases / "a.work"
        ).stdout
    )
