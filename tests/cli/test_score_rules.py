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
    run("score", "rules", "--rules", "rules.jsonl", "--hyp", "a=h", "--report", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "excludes jail (has 'jail'); " in page.replace("\\u0027", "'") and "<b>word" not in page
