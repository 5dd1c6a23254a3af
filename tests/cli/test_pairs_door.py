"""Pairs that a user names go through one check, whichever command receives them.

The table names an invocation for every option that takes pairs; the options are derived from the
commands, so a new one is missing here until it stops.
"""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from fake_openai import Fake, serving
from invented_pairs import invented_pairs, shifted, write_pairs

from cgbench.cli import main
from cgbench.errors import InputError
from cgbench.request import leaves_of

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")

NO_PAIRS = {
    **dict.fromkeys(("stats train", "stats tests"), "one side of it is read"),
    **dict.fromkeys(("report train", "report pools", "restore pools"), "the text of a build"),
    **dict.fromkeys(("augment csl out", "augment geca out"), "written"),
}


def commands(command=main, words=()):
    """All commands with their words."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*words, name))
    else:
        yield " ".join(words), command


def options_with_pairs():
    """Every option or argument that takes pairs, by command and field."""
    for words, command in commands():
        function, kinds = command.callback, ()
        while function and not kinds:
            kinds, function = getattr(function, "kinds", ()), getattr(function, "__wrapped__", None)
        names = {parameter.name for parameter in command.params}
        for kind in kinds:
            for field in leaves_of(kind).values():
                if field.kind and field.kind.name in ("corpus", "corpora") and field.name in names:
                    yield f"{words} {field.name}"


ENOUGH = "this test needs no new pairs"
PAIRS = invented_pairs(600)
OTHERS = invented_pairs(600, seed=2)


class Texts:
    """Files of a test: ``bad`` is shifted from its middle on if ``is_shifted``."""

    def __init__(self, folder, release, is_shifted):
        self.folder, self.release = folder, release
        pairs = shifted(PAIRS, 300, 1) if is_shifted else PAIRS[:-1]
        self.bad = write_pairs(folder, "bad", pairs)
        self.good = write_pairs(folder, "good", OTHERS)
        self.more = write_pairs(folder, "more", invented_pairs(600, seed=3))
        self.out = str(folder / "out")
        hypotheses = [target for _, target in pairs]
        self.lines = str(folder / "hypotheses")
        (folder / "hypotheses").write_text("".join(f"{line}\n" for line in hypotheses))


def built(texts, option, *words):
    named = {"--train": texts.good, "--pool": texts.more, option: texts.bad}
    if option == "--corpus":
        named = {option: texts.bad}
    more = [word for name, files in named.items() for word in (name, *files)]
    return ("--out", texts.out, "--until", "candidates", "--preset", "small", *more, *words)


def trained(texts, option):
    named = {"--train": texts.good, option: texts.bad}
    more = [word for name, files in named.items() for word in (name, *files)]
    return ("--out", texts.out, "--model", "tiny", "--dry-run", *more)


def augmented(texts, method, option):
    corpus, test = (texts.bad, texts.good) if option == "corpus" else (texts.good, texts.bad)
    tables = []
    for name, (source, target) in (("corpus", corpus), ("test", test)):
        sides = [Path(side).read_text().splitlines() for side in (source, target)]
        tables.append(texts.folder / f"{name}.tsv")
        tables[-1].write_text("".join(f"{a}\t{b}\n" for a, b in zip(*sides, strict=True)))
    return (str(tables[0]), "--test", str(tables[1]), "--out", str(texts.folder / "new.tsv"))


def parted(texts, option):
    named = {"--test": texts.good, "--train": texts.good, "--from": texts.good, option: texts.bad}
    more = [word for name, files in named.items() for word in (name, *files)]
    return ("--out", texts.out, *more)


def with_memory(texts, metric):
    words = ("--source", texts.bad[0], "--ref", texts.lines, "--hyp", f"a={texts.lines}")
    return (*words, "--memory", *texts.bad)


def compounds_of(texts):
    """Files of ``score cter``."""
    compounds = texts.folder / "compounds"
    words = [line.split()[0] for line in Path(texts.bad[0]).read_text().splitlines()]
    compounds.write_text("".join(f"{word}\n" for word in words))
    for name, row in (("lexicon", "{0}\tZ\n"), ("atoms", "N\t{0}\t{0}\n")):
        (texts.folder / name).write_text("".join(map(row.format, sorted({*words}))))
    files = ("--lexicon", str(texts.folder / "lexicon"), "--compounds", str(compounds))
    settings = ("--set", "group_size=1", "--set", f"atoms={texts.folder / 'atoms'}")
    return (*files, *settings, "--source", texts.bad[0], "--hyp", f"a={texts.lines}")


def validated(texts):
    words = [str(texts.release.folder)]
    for option, name in (("--hyp", "test"), ("--control-hyp", "control")):
        lines = texts.release.set_lines(name, "target")
        file = texts.folder / f"hypotheses{option}"
        file.write_text("".join(f"{line}\n" for line in lines))
        words += [word for system in "abc" for word in (option, f"{system}={file}")]
    return (*words, "--metric", "chrf", "--controls", *texts.bad)


def exported(texts):
    words = (str(texts.release.folder), "--to", "lm-eval", "--out", texts.out, "--shots", "2")
    return (*words, "--shots-from", *texts.bad)


def translated(texts, url):
    (texts.folder / "sources").write_text("k1o k2o\n")
    words = (str(texts.folder / "sources"), "--system", f"{url}?model=m", "--output", texts.out)
    return (*words, "--prompt", "{shots} {source}", "--shots", "2", "--shots-from", *texts.bad)


def do_not_augment(monkeypatch):
    """Making new pairs is slow, and comes after the check."""

    def refuse(*_):
        raise InputError(ENOUGH)

    for method in ("augmentation.augment", "csl.augment_csl.sample_csl"):
        monkeypatch.setattr(f"cgbench.data_recipes.{method}", refuse)


def arguments_of(door, texts, url):
    """The arguments of an invocation, of which some need a server."""
    return STOPS[door](texts) if door in STOPS else SERVED[door](texts, url)


def accepting(words):
    """The words that accept the text in a command."""
    has_option = words == "build-react" or words.startswith("score")
    return "--accept-text" if has_option else "--set accept_text=true"


STOPS = {
    **{
        f"build-react {name}": lambda texts, option=option: built(texts, option)
        for name, option in (
            ("train", "--train"),
            ("corpus", "--corpus"),
            ("pools", "--pool"),
            ("exclude", "--exclude"),
        )
    },
    "split corpus": lambda texts: (
        *("--out", texts.out, "--set", "random_splits=0"),
        *("--method", "random", "--corpus", *texts.bad),
    ),
    "split train": lambda texts: (
        *("--out", texts.out, "--set", "random_splits=0", "--set", "exchanges=0"),
        *("--set", "test_size=9", "--train", *texts.bad, "--corpus", *texts.good),
    ),
    "lexicon learn corpus": lambda texts: (*texts.bad, "--out", f"{texts.out}.json"),
    **{
        f"{command} {name}": lambda texts, option=option: trained(texts, option)
        for command in ("train", "train-ensemble")
        for name, option in (("corpus", "--train"), ("valid", "--valid"))
    },
    **{
        f"augment {method} {name}": lambda texts, method=method, name=name: augmented(
            texts, method, name
        )
        for method in ("geca", "csl")
        for name in ("corpus", "tests")
    },
    "parts test": lambda texts: parted(texts, "--test"),
    "parts train": lambda texts: parted(texts, "--train"),
    "parts corpora": lambda texts: parted(texts, "--from"),
    **{
        f"score {metric} memory": lambda texts, metric=metric: with_memory(texts, metric)
        for metric in ("bleu", "chrf", "ter", "exact")
    },
    "score cter memory": lambda texts: (*compounds_of(texts), "--memory", *texts.bad),
    "validate controls": validated,
    "export shots_from": exported,
}
SERVED = {"translate shots_from": translated}


def test_every_option_with_pairs_is_in_the_table():
    assert {*options_with_pairs()} == {*STOPS, *SERVED, *NO_PAIRS}


@pytest.mark.parametrize("is_shifted", [False, True], ids=["right", "shifted"])
@pytest.mark.parametrize("door", [*STOPS, *SERVED])
def test_shifted_pairs_are_noticed_and_right_ones_are_not(
    small_release, tmp_path, door, is_shifted, monkeypatch
):
    do_not_augment(monkeypatch)
    words, _, _ = door.rpartition(" ")
    texts = Texts(tmp_path, small_release, is_shifted)
    with serving(Fake()) as url:
        result = CliRunner().invoke(main, [*words.split(), *arguments_of(door, texts, url)])
    text = " ".join((result.stdout + result.stderr).split())
    is_told = "bad.en: the source is 1 line ahead of the target, from line 301" in text
    is_told |= "tsv: the source is 1 line ahead of the target, from line 301" in text
    assert is_told is is_shifted, text
    assert (result.exit_code == 2) is (is_shifted or ENOUGH in text), text
    assert (f"use {accepting(words)} to accept" in text) is is_shifted


@pytest.mark.parametrize("door", [*STOPS, *SERVED])
def test_a_setting_accepts_the_text(tmp_path, small_release, door, monkeypatch):
    do_not_augment(monkeypatch)
    words, _, _ = door.rpartition(" ")
    texts = Texts(tmp_path, small_release, is_shifted=True)
    with serving(Fake()) as url:
        arguments = (*arguments_of(door, texts, url), *accepting(words).split())
        result = CliRunner().invoke(main, [*words.split(), *arguments])
    assert result.exit_code == 0 or ENOUGH in result.stderr, result.stderr
    assert "the source is 1 line ahead" in " ".join(result.stderr.split())
