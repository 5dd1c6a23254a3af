"""translate: where text comes from and goes to, what is warned of and refused, several
hypotheses.
"""

import gzip
import json

import pytest

from cgbench.errors import InputWarning
from cgbench.models.search import beam_search
from cgbench.models.search_settings import SearchSettings
from cgbench.models.translation import translate


@pytest.fixture(scope="module")
def model(tmp_path_factory, run):
    """A model of words, trained on short sentences: every other word is unknown, every longer line
    too long.
    """
    folder = tmp_path_factory.mktemp("model")
    (folder / "s").write_text("der hund läuft\ndie katze schläft\n" * 8, encoding="utf-8")
    (folder / "t").write_text("the dog runs\nthe cat sleeps\n" * 8)
    words = (
        "train",
        "--train",
        folder / "s",
        folder / "t",
        "--model",
        "tiny",
        "--set",
        "training.max_updates=8",
    )
    run(*words, "--set", "text.unit=words", "--set", "training.max_length=6", "--out", folder / "m")
    return folder / "m"


TEXT = "der hund läuft\n\nkatze\n"


def test_text_is_read_from_files_and_written_to_one(model, run, tmp_path):
    expected = run("translate", "--model", model, input=TEXT).stdout
    assert expected.count("\n") == 3 and expected.split("\n")[1] == ""
    (tmp_path / "plain").write_text(TEXT, encoding="utf-8")
    (tmp_path / "small.gz").write_bytes(gzip.compress(TEXT.encode()))
    rows = "".join(f"{number}\t{line}\n" for number, line in enumerate(TEXT.splitlines()))
    (tmp_path / "rows.tsv").write_text("number\tsource\n" + rows, encoding="utf-8")
    for name in ("plain", "small.gz", "rows.tsv:source"):
        assert run("translate", tmp_path / name, "--model", model).stdout == expected
    assert (
        run("translate", "--model", model, tmp_path / "plain", "--output", tmp_path / "out").stdout
        == ""
    )
    assert (tmp_path / "out").read_text(encoding="utf-8") == expected
    error = run(
        "translate", tmp_path / "plain", "--model", model, "-o", tmp_path / "plain", status=2
    ).stderr
    assert "is also an input" in error
    assert (
        "no folder"
        in run("translate", "--model", model, "-o", tmp_path / "no/out", input="", status=2).stderr
    )
    assert "missing" in run("translate", tmp_path / "missing", "--model", model, status=2).stderr


def test_unknown_words_are_counted_and_the_first_is_named(model, run):
    text = "der hund läuft\ndas pferd läuft\nder hund und die maus\n"
    error = run("translate", "--model", model, input=text).stderr
    assert (
        "warning: standard input: 4 words on 2 lines not in the model's vocabulary, read as <unk>; "
        "the first is 'das' on line 2" in error.splitlines()
    )
    assert "1 word on 1 line not in" in run("translate", "--model", model, input="maus\n").stderr
    assert "vocabulary" not in run("translate", "--model", model, input=TEXT).stderr


def test_translations_that_the_limit_has_ended_are_counted(model):
    options = {"model": model, "max_length_ratio": 0, "beam": 1, "device": "cpu"}
    with pytest.warns(InputWarning, match=r"[1-3] of 3 translations ended at the length limit"):
        short = translate(TEXT.splitlines(), max_length_extra=2, **options)
    assert any(len(line.split()) == 2 for line in short)


def test_sentences_longer_than_those_of_training(model, run):
    text = "der hund\nder hund läuft der hund läuft\ndie katze schläft die katze schläft der hund\n"
    error = run("translate", "--model", model, input=text, status=2).stderr
    assert (
        "standard input, line 2: 7 words with the end token, but the model was trained on at most 6"
        in error
    )
    assert "(and 1 more line)" in error and "--truncate" in error
    measured = ("translate", "--model", model, "--uncertainty", "--format", "json")
    done = run(*measured, "--truncate", input=text)
    assert "warning: standard input, line 2" in done.stderr and "; 2 lines truncated" in done.stderr
    cut = "der hund\nder hund läuft der hund\ndie katze schläft die katze\n"
    assert run(*measured, input=cut).stdout == done.stdout


def test_the_uncertainty_of_one_model_is_none_and_the_screen_says_so(model, run):
    said = "warning: with one model, rmi and all other measures of disagreement"
    assert said in run("translate", "--model", model, "--uncertainty", input=TEXT).stderr
    assert said not in run("translate", "--model", model, model, "--uncertainty", input=TEXT).stderr
    assert said not in run("translate", "--model", model, input=TEXT).stderr


def test_several_hypotheses_in_their_order(model, run):
    words = ("translate", "--model", model, "--format", "json")
    rows = [
        json.loads(line)
        for line in run(*words, "--beam", "4", "--nbest", "3", input=TEXT).stdout.splitlines()
    ]
    assert [len(row["nbest"]) for row in rows] == [3, 1, 3]
    for row in rows:
        assert row["nbest"][0] == {key: row[key] for key in ("hypothesis", "score", "log_prob")}
        scores = [other["score"] for other in row["nbest"]]
        assert scores == sorted(scores, reverse=True)
    assert "raise --beam" in run(*words, "--beam", "2", "--nbest", "3", input=TEXT, status=2).stderr
    assert (
        "--format json"
        in run("translate", "--model", model, "--nbest", "2", input=TEXT, status=2).stderr
    )


def test_options_of_the_search_reach_it(model, run, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "cgbench.models.ensemble.beam_search",
        lambda members, source, settings: (
            seen.append(settings) or beam_search(members, source, settings)
        ),
    )
    words = (
        "translate",
        "--model",
        model,
        "--beam",
        "3",
        "--length-penalty",
        "0.5",
        "--max-length-ratio",
        "0",
    )
    run(*words, input=TEXT)
    assert seen == [SearchSettings(beam=3, length_penalty=0.5, max_length_ratio=0.0)]
    greedy = run("translate", "--model", model, "--beam", "1", input=TEXT).stdout
    assert seen[1:] and seen[1].beam == 1 and greedy.count("\n") == 3
