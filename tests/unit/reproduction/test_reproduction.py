"""The parts of a reproduction: texts, measures, scales, and the comparison with published figures."""

import json

import numpy as np
import pytest

from cgbench.data_recipes.geca import mixed
from cgbench.errors import InputError
from cgbench.models.config.presets import load_preset
from cgbench.models.training.schedule import learning_rate
from cgbench.reproduction.measures import Translated, measure
from cgbench.reproduction.plan import scaled
from cgbench.reproduction.report import Result, compare
from cgbench.reproduction.tables import all_benchmarks, all_tables
from cgbench.reproduction.texts import held_out

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
    rows = np.arange(len(sources))
    return Translated(
        benchmark or all_benchmarks()["Colors"],
        tmp_path,
        "test",
        ("s", "t"),
        rows,
        sources,
        references,
        hypotheses,
        ("train",),
    )


def test_exact_match_of_all_and_of_groups(tmp_path):
    found = translated(
        tmp_path, ["a", "b", "a"], ["x y", "y", "z"], ["x  y", "n", ""], **{"test.type": ["p", "q", "p"]}
    )
    assert measure("exact match", found)["exact match"] == pytest.approx(100 / 3)
    assert measure("exact match by source", found) == {"exact match: a": 50.0, "exact match: b": 0.0}
    assert measure("exact match by type", found) == {"exact match: p": 50.0, "exact match: q": 0.0}


def test_one_shot_bleu_takes_all_references_and_sentences_with_rare_words(tmp_path):
    """A word that the training text has once decides; a reference may stand in the training text."""
    train = {"train.s": ["a b c d", "a b c d once"], "train.t": ["1 2 3 4", "6 7 8 9 0"]}
    sources, references = ["a b c d", "a b c d once"], ["4 3 2 1", "0 9 8 7 6"]
    right = measure("BLEU with one-shot words", translated(tmp_path, sources, references, ["1 2 3 4", "x"], **train))
    assert right["BLEU 1-shot"] == 0 < right["BLEU full"] < 100
    other = measure("BLEU with one-shot words", translated(tmp_path, sources, references, ["x", "6 7 8 9 0"], **train))
    assert other["BLEU 1-shot"] == pytest.approx(100)


def test_empty_words_are_trained_on_and_scored_where_the_authors_see_them(tmp_path):
    from dataclasses import replace

    from cgbench.reproduction.plan import Run
    from cgbench.reproduction.texts import learn_dictionaries, training_texts

    tatoeba = replace(all_benchmarks()["Tatoeba en-zh"], valid="", dictionary=())
    for side, text in (("s", "a b c d once\n"), ("t", "1  2 3\n")):
        (tmp_path / f"train.{side}").write_text(text)
    run = Run(tatoeba, tatoeba.systems["LSTM"], "full", 1)
    train, _ = training_texts(run, tmp_path, ("s", "t"), tmp_path / "text")
    assert train[1].read_text() == "1 ␣ 2 3\n"
    assert "␣" in learn_dictionaries(run, tmp_path, ("s", "t"), train, tmp_path / "text").target
    for hypothesis, value in (("1 ␣ 2 3", 100), ("1 2 3", 0)):
        found = translated(tmp_path, ["a b c d once"], ["1  2 3"], [hypothesis], tatoeba)
        assert measure("BLEU with one-shot words", found)["BLEU full"] == pytest.approx(value)


def test_figures_of_generated_data_say_so():
    from dataclasses import replace

    runs = [replace(result("LSTM", 1, 0.0, "Colors"), generated=("train",))]
    assert [line.schedule for line in compare(runs, "full", [all_tables()["lexicon-3"]])] == ["full; generated data"]


def test_scales_change_the_schedule_alone():
    preset = load_preset("lstm_lexicon_cogs")
    assert scaled(preset, "full", 1.0) == {}
    short = preset.replace(scaled(preset, "short", 0.05))
    assert (short.training.max_updates, short.training.warmup_updates, short.training.patience) == (400, 200, 0)
    peaks = [max(learning_rate(own.training, update, 512) for update in range(1, 8001)) for own in (preset, short)]
    assert peaks[0] == pytest.approx(peaks[1])
    assert short.model == preset.model and short.training.batch_sentences == preset.training.batch_sentences
    smoke = preset.replace(scaled(preset, "smoke", 0.0))
    assert smoke.training.max_updates < 10 and smoke.model == preset.model


def result(system, seed, value, benchmark="COGS gen"):
    return Result(benchmark, system, "full", 1.0, seed, 10, "same", 0, seed, 1, "cpu", {"exact match": value})


def test_the_best_of_several_is_compared_and_the_spread_decides():
    runs = [result("Transformer PED", seed, value) for seed, value in enumerate((78.0, 80.0, 84.0), 1)]
    runs += [result("Transformer TEU", 1, 70.0)]
    (line,) = compare(runs, "full", [all_tables()["devil-3"]])
    assert (line.system, line.best, line.seeds) == ("Transformer", "Transformer PED", 3)
    assert line.ours == pytest.approx(242 / 3) and line.deviation == pytest.approx(3.0551, abs=1e-3)
    assert line.published == "80" and line.within is True
    near = [result("Transformer TEU", seed, value) for seed, value in enumerate((80.9, 80.9), 1)]
    assert compare(near, "full", [all_tables()["devil-7"]])[0].within is True  # 78 ± 3 there
    far = [result("Transformer PED", seed, value) for seed, value in enumerate((50.0, 51.0), 1)]
    assert compare(far, "full", [all_tables()["devil-3"]])[0].within is False
    single = compare(runs[3:], "full", [all_tables()["devil-7"]])
    assert [(line.system, line.within) for line in single] == [("Transformer TEU", None)]


def test_a_median_is_taken_where_the_paper_takes_it():
    runs = [result("Relative", seed, value, "SCAN length cutoff 26") for seed, value in enumerate((0.0, 60.0, 62.0), 1)]
    assert [line.ours for line in compare(runs, "full", [all_tables()["devil-1"]])] == [60.0]


def test_a_run_that_was_stopped_goes_on_after_its_training(tmp_path, monkeypatch):
    from cgbench.data_recipes.registry import find_recipe
    from cgbench.data_recipes.writer import get
    from cgbench.models.training import loop as training
    from cgbench.reproduction import running
    from cgbench.reproduction.plan import Run

    colors = all_benchmarks()["Colors"]
    run = Run(colors, colors.systems["LSTM+Lex Simple"], "smoke", 1)
    get(find_recipe("colors"), tmp_path / "colors", offline=True)
    trained = []
    train_member = training.train_member

    def counted(*words, **options):
        trained.append((words[5] / "config.json").exists())
        return train_member(*words, **options)

    def stopped(name, found):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train_member", counted)
    measure_ = running.measure
    monkeypatch.setattr(running, "measure", stopped)
    (folder := tmp_path / "run").mkdir()
    with pytest.raises(KeyboardInterrupt):
        running.execute(run, run.step({}), tmp_path / "colors", folder, "cpu", False)
    monkeypatch.setattr(running, "measure", measure_)
    running.execute(run, run.step({}), tmp_path / "colors", folder, "cpu", False)
    assert trained == [False, True]  # the second time the model was there
    running.execute(run, run.step({}), tmp_path / "colors", folder, "cpu", False)
    assert len(trained) == 2  # stopped after the figures were written: nothing is made again
    assert {path.name for path in folder.iterdir()} == {"result.json", "test.hypotheses", "metrics.jsonl"}
    result = json.loads((folder / "result.json").read_text())
    assert result["generated"] == [] and result["rows"] == 0  # the whole test; as released


def test_data_are_released_generated_or_refused(tmp_path):
    from cgbench.data_recipes.writer import RECORD
    from cgbench.files import read_json, write_json
    from cgbench.reproduction.running import generated_splits, prepare

    jump, said = all_benchmarks()["SCAN jump"], []
    prepare(jump, tmp_path, None, True, said.append)
    folder = tmp_path / "data" / "scan"
    record = read_json(folder / RECORD)
    assert generated_splits(record, jump) == ["addprim_jump/train", "addprim_jump/test"] and "--mirror" in said[-1]
    lines = (folder / "template_around_right" / "train.src").read_text().splitlines()
    assert any(" and " in line for line in lines[-len(lines) // 5 :])  # not in the order of the grammar, where it ends
    for split in jump.splits:
        record["splits"][split]["origin"] = "released"
    write_json(folder / RECORD, record)
    prepare(jump, tmp_path, None, True, said.append)  # unchanged: taken as it is
    (folder / "addprim_jump" / "test.src").write_text("run\n")
    with pytest.raises(InputError, match="name them with --mirror, or remove the folder"):
        prepare(jump, tmp_path, None, True, said.append)
    assert (folder / "addprim_jump" / "test.src").read_text() == "run\n"


def test_a_run_that_fails_is_named_and_the_others_go_on(tmp_path, monkeypatch):
    from cgbench.reproduction import running
    from cgbench.reproduction.plan import plan

    runs = plan(all_tables()["lexicon-8"], ["LSTM", "GECA"], [1], "smoke")
    execute = running.execute

    def fails(run, *others):
        if run.system.name == "GECA":
            raise RuntimeError("no memory")
        execute(run, *others)

    monkeypatch.setattr(running, "execute", fails)
    failed = running.run_all(runs, tmp_path, offline=True)
    assert len(failed) == 1 and failed[0].startswith("colors.geca.smoke.seed-1: RuntimeError: no memory")
    assert "Traceback" in next(tmp_path.glob("runs/colors.geca.smoke.seed-1/*.error")).read_text()
    assert len(list(tmp_path.glob("runs/colors.lstm.smoke.seed-1/*/result.json"))) == 1


def test_two_names_of_a_system_share_its_runs():
    from cgbench.reproduction.plan import plan

    names = [run.system.name for run in plan(all_tables()["composition-1"], [], [1], "full")]
    assert "R-Dangle_sep o=1" in names and "R-Dangle_sep [70M]" not in names and len(names) == len(set(names))
    found = Result("CoGnition", "R-Dangle_sep o=1", "full", 1.0, 1, 1, "s", 0, 1, 1, "cpu", {"BLEU cg-test": 60.0})
    lines = compare([found], "full", [all_tables()["composition-1"]])
    assert [line.system for line in lines] == ["R-Dangle_sep [70M]"] and lines[0].ours == 60.0


def test_a_new_version_makes_new_settings():
    from dataclasses import replace

    from cgbench.reproduction.plan import plan
    from cgbench.reproduction.running import settings_of

    first, second = (run.step({"f": "a"}) for run in plan(all_tables()["lexicon-8"], ["GECA"], [1, 2], "full"))
    assert settings_of(first) == settings_of(second)
    assert settings_of(first) != settings_of(replace(first, revision=first.revision + 1))
    assert settings_of(first) != settings_of(replace(first, inputs={"f": "b"}))


def test_lexicons_are_learnt_from_the_whole_text_and_smoke_takes_a_part_of_it(tmp_path):
    from dataclasses import replace

    from cgbench.reproduction.plan import SMOKE, Run
    from cgbench.reproduction.texts import learn_run_lexicon, training_texts

    pairs = [(f"w{number}", f"v{number}") for number in range(1500)]
    for side, name in enumerate(("src", "tgt")):
        (tmp_path / f"train.{name}").write_text("".join(f"{pair[side]}\n" for pair in pairs))
    scan = all_benchmarks()["SCAN jump"]
    run = Run(replace(scan, train="train"), scan.systems["LSTM+Lex Simple"], "full", 1)
    train, valid = training_texts(run, tmp_path, ("src", "tgt"), tmp_path / "text")
    lines = [path.read_text().splitlines() for path in (train[0], valid[0])]
    assert [len(part) for part in lines] == [1485, 15] and set(lines[0]).isdisjoint(lines[1])
    entries = json.loads(learn_run_lexicon(run, tmp_path, ("src", "tgt"), tmp_path / "text").read_text())
    assert len(entries) == 1500
    few, _ = training_texts(replace(run, scale="smoke"), tmp_path, ("src", "tgt"), tmp_path / "few")
    assert len(few[0].read_text().splitlines()) == 990 == SMOKE["pairs"] * 0.99


def test_methods_are_scaled_with_the_updates():
    bow, creg = load_preset("transformer_cognition_bow"), load_preset("transformer_cognition_creg")
    assert scaled(bow, "short", 0.1)["method.epochs"] == 1 and bow.method.epochs == 10
    assert scaled(creg, "short", 0.1)["method.ramp_updates"] == creg.method.ramp_updates // 10


def test_the_limit_of_length_is_as_wide_as_the_longest_right_answer():
    from types import SimpleNamespace

    from cgbench.reproduction.running import _length_limit

    subwords = SimpleNamespace(encode_target=lambda lines: [line.split() for line in lines])
    ensemble = SimpleNamespace(lengths=lambda lines: np.array([len(line.split()) for line in lines]), subwords=subwords)
    limit = _length_limit(ensemble, ["a b", "a"], ["x", "x " * 40])
    assert limit["max_length_ratio"] * 1 + limit["max_length_extra"] >= 40
    assert _length_limit(ensemble, ["a b"], ["x"])["max_length_extra"] == 10
