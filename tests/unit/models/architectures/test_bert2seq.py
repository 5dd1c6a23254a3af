"""BERT2SEQ: BERT's states, a plain loop of the paper's model, its size, its text, and training."""

import dataclasses

import numpy as np
import pytest
import torch
from torch.nn import LayerNorm

pytest.importorskip("transformers")
import pretrained_models as over
import transformers
from external_models import BERT_WORDS, write_bert, write_roberta

from cgbench.errors import InputError
from cgbench.models.architectures.pretrained.weights import named_parts
from cgbench.models.catalogue import count_parameters
from cgbench.models.config.common import TextConfig
from cgbench.models.config.presets import architecture_preset, load_preset
from cgbench.models.external.start import plan_start
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import beam_search
from cgbench.models.search_settings import SearchSettings
from cgbench.models.special_ids import EOS, UNK
from cgbench.models.text.subwords import Subwords
from cgbench.models.text.tokenized import ids_of_bert, read_tokenizer
from cgbench.models.training.loop import build_optimizer
from cgbench.models.training.objective import Objective
from cgbench.text.program_trees import comparable_program, program_tokens

SMALL = {
    "model.width": 8,
    "model.target_width": 6,
    "training.max_length": 30,
    "training.max_tokens": 60,
    "training.batch_sentences": 4,
    "training.accumulation": 1,
    "training.max_updates": 8,
    "training.warmup_updates": 2,
    "training.checkpoint_every": 3,
    "training.validate_every_epochs": 1,
    "training.patience": 0,
    "training.log_every": 2,
}
PROGRAMS = [
    '( Yield :who ( PersonName " dog " ) )',
    '( Yield :who ( PersonName " Unknown bird " ) :at # ( Number 10 ) )',
    "( Yield :at # ( Number 10 ) )",
    '( Yield :day ( DayOfWeek " MONDAY " ) )',
]
SOURCES = ["the dog sleeps", "the unknown, bird 10 unknowns", "10", "the monday"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert") / "base"
    write_bert(folder)
    return folder


@pytest.fixture(scope="module")
def subwords(bert, tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "programs"
    path.write_text("".join(f"{line}\n" for line in PROGRAMS[:3]), encoding="utf-8")
    start, preset = plan_start(f"hf:{bert}", small_preset())
    return start.learn(path, preset.text)


def small_preset(**changes):
    return load_preset("bert2seq_smcalflow_cs").replace({**SMALL, **changes})


def build(bert, subwords, **changes):
    model = over.build(bert, small_preset(**changes), subwords.source_size, subwords.target_size)
    model.connect(subwords)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model


# --- The encoder and its tokeniser


@torch.no_grad()
def test_states_are_those_of_bert(bert, subwords):
    model = over.build(bert, small_preset(), subwords.source_size, subwords.target_size)
    plain = transformers.BertModel.from_pretrained(bert, add_pooling_layer=False).eval()
    theirs = transformers.AutoTokenizer.from_pretrained(bert)
    source = Ragged.pack(subwords.encode_source(SOURCES))
    expected = [plain(**theirs(line, return_tensors="pt")).last_hidden_state[0] for line in SOURCES]
    torch.testing.assert_close(
        model.encode(source).states, torch.cat(expected), rtol=1e-5, atol=1e-5
    )
    used = [name for _, names in named_parts(model) for name in names]
    assert sorted(used) == sorted(name for name, _ in plain.named_parameters())


@pytest.mark.parametrize("kind", ["transformer", "composition", "lrf", "dangle"])
@torch.no_grad()
def test_every_architecture_over_a_pretrained_encoder_takes_bert(bert, subwords, kind):
    sizes = {"model.width": 16, "model.encoder_width": 16, "model.encoder_attention_heads": 2}
    changes = {"model.encoder": "bert", "model.attention_heads": 2, "model.tie_output": False}
    if kind == "dangle":
        changes |= {"model.positions": "encoder", "model.mixed_layers": 1}
        changes["model.encoder_layers"] = 2
    preset = architecture_preset(kind).replace({**sizes, **changes, "training.max_length": 20})
    model = over.build(bert, preset, subwords.source_size, 11)
    over.check_search(model)
    norms = [part for part in model.source_embedding.modules() if isinstance(part, LayerNorm)]
    assert [norm.eps for norm in norms] == [1e-12]


def test_its_ids_begin_with_ours(bert):
    order = ids_of_bert(bert)
    assert order[:5] == [3, 0, 4, 2, 1] and sorted(order) == list(range(len(BERT_WORDS) + 6))
    tokens = Subwords(tokenizer=read_tokenizer(bert)).source
    assert tokens[:6] == ["<s>", "<pad>", "</s>", "<unk>", "[unused0]", "[MASK]"]
    assert tokens[6:] == list(BERT_WORDS)


def test_another_kind_of_model_is_refused(tmp_path):
    write_roberta(tmp_path / "roberta")
    with pytest.raises(InputError, match="roberta is not bert"):
        plan_start(f"hf:{tmp_path / 'roberta'}", small_preset())


# --- Programs as text


def test_words_of_literals_are_pieces_and_the_rest_are_symbols(subwords):
    assert [token for token, is_copied in program_tokens(PROGRAMS[1]) if is_copied] == [
        "Unknown",
        "bird",
    ]
    symbols = subwords.target[4 : subwords.target_size - subwords.source_size]
    assert symbols[:2] == ["(", ")"] and {'"', "10", "PersonName"} < set(symbols)
    assert not {"dog", "Unknown", "bird"} & set(symbols)
    ids = subwords.encode_target(PROGRAMS)
    texts = [[subwords.target[id_] for id_ in row] for row in ids]
    assert texts[1][6:9] == ["un", "##known", "bird"] and ids[1][6] >= len(symbols) + 4
    decoded = [subwords.decode_target(row) for row in ids]
    assert [subwords.as_decoded(line) for line in PROGRAMS[:3]] == decoded[:3]
    assert comparable_program('( PersonName " O\' Brién " ) ( X " A b " )') == (
        '( PersonName " o\'brien " ) ( X " A b " )'
    )
    assert decoded[:3] == [PROGRAMS[0], PROGRAMS[1].replace("Unknown", "unknown"), PROGRAMS[2]]
    # The literals of other functions are symbols, and unknown ones are unknown.
    assert decoded[3] == '( Yield <unk> ( <unk> " <unk> " ) )'


def test_a_piece_that_is_spelt_like_a_symbol_is_that_symbol(subwords):
    targets = subwords.targets_of_pieces()
    ten = subwords.source.index("10")
    assert subwords.target[targets[ten]] == "10" and targets[ten] < len(subwords.target) - len(
        subwords.source
    )
    dog = subwords.source.index("dog")
    assert targets[dog] == subwords.target_size - subwords.source_size + dog


def test_the_saved_file_gives_the_same_ids(subwords, tmp_path):
    subwords.save(tmp_path)
    again = Subwords.load(tmp_path)
    assert again.digest == subwords.digest and again.target == subwords.target
    for ours, theirs in zip(
        again.encode_target(PROGRAMS), subwords.encode_target(PROGRAMS), strict=True
    ):
        assert np.array_equal(ours, theirs)


def test_programs_need_a_tokeniser(tmp_path):
    (tmp_path / "text").write_text(f"{PROGRAMS[0]}\n")
    with pytest.raises(InputError, match=r"text.unit=programs: needs the tokeniser"):
        Subwords.learn(tmp_path / "text", tmp_path / "text", TextConfig(unit="programs"))


# --- The model


def slow_log_probs(model, subwords, source, target):
    """log p of each target token of one pair: a loop as in the paper, in probabilities."""
    symbols = subwords.target_size - subwords.source_size
    states = model.encode(Ragged.pack([source])).states
    copied = [subwords.targets_of_pieces()[id_] for id_ in [0, *source]]
    h = [torch.tanh(model.begin(states[0])), torch.zeros(8)]
    c, feed = [torch.zeros(8), torch.zeros(8)], torch.zeros(8)
    before, found = EOS, []
    for id_ in target:
        y = model.target_embedding.weight[min(before, symbols)]
        h[0], c[0] = model.decoder[0](torch.cat((y, feed)), (h[0], c[0]))
        h[1], c[1] = model.decoder[1](h[0], (h[1], c[1]))
        scores = [h[1] @ model.attention.weight @ state + model.attention.bias for state in states]
        context = torch.stack(scores).softmax(0)[:, 0] @ states
        feed = torch.tanh(model.mix.weight @ torch.cat((h[1], context)))
        copies = [feed @ model.copy.weight @ state + model.copy.bias for state in states]
        p = torch.cat((model.generate(feed), *copies)).softmax(0)
        ways = [p[symbols + 1 + column] for column, to in enumerate(copied) if to == id_]
        if id_ < symbols:
            ways.append(p[id_])
        elif not ways:
            id_, ways = UNK, [p[UNK]]
        found.append(torch.stack(ways).sum().log())
        before = id_
    return torch.stack(found)


@torch.no_grad()
def test_log_probabilities_are_those_of_a_plain_loop(bert, subwords):
    model = build(bert, subwords)
    sources, targets = subwords.encode_source(SOURCES), subwords.encode_target(PROGRAMS)
    targets[0] = subwords.encode_target(['( Yield :who ( PersonName " cat dog " ) )'])[0]
    pairs = [(row.tolist(), ids.tolist()) for row, ids in zip(sources, targets, strict=True)]
    expected = torch.cat([slow_log_probs(model, subwords, *pair) for pair in pairs])
    source, target = Ragged.pack(sources), Ragged.pack(targets)
    predictable = model.predictable(source, target)
    # Of the first program, cat cannot be copied.
    assert (predictable.ids != target.ids).tolist().count(True) == 1
    log_p = model(source, predictable.shifted())
    torch.testing.assert_close(
        log_p.gather(1, predictable.ids[:, None])[:, 0], expected, rtol=1e-5, atol=1e-5
    )
    torch.testing.assert_close(log_p.exp().sum(1), torch.ones(len(log_p)))
    loss, _ = Objective(model)(source, target)
    assert float(loss) == pytest.approx(-float(expected.sum()), rel=1e-5)


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
                hypothesis.log_prob, abs=1e-4
            )


@pytest.mark.parametrize("symbols", [100, 500])
def test_the_published_size(symbols):
    """The decoder has 2,035,970 parameters and 385 per symbol; BERT-base 109,482,240 with a pooler
    and a second token type, which are not read.
    """
    config = load_preset("bert2seq_smcalflow_cs").model
    total, _ = count_parameters(config, 30_522, 30_522 + symbols - 1)
    unread = 768 * 768 + 768 + 768
    assert total == 2_035_970 + 385 * symbols + 109_482_240 - unread
    own = dataclasses.replace(config, encoder="own", copies=False)
    assert count_parameters(own, 9, 9)[0] > 0


def test_the_settings_of_the_authors():
    training = load_preset("bert2seq_smcalflow_cs").training
    batches = -(-25_436 // 32)
    assert training.max_updates == 30 * -(-batches // training.accumulation)
    assert training.warmup_updates == int(25_436 * 30 / 64 / 10)
    assert (training.batch_sentences, training.clip_norm, training.patience) == (32, 5.0, 10)


def test_the_encoder_learns_more_slowly_and_its_biases_do_not_decay(bert, subwords):
    preset = small_preset()
    model = build(bert, subwords)
    checkpoint = dataclasses.make_dataclass("Checkpoint", ["training"])(preset.training)
    optimizer = build_optimizer(Objective(model), checkpoint)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    found = {
        names[id(parameter)]: (round(group["rate"], 6), group["weight_decay"])
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    assert found["generate.bias"] == (1, 0.01)
    assert found["encoder.0.attention.project_in.weight"] == (0.03, 0.01)
    assert found["encoder.0.attention.project_in.bias"] == (0.03, 0)
    assert found["source_embedding.norm.weight"] == (0.03, 0)
    assert len(found) == len(names)


def test_a_stopped_run_ends_in_the_same_bytes(bert, tmp_path):
    def target_of(line):
        return f'( Say :what ( String " {line} " ) )'

    corpus = over.write_corpus(tmp_path, target_of)

    def train(out, **options):
        preset = small_preset(**{"training.learning_rate": 0.01})
        return over.train(bert, corpus, preset, out, **options)

    over.check_stopped(train, tmp_path)
