"""Hypotheses from logs of harnesses and from submissions to WMT: found by id, whatever the order of
the file.
"""

import json
import random
import zipfile

import pyarrow
import pytest


@pytest.fixture
def texts(small_release, tmp_path):
    """A release, a hypothesis per pair, and the ids of pairs; as lines they give the score that
    every log must give.
    """
    lines = []
    for row, target in enumerate(small_release.lines("target")):
        words = target.split()
        words[row % len(words)] = f"other{row}" if row % 2 else words[row % len(words)]
        lines.append(" ".join(words))
    (tmp_path / "lines.txt").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return small_release, lines, [row["line"] for row in small_release.split()]


def shuffled(rows):
    random.Random(4).shuffle(rows)
    return rows


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def lm_eval(path, lines, ids, filters=("first-line",)):
    rows = [
        {"doc_id": key, "doc_hash": "h", "filter": name, "resps": [["x"]], "filtered_resps": [line]}
        for key, line in enumerate(lines)
        for name in filters
    ]
    return write_rows(path.with_suffix(".jsonl"), shuffled(rows))


def wmt(path, lines, ids):
    name = "cgbench_###_degree_0.5_###_deu_Latn_###_eng_Latn_###_line-{}"
    rows = [
        {"doc_id": name.format(key), "hypothesis": line, "metadata": {}}
        for key, line in zip(ids, lines, strict=True)
    ]
    return write_rows(path.with_suffix(".jsonl"), shuffled(rows))


def wmt_by_rows(path, lines, ids):
    rows = [{"doc_id": row, "hypothesis": line} for row, line in enumerate(lines, 1)]
    return write_rows(path.with_suffix(".jsonl"), shuffled(rows))


def sample(key, line, epoch=1):
    output = {"model": "m", "choices": [], "completion": f"\n{line}\nmore"}
    scores = {"translation": {"value": 1.0, "answer": line}}
    return {
        "id": key,
        "epoch": epoch,
        "input": "x",
        "target": "y",
        "output": output,
        "scores": scores,
    }


def header():
    return {"status": "success", "eval": {"task": "t", "task_version": 1}}


def inspect_json(path, lines, ids):
    samples = [sample(key, line) for key, line in zip(ids, lines, strict=True)]
    path = path.with_suffix(".json")
    path.write_text(json.dumps({**header(), "samples": shuffled(samples)}), encoding="utf-8")
    return f"{path}:translation"


def inspect_eval(path, lines, ids, compression=zipfile.ZIP_DEFLATED, epochs=1):
    """As Inspect names its files; they are sorted by name when they are read."""
    path = path.with_suffix(".eval")
    with zipfile.ZipFile(path, "w", compression) as archive:
        for key, line in zip(ids, lines, strict=True):
            for epoch in range(1, epochs + 1):
                archive.writestr(
                    f"samples/{key}_epoch_{epoch}.json", json.dumps(sample(key, line, epoch))
                )
        archive.writestr("header.json", json.dumps(header()))
    return f"{path}:translation"


def scores(run, *words, **options):
    found = json.loads(run("score", *words, "--format", "json", **options).stdout)
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("write", [lm_eval, wmt, wmt_by_rows, inspect_json, inspect_eval])
def test_a_log_gives_the_score_of_its_lines(texts, tmp_path, run, write):
    release, lines, ids = texts
    assert ids != sorted(map(str, ids))  # so that names of files do not sort by row
    log = write(tmp_path / "log", lines, ids)
    words = ["--release", release.folder, "--hyp"]
    (plain,), (found,) = (
        scores(run, "bleu", *words, f"a={name}") for name in (tmp_path / "lines.txt", log)
    )
    assert 50 < plain["value"] < 100 and found["value"] == plain["value"]


def test_without_a_release_ids_are_row_numbers(texts, tmp_path, run):
    release, lines, _ = texts
    reference = release.text_path("target")
    log = lm_eval(tmp_path / "log", lines, None)
    (plain,), (found,) = (
        scores(run, "chrf", "--ref", reference, "--hyp", f"a={name}")
        for name in (tmp_path / "lines.txt", log)
    )
    assert plain["value"] == found["value"]


def test_ids_of_a_column(texts, tmp_path, run):
    release, lines, _ = texts
    rows = [
        {"name": f"n{row}", "reference": text} for row, text in enumerate(release.lines("target"))
    ]
    reference = write_rows(tmp_path / "reference.jsonl", rows)
    names = [row["name"] for row in rows]
    answers = [{"doc_id": key, "hypothesis": line} for key, line in zip(names, lines, strict=True)]
    log = write_rows(tmp_path / "log.jsonl", shuffled(answers))
    words = ["bleu", "--ref", reference, "--hyp", f"a={log}"]
    (found,) = scores(run, *words, "--id", "name")
    (plain,) = scores(run, "bleu", "--ref", reference, "--hyp", f"a={tmp_path / 'lines.txt'}")
    assert found["value"] == plain["value"]
    said = run("score", *words, status=2).stderr
    assert "are neither row numbers nor lines of a release" in said and "--id" in said


def test_epochs_are_runs(texts, tmp_path, run):
    release, lines, ids = texts
    log = inspect_eval(tmp_path / "log", lines, ids, epochs=3)
    (found,) = scores(run, "bleu", "--release", release.folder, "--hyp", f"a={log}")
    assert found["runs"] == 3


def test_an_eval_compressed_with_zstandard_is_read(texts, tmp_path, run):
    """As inspect_ai 0.3.285 writes it; Python's zipfile reads it from 3.14 on."""
    release, lines, ids = texts
    log = inspect_eval(tmp_path / "log", lines, ids, zipfile.ZIP_STORED)
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    write_zstandard(path, entries)
    (found,) = scores(run, "bleu", "--release", release.folder, "--hyp", f"a={log}")
    (plain,) = scores(
        run, "bleu", "--release", release.folder, "--hyp", f"a={tmp_path / 'lines.txt'}"
    )
    assert found["value"] == plain["value"]
    (mean,) = scores(run, "import", "--scores", f"a={path}:translation")
    assert mean["n"] == len(lines)
    damaged = bytearray(path.read_bytes())
    place = damaged.index(b"\x28\xb5\x2f\xfd")
    damaged[place : place + 8] = bytes(8)
    path.write_bytes(damaged)
    error = run("score", "bleu", "--release", release.folder, "--hyp", log, status=2).stderr
    assert "not a readable log of inspect" in error


def write_zstandard(path, entries):
    """A zip whose entries are packed with method 93: written stored, then the method and sizes are
    patched.
    """
    codec = pyarrow.Codec("zstd")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries.items():
            packed = codec.compress(data, asbytes=True)
            archive.writestr(name, packed)
            archive.filelist[-1].compress_type = 93
            archive.filelist[-1].file_size = len(data)


def test_a_log_that_lacks_an_example_is_refused(texts, tmp_path, run):
    release, lines, ids = texts
    log = wmt(tmp_path / "log", lines[:-2], ids[:-2])
    said = run("score", "bleu", "--release", release.folder, "--hyp", f"a={log}", status=2).stderr
    assert f"has no answer for 2 of {len(lines)} examples (line {ids[-2]})" in said
    twice = lm_eval(tmp_path / "twice", [*lines, lines[0]], None)
    rows = [
        {**row, "doc_id": min(row["doc_id"], len(lines) - 1)}
        for row in map(json.loads, twice.open())
    ]
    write_rows(twice, rows)
    said = run("score", "bleu", "--release", release.folder, "--hyp", f"a={twice}", status=2).stderr
    assert "its ids, such as" in said or "is also in row" in said


def test_a_table_whose_doc_id_repeats_is_read_by_rows(tmp_path, run):
    """A document of several segments."""
    table = write_rows(
        tmp_path / "table.jsonl", [{"doc_id": "a", "hypothesis": text} for text in ("a b", "c d")]
    )
    (tmp_path / "two.txt").write_text("a b\nc d\n")
    (found,) = scores(run, "exact", "--ref", tmp_path / "two.txt", "--hyp", f"a={table}")
    assert found["value"] == 100


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"doc_id": 0, "hypothesis": None}], "row 1: the answer is not text"),
        ([{"doc_id": None, "hypothesis": "x"}], "row 1: no id"),
        (
            [{"doc_id": 0, "doc_hash": "h", "filter": "a", "filtered_resps": []}],
            "row 1: the answer is not text",
        ),
        (
            [
                {"doc_id": 0, "doc_hash": "h", "filter": one, "filtered_resps": ["x"]}
                for one in "ab"
            ],
            "several filters (a, b); choose one with",
        ),
    ],
)
def test_wrong_logs(tmp_path, run, rows, said):
    (tmp_path / "one.txt").write_text("a b\n")
    log = write_rows(tmp_path / "log.jsonl", rows)
    assert (
        said
        in run("score", "bleu", "--ref", tmp_path / "one.txt", "--hyp", f"a={log}", status=2).stderr
    )


def test_a_filter_is_chosen(texts, tmp_path, run):
    release, lines, _ = texts
    log = lm_eval(tmp_path / "log", lines, None, filters=("strict", "first-line"))
    words = ["score", "bleu", "--release", release.folder, "--hyp"]
    assert "several filters" in run(*words, f"a={log}", status=2).stderr
    run(*words, f"a={log}:strict")
    assert (
        "no filter 'stricd'; did you mean strict" in run(*words, f"a={log}:stricd", status=2).stderr
    )


def test_scores_of_a_log_are_in_the_order_of_the_release(texts, tmp_path, run):
    """Values that differ by row, by a feature of the release: each sample's value is its row's
    source length.
    """
    release, lines, _ = texts
    rows = release.split()
    samples = [
        {**sample(row["line"], line), "scores": {"s": {"value": row["source_length"]}}}
        for row, line in zip(rows, lines, strict=True)
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**header(), "samples": shuffled(samples)}), encoding="utf-8")
    words = [
        "import",
        "--scores",
        f"a={path}",
        "--release",
        release.folder,
        "--by",
        "length",
        "--side",
        "source",
    ]
    lengths = sorted({row["source_length"] for row in rows})
    (found,) = scores(run, *words, "--bins", ",".join(map(str, lengths[1:])))
    assert len(lengths) > 3 and [one["value"] for one in found["bins"]] == lengths


@pytest.mark.parametrize("epoch", [[1], "two", -1, True])
def test_an_epoch_is_a_number(texts, tmp_path, run, epoch):
    release, lines, _ = texts
    path = tmp_path / "log.json"
    samples = [
        sample(row["line"], line, epoch) for row, line in zip(release.split(), lines, strict=True)
    ]
    path.write_text(json.dumps({**header(), "samples": [sample("x", "y"), *samples]}))
    error = run("score", "bleu", "--release", release.folder, "--hyp", f"a={path}", status=2).stderr
    assert "log.json, sample 2: its epoch is not a whole number of at least 1" in error


def test_reasoning_in_a_log_is_left_out_as_in_translate(run, texts, tmp_path):
    """Three answers that a harness cut from the reasoning, and one whose reasoning does not end."""
    release, lines, _ = texts
    responses = list(lines)
    responses[0] = f"<think>\nHm.\n</think>\n\n{lines[0]}\nGerman"
    responses[1] = f"Hm.\n</think>\n{lines[1]}"  # the prompt ended in <think>
    responses[2] = f"<think>\nIs it {lines[2]}?"
    expected = [*lines[:2], "", *lines[3:]]
    (tmp_path / "expected.txt").write_text(
        "".join(f"{line}\n" for line in expected), encoding="utf-8"
    )
    rows = [
        {
            "doc_id": row,
            "doc_hash": "h",
            "filter": "first-line",
            "resps": [[text]],
            "bleu": float(row),
            "filtered_resps": [text.strip().split("\n")[0]],
            "metrics": ["bleu"],
        }
        for row, text in enumerate(responses)
    ]
    first_lines = write_rows(tmp_path / "samples_a.jsonl", shuffled(rows))
    words = ("score", "bleu", "--release", release.folder, "--format", "json", "--hyp")
    value = json.loads(run(*words, f"a={tmp_path / 'expected.txt'}").stdout)["value"]
    result = run(*words, f"a={first_lines}")
    assert json.loads(result.stdout)["value"] == value
    said = (
        f"3 of {len(lines)} answers contain reasoning (<think>), which was left out; 1 answer had"
        " nothing else"
    )
    assert said in result.stderr
    # A filter that took it out is believed, also where it changed the text.
    kept = [{**row, "filtered_resps": [expected[row["doc_id"]]]} for row in rows]
    assert (
        json.loads(run(*words, f"a={write_rows(tmp_path / 'kept.jsonl', kept)}").stdout)["value"]
        == value
    )
    log = {
        "eval": {},
        "samples": [
            sample(row["line"], text) for row, text in zip(release.split(), responses, strict=True)
        ],
    }
    for one, text in zip(log["samples"], responses, strict=True):
        one["output"]["completion"] = text.replace("\nGerman", "")
        one["scores"]["translation"]["answer"] = text.strip().split("\n")[0]
    (tmp_path / "log.json").write_text(json.dumps(log), encoding="utf-8")
    for name in ("log.json", "log.json:translation"):
        result = run(*words, f"a={tmp_path / name}")
        assert json.loads(result.stdout)["value"] == value and said in result.stderr
    # Scores of the harness cannot be repaired.
    for path in (first_lines, tmp_path / "log.json"):
        result = run("score", "import", "--scores", f"a={path}")
        assert (
            f"2 of {len(lines)} answers contain reasoning (<think>), which the harness scored"
            in result.stderr
        )


@pytest.mark.parametrize("harness", ["lm-eval", "inspect"])
def test_what_a_log_of_outputs_says_of_examples_makes_bins(run, tmp_path, harness):
    """As for ``score import``: the same metadata, in the order of the test set."""
    subjects = ["art", "maths", "art", "maths", "art", "art"]
    answers = ["red", "two", "blue", "six", "green", "wrong"]
    (tmp_path / "ref").write_text("".join(f"{text}\n" for text in [*answers[:5], "black"]))
    order = (3, 0, 5, 1, 4, 2)
    if harness == "lm-eval":
        log = tmp_path / "samples_t_2026-01-01.jsonl"
        rows = [
            {
                "doc_id": row,
                "doc": {"subject": subjects[row]},
                "doc_hash": str(row),
                "filter": "none",
                "resps": [[answers[row]]],
                "filtered_resps": [answers[row]],
                "metrics": ["exact_match"],
                "exact_match": 1.0,
            }
            for row in order
        ]
        log.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        log = tmp_path / "log.json"
        samples = [
            {
                "id": row,
                "epoch": 1,
                "input": str(row),
                "target": answers[row],
                "output": {"completion": answers[row]},
                "metadata": {"subject": subjects[row]},
                "scores": {"match": {"value": "C", "answer": answers[row]}},
            }
            for row in order
        ]
        log.write_text(
            json.dumps(
                {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples}
            )
        )
    words = ("score", "exact", "--ref", tmp_path / "ref", "--hyp", f"a={log}")
    table = run(*words, "--by", "column:subject", "--format", "tsv").stdout
    rows = [line.split("\t") for line in table.splitlines()]
    assert {row[4]: float(row[7]) for row in rows[2:]} == {"art": 75.0, "maths": 100.0}
    error = run(*words, "--by", "column:subjects", status=2).stderr
    assert "the scores or the log have no such column" in error and "subject" in error
