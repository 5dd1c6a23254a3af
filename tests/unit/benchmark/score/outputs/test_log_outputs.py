"""Hypotheses in logs: in the order of their ids."""

import json
from dataclasses import replace

from cgbench.benchmark.score.outputs.log_outputs import by_rows, read_outputs


def test_rows_out_of_order_say_where_they_were(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [{"doc_id": key, "hypothesis": f"text {key}"} for key in (1, 0)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (found,) = read_outputs(str(path))
    ordered = by_rows(replace(found, path=path), None)
    assert ordered.values == ["text 0", "text 1"] and ordered.rows == [1, 0]
    assert ordered.row(0).endswith("log.jsonl, row 2")
    assert by_rows(ordered, None) is ordered
