"""``score --memory``: the target of the nearest training source as one more system; and ``--by
neighbour``.
"""

import random

import pytest
from parts_manifest import MANIFEST

from cgbench.benchmark.score.evaluation.evaluate import evaluate
from cgbench.errors import InputError
from cgbench.studies.parts.folder import Piece, Place, write_parts

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")

SOURCES = ["geh zweimal", "lauf zweimal", "hüpf dreimal", "geh und lauf"]
REFERENCES = ["walk twice", "run twice", "jump thrice", "walk and run"]


@pytest.fixture
def corpus(tmp_path):
    rows = [
        "geh zweimal\twalk twice",
        "lauf zweimal jetzt\trun twice",
        "geh und spring\twalk and jump",
    ]
    (tmp_path / "train.tsv").write_text("".join(f"{row}\n" for row in rows))
    return tmp_path / "train.tsv"


def accuracy(evaluation):
    return {
        result.system: result.whole.figures["exact"].value for result in evaluation.scored.results
    }


def test_memory_is_the_last_system(corpus):
    found = evaluate("exact", {"mine": REFERENCES}, REFERENCES, sources=SOURCES, memory=corpus)
    assert [system.name for system in found.systems] == ["mine", "memory"]
    # The third sentence shares no word with training.
    assert found.systems[1].runs[0] == ["walk twice", "run twice", "", "walk and jump"]
    assert accuracy(found) == {"mine": 100, "memory": 50}


def test_one_nameless_system_and_a_control_set(corpus):
    control = {"control_systems": ["walk twice"] * 4, "control_references": ["walk twice"] * 4}
    found = evaluate(
        "exact",
        REFERENCES,
        REFERENCES,
        sources=SOURCES,
        control={**control, "control_sources": ["geh zweimal"] * 4, "memory": corpus},
    )
    assert accuracy(found) == {"system": 100, "memory": 50}
    scores = {system: drop["exact"].control for system, drop in found.scored.drops.items()}
    assert scores == {"system": 100, "memory": 100}
    with pytest.raises(InputError, match="memory translates the sources; give control_sources"):
        evaluate(
            "exact", REFERENCES, REFERENCES, sources=SOURCES, control={**control, "memory": corpus}
        )


def test_rows_are_joined_by_ids(tmp_path, corpus):
    order = [2, 0, 3, 1]
    write = lambda name, lines: (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))  # noqa: E731
    write(
        "test.tsv",
        ["id\tsource\treference", *(f"{i}\t{SOURCES[i]}\t{REFERENCES[i]}" for i in range(4))],
    )
    write("hyp.tsv", ["id\thypothesis", *(f"{i}\t{REFERENCES[i]}" for i in order)])
    found = evaluate(
        "exact",
        tmp_path / "hyp.tsv",
        tmp_path / "test.tsv",
        sources=tmp_path / "test.tsv",
        memory=corpus,
        examples={"ids": "id"},
    )
    assert accuracy(found) == {"hyp": 100, "memory": 50}


def test_memory_translates_the_probes(tmp_path, corpus):
    probes = [("geh zweimal", "walk twice"), ("geh und spring", "walk and jump")] * 2
    pieces = [Piece("walk", 9, probes=(1, 3)), Piece("twice", 9, probes=(0, 2))]
    rows = [[Place(0, 0, 1), Place(1, 1, 2)], [Place(1, 1, 2)], [], [Place(0, 0, 1)]]
    write_parts(tmp_path / "parts", pieces, probes, rows, MANIFEST)
    found = evaluate(
        "chrf",
        {"mine": REFERENCES},
        REFERENCES,
        sources=SOURCES,
        memory=corpus,
        parts=tmp_path / "parts",
        probe_systems={"mine": [target for _, target in probes]},
    )
    assert [system.name for system in found.systems] == ["mine", "memory"]
    assert found.parts.outcomes[1][0].probes.all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sources": None}, "give sources"),
        ({"systems": {"memory": REFERENCES}}, "a system is called memory"),
        ({"memory": "none.tsv"}, "no such file"),
    ],
)
def test_refused(corpus, values, message):
    values = {
        "systems": {"mine": REFERENCES},
        "references": REFERENCES,
        "sources": SOURCES,
        "memory": corpus,
    } | values
    with pytest.raises(InputError, match=message):
        evaluate("exact", **values)


def test_similarity_of_the_nearest_training_text():
    """An edited copy is near, by the share of edited words; the side is the one that --train is
    of.
    """
    draw = random.Random(1)
    words = [f"w{number}" for number in range(500)]
    train = [" ".join(draw.sample(words, 10)) for _ in range(50)]
    edited = [
        " ".join([*line.split()[:-edits], *["new"] * edits])
        for line, edits in zip(train, (1, 2, 5), strict=False)
    ]
    edited.append("quite new")
    found = evaluate(
        "exact",
        {"mine": edited},
        edited,
        by="neighbour",
        breakdown={"train": train, "bins": [0.45, 0.85]},
    )
    assert [(bin.label, part.examples) for bin, part in found.scored.results[0].bins] == [
        ("< 0.45", 1),
        ("0.45 to < 0.85", 2),
        (">= 0.85", 1),
    ]
    with pytest.raises(InputError, match="needs the training text"):
        evaluate("exact", {"mine": edited}, edited, by="neighbour")
