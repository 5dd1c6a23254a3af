"""Prompts, answers and samples of a server on the command line, down to the scores."""

import json

import pytest
from fake_openai import REASONING, Fake, serving, translation

TAG = "<en>(.*)</en>"
LINES = ["Das Haus ist rot.", "", "Ein Hund schläft.", "Wir lesen."]
FORMS = {
    "Das Haus ist rot.": "<think>The user wants English.</think>\n\nThe house is red.",
    "Ein Hund schläft.": "Sure!\n<en>A dog sleeps.</en>",
    "Wir lesen.": "<think>Hm",
}


class Speaker(Fake):
    """Answers by the sentence that the last message contains; each sample has its number's form."""

    def __init__(self, forms=FORMS):
        super().__init__()
        self.forms = forms

    def reply(self, body, wrong):
        text = body["messages"][-1]["content"]
        found = next(form for source, form in self.forms.items() if source in text)
        several = [found] * body["n"] if isinstance(found, str) else found[: body["n"]]
        choices = [{"message": {"content": one}, "finish_reason": "stop"} for one in several]
        return {
            "model": body["model"],
            "choices": choices,
            "usage": {"prompt_tokens": 198, "completion_tokens": 2},
        }


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "test.de"
    path.write_text("".join(line + "\n" for line in LINES))
    return path


def translated(run, fake, source, output, *words, status=0, options=""):
    with serving(fake) as url:
        command = ("translate", source, "--system", f"{url}?model=m{options}", "--output", output)
        return run(*command, *words, status=status).stderr


def record(output):
    return json.loads(output.with_name(f"{output.name}.system.json").read_text())


def test_reasoning_and_a_pattern(source, run, tmp_path):
    out, fake = tmp_path / "out.en", Speaker()
    said = translated(run, fake, source, out, "--prompt", "English: {source}")
    assert out.read_text().splitlines() == [
        "The house is red.",
        "",
        "Sure! <en>A dog sleeps.</en>",
        "",
    ]
    assert (
        "of 3 answers, these give an empty hypothesis (line 4): 1 whose reasoning does not end"
        in said
    )
    assert "1 of several lines" in said
    counts = {"reasoning": 2, "unclosed": 1, "lines": 1}
    assert record(out)["answers"] == {"asked": 3, "incomplete": 1, "causes": counts}
    raw = (tmp_path / "out.en.answers.jsonl").read_text()
    assert "The user wants English." in raw and "<think>Hm" in raw
    reference = tmp_path / "test.en"
    reference.write_text("The house is red.\nNothing.\nA dog sleeps.\nWe read.\n")
    scored = ("score", "bleu", "--ref", reference, "--hyp", f"llm={out}")
    assert "llm: 1 of 3 answers are empty or cut short" in run(*scored, status=2).stderr
    run(*scored, "--accept-text")

    tagged = tmp_path / "tagged.en"
    said = translated(run, fake, source, tagged, "--prompt", "English: {source}", "--answer", TAG)
    assert tagged.read_text().splitlines() == ["", "", "A dog sleeps.", ""]
    assert (
        "(line 1, 4): 1 whose reasoning does not end, 1 without a match of --answer <en>(.*)</en>"
        in said
    )
    assert record(tagged)["system"]["answer"] == TAG


def test_five_forms_of_reasoning(run, tmp_path):
    (tmp_path / "source").write_text("".join(f"{form} a\n" for form in REASONING))
    fake = Fake({f"{form} a": [form] for form in REASONING})
    translated(run, fake, tmp_path / "source", tmp_path / "out", "--prompt", "Say: {source}")
    expected = ["" if form == "unclosed" else translation(f"{form} a") for form in REASONING]
    assert (tmp_path / "out").read_text().splitlines() == expected
    causes = {"reasoning": 5, "unclosed": 1}
    assert record(tmp_path / "out")["answers"] == {"asked": 5, "incomplete": 1, "causes": causes}


def test_another_rule_does_not_overwrite_an_output(source, run, tmp_path):
    with serving(fake := Speaker()) as url:
        command = (
            "translate",
            source,
            "--system",
            f"{url}?model=m",
            "-o",
            tmp_path / "out",
            "--prompt",
            "{source}",
        )
        run(*command)
        assert "translations with another answer" in run(*command, "--answer", "x", status=2).stderr
        error = run(*command, "--system-message", "Hello you.", status=2).stderr
        assert "translations with another system_message" in error
        for name in ("out", "out.system.json"):
            (tmp_path / name).unlink()
        asked = len(fake.bodies)
        run(*command, "--answer", TAG)  # the raw answers are still there
        assert len(fake.bodies) == asked == 3
        assert (tmp_path / "out").read_text().splitlines() == ["", "", "A dog sleeps.", ""]


def test_columns_and_the_system_message(run, tmp_path):
    table = tmp_path / "test.tsv"
    table.write_text("source\tdomain\nDas Haus ist rot.\tlaw\nWir lesen.\tbooks\n")
    (tmp_path / "prompt.jinja").write_text("{{ source }} ({{ domain }})\n")
    fake, words = Speaker({"": "x"}), ("--system-message", "You translate {{ domain }}.")
    translated(
        run,
        fake,
        f"{table}:source",
        tmp_path / "out",
        "--prompt",
        tmp_path / "prompt.jinja",
        *words,
    )
    asked = sorted((body["messages"] for body in fake.bodies), key=str)
    assert asked == [
        [
            {"role": "system", "content": "You translate books."},
            {"role": "user", "content": "Wir lesen. (books)"},
        ],
        [
            {"role": "system", "content": "You translate law."},
            {"role": "user", "content": "Das Haus ist rot. (law)"},
        ],
    ]
    assert record(tmp_path / "out")["system"]["system_message"] == words[1]
    asked = len(fake.bodies)
    for given, said in (
        (("--prompt", "{{ source }} {{ date }}"), "no column 'date'; there is domain, source"),
        (("--prompt", "{{ source }}{{ shots }}"), "uses shots, but no shots are given"),
        (("--prompt", "{source}", "--system-message", "no.txt"), "there is no such file"),
        ((), "a server needs a prompt"),
    ):
        assert said in translated(run, fake, f"{table}:source", tmp_path / "new", *given, status=2)
    assert len(fake.bodies) == asked and not (tmp_path / "new").exists()
    plain = tmp_path / "plain"
    plain.write_text("a\n")
    error = translated(
        run, fake, plain, tmp_path / "new", "--prompt", "{{ source }} {{ domain }}", status=2
    )
    assert "uses domain, but the source is not a column of a table" in error
    more = ("--prompt", "{source}", "--system-message", "Hello you.")
    error = translated(
        run, fake, plain, tmp_path / "new", *more, status=2, options="&endpoint=completions"
    )
    assert "--system-message: a completion has none" in error


def test_an_output_for_each_prompt(source, run, tmp_path):
    (tmp_path / "formal.txt").write_text("Formal: {source}\n")
    fake = Speaker({"Formal": "formal", "": "short"})
    words = ("--prompt", tmp_path / "formal.txt", "--prompt", "{source}")
    translated(run, fake, source, tmp_path / "llm.en", *words)
    outputs = tmp_path / "llm.formal.en", tmp_path / "llm.prompt-2.en"
    assert [path.read_text().split() for path in outputs] == [["formal"] * 3, ["short"] * 3]
    assert not (tmp_path / "llm.en").exists()
    assert [record(path)["system"]["prompt"] for path in outputs] == [
        "Formal: {source}",
        "{source}",
    ]
    reference = tmp_path / "test.en"
    reference.write_text("formal\n\nshort\nshort\n")
    found = run(
        "score",
        "exact",
        "--ref",
        reference,
        "--hyp",
        f"llm={outputs[0]},{outputs[1]}",
        "--confidence",
    )
    assert (
        "over:prompts" in found.stdout and "llm: runs differ only in their prompt" in found.stderr
    )
    error = translated(
        run,
        fake,
        source,
        tmp_path / "llm.en",
        "--prompt",
        "{source}",
        "--prompt",
        "{source}",
        status=2,
    )
    assert "two prompts have the same text" in error


def test_prompts_share_a_budget(source, run, tmp_path):
    words = ("--prompt", "A: {source}", "--prompt", "B: {source}", "--price", "in=1,out=1")
    fake = Speaker({"": "x"})
    said = run(
        "translate",
        source,
        "--system",
        "openai:http://127.0.0.1:9/v1?model=m",
        "--output",
        tmp_path / "llm.en",
        *words,
        "--dry-run",
    ).stdout
    assert said.count("requests to send") == 2 and f"{tmp_path / 'llm.prompt-2.en'}:" in said
    # three answers of 200 tokens, and a bound of 600 to 800 on the request after two of them
    error = translated(
        run,
        fake,
        source,
        tmp_path / "llm.en",
        *words,
        "--budget",
        "1200tokens",
        options="&max_tokens=300",
        status=2,
    )
    assert "budget" in error and len(fake.bodies) == 3
    assert (tmp_path / "llm.prompt-1.en").exists() and not (tmp_path / "llm.prompt-2.en").exists()
    for name in ("--batch-out", "--batch-in"):
        error = translated(
            run, fake, source, tmp_path / "new", *words, name, tmp_path / "batch.jsonl", status=2
        )
        assert "a batch file has the requests of one prompt" in error


def test_measures_of_samples(source, run, tmp_path):
    fake = Speaker(
        {"Haus": ["a b", "A b.", "c"], "Hund": ["a", "a", "a"], "": ["", "x", "<think>x"]}
    )
    out, more = (
        tmp_path / "out.jsonl",
        (
            "--prompt",
            "{source}",
            "--nbest",
            3,
            "--format",
            "json",
            "--uncertainty",
        ),
    )
    translated(run, fake, source, out, *more, options="&temperature=1")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["distinct_answers"] for row in rows] == [3, 1, 1, 2]
    assert [round(row["semantic_entropy_lexical"], 4) for row in rows] == [0.6365, 0.0, 0.0, 0.6365]
    assert [*rows[0]["nbest"][0]] == ["hypothesis"]
    reference = tmp_path / "test.en"
    reference.write_text("a b\n\na\nx\n")
    by = ("--by", "column:semantic_entropy", "--table", out, "--bins", 2, "--accept-text")
    found = run(
        "score", "exact", "--ref", reference, "--hyp", f"llm={out}:hypothesis", *by, "--accept-text"
    )
    assert "semantic_entropy" in found.stdout
    for wrong in (("--uncertainty",), ("--uncertainty", "--format", "json")):
        error = translated(run, fake, source, out, "--prompt", "{source}", *wrong, status=2)
        assert "is measured over samples" in error
