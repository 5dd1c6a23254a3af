"""BART as encoder and decoder of our architectures: logits, prefixes against a plain loop,
training, tokeniser.
"""

import json
import shutil

import pytest
import torch

pytest.importorskip("transformers")
import pretrained_models as over
import transformers
from external_models import LINES, WORDS, write_bart, write_roberta
from few import few

from cgbench.errors import InputError, InputWarning
from cgbench.models.architectures.pretrained.weights import named_parts
from cgbench.models.checkpoints import load_checkpoint
from cgbench.models.config.presets import architecture_preset, load_preset
from cgbench.models.ensemble import Ensemble
from cgbench.models.external.start import plan_start
from cgbench.models.search_settings import SearchSettings
from cgbench.models.special_ids import SPECIALS
from cgbench.models.text.subwords import Subwords
from cgbench.models.text.tokenized import read_tokenizer
from cgbench.models.training.ensemble_training import train_ensemble_from
from cgbench.models.training.request import EnsembleRequest

SPLIT = {"model.mixed_layers": 1, "model.encoder_layers": 2}
KINDS = {
    "transformer": {},
    "dangle": SPLIT,
    "r_dangle": {**SPLIT, "model.values": "shared", "model.interval": 2},
}
BART = {
    **{
        "model.encoder": "bart",
        "model.positions": "encoder",
        "model.norm": "post",
        "model.activation": "gelu",
    },
    **{
        "model.width": 16,
        "model.encoder_width": 16,
        "model.encoder_attention_heads": 2,
        "model.attention_heads": 4,
    },
}
SMALL = {
    **{
        "training.max_length": 20,
        "training.max_tokens": 40,
        "training.max_updates": 8,
        "training.warmup_updates": 2,
    },
    **{
        "training.learning_rate": 0.002,
        "training.checkpoint_every": 3,
        "training.validate_every": 4,
    },
    "training.log_every": 2,
}
SIZE = len(WORDS) + 5


@pytest.fixture(scope="module")
def bart(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bart") / "base"
    write_bart(folder)
    return folder


@pytest.fixture(scope="module")
def plain(bart):
    return transformers.BartForConditionalGeneration.from_pretrained(bart).eval()


def preset_of(kind, **changes):
    return architecture_preset(kind).replace({**BART, **SMALL, **KINDS[kind], **changes})


def build(kind, bart, **changes):
    return over.build(bart, preset_of(kind, **changes), SIZE, SIZE)


def as_read(source, marks):
    """What the encoder reads of source ids."""
    return [0, *source] if marks else source[:-1] or source


@pytest.mark.parametrize("marks", [False, True])
@torch.no_grad()
def test_states_and_logits_are_those_of_the_plain_model(bart, plain, marks):
    model = build("transformer", bart, **{"model.encoder_marks": marks})
    states, logits = model.encode(over.SOURCE).states, model(over.SOURCE, over.TARGET.shifted())
    read = [torch.tensor([as_read(ids, marks)]) for ids in over.lists(over.SOURCE)]
    expected = torch.cat([plain.get_encoder()(input_ids=ids).last_hidden_state[0] for ids in read])
    torch.testing.assert_close(states, expected, rtol=1e-5, atol=1e-5)
    shifted = [torch.tensor([[2, *ids[:-1]]]) for ids in over.lists(over.TARGET)]
    expected = [
        plain(input_ids=x, decoder_input_ids=y, use_cache=False).logits[0]
        for x, y in zip(read, shifted, strict=True)
    ]
    torch.testing.assert_close(logits, torch.cat(expected), rtol=1e-5, atol=1e-5)


def test_every_parameter_is_loaded_and_the_words_are_one_table(bart, plain):
    for kind in KINDS:
        model = build(kind, bart)
        used = [name for _, names in named_parts(model) for name in names]
        assert sorted(used) == sorted(name for name, _ in plain.model.named_parameters()), kind
        names = [name for name, tensor in model.state_dict().items() if tensor.shape == (SIZE, 16)]
        assert names == ["source_embedding.words.weight"], kind
        model.project(model.target_embedding.weight[:1]).sum().backward()
        assert model.source_embedding.words.weight.grad is not None, kind


@torch.no_grad()
def test_files_without_an_output_layer_are_the_same_model(bart, plain, tmp_path):
    """As the hub has BART-large."""
    plain.model.save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((bart / "tokenizer.json").read_bytes())
    (tmp_path / "tokenizer_config.json").write_bytes((bart / "tokenizer_config.json").read_bytes())
    one, other = (
        build("transformer", folder)(over.SOURCE, over.TARGET.shifted())
        for folder in (bart, tmp_path)
    )
    assert torch.equal(one, other)


def embedded(stack, table, ids):
    """Words at positions from 0, as BART's stacks read them."""
    positions = stack.embed_positions.weight[2 : len(ids) + 2]
    return stack.layernorm_embedding(table[ids] + positions)


def looped(model, plain, source, target):
    """Logits of one pair, a prefix at a time, with the plain model's own stacks."""
    encoder, table = plain.get_encoder(), plain.model.shared.weight
    x = embedded(encoder, table, as_read(source, marks=True))
    read = [2, *target[:-1]]
    lower, interval = model.config.mixed_layers, getattr(model.config, "interval", 1)
    rows = []
    for length in range(1, len(read) + 1):
        seen = length - (length - 1) % interval
        prefix = embedded(encoder, table, read[:seen]) + model.target_type
        mixed = over.through(encoder.layers[:lower], torch.cat((x, prefix, model.end[None])), None)
        states = over.through(encoder.layers[lower:], mixed[: len(x)], None)
        found = plain(
            encoder_outputs=transformers.modeling_outputs.BaseModelOutput(states[None]),
            decoder_input_ids=torch.tensor([read[:length]]),
            use_cache=False,
        )
        rows.append(found.logits[0, -1])
    return torch.stack(rows)


@pytest.mark.parametrize("kind", ["dangle", "r_dangle"])
@torch.no_grad()
def test_prefixes_are_encoded_as_a_plain_loop_does(bart, plain, kind):
    model = build(kind, bart, **{"model.encoder_marks": True})
    model.target_type.normal_()  # it starts at zero
    found = model(over.SOURCE, over.TARGET.shifted())
    pairs = zip(over.lists(over.SOURCE), over.lists(over.TARGET), strict=True)
    expected = torch.cat([looped(model, plain, *pair) for pair in pairs])
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["dangle", "r_dangle"])
@torch.no_grad()
def test_a_prefix_begins_as_bart_reads_a_sentence(bart, plain, kind):
    model, mask = build(kind, bart), SIZE - 1
    assert not model.target_type.any()
    expected = plain.get_encoder().layernorm_embedding(plain.model.shared.weight[mask])
    torch.testing.assert_close(model.end.data, expected)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_search_and_teacher_forcing_agree(bart, kind):
    over.check_search(build(kind, bart))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return over.write_corpus(
        tmp_path_factory.mktemp("corpus"), lambda line: " ".join(reversed(line.split()))
    )


@pytest.mark.parametrize("kind", few(KINDS, "r_dangle"))
def test_a_run_that_was_stopped_ends_in_the_same_bytes_and_translates(corpus, bart, tmp_path, kind):
    over.check_stopped(
        lambda out, **options: over.train(bart, corpus, preset_of(kind), out, **options), tmp_path
    )
    model, subwords, _ = load_checkpoint(tmp_path / "whole")
    assert model.target_embedding.weight is model.source_embedding.words.weight and subwords.both
    found = Ensemble.open(tmp_path / "whole").translate([*LINES, ""], SearchSettings(beam=2))
    assert len(found) == len(LINES) + 1
    assert {word for one in found for word in one.text.split()} <= {*WORDS, "<unk>"}


def test_where_positions_end_is_said_or_the_search_ends(bart):
    model, most = build("r_dangle", bart, **{"model.encoder_marks": True}), 38
    ensemble = Ensemble(
        (model,), Subwords(tokenizer=read_tokenizer(bart), both=True), torch.device("cpu"), most
    )
    whole = " ".join([WORDS[0]] * (most - 2))  # with <s> and </s>
    found = ensemble.search([whole], SearchSettings(beam=1, max_length_extra=100))
    found += ensemble.search(["der"], SearchSettings(beam=2, max_length_extra=100))
    assert max(len(one.tokens) for many in found for one in many) <= most
    assert (ensemble.score([whole], [[*[5] * (most - 1), 2]])["log_prob"] < 0).all()
    with pytest.raises(
        InputError, match=r"the source of sentence 2 has 38 tokens, .* positions for 37"
    ):
        ensemble.translate(["der", f"{whole} der"])
    with pytest.raises(InputError, match=r"the target of sentence 1 has 39 tokens"):
        ensemble.score(["der"], [[*[5] * most, 2]])


def test_members_translate_and_score_together(corpus, bart, tmp_path):
    start, preset = plan_start(
        f"hf:{bart}", preset_of("r_dangle", **{"training.max_updates": 2, "model.dropout": 0.3})
    )
    train_ensemble_from(
        preset, start, EnsembleRequest(corpus, tmp_path, members=2, jobs=1, device="cpu")
    )
    ensemble = Ensemble.open(tmp_path)
    assert len(ensemble.translate(LINES, SearchSettings(beam=2))) == len(LINES)
    rmi = ensemble.score(LINES, ensemble.subwords.encode_target(LINES))["rmi"]
    assert (rmi > 0).all()  # of pre-trained members the order of the text and dropout alone differ


def test_presets_are_of_the_form_of_bart_large(tmp_path):
    config = {
        **{
            "model_type": "bart",
            "is_encoder_decoder": True,
            "d_model": 1024,
            "max_position_embeddings": 1024,
        },
        **{
            f"{side}_{name}": value
            for side in ("encoder", "decoder")
            for name, value in SHAPE.items()
        },
    }
    write_bart(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config))
    for name in ("bart_smcalflow_cs_dangle", "bart_smcalflow_cs_r_dangle"):
        preset = load_preset(name)
        assert plan_start(f"hf:{tmp_path}", preset)[1] == preset


SHAPE = {"layers": 12, "attention_heads": 16, "ffn_dim": 4096}


def test_bad_starts_are_refused(bart, tmp_path):
    with pytest.raises(InputError, match=r"roberta is not bart"):
        plan_start(write_roberta(tmp_path / "roberta"), preset_of("transformer"))
    with pytest.raises(InputError, match=r"its scale_embedding is True; only False, as in BART"):
        plan_start(write_bart(tmp_path / "scaled", scale_embedding=True), preset_of("transformer"))
    with pytest.warns(
        InputWarning, match=r"positions for 38 tokens, so training.max_length=39 is lowered to 38"
    ):
        plan_start(f"hf:{bart}", preset_of("transformer", **{"training.max_length": 39}))
    plan_start(f"hf:{bart}", preset_of("transformer", **{"training.max_length": 38}))
    with pytest.warns(InputWarning, match=r"is lowered to 37: longer pairs are skipped"):
        plan_start(
            f"hf:{bart}",
            preset_of("transformer", **{"training.max_length": 38, "model.encoder_marks": True}),
        )
    with pytest.raises(InputError, match=r"model\.norm=pre: must be post with model\.encoder=bart"):
        preset_of("transformer", **{"model.norm": "pre"})
    with pytest.raises(InputError, match=r"own or roberta with model\.architecture=lrf"):
        architecture_preset("lrf").replace(BART)
    with pytest.raises(InputError, match=r"own or roberta"):
        preset_of(
            "dangle",
            **{"model.form": "encoder_only", "model.encoder_layers": 0, "model.decoder_layers": 0},
        )
    biased = transformers.BartForConditionalGeneration.from_pretrained(bart)
    biased.final_logits_bias.add_(1)
    shutil.copytree(bart, tmp_path / "biased")
    biased.save_pretrained(tmp_path / "biased")
    with pytest.raises(InputError, match=r"its output layer is not its embedding matrix"):
        build("transformer", tmp_path / "biased")


def byte_level(folder):
    """A tokeniser of BART's kind: BPE over bytes."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    begin = {
        "special_tokens": list(SPECIALS),
        "initial_alphabet": pre_tokenizers.ByteLevel.alphabet(),
    }
    trainer = trainers.BpeTrainer(vocab_size=290, **begin)
    made.train_from_iterator(LINES, trainer)
    made.add_special_tokens([AddedToken("<mask>", special=True)])
    folder.mkdir()
    made.save(str(folder / "tokenizer.json"))
    return folder


def test_what_bytes_were_read_is_written_again(tmp_path):
    subwords = Subwords(tokenizer=read_tokenizer(byte_level(tmp_path / "bytes")), both=True)
    subwords.save(tmp_path / "saved")
    found = Subwords.load(tmp_path / "saved")
    assert found.digest == subwords.digest and found.source_size == found.target_size == len(
        subwords.source
    )
    lines = [*LINES, "(Yield (x= 'Ünal's \"5 \U0001f600\"'))", "a  b", ""]
    ids = found.encode_target(lines)
    assert [found.decode_target(one) for one in ids] == lines
    assert all((a == b).all() for a, b in zip(ids, found.encode_source(lines), strict=True))
    mask = found.target.index("<mask>")
    # What a model may write that is no text: marks anywhere, line breaks, anything behind </s>.
    assert found.decode_target([3, *ids[3]]) == "<unk>die katze"
    written = [0, mask, *ids[0][:-1], *found.encode_target(["\n"])[0][:-1], 1, *ids[1][:3], 2, 7, 7]
    assert found.decode_target(written) == f"{LINES[0]} {found.decode_target(ids[1][:3])}"
