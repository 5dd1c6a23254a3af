"""HPD does what its authors' program does: sketches, paths, filled paths, merged entities, and both
networks with the same weights.
"""

import json
from pathlib import Path

import pytest
import torch
from overview import count_of
from waves import fill as filled

from cgbench.models.hpd.path_classifier import PathClassifier
from cgbench.models.hpd.phrase_table import PhraseTable, fill
from cgbench.models.hpd.queries import masked, paths_of, sketch_of
from cgbench.models.hpd.sketch_parser import SketchParser
from cgbench.models.special_ids import BOS, PAD

NUMBERS = json.loads(Path(__file__).with_name("authors_numbers.json").read_text(encoding="utf-8"))
TABLE = PhraseTable(
    {
        "directed": ["?x film.film.directed_by M", "?x film.film.directed_by ?x"],
        "film": ["?x a film.film"],
        "film director": ["?x a film.director"],
        "female": ["?x people.person.gender m_02zsn"],
        "was directed by": ["?x film.film.directed_by ?x"],
    }
)


def test_sketches_and_paths():
    for clauses, sketch, paths in NUMBERS["queries"]:
        assert sketch_of(clauses) == sketch
        assert paths_of(sketch) == paths


@pytest.mark.parametrize("split", ["mcd1", "mcd2"])
def test_filled_paths(split):
    compared = 0
    for own_split, question, sketch, paths in NUMBERS["fills"]:
        if own_split == split:
            candidates = TABLE.candidates(question, sketch, split)
            assert sorted(fill(paths_of(sketch), candidates)) == paths
            compared += 1
    assert compared > 10


def test_merged_entities():
    for question, shorter, merged in NUMBERS["masks"]:
        assert masked(question) == (shorter, merged)


def test_sketch_parser():
    parser = filled(SketchParser(11, 9, width=16, embedding=10))
    source = torch.tensor([[4, 5, 6, 7, 2], [8, 9, 2, PAD, PAD]])
    paths = torch.tensor([[BOS, 4, 5, 6], [BOS, 7, 8, 2]])
    logits = parser(source, torch.tensor([0, 1]), paths)
    assert logits.numel() == count_of("HPD", "logits of the parser")
    assert torch.allclose(logits, torch.tensor(NUMBERS["parser"]), atol=1e-5)


def test_path_classifier():
    classifier = filled(PathClassifier(13, width=8, embedding=12))
    questions = 2 + torch.arange(15).view(3, 5) % 11
    paths = 2 + (3 * torch.arange(12).view(3, 4)) % 11
    logits = classifier(questions, paths)
    assert logits.numel() == count_of("HPD", "logits of the classifier")
    assert torch.allclose(logits, torch.tensor(NUMBERS["classifier"]), atol=1e-5)
