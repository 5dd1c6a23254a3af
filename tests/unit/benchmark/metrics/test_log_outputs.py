"""Hypotheses in logs: which text of an answer, which run, which id."""

import json
from dataclasses import replace

import pyarrow
import pyarrow.parquet
import pytest

from cgbench.benchmark.metrics.log_outputs import by_rows, read_outputs
from cgbench.errors import InputError


def lighteval(path, rows):
    held = [{"doc": doc, "metric": {"bleu": 0.0}, "model_response": response} for doc, response in rows]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(held), path)
    return str(path)


def test_each_answer_of_lighteval_is_a_run_and_processed_text_comes_first(tmp_path):
    rows = [
        ({"id": "b", "query": "q"}, {"text": ["<think> b", "b two"], "text_post_processed": ["b one", "b two"]}),
        ({"id": "", "query": "q"}, {"text": ["a one\n\n  goes on", "a two"], "text_post_processed": None}),
    ]
    first, second = read_outputs(lighteval(tmp_path / "log.parquet", rows))
    assert (first.values, first.ids) == (["b one", "a one goes on"], ["b", "1"])  # no id: the row, from 0
    assert (second.values, second.ids) == (["b two", "a two"], ["b", "1"])
    assert first.name != second.name


def test_an_answer_that_is_not_text(tmp_path):
    path = lighteval(tmp_path / "log.parquet", [({"id": "0"}, {"text": [], "text_post_processed": None})])
    with pytest.raises(InputError, match="row 1: the answer is not text"):
        read_outputs(path)


def test_rows_in_order_keep_their_file_and_others_lose_it(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [{"doc_id": key, "hypothesis": f"text {key}"} for key in (1, 0)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (found,) = read_outputs(str(path))
    ordered = by_rows(replace(found, path=path), None)
    assert ordered.values == ["text 0", "text 1"] and ordered.path is None
    again = replace(ordered, path=path)
    assert by_rows(again, None) is again
