"""``cgbench reproduce``: runs of small scale through the command, what they leave, and what
``show`` makes of them.
"""

import json
import shutil

import pytest
from few import few

from cgbench.commands.reproduce import _seeds
from cgbench.errors import InputError
from cgbench.reproduction.report import read_results
from cgbench.reproduction.tables import all_benchmarks, all_tables

RUN = (
    "reproduce",
    "run",
    "lexicon-8",
    "--scale",
    "smoke",
    "--offline",
    "--jobs",
    "1",
    "--device",
    "cpu",
)
THREE = ("--systems", "LSTM+Lex Simple,SyntAtt,GECA", "--seeds", "2")


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """The runs of three systems with two seeds."""
    out = tmp_path_factory.mktemp("reproduction")
    run(*RUN, *THREE, "--out", out)
    return out


@pytest.fixture
def copied(folder, tmp_path):
    """A copy of them, to be changed."""
    shutil.copytree(folder, tmp_path / "copy")
    return tmp_path / "copy"


TABLES = {"lexicon": range(1, 9), "devil": range(1, 11), "r-dangle": range(1, 7)}
TABLES |= {"composition": range(1, 8), "lrf": range(1, 6), "cgps": range(1, 2)}


def test_every_table_of_the_papers_is_listed_and_every_row_runs_or_has_its_reason(run):
    tables = {
        row["table"]: row for row in json.loads(run("reproduce", "list", "--format", "json").stdout)
    }
    papers = {f"{paper}-{number}" for paper, numbers in TABLES.items() for number in numbers}
    assert tables.keys() == papers | {"r-dangle-fig1a", "r-dangle-fig1b"}
    for table in tables.values():
        assert table["rows"] or table["why"]
        for row in table["rows"]:
            own = all_benchmarks().get(row["benchmark"])
            parts = all_tables()[table["table"]].best_of.get(row["system"], [row["system"]])
            assert bool(row["why"]) != bool(own and any(part in own.systems for part in parts)), row
    reasons = {
        row["system"]: row["why"]
        for row in tables["composition-2"]["rows"]
        if row["benchmark"] == "CFQ MCD1"
    }
    assert not any(why and "pre-trained" not in why for why in reasons.values())
    notes = [note for note in tables["composition-2"]["notes"] if note.startswith("HPD")]
    assert len(notes) == 2 and all("gold labels" in note for note in notes)
    assert tables["composition-1"]["notes"] == []
    page = run("reproduce", "list").stdout
    assert max(map(len, page.splitlines())) <= 80
    text = " ".join(page.split())
    assert "pre-trained weights" in text and "29 of 29 rows; 10 seeds (Colors: 20)" in text


def test_tables_have_as_many_rows_as_in_the_paper_shared_ones_included():
    sizes = {
        "lexicon-5": (5, 5),
        "devil-2": (9, 12),
        "devil-7": (66, 66),
        "devil-8": (15, 30),
        "devil-9": (32, 32),
        "r-dangle-4": (16, 12),
        "composition-3": (3, 6),
        "composition-6": (4, 4),
        "composition-7": (3, 6),
        "lrf-1": (13, 97),
        "lrf-2": (52, 52),
        "lrf-4": (4, 8),
    }
    rows = {name: all_tables()[name].rows for name in sizes}
    assert {
        name: (len(own), sum(len(row.figures) for row in own)) for name, own in rows.items()
    } == sizes


def test_a_table_is_listed_by_row(run):
    lines = [line.split() for line in run("reproduce", "list", "lexicon-8").stdout.splitlines()]
    assert ["Colors", "SyntAtt", "10", "scores", "yes"] in lines
    assert ["Colors", "Human", "10", "scores", "not", "run:", "human", "answers"] in lines
    assert ["LSTM+Lex", "Bayesian", "(learned)"] in lines  # by name
    assert "not run: examples" in run("reproduce", "list", "lexicon-1").stdout


def test_rows_have_their_published_scores(run):
    rows = run("reproduce", "list", "composition-2").stdout.splitlines()
    assert ["CFQ", "MCD1", "CGPS", "13.2", "yes"] in [line.split() for line in rows]
    rows = run("reproduce", "list", "lexicon-3").stdout.splitlines()
    assert ["SCAN", "jump", "SyntAtt", "57", "±", "38", "yes"] in [line.split() for line in rows]


def test_a_part_of_the_schedule_by_its_updates(run):
    words = (
        "reproduce",
        "run",
        "devil-3",
        "--systems",
        "Universal PED",
        "--seeds",
        "1",
        "--dry-run",
    )
    (line,) = run(
        *words, "--benchmarks", "COGS gen", "--scale", "short", "--updates", "1200"
    ).stdout.splitlines()
    assert line == "cogs-gen.universal-ped.short.seed-1  1,200 updates of universal_cogs_ped"
    assert "needs --scale short" in run(*words, "--updates", "1200", status=2).stderr


def test_lexicons_are_given_where_the_papers_were_and_learnt_by_name(run):
    """The authors' runs read files that other settings made than those they name."""
    for benchmark in ("SCAN jump", "SCAN around_right", "COGS gen"):
        systems = all_benchmarks()[benchmark].systems
        folder = {"SCAN jump": "/addprim_jump", "SCAN around_right": "/template_around_right"}.get(
            benchmark, ""
        )
        for name, file in (("IBMM2", "intersect.align.o"), ("Bayesian", "goodman")):
            given, learned = systems[f"LSTM+Lex {name}"], systems[f"LSTM+Lex {name} (learned)"]
            assert (given.lexicon_file, given.lexicon) == (f"lexicons{folder}/{file}.json", "")
            assert learned.lexicon and not learned.lexicon_file
            assert given.preset == learned.preset and given.set == learned.set


def test_a_lexicon_that_cannot_be_had_is_named_and_the_other_runs_are_made(run, tmp_path):
    words = (*RUN, "--systems", "LSTM,LSTM+Lex Bayesian", "--seeds", "1", "--out", tmp_path)
    error = run(*words, status=2).stderr
    assert (
        "lexicons/goodman.json of colors is unavailable" in error
        and "LSTM+Lex Bayesian (learned)" in error
    )
    assert len(list(tmp_path.glob("runs/colors.lstm.smoke.seed-1/*/result.json"))) == 1
    (mirror := tmp_path / "mirror" / "colors").mkdir(parents=True)
    lexicon = {"dax": {"RED": 2}, "lug": {"BLUE": 2}, "wif": {"GREEN": 2}, "zup": {"YELLOW": 2}}
    (mirror / "align.goodman.json").write_text(json.dumps(lexicon))
    error = run(
        *words, "--mirror", tmp_path / "mirror", status=2
    ).stderr  # there by now, but another file
    assert (
        "align.goodman.json" in error and "lexicons/goodman.json of colors is unavailable" in error
    )
    assert "1 of 2 runs are done" in error


def test_a_lexicon_that_can_be_had_by_now_is_taken(run, tmp_path, monkeypatch):
    import hashlib
    from dataclasses import replace

    from cgbench.data_recipes import colors, registry

    text = json.dumps(
        {"dax": {"RED": 2}, "lug": {"BLUE": 2}, "wif": {"GREEN": 2}, "zup": {"YELLOW": 2}}
    )
    digest = hashlib.sha256(text.encode()).hexdigest()
    sources = tuple(
        (
            replace(source, hashes=(f"sha256:{digest}",))
            if source.extra == "lexicons/goodman.json"
            else source
        )
        for source in colors.RECIPES[0].sources
    )
    recipe = replace(colors.RECIPES[0], sources=sources)
    monkeypatch.setattr(registry, "find_recipe", lambda name: recipe)
    words = (*RUN, "--systems", "LSTM+Lex Bayesian", "--seeds", "1", "--out", tmp_path / "out")
    assert "is unavailable" in run(*words, status=2).stderr
    (mirror := tmp_path / "mirror" / "colors").mkdir(parents=True)
    (mirror / "align.goodman.json").write_text(text)
    assert "seed-1: done" in run(*words, "--mirror", tmp_path / "mirror").stderr


def test_a_row_that_is_the_best_of_several_stands_for_these(run):
    words = (
        "reproduce",
        "run",
        "devil-3",
        "--benchmarks",
        "SCAN length cutoff 26",
        "--seeds",
        "1",
        "--dry-run",
    )
    names = [
        line.split(".")[1] for line in run(*words, "--systems", "Transformer").stdout.splitlines()
    ]
    assert names == ["transformer-ped", "transformer-no-scaling"]
    assert "did you mean Universal?" in run(*words, "--systems", "Univrsal", status=2).stderr


def test_one_lexicon_for_two_learners_is_one_run():
    """On Colors, IBM Model 1's intersection is the Simple lexicon, so its runs are those of
    Simple.
    """
    from cgbench.data_recipes.colors import INPUTS, colours_of
    from cgbench.models.lexicons.lexicon import learn_lexicon

    assert all_benchmarks()["Colors"].systems["LSTM+Lex IBMM2"].name == "LSTM+Lex Simple"
    pairs = [(text, colours_of(text)) for text in INPUTS["train"]]
    entries = [learn_lexicon(name, pairs, {}).lexicon.entries for name in ("simple", "ibm1")]
    assert entries[0] == entries[1] and len(entries[0]) == 4


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


@pytest.mark.slow
def test_finished_runs_are_kept_and_a_removed_one_is_made_again_to_the_same_figures(run, copied):
    gone = next(copied.glob("runs/colors.lstm-lex-simple.smoke.seed-2/*/"))
    before = (
        json.loads((gone / "result.json").read_text())["figures"],
        (gone / "metrics.jsonl").read_bytes(),
    )
    shutil.rmtree(gone)
    said = run(*RUN, *THREE, "--out", copied).stderr
    assert "5 of 6 runs are done" in said and "seed-2: done" in said
    after = (
        json.loads((gone / "result.json").read_text())["figures"],
        (gone / "metrics.jsonl").read_bytes(),
    )
    assert before == after


def test_data_that_have_changed_are_made_again(run, copied):
    path = copied / "data" / "colors" / "train.tgt"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"RED", b"BLUE"))
    assert (
        "6 of 6 runs are done" in run(*RUN, *THREE, "--out", copied).stderr
        and path.read_bytes() == before
    )


def test_what_is_no_result_is_passed_over_and_what_there_is_is_said(run, copied):
    next(copied.glob("runs/colors.syntatt.smoke.seed-1/*/result.json")).write_text('{"a": 1}')
    shown = run("reproduce", "show", copied, "--scale", "smoke")
    assert "not a result of cgbench reproduce" in shown.stderr and "SyntAtt" in shown.stdout
    error = run(
        "reproduce", "show", copied, "--table", "devil-3", "--scale", "smoke", status=2
    ).stderr
    assert (
        "no run with --scale smoke that --table shows; there is Colors, GECA (--scale smoke); "
        in error
    )


def test_one_damaged_result_does_not_end_the_report(folder, tmp_path):
    changes = (
        {"ended": "late"},
        {"figures": []},
        {"figures": {"exact match": None}},
        {"seed": None},
        {"fraction": "a"},
        {"benchmark": ["Colors"]},
        {"settings": 3},
        {"rows": 1e9},
        {"generated": 5},
        {"figures": {"exact match": 1e300}},
    )
    good = next(folder.glob("runs/colors.syntatt.smoke.seed-1/*/result.json"))
    for number, change in enumerate(({}, *changes)):
        (own := tmp_path / "runs" / "colors" / str(number)).mkdir(parents=True)
        (own / "result.json").write_text(json.dumps(json.loads(good.read_text()) | change))
    results, warnings = read_results(tmp_path)
    assert [result.system for result in results] == ["SyntAtt"] and len(warnings) == len(changes)
    assert all("not a result of cgbench reproduce" in warning for warning in warnings)


def test_runs_of_which_one_has_a_figure_that_others_lack(run, copied):
    for path in sorted(copied.glob("runs/*/*/result.json")):
        data = json.loads(path.read_text())
        data["figures"][f"only {data['seed']}"] = 1.0
        path.write_text(json.dumps(data | {"system": "ours"}))
    assert "only" not in run("reproduce", "show", copied, "--scale", "smoke").stdout


def test_ctrl_c_says_that_the_command_goes_on(run, tmp_path, monkeypatch):
    from cgbench.reproduction import running

    def stopped(*words, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "prepare_benchmark", stopped)
    assert "the same command resumes" in run(*RUN, "--out", tmp_path, status=130).stderr


def test_a_run_that_another_process_makes_is_not_made_twice(folder, tmp_path):
    import threading

    from cgbench.locks import locked
    from cgbench.reproduction.plan import ReproduceRequest
    from cgbench.reproduction.running import reproduce

    out = tmp_path / "shared"
    said = []
    system = {
        "systems": ["LSTM+Lex Simple"],
        "seeds": [1],
        "scale": "smoke",
        "device": "cpu",
        "jobs": 1,
    }
    request = ReproduceRequest("lexicon-8", **system, out=out, offline=True, say=said.append)
    path = next(folder.glob("runs/colors.lstm-lex-simple.smoke.seed-1/*/"))
    lock = out / path.relative_to(folder).with_name(path.name + ".lock")
    with locked(lock, wait=False):
        thread = threading.Thread(target=reproduce, args=(request,))
        thread.start()
        while not any("other processes" in line for line in said):
            thread.join(0.05)
            assert thread.is_alive()
        shutil.copytree(path, out / path.relative_to(folder))  # the other one has finished
    thread.join()
    assert not any("done in 0" not in line and "done in" in line for line in said)


def test_show_puts_ours_beside_the_published_ones(run, folder, tmp_path):
    words = ("reproduce", "show", folder, "--scale", "smoke")
    text = run(*words, env={"COLUMNS": "200"}).stdout
    assert (
        "lexicon-8" in text and "lexicon-3" in text and "zup kiki dax" in text and "100 ± 0" in text
    )
    rows = json.loads(run(*words, "--format", "json").stdout)
    line = next(
        row for row in rows if (row["table"], row["system"]) == ("lexicon-3", "LSTM+Lex Simple")
    )
    values = [
        json.loads(path.read_text())["figures"]["exact match"]
        for path in folder.glob("runs/colors.lstm-lex-simple.smoke.seed-*/*/result.json")
    ]
    assert (
        line["ours"] == pytest.approx(sum(values) / 2)
        and line["seeds"] == 2
        and line["published"] == 78
    )
    assert line["difference"] == pytest.approx(line["ours"] - 78) and line["schedule"].startswith(
        "smoke"
    )
    assert "| LSTM+Lex Simple |" in run(*words, "--format", "markdown").stdout


def test_older_settings_are_left_out_with_a_warning(run, copied):
    path = next(copied.glob("runs/colors.syntatt.smoke.seed-1/*/result.json"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"settings": "older", "ended": 1}))
    shown = run(
        "reproduce", "show", copied, "--scale", "smoke", "--table", "lexicon-3", "--format", "json"
    )
    assert "1 older setting left out" in shown.stderr
    line = next(row for row in json.loads(shown.stdout) if row["system"] == "SyntAtt")
    assert line["seeds"] == 1 and line["low"] < line["difference"] < line["high"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "lexicon-9"), "did you mean"),
        (("run", "r-dangle-6"), "start from a pre-trained model"),
        (("run", "devil-4"), "cannot be run: settings"),
        (("run", "lexicon-8", "--systems", "Human"), "cannot be run: human answers"),
        (("run", "lexicon-8", "--systems", "LSTM+Lex Simpel"), "did you mean"),
        (("run", "lexicon-8", "--systems", "Geca"), "did you mean GECA?"),
        (("run", "lexicon-8", "--seeds", "none"), "how many"),
        (
            ("run", "lexicon-8", "--seeds", "1-999999999"),
            "999,999,999 seeds, where 10,000 are the most",
        ),
        (("run", "lexicon-3", "--benchmarks", "Colours"), "not in lexicon-3; did you mean Colors?"),
        (("show", "nowhere"), "no finished run"),
    ],
)
def test_bad_input_has_one_line(run, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    assert (
        said in run("reproduce", *words, status=2).stderr
        and not (tmp_path / "reproduction").exists()
    )


def test_seeds_by_number_or_by_name():
    for seeds, found in (("2", [1, 2]), ("3,7", [3, 7]), ("6-8", [6, 7, 8]), ("4-4", [4])):
        assert _seeds((seeds,)) == found
    for wrong in ("0", "²", "9" * 5000):
        with pytest.raises(InputError, match="write how many"):
            _seeds((wrong,))


@pytest.mark.parametrize("scale", few(["full", "short", "smoke"], "full"))
def test_every_system_of_every_benchmark_has_a_preset(scale):
    from cgbench.reproduction.plan import Run

    for benchmark in all_benchmarks().values():
        for system in benchmark.systems.values():
            is_trained = bool(system.preset or system.pipeline)
            assert is_trained != (system.name == "test set"), (benchmark.name, system.name)
            if system.pipeline:
                assert Run(benchmark, system, scale, 1).step({}).config["pipeline"]["name"] == "hpd"
            if system.preset:
                config = Run(benchmark, system, scale, 1).step({}).config
                assert config["system"] == system.name and config["training.max_updates"] >= 1
