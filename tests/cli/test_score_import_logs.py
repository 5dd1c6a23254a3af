"""``cgbench score import`` on logs of evaluation harnesses, written here as these write them."""

import hashlib
import json
import subprocess
import sys
import zipfile
from statistics import NormalDist

import pytest
from click.testing import CliRunner

from cgbench.cli import main


def lm_eval(path, right, *, order=None, metric="acc", filters=("none",), docs="doc", version=None):
    """``samples_TASK_DATE.jsonl`` of lm-evaluation-harness, and the results beside it."""
    rows = []
    for place in order or range(len(right)):
        for name in filters:
            doc = {"question": f"{docs} {place}"}
            rows.append(
                {
                    "doc_id": place,
                    "doc": doc,
                    "target": "x",
                    "arguments": {},
                    "resps": [["x"]],
                    "filtered_resps": ["x"],
                    "filter": name,
                    "metrics": [metric],
                    "doc_hash": hashlib.sha256(json.dumps(doc, indent=2).encode()).hexdigest(),
                    "prompt_hash": "p",
                    "target_hash": "t",
                    metric: float(right[place]) if name == filters[0] else 0.0,
                }
            )
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if version is not None:
        date = path.stem.rpartition("_")[2]
        (path.parent / f"results_{date}.json").write_text(
            json.dumps({"versions": {"arc_easy": version}})
        )
    return path


DATE = "2026-06-23T10-00-00.000000"


@pytest.fixture
def published(tmp_path):
    """The example of lm-evaluation-harness#3868: 220 items, unpaired p = 0.080, McNemar's p =
    0.008.

    Its data are not published. Of 220 items, these counts give both figures: 140 and 122 right, 30
    and 12 of them alone.
    """
    first = [1] * 110 + [1] * 30 + [0] * 12 + [0] * 68
    second = [1] * 110 + [0] * 30 + [1] * 12 + [0] * 68
    a = lm_eval(tmp_path / "a" / f"samples_arc_easy_{DATE}.jsonl", first, version=1)
    b = lm_eval(
        tmp_path / "b" / f"samples_arc_easy_{DATE}.jsonl",
        second,
        order=range(219, -1, -1),
        version=1,
    )
    return a, b


def test_the_published_example(published, run):
    a, b = published
    words = [
        "score",
        "import",
        "--scores",
        f"a={a}",
        "--scores",
        f"b={b}",
        "--paired",
        "mcnemar",
        "--format",
        "json",
    ]
    found = json.loads(run(*words).stdout)
    assert [row["n"] for row in found] == [220, 220]
    assert round(found[1]["p_value"], 3) == 0.008
    shares = [row["value"] / 100 for row in found]
    # as scripts/model_comparator.py has it: standard errors of means, by n - 1
    z = (shares[0] - shares[1]) / sum(share * (1 - share) / 219 for share in shares) ** 0.5
    unpaired = 2 * (1 - NormalDist().cdf(z))
    assert round(unpaired, 3) == 0.080


def test_other_documents_and_other_versions_are_named(published, tmp_path, run):
    a, _ = published
    other = lm_eval(tmp_path / "c" / f"samples_arc_easy_{DATE}.jsonl", [1] * 220, docs="another")
    error = run("score", "import", "--scores", f"a={a}", "--scores", f"c={other}", status=2).stderr
    assert "c/samples_arc_easy" in error
    assert "row 1 (id 0) is another example than " in error
    newer = lm_eval(tmp_path / "d" / f"samples_arc_easy_{DATE}.jsonl", [1] * 220, version=2)
    error = run("score", "import", "--scores", f"a={a}", "--scores", f"d={newer}", status=2).stderr
    assert "has version 2 of the task but " in error
    fewer = lm_eval(tmp_path / "e" / f"samples_arc_easy_{DATE}.jsonl", [1] * 219)
    error = run("score", "import", "--scores", f"a={a}", "--scores", f"e={fewer}", status=2).stderr
    assert "row 220 (id '219') has no row in " in error


def test_filters_and_metrics_are_chosen(tmp_path, run, values):
    path = lm_eval(
        tmp_path / "samples_gsm8k_1.jsonl",
        [1, 0, 1],
        metric="exact_match",
        filters=("strict", "flexible"),
    )
    assert (
        "several filters (strict, flexible)"
        in run("score", "import", "--scores", path, status=2).stderr
    )
    assert values("score", "import", "--scores", f"a={path}:exact_match@strict") == [66.6667]
    assert values("score", "import", "--scores", f"a={path}:exact_match@flexible") == [0]
    assert (
        "no filter 'lax'"
        in run("score", "import", "--scores", f"a={path}:exact_match@lax", status=2).stderr
    )
    error = run("score", "import", "--scores", f"a={path}:acc@strict", status=2).stderr
    assert "no metric 'acc'; there is exact_match" in error


def inspect_log(value, epochs=1):
    """A log of inspect as JSON: ``value`` of a row and an epoch."""
    samples = [
        {
            "id": f"s{row}",
            "epoch": epoch,
            "input": f"question {row}",
            "scores": {"match": {"value": value(row, epoch)}},
        }
        for epoch in range(1, epochs + 1)
        for row in range(6)
    ]
    return HEADER | {"samples": samples}


def test_inspect_as_json_and_packed(tmp_path, run):
    log = inspect_log(lambda row, epoch: "C" if (row + epoch) % 3 else "I", epochs=2)
    (tmp_path / "a.json").write_text(json.dumps(log))
    with zipfile.ZipFile(tmp_path / "b.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(HEADER))
        for sample in log["samples"]:
            archive.writestr(
                f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample)
            )
    words = [
        "score",
        "import",
        "--scores",
        f"a={tmp_path / 'a.json'}",
        "--scores",
        f"b={tmp_path / 'b.eval'}",
    ]
    a, b = json.loads(run(*words, "--paired", "--format", "json").stdout)
    assert a["runs"] == b["runs"] == 2
    assert a["values"] == b["values"]
    assert b["p_value"] == 1.0


def refused(run, path, said):
    error = run("score", "import", "--scores", path, status=2).stderr
    assert said in error and error.count("\n") == 1 and len(error) < 1000


def pack(path, header, samples):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "header.json", header if isinstance(header, (str, bytes)) else json.dumps(header)
        )
        for number, sample in enumerate(samples):
            text = sample if isinstance(sample, (str, bytes)) else json.dumps(sample)
            archive.writestr(f"samples/s{number}_epoch_1.json", text)
    return path


HEADER = {"version": 2, "status": "success", "eval": {"task": "t", "task_version": 0}}
SAMPLE = {"id": "s", "epoch": 1, "input": "question", "scores": {"match": {"value": "C"}}}


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ([], "not a log of inspect (its header has no 'eval')"),
        (HEADER | {"status": ["success"]}, "ended with status"),
        (HEADER | {"status": "error"}, "ended with status 'error'"),
        (
            HEADER | {"eval": {"task_version": {}}},
            "the version of the task is neither a number nor text",
        ),
        ('{"eval": ', "header.json: not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        (b"\xff", "header.json: not UTF-8"),
    ],
)
def test_headers_of_inspect_of_other_types(tmp_path, run, header, message):
    refused(run, pack(tmp_path / "a.eval", header, [SAMPLE]), message)


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ([], "sample 1: not an object"),
        (SAMPLE | {"scores": []}, "no sample has scores"),
        (SAMPLE | {"scores": {"match": {"value": []}}}, "is not a number but list"),
        (SAMPLE | {"scores": {"match": []}}, "are missing or infinite"),
        (SAMPLE | {"epoch": "1"}, "sample 1: its epoch is not a whole number of at least 1"),
        (SAMPLE | {"epoch": True}, "sample 1: its epoch is not a whole number of at least 1"),
        (SAMPLE | {"epoch": 0}, "sample 1: its epoch is not a whole number of at least 1"),
        (SAMPLE | {"id": None}, "sample 1: no id that is a whole number or text"),
        (SAMPLE | {"id": True}, "sample 1: no id that is a whole number or text"),
        (SAMPLE | {"scores": {"match": {"value": {"x": 1, "y": 2}}}}, "which metric? Write "),
        (SAMPLE | {"scores": {"match": {"value": "A"}}}, "'A' is not a score"),
        ('{"input": "\\ud800"}', "lone surrogate"),
        (SAMPLE | {"scores": {"match": {"value": float("nan")}}}, "are missing or infinite"),
    ],
)
def test_samples_of_inspect_of_other_types(tmp_path, run, sample, message):
    refused(run, pack(tmp_path / "a.eval", HEADER, [sample]), message)
    if not isinstance(sample, str):
        (tmp_path / "a.json").write_text(json.dumps(HEADER | {"samples": [sample]}))
        refused(run, tmp_path / "a.json", message)


def test_a_list_of_samples_that_is_none(tmp_path, run):
    for samples in ({"a": 1}, 5, "text", True):
        (tmp_path / "a.json").write_text(json.dumps(HEADER | {"samples": samples}))
        refused(run, tmp_path / "a.json", "'samples' is not a list")
    (tmp_path / "a.json").write_text(json.dumps(HEADER | {"samples": []}))
    refused(run, tmp_path / "a.json", "no samples")


def test_an_input_of_any_depth(tmp_path):
    for depth in range(880, 1000, 5):  # what can be read need not be written again
        text = json.dumps(SAMPLE).replace('"question"', "[" * depth + "]" * depth)
        path = pack(tmp_path / "a.eval", HEADER, [text])
        done = CliRunner().invoke(main, ["score", "import", "--scores", str(path)])
        assert done.exit_code in (0, 2) and isinstance(done.exception, (SystemExit, type(None))), (
            done.exception
        )


PEAK = """
import resource, sys
from pathlib import Path
from cgbench.cli import main
try:
    main(["score", "import", "--scores", sys.argv[1]])
except SystemExit:
    # getrusage includes the memory of the process that started this one; VmHWM does not.
    status = Path("/proc/self/status").read_text().splitlines()
    peak = [line.split()[1] for line in status if line.startswith("VmHWM")]
    print((int(peak[0]) if peak else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) << 10)
"""


def test_an_eval_that_becomes_large_is_refused_in_little_memory(tmp_path):
    """Some 100 kB of which a program that reads all of it makes gigabytes."""
    sample = json.dumps(SAMPLE).replace('"question"', "[" + "[]," * 12_000_000 + "0]")
    lists = pack(tmp_path / "lists.eval", HEADER, [sample])
    long = pack(
        tmp_path / "long.eval", HEADER, [json.dumps(SAMPLE | {"input": "x" * 20_000_000})] * 6
    )
    assert max(lists.stat().st_size, long.stat().st_size) < 275_000
    for path, said in (
        (lists, "which would take more than 1,024 MB of memory"),
        (long, "unlike any text"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True
        )
        assert said in done.stderr and int(done.stdout) < 800 << 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"doc_id": None}, "row 2: no doc_id that is a whole number or text"),
        ({"doc_id": True}, "row 2: no doc_id that is a whole number or text"),
        ({"doc_hash": 7}, "row 2: no doc_hash"),
        ({"acc": {"x": 1}}, "'acc' is not a number but dict"),
        ({"filter": "other"}, "several filters (none, other)"),
    ],
)
def test_rows_of_lm_eval_of_other_types(tmp_path, run, change, message):
    path = lm_eval(tmp_path / "samples_arc_easy_1.jsonl", [1, 0, 1])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[1] |= change
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused(run, path, message)


def test_an_eval_with_a_password_or_damaged(tmp_path, run):
    path = pack(tmp_path / "a.eval", HEADER, [SAMPLE])
    data = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + place] |= 1
    path.write_bytes(data)
    refused(run, path, "not a readable log of inspect")
    path.write_bytes(b"PK nothing")
    refused(run, path, "not a readable log of inspect")
    refused(run, tmp_path / "b.eval", "no such file")
