"""``--hyp x=FOLDER`` and ``--hyp "x=DIR/seed*.txt"``: all seeds of a system."""

import pytest


@pytest.fixture(autouse=True)
def seeds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for number in (1, 2, 10):
        lines = ["a", "b", "c", "d"] if number == 1 else ["a", "b", "c", "x"]
        (tmp_path / "runs" / f"seed{number}.txt").write_text("".join(f"{line}\n" for line in lines))
        (tmp_path / "runs" / f"seed{number}.tsv").write_text(f"score\n{number}\n5\n")
    (tmp_path / "runs" / "seed1.txt.answers.jsonl").write_text("{}\n")
    (tmp_path / "ref").write_text("a\nb\nc\nd\n")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "runs").glob("*.txt"):
        (tmp_path / "folder" / path.name).write_text(path.read_text())


@pytest.mark.parametrize("name", ["runs/seed*.txt", "runs/seed?*.txt", "folder"])
def test_all_files_are_seeds_in_the_order_of_their_numbers(run, name):
    lines = run("score", "exact", "--ref", "ref", "--hyp", f"x={name}", "--format", "tsv").stdout
    assert "\t3\t" in lines and "83.3" in lines  # 100, 75 and 75
    few = "x=runs/seed1.txt,runs/seed2.txt,runs/seed10.txt"
    assert lines == run("score", "exact", "--ref", "ref", "--hyp", few, "--format", "tsv").stdout


def test_a_pattern_of_tables_keeps_the_column(run):
    scores = run("score", "import", "--scores", "x=runs/seed*.tsv:score", "--format", "tsv").stdout
    assert "4.6666" in scores  # the mean of 1, 5, 2, 5, 10 and 5


@pytest.mark.parametrize("name", ["none*", "runs/*.csv"])
def test_no_file_of_a_name(run, name):
    result = run("score", "exact", "--ref", "ref", "--hyp", f"x={name}", status=2)
    assert f"--hyp x={name}: no file has this name" in result.stderr
