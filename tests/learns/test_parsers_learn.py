"""BERT2SEQ and C2F, over a tiny BERT that has learned nothing, must learn to copy names that
training does not have, to fill slots, and, with span supervision, to attend to the right words.
"""

import random

import pytest
import torch

pytest.importorskip("transformers")
from external_models import write_bert

from cgbench.models.checkpoints import load_checkpoint
from cgbench.models.config.presets import load_preset
from cgbench.models.ensemble import Ensemble
from cgbench.models.external.start import plan_start
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search_settings import SearchSettings
from cgbench.models.training.trainer import train_model
from cgbench.text.program_trees import comparable_program

torch.set_num_threads(1)

SYLLABLES = ("ba", "do", "ki", "lu", "me", "no", "pa", "ri", "su", "ta")
NAMES = [first + second for first in SYLLABLES for second in SYLLABLES if first != second]
DAYS = ("monday", "friday", "sunday")
WORDS = (
    *("meet", "with", "on", "team", "the", "of"),
    *DAYS,
    *SYLLABLES,
    *(f"##{syllable}" for syllable in SYLLABLES),
)
SMALL = {
    "model.width": 32,
    "model.target_width": 16,
    "model.dropout": 0.0,
    "model.encoder_dropout": 0.0,
    "training.max_length": 60,
    "training.batch_sentences": 16,
    "training.accumulation": 1,
    "training.warmup_updates": 20,
    "training.learning_rate": 0.005,
    "training.pretrained_learning_rate": 0.002,
    "training.patience": 0,
    "training.keep": "last",
    "training.validate_every_epochs": 0,
    "training.validate_every": 0,
}


def request_of(draw, names):
    name, day, is_team = draw.choice(names), draw.choice(DAYS), draw.random() < 0.5
    person = f'( PersonName " {name} " )'
    people = f"( FindTeamOf :recipient {person} )" if is_team else f"( With :people {person} )"
    date = f'( NextDOW :dow # ( DayOfWeek " {day.upper()} " ) )'
    who = f"the team of {name}" if is_team else name
    return (
        f"meet with {who} on {day}",
        f"( Yield :event ( Constraint[Event] :attendees {people} :start {date} ) )",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("bert2seq_smcalflow_cs", {}),
        ("bert2seq_smcalflow_cs", {"method.name": "span_supervision"}),
        ("coarse_to_fine_smcalflow_cs", {}),
        ("coarse_to_fine_smcalflow_cs", {"method.name": "span_supervision"}),
    ],
)
def test_names_that_training_lacks_are_copied(tmp_path, preset, changes):
    draw = random.Random(1)
    draw.shuffle(NAMES)
    known, new = NAMES[:60], NAMES[60:]
    pairs = [request_of(draw, known) for _ in range(200)]
    for side, lines in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines))
    bert = write_bert(
        tmp_path / "bert",
        words=WORDS,
        hidden_size=32,
        num_hidden_layers=1,
        max_position_embeddings=70,
    )
    if changes:
        changes = {**changes, "method.spans": "programs"}
    small = {**SMALL, "training.max_updates": 900}
    start, settings = plan_start(bert, load_preset(preset).replace({**small, **changes}))
    files = tmp_path / "source", tmp_path / "target"
    subwords = start.learn(files[1], settings.text)
    train_model(files, None, subwords, settings, 1, tmp_path / "model", init=start)
    tests = [request_of(draw, new) for _ in range(40)]
    found = Ensemble.open(tmp_path / "model").translate(
        [source for source, _ in tests],
        SearchSettings(beam=2, max_length_extra=60, length_penalty=0.0),
    )
    right = [
        comparable_program(best.text) == comparable_program(plan)
        for best, (_, plan) in zip(found, tests, strict=True)
    ]
    assert sum(right) > 0.8 * len(right)
    if changes:
        assert attention_to_people(tmp_path / "model", tests) > 0.7


@torch.no_grad()
def attention_to_people(folder, tests):
    """The weight of the words between "meet" and "on" where "PersonName" is predicted."""
    model, subwords, _ = load_checkpoint(folder)
    model.eval()
    weights = []
    for source, plan in tests:
        ids, (target,) = subwords.encode_source([source]), subwords.encode_target([plan])
        _, attention = model.decode_attending(
            model.encode(Ragged.pack(ids)), Ragged.pack([target]).shifted()
        )
        (places,), (written,) = subwords.source_places([source]), subwords.target_places([plan])
        people = places.words[1 : source.split().index("on")]
        (row,) = written.words[plan.split().index("PersonName")]
        weights.append(
            float(attention[row, [1 + place for word in people for place in word]].sum())
        )
    return sum(weights) / len(weights)
