"""Records of Every Eval Ever: written, read back, and valid by the schema that their validator
has.
"""

import hashlib
import json

import pytest

from cgbench import evaluate, import_scores
from cgbench.benchmark.score.evaluation.every_eval_ever import write_records
from cgbench.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")

REFERENCES = ["a b", "c d", "e f", "g h", "i j", "k l", "m n"]
RUNS = [["a b", "c x", *REFERENCES[2:]], ["a b", "c x", "e x", *REFERENCES[3:]]]


@pytest.fixture
def found(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    return evaluate(
        "exact", {"org/one": RUNS, "two": RUNS[0]}, REFERENCES, comparison={"confidence": True}
    )


def test_a_record_has_scores_intervals_and_where_its_examples_are(found, tmp_path):
    first, second = write_records(found, tmp_path)
    assert first.parent == tmp_path / "data" / "references" / "org" / "one"
    assert second.parent.parent.name == "unknown"
    record = json.loads(first.read_text())
    assert record["model_info"]["id"] == "org/one" and record["retrieved_timestamp"] == "1700000000"
    (result,) = record["evaluation_results"]
    score = found.scored.results[0].whole.figures["exact"]
    assert result["score_details"]["score"] == float(f"{score.value:.12g}")
    interval = result["score_details"]["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"]) == pytest.approx((score.ci_low, score.ci_high))
    detail = record["detailed_evaluation_results"]
    samples = (tmp_path / detail["file_path"]).read_bytes()
    assert hashlib.sha256(samples).hexdigest() == detail["checksum"]
    rows = [json.loads(line) for line in samples.splitlines()]
    assert len(rows) == detail["total_rows"] == 14 and {row["metadata"]["run"] for row in rows} == {
        "1",
        "2",
    }
    assert all(row["evaluation_id"] == record["evaluation_id"] for row in rows)
    assert rows[1]["output"] == {"raw": ["c x"]} and not rows[1]["evaluation"]["is_correct"]


def test_the_same_scores_are_the_same_files_and_never_written_over(found, tmp_path):
    one, other = (write_records(found, tmp_path / name) for name in "ab")
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_a_killed_command_resumes_to_the_same_files(found, tmp_path, monkeypatch):
    whole = write_records(found, tmp_path)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    assert write_records(found, tmp_path) == whole  # what is written stays, with its time
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files
    whole[1].unlink()  # killed before the second record
    (whole[1].parent / f".{whole[1].name}.99999999.tmp").touch()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert write_records(found, tmp_path) == whole
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files


@pytest.mark.parametrize("name", ["{}.json", "{}_samples.jsonl"])
def test_a_record_that_was_changed_is_not_written_over(found, tmp_path, name):
    record = write_records(found, tmp_path)[0]
    path = record.with_name(name.format(record.stem))
    path.write_text(path.read_text().replace("0.3.0", "0.3.1"))
    with pytest.raises(InputError, match="was changed after it was written; remove it"):
        write_records(found, tmp_path)


def test_examples_are_read_back_with_their_runs_and_ids(found, tmp_path):
    first, _ = write_records(found, tmp_path)
    back = import_scores({"one": str(first).replace(".json", "_samples.jsonl")})
    ours, theirs = (one.scored.results[0].whole.figures for one in (found, back))
    assert theirs["score"].runs == pytest.approx(ours["exact"].runs)


def test_records_are_valid_by_their_own_validator(found, tmp_path):
    validator = pytest.importorskip(
        "every_eval_ever.validator.validation_core",
        reason="pip install every-eval-ever (Python 3.12)",
    )
    for path in write_records(found, tmp_path):
        assert not validator.validate_aggregate(path).errors


@pytest.mark.parametrize(
    ("name", "said"), [("data", "cannot be the name of a folder"), ("///", "cannot be the name")]
)
def test_names_that_are_no_folders_are_refused(name, said, tmp_path):
    with pytest.raises(InputError, match=said):
        write_records(evaluate("exact", {name: RUNS[0]}, REFERENCES), tmp_path)


def test_a_perfect_score_is_within_its_limits_and_units_are_those_of_the_metric(tmp_path):
    texts = ["a b c d e f", "g h i j k l"]
    units = {}
    for name in ("bleu", "ter", "exact"):
        (path,) = write_records(evaluate(name, {"one": texts}, texts), tmp_path / name)
        (result,) = json.loads(path.read_text())["evaluation_results"]
        units[name] = result["metric_config"]["metric_unit"]
        assert result["score_details"]["score"] == (0.0 if name == "ter" else 100.0)
    assert evaluate("bleu", {"one": texts}, texts).score > 100  # as sacrebleu's
    scores = import_scores({"one": [50.0, 70.0]}, scale="0:100")
    (path,) = write_records(scores, tmp_path / "scores")
    units["scores"] = json.loads(path.read_text())["evaluation_results"][0]["metric_config"][
        "metric_unit"
    ]
    assert units == {"bleu": "points", "ter": "percent", "exact": "percent", "scores": "points"}


def test_a_damaged_record_is_one_line(tmp_path):
    path = tmp_path / "x_samples.jsonl"
    path.write_text('{"evaluation_id": "e", "sample_id": "1", "evaluation": {}}\n')
    with pytest.raises(InputError, match=r"row 1: no evaluation.score"):
        import_scores({"one": path})
