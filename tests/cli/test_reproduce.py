"""``cgbench reproduce``: runs of small scale through the command, what they leave, and what ``show`` makes of them."""

import json
import shutil

import pytest

from cgbench.reproduction.tables import all_benchmarks, all_tables

SYSTEMS = "LSTM,LSTM+Lex Simple,SyntAtt"
RUN = ("reproduce", "run", "lexicon-8", "--scale", "smoke", "--offline", "--jobs", "1", "--device", "cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The runs of three systems with two seeds."""
    from click.testing import CliRunner

    from cgbench.cli import main

    out = tmp_path_factory.mktemp("reproduction")
    words = [*RUN, "--systems", "LSTM+Lex Simple,SyntAtt,GECA", "--seeds", "2", "--out", str(out)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output + result.stderr
    return out


def test_every_table_is_listed_with_what_cannot_be_run(run):
    rows = json.loads(run("reproduce", "list", "--format", "json").stdout)
    assert {row["table"] for row in rows} >= {
        *(f"lexicon-{number}" for number in (3, 4, 5, 6, 8)),
        *("devil-1", "devil-3", "devil-7", "r-dangle-2", "r-dangle-4", "r-dangle-5"),
        *(f"composition-{number}" for number in (1, 3, 4)),
        *(f"lrf-{number}" for number in (1, 3, 4)),
    }
    assert all(bool(row["systems"]) != bool(row["why"]) for row in rows)
    text = run("reproduce", "list").stdout
    assert "pre-trained weights" in text and "lexicon-3" in text
    text = run("reproduce", "list", "lexicon-3").stdout
    table = all_tables()["lexicon-3"]
    assert {f"  {name}" for name in (*table.benchmarks, *table.systems)} <= set(text.splitlines())
    assert "  LSTM+Lex Simple (sigmoid gate)" in text.splitlines()
    assert len(json.loads(run("reproduce", "list", "lexicon-3", "--format", "json").stdout)) == 1


def test_runs_leave_figures_and_translations_and_no_model(folder):
    results = sorted(folder.glob("runs/*/*/result.json"))
    assert len(results) == 6
    for path in results:
        figures = json.loads(path.read_text())["figures"]
        assert len(figures) == 11 and "exact match: zup fep" in figures
        assert all(0 <= value <= 100 for value in figures.values())
        names = {file.name for file in path.parent.iterdir()}
        assert names == {"result.json", "step.json", "test.hypotheses", "metrics.jsonl"}
        assert len((path.parent / "test.hypotheses").read_text().splitlines()) == 10


def test_finished_runs_are_kept_and_a_removed_one_is_made_again_to_the_same_figures(run, folder, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(folder, out)
    gone = next(out.glob("runs/colors.lstm-lex-simple.smoke.seed-2/*/"))
    before = json.loads((gone / "result.json").read_text())["figures"], (gone / "metrics.jsonl").read_bytes()
    shutil.rmtree(gone)
    said = run(*RUN, "--systems", "LSTM+Lex Simple,SyntAtt,GECA", "--seeds", "2", "--out", out).stderr
    assert "5 of 6 runs are done" in said and "seed-2: done" in said
    after = json.loads((gone / "result.json").read_text())["figures"], (gone / "metrics.jsonl").read_bytes()
    assert before == after


def test_data_that_have_changed_are_made_again(run, folder, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(folder, out)
    path = out / "data" / "colors" / "train.tgt"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"RED", b"BLUE"))
    said = run(*RUN, "--systems", "LSTM+Lex Simple,SyntAtt,GECA", "--seeds", "2", "--out", out).stderr
    assert "6 of 6 runs are done" in said and path.read_bytes() == before


def test_what_is_no_result_is_passed_over_and_what_there_is_is_said(run, folder, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(folder, out)
    next(out.glob("runs/colors.syntatt.smoke.seed-1/*/result.json")).write_text('{"a": 1}')
    shown = run("reproduce", "show", out, "--scale", "smoke")
    assert "not a result of cgbench reproduce" in shown.stderr and "SyntAtt" in shown.stdout
    error = run("reproduce", "show", out, "--table", "devil-3", "--scale", "smoke", status=2).stderr
    assert "no run with --scale smoke that --table shows; there is Colors, GECA (--scale smoke); " in error


def test_ctrl_c_says_that_the_command_goes_on(run, tmp_path, monkeypatch):
    from cgbench.reproduction import running

    def stopped(*words, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "prepare", stopped)
    error = run(*RUN, "--out", tmp_path, status=130).stderr
    assert "the same command, given again, goes on" in error


def test_a_run_that_another_process_makes_is_not_made_twice(folder, tmp_path):
    import threading

    from cgbench.reproduction.plan import plan
    from cgbench.reproduction.running import run_all
    from cgbench.reproduction.tables import find_table
    from cgbench.steps import locked

    out = tmp_path / "shared"
    runs = plan(find_table("lexicon-8"), ["LSTM+Lex Simple"], [1], "smoke")
    said = []
    path = next(folder.glob("runs/colors.lstm-lex-simple.smoke.seed-1/*/"))
    lock = out / path.relative_to(folder).with_name(path.name + ".lock")
    with locked(lock, wait=False):
        thread = threading.Thread(target=run_all, args=(runs, out), kwargs={"offline": True, "say": said.append})
        thread.start()
        while not any("other processes" in line for line in said):
            thread.join(0.05)
            assert thread.is_alive()
        shutil.copytree(path, out / path.relative_to(folder))  # the other one has finished
    thread.join()
    assert not any("done in 0" not in line and "done in" in line for line in said)


def test_show_puts_ours_beside_the_published_ones(run, folder, tmp_path):
    files = [tmp_path / f"report.{ending}" for ending in ("md", "json", "png", "svg")]
    words = [word for file in files for word in ("--out", file)]
    text = run("reproduce", "show", folder, "--scale", "smoke", *words).stdout
    assert "lexicon-8" in text and "lexicon-3" in text and "zup kiki dax" in text and "100 ± 0" in text
    rows = json.loads(files[1].read_text())
    line = next(row for row in rows if (row["table"], row["system"]) == ("lexicon-3", "LSTM+Lex Simple"))
    values = [
        json.loads(path.read_text())["figures"]["exact match"]
        for path in folder.glob("runs/colors.lstm-lex-simple.smoke.seed-*/*/result.json")
    ]
    assert line["ours"] == pytest.approx(sum(values) / 2) and line["seeds"] == 2 and line["published"] == 78
    assert line["difference"] == pytest.approx(line["ours"] - 78) and line["schedule"].startswith("smoke")
    assert "| LSTM+Lex Simple |" in files[0].read_text()
    assert files[2].read_bytes().startswith(b"\x89PNG") and b"<svg" in files[3].read_bytes()


def test_older_settings_are_left_out_with_a_warning(run, folder, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(folder, out)
    path = next(out.glob("runs/colors.syntatt.smoke.seed-1/*/result.json"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"settings": "older", "ended": 1}))
    shown = run("reproduce", "show", out, "--scale", "smoke", "--table", "lexicon-3", "--format", "json")
    assert "1 older setting left out" in shown.stderr
    line = next(row for row in json.loads(shown.stdout) if row["system"] == "SyntAtt")
    assert line["seeds"] == 1 and line["within"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "lexicon-9"), "did you mean"),
        (("run", "composition-2"), "pre-trained weights"),
        (("run", "lexicon-8", "--systems", "Human"), "cannot be run: people"),
        (("run", "lexicon-8", "--systems", "LSTM+Lex Simpel"), "did you mean"),
        (("run", "lexicon-8", "--systems", "Geca"), "did you mean GECA?"),
        (("run", "lexicon-8", "--seeds", "none"), "how many"),
        (("run", "lexicon-8", "--seeds", "0"), "how many"),
        (("run", "lexicon-3", "--benchmarks", "Colours"), "not in lexicon-3; did you mean Colors?"),
        (("show", "nowhere"), "no finished run"),
    ],
)
def test_bad_input_has_one_line(run, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    result = run("reproduce", *words, status=2)
    assert said in result.stderr and not (tmp_path / "reproduction").exists()


@pytest.mark.parametrize(("seeds", "found"), [("2", [1, 2]), ("3,7", [3, 7]), ("6-8", [6, 7, 8]), ("4-4", [4])])
def test_seeds_by_number_or_by_name(run, seeds, found):
    words = ("reproduce", "run", "lexicon-8", "--systems", "GECA", "--seeds", seeds, "--dry-run")
    lines = run(*words).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [f"colors.geca.full.seed-{seed}" for seed in found]


def test_data_that_cannot_be_had_is_said_with_what_to_do(run, tmp_path):
    words = ("reproduce", "run", "composition-3", "--scale", "smoke", "--offline", "--out", tmp_path, "--jobs", "1")
    assert "download" in run(*words, status=2).stderr


def test_every_system_of_every_benchmark_has_a_preset_and_every_figure_a_system():
    from cgbench.reproduction.plan import Run

    for benchmark in all_benchmarks().values():
        for system in benchmark.systems.values():
            for scale in ("full", "short", "smoke"):
                run = Run(benchmark, system, scale, 1)
                if not system.preset:
                    continue
                assert run.preset.training.max_updates >= 1
                assert run.step({}).config["system"] == system.name
    for table in all_tables().values():
        if table.why:
            continue
        assert table.figures
        for row in table.figures:
            if row.system in table.left_out or row.benchmark.endswith("mean"):
                continue
            for name in table.best_of.get(row.system, (row.system,)):
                known = [all_benchmarks()[benchmark].systems for benchmark in table.benchmarks]
                assert any(name in systems for systems in known), (table.name, name)
            assert row.benchmark in table.benchmarks
