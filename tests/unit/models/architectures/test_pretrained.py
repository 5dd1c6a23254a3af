"""RoBERTa as the encoder of our architectures: its states, prefixes against a plain loop, and
training.
"""

import json
import shutil

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")
import pretrained_models as over
import transformers
from external_models import LINES, WORDS, tokenizer, write_roberta
from few import few
from training_runs import log_of

from cgbench.errors import InputError, InputWarning
from cgbench.models.architectures.composition import sublayer_outputs
from cgbench.models.architectures.pretrained.weights import named_parts
from cgbench.models.architectures.transformer import Encoded, Transformer
from cgbench.models.checkpoints import load_checkpoint
from cgbench.models.config.presets import architecture_preset
from cgbench.models.ensemble import Ensemble
from cgbench.models.external.start import plan_start
from cgbench.models.parts.ragged import Layout, Ragged
from cgbench.models.search_settings import SearchSettings
from cgbench.models.special_ids import SPECIALS
from cgbench.models.text.subwords import Subwords
from cgbench.models.text.tokenized import read_tokenizer
from cgbench.models.training.ensemble_training import train_ensemble_from
from cgbench.models.training.request import EnsembleRequest
from cgbench.models.training.single import check_whole, subwords_step
from cgbench.text.corpus import plan_text
from cgbench.text.formats import CorpusSpec
from cgbench.text.normalisation import Normalisation

PREFIXES = {"model.positions": "encoder", "model.mixed_layers": 1, "model.encoder_layers": 2}
NARROW = {"model.width": 8, "model.attention_heads": 2, "model.tie_output": False}
KINDS = {
    "transformer": NARROW,
    "composition": {**NARROW, "model.initial": "top"},
    "lrf": NARROW,
    "dangle": PREFIXES,
    "dangle_encoder": {
        **{
            **PREFIXES,
            "model.form": "encoder_only",
            "model.mixed_layers": 3,
            "model.tie_output": False,
        },
        **{"model.encoder_layers": 0, "model.decoder_layers": 0},
    },
    "r_dangle": {**PREFIXES, "model.values": "shared", "model.norm": "post", "model.interval": 2},
}
SMALL = {
    **{
        "model.encoder": "roberta",
        "model.feedforward_width": 16,
        "training.max_length": 20,
        "training.max_tokens": 40,
    },
    **{
        "training.max_updates": 8,
        "training.warmup_updates": 2,
        "training.learning_rate": 0.002,
        "text.unit": "words",
    },
    **{"training.checkpoint_every": 3, "training.validate_every": 4, "training.log_every": 2},
}
TARGET_SIZE = 11


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    folder = tmp_path_factory.mktemp("roberta") / "base"
    write_roberta(folder)
    return folder


@pytest.fixture(scope="module")
def plain(roberta):
    return transformers.RobertaModel.from_pretrained(roberta, add_pooling_layer=False).eval()


def preset_of(kind, **changes):
    preset = architecture_preset(kind.removesuffix("_encoder"))
    # The preset names RoBERTa's width only where prefixes are read by it; the rest plan_start reads
    # off its files.
    own = {"model.width": 16, "model.encoder_width": 16, "model.encoder_attention_heads": 2}
    return preset.replace({**SMALL, **own, **KINDS[kind], **changes})


def build(kind, roberta, **changes):
    return over.build(roberta, preset_of(kind, **changes), len(WORDS) + 5, TARGET_SIZE)


@pytest.mark.parametrize("kind", ["transformer", "composition", "lrf"])
@pytest.mark.parametrize("marks", [False, True])
@torch.no_grad()
def test_states_are_those_of_the_plain_model(roberta, plain, kind, marks):
    model = build(kind, roberta, **{"model.encoder_marks": marks})
    states = model.encode(over.SOURCE).states
    read = [[0, *ids] if marks else ids[:-1] for ids in over.lists(over.SOURCE)]
    expected = torch.cat(
        [plain(input_ids=torch.tensor([ids])).last_hidden_state[0] for ids in read]
    )
    torch.testing.assert_close(states, expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_what_composition_mixes_are_the_sublayers_of_the_plain_model(roberta, plain):
    model = build("composition", roberta)
    one = Ragged.pack([[5, 6, 7, 2]])
    found = list(sublayer_outputs(model, *model.embed_source(one)))
    attended = []
    hooks = [
        layer.attention.register_forward_hook(
            lambda module, given, output: attended.append(output[0])
        )
        for layer in plain.encoder.layer
    ]
    hidden = plain(input_ids=torch.tensor([[5, 6, 7]]), output_hidden_states=True).hidden_states
    for hook in hooks:
        hook.remove()
    for (ours, fed), theirs, output in zip(found, attended, hidden[1:], strict=True):
        torch.testing.assert_close(ours, theirs.view_as(ours), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(fed, output[0], rtol=1e-5, atol=1e-5)


def test_every_parameter_is_loaded(roberta, plain):
    for kind in KINDS:
        used = [name for _, names in named_parts(build(kind, roberta)) for name in names]
        assert sorted(used) == sorted(name for name, _ in plain.named_parameters()), kind


def looped(model, plain, source, target, kind):
    """Logits of one pair, a prefix at a time, with the plain model's own layers."""
    ids = source[:-1] if len(source) > 1 else source
    x = plain.embeddings(input_ids=torch.tensor([ids]))[0]
    read = [2, *target[:-1]]
    rows = []
    for length in range(1, len(read) + 1):
        interval = model.config.interval if kind == "r_dangle" else 1
        seen = length - (length - 1) % interval
        # Dangle counts places from the newest token, R-Dangle from the first.
        places = torch.arange(length) if kind == "r_dangle" else torch.arange(length).flip(0)
        table = plain.embeddings.position_embeddings.weight
        y = (
            model.target_embedding.weight[read[:length]] * model.scale
            + table[places + 2]
            + model.target_type
        )
        joint = torch.cat((x, y[:seen], model.end[None]))
        lower = model.config.mixed_layers
        mixed = over.through(plain.encoder.layer[:lower], joint)
        if kind == "dangle_encoder":
            rows.append(model.project(mixed[-1]))
            continue
        states = over.through(plain.encoder.layer[lower:], mixed[: len(x)])
        # R-Dangle's decoder reads with the encoding of its interval.
        last = Transformer.decode_embedded(
            model, Encoded(states, Layout([len(x)])), y, Layout([length])
        )
        rows.append(model.project(last[-1]))
    return torch.stack(rows)


@pytest.mark.parametrize("kind", ["dangle", "dangle_encoder", "r_dangle"])
@torch.no_grad()
def test_prefixes_are_encoded_as_a_plain_loop_does(roberta, plain, kind):
    model = build(kind, roberta)
    found = model(over.SOURCE, over.TARGET.shifted())
    pairs = zip(over.lists(over.SOURCE), over.lists(over.TARGET), strict=True)
    expected = torch.cat([looped(model, plain, *pair, kind) for pair in pairs])
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_search_and_teacher_forcing_agree(roberta, kind):
    over.check_search(build(kind, roberta))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return over.write_corpus(tmp_path_factory.mktemp("corpus"), str.upper)


def train(corpus, roberta, out, kind, changes=(), **options):
    return over.train(roberta, corpus, preset_of(kind, **dict(changes)), out, **options)


@pytest.mark.parametrize("kind", few(KINDS, "r_dangle"))
def test_a_run_that_was_stopped_ends_in_the_same_bytes_and_translates(
    corpus, roberta, tmp_path, kind
):
    over.check_stopped(
        lambda out, **options: train(corpus, roberta, out, kind, **options), tmp_path
    )
    found = Ensemble.open(tmp_path / "whole").translate([*LINES, ""], SearchSettings(beam=2))
    assert (
        len(found) == len(LINES) + 1
        and found[-1].text == ""
        and all(one.text for one in found[:-1])
    )
    assert set(" ".join(one.text for one in found).split()) <= {
        *" ".join(LINES).upper().split(),
        "<unk>",
    }


@pytest.mark.slow
def test_a_model_over_it_learns(corpus, roberta, tmp_path):
    own = {
        "training.max_updates": 100,
        "training.learning_rate": 0.005,
        "training.validate_every": 50,
    }
    own |= {
        "model.dropout": 0.0,
        "model.encoder_dropout": 0.0,
        "training.label_smoothing": 0.0,
        "model.width": 32,
    }
    train(corpus, roberta, tmp_path / "model", "transformer", own.items())
    assert (
        min(row.get("valid_loss", 9) for row in log_of(tmp_path / "model")) < 0.4
    )  # of 2.2 where nothing is known
    right = [
        one.text == line.upper()
        for one, line in zip(Ensemble.open(tmp_path / "model").translate(LINES), LINES, strict=True)
    ]
    assert sum(right) >= 3


@pytest.mark.parametrize(
    "method", [{"method.name": "creg", "method.states": "encoder"}, {"method.name": "bow"}]
)
def test_methods_see_its_states(corpus, roberta, tmp_path, method):
    assert train(
        corpus,
        roberta,
        tmp_path / "model",
        "transformer",
        (method | {"training.max_updates": 2}).items(),
    )
    load_checkpoint(tmp_path / "model")


def test_members_of_an_ensemble_differ_by_what_is_new(corpus, roberta, tmp_path):
    start, preset = plan_start(f"hf:{roberta}", preset_of("lrf", **{"training.max_updates": 2}))
    train_ensemble_from(
        preset, start, EnsembleRequest(corpus, tmp_path, members=2, jobs=1, device="cpu")
    )
    ensemble = Ensemble.open(tmp_path)
    rmi = ensemble.score(LINES, ensemble.subwords.encode_target([line.upper() for line in LINES]))[
        "rmi"
    ]
    assert (rmi > 1e-3).all()


def test_the_end_vector_starts_as_the_mask(roberta, plain):
    model = build("dangle_encoder", roberta)
    torch.testing.assert_close(
        model.end.data, plain.embeddings.word_embeddings.weight[len(WORDS) + 4].data
    )


def test_bad_starts_are_refused(roberta, corpus, tmp_path):
    preset = preset_of("transformer")
    with pytest.raises(InputError, match=r"needs the weights of an external model: init='hf:"):
        check_whole(preset, None)
    with pytest.raises(InputError, match=r"has its own encoder"):
        plan_start(f"hf:{roberta}", preset.replace({"model.encoder": "own"}))
    with pytest.warns(
        InputWarning, match=r"positions for 38 tokens, so training.max_length=39 is lowered to 38"
    ):
        assert (
            plan_start(f"hf:{roberta}", preset.replace({"training.max_length": 39}))[
                1
            ].training.max_length
            == 38
        )
    with pytest.raises(
        InputError, match=r"has 3 layers, but model\.mixed_layers \(2\) and .* add up to 4"
    ):
        plan_start(f"hf:{roberta}", preset_of("dangle", **{"model.mixed_layers": 2}))
    with pytest.raises(InputError, match=r"its layer_norm_eps is 1e-12"):
        plan_start(write_roberta(tmp_path / "other", layer_norm_eps=1e-12), preset)
    with pytest.raises(InputError, match=r"model\.positions=relative: must be encoder"):
        preset_of("dangle", **{"model.positions": "relative"})
    with pytest.raises(InputError, match=r"model\.positions=encoder: must be another"):
        preset_of("transformer", **{"model.positions": "encoder"})
    with pytest.raises(InputError, match=r"model\.values=separate"):
        preset_of("r_dangle", **{"model.values": "separate"})
    write_roberta(tmp_path / "smaller", words=WORDS[:-1])
    (tmp_path / "smaller" / "tokenizer.json").write_bytes((roberta / "tokenizer.json").read_bytes())
    with pytest.raises(InputError, match=r"it has 20 ids, but the model has 19 embeddings"):
        train(corpus, tmp_path / "smaller", tmp_path / "out", "transformer")
    shutil.copytree(roberta, tmp_path / "wrong")
    config = json.loads((tmp_path / "wrong" / "config.json").read_text())
    (tmp_path / "wrong" / "config.json").write_text(json.dumps(config | {"intermediate_size": 64}))
    with pytest.raises(InputError, match=r"the weights do not fit the configuration"):
        train(corpus, tmp_path / "wrong", tmp_path / "out", "transformer")


def test_a_tokeniser_of_another_model_is_refused(tmp_path):
    tokenizer().save_pretrained(tmp_path)
    with pytest.raises(InputError, match=r"begins with <pad> </s> <unk> der"):
        Subwords([], SPECIALS, [*SPECIALS, "a"], "words", read_tokenizer(tmp_path))


def test_a_source_is_read_by_the_tokeniser(roberta, corpus, tmp_path):
    start, preset = plan_start(f"hf:{roberta}", preset_of("transformer"))
    start.learn(corpus[1], preset.text).save(tmp_path)
    found = Subwords.load(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(roberta)
    for line, ids in zip(
        [*LINES, "", "der igel"], found.encode_source([*LINES, "", "der igel"]), strict=True
    ):
        assert ids.tolist() == theirs(line)["input_ids"][1:]
    assert list(found.unknown_source(["der igel"])) == [(0, "igel")]
    assert (
        np.array_equal(found.encode_target(["DER"])[0][1:], [2])
        and found.digest == Subwords.load(tmp_path).digest
    )


def test_it_has_the_dropout_of_the_plain_model(roberta, plain):
    model = build("transformer", roberta, **{"model.encoder_dropout": 0.25})
    found = [model.source_embedding.dropout.p]
    for layer in model.encoder:
        found += [
            layer.attention.dropout,
            layer.dropout.p,
            layer.dropout.p,
        ]  # after each of the two sublayers
    assert found == [0.25] * sum(isinstance(module, torch.nn.Dropout) for module in plain.modules())


def test_all_of_it_is_trained(roberta, plain, corpus, tmp_path):
    train(
        corpus, roberta, tmp_path / "model", "transformer", {"training.weight_decay": 0.0}.items()
    )
    model, _, _ = load_checkpoint(tmp_path / "model")
    theirs = plain.state_dict()
    for ours, names in named_parts(model):
        before = torch.cat([theirs[name] for name in names]).view_as(ours)
        assert not torch.equal(ours, before), names


def test_another_encoder_is_another_run(roberta, corpus, tmp_path):
    train(corpus, roberta, tmp_path / "model", "transformer")
    write_roberta(tmp_path / "base", seed=1)
    with pytest.raises(InputError, match=r"contains a model with other settings.*init is"):
        train(corpus, tmp_path / "base", tmp_path / "model", "transformer")
    text, keys = plan_text("train", CorpusSpec(corpus), Normalisation()), set()
    write_roberta(tmp_path / "words", words=[*WORDS[1:], WORDS[0]])
    for folder in (roberta, tmp_path / "base", tmp_path / "words"):
        start, preset = plan_start(f"hf:{folder}", preset_of("transformer"))
        keys.add(subwords_step(preset, text, start).key)
    assert len(keys) == 2  # of the tokenisers, not of the weights
