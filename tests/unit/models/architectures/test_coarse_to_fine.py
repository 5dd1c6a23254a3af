"""C2F: sketches as text, a plain loop of the model, its size, search and training."""

import json

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")
import pretrained_models as over
from external_models import write_bert
from shared_data import SHARED, needs

from cgbench.models.catalogue import count_parameters
from cgbench.models.config.presets import load_preset
from cgbench.models.ensemble import Ensemble
from cgbench.models.external.start import plan_start
from cgbench.models.lexicons.spans import Span
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import beam_search
from cgbench.models.search_settings import SearchSettings
from cgbench.models.special_ids import EOS
from cgbench.models.training.objective import Objective
from cgbench.models.training.span_supervision import Guide, SpanGuides, SpanSupervision
from cgbench.text.program_trees import SLOT, comparable_program

SMALL = {
    "model.width": 8,
    "model.target_width": 6,
    "model.tag_width": 3,
    "training.max_length": 60,
    "training.batch_sentences": 4,
    "training.accumulation": 1,
    "training.max_updates": 8,
    "training.warmup_updates": 2,
    "training.checkpoint_every": 3,
    "training.patience": 0,
    "training.log_every": 2,
}
PROGRAMS = [
    '( Yield ( Constraint[Event] :attendees ( With ( PersonName " dog " ) ) :start ( Ten ) ) )',
    "( Yield ( Nothing ) )",
    '( Yield ( Constraint[Event] :subject ( ?= # ( String " Unknown bird " ) ) ) )',
]
SOURCES = ["the dog sleeps", "the cat", "the unknown bird sings"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert") / "base"
    write_bert(folder, max_position_embeddings=70)
    return folder


def small_preset(**changes):
    return load_preset("coarse_to_fine_smcalflow_cs").replace({**SMALL, **changes})


@pytest.fixture(scope="module")
def subwords(bert, tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "programs"
    path.write_text("".join(f"{line}\n" for line in PROGRAMS), encoding="utf-8")
    start, preset = plan_start(f"hf:{bert}", small_preset())
    return start.learn(path, preset.text)


def build(bert, subwords, alpha=0.1):
    model = over.build(bert, small_preset(), subwords.source_size, subwords.target_size)
    model.connect(subwords)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=alpha)
    return model


# --- Sketches as text


def words_of_ids(subwords, ids):
    return " ".join(subwords.target[id_] for id_ in ids)


def test_a_sketch_is_followed_by_its_subtrees(subwords):
    first, second, third = subwords.encode_target(PROGRAMS)
    assert words_of_ids(subwords, first) == (
        "( Yield ( Constraint[Event] :attendees __SLOT__ :start __SLOT__ ) ) "
        '<pad> ( With ( PersonName " dog " ) ) <pad> ( Ten ) </s>'
    )
    assert words_of_ids(subwords, second) == "( Yield ( Nothing ) ) </s>"
    assert subwords.target[first[5]] == SLOT and first[5] == subwords.slot
    for ids, line in zip((first, second, third), PROGRAMS, strict=True):
        decoded = subwords.decode_target(ids)
        assert comparable_program(decoded) == comparable_program(line)
        assert decoded == subwords.as_decoded(line)


def test_a_slot_in_a_subtree_is_not_filled(subwords):
    first = subwords.encode_target(PROGRAMS[:1])[0].tolist()
    mark = subwords.target_size - subwords.source_size + 1
    slot = subwords.slot
    twice = [first[0], slot, slot, mark, slot, mark, first[0], EOS]
    assert subwords.decode_target(twice) == "( __SLOT__ ("
    assert subwords.decode_target([*twice[:5], EOS]) == "( __SLOT__ __SLOT__"


def test_words_of_a_subtree_are_its_tokens_and_its_slot(subwords):
    (places,) = subwords.target_places(PROGRAMS[:1])
    ids = subwords.encode_target(PROGRAMS[:1])[0]
    words = PROGRAMS[0].split()
    assert len(places.words) == len(words) and places.guided == 10
    opening = words.index("With") - 1
    assert [subwords.target[ids[place]] for place in places.words[opening]] == [SLOT, "("]
    assert [subwords.target[ids[place]] for place in places.words[opening + 1]] == ["With"]


@needs("smcalflow-cs/num128.valid.jsonl")
def test_real_programs_survive_sketches(bert, tmp_path):
    lines = [
        json.loads(line)["plan"]
        for line in (SHARED / "smcalflow-cs/num128.valid.jsonl").open(encoding="utf-8")
    ]
    (tmp_path / "plans").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    start, preset = plan_start(f"hf:{bert}", small_preset())
    real = start.learn(tmp_path / "plans", preset.text)
    for line, ids in zip(lines, real.encode_target(lines), strict=True):
        assert real.decode_target(ids) == real.as_decoded(line)


# --- The model


def slow_log_probs(model, subwords, source, target):
    """log p of each target token of one pair: the paper's two levels as plain loops."""
    symbols, mark = model.symbols, model.mark
    states = model.encode(Ragged.pack([source])).states
    copied = [subwords.targets_of_pieces()[id_] for id_ in [0, *source]]

    def decode(h, c, feed, ids, ending):
        """``ending``: what the end is called."""
        before, found, after = EOS, [], []
        for id_ in ids:
            y = model.target_embedding.weight[min(before, symbols)]
            h, c = list(h), list(c)
            h[0], c[0] = model.decoder[0](torch.cat((y, feed)), (h[0], c[0]))
            h[1], c[1] = model.decoder[1](h[0], (h[1], c[1]))
            scores = torch.cat([h[1] @ model.attention.weight @ state[:, None] for state in states])
            context = scores.softmax(0) @ states
            feed = torch.tanh(model.mix.weight @ torch.cat((h[1], context)))
            copies = [feed @ model.copy.weight @ state + model.copy.bias for state in states]
            p = torch.cat((model.generate(feed), *copies)).softmax(0)
            name = EOS if id_ == ending else id_
            ways = [p[symbols + 1 + column] for column, to in enumerate(copied) if to == name]
            ways += [p[name]] if name < symbols else []
            found.append(torch.stack(ways).sum().log())
            after.append((h, c, feed))
            before = id_
        return found, after

    sequences, current = [], []
    for id_ in target:
        current.append(id_)
        if id_ in (mark, EOS):
            sequences.append(current)
            current = []
    sketch, *subtrees = sequences
    h = [torch.tanh(model.begin(states[0])), torch.zeros(8)]
    found, after = decode(h, [torch.zeros(8)] * 2, torch.zeros(8), sketch, sketch[-1])
    slots = [place for place, id_ in enumerate(sketch) if id_ == subwords.slot]
    for slot, subtree in zip(slots, subtrees, strict=True):
        h, c, feed = after[slot]
        h = [torch.tanh(model.child_h(torch.cat((layer, model.tag)))) for layer in h]
        c = [model.child_c(torch.cat((layer, model.tag))) for layer in c]
        found += decode(h, c, feed, subtree, subtree[-1])[0]
    return torch.stack(found)


@torch.no_grad()
def test_log_probabilities_are_those_of_two_plain_loops(bert, subwords):
    model = build(bert, subwords)
    sources, targets = subwords.encode_source(SOURCES), subwords.encode_target(PROGRAMS)
    pairs = [(row.tolist(), ids.tolist()) for row, ids in zip(sources, targets, strict=True)]
    expected = torch.cat([slow_log_probs(model, subwords, *pair) for pair in pairs])
    source, target = Ragged.pack(sources), Ragged.pack(targets)
    log_p = model(source, target.shifted())
    torch.testing.assert_close(
        log_p.gather(1, target.ids[:, None])[:, 0], expected, rtol=1e-5, atol=1e-5
    )
    torch.testing.assert_close(log_p.exp().sum(1), torch.ones(len(log_p)))
    assert float(Objective(model)(source, target)[0]) == pytest.approx(
        -float(expected.sum()), rel=1e-5
    )


@torch.no_grad()
def test_a_step_continues_each_hypothesis(bert, subwords):
    """Step by step, with rows reordered in the middle of sketches and subtrees."""
    model = build(bert, subwords)
    sources, targets = subwords.encode_source(SOURCES), subwords.encode_target(PROGRAMS)
    state = model.start(model.encode(Ragged.pack(sources)))
    rows, inputs = [0, 1, 2], [[EOS, *ids.tolist()[:-1]] for ids in targets]
    expected = [
        model(Ragged.pack([source]), Ragged.pack([read]))
        for source, read in zip(sources, inputs, strict=True)
    ]
    for step in range(max(map(len, inputs))):
        going = [place for place, row in enumerate(rows) if step < len(inputs[row])]
        order = going[::-1] if step % 3 == 1 else going
        if order != list(range(len(rows))):
            state.reorder(np.array(order))
            rows = [rows[place] for place in order]
        log_p = model.step(torch.tensor([inputs[row][step] for row in rows]), state)
        for found, row in zip(log_p, rows, strict=True):
            torch.testing.assert_close(found, expected[row][step], rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_search_and_teacher_forcing_agree(bert, subwords):
    model = build(bert, subwords)
    for source, hypotheses in zip(
        subwords.encode_source(SOURCES),
        beam_search([model], Ragged.pack(subwords.encode_source(SOURCES)), SearchSettings(beam=3)),
        strict=True,
    ):
        for hypothesis in hypotheses:
            target = Ragged.pack([hypothesis.tokens])
            log_p = model(Ragged.pack([source]), target.shifted())
            assert float(log_p.gather(1, target.ids[:, None]).sum()) == pytest.approx(
                hypothesis.log_prob, abs=1e-3
            )


@torch.no_grad()
@pytest.mark.parametrize("beam", [1, 3])
def test_the_authors_search_takes_the_best_of_each_level(bert, subwords, beam):
    """Each slot has a subtree; the probability is of all sequences; company changes nothing."""
    model = build(bert, subwords)
    # Sketches with slots are likely.
    model.generate.bias[subwords.slot] += 2
    sources = subwords.encode_source(SOURCES)
    settings = SearchSettings(beam=beam, max_length_extra=4, length_penalty=0.0)
    found = model.search(Ragged.pack(sources), settings)
    assert any(subwords.slot in best.tokens for (best,) in found)
    for source, (best,) in zip(sources, found, strict=True):
        tokens = best.tokens.tolist()
        sketch = tokens[: tokens.index(model.mark)] if model.mark in tokens else tokens
        assert tokens.count(model.mark) == sketch.count(subwords.slot)
        target = Ragged.pack([best.tokens])
        log_p = model(Ragged.pack([source]), target.shifted())
        assert float(log_p.gather(1, target.ids[:, None]).sum()) == pytest.approx(
            best.log_prob, abs=1e-3
        )
        assert best.score == pytest.approx(best.log_prob)
        ((alone,),) = model.search(Ragged.pack([source]), settings)
        assert alone.tokens.tolist() == tokens


@torch.no_grad()
def test_two_models_are_an_ensemble_that_searches_and_scores(bert, subwords):
    models = tuple(build(bert, subwords, alpha) for alpha in (0.1, 0.2))
    ensemble = Ensemble(models, subwords, torch.device("cpu"), 60)
    best = ensemble.translate(SOURCES, SearchSettings(beam=2))
    scores = ensemble.score(SOURCES, [hypothesis.tokens for hypothesis in best])
    for hypothesis, log_prob in zip(best, scores["log_prob"], strict=True):
        assert log_prob == pytest.approx(hypothesis.log_prob, abs=1e-3)
    alone = Ensemble(models[:1], subwords, torch.device("cpu"), 60)
    assert len(alone.search(SOURCES, SearchSettings(beam=2))[0]) == 1  # the authors' search


@torch.no_grad()
def test_a_subtree_starts_from_its_slot(bert, subwords):
    """At the start of training, h is tanh of the slot's h, and c and the vector are its own."""
    model = over.build(bert, small_preset(), subwords.source_size, subwords.target_size)
    h, c, feed = torch.randn(2, 2, 8), torch.randn(2, 2, 8), torch.randn(2, 8)
    child = model._child(h, c, feed)
    torch.testing.assert_close(torch.stack(child.h, 1), torch.tanh(h))
    torch.testing.assert_close(torch.stack(child.c, 1), c)
    assert torch.equal(child.feed, feed)


@pytest.mark.parametrize("symbols", [100, 500])
def test_the_published_size(symbols):
    """The authors register 2,610,339 parameters and 385 per symbol, of which those of span scores
    and of a cell's start are never used.
    """
    config = load_preset("coarse_to_fine_smcalflow_cs").model
    total, _ = count_parameters(config, 30_522, 30_522 + symbols - 1)
    unused = 768 * 256 + 256 + 2 * 768 * 128 + 128 + 256 * 128 + 1
    assert total - 108_890_880 == 2_610_339 + 385 * symbols - unused


def test_span_supervision_of_sketches_and_subtrees(bert, subwords):
    """The mean over sketches, plus the mean over all subtrees, of which unaligned ones are 0."""
    model = build(bert, subwords)
    method = load_preset("coarse_to_fine_smcalflow_cs").replace(
        {"method.name": "span_supervision", "method.weight": 1.0}
    )
    objective = SpanSupervision(model, 0.0, False, method.method, subwords.target_size)
    words = PROGRAMS[0].split()
    start = words.index(":attendees")
    spans = [[Span(start, words.index(":start"), 1, 2)], [], []]
    guides = SpanGuides((SOURCES, PROGRAMS), subwords, spans, True, (1, 1))
    targets = subwords.encode_target(PROGRAMS)
    target = Ragged.pack(targets)
    guide = guides.take(np.arange(3), target.layout.lengths, "cpu")
    first, second, third = guide.wanted.split([len(ids) for ids in targets])
    sketch, tokens = targets[0].tolist().index(model.mark), targets[0].tolist()
    slot = tokens.index(subwords.slot)
    # The argument's name, its slot and its subtree point at "dog"; marks and </s> are free.
    rows = [slot - 1, slot, *range(sketch + 1, tokens.index(model.mark, sketch + 1))]
    assert all(first[row].nonzero().tolist() == [[2]] for row in rows)
    assert not first[sketch].any() and not first[-1].any()
    # The rest of the sketch points at the rest of the source, the unaligned subtree nowhere.
    assert first[0].nonzero().ravel().tolist() == [0, 1, 3, 4]
    assert not first[tokens.index(model.mark, sketch + 1) :].any()
    assert second[:-1].any(1).all() and third[-2].any() == 0
    uniform = torch.zeros_like(guide.wanted)
    square = (uniform - guide.wanted).square().sum(1)
    parts = [square[:sketch].mean(), *(row.square().sum(1)[row.any(1)].mean() for row in (second,))]
    third_sketch = targets[2].tolist().index(model.mark)
    parts.append(third[:third_sketch].square().sum(1).mean())
    subtree = square[sketch + 1 : rows[-1] + 1].mean()
    expected = sum(parts) / 3 + (subtree + 0 + 0) / 3
    assert float(objective.difference(uniform, guide, target)) == pytest.approx(float(expected))
    source = Ragged.pack(subwords.encode_source(SOURCES))
    loss, _ = objective(source, target, guide)
    plain, _ = Objective(model)(source, target)
    with torch.no_grad():
        _, weights = model.decode_attending(model.encode(source), target.shifted())
        difference = objective.difference(weights, Guide(guide.wanted), target)
    assert float((loss - plain).detach()) == pytest.approx(
        float(difference) * target.layout.tokens, rel=1e-3
    )


def test_a_stopped_run_ends_in_the_same_bytes(bert, tmp_path):
    def target_of(line):
        return f'( Say ( Constraint[Event] :what ( String " {line} " ) ) )'

    corpus = over.write_corpus(tmp_path, target_of)
    changes = {
        "training.learning_rate": 0.01,
        "method.name": "span_supervision",
        "method.spans": "programs",
    }

    def train(out, **options):
        return over.train(bert, corpus, small_preset(**changes), out, **options)

    over.check_stopped(train, tmp_path)
