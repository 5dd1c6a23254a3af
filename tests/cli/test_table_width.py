"""Tables fit a terminal of 80 columns."""

import json
from dataclasses import asdict

import pytest

from cgbench.reproduction.report import Result

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
LONG_LINES = ("signature  ", "short      ", "warning: ", "written to ")
"""Starts of lines that are not folded, so that they can be copied."""


@pytest.fixture
def files(tmp_path):
    """Three runs each of two systems, with scores and judgements of their examples."""
    rows = ["the " + "small " * (row % 9) + f"dog number {row} ran ." for row in range(120)]
    (tmp_path / "ref").write_text("".join(f"{row}\n" for row in rows))
    for name, wrong in (("standard", 3), ("proposed", 4)):
        for run in range(3):
            lines = [
                row.replace("dog", "cat") if (row_number + run) % wrong == 0 else row
                for row_number, row in enumerate(rows)
            ]
            (tmp_path / f"{name}.{run}").write_text("".join(f"{line}\n" for line in lines))
        scores = [(number * wrong % 17) / 17 for number in range(120)]
        (tmp_path / f"{name}.comet").write_text("".join(f"{score:.3f}\n" for score in scores))
        human = [f"{score:.2f}" if number < 40 else "" for number, score in enumerate(scores)]
        (tmp_path / f"{name}.human").write_text("".join(f"{value}\n" for value in human))
    return tmp_path


def widest(text):
    return max(len(line) for line in text.splitlines() if not line.startswith(LONG_LINES))


def of_systems(files, option, kind):
    return [
        word
        for name in ("standard", "proposed")
        for word in (option, f"{name}={files / name}.{kind}")
    ]


def test_scores_of_seeds_in_bins_and_of_people(files, run):
    hypotheses = []
    for name in ("standard", "proposed"):
        hypotheses += [
            "--hyp",
            f"{name}=" + ",".join(str(files / f"{name}.{run}") for run in range(3)),
        ]
    words = [
        "score",
        "bleu",
        "--ref",
        files / "ref",
        *hypotheses,
        "--paired",
        "--by",
        "length",
        "--bins",
        "3",
    ]
    shown = run(*words, env={"COLUMNS": "80"}).stdout
    assert widest(shown) <= 80
    assert shown.splitlines()[0].split()[-1] == "p"  # the table of systems is not divided
    words = [
        "score",
        "import",
        *of_systems(files, "--scores", "comet"),
        *of_systems(files, "--people", "human"),
    ]
    shown = run(*words, "--paired", "--name", "COMET", env={"COLUMNS": "80"}).stdout
    assert "human + COMET" in shown and widest(shown) <= 80


def test_twelve_systems_with_adjusted_p_values_are_one_table(files, run):
    rows = (files / "ref").read_text()
    words = ["score", "bleu", "--ref", files / "ref", "--paired", "--accept-text"]
    for system in range(12):
        path = files / f"system{system}"
        path.write_text(rows.replace(str(system), "no") if system else rows.replace("dog", "cat"))
        words += ["--hyp", f"marian{system}={path}"]
    shown = run(*words, env={"COLUMNS": "80"}).stdout
    assert widest(shown) <= 80 and shown.count("marian11") == 1
    assert shown.splitlines()[0].endswith(" p p (Holm)")


def test_a_split_and_reproduced_tables(files, run, tmp_path):
    upper = tmp_path / "upper"
    upper.write_text((files / "ref").read_text().upper()[::-1].strip() + "\n")
    shown = run(
        "split",
        "--corpus",
        files / "ref",
        upper,
        "--out",
        tmp_path / "out",
        env={"COLUMNS": "80"},
    )
    assert "random splits" in shown.stdout and widest(shown.stdout) <= 80
    assert "compounds   highest" in shown.stdout
    words = ["--method", "random", "--out", tmp_path / "random"]
    assert "highest" not in run("split", "--corpus", files / "ref", upper, *words).stdout
    for scale in ("full", "smoke"):
        for seed, value in enumerate((40.0, 62.5)):
            figures = {"exact match": value, "exact match: zup blicket zup kiki zup fep": value}
            result = Result(
                "Colors", "LSTM", scale, 1.0, seed, 10, "same", 0, seed, 1, "cpu", figures
            )
            path = tmp_path / "runs" / f"colors.{scale}.{seed}" / "0" / "result.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(asdict(result)))
        shown = run("reproduce", "show", tmp_path, "--scale", scale, env={"COLUMNS": "80"}).stdout
        assert "Colors; exact match" in shown and widest(shown) <= 80
        assert ("too few" in " ".join(shown.split())) is (scale == "smoke")
