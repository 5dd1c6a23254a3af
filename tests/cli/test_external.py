"""Models of others on the command line: translate, uncertainty, score; what is refused, in one
line.
"""

import json

import pytest

pytest.importorskip("transformers")
from external_models import LINES, PROMPT, write_model
from fake_openai import Fake, serving

from cgbench.models.external import hugging_face, system_translation, token_space

SCHEME = ("t5", "gpt2", "marian")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two models of every kind, by kind: their addresses."""
    folder = tmp_path_factory.mktemp("models")
    return {
        kind: [write_model(folder / f"{kind}-{seed}", kind, seed) for seed in (1, 2)]
        for kind in SCHEME
    }


@pytest.fixture
def source(tmp_path):
    (tmp_path / "source").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return tmp_path / "source"


@pytest.mark.parametrize("kind", SCHEME)
def test_from_models_to_scores(kind, models, source, run, tmp_path):
    prompt = ("--prompt", PROMPT) if kind == "gpt2" else ()
    translated = ("translate", source, "--system", models[kind][0], *prompt, "--beam", 2)
    run(*translated, "--output", tmp_path / "best")
    best = (tmp_path / "best").read_text(encoding="utf-8").splitlines()
    assert len(best) == len(LINES)
    run(*translated, "--nbest", 2, "--format", "json", "-o", tmp_path / "all.jsonl")
    rows = [
        json.loads(line)
        for line in (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [row["hypothesis"] for row in rows] == best
    assert all(len(row["nbest"]) == 2 and row["nbest"][0]["score"] == row["score"] for row in rows)
    record = json.loads((tmp_path / "best.system.json").read_text())
    assert (
        record["system"]["kind"] == "hf"
        and record["search"]["beam"] == 2
        and record["lines"] == len(LINES)
    )

    members = [word for address in models[kind] for word in ("--member", address)]
    run(
        "uncertainty",
        source,
        *members,
        *prompt,
        "--beam",
        2,
        "-o",
        tmp_path / "u.jsonl",
        "--jobs",
        1,
    )
    measured = [
        json.loads(line) for line in (tmp_path / "u.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [row["hypothesis"] for row in measured] == best
    assert all(row["rmi"] > 0 for row in measured)
    given = ("--hypotheses", tmp_path / "best", "-o", tmp_path / "given.jsonl", "--jobs", 1)
    run("uncertainty", source, *members, *prompt, *given)
    found = [
        json.loads(line)
        for line in (tmp_path / "given.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [row["hypothesis"] for row in found] == best

    (tmp_path / "reference").write_text("".join(f"{line} .\n" for line in LINES), encoding="utf-8")
    scored = ("score", "exact", "--ref", tmp_path / "reference", "--hyp", f"m={tmp_path / 'best'}")
    said = run(*scored, "--output", tmp_path / "page.html").stdout
    assert "(0 of 5)" in said and "|gen:hf-beam2-lenpen1.0-ratio1.2-extra10" in said
    assert ("-prompt@" in said) == (kind == "gpt2")
    assert "gen:hf-beam2" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert json.loads(run(*scored, "--format", "json").stdout)["generation"] == [record]


def test_a_translation_that_is_stopped_goes_on(models, source, run, tmp_path, monkeypatch):
    monkeypatch.setattr(system_translation, "SHARD", 2)
    whole = ("translate", source, "--system", models["marian"][0], "--beam", 2)
    run(*whole, "-o", tmp_path / "whole")
    asked = []
    translate = hugging_face.HuggingFaceMember.translate

    def stop(self, lines, search, **options):
        asked.extend(lines)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return translate(self, lines, search, **options)

    monkeypatch.setattr(hugging_face.HuggingFaceMember, "translate", stop)
    run(*whole, "-o", tmp_path / "stopped", status=130)
    assert not (tmp_path / "stopped").exists()
    asked.append("")  # and from here on it is not stopped
    run(*whole, "-o", tmp_path / "stopped")
    assert asked == [*LINES[:4], "", *LINES[2:]]
    assert (tmp_path / "stopped").read_bytes() == (tmp_path / "whole").read_bytes()
    # a finished one is not made again, another search is
    run(*whole, "-o", tmp_path / "stopped")
    assert len(asked) == 8
    run(*whole, "--length-penalty", 0.5, "-o", tmp_path / "stopped")
    assert len(asked) == 13


def test_an_uncertainty_that_is_stopped_goes_on(models, source, run, tmp_path, monkeypatch):
    monkeypatch.setattr(token_space, "SHARD", 2)
    command = (
        "uncertainty",
        source,
        "--member",
        models["t5"][0],
        "--member",
        models["t5"][1],
        "--jobs",
        1,
    )
    run(*command, "-o", tmp_path / "whole")
    forced = token_space._write_states
    calls = []

    def stop(*given):
        calls.append(given[1:3])
        if len(calls) == 5:
            raise KeyboardInterrupt
        return forced(*given)

    monkeypatch.setattr(token_space, "_write_states", stop)
    assert (
        "the same command resumes" in run(*command, "-o", tmp_path / "stopped", status=130).stderr
    )
    run(*command, "-o", tmp_path / "stopped")
    assert len(calls) == 7 and calls[4] == calls[5]
    assert (tmp_path / "stopped").read_bytes() == (tmp_path / "whole").read_bytes()


def test_one_member_is_warned_of(models, source, run, tmp_path):
    error = run(
        "uncertainty", source, "--member", models["t5"][0], "-o", tmp_path / "o", "--jobs", 1
    ).stderr
    assert "warning: with one member, rmi" in error


def ask_server(run, source, output, url, *words, prompt="Say: {source}", status=0):
    command = ("translate", source, "--system", f"{url}?model=m", "--prompt", prompt, "-o", output)
    return run(*command, *words, status=status).stderr


def test_another_prompt_or_source_does_not_overwrite_an_output(source, run, tmp_path):
    out, fake = tmp_path / "out", Fake()
    with serving(fake) as url:
        ask_server(run, source, out, url)
        before, asked = out.read_bytes(), len(fake.asked)
        error = ask_server(run, source, out, url, prompt="Say it: {source}", status=2)
        assert "out: contains translations with another prompt (see out.system.json)" in error
        source.write_text(source.read_text() + "more\n")
        assert "contains translations with another source" in ask_server(
            run, source, out, url, status=2
        )
        assert (out.read_bytes(), len(fake.asked)) == (before, asked)
        (tmp_path / "out.system.json").write_text("[]")
        assert "not written by cgbench" in ask_server(run, source, out, url, status=2)


@pytest.mark.parametrize(
    "words",
    [("--beam", 4), ("--length-penalty", 0.6), ("--max-length-ratio", 3), ("--device", "cpu")],
)
def test_a_server_has_a_search_of_its_own(words, source, run, tmp_path):
    fake = Fake()
    with serving(fake) as url:
        error = ask_server(run, source, tmp_path / "out", url, *words, status=2)
    assert "does not work with a server; set ?max_tokens=N" in error
    assert fake.asked == []


def test_a_server_may_give_more_hypotheses_than_a_beam(source, run, tmp_path):
    with serving(Fake()) as url:
        ask_server(run, source, tmp_path / "out", url, "--nbest", 7, "--format", "json")
    assert [
        len(json.loads(line)["nbest"]) for line in (tmp_path / "out").read_text().splitlines()
    ] == [7] * 5
