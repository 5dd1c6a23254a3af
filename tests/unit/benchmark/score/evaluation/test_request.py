import inspect
from pathlib import Path

import pytest
from request_yaml import to_yaml

import cgbench
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.benchmark.score.imported.request import ImportRequest
from cgbench.request import changed, read_values
from cgbench.studies.consistency.request import ConsistencyRequest


def test_few_parameters_and_the_fields_of_parts():
    assert len(inspect.signature(cgbench.evaluate).parameters) <= 12
    assert len(inspect.signature(cgbench.import_scores).parameters) <= 12
    assert len(inspect.signature(cgbench.consistency).parameters) <= 12
    direct = ScoreRequest(
        "bleu", "a", "r", paired=True, by="length", comparison={"samples": 9}, tokenize="none"
    )
    composed = ScoreRequest(
        "bleu",
        "a",
        "r",
        comparison=cgbench.Comparison(paired=True, samples=9),
        breakdown=cgbench.Breakdown("length"),
        settings={"tokenize": "none"},
    )
    assert direct == composed and direct.comparison.paired == "calibrated"
    assert direct == ScoreRequest(
        "bleu", "a", "r", paired=True, samples=9, by="length", tokenize="none"
    )
    again = changed(direct, paired="mcnemar", samples=8)
    assert (again.comparison.paired, again.comparison.samples) == ("mcnemar", 8)
    assert again.breakdown.by == "length"


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (
            ScoreRequest,
            {
                "metric": "exact",
                "systems": {"a": [Path("a"), Path("b")]},
                "references": [Path("r")],
            },
        ),
        (
            ScoreRequest,
            {
                "metric": "cter",
                "systems": "a",
                "lexicon": "cognition",
                "group_size": "3",
                "compounds": "c",
                "control_systems": "k",
                "control_compounds": "d",
                "paired": "bootstrap",
                "seed": 3,
                "by": "type",
                "train": "t",
                "ids": "id",
                "known": 2,
                "estimate": "window",
                "release": "folder",
            },
        ),
        (
            ImportRequest,
            {
                "systems": {"a": "s"},
                "scale": "0:1",
                "name": "COMET",
                "people": {"a": "h"},
                "hypotheses": {"a": "t"},
            },
        ),
        (
            ConsistencyRequest,
            {"items": "items.tsv", "systems": "a", "all_pairs": True, "cluster": ["piece"]},
        ),
    ],
)
def test_a_request_written_to_yaml_and_read_again_is_the_same_yaml(kind, values, tmp_path):
    made = kind(**values)
    (tmp_path / "request.yaml").write_text(to_yaml(made), encoding="utf-8")
    assert to_yaml(kind(**read_values(kind, tmp_path / "request.yaml"))) == to_yaml(made)
