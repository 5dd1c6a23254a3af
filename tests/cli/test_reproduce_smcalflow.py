"""The rows of SMCalFlow-CS over a tiny BERT, on generated requests of the published form."""

import json
import re

import pytest

pytest.importorskip("transformers")
from external_models import write_bart, write_bert, write_model

from cgbench.data_recipes.prepared import get
from cgbench.data_recipes.registry import find_recipe
from cgbench.errors import InputError
from cgbench.models.lexicons.spans import read_spans
from cgbench.reproduction.tables import all_tables
from cgbench.reproduction.texts import augmented

NAMES = ("Anna", "Bob", "Carla", "Dan")
DAYS = ("monday", "friday")
WORDS = ("meet", "with", "'", "s", "team", "on", *map(str.lower, NAMES), *DAYS)
SYSTEMS = ("BERT2SEQ", "BERT2SEQ+SS", "C2F", "C2F+SS")
OVER_BART = ("BART-large", "BART-large + R-Dangle_shr o=6")
LARGE = {"encoder_layers": 12, "decoder_layers": 12, "max_position_embeddings": 1026}


def request_of(number, is_compositional):
    name, day = NAMES[number % 4], DAYS[number % 2]
    person = f'( PersonName " {name} " )'
    people = f"( FindTeamOf :recipient {person} )" if is_compositional else person
    date = f'( NextDOW :dow # ( DayOfWeek " {day.upper()} " ) )'
    constraint = f"( Constraint[Event] :attendees ( With :people {people} ) :start {date} )"
    plan = f"( Yield :event ( Create :constraint {constraint} ) )"
    team = " 's team" if is_compositional else ""
    tags = ["all", *["events_with_orgchart"] * is_compositional]
    return {"utterance": f"meet with {name}{team} on {day}", "plan": plan, "tags": tags}


def alignment_of(record):
    """The authors' record: the attendees come from the third word, and perhaps two more."""
    words = record["plan"].split()
    start = words.index(":start")
    attendees = words.index(":attendees")
    end = 5 if "team" in record["utterance"] else 3
    return {
        "source": record["utterance"],
        "alignments": [{"target_tokens_idx": [attendees, start], "source_tokens_idx": [2, end]}],
    }


@pytest.fixture
def mirror(tmp_path):
    folder = tmp_path / "mirror" / "smcalflow-cs"
    folder.mkdir(parents=True)
    records = {
        "train": [request_of(number, number % 4 == 0) for number in range(24)],
        "valid": [request_of(number, number % 2 == 0) for number in range(8)],
        "test": [request_of(number, number % 2 == 0) for number in range(10)],
    }
    aligned = [alignment_of(record) for record in records["train"]]
    for name, rows in {**records, "train.alignment": aligned}.items():
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / f"num16.{name}.jsonl").write_text(text)
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


def test_every_row_is_run_here():
    systems = {}
    for row in all_tables()["r-dangle-6"].rows:
        assert row.init and not row.why
        systems.setdefault(row.init, set()).add(row.system)
    assert systems == {
        "google-bert/bert-base-uncased": set(SYSTEMS),
        "google-t5/t5-base": {"T5", "T5+CSL"},
        "facebook/bart-large": set(OVER_BART),
    }


@pytest.mark.slow
def test_rows_over_bart(run, tmp_path, mirror):
    bart = write_bart(tmp_path / "bart", words=WORDS, **LARGE)
    out = tmp_path / "out"
    words = (
        *("reproduce", "run", "r-dangle-6", "--benchmarks", "SMCalFlow-CS 16-C"),
        *("--scale", "smoke", "--seeds", "1", "--mirror", mirror, "--offline", "--jobs", "1"),
        *("--device", "cpu", "--out", out, "--init", bart, "--systems", ",".join(OVER_BART)),
    )
    assert "2 runs in" in run(*words).stdout
    for path in (out / "runs").glob("*/*/result.json"):
        assert "exact match" in json.loads(path.read_text())["figures"]


@pytest.mark.slow
def test_the_rows_train_decode_and_score(run, tmp_path, mirror):
    bert = write_bert(
        tmp_path / "bert", words=WORDS, num_hidden_layers=2, max_position_embeddings=512
    )
    out = tmp_path / "out"
    words = (
        *("reproduce", "run", "r-dangle-6", "--benchmarks", "SMCalFlow-CS 16-C"),
        *("--scale", "smoke", "--seeds", "1", "--mirror", mirror, "--offline", "--jobs", "1"),
        *("--device", "cpu", "--out", out, "--init", bert, "--systems", ",".join(SYSTEMS)),
    )
    run(*words)
    results = [
        json.loads(path.read_text()) for path in sorted((out / "runs").glob("*/*/result.json"))
    ]
    assert sorted(result["system"] for result in results) == sorted(SYSTEMS)
    assert all("exact match" in result["figures"] for result in results)
    shown = run("reproduce", "show", out, "--scale", "smoke").stdout
    assert "BERT2SEQ+SS" in shown and "46.8" in shown
    # A BERT of other weights is another run; another kind of model is refused.
    assert "4 of 4 runs are done" in run(*words).stderr


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
