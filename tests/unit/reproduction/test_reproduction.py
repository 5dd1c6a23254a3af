"""The parts of a reproduction: texts, measures, scales, and the comparison with published
figures.
"""

import json
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from cgbench.data_recipes.geca import mixed
from cgbench.data_recipes.prepared import RECORD, get
from cgbench.data_recipes.registry import find_recipe
from cgbench.errors import InputError
from cgbench.files import read_json, write_json
from cgbench.models import ensemble
from cgbench.models.config.presets import list_presets, load_preset
from cgbench.models.training import trainer
from cgbench.models.training.loop import learning_rate
from cgbench.reproduction import running, texts
from cgbench.reproduction.measured import Translated, measure_test
from cgbench.reproduction.plan import SMOKE, ReproduceRequest, Run, plan, schedule_changes
from cgbench.reproduction.report import Result, Sample, compare_runs, tables_of, welch_interval
from cgbench.reproduction.running import generated_splits, inputs_of, prepare_benchmark, settings_of
from cgbench.reproduction.tables import all_benchmarks, all_tables
from cgbench.reproduction.texts import (
    held_out,
    learn_dictionaries,
    learn_run_lexicon,
    training_texts,
)
from cgbench.tables import OutputTable

PAIRS = [(f"s{number}", f"t{number}") for number in range(100)]


def test_pairs_are_held_out_once():
    for which in ("random", "last"):
        train, valid = held_out(PAIRS, 0.2, which, 3)
        assert len(valid) == 20 and sorted(train + valid) == sorted(PAIRS)
        assert held_out(PAIRS, 0.2, which, 3) == (train, valid)
    assert held_out(PAIRS, 0.2, "last", 1)[1] == PAIRS[80:]
    assert held_out(PAIRS, 0.2, "random", 1) != held_out(PAIRS, 0.2, "random", 2)


@pytest.mark.parametrize(("new", "ratio"), [(10, 0.3), (300, 0.3), (7, 0.5), (1, 0.01)])
def test_a_mixture_has_its_ratio_and_all_pairs(new, ratio):
    made = [(f"n{number}", "x") for number in range(new)]
    text = mixed(PAIRS, made, ratio)
    counts = [sum(pair == own for pair in text) for own in (PAIRS[0], PAIRS[-1])]
    assert counts[0] == counts[1] >= 1 and set(made) <= set(text)
    assert sum(pair in made for pair in text) / len(text) == pytest.approx(ratio, rel=0.01)


def translated(tmp_path, sources, references, hypotheses, benchmark=None, **columns):
    for name, lines in {"test.s": sources, "test.t": references, **columns}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    benchmark, rows = benchmark or all_benchmarks()["Colors"], np.arange(len(sources))
    return Translated(
        benchmark, tmp_path, "test", ("s", "t"), rows, sources, references, hypotheses, ("train",)
    )


def test_exact_match_of_all_and_of_groups(tmp_path):
    found = translated(
        tmp_path,
        ["a", "b", "a"],
        ["x y", "y", "z"],
        ["x  y", "n", ""],
        **{"test.type": ["p", "q", "p"]},
    )
    assert measure_test("exact match", found)["exact match"] == pytest.approx(100 / 3)
    assert measure_test("exact match by source", found) == {
        "exact match: a": 50.0,
        "exact match: b": 0.0,
    }
    assert measure_test("exact match by type", found) == {
        "exact match: p": 50.0,
        "exact match: q": 0.0,
    }


def test_one_shot_bleu_takes_all_references_and_sentences_with_rare_words(tmp_path):
    """A word that the training text has once decides; a reference may stand in the training
    text.
    """
    train = {"train.s": ["a b c d", "a b c d once"], "train.t": ["1 2 3 4", "6 7 8 9 0"]}
    sources, references = ["a b c d", "a b c d once"], ["4 3 2 1", "0 9 8 7 6"]
    right, other = (
        measure_test(
            "BLEU with one-shot words",
            translated(tmp_path, sources, references, hypotheses, **train),
        )
        for hypotheses in (["1 2 3 4", "x"], ["x", "6 7 8 9 0"])
    )
    assert right["BLEU 1-shot"] == 0 < right["BLEU full"] < 100
    assert other["BLEU 1-shot"] == pytest.approx(100)


def test_empty_words_are_trained_on_and_scored_where_the_authors_see_them(tmp_path):
    tatoeba = replace(all_benchmarks()["Tatoeba en-zh"], valid="", dictionary=())
    for side, text in (("s", "a b c d once\n"), ("t", "1  2 3\n")):
        (tmp_path / f"train.{side}").write_text(text)
    run = Run(tatoeba, tatoeba.systems["LSTM"], "full", 1)
    train, _ = training_texts(run, tmp_path, ("s", "t"), tmp_path / "text")
    assert train[1].read_text() == "1 ␣ 2 3\n"
    assert "␣" in learn_dictionaries(run, tmp_path, ("s", "t"), train, tmp_path / "text").target
    for hypothesis, value in (("1 ␣ 2 3", 100), ("1 2 3", 0)):
        found = translated(tmp_path, ["a b c d once"], ["1  2 3"], [hypothesis], tatoeba)
        assert measure_test("BLEU with one-shot words", found)["BLEU full"] == pytest.approx(value)


@pytest.mark.parametrize(("generated", "said"), [(("train",), "generated"), ((), "released")])
def test_figures_of_generated_data_say_so(generated, said):
    run = replace(result("LSTM", 1, 0.0, "Colors"), generated=generated, precision="bfloat16")
    (line,) = compare_runs([run], "full", [all_tables()["lexicon-3"]])
    assert line.schedule == f"full; {said} data; bfloat16"


def test_scales_change_the_schedule_alone():
    preset = load_preset("lstm_lexicon_cogs")
    assert schedule_changes(preset, "full", 1.0) == {}
    short = preset.replace(schedule_changes(preset, "short", 0.05))
    assert (short.training.max_updates, short.training.warmup_updates, short.training.patience) == (
        400,
        200,
        0,
    )
    peaks = [
        max(learning_rate(own.training, update, 512) for update in range(1, 8001))
        for own in (preset, short)
    ]
    assert peaks[0] == pytest.approx(peaks[1])
    assert (
        short.model == preset.model
        and short.training.batch_sentences == preset.training.batch_sentences
    )
    smoke = preset.replace(schedule_changes(preset, "smoke", 0.0))
    assert smoke.training.max_updates < 10 and smoke.model == preset.model


def result(system, seed, value, benchmark="COGS gen"):
    return Result(
        benchmark, system, "full", 1.0, seed, 10, "same", 0, seed, 1, "cpu", {"exact match": value}
    )


def cells_of(lines):
    return [
        row for block in tables_of(lines) if isinstance(block, OutputTable) for row in block.rows
    ]


def test_a_smoke_schedule_is_not_compared():
    runs = [
        replace(result("LSTM", seed, value, "Colors"), scale="smoke")
        for seed, value in ((1, 40.0), (2, 100.0))
    ]
    lines = compare_runs(runs, "smoke", [all_tables()["lexicon-3"]])
    assert lines and all(line.within is None for line in lines)
    assert all("too few updates to compare" in block.text for block in tables_of(lines)[:-1:2])
    full = compare_runs(
        [replace(run, scale="full") for run in runs], "full", [all_tables()["lexicon-3"]]
    )
    assert [row[-1] for row in cells_of(full)] == ["not decided"]


def test_the_best_of_several_is_compared():
    runs = [
        result("Transformer PED", seed, value) for seed, value in enumerate((78.0, 80.0, 84.0), 1)
    ]
    runs += [result("Transformer TEU", 1, 70.0)]
    (line,) = compare_runs(runs, "full", [all_tables()["devil-3"]])
    assert (line.system, line.best, line.seeds) == ("Transformer", "Transformer PED", 3)
    assert line.ours == pytest.approx(242 / 3) and line.deviation == pytest.approx(3.0551, abs=1e-3)
    assert line.published == "80" and line.within is True and line.ran == "2 of 3"
    assert cells_of([line])[0][0] == "Transformer (Transformer PED, 2 of 3 run)"


def test_the_best_on_the_compositional_test_is_shown_on_the_independent_one():
    runs = [result("Transformer PED", 1, 80.0), result("Transformer TEU", 1, 70.0)]
    figures = [
        {"exact match": 80.0, "IID exact match": 97.0},
        {"exact match": 70.0, "IID exact match": 99.0},
    ]
    runs = [replace(run, figures=own) for run, own in zip(runs, figures, strict=True)]
    found = {line.metric: line for line in compare_runs(runs, "full", [all_tables()["devil-8"]])}
    assert found["IID exact match"].best == found["exact match"].best == "Transformer PED"
    assert found["IID exact match"].ours == 97.0


def test_an_interval_is_welchs():
    """By hand: variances 25 / 5 and 9 / 10, standard error 2.429, 5.5 degrees of freedom, t
    2.502.
    """
    low, high = welch_interval(Sample(60, 5, 5), Sample(50, 3, 10))
    assert (low + high) / 2 == pytest.approx(10)
    assert (high - low) / 2 == pytest.approx(6.076, abs=0.01)
    rounded = welch_interval(Sample(60, 5, 5), Sample(50, 3, 10, unit=1))
    assert rounded == pytest.approx((low - 0.5, high + 0.5))  # 50 may be anything from 49.5 to 50.5


def test_a_noisier_system_is_not_closer_and_more_runs_say_more():
    """A wide spread used to be enough for any figure to be within it."""
    few, many = (welch_interval(Sample(60, 20, runs), Sample(50, 2, 20)) for runs in (3, 100))
    assert few[0] < 0 < few[1] and many[0] > 0
    assert welch_interval(Sample(60, None, 1), Sample(50, None, 5)) is None
    alone = welch_interval(
        Sample(60, None, 1), Sample(50, 4, 5)
    )  # one run of ours: it has the published spread
    assert (alone[1] - alone[0]) / 2 == pytest.approx(2.776 * 4 * math.sqrt(1 + 1 / 5), abs=0.01)
    no_spread = welch_interval(Sample(60, 4, 5), Sample(50, None, 6))
    assert (no_spread[1] - no_spread[0]) / 2 == pytest.approx(
        2.776 * 4 * math.sqrt(1 / 5 + 1 / 6), abs=0.01
    )
    assert welch_interval(Sample(0, 0, 5), Sample(0, 0, 10, unit=1)) == (-0.5, 0.5)


def test_within_is_by_the_interval():
    """78 ± 3 of five runs; ours are 70 ± 2 of as many: within the larger spread thrice, and yet
    another figure.
    """

    def compared(*values):
        runs = [result("Transformer TEU", seed, value) for seed, value in enumerate(values, 1)]
        lines = compare_runs(runs, "full", [all_tables()["devil-7"]])
        return next(line for line in lines if line.system == "Transformer TEU")

    found, noisy = compared(68.0, 69, 70, 71, 72), compared(40.0, 90.0)
    assert found.within is False and found.high < 0 and found.low < found.difference < found.high
    assert noisy.low < 0 < noisy.high and noisy.within is None  # two runs say nothing
    assert cells_of([noisy])[0][-1] == "not decided"


def test_a_median_is_taken_where_the_paper_takes_it():
    runs = [
        result("Relative", seed, value, "SCAN length cutoff 26")
        for seed, value in enumerate((0.0, 60.0, 62.0), 1)
    ]
    (line,) = compare_runs(runs, "full", [all_tables()["devil-1"]])
    assert line.ours == 60.0 and line.within is None  # no interval of medians


def test_a_run_that_was_stopped_goes_on_after_its_training(tmp_path, monkeypatch):
    colors = all_benchmarks()["Colors"]
    run = Run(colors, colors.systems["LSTM+Lex Simple"], "smoke", 1)
    get(find_recipe("colors"), tmp_path / "colors", offline=True)
    trained = []
    train_model = trainer.train_model

    def counted(*words, **options):
        trained.append((words[5] / "config.json").exists())
        return train_model(*words, **options)

    def stopped(name, found):
        raise KeyboardInterrupt

    monkeypatch.setattr(trainer, "train_model", counted)
    measure_ = running.measure_test
    monkeypatch.setattr(running, "measure_test", stopped)
    (folder := tmp_path / "run").mkdir()
    with pytest.raises(KeyboardInterrupt):
        running.execute(run, run.step({}), tmp_path / "colors", folder, "cpu")
    monkeypatch.setattr(running, "measure_test", measure_)
    running.execute(run, run.step({}), tmp_path / "colors", folder, "cpu")
    assert trained == [False, True]  # the second time the model was there
    running.execute(run, run.step({}), tmp_path / "colors", folder, "cpu")
    assert len(trained) == 2  # stopped after the figures were written: nothing is made again
    assert {path.name for path in folder.iterdir()} == {
        "result.json",
        "test.hypotheses",
        "metrics.jsonl",
    }
    result = json.loads((folder / "result.json").read_text())
    assert result["generated"] == [] and result["rows"] == 0  # the whole test; as released


def test_data_are_released_generated_or_refused(tmp_path):
    jump, said = all_benchmarks()["SCAN jump"], []
    prepare_benchmark(jump, tmp_path, None, True, said.append)
    folder = tmp_path / "data" / "scan"
    record = read_json(folder / RECORD)
    assert (
        generated_splits(record, jump) == ["addprim_jump/train", "addprim_jump/test"]
        and "give a mirror" in said[-1]
    )
    lines = (folder / "template_around_right" / "train.src").read_text().splitlines()
    assert any(
        " and " in line for line in lines[-len(lines) // 5 :]
    )  # not in the order of the grammar, where it ends
    for split in jump.splits:
        record["splits"][split]["origin"] = "released"
    write_json(folder / RECORD, record)
    prepare_benchmark(jump, tmp_path, None, True, said.append)  # unchanged: taken as it is
    (folder / "addprim_jump" / "test.src").write_text("run\n")
    with pytest.raises(InputError, match="give these files with mirror, or delete the folder"):
        prepare_benchmark(jump, tmp_path, None, True, said.append)
    assert (folder / "addprim_jump" / "test.src").read_text() == "run\n"


def test_a_run_that_fails_is_named_and_the_others_go_on(tmp_path, monkeypatch):
    some = {"systems": ["LSTM", "GECA"], "seeds": [1], "scale": "smoke"}
    request = ReproduceRequest(
        "lexicon-8", **some, out=tmp_path, offline=True, device="cpu", jobs=1
    )
    execute = running.execute

    def fails(run, *others):
        if run.system.name == "GECA":
            raise RuntimeError("no memory")
        execute(run, *others)

    monkeypatch.setattr(running, "execute", fails)
    failed = running.reproduce(request)
    assert len(failed) == 1 and failed[0].startswith(
        "colors.geca.smoke.seed-1: RuntimeError: no memory"
    )
    assert "Traceback" in next(tmp_path.glob("runs/colors.geca.smoke.seed-1/*.error")).read_text()
    assert len(list(tmp_path.glob("runs/colors.lstm.smoke.seed-1/*/result.json"))) == 1


def test_a_missing_download_names_the_mirror_and_the_other_benchmarks_run(tmp_path):
    request = ReproduceRequest(
        "lexicon-8",
        systems=["LSTM"],
        seeds=[1],
        scale="smoke",
        out=tmp_path,
        offline=True,
        device="cpu",
        jobs=1,
    )
    runs = plan(ReproduceRequest("devil-3", seeds=[1], scale="smoke"))
    runs = [*(run for run in runs if run.benchmark.data == "cfq"), *plan(request)]
    failed = running.run_all(runs, request)
    assert failed and all("nothing can be prepared; download https://" in line for line in failed)
    assert all("or give --mirror a folder with cfq/cfq1.1.tar.gz" in line for line in failed)
    assert len(list(tmp_path.glob("runs/colors.lstm.smoke.seed-1/*/result.json"))) == 1


def test_two_names_of_a_system_share_its_runs():
    names = [run.system.name for run in plan(ReproduceRequest("composition-1"))]
    assert len(names) == 15 * 6
    names = names[:15]
    assert (
        "R-Dangle_sep o=1" in names
        and "R-Dangle_sep [70M]" not in names
        and len(names) == len(set(names))
    )
    found = Result(
        "CoGnition",
        "R-Dangle_sep o=1",
        "full",
        1.0,
        1,
        1,
        "s",
        0,
        1,
        1,
        "cpu",
        {"BLEU cg-test": 60.0},
    )
    lines = compare_runs([found], "full", [all_tables()["composition-1"]])
    assert [line.system for line in lines] == ["R-Dangle_sep [70M]"] and lines[0].ours == 60.0


def test_a_new_version_makes_new_settings():
    request = ReproduceRequest("lexicon-8", systems=["GECA"], seeds=[1, 2])
    first, second = (run.step({"f": "a"}) for run in plan(request))
    assert settings_of(first) == settings_of(second)
    assert settings_of(first) != settings_of(replace(first, revision=first.revision + 1))
    assert settings_of(first) != settings_of(replace(first, inputs={"f": "b"}))


def test_lexicons_are_learnt_from_the_whole_text_and_smoke_takes_a_part_of_it(tmp_path):
    pairs = [(f"w{number}", f"v{number}") for number in range(1500)]
    for side, name in enumerate(("src", "tgt")):
        (tmp_path / f"train.{name}").write_text("".join(f"{pair[side]}\n" for pair in pairs))
    scan = all_benchmarks()["SCAN jump"]
    run = Run(replace(scan, train="train"), scan.systems["LSTM+Lex Simple"], "full", 1)
    train, valid = training_texts(run, tmp_path, ("src", "tgt"), tmp_path / "text")
    lines = [path.read_text().splitlines() for path in (train[0], valid[0])]
    assert [len(part) for part in lines] == [1485, 15] and set(lines[0]).isdisjoint(lines[1])
    entries = json.loads(
        learn_run_lexicon(run, tmp_path, ("src", "tgt"), tmp_path / "text").read_text()
    )
    assert len(entries) == 1500
    few, _ = training_texts(replace(run, scale="smoke"), tmp_path, ("src", "tgt"), tmp_path / "few")
    assert len(few[0].read_text().splitlines()) == 990 == SMOKE["pairs"] * 0.99


def test_t5_is_trained_and_scored_on_marks_that_it_has_pieces_for(tmp_path):
    program = '( ?~= " a < b > c " )'
    for side, line in (("src", "a ~ b"), ("tgt", program)):
        (tmp_path / f"pairs.{side}").write_text(f"{line}\n")
    requests = replace(all_benchmarks()["SMCalFlow-CS 16-C"], train="pairs", valid="pairs")
    run, sides = Run(requests, requests.systems["T5"], "full", 1), ("src", "tgt")
    for source, target in training_texts(run, tmp_path, sides, tmp_path / "text"):
        assert source.read_text() == "a ~ b\n"
        assert target.read_text() == '( ?sim= " a lb b rb c " )\n'
    (tmp_path / "pairs.hypotheses").write_text('( ?sim= " a lb b rb c " )\n')
    requests = replace(requests, tests={"pairs": ["exact match"]})
    run = replace(run, benchmark=requests)
    tested = running.translate_test(run, tmp_path, tmp_path, "pairs", sides, tmp_path, "cpu")
    assert measure_test("exact match", tested) == {"exact match": 100}
    bart = replace(run, system=requests.systems["BART-large"])
    tested = running.translate_test(bart, tmp_path, tmp_path, "pairs", sides, tmp_path, "cpu")
    assert tested.references == [program]


def test_methods_are_scaled_with_the_updates():
    bow, creg = load_preset("transformer_cognition_bow"), load_preset("transformer_cognition_creg")
    assert schedule_changes(bow, "short", 0.1)["method.epochs"] == 1 and bow.method.epochs == 10
    proto = load_preset("proto_cognition")
    assert [
        schedule_changes(proto, "short", part)["model.prototype_epochs"] for part in (0.5, 0.1)
    ] == [4, 1]
    assert (
        schedule_changes(proto, "smoke", 0.0)["model.prototype_epochs"] == 0
    )  # so that they are made at all
    assert (
        schedule_changes(creg, "short", 0.1)["method.ramp_updates"]
        == creg.method.ramp_updates // 10
    )


@pytest.mark.parametrize(
    ("beam", "measure", "limited"),
    [
        (1, "exact match", True),
        (5, "exact match", True),
        (1, "BLEU cg-test", True),
        (5, "BLEU cg-test", False),
    ],
)
def test_no_right_answer_is_cut_short_where_answers_are_compared_whole(
    tmp_path, monkeypatch, beam, measure, limited
):
    asked = []

    def translate(sources, settings, progress):
        asked.append(settings)
        return [SimpleNamespace(text="x")] * len(sources)

    opened = SimpleNamespace(
        translate=translate,
        lengths=lambda lines: np.array([len(line.split()) for line in lines]),
        subwords=SimpleNamespace(encode_target=lambda lines: [line.split() for line in lines]),
    )
    monkeypatch.setattr(ensemble.Ensemble, "open", lambda *given: opened)
    monkeypatch.setattr(
        texts,
        "read_side",
        lambda benchmark, data, split, side: {"s": ["a"], "t": ["x " * 40]}[side],
    )
    colors = all_benchmarks()["Colors"]
    benchmark = replace(colors, tests={"test": [measure]})
    run = SimpleNamespace(
        start=None, benchmark=benchmark, system=replace(colors.systems["LSTM"], beam=beam), rows=0
    )
    running.translate_test(run, tmp_path, tmp_path, "test", ("s", "t"), tmp_path, "cpu")
    (settings,) = asked
    assert settings.beam == beam
    assert (settings.max_length_ratio + settings.max_length_extra >= 40) == limited


def test_rows_over_roberta_are_tested_with_the_beam_of_their_code():
    systems = all_benchmarks()["CFQ MCD1"].systems
    beams = {name: system.beam for name, system in systems.items() if "roberta" in system.init}
    assert beams == dict.fromkeys(
        ("RoBERTa", "RoBERTa Dangle", "RoBERTa+CReg", "RoBERTa COMPOSITION", "RoBERTa LRF"), 5
    )


def test_seeds_are_those_that_a_paper_or_its_code_names():
    tables = all_tables()
    runs = plan(ReproduceRequest("lexicon-3", systems=("LSTM",)))
    seeds = {
        name: [run.seed for run in runs if run.benchmark.name == name]
        for name in ("Colors", "COGS gen")
    }
    assert seeds == {"Colors": list(range(1, 21)), "COGS gen": list(range(1, 11))}
    for name in ("composition-1", "composition-7", "lrf-1", "lrf-4"):
        assert tables[name].seeds_of("CoGnition") == [1, 7, 77, 777, 7777, 77777]
    for name in (
        "r-dangle-4",
        "r-dangle-5",
    ):  # "5 random runs on CoGnition and 3 random runs on ReaCT"
        assert tables[name].seeds_of("CoGnition") == [1, 2, 3, 4, 5]
        assert tables[name].seeds_of("ReaCT") == [1, 2, 3]


def presets_of(benchmark):
    """Preset of every system of a benchmark, as it is run."""
    own = all_benchmarks()[benchmark]
    return {
        name: Run(own, system, "full", 1).preset
        for name, system in own.systems.items()
        if system.preset
    }


@pytest.mark.parametrize(("benchmark", "epochs"), [("CoGnition", 1), ("ReaCT", 3)])
def test_all_systems_of_a_benchmark_are_chosen_by_one_criterion(benchmark, epochs):
    """The scripts take the best by BLEU with beam 5 for the baselines, too, after every (third)
    epoch.
    """
    for name, preset in presets_of(benchmark).items():
        training = preset.training
        found = (
            training.validate_metric,
            training.validate_beam,
            training.validate_every_epochs,
            training.keep,
        )
        if name in ("Transformer+CReg [25M]", "Proto-Transformer [42M]"):
            assert (
                found[0] == "loss" and training.patience == 10
            )  # scripts of their own, traincgmt.sh and train.sh
        else:
            assert found == ("bleu", 5, epochs, "best"), name


def test_one_system_has_one_kind_of_positions():
    """The 2022 models are relative on both sets (R-Dangle, appendix B); Dangle [35M] is absolute
    (COMPOSITION, LRF).
    """
    for benchmark in ("CoGnition", "ReaCT"):
        assert presets_of(benchmark)["Transformer (2022)"].model.positions == "relative"
    cognition = presets_of("CoGnition")
    assert cognition["Dangle (2022)"].model.positions == "relative"
    assert cognition["Dangle [35M]"].model.positions == "sinusoidal"
    assert cognition["COMPOSITION-Half (top three layers)"].model.top_layers == 3


def test_the_test_sets_of_table_2_are_looked_at_on_the_published_side(tmp_path):
    """ReaCT's published row is of the English side, its target; the others are of their source."""
    react = all_benchmarks()["ReaCT"]
    sides = {name: all_benchmarks()[name].side for name in ("COGS", "CoGnition", "CFQ", "ReaCT")}
    assert sides == {"COGS": "source", "CoGnition": "source", "CFQ": "source", "ReaCT": "target"}
    texts = {"train.de": "a b c", "train.en": "x y z", "cg_test.de": "a b c", "cg_test.en": "z y x"}
    for name, text in texts.items():
        (tmp_path / name).write_text(f"{text}\n" * 3)
    splits = {name: {"rows": 3, "files": [], "origin": "released"} for name in react.splits}
    record = {"format": 1, "recipe": react.data, "revision": 1, "version": "", "licence": ""}
    record |= {"missing": [], "notes": [], "splits": splits, "files": {}}
    (tmp_path / RECORD).write_text(json.dumps(record))
    run = Run(react, react.systems["test set"], "full", 1)
    (folder := tmp_path / "run").mkdir()
    running.execute(run, run.step({}), tmp_path, folder, "cpu")
    figures = json.loads((folder / "result.json").read_text())["figures"]
    assert figures == {
        "degree": 1.0,
        "novel word 2-grams": 2.0,
        "novel word 3-grams": 1.0,
    }  # of English


def test_a_given_lexicon_is_read_and_is_part_of_the_key(tmp_path):
    colors = all_benchmarks()["Colors"]
    run = Run(colors, colors.systems["LSTM+Lex Bayesian"], "full", 1)
    assert (
        learn_run_lexicon(run, tmp_path, ("src", "tgt"), tmp_path)
        == tmp_path / "lexicons" / "goodman.json"
    )
    splits = {name: {"files": [f"{name}.src"]} for name in colors.splits}
    record = {
        "splits": splits,
        "files": {"train.src": "1", "test.src": "2", "lexicons/goodman.json": "3"},
    }
    assert inputs_of(run, record) == record["files"]
    other = Run(colors, colors.systems["LSTM+Lex Simple"], "full", 1)
    assert inputs_of(other, record) == {"train.src": "1", "test.src": "2"}
    del record["files"]["lexicons/goodman.json"]
    with pytest.raises(InputError, match=r"LSTM\+Lex Bayesian \(learned\), which learns one"):
        inputs_of(run, record)


def test_a_short_run_validates_ten_times_where_the_paper_does_after_epochs():
    preset = load_preset("composition_cognition")
    short = preset.replace(schedule_changes(preset, "short", 0.1)).training
    assert (
        short.validate_every_epochs == 0 and short.validate_every == short.max_updates // 10 == 1000
    )
    assert schedule_changes(preset, "smoke", 0.0)["training.validate_every_epochs"] == 0


def test_cogs_is_tested_on_the_edition_of_the_papers():
    cogs = all_benchmarks()["COGS gen"]
    assert list(cogs.tests) == ["gen-2020", "dev"] and "gen" not in cogs.splits


def test_what_footnotes_say_to_train_is_there():
    named = [
        name
        for table in all_tables().values()
        for row in (table.why, *table.left_out.values())
        for name in re.findall(r"--model (\S+)", row)
    ]
    assert named and set(named) <= set(list_presets())
