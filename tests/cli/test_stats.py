"""``cgbench stats``: rows, forms, releases, bad input; COGS' published figures where the data
folder is.
"""

import csv
import gzip
import json
import shutil
from pathlib import Path

import pytest
from shared_data import SHARED, needs
from small_build import copy_build, list_files, rewrite

TRAIN = "what can we do\n" * 3 + "we can see this\n" * 3 + "a bird\n"
TEST = "what can we do\ncan we see a bird\nthis bird can see\n"


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.en").write_text(TRAIN)
    Path("test.en").write_text(TEST)
    return ["stats", "--train", "train.en", "--test", "test.en"]


def test_a_row_and_its_signature(texts, run):
    lines = run(*texts).stdout.splitlines()
    assert (
        " ".join(lines[0].split())
        == "test examples mean length degree word 2 word 2 % word 3 word 3 %"
    )
    assert lines[1].split() == [
        "test.en",
        "3",
        "4.33",
        "0.600",
        "4",
        "44.4",
        "5",
        "71.4",
    ]  # 4 of 9, 5 of 7
    assert lines[3].startswith("signature  STATS|orders:2+3|min:3|tok:none|case:mixed|train:")


def test_a_pipeline_in_a_folder_needs_a_word(texts, run):
    pytest.importorskip("spacy")
    Path("mine").mkdir()
    Path("mine/config.cfg").write_text("[nlp\n")
    assert "add --set trust=true if you trust" in run(*texts, "--pos", "mine", status=2).stderr
    assert (
        "cannot be loaded" in run(*texts, "--pos", "mine", "--set", "trust=true", status=2).stderr
    )


def test_every_key_of_the_schema(texts, run):
    """As docs/reference/formats.md has it: an object, or a list of them."""
    Path("a=b.en").write_text("a bird can see\n")
    several = json.loads(
        run(*texts, "--test", "birds=a=b.en", "--test", "a=b.en", "--format", "json").stdout
    )
    assert [row["name"] for row in several] == ["test.en", "birds", "a=b.en"]
    assert several[1]["novel_words"] == {"2": 1, "3": 2}
    found = json.loads(run(*texts, "--format", "json").stdout)
    assert list(found) == [
        "name",
        "train",
        "examples",
        "mean_length",
        "degree",
        "degree_quantiles",
        "novel_words",
        "novel_pos",
        "word_ngrams",
        "pos_ngrams",
        "divergence",
        "signature",
        "signature_short",
    ]
    assert list(found["degree_quantiles"]) == ["q0", "q25", "q50", "q75", "q100"]
    assert list(found["word_ngrams"]["2"]) == [
        "types",
        "novel",
        "share",
        "occurrences",
        "novel_occurrences",
        "occurrence_share",
    ]
    assert found["pos_ngrams"] is None and found == several[0]


def test_orders(texts, run):
    found = json.loads(run(*texts, "--orders", "1-5", "--format", "json").stdout)
    assert [row["types"] for row in found["word_ngrams"].values()] == [8, 9, 7, 4, 1]
    assert list(found["novel_words"].values()) == [0, 4, 5, 3, 1]


def test_tsv_is_exact(texts, run):
    rows = list(csv.DictReader(run(*texts, "--format", "tsv").stdout.splitlines(), delimiter="\t"))
    assert len(rows) == 1
    assert float(rows[0]["degree"]) == pytest.approx((1 / 4 + 4 / 5 + 3 / 4) / 3, abs=1e-15)
    assert rows[0]["word 3"] == "5"
    assert rows[0]["signature"].startswith("orders:2+3|")


def test_markdown_and_latex(texts, run):
    markdown = run(*texts, "--format", "markdown").stdout.splitlines()
    assert markdown[2] == "| test.en | 3 | 4.33 | 0.600 | 4 | 44.4 | 5 | 71.4 |"
    latex = run(*texts, "--format", "latex").stdout
    assert r"test.en & 3 & 4.33 & 0.600 & 4 & 44.4 & 5 & 71.4 \\" in latex
    assert r"\caption{test}" in latex and r"signature  STATS\textbar{}" in latex


def test_sides_of_a_corpus(texts, run):
    Path("train.tsv").write_text(
        "".join(f"{line}\t{line.upper()}\n" for line in TRAIN.splitlines())
    )
    Path("test.de").write_text("bird a\n" * 3)
    words = ["stats", "--train", "train.tsv", "--test", "cg=test.de", "test.en", "--format", "json"]
    source = json.loads(run(*words).stdout)
    assert (source["name"], source["novel_words"]["2"]) == ("cg", 1)
    assert "|side:source|" in source["signature"]
    target = json.loads(run(*words, "--side", "target").stdout)
    assert target["novel_words"] == {"2": 9, "3": 7}  # the training text is in capitals
    assert "|side:target|" in target["signature"]
    both = json.loads(run(*words, "--side", "both").stdout)
    assert [row["name"] for row in both] == ["cg source", "cg target"]
    assert [row["novel_words"] for row in both] == [source["novel_words"], target["novel_words"]]
    alike = json.loads(run(*words, "--side", "target", "--lowercase").stdout)
    assert alike["novel_words"] == {"2": 4, "3": 5}
    assert "|case:lc|" in alike["signature"]


def test_tags_from_conllu(texts, run):
    def write(name, text):
        tags = {
            "what": "WP",
            "can": "MD",
            "see": "VB",
            "do": "VB",
            "a": "DT",
            "this": "DT",
            "bird": "NN",
            "we": "PRP",
        }
        sentences = []
        for line in text.splitlines():
            rows = [
                f"{i}\t{word}\t_\tX\t{tags[word]}" + "\t_" * 5
                for i, word in enumerate(line.split(), 1)
            ]
            sentences.append("\n".join(rows) + "\n\n")
        Path(name).write_text("".join(sentences))

    write("train.conllu", TRAIN)
    write("test.conllu", TEST)
    words = [*texts, "--pos", "conllu:train.conllu,test.conllu"]
    found = json.loads(run(*words, "--format", "json").stdout)
    # see a, bird can, MD VB and DT NN are seen as tags but for VB DT (see this is seen), NN MD
    assert found["novel_pos"] == {"2": 1, "3": 4}
    assert "|pos:conllu-xpos@" in found["signature"]
    assert run(*words, env={"COLUMNS": "120"}).stdout.splitlines()[1].split()[-4::2] == ["1", "4"]
    upos = json.loads(run(*words, "--set", "tags=upos", "--format", "json").stdout)
    assert upos["novel_pos"] == {"2": 0, "3": 0}
    write("test.conllu", TEST.replace("this bird", "a bird"))
    result = run(*words, status=2)
    assert (
        "test.conllu, sentence 3 (line 12): word 1 is 'a', but 'this' in test.en" in result.stderr
    )


@pytest.mark.parametrize(
    ("more", "packed"), [([], False), (["--lowercase"], True), (["--side", "target"], True)]
)
def test_both_sides_of_a_corpus_are_read(texts, run, more, packed):
    """Also that of which no figure is asked for: a corpus whose files have parted is no corpus."""
    name = "{}.gz" if packed else "{}"
    for side, content in (
        ("good", b"x y\n" * 3),
        ("short", b"x y\n"),
        ("latin", b"x\ncaf\xe9\nx\n"),
        ("other", b"y x\n" * 3),
    ):
        Path(name.format(side)).write_bytes(gzip.compress(content) if packed else content)
    good, short, latin, other = (name.format(side) for side in ("good", "short", "latin", "other"))
    order = (lambda *pair: pair[::-1]) if more[:1] == ["--side"] else (lambda *pair: pair)
    test = ["--test", good, other, *more]
    assert run("stats", "--train", *order(good, other), *test).stderr == ""
    message = run("stats", "--train", *order(good, short), *test, status=2).stderr
    assert f"{good} has 3 lines" in message or f"{short} has 1 lines" in message
    assert "one line per pair" in message
    assert (
        f"{latin}, line 2: not UTF-8"
        in run("stats", "--train", *order(good, latin), *test, status=2).stderr
    )
    message = run("stats", "--train", good, "--test", *order(good, latin), status=2).stderr
    assert f"{latin}, line 2: not UTF-8" in message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--train", "train.en"], "two texts are needed"),
        (["--train", "train.en", "--test", "test.en", "--orders", "2,x"], "--orders 2,x: numbers"),
        (["--train", "train.en", "--test", "t.tsv"], "t.tsv, row 2 has 1 column;"),
        (["--train", "train.en", "--test", "=x"], "write it as NAME=FILE"),
    ],
)
def test_bad_input(texts, run, words, message):
    Path("t.tsv").write_text("a\tb\nc\n")
    result = run("stats", *words, status=2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.fixture
def release(small_release):
    """The folder of a finished small build; tests of normalised releases are in
    test_text_options.py.
    """
    return small_release.folder


def test_a_release_agrees_with_its_split(release, run):
    rows = json.loads(run("stats", "--release", release, "--format", "json").stdout)
    manifest = json.loads((release / "manifest.json").read_text())
    split = [json.loads(line) for line in (release / "split.jsonl").read_text().splitlines()]
    assert [row["name"] for row in rows] == ["release de", "release en"]
    assert [row["examples"] for row in rows] == [len(split)] * 2
    assert rows[1]["degree"] == pytest.approx(
        sum(row["degree"] for row in split) / len(split), abs=1e-12
    )
    selected = manifest["figures"]["selected"]["degree"]
    assert rows[1]["degree_quantiles"] == {
        key: selected[key] for key in ("q0", "q25", "q50", "q75", "q100")
    }
    assert rows[1]["mean_length"] == sum(row["target_length"] for row in split) / len(split)
    assert all("|case:mixed|" in row["signature"] for row in rows)
    assert rows[1] == json.loads(
        run("stats", "--release", release, "--side", "target", "--format", "json").stdout
    )


def test_a_release_is_as_its_texts(release, run, demo):
    """The same figures as from the texts themselves, normalised alike."""
    words = ["--train", demo / "train.en", "--test", release / "test.en", "--format", "json"]
    plain = json.loads(run("stats", *words).stdout)
    row = json.loads(
        run("stats", "--release", release, "--side", "target", "--format", "json").stdout
    )
    for key in ("examples", "degree", "degree_quantiles", "novel_words", "word_ngrams"):
        assert plain[key] == row[key]


def test_a_training_text_that_moved_or_changed(release, run, demo, tmp_path):
    moved = tmp_path / "release"
    shutil.copytree(release, moved)
    result = run("stats", "--release", moved, status=2)
    assert "train.de: no such file" in result.stderr
    assert "give its current path with --train" in result.stderr
    train = demo / "train.de", demo / "train.en"
    found = run("stats", "--release", moved, "--train", *train, "--format", "json").stdout
    assert json.loads(found) == json.loads(
        run("stats", "--release", release, "--format", "json").stdout
    )
    assert (
        "give as many"
        in run("stats", "--release", moved, "--train", tmp_path / "x.tsv", status=2).stderr
    )
    result = run("stats", "--release", moved, "--train", *reversed(train), status=2)
    assert "not the file that the release was built from" in result.stderr


def test_a_release_that_was_changed(release, run, tmp_path):
    changed = copy_build(release, tmp_path / "release")
    lines = (changed / "test.en").read_text().splitlines()
    split = [json.loads(line) for line in (changed / "split.jsonl").read_text().splitlines()]
    row = next(number for number, one in enumerate(split) if one["degree"] < 1)
    lines[row] = "zzz " * 5
    (changed / "test.en").write_text("\n".join(lines) + "\n")
    assert "test.en: was changed" in run("stats", "--release", changed, status=2).stderr
    list_files(changed)
    assert (
        f"split.jsonl, row {row + 1}: degree" in run("stats", "--release", changed, status=2).stderr
    )
    (changed / "test.en").write_text("\n".join(lines[:-1]) + "\n")
    list_files(changed)
    assert (
        f"{len(split)} rows for {len(split) - 1} sentences"
        in run("stats", "--release", changed, status=2).stderr
    )
    (changed / "split.jsonl").write_text("{}\n" * (len(split) - 1))
    list_files(changed)
    assert "split.jsonl, row 1: not a row" in run("stats", "--release", changed, status=2).stderr
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["configuration"]["ngram_min_count"] = {}
    rewrite(changed, manifest)
    assert "configuration: ngram_min_count" in run("stats", "--release", changed, status=2).stderr
    (changed / "manifest.json").write_text("{}")
    assert "not that of a cgbench release" in run("stats", "--release", changed, status=2).stderr


@needs("cogs/train.tsv.gz", "cogs/gen.tsv.gz")
def test_cogs_as_in_table_2_of_the_r_dangle_paper(run):
    words = [
        "--train",
        SHARED / "cogs" / "train.tsv.gz",
        "--test",
        f"COGS={SHARED / 'cogs' / 'gen.tsv.gz'}",
    ]
    found = json.loads(run("stats", *words, "--format", "json").stdout)
    assert found["examples"] == 21000
    assert found["novel_words"] == {"2": 6097, "3": 24275}  # as in the paper
    assert round(found["degree"], 3) == 0.521  # the paper has 0.392; docs/reference/stats.md


def test_texts_that_differ_in_tokenisation_or_case_are_said(run, tmp_path):
    raw = "".join(f"The man, who is {n} years old, sees a dog.\n" for n in range(60))
    (tmp_path / "raw.en").write_text(raw)
    (tmp_path / "tok.en").write_text(raw.replace(",", " ,").replace(".", " .").lower())
    words = ["stats", "--train", tmp_path / "raw.en", "--test", tmp_path / "tok.en"]
    first, second = run(*words).stderr.splitlines()
    assert first.startswith(
        f"warning: {tmp_path / 'tok.en'}: tokenised (final periods and commas stand apart), but"
    )
    assert second.startswith(
        f"warning: {tmp_path / 'tok.en'}: in lower case, but {tmp_path / 'raw.en'} is cased"
    )
    assert not run("stats", "--train", tmp_path / "tok.en", "--test", tmp_path / "tok.en").stderr
    result = run("degree", "--train", tmp_path / "raw.en", tmp_path / "tok.en")
    assert result.stderr.splitlines() == [first, second]
