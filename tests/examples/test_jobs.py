"""The scripts of ``examples/`` run, on small texts made here; what they print on real ones is in
``docs/``.

``base-installation.sh`` and ``build-installation.sh`` are run by ``tests/base_installation.py``, in
an environment without other packages.
"""

import gzip
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import click
import pytest

from cgbench.cli import main

FOLDER = Path(__file__).parents[2] / "examples"
ELSEWHERE = {"base-installation.sh", "build-installation.sh"}
SMALL = {"MEMBERS": "2", "JOBS": "1", "UPDATES": "2", "CANDIDATES": "60"}


PYTHON = f"exec {sys.executable}"
COMMANDS = {
    "cgbench": f'{PYTHON} -m cgbench "$@"',
    "python": f'{PYTHON} "$@"',
    "python3": f'{PYTHON} "$@"',
    "sacremoses": f'{PYTHON} -c "from sacremoses.cli import cli; cli()" "$@"',
}


def run(name, tmp_path, commands=COMMANDS, **variables):
    """The script's standard output and standard error; its command is the package at hand."""
    (tmp_path / "bin").mkdir()
    for command, line in commands.items():
        (tmp_path / "bin" / command).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / "bin" / command).chmod(0o755)
    paths = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(FOLDER.parent)}
    words, environment = (
        [
            "bash",
            FOLDER / name,
            tmp_path / "data",
            tmp_path / "out",
        ],
        os.environ | paths | SMALL,
    )
    done = subprocess.run(words, env=environment | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def write(path, lines):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


def some(path, count):
    return path.read_text(encoding="utf-8").splitlines()[:count]


def raw(line):
    """A tokenised line in lower case, as people write it."""
    for mark in (",", "."):
        line = line.replace(f" {mark}", mark)
    return line[0].upper() + line[1:]


def sentences(patterns, words, count, seed=1):
    """Lines of a small grammar: a pattern's fields are drawn from ``words``, alike in all its
    parts.
    """
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        pattern = draw.choice(patterns)
        drawn = {name: draw.choice(pairs) for name, pairs in words.items()}
        lines.append(
            tuple(
                pattern[side].format(**{name: pair[side] for name, pair in drawn.items()})
                for side in (0, 1)
            )
        )
    return lines


@pytest.mark.slow
def test_text_as_people_have_it(demo, data, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("sacremoses")
    sides = [some(demo / f"train.{language}", 900) for language in ("en", "de")]
    write(data / "deu.txt.gz", ("\t".join(map(raw, pair)) for pair in zip(*sides, strict=True)))
    for language in ("de", "en"):
        pool = some(demo / f"pool.{language}", 1_000)
        write(data / f"ted.tok.{language}.gz", pool[:300])
        write(data / f"multi30k.tok.{language}.gz", pool[300:])
        write(data / f"multi30k.raw.{language}", map(raw, pool[300:]))
    printed, said = run("build.sh", tmp_path)
    assert printed.count("exit status 2") == 2
    assert "--detokenize" in said
    assert "written to " in printed
    assert printed.splitlines()[-1].startswith("ok ")
    built = json.loads((tmp_path / "out" / "release" / "manifest.json").read_text())
    assert built["configuration"]["detokenize"]


WORDS_ZH = {
    "who": [("he", "他"), ("she", "她"), ("i", "我"), ("mary", "玛丽"), ("we", "我们")],
    "likes": [
        ("sees", "看见"),
        ("likes", "喜欢"),
        ("wants", "想要"),
        ("finds", "找到"),
        ("buys", "买"),
    ],
    "old": [("old", "旧"), ("small", "小"), ("red", "红色"), ("new", "新")],
    "cat": [("book", "书"), ("car", "车"), ("house", "房子"), ("cup", "杯子"), ("table", "桌子")],
}
PATTERNS_ZH = [
    ("{who} {likes} the {old} {cat} .", "{who} {likes} 那个 {old} 的 {cat} 。"),
    (
        "{who} often say that {who} {likes} the {cat} .",
        "{who} 常常 说 {who} {likes} 那个 {cat} 吗 。",
    ),
]


@pytest.mark.slow
def test_chinese(data, tmp_path):
    for package in ("torch", "sacremoses", "sacrebleu", "jieba"):
        pytest.importorskip(package)
    write(data / "cmn_train_tokenized.tsv", map("\t".join, sentences(PATTERNS_ZH, WORDS_ZH, 300)))
    write(
        data / "cmn_pool_tokenized.tsv",
        map("\t".join, sentences(PATTERNS_ZH[::-1], WORDS_ZH, 300, seed=2)),
    )
    printed, said = run("chinese.sh", tmp_path)
    assert "exit status 2" in printed
    assert "no blanks between its words" in said
    assert printed.count("written to ") == 2


def cogs(count, seed, names):
    patterns = [
        (
            "The {a} saw a {b} .",
            "* {a} ( x _ 1 ) ; see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , x _ 4 )",
        ),
        (
            "A {a} said that {n} liked the {b} .",
            "* {b} ( x _ 7 ) ; {a} ( x _ 1 ) AND like . agent ( x _ 5 , {n} )",
        ),
    ]
    nouns = [
        (noun, noun) for noun in ("dog", "cake", "girl", "box", "frog", "cup", "teacher", "lamp")
    ]
    words = {"a": nouns, "b": nouns, "n": [(name, name) for name in names]}
    return [
        "\t".join([*pair, "in_distribution"]) for pair in sentences(patterns, words, count, seed)
    ]


@pytest.mark.slow
def test_cogs(data, tmp_path):
    pytest.importorskip("torch")
    write(data / "train.tsv", cogs(300, 1, ["Emma", "Liam"]))
    write(data / "gen.tsv", cogs(300, 2, ["Emma", "Noah"]))
    printed, _ = run("cogs.sh", tmp_path)
    assert printed.count("written to ") == 2
    assert "x _ 0" in (tmp_path / "out" / "release" / "test.norm.lf").read_text()
    assert ["COGS", "300"] in [line.split()[:2] for line in printed.splitlines()]


def smcalflow(count, seed, names, flip=False):
    patterns = [
        (
            "Please meet {n} on {d} about the {t}",
            '( Create # ( PersonName " {n} " ) ( {d} ) ( {t} ) )',
        ),
        (
            "When do I see {n} and her boss about the {t}",
            '( Find # ( PersonName " {n} " ) ( Boss ) ( {t} ) )',
        ),
    ]
    if flip:
        patterns = [
            (
                "When do I meet {n} on {d} about her {t}",
                '( Find # ( PersonName " {n} " ) ( {d} ) ( Boss ) ( {t} ) )',
            ),
            (
                "Please see the boss and {n} about {d}",
                '( Create # ( PersonName " {n} " ) ( Boss ) ( {d} ) )',
            ),
        ]
    days, themes = ("monday", "friday", "sunday"), ("budget", "lunch", "plan", "trip", "office")
    words = {"n": names, "d": days, "t": themes}
    words = {name: [(word, word) for word in given] for name, given in words.items()}
    return [
        json.dumps({"utterance": text, "plan": plan})
        for text, plan in sentences(patterns, words, count, seed)
    ]


@pytest.mark.slow
def test_smcalflow(data, tmp_path):
    pytest.importorskip("torch")
    write(data / "num128.train.jsonl", smcalflow(100, 1, ["Elli", "David"]))
    names = [*(f"Name{number}" for number in range(20)), *["Elli", "David"] * 10]
    write(data / "num128.test.jsonl", smcalflow(200, 2, names, flip=True))
    printed, _ = run("smcalflow.sh", tmp_path)
    assert printed.count("written to ") == 2
    assert "person0" in (tmp_path / "out" / "release" / "test.norm.plan").read_text()


TAGS = {
    "The": "DT",
    "A": "DT",
    "a": "DT",
    "the": "DT",
    "saw": "VBD",
    "liked": "VBD",
    ".": ".",
    "that": "IN",
}


@pytest.mark.slow
def test_statistics_with_tags(data, tmp_path):
    pytest.importorskip("spacy")
    lines = cogs(120, 1, ["Emma", "Liam"])
    write(data / "train.tsv", lines)
    write(data / "gen.tsv", cogs(120, 2, ["Emma", "Noah"]))
    bank = []
    for line in lines:
        tree = line.split("\t")[0].split()
        bank += [
            f"{at}\t{word}\t_\tX\t{TAGS.get(word, 'NN')}" + "\t_" * 5
            for at, word in enumerate(tree, 1)
        ] + [""]
    for part in ("train", "dev"):
        write(data / f"en_ewt-ud-{part}.conllu.gz", bank)
    printed, said = run("stats.sh", tmp_path, STEPS="20")
    assert "TAG_ACC" in printed + said
    assert "|pos:model-best@" in printed


@pytest.mark.slow
def test_stop_and_go_on(demo, data, tmp_path):
    for package in ("torch", "sacrebleu"):
        pytest.importorskip(package)
    for part, of, lines in (
        ("train", "train", 1_500),
        ("valid", "valid", 20),
        ("test", "pool", 20),
    ):
        for language in ("de", "en"):
            write(data / f"{part}.{language}", some(demo / f"{of}.{language}", lines))
    printed, _ = run("train.sh", tmp_path, MODEL="tiny", UPDATES="250", STOP="1s")
    stopped, rest = printed.split("== gone on with")
    assert "not finished" in stopped
    assert "250 of 250" in rest
    assert len((tmp_path / "out" / "hypotheses").read_text().splitlines()) == 20
    assert "BLEU|" in rest


def dry_run(name, tmp_path, commands=COMMANDS, **variables):
    """The commands of a script, written down instead of run, without their names; the command line
    takes each.
    """
    asked = tmp_path / "asked"
    note = f'printf "%s\\0" "$@" >> {asked}; printf "\\n" >> {asked}'
    run(name, tmp_path, {**commands, "cgbench": note}, **variables)
    lines = [line.rstrip("\0").split("\0") for line in asked.read_text().splitlines()]
    for words in lines:
        command, context = main, click.Context(main, info_name="cgbench")
        while isinstance(command, click.Group):
            command = command.get_command(context, words.pop(0))
        command.make_context(command.name, words, parent=context)
    return lines


@pytest.mark.slow
def test_the_run_on_real_text_asks_for_what_there_is(data, tmp_path):
    """It takes hours: its commands are written down instead of run, and each is one that the
    command line takes.
    """
    for package in ("sacremoses", "matplotlib"):
        pytest.importorskip(package)
    pairs = [(f"sentence {number} .", f"Satz {number} .") for number in range(250)]
    for name in ("wmt-20k/train", "react/valid", "react/test", "multi30k/train.lc.norm.tok"):
        (data / name).parent.mkdir(exist_ok=True)
        for language, side in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
            write(data / f"{name}.{language}.gz", side)
    for folder in ("tatoeba-de-en", "wmt-opennmt"):
        (data / folder).mkdir()
    write(data / "tatoeba-de-en" / "deu.txt.gz", map("\t".join, pairs))
    for name, side in zip(("src", "tgt"), zip(*pairs, strict=True), strict=True):
        write(data / "wmt-opennmt" / f"{name}-train.txt.gz", side)
    lines = dry_run("real-run.sh", tmp_path, PAIRS="200", SEEDS="1 2")
    trained = [words for words in lines if "--valid" in words]
    assert len(trained) == 1 + 4 + 2 * 5
    assert (
        len([words for words in lines if "--model" in words and "--output" in words]) == 2 * 5 * 5
    )
    train, valid = (
        some(tmp_path / "out" / "text" / f"{name}.en", 250) for name in ("train", "valid")
    )
    assert (len(train), len(valid)) == (200, 2)
    assert set(train).isdisjoint(valid)


def test_the_controls_ask_for_what_there_is(data, tmp_path):
    pytest.importorskip("sacremoses")
    pairs = [(f"sentence {number} .", f"Satz {number} .") for number in range(1_200)]
    for folder in ("tatoeba-de-en", "multi30k", "react"):
        (data / folder).mkdir()
    write(data / "tatoeba-de-en" / "deu.txt.gz", map("\t".join, pairs))
    for name in ("multi30k/train.lc.norm.tok", "react/valid", "react/test"):
        for language, side in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
            write(data / f"{name}.{language}.gz", side[:9])
    out = tmp_path / "out"
    made = [
        f"release/{name}.{form}" for name in ("test", "control") for form in ("en", "norm.en", "de")
    ]
    made += [
        f"{folder}/probes.{form}"
        for folder in ("parts", "parts-train")
        for form in ("source", "target")
    ]
    for name in made:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write(out / name, ["a sentence ."])
    lines = dry_run("controls.sh", tmp_path, {**COMMANDS, "apertium": "cat"}, SEEDS="1 2")
    assert len([words for words in lines if "--valid" in words]) == 1 + 4 + 5 * 2
    assert (
        len([words for words in lines if "--output" in words]) == 4 * 5 * 2 + 4
    )  # the last: by the memory
    assert len([words for words in lines if "--probe-hyp" in words]) == 3
    assert len((out / "text" / "valid.en").read_text().splitlines()) == 1_000


def test_every_script_is_run():
    """Last in this file: the tests above have named what they ran."""
    names = {path.name for path in FOLDER.glob("*.sh")}
    source = Path(__file__).read_text(encoding="utf-8")
    assert {name for name in names if f'run("{name}"' in source} == names - ELSEWHERE
    assert names >= ELSEWHERE
    assert all(os.access(FOLDER / name, os.X_OK) for name in names)
