"""Span supervision: the loss of the authors' code by hand, its spans, and training with it."""

import json

import numpy as np
import pytest
import torch
from architecture_table import TABLE, pack, pairs, small_model
from shared_data import SHARED, needs

from cgbench.errors import InputError
from cgbench.models.checkpoints import load_checkpoint
from cgbench.models.config.methods import SpanSupervisionConfig
from cgbench.models.config.presets import architecture_preset
from cgbench.models.lexicons.spans import (
    Box,
    Span,
    boxes_of,
    program_spans,
    read_spans,
    subtree_spans,
    word_spans,
)
from cgbench.models.parts.ragged import Ragged
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.span_supervision import Guide, SpanGuides, SpanSupervision, guides_of
from cgbench.models.training.trainer import train_model
from cgbench.text.plain_text import words_of
from cgbench.text.program_trees import content_words, matched_nodes, parse_program

SOURCE, TARGET = "a b c", "x y z w"


@pytest.fixture
def subwords(tmp_path):
    (tmp_path / "source").write_text("a b c\n")
    (tmp_path / "target").write_text("x y z w\n")
    preset = architecture_preset("transformer").replace({"text.unit": "words"})
    return Subwords.learn(tmp_path / "source", tmp_path / "target", preset.text)


def guide_of(subwords, spans, outside, marks=(1, 1)):
    guides = SpanGuides(([SOURCE], [TARGET]), subwords, [spans], outside, marks)
    return guides.take(np.array([0]), np.array([5]), "cpu").wanted


def test_words_of_a_span_attend_evenly_to_its_source_and_others_to_the_rest(subwords):
    wanted = guide_of(subwords, [Span(1, 3, 0, 2)], outside=True)
    half, third = 1 / 2, 1 / 3
    assert torch.allclose(
        wanted,
        torch.tensor(
            [
                [third, 0, 0, third, third],
                [0, half, half, 0, 0],
                [0, half, half, 0, 0],
                [third, 0, 0, third, third],
                [0, 0, 0, 0, 0],
            ]
        ),
    )
    inside = guide_of(subwords, [Span(1, 3, 0, 2)], outside=False, marks=(0, 0))
    assert inside.shape == (5, 3) and inside.sum(1).tolist() == [0, 1, 1, 0, 0]


def objective_of(weight=1.0):
    return SpanSupervision(
        torch.nn.Linear(1, 1), 0.0, False, SpanSupervisionConfig(weight=weight), 5
    )


def test_perfect_attention_costs_nothing_and_uniform_attention_the_check_value():
    """Uniform attention over S pieces against a span of k costs 1/k - 1/S per token."""
    pieces, k = 7, 3
    wanted = torch.zeros(4, pieces)
    wanted[:3, 2:5] = 1 / k
    target = Ragged.pack([[4, 5, 6, 2]])
    objective = objective_of()
    assert objective.difference(wanted, Guide(wanted), target) == 0
    uniform = torch.full((4, pieces), 1 / pieces)
    assert float(objective.difference(uniform, Guide(wanted), target)) == pytest.approx(
        1 / k - 1 / pieces
    )


def test_the_mean_is_over_guided_tokens_then_over_all_sequences():
    """As in the authors' code: a sum over the source, a mean over the guided tokens of a sequence,
    and a mean over sequences, of which those without spans are 0.
    """
    wanted, weights = torch.zeros(6, 2), torch.tensor([[0.5, 0.5]]).repeat(6, 1)
    wanted[0, 0], wanted[3, 1], wanted[4, 1] = 1, 1, 1
    weights[4] = torch.tensor([0.0, 1.0])
    target = Ragged.pack([[4, 2], [5, 6, 2], [2]])
    expected = (0.5 / 1 + (0.5 + 0.0) / 2 + 0) / 3
    assert float(objective_of().difference(weights, Guide(wanted), target)) == pytest.approx(
        expected
    )


@pytest.mark.parametrize("config", TABLE)
def test_attention_of_every_architecture_that_shows_it(config):
    """The rule: a model that gives each target token a distribution over the source's tokens."""
    if not config.shows_attention:
        with pytest.raises(InputError, match="needs attention of target tokens to source tokens"):
            architecture_preset(config.architecture).replace({"method.name": "span_supervision"})
        return
    model = small_model(config)
    source, target = pack(pairs([(9, 7), (2, 12), (14, 3)]))
    states, weights = model.decode_attending(model.encode(source), target)
    assert torch.allclose(model.project(states), model(source, target), atol=1e-6)
    assert weights.shape[0] == len(target.ids)
    torch.testing.assert_close(weights.sum(1), torch.ones(len(weights)))
    columns = (weights > 0).sum(1)
    before = int(config.begin_source)
    lengths = source.layout.lengths[target.layout.sequence.numpy()]
    assert columns.tolist() == (lengths + before).tolist()


def test_an_encoder_that_reads_backwards_shows_the_order_of_the_source():
    (config,) = (row for row in TABLE if row.values[0].architecture == "lstm_attention")
    model = small_model(config.values[0])
    source, target = pack(pairs([(9, 1), (4, 1)]))
    encoded = model.encode(source)
    state = model.start(encoded)
    words = torch.zeros(2, model.config.width)
    backwards = model._advance(words, state)[1]
    first = torch.from_numpy(target.layout.starts)
    forwards = model.decode_attending(encoded, target)[1][first]
    for row, length in enumerate(source.layout.lengths.tolist()):
        torch.testing.assert_close(forwards[row, :length], backwards[row, :length].flip(0))
        assert not forwards[row, length:].any()


# --- Spans of text


def test_boxes_are_connected_links():
    assert boxes_of({(0, 0), (0, 1), (1, 1), (3, 1), (2, 2)}) == [
        Box((0, 2), (0, 2)),
        Box((2, 3), (2, 3)),
        Box((3, 4), (1, 2)),
    ]


PROGRAM = words_of(
    "( Yield :output ( Create :constraint ( Constraint[Event] :attendees ( FindTeamOf :recipient"
    ' ( Me ) ) :start ( ?= ( Tomorrow ) ) :event ( Other ) :subject ( ?= # ( String " lunch " ) ) )'
    " ) )"
)


def test_the_tree_of_a_program():
    nodes = matched_nodes(PROGRAM, lambda node, with_argument: True)
    assert [" ".join(PROGRAM[node.first : node.end]) for node in nodes] == [
        ":attendees ( FindTeamOf :recipient ( Me ) )",
        ":start ( ?= ( Tomorrow ) )",
        ':subject ( ?= # ( String " lunch " ) )',
    ]
    assert parse_program(PROGRAM).end == len(PROGRAM)
    # Without such a parent, the named nodes; never one with a variable.
    other = ["(", "Yield", "(", "FindManager", ":recipient", "(", "Me", ")", ")", ")"]
    assert [node.name for node in matched_nodes(other, lambda node, with_argument: True)] == [
        "FindManager"
    ]
    variable = ["(", "Yield", "(", "FindManager", ":recipient", "[0]", ")", ")"]
    assert matched_nodes(variable, lambda node, with_argument: True) == []


def test_a_subtree_gets_the_source_words_of_its_boxes():
    content = content_words(PROGRAM)
    words = [PROGRAM[position] for position in content]
    linked = {
        (3, words.index("FindTeamOf")),
        (4, words.index("FindTeamOf")),
        (0, words.index("Tomorrow")),
        (6, words.index("lunch")),
    }
    spans = subtree_spans(PROGRAM, content, linked)
    found = [
        (" ".join(PROGRAM[span[0] : span[1]]), span.source_start, span.source_end) for span in spans
    ]
    assert found == [
        (":attendees ( FindTeamOf :recipient ( Me ) )", 3, 5),
        (":start ( ?= ( Tomorrow ) )", 0, 1),
        (':subject ( ?= # ( String " lunch " ) )', 6, 7),
    ]
    # Links three words apart are no span; nor is a link of an argument's name alone.
    apart = {(0, words.index("FindTeamOf")), (4, words.index("Me"))}
    assert subtree_spans(PROGRAM, content, apart) == []
    assert subtree_spans(PROGRAM, content, {(2, words.index(":start"))}) == []
    # The source words of an earlier subtree are taken.
    shared = {(3, words.index("FindTeamOf")), (3, words.index("Tomorrow"))}
    assert len(subtree_spans(PROGRAM, content, shared)) == 1


def test_named_nodes_are_matched_without_their_argument():
    """As in the authors' code; the argument still belongs to the span of the target."""
    program = ["(", "Yield", ":output", "(", "FindManager", ":recipient", "(", "Me", ")", ")", ")"]
    content = content_words(program)
    linked = {(0, 0), (0, 1), (2, 2)}  # the first source word with "Yield :output"
    assert subtree_spans(program, content, linked) == [Span(2, 10, 2, 3)]


def test_links_of_words_are_spans():
    text = [("a b", "x y"), ("a c", "x z"), ("b c", "y z")] * 3
    assert word_spans(text)[:2] == [
        [Span(0, 1, 0, 1), Span(1, 2, 1, 2)],
        [Span(0, 1, 0, 1), Span(1, 2, 1, 2)],
    ]


def test_a_file_of_spans(tmp_path, subwords):
    path = tmp_path / "spans"
    path.write_text("1-3:0-2 3-4:2-3\n\n")
    assert read_spans(path) == [[Span(1, 3, 0, 2), Span(3, 4, 2, 3)], []]
    assert " ".join(map(str, read_spans(path)[0])) == "1-3:0-2 3-4:2-3"
    files, lines = (tmp_path / "s", tmp_path / "t"), ([SOURCE, SOURCE], [TARGET, TARGET])
    config = architecture_preset("transformer").model
    method = SpanSupervisionConfig(spans=str(path))
    assert guides_of(config, method, files, lines, subwords).table(0, 5)[3].tolist() == [0, 0, 1, 0]
    for text, message in (
        ("1-3:0-2\n", "has 1 lines and .* has 2"),
        ("1-5:0-2\n\n", "line 1: 1-5:0-2 ends after the words of its pair"),
        ("3-1:0-2\n\n", "line 1: write spans of words such as 2-7:0-3"),
        ("1-2\n\n", "line 1: write spans"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            guides_of(config, method, files, lines, subwords)


@needs("smcalflow-cs/num128.valid.jsonl")
def test_the_spans_of_real_programs():
    rows = [
        json.loads(line)
        for line in (SHARED / "smcalflow-cs/num128.valid.jsonl").open(encoding="utf-8")
    ]
    pairs_ = [(row["utterance"], row["plan"]) for row in rows]
    for row, (_, plan) in zip(rows, pairs_, strict=True):
        words = plan.split()
        assert content_words(words) == row["canonical_token_index_map"]
        assert [words[place] for place in content_words(words)] == row["canonical_tokens"]
        assert parse_program(words).end == len(words)
    spans = program_spans(pairs_)
    # Nearly all programs have a subtree with source words.
    assert sum(map(bool, spans)) > 0.9 * len(spans)


# --- Training


@pytest.mark.parametrize(
    "architecture",
    ["transformer", "lstm_lexicon", "lstm_attention", "syntactic_attention", "cgps"],
)
def test_attention_learns_to_point(tmp_path, architecture):
    """Targets repeat their sources; spans that say so make the attention diagonal."""
    lines = [" ".join(f"w{(i * 7 + j * 3) % 5}" for j in range(4)) for i in range(20)]
    for side in ("source", "target"):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "spans").write_text(
        "".join(" ".join(f"{i}-{i + 1}:{i}-{i + 1}" for i in range(4)) + "\n" for _ in lines)
    )
    files = tmp_path / "source", tmp_path / "target"
    small = {
        "model.width": 16,
        "model.encoder_layers": 1,
        "model.decoder_layers": 1,
        "model.dropout": 0.0,
        "training.max_updates": 60,
        "training.warmup_updates": 5,
        "training.learning_rate": 0.01,
        "training.max_tokens": 200,
        "training.max_length": 20,
        "text.unit": "words",
        "method.name": "span_supervision",
        "method.spans": str(tmp_path / "spans"),
    }
    if architecture == "transformer":
        small |= {"model.feedforward_width": 16, "model.attention_heads": 2}
    preset = architecture_preset(architecture).replace(small)
    subwords = Subwords.learn(*files, preset.text)
    weights = {}
    for weight in (0.0, 2.0):
        out = tmp_path / f"model-{weight}"
        train_model(files, None, subwords, preset.replace({"method.weight": weight}), 1, out)
        model, _, _ = load_checkpoint(out)
        source, target = (
            Ragged.pack(encode(lines[:1]))
            for encode in (subwords.encode_source, subwords.encode_target)
        )
        with torch.no_grad():
            _, attention = model.decode_attending(model.encode(source), target.shifted())
        before = int(preset.model.begin_source)
        weights[weight] = attention[:4, before : before + 4].diagonal().mean().item()
    least = 0.65 if architecture == "lstm_attention" else 0.8  # it starts from zeros
    assert weights[2.0] > least > weights[0.0] + 0.1
