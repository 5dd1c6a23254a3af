"""What stands beside translations of a system from outside: in the signature, or refused in one
line.
"""

import hashlib
import json
import re

import pytest

from cgbench.text.sidecar import settings_label

SEARCH = {"beam": 5, "length_penalty": 1.0, "max_length_ratio": 1.2, "max_length_extra": 10}
MODEL = {
    "kind": "hf",
    "weights": "1",
    "dtype": "bfloat16",
    "source": "deu_Latn",
    "target": "eng_Latn",
}
SERVER = {
    "kind": "openai",
    "url": "http://x",
    "model": "m|n",
    "prompt": "{source}",
    "temperature": 0,
    "max_tokens": 9,
}
LABEL = "hf-beam5-lenpen1.0-ratio1.2-extra10-bfloat16-deu_Latn-eng_Latn"


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "reference").write_text("a b\nc d\n")
    for name in ("one", "two", "three"):
        (tmp_path / name).write_text("a b\nc\n")
    return tmp_path


def tell(path, system=MODEL, search=SEARCH, **changes):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    record = {"format": 1, "system": system, "search": search, "output": digest} | changes
    path.with_name(f"{path.name}.system.json").write_text(json.dumps(record))
    return record


def scored(run, folder, *systems, metric="exact", **options):
    words = [word for name, files in systems for word in ("--hyp", f"{name}={files}")]
    return run(
        "score", metric, "--ref", folder / "reference", *words, "--format", "json", **options
    )


def generation(run, folder, *systems, **options):
    found = json.loads(scored(run, folder, *systems, **options).stdout)
    rows = found if isinstance(found, list) else [found]
    items = [item for item in rows[0]["signature"].split("|") if item.startswith("gen:")]
    return items, [row.get("generation") for row in rows]


def test_nothing_beside_them_changes_nothing(texts, run):
    assert generation(run, texts, ("m", texts / "one")) == ([], [None])


@pytest.mark.parametrize("metric", ["exact", "chrf"])
def test_settings_are_in_the_signature_and_what_was_written_in_the_json(texts, run, metric):
    record = tell(texts / "one")
    assert generation(run, texts, ("m", texts / "one"), metric=metric) == (
        [f"gen:{LABEL}"],
        [[record]],
    )


def test_seeds_of_one_model_have_one_label_and_systems_apart_have_two(texts, run):
    first, second = tell(texts / "one"), tell(texts / "two", {**MODEL, "weights": "2"})
    systems = ("m", f"{texts / 'one'},{texts / 'two'}"), ("n", texts / "three")
    assert generation(run, texts, *systems) == ([f"gen:{LABEL}+unknown"], [[first, second], None])
    third = tell(texts / "three", SERVER, {})
    prompt = hashlib.sha256(b"{source}").hexdigest()[:8]
    server = f"openai-temperature0-max9-prompt@{prompt}"
    assert generation(run, texts, *systems) == (
        [f"gen:{LABEL}+{server}"],
        [[first, second], [third]],
    )
    tell(texts / "two", search=SEARCH | {"beam": 1})
    assert generation(run, texts, systems[0])[0] == [
        f"gen:{LABEL},{LABEL.replace('beam5', 'beam1')}"
    ]


def test_a_column_of_a_table_is_of_its_file(texts, run):
    (texts / "t.jsonl").write_text('{"hypothesis": "a b"}\n{"hypothesis": "c"}\n')
    tell(texts / "t.jsonl")
    assert generation(run, texts, ("m", f"{texts / 't.jsonl'}:hypothesis"))[0] == [f"gen:{LABEL}"]


def test_what_it_says_cannot_forge_a_signature(texts, run):
    tell(texts / "one", MODEL | {"source": "x|bs:1\n\x1b[31m", "target": 5})
    assert generation(run, texts, ("m", texts / "one"))[0] == [f"gen:{LABEL[:-17]}x_bs_1___31m-5"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"output": "0" * 64},
            "does not belong to the translations in one; translate again, or remove",
        ),
        ({"format": 2}, "has format 2, but this version reads 1"),
        ({"system": []}, "one.system.json: system "),
        ({"search": {"beam": "x"}}, "one.system.json: search.beam "),
    ],
)
def test_a_foreign_or_damaged_one_is_refused(texts, run, changes, said):
    tell(texts / "one", **changes)
    error = scored(run, texts, ("m", texts / "one"), status=2).stderr
    assert said in error and len(error.splitlines()) == 1
    (texts / "one.system.json").write_text("{")
    error = scored(run, texts, ("m", texts / "one"), status=2).stderr
    assert "one.system.json" in error and len(error.splitlines()) == 1


def test_a_control_set_translated_otherwise_is_said(texts, run):
    """What is lost from one set to the other would be lost to the settings, too."""
    (texts / "easy").write_text("a b\n")
    (texts / "easy.reference").write_text("a b\n")
    control = ("--control-hyp", f"m={texts / 'easy'}", "--control-ref", texts / "easy.reference")
    words = (
        "score",
        "exact",
        "--ref",
        texts / "reference",
        "--hyp",
        f"m={texts / 'one'}",
        *control,
    )
    said = "m: the test set was translated with other settings"
    assert said not in run(*words).stderr
    tell(texts / "one")
    assert f"{said} ({LABEL}) than the control set (unknown)" in run(*words).stderr
    tell(texts / "easy")
    assert said not in run(*words).stderr
    tell(texts / "easy", search=SEARCH | {"beam": 1})
    assert said in run(*words).stderr


def answers(asked, incomplete, **causes):
    return {"asked": asked, "incomplete": incomplete, "causes": causes}


def test_a_run_with_many_incomplete_answers_is_refused(texts, run):
    tell(texts / "one", SERVER, {}, answers=answers(100, 3, unclosed=1, cut=2))
    said = scored(run, texts, ("m", texts / "one"), status=2).stderr
    assert "m: 3 of 100 answers are empty or cut short (unclosed 1, cut 2), more than 2%" in said
    assert "--accept-text scores them as they are" in said and len(said.splitlines()) == 1
    options = ("--hyp", f"m={texts / 'one'}", "--ref", texts / "reference")
    assert (
        "m: 3 of 100 answers are empty or cut short"
        in run("score", "exact", *options, "--accept-text").stderr
    )
    run("score", "bleu", *options, status=2)
    tell(texts / "one", SERVER, {}, answers=answers(100, 2, cut=2))  # not more than 2%
    assert (
        "m: 2 of 100 answers are empty or cut short (cut 2) and count"
        in run("score", "exact", *options).stderr
    )
    tell(texts / "one", SERVER, {}, answers=answers(100, 0, reasoning=100))
    assert "empty or cut" not in run("score", "exact", *options).stderr
    tell(texts / "one", SERVER, {}, answers={"asked": "many"})
    assert "one.system.json: answers" in run("score", "exact", *options, status=2).stderr


def test_the_label_of_a_prompt_counts_all_that_answers_depend_on():
    systems = [
        SERVER,
        *({**SERVER, name: f"{name} x"} for name in ("prompt", "system_message", "answer")),
    ]
    assert len({settings_label({"system": system}) for system in systems}) == 4


def test_runs_that_differ_in_their_prompt_are_said_to(texts, run):
    for number, name in enumerate(("one", "two")):
        tell(texts / name, {**SERVER, "prompt": f"{{source}}{number}"}, {})
    runs = f"{texts / 'one'},{texts / 'two'}"

    def said(*words):
        options = (
            "--ref",
            texts / "reference",
            "--accept-text",
            "--format",
            "json",
            "--confidence",
        )
        found = run("score", "exact", *words, *options)
        rows = json.loads(found.stdout)
        return (rows[0] if isinstance(rows, list) else rows)["signature"].split("|"), found.stderr

    items, warned = said("--hyp", f"m={runs}")
    assert "runs:2" in items and "over:prompts" in items
    (made,) = (item for item in items if item.startswith("gen:"))
    assert re.fullmatch("gen:openai-temperature0-max9-prompts@[0-9a-f]{8}", made)
    assert "m: runs differ only in their prompt" in warned
    tell(
        texts / "two", {**SERVER, "prompt": "{source}1", "temperature": 1}, {}
    )  # not the prompt alone
    items, warned = said("--hyp", f"m={runs}")
    assert (
        "runs:2" in items and "over:prompts" not in items and "only in their prompt" not in warned
    )
    assert "between seeds" not in said("--hyp", f"m={texts / 'one'}")[1]  # a service has none
    (texts / "two.system.json").unlink()
    items, warned = said("--hyp", f"m={runs}")
    assert not any(item.startswith("over") for item in items)
