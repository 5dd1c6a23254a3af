"""SMCalFlow-CS on generated requests of the published form: its splits, and pairs of an induced
grammar; all rows are in ``test_reproduce_every_row.py``.
"""

import json
import re

import pytest

pytest.importorskip("transformers")
from external_models import write_model
from toy_smcalflow import WORDS, write_requests

from cgbench.data_recipes.prepared import get
from cgbench.data_recipes.registry import find_recipe
from cgbench.errors import InputError
from cgbench.models.lexicons.spans import read_spans
from cgbench.reproduction.texts import augmented


@pytest.fixture
def mirror(tmp_path):
    write_requests(tmp_path / "mirror" / "smcalflow-cs")
    return tmp_path / "mirror"


def test_compositional_rows_are_splits_and_alignments_are_spans(tmp_path, mirror):
    out = tmp_path / "out"
    get(find_recipe("smcalflow-cs"), out, mirror=str(mirror), offline=True)
    assert len((out / "num16/valid-compositional.src").read_text().splitlines()) == 4
    assert set((out / "num16/test-compositional.kind").read_text().split()) == {"compositional"}
    spans = read_spans(out / "num16/train.spans")
    assert len(spans) == 24
    words = (out / "num16/train.tgt").read_text().splitlines()[0].split()
    assert words[spans[0][0].target_start] == ":attendees" and spans[0][0].source_end == 5
    path = mirror / "smcalflow-cs/num16.train.alignment.jsonl"
    path.write_text(re.sub("alignments", "spans", path.read_text(), count=1))
    with pytest.raises(InputError, match="row 1: not a record of alignments"):
        get(find_recipe("smcalflow-cs"), tmp_path / "more", mirror=str(mirror), offline=True)


def test_t5_with_pairs_of_an_induced_grammar(run, tmp_path, mirror):
    """From requests to a grammar, new pairs, a trained T5 and its score."""
    t5 = write_model(tmp_path / "t5", "t5", words=WORDS)
    out = tmp_path / "out"
    words = (
        *("reproduce", "run", "r-dangle-6", "--benchmarks", "SMCalFlow-CS 16-C"),
        *("--scale", "smoke", "--seeds", "1", "--mirror", mirror, "--offline", "--jobs", "1"),
        *("--device", "cpu", "--out", out, "--init", t5, "--systems", "T5,T5+CSL"),
    )
    assert "2 runs in" in run(*words).stdout
    for path in (out / "runs").glob("*/*/result.json"):
        assert "exact match" in json.loads(path.read_text())["figures"]


def test_pairs_of_an_induced_grammar_are_new_requests(mirror, tmp_path):
    get(find_recipe("smcalflow-cs"), tmp_path / "out", mirror=str(mirror), offline=True)
    sides = [(tmp_path / f"out/num16/train.{side}").read_text() for side in ("src", "tgt")]
    pairs = list(zip(*(text.splitlines() for text in sides), strict=True))
    settings = {"method": "csl", "preset": "smcalflow", "copies": 4, "updates": 4, "samples": 50}
    text = augmented(pairs, settings, 1)
    assert text[:96] == pairs * 4 and len(text) == 96 + 50
    assert any(pair not in pairs for pair in text[96:])
