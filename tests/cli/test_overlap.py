import json

import pytest

TEST = "the dog ate the cat\nthe dog slept\n"


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "test.en").write_text(TEST)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.txt").write_text("the cat slept\na dog ate the cake\n")
    rows = [{"text": "so the dog slept", "id": 1}, {"text": "x\ny the dog"}]
    (tmp_path / "corpus" / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_totals_and_a_row_an_example(texts, run):
    words = (
        "overlap",
        texts / "test.en",
        "--corpus",
        texts / "corpus",
        "--orders",
        "1-2,13",
        "--jobs",
        1,
    )
    result = run(*words, "--per-example", texts / "rows.tsv")
    lines = result.stdout.splitlines()
    assert lines[0] == "2 files, 4 documents, 16 words; known: at least 1 time"
    assert lines[3].split() == [
        "text",
        "2",
        "8",
        "0.4667",
        "3.00",
        "3",
        "1",
    ]  # degree, longest: mean, longest, whole
    assert lines[6].split() == ["1", "8", "8", "1.0000", "2"]
    head, first, second = [
        line.split("\t") for line in (texts / "rows.tsv").read_text().splitlines()
    ]
    first, second = (dict(zip(head, row, strict=True)) for row in (first, second))
    assert (first["pieces"], first["longest"], first["longest_text"]) == ("3", "3", "dog ate the")
    assert (second["pieces"], second["longest_text"], second["known_2"]) == (
        "1",
        "the dog slept",
        "2",
    )
    assert (second["containment_2"], second["containment_13"]) == ("1.0000", "")
    found = json.loads(run(*words, "--format", "json", "--min-count", 2).stdout)
    # the dog, in both examples; it is twice in the corpus, the others once
    figures = {"ngrams": 6, "known": 2, "containment": 2 / 6, "examples": 2, "with_known": 2}
    assert found["sides"]["text"]["orders"]["2"] == figures


def test_degree_and_stats_of_a_kept_result(texts, run):
    out = texts / "out"
    run(
        "overlap",
        texts / "test.en",
        "--corpus",
        texts / "corpus" / "a.txt",
        "--out",
        out,
        "--jobs",
        1,
    )
    for more in (("--min-count", 1), ("--min-count", 2)):
        usual = run(
            "degree", texts / "test.en", "--train", texts / "corpus" / "a.txt", "--cover", *more
        )
        assert (
            run("degree", texts / "test.en", "--known-from", out, "--cover", *more).stdout
            == usual.stdout
        )
    found = run("stats", "--known-from", out, "--test", texts / "test.en", "--format", "json")
    assert json.loads(found.stdout)["novel_words"]["2"] == 2  # the dog, dog slept


def test_text_that_is_tokenised_and_a_corpus_that_is_not(tmp_path, run):
    lines = [f"The dog number {number} slept, and the cat, too." for number in range(200)]
    (tmp_path / "raw").write_text("\n".join(lines) + "\n")
    apart = [line.replace(",", " ,").replace(".", " .") for line in lines]
    (tmp_path / "apart").write_text("\n".join(apart) + "\n")
    with (tmp_path / "raw.jsonl").open("w") as file:
        file.writelines(json.dumps({"text": line}) + "\n" for line in lines)

    def said(test, corpus, *more):
        return run(
            "overlap", tmp_path / test, "--corpus", tmp_path / corpus, "--orders", "1", *more
        ).stderr

    warning = f"{tmp_path / 'apart'}: tokenised (final periods and commas stand apart), but"
    assert warning in said("apart", "raw.jsonl")
    assert "already tokenised" in said("raw", "apart", "--tokenize", "moses")
    assert "tokenised" not in said("apart", "raw", "--tokenize", "moses", "--detokenize")


def test_what_is_wrong(texts, run):
    test, corpus = texts / "test.en", texts / "corpus"
    (texts / "bad.txt").write_bytes(b"fine\n\xff\n")
    run("overlap", test, "--corpus", corpus, "--out", texts / "out", "--jobs", 1)
    for words, said in (
        ((test, test, test, "--corpus", corpus), "3 test texts are given"),
        ((test, "--corpus", corpus, "--orders", "3-1"), "--orders 3-1: lengths go from 1"),
        ((test,), "--corpus is missing; give --corpus FILES"),
        ((test, "--corpus", corpus, "--per-example", texts), "a folder; give the name of a file"),
        ((test, "--corpus", corpus, "--orders", "x"), "--orders x: numbers are needed"),
        ((test, "--corpus", test, "--per-example", test), "test.en: is also an input"),
        ((test, "--corpus", texts / "bad.txt"), "bad.txt, byte 5: not UTF-8"),
        (
            (test, "--corpus", corpus, "--column", "body"),
            "b.jsonl, byte 0: no text in the field 'body'; it has text",
        ),
        ((test, "--corpus", texts / "none*"), "none*: no file matches this pattern"),
    ):
        assert said in run("overlap", *words, "--jobs", 1, status=2).stderr
    for words, said in (
        (
            ("degree", test, "--known-from", texts / "out", "--lowercase"),
            "words were separated differently (lowercase)",
        ),
        (
            ("degree", test, "--known-from", texts / "out", "--train", test),
            "or --known-from instead",
        ),
        (
            ("stats", "--test", test, "--known-from", texts / "out", "--train", test),
            "--known-from replaces --train",
        ),
    ):
        assert said in run(*words, status=2).stderr


def test_an_empty_corpus_is_refused(texts, run):
    (texts / "empty").write_text("\n\n")
    said = run("overlap", texts / "test.en", "--corpus", texts / "empty", status=2).stderr
    assert said == "error: --corpus: the corpus is empty: it has no words\n"
