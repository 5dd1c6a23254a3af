"""``cgbench score rules``: rules, verdicts, people, and what reads its output."""

import json
import re

import numpy as np
import pytest

import cgbench


@pytest.fixture
def files(tmp_path, monkeypatch):
    """300 examples in 60 documents: a rule that is checked and one that a judge decides."""
    monkeypatch.chdir(tmp_path)
    chance = np.random.default_rng(3)
    rows, outputs, verdicts = [], {"good": [], "poor": []}, ["id,system,rule,pass"]
    for row in range(300):
        rules = [
            {"type": "contains", "any": ["cat"], "name": "animal"},
            {"type": "verdict", "name": "polite"},
        ]
        rows.append(
            {"id": f"e{row}", "rules": rules, "document": f"d{row // 5}", "source": f"s {row}"}
        )
        for system, rate in (("good", 0.8), ("poor", 0.5)):
            outputs[system].append("a cat" if chance.random() < rate else "a dog")
            verdicts.append(f"e{row},{system},polite,{int(chance.random() < rate)}")
    (tmp_path / "rules.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "verdicts.csv").write_text("\n".join(verdicts) + "\n")
    for system, texts in outputs.items():
        (tmp_path / system).write_text("".join(f"{text}\n" for text in texts))
        submission = [
            {"id": f"e{row}", "translation": text} for row, text in reversed(list(enumerate(texts)))
        ]
        (tmp_path / f"{system}.json").write_text(json.dumps(submission))
    return tmp_path


WORDS = ("score", "rules", "--rules", "rules.jsonl", "--verdicts", "verdicts.csv")


def test_shares_of_examples_and_rules(files, run):
    texts = {name: (files / name).read_text().splitlines() for name in ("good", "poor")}
    verdicts = {
        (system, key): int(mark)
        for key, system, _, mark in (
            line.split(",") for line in (files / "verdicts.csv").read_text().splitlines()[1:]
        )
    }
    both = [("cat" in text) + verdicts["good", f"e{row}"] for row, text in enumerate(texts["good"])]
    result = cgbench.rules(
        {name: str(files / name) for name in texts},
        rules="rules.jsonl",
        verdicts="verdicts.csv",
        paired=True,
        cluster=["document"],
    )
    figures = result.figures["good"]
    assert figures["examples"] == pytest.approx(100 * sum(count == 2 for count in both) / 300)
    assert figures["rules"] == pytest.approx(100 * sum(both) / 600)
    assert "clusters" in str(result)
    kinds = {(row.system, row.bin): row for row in result.rows() if row.analysis == "kinds"}
    assert kinds["good", "animal"].n == 300
    assert kinds["good", "animal"].value == pytest.approx(
        100 * sum("cat" in text for text in texts["good"]) / 300
    )
    # a submission in another order is joined by id
    plain = run(*WORDS, "--hyp", "good=good", "--hyp", "poor=poor", "--paired").stdout
    assert (
        run(*WORDS, "--hyp", "good=good.json", "--hyp", "poor=poor.json", "--paired").stdout
        == plain
    )
    assert "polite" in plain and "animal" in plain


def test_people_correct_a_judge(files, run):
    """A judge that passes everything: people judge 60 of the examples."""
    lines = (files / "verdicts.csv").read_text().splitlines()
    (files / "people.csv").write_text("\n".join(lines[:121]) + "\n")
    (files / "verdicts.csv").write_text(
        "\n".join([lines[0], *(f"{line[:-1]}1" for line in lines[1:])]) + "\n"
    )
    verdicts = {line.split(",")[0]: int(line[-1]) for line in lines[1:] if ",good," in line}
    outputs = (files / "good").read_text().splitlines()
    right = [("cat" in text) and verdicts[f"e{row}"] for row, text in enumerate(outputs)]
    printed = run(
        *WORDS,
        "--hyp",
        "good=good",
        "--hyp",
        "poor=poor",
        "--people",
        "people.csv",
        "--format",
        "json",
    )
    good = json.loads(printed.stdout)[0]
    (mean,) = good["people"]
    assert mean["judged"] == 60 and mean["alone"] == pytest.approx(100 * sum(right[:60]) / 60)
    truth, judged = 100 * sum(right) / 300, 100 * sum("cat" in text for text in outputs) / 300
    assert (
        mean["powered_low"] < truth < mean["powered_high"] < judged == pytest.approx(good["value"])
    )


@pytest.fixture
def half_mechanical(files):
    """The last 150 examples lose their verdict rule, and "good" passes all rules of these."""
    rows = [json.loads(line) for line in (files / "rules.jsonl").read_text().splitlines()]
    for row in rows[150:]:
        row["rules"] = row["rules"][:1]
    (files / "rules.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    outputs = (files / "good").read_text().splitlines()
    (files / "good").write_text("\n".join(outputs[:150] + ["a cat"] * 150) + "\n")
    verdicts = (files / "verdicts.csv").read_text().splitlines()[:301]
    (files / "verdicts.csv").write_text("\n".join(verdicts) + "\n")
    people = [line for line in verdicts if ",good," in line][:60]
    return [verdicts[0], *people]


def test_examples_without_verdict_rules_are_known(files, half_mechanical, run):
    """As examples that nobody judged, they pulled the estimate to that of the verdict examples."""
    (files / "people.csv").write_text("\n".join(half_mechanical) + "\n")
    words = (*WORDS, "--hyp", "good=good", "--people", "people.csv", "--format", "json")
    (mean,) = json.loads(run(*words).stdout)["people"]
    outputs = (files / "good").read_text().splitlines()
    marks = [int(line[-1]) for line in half_mechanical[1:]]
    right = [mark and "cat" in text for mark, text in zip(marks, outputs, strict=False)]
    assert mean["judged"] == 60
    assert mean["alone"] == pytest.approx(50 + 50 * sum(right) / 60)


@pytest.mark.parametrize("rule", ["", "animal", "1"])
def test_people_check_rules_that_need_no_verdict(files, half_mechanical, run, rule):
    """A person's row about an example or a rule that cgbench checks is agreement, not an error."""
    header = half_mechanical[0] if rule else "id,system,pass"
    rows = (
        half_mechanical[1:] if rule else [row.replace(",polite", "") for row in half_mechanical[1:]]
    )
    middle = f"{rule}," if rule else ""
    checks = [f"e200,good,{middle}1", f"e201,good,{middle}0"]
    (files / "people.csv").write_text("\n".join([header, *rows, *checks]) + "\n")
    words = (*WORDS, "--hyp", "good=good", "--people", "people.csv")
    printed = run(*words)
    assert "people disagree with rules that need no verdict in 1 of 2 rows" in printed.stderr
    assert "first in example e201 (good); the rules count" in printed.stderr
    assert "human" in printed.stdout
    (files / "people.csv").write_text("\n".join([header, *checks]) + "\n")
    assert "no verdict on a rule of the type verdict" in run(*words).stderr


def test_other_rules_that_people_name_are_errors(files, half_mechanical, run):
    rows = [*half_mechanical, "e200,good,anmal,1"]
    (files / "people.csv").write_text("\n".join(rows) + "\n")
    error = run(*WORDS, "--hyp", "good=good", "--people", "people.csv", status=2).stderr
    assert "the example has no rule 'anmal'; did you mean animal?" in error


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--hyp", "a=good"), "rules are needed: give --rules"),
        (("--rules", "rules.jsonl"), "has no outputs of systems; give --hyp"),
        (
            ("--rules", "rules.jsonl", "--hyp", "good=good"),
            "no output or no verdict of some system.*--verdicts",
        ),
        (
            ("--rules", "rules.jsonl", "--hyp", "a=short", "--verdicts", "verdicts.csv"),
            "short has 1 lines and",
        ),
        (
            ("--rules", "rules.jsonl", "--hyp", "good=good,poor"),
            "good has 2 runs, but a verdict names a system",
        ),
        (
            ("--rules", "plain.jsonl", "--hyp", "a=short", "--people", "verdicts.csv"),
            "has no rule of the type verdict",
        ),
        (
            (*WORDS[2:], "--hyp", "good=good", "--people", "verdicts.csv"),
            "'poor' is not one of the systems",
        ),
    ],
)
def test_what_is_missing(files, run, words, line):
    (files / "short").write_text("a\n")
    (files / "plain.jsonl").write_text('{"id": 1, "rules": [{"type": "contains", "any": ["a"]}]}\n')
    error = run("score", "rules", *words, status=2).stderr
    assert len(error.splitlines()) == 1
    assert re.search(line, error), error


def test_missing_verdicts_are_left_out_and_contradictions_told(files, run):
    text = (
        (files / "verdicts.csv")
        .read_text()
        .replace("e0,good,polite,1\n", "")
        .replace("e0,good,polite,0\n", "")
    )
    (files / "verdicts.csv").write_text(text)
    (files / "poor").write_text((files / "good").read_text())
    error = run(*WORDS, "--hyp", "good=good", "--hyp", "poor=poor", "--drop-missing").stderr
    assert "1 of 300 examples are left out of all systems" in error
    assert "the judge contradicts itself: equal outputs have different verdicts in" in error


def test_records_of_every_eval_ever_hold_the_outputs(files, run):
    run(
        *WORDS,
        "--hyp",
        "dev/good=good",
        "--hyp",
        "dev/poor=poor",
        "--set",
        "every_eval_ever=eee",
        status=2,
    )
    text = (
        (files / "verdicts.csv")
        .read_text()
        .replace(",good,", ",dev/good,")
        .replace(",poor,", ",dev/poor,")
    )
    (files / "verdicts.csv").write_text(text)
    run(*WORDS, "--hyp", "dev/good=good", "--hyp", "dev/poor=poor", "--set", "every_eval_ever=eee")
    (samples,) = (files / "eee/data").rglob("good/*_samples.jsonl")
    first = json.loads(samples.read_text().splitlines()[0])
    assert first["output"]["raw"] == [(files / "good").read_text().splitlines()[0]]
    assert first["evaluation"]["is_correct"] in (True, False) and first["sample_id"] == "e0"


def test_the_page_says_which_rules_fail_and_what_is_there(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    rules = [
        {"type": "excludes", "any": ["jail"]},
        {"type": "contains", "any": ["prison"], "name": "<b>word"},
    ]
    (tmp_path / "rules.jsonl").write_text(
        "".join(f"{json.dumps({'id': row, 'rules': rules})}\n" for row in range(6))
    )
    (tmp_path / "h").write_text("a jail\n" * 6)
    run("score", "rules", "--rules", "rules.jsonl", "--hyp", "a=h", "--output", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "excludes jail (has 'jail'); " in page.replace("\\u0027", "'") and "<b>word" not in page


ANIMALS = ("Hund", "Katze", "Vogel", "Fisch", "Pferd", "Kuh", "Maus", "Käse", "Brot", "Wein")


@pytest.fixture
def animals(tmp_path):
    """Rules with ids 1 to 10, and right outputs."""
    rows = [
        {"id": number, "source": f"x {number}", "rules": [{"type": "contains", "any": [word]}]}
        for number, word in enumerate(ANIMALS, 1)
    ]
    (tmp_path / "rules.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def outputs_of(rows, kind):
    lines = [
        f"Ich sehe {word} „heute“ größer {'&' if row % 4 == 0 else 'und'} schöner."
        for row, word in enumerate(rows)
    ]
    return {
        "as they are": lines,
        "mojibake": [line.encode().decode("latin-1") for line in lines],
        "entities": [line.replace("&", "&amp;").replace("ö", "&ouml;") for line in lines],
        "SentencePiece": ["▁" + line.replace(" ", " ▁") for line in lines],
        "subword-nmt": [line.replace("se", "s@@ e") for line in lines],
        "soft hyphens": [line.replace("he", "h\u00ade") for line in lines],
        "no width": [line.replace(" ", " \u200b") for line in lines],
        "JSON": [json.dumps(line) for line in lines],
        "ID": [f"{row}\t{line}" for row, line in enumerate(lines)],
        "end": [f"{line}</s>" for line in lines],
        "reasoning": [f"<think>{' '.join(ANIMALS)}?</think>{line}" for line in lines],
    }[kind]


@pytest.mark.parametrize("kind", [
    "mojibake", "entities", "SentencePiece", "subword-nmt", "soft hyphens", "no width", "JSON",
    "ID", "end",
])  # fmt: skip
def test_outputs_that_are_not_text_stop(animals, run, kind):
    (animals / "a").write_text("".join(f"{line}\n" for line in outputs_of(ANIMALS, kind)))
    words = ("score", "rules", "--rules", animals / "rules.jsonl", "--hyp", f"a={animals / 'a'}")
    error = run(*words, status=2).stderr
    assert "Remedy: " in error and "--accept-text takes the text as it is" in error
    assert "warning: a: " in run(*words, "--accept-text").stderr


def test_reasoning_is_cut_as_in_logs(animals, run):
    """In a file as in the answers of servers and in logs."""
    for kind in ("as they are", "reasoning"):
        (animals / kind).write_text("".join(f"{line}\n" for line in outputs_of(ANIMALS, kind)))
    words = ("score", "rules", "--rules", animals / "rules.jsonl", "--format", "json", "--hyp")
    plain, cut = (run(*words, f"a={animals / kind}") for kind in ("as they are", "reasoning"))
    expected = "10 of 10 answers contain reasoning (<think>), which was left out"
    assert expected in cut.stderr and json.loads(plain.stdout) == json.loads(cut.stdout)


@pytest.mark.parametrize("order", [range(10), range(10)[::-1], [3, 1, 0, 2, *range(4, 10)]])
def test_ids_that_count_rows_are_joined_in_any_order(animals, values, order):
    table = "".join(f"{row + 1}\t{outputs_of(ANIMALS, 'as they are')[row]}\n" for row in order)
    (animals / "a.tsv").write_text(f"id\ttext\n{table}")
    words = ("score", "rules", "--rules", animals / "rules.jsonl")
    for options in ([], ["--id", "id"]):
        assert values(*words, "--hyp", f"a={animals / 'a.tsv'}:text", *options)[0] == 100
    (animals / "a.tsv").write_text(f"id\ttext\n{table[: table.rindex(chr(10), 0, -1) + 1]}")
    found = values(*words, "--hyp", f"a={animals / 'a.tsv'}:text", "--drop-missing")
    assert found[0] == 100


def test_verdicts_are_those_of_the_outputs_that_they_judge(animals, run):
    entry = {"model": "m1", "translation": "good", "verified": [True]}
    row = {"id": "x", "source_text": "a", "verification_rules": ["One."], "translations": [entry]}
    (animals / "v1.json").write_text(json.dumps([row]))
    (animals / "same").write_text("good\n")
    (animals / "other").write_text("bad\n")
    words = ("score", "rules", "--rules", animals / "v1.json", "--hyp")
    assert "100.0" in run(*words, f"m1={animals / 'same'}").stdout
    assert "no output or no verdict" in run(*words, f"m1={animals / 'other'}", status=2).stderr


def test_kinds_and_names_of_rules_are_one_family_of_tests(tmp_path):
    """Holm's correction over ten names, a type and two systems: a p of 0.02 of one is no star."""
    chance = np.random.default_rng(1)
    names = [f"word{number}" for number in range(10)]
    rows = [
        {"id": row, "rules": [{"type": "contains", "any": [name], "name": name} for name in names]}
        for row in range(200)
    ]
    (tmp_path / "rules.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    texts = {
        system: [" ".join(name for name in names if chance.random() < 0.5) + "." for _ in rows]
        for system in ("a", "b", "c")
    }
    found = cgbench.rules(
        texts, rules=str(tmp_path / "rules.jsonl"), paired=True, baseline="a", accept_text=True
    )
    kinds = [row for row in found.rows() if row.analysis == "kinds" and row.p_value is not None]
    assert len(kinds) == 22
    p_values = sorted(row.p_value for row in kinds)
    smallest = min(kinds, key=lambda row: row.p_value)
    assert smallest.p_holm == pytest.approx(min(1, 22 * p_values[0]))
    assert not any(row.mark for row in kinds)
