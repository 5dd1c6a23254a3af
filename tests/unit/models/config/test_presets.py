"""Presets: sizes and recipes that papers print, and presets that say only what differs from
another.
"""

import pytest

from cgbench.errors import InputError
from cgbench.models.catalogue import count_parameters
from cgbench.models.config.presets import load_preset, with_bases

# Exact counts are those of the specification of each paper; SCAN, COGS and PCFG without <pad> and
# <unk>, as there.
COUNTS = [
    ("transformer_scan_none", {}, 992_007),
    ("universal_scan_none", {}, 332_551),
    ("transformer_cogs_teu", {}, 9_297_256),
    ("transformer_cognition", {}, 35_389_440),
    ("transformer_cognition_small", {}, 24_875_008),
    ("transformer_cognition_deep", {}, 39_595_008),
    ("transformer_cognition_deep_lrf", {}, 45_903_872),
    ("transformer_cognition_relative", {}, 35_440_128),
    ("composition_cognition", {}, 35_389_584),
    ("composition_cognition", {"mixtures": "encoder"}, 35_389_452),
    ("composition_cognition", {"norm": "pre"}, 35_389_584 + 2048),
    ("composition_cognition_small", {}, 24_875_008 + 64),
    ("composition_cognition_deep", {}, 39_595_008 + 192),
    ("lrf_cognition", {}, 48_009_216),
    ("lrf_cognition_small", {}, 33_288_192),
    ("dlcl_cognition", {}, 35_401_826),
    ("transformer_accu_cognition", {}, 35_389_440),
    # Multi-head attention and a norm in each encoder layer: 6 x (1,050,624 + 1,024); centroids are
    # no parameters.
    ("proto_cognition", {}, 35_389_440 + 6 * 1_051_648),
    # The authors' models.
    ("r_dangle_react_shared", {}, 71_111_424),
    ("r_dangle_react_separate", {}, 71_113_216),
]
# Counts that are printed in millions.
MILLIONS = [
    ("transformer_pcfg_none", {}, 44.65),
    ("transformer_iwslt_relative_12", {}, 71.11),
    ("transformer_iwslt_relative", {}, 39.52),
    # Printed as 70M: with ReaCT's dictionaries 71.11, with CoGnition's 67.03.
    ("r_dangle_cognition", {}, 67.03),
    ("lrf_cognition", {"fuse": "source"}, 41.7),
    ("lrf_cognition", {"fuse": "target"}, 41.7),
    ("lrf_cognition", {"fuse_layers": "top"}, 37.5),
]


def parameters(name, changes):
    preset = load_preset(name).replace({f"model.{key}": value for key, value in changes.items()})
    return count_parameters(preset.model, *preset.vocabulary)[0]


# Without vocabularies; counted by hand from the shapes in the authors' code.
WITHOUT_VOCABULARY = [
    ("evolved_cfq", {}, 1_671_296),
    ("evolved_cfq", {"encoder_layers": 3, "decoder_layers": 4, "width": 512}, 47_021_056),
    ("transformer_cfq_tensor2tensor", {}, 2_502_144),
    ("universal_cfq_tensor2tensor", {}, 1_317_888),
    ("nsen_cfq", {}, 11_813_760),
    ("nsen_cfq", {"width": 4}, 1_460),
    # Five switches of 288 numbers, three of which have a residual scale of 4.
    ("nsen_cfq", {"width": 4, "form": "original"}, 1_452),
]


@pytest.mark.parametrize(("name", "changes", "count"), WITHOUT_VOCABULARY)
def test_parameters_without_vocabulary_are_counted_as_specified(name, changes, count):
    preset = load_preset(name).replace({f"model.{key}": value for key, value in changes.items()})
    assert count_parameters(preset.model, 100, 100)[1] == count


@pytest.mark.parametrize(("name", "changes", "count"), COUNTS)
def test_parameters_are_counted_as_specified(name, changes, count):
    assert parameters(name, changes) == count


@pytest.mark.parametrize(("name", "changes", "millions"), MILLIONS)
def test_parameters_are_the_printed_millions(name, changes, millions):
    assert parameters(name, changes) / 1e6 == pytest.approx(
        millions, abs=0.5 * 10 ** -len(str(millions).split(".")[1])
    )


def test_mathematics_has_the_size_that_its_table_misprints():
    count, _ = count_parameters(load_preset("transformer_math_none").model, 71, 70)
    assert count / 1e6 == pytest.approx(44.2, abs=0.05)


# Csordás et al. (2021) as their code ran: width, feed-forward, heads, layers, batch, rate, warm-up,
# clip, updates.
SWEEPS = {
    "transformer_scan": (128, 256, 8, 3, 256, 1e-3, 0, 5, 50_000),
    "universal_scan": (128, 256, 8, 3, 256, 1e-3, 0, 5, 50_000),
    "transformer_cfq": (128, 256, 16, 2, 4096, 0.9, 4000, 1, 35_000),
    "universal_cfq": (256, 512, 4, 6, 2048, 2.24, 8000, 1, 35_000),
    "transformer_pcfg": (512, 2048, 8, 6, 64, 1e-4, 0, 1, 300_000),
    "transformer_cogs": (512, 512, 4, 2, 128, 1e-4, 0, 1, 50_000),
    "universal_cogs": (512, 512, 4, 2, 128, 1e-4, 0, 1, 50_000),
    "transformer_math": (512, 2048, 8, 6, 256, 1e-4, 0, 0.1, 50_000),
}
EMBEDDINGS = {"none": "none", "ped": "ped", "relative": "xavier"}


def values_of(part, names):
    return tuple(getattr(part, name) for name in names.split())


@pytest.mark.parametrize("form", EMBEDDINGS)
@pytest.mark.parametrize("name", SWEEPS)
def test_sweeps_of_csordas(name, form):
    preset = load_preset(f"{name}_{form}")
    model, training = preset.model, preset.training
    assert model.architecture == name.partition("_")[0]
    assert (model.encoder_layers, model.embedding) == (model.decoder_layers, EMBEDDINGS[form])
    positions = ("transformer_xl", False) if form == "relative" else ("interleaved", True)
    assert (model.positions, model.embedding_dropout) == positions
    assert (model.dropout, model.attention_dropout, model.activation_dropout) == (0.1, 0.1, 0.1)
    assert values_of(training, "adam_beta2 weight_decay label_smoothing keep") == (
        0.999,
        0,
        0,
        "last",
    )
    assert training.schedule == ("noam" if "cfq" in name else "constant")
    of_training = "batch_sentences learning_rate warmup_updates clip_norm max_updates"
    sizes = values_of(model, "width feedforward_width attention_heads encoder_layers")
    assert SWEEPS[name] == sizes + values_of(training, of_training)


# Scripts of the authors: yafuly/CoGnition scripts/train.sh, mswellhao/Dangle run_cognition.sh and
# run_react.sh, ARIES-LM/CSR4CG traincgmt.sh. Tokens a batch, batches an update (GPUs, there), clip,
# dropout of everything, attention, activations, epochs between validations, half precision.
BASELINE = (4096, 2, 0, 0.3, 0, 0, 1, "auto")
REACT = (0.4, 0.3, 0.4, 3, "auto")
BASELINES = ("transformer", "lrf", "dlcl", "transformer_accu")
BASELINE_FORMS = (
    "transformer_cognition_small",
    "transformer_cognition_deep_lrf",
    "composition_cognition_relative",
)
SCRIPTS = {
    **dict.fromkeys([f"{name}_cognition" for name in BASELINES], BASELINE),
    **dict.fromkeys(
        (*BASELINE_FORMS, "transformer_cognition_bow", "transformer_cognition_seqmix"), BASELINE
    ),
    "transformer_cognition_creg": (4096, 1, *BASELINE[2:]),
    "transformer_cognition_dangle_relative": (8192, 1, 2, 0.3, 0, 0, 1, "float32"),
    "dangle_cognition": (4096, 2, 2, 0.3, 0, 0, 1, "float32"),
    "dangle_cognition_relative": (4096, 2, 2, 0.3, 0, 0, 1, "float32"),
    "transformer_iwslt_relative": (8192, 1, 2, 0.3, 0, 0, 3, "auto"),
    "transformer_iwslt_relative_12": (8192, 1, 2, *REACT),
    "r_dangle_react_shared": (2400, 4, 2, *REACT),
    "r_dangle_react_separate": (2400, 4, 2, *REACT),
    "r_dangle_cognition": (2400, 4, 2, *REACT[:3], 1, "auto"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_translation_is_trained_as_the_authors_scripts_do(name):
    preset = load_preset(name)
    model, training = preset.model, preset.training
    dropout = values_of(model, "dropout attention_dropout activation_dropout")
    batches = values_of(training, "max_tokens accumulation clip_norm")
    assert SCRIPTS[name] == batches + dropout + values_of(
        training, "validate_every_epochs precision"
    )
    assert (training.max_updates, training.learning_rate, training.warmup_updates) == (
        100_000,
        5e-4,
        4000,
    )
    assert (training.schedule, training.adam_beta1, training.adam_beta2) == (
        "inverse_sqrt",
        0.9,
        0.98,
    )
    assert (training.weight_decay, training.label_smoothing, training.keep) == (1e-4, 0.1, "best")
    if name == "transformer_cognition_creg":
        assert (training.validate_metric, training.patience) == ("loss", 10)
        return
    assert (training.validate_metric, training.validate_beam, training.patience) == ("bleu", 5, 0)
    assert (training.validate_length, training.validate_tokenize) == ("source", "13a")
    # The Chinese of CoGnition is released in pieces; those of IWSLT14 are cut here.
    assert training.validate_join == ("@@" if "cognition" in name else "")


# Mixed, encoder and decoder layers, and where the norm is.
DANGLES = {
    "dangle_cognition": (2, 4, 6, "post"),
    "dangle_cognition_relative": (4, 4, 4, "post"),
    "r_dangle_cognition": (2, 8, 12, "pre"),
    "r_dangle_react_separate": (2, 8, 12, "pre"),
    "r_dangle_react_shared": (2, 10, 12, "pre"),
}


@pytest.mark.parametrize("name", DANGLES)
def test_forms_of_dangle_are_those_of_the_authors_scripts(name):
    model = load_preset(name).model
    assert values_of(model, "mixed_layers encoder_layers decoder_layers norm") == DANGLES[name]
    assert values_of(model, "max_relative_position mixed_attention_heads attention_heads") == (
        16,
        8,
        4,
    )


@pytest.mark.parametrize(
    ("name", "embedding", "tokens", "updates", "first"),
    [
        ("roberta_cfq", "unit", 4096, 45_000, 0),
        ("roberta_cfq_dangle", "fairseq", 4 * 1024, 45_000, 0),
        ("roberta_cfq_creg", "fairseq", 8192, 50_000, 50),
        ("roberta_cfq_lrf", "unit", 4096, 45_000, 0),
    ],
)
def test_over_roberta_as_the_authors_scripts_do(name, embedding, tokens, updates, first):
    """run_cfq.sh of mswellhao/Dangle and run_cfqcreg.sh of ARIES-LM/CSR4CG, with the defaults of
    their fairseq.
    """
    preset = load_preset(name)
    training = preset.training
    assert preset.model.embedding == embedding
    assert (training.max_tokens * training.accumulation, training.max_updates) == (tokens, updates)
    assert (training.validate_metric, training.validate_beam, training.keep) == (
        "exact_match",
        5,
        "best",
    )
    assert (training.validate_every_epochs, training.validate_from_epoch) == (1, first)
    assert (training.adam_beta1, training.adam_beta2) == (0.9, 0.999)
    assert (training.learning_rate, training.warmup_updates, training.schedule) == (
        1e-4,
        4000,
        "inverse_sqrt",
    )
    assert (training.weight_decay, training.clip_norm, training.label_smoothing) == (1e-3, 1, 0)


def test_prototypes_are_made_as_the_authors_script_does():
    """ARIES-LM/CatMT4CG train.sh, and the defaults of its code."""
    preset = load_preset("proto_cognition")
    model, training = preset.model, preset.training
    assert (model.prototypes, model.prototype_epochs, model.prototype_layer) == (3, 8, 5)
    assert model.prototype_min_count == 50
    assert (model.dropout, model.attention_dropout, model.activation_dropout, model.norm) == (
        0.3,
        0,
        0,
        "post",
    )
    assert (training.max_tokens, training.accumulation, training.max_updates) == (4096, 1, 50_000)
    assert (training.learning_rate, training.warmup_updates, training.schedule) == (
        5e-4,
        4000,
        "inverse_sqrt",
    )
    assert (training.adam_beta1, training.adam_beta2, training.weight_decay) == (0.9, 0.98, 1e-4)
    assert (training.clip_norm, training.label_smoothing, training.precision) == (0, 0.1, "float32")
    assert (training.validate_metric, training.validate_every_epochs, training.patience) == (
        "loss",
        1,
        10,
    )


def test_a_base_gives_what_a_preset_does_not_say():
    files = {
        "bottom": {
            "paper": "one",
            "model": {"width": 8, "dropout": 0.1},
            "training": {"max_updates": 3},
        },
        "middle": {"base": "bottom", "model": {"dropout": 0.2}, "text": {"merges": 1}},
        "top": {"base": "middle", "paper": "two", "model": {"norm": "pre"}},
        "knot": {"base": "loop"},
        "loop": {"base": "knot"},
    }
    sections = {
        "model": {"width": 8, "dropout": 0.2, "norm": "pre"},
        "training": {"max_updates": 3},
    }
    assert with_bases("top", files.__getitem__) == {
        "paper": "two",
        **sections,
        "text": {"merges": 1},
    }
    assert files["top"]["base"] == "middle"
    with pytest.raises(InputError, match="knot, loop, knot"):
        with_bases("knot", files.__getitem__)
