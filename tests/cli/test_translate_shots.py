"""Shots on the command line: prompts as a file, those that a server gets, and those of a
decoder-only model.
"""

import json

import pytest
from external_models import write_model
from fake_openai import Fake, serving

TRAIN = [
    ("the dog sleeps", "DER HUND SCHLÄFT"),
    ("a cat sees the house", "EINE KATZE SIEHT DAS HAUS"),
    ("the old dog sees a cat", "DER ALTE HUND SIEHT EINE KATZE"),
    ("we like the house", "WIR MÖGEN DAS HAUS"),
    ("the house is {source}", "DAS HAUS IST {shots}"),
    ("dogs sleep", "HUNDE SCHLAFEN"),
]
LINES = ["the old dog sleeps", "", "a cat likes the house", "the old dog sleeps"]
WITH = ("--shots", 2, "--shots-from", "train.en", "train.de", "--set", "min_count=1")


class Speaker(Fake):
    def reply(self, body, wrong):
        return {
            "model": body["model"],
            "choices": [{"message": {"content": "X"}, "finish_reason": "stop"}],
        }


@pytest.fixture(autouse=True)
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for side, lines in zip(("en", "de"), zip(*TRAIN, strict=True), strict=True):
        (tmp_path / f"train.{side}").write_text(
            "".join(f"{line}\n" for line in lines), encoding="utf-8"
        )
    (tmp_path / "test.en").write_text("".join(f"{line}\n" for line in LINES))
    return tmp_path


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


PROMPT = "{shots}{source}\n"


def test_prompts_are_written_without_a_model(texts, run):
    said = run(
        "translate", "test.en", *WITH, "--prompt", PROMPT, "--write-prompts", "prompts.jsonl"
    ).stdout
    assert said == "4 prompts written to prompts.jsonl\n"
    rows = rows_of(texts / "prompts.jsonl")
    assert [(row["id"], row["source"]) for row in rows] == list(enumerate(LINES, 1))
    assert (
        rows[0] | {"id": 4} == rows[3] and rows[1]["shots"] == [] and rows[1]["prompt_degree"] == 0
    )
    assert (
        sorted(rows[0]["shots"]) == [1, 3]
        and rows[0]["cover"] == 2
        and rows[0]["prompt_degree"] == 0.5
    )
    shown = "".join(f"{TRAIN[row - 1][0]}\n{TRAIN[row - 1][1]}\n\n" for row in rows[0]["shots"])
    assert rows[0]["messages"] == [{"role": "user", "content": f"{shown}{LINES[0]}\n"}]
    jinja = "{% for shot in shots %}{{ shot.source }} = {{ shot.target }}\n{% endfor %}{{ source }}"
    run(
        "translate",
        "test.en",
        *WITH,
        "--prompt",
        jinja,
        "--write-prompts",
        "jinja.jsonl",
        "--system-message",
        "Hi.",
    )
    first = rows_of(texts / "jinja.jsonl")[0]["messages"]
    assert first[0] == {"role": "system", "content": "Hi."}
    assert first[1]["content"].endswith(f"\n{LINES[0]}") and " = " in first[1]["content"]
    (texts / "test.tsv").write_text("source\tdomain\nthe dog sleeps\tlaw\n")
    words = ("--prompt", "{{ source }} ({{ domain }})", "--write-prompts", "columns.jsonl")
    run("translate", "test.tsv:source", *words)
    (only,) = rows_of(texts / "columns.jsonl")
    assert (
        only["messages"] == [{"role": "user", "content": "the dog sleeps (law)"}]
        and "shots" not in only
    )


def test_scores_by_prompt_degree(texts, run):
    run("translate", "test.en", *WITH, "--prompt", PROMPT, "--write-prompts", "prompts.jsonl")
    words = ["score", "exact", "--ref", "test.en", "--hyp", "a=test.en", "--by", "prompt_degree"]
    found = json.loads(
        run(*words, "--table", "prompts.jsonl", "--bins", "0.1,", "--format", "json").stdout
    )
    assert [(one["n"], one["value"]) for one in found["bins"]] == [
        (1, 0),
        (3, 100),
    ]  # the empty line is never exact


def test_a_server_gets_the_prompts_of_the_file(texts, run):
    fake, words = Speaker(), [*WITH, "--prompt", PROMPT, "--output", "out.de"]
    with serving(fake) as url:
        call = ("translate", "test.en", "--system", f"{url}?model=m")
        run(*call, *words, "--write-prompts", "prompts.jsonl")
        asked = len(fake.bodies)
        said = run(
            *call, *words, "--shots-by", "random", status=2
        ).stderr  # the last value of an option holds
        assert "another shots" in said and len(fake.bodies) == asked
        run(*call, *words)
        assert len(fake.bodies) == asked
    prompts = {
        json.dumps(row["messages"]) for row in rows_of(texts / "prompts.jsonl") if row["source"]
    }
    assert {json.dumps(body["messages"]) for body in fake.bodies} == prompts and len(prompts) == 2
    assert "shots" in json.loads((texts / "out.de.system.json").read_text())["system"]


def test_a_decoder_only_model_gets_the_same_prompts(texts, run, monkeypatch):
    from cgbench.models.external.hugging_face import HuggingFaceMember

    write_model(texts / "model", "gpt2")
    read, plain = [], HuggingFaceMember._ids
    monkeypatch.setattr(
        HuggingFaceMember,
        "_ids",
        lambda self, **given: (read.extend(given.get("text", ())), plain(self, **given))[1],
    )
    words = [
        "translate",
        "test.en",
        "--system",
        f"hf:{texts / 'model'}",
        "--prompt",
        PROMPT,
        "--output",
        "out.de",
    ]
    run(*words, *WITH, "--write-prompts", "prompts.jsonl", "--device", "cpu")
    prompts = {
        row["messages"][0]["content"] for row in rows_of(texts / "prompts.jsonl") if row["source"]
    }
    assert prompts <= set(read)
    assert (
        "another shots"
        in run(*words, *WITH, "--shots-by", "random", "--device", "cpu", status=2).stderr
    )


def test_an_encoder_has_no_shots(texts, run):
    write_model(texts / "model")
    words = [
        "translate",
        "test.en",
        "--system",
        f"hf:{texts / 'model'}",
        "--output",
        "out.de",
        *WITH,
    ]
    assert (
        "only servers and decoder-only models"
        in run(*words, "--prompt", PROMPT, "--device", "cpu", status=2).stderr
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--write-prompts", "p.jsonl"], "--write-prompts needs one --prompt"),
        (
            ["--shots", 2, "--write-prompts", "p.jsonl", "--prompt", PROMPT],
            "--shots-from is missing",
        ),
        (
            [*WITH, "--write-prompts", "p.jsonl", "--prompt", "{source}"],
            "has no place for shots, {shots}",
        ),
        (["--write-prompts", "p.jsonl", "--prompt", PROMPT], "uses shots, but no shots are given"),
        (["--write-prompts", "test.en", "--prompt", "{source}"], "test.en"),
        ([*WITH, "--prompt", PROMPT], "--shots needs --system"),
        (["--shots", 6, *WITH[2:], "--prompt", PROMPT, "--write-prompts", "p.jsonl"], "needs 6"),
    ],
)
def test_wrong_calls(texts, run, words, said):
    (texts / "train.en").write_text(
        (texts / "train.en").read_text().replace("dogs sleep", LINES[0])
    )
    assert said in run("translate", "test.en", *words, status=2).stderr
    assert not (texts / "p.jsonl").exists()


def test_the_pairs_of_the_release_of_the_source_are_no_shots(small_release, demo, run, texts):
    """Shots from the pool: the release is the folder of the source, so its candidates are left
    out.
    """
    from cgbench.benchmark.release.reserved import reserved_for, reserved_pairs

    source = small_release.text_path("source")
    reserved = reserved_pairs(small_release)
    assert reserved_for(source) == reserved
    assert reserved_for("test.en") == []
    pool = ("--shots-from", demo / "pool.de", demo / "pool.en")
    words = (
        "translate",
        source,
        "--shots",
        4,
        *pool,
        "--prompt",
        PROMPT,
        "--write-prompts",
        "prompts.jsonl",
    )
    run(*words, "--shots-by", "bm25")
    lines = (demo / "pool.de").read_text(encoding="utf-8").splitlines()
    shown = {lines[row - 1] for each in rows_of(texts / "prompts.jsonl") for row in each["shots"]}
    assert len(shown) > 20 and not shown & {source for source, _ in reserved}
