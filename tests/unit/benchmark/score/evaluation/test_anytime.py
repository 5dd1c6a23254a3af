"""``--anytime``: differences that are valid at any look."""

import numpy as np
import pytest

from cgbench import InputError, evaluate, import_scores, sequential

REFERENCES = [f"a b {row}" for row in range(120)]


def outputs(share, seed=0):
    right = np.random.default_rng(seed).random(120) < share
    return [
        text if is_right else "x" for text, is_right in zip(REFERENCES, right, strict=True)
    ], 100.0 * right


def test_rows_are_those_of_sequential():
    (good, good_scores), (bad, bad_scores) = outputs(0.9), outputs(0.4, 1)
    result = evaluate("exact", {"bad": bad, "good": good}, REFERENCES, comparison={"anytime": True})
    (row,) = [row for row in result.rows() if row.analysis == "anytime"]
    known = sequential(good_scores - bad_scores, -100, 100)
    assert (row.system, row.baseline, row.p_value) == ("good", "bad", known.p[-1])
    assert (row.difference_low, row.difference_high) == (known.low[-1], known.high[-1])
    assert row.figure.endswith("better") and "any look: better" in result.report()
    # With three systems the level is for both differences.
    third = evaluate(
        "exact", {"bad": bad, "good": good, "too": good}, REFERENCES, comparison={"anytime": True}
    )
    row = next(row for row in third.rows() if row.analysis == "anytime")
    assert row.p_value == pytest.approx(2 * known.p[-1]) and row.difference_low < known.low[-1]


def test_imported_scores_need_a_scale():
    scores = {"a": [0.1, 0.7, 0.3] * 20, "b": [0.2, 0.5, 0.4] * 20}
    with pytest.raises(InputError, match="anytime: scores is no mean"):
        import_scores(scores, comparison={"anytime": True})
    rows = import_scores(scores, scale="0:1", comparison={"anytime": True}).rows()
    assert [row.n for row in rows if row.analysis == "anytime"] == [60]


def test_results_of_different_lengths(tmp_path):
    scores = {"a": [1, 0, 1, 1] * 10, "b": [1, 0, 0, 1] * 9}
    (row,) = [
        row
        for row in import_scores(scores, comparison={"anytime": True}).rows()
        if row.analysis == "anytime"
    ]
    assert row.n == 36
    for name, rows in {"a": range(40), "b": range(5, 50)}.items():
        (tmp_path / f"{name}.tsv").write_text(
            "id\tscore\n" + "".join(f"{row}\t{row % 2}\n" for row in rows)
        )
    files = {name: f"{tmp_path / name}.tsv:score" for name in "ab"}
    options = {"examples": {"ids": "id"}, "comparison": {"anytime": True}}
    (row,) = [row for row in import_scores(files, **options).rows() if row.analysis == "anytime"]
    assert (row.n, row.difference) == (35, 0.0)
    with pytest.raises(InputError):
        import_scores(files, examples={"ids": "id"})


def test_a_corpus_metric_is_refused():
    text = [f"{line} c d" for line in REFERENCES]
    with pytest.raises(InputError, match="BLEU is no mean"):
        evaluate("bleu", {"a": text, "b": text}, text, comparison={"anytime": True})


def test_clusters_give_the_difference_of_the_table(tmp_path):
    """Long documents count by their number of examples, as in the table of scores."""
    systems = {"bad": outputs(0.4, 1)[0], "good": outputs(0.9)[0]}
    documents = [f"d{min(row // 3, 20)}" for row in range(120)]  # the last one has 60 examples
    table = tmp_path / "documents.tsv"
    table.write_text("document\n" + "".join(f"{document}\n" for document in documents))
    options = {"anytime": True, "paired": True, "cluster": "document"}
    result = evaluate("exact", systems, REFERENCES, comparison=options, examples={"table": table})
    (row,) = [row for row in result.rows() if row.analysis == "anytime"]
    (tested,) = [row for row in result.rows() if row.analysis == "scores" and row.system == "good"]
    assert row.n == 21 and row.difference == pytest.approx(tested.difference)
    assert row.difference_low < row.difference < row.difference_high
