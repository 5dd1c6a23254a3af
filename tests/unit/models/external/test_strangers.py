"""Files of a Hugging Face model from a stranger: nothing but what its identity counts in is read,
and no size is believed."""

import json
import os
import shutil
import time

import pytest

pytest.importorskip("transformers")
import safetensors.torch
import torch
from external_models import LINES, PROMPT, forced_log_probs, write_model

from cgbench.errors import InputError
from cgbench.models.external import loading
from cgbench.models.external.opening import plan_member
from cgbench.models.search_settings import SearchSettings


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    for kind in ("marian", "t5", "gpt2"):
        write_model(folder / kind, kind)
    return folder


@pytest.fixture
def model(whole, tmp_path):
    """A copy of a model, to be spoilt."""
    shutil.copytree(whole / "marian", tmp_path / "m")
    return tmp_path / "m"


def change(path, **values):
    path.write_text(json.dumps((json.loads(path.read_text()) if path.is_file() else {}) | values))


def work(folder, **options):
    """What every command does with a model."""
    extra = "".join(
        f"{sign}{name}={value}" for sign, (name, value) in zip("?&", options.items(), strict=False)
    )
    member = plan_member(f"hf:{folder}{extra}", PROMPT if folder.name == "gpt2" else None).open()
    member.translate(LINES[:2], SearchSettings(beam=2))
    forced_log_probs(member, LINES[:1], member.encode_targets(["the dog"]))
    return member


def refuses(folder, said, **options):
    with pytest.raises(InputError, match=said) as caught:
        work(folder, **options)
    assert "\n" not in str(caught.value)


def split_weights(folder, name="part.safetensors"):
    """The weights in a file that an index names."""
    weights = folder / "model.safetensors"
    keys = list(safetensors.torch.load_file(weights))
    weights.rename(folder / name)
    index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(keys, name)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_weights_that_an_index_names_are_counted_in(model):
    split_weights(model)
    first = plan_member(f"hf:{model}")
    first.open()
    tensors = safetensors.torch.load_file(model / "part.safetensors")
    tensors["final_logits_bias"] += 1
    safetensors.torch.save_file(tensors, model / "part.safetensors", {"format": "pt"})
    assert plan_member(f"hf:{model}").key != first.key


@pytest.mark.parametrize(
    "name",
    [
        "pytorch_model.bin",
        "../else/w.safetensors",
        "/tmp/w.safetensors",
        "best.safetensors",
        ".w.safetensors",
    ],
)
def test_an_index_names_safetensors_of_the_folder_alone(model, name):
    (model.parent / "else").mkdir()
    shutil.copy(model / "model.safetensors", model.parent / "else/w.safetensors")
    shutil.copy(model / "model.safetensors", model / "other.safetensors")
    if "/" in name:
        split_weights(model)
        text = (
            (model / "model.safetensors.index.json").read_text().replace("part.safetensors", name)
        )
        (model / "model.safetensors.index.json").write_text(text)
    else:
        split_weights(model, name)
    refuses(model, r"index\.json: names '.*' as weights, not a \.safetensors file")


@pytest.mark.parametrize(
    "name", ["../w.safetensors", "adapter_model.bin", "missing.safetensors", ["x"]]
)
def test_the_configuration_names_safetensors_of_the_folder_alone(model, name):
    change(model / "config.json", transformers_weights=name)
    refuses(model, "transformers_weights is")


def test_other_configurations_and_adapters_are_not_taken_along(model):
    change(model / "config.json", configuration_files=["config.4.0.0.json"])
    refuses(model, "names other configuration files")
    change(model / "config.json", configuration_files=[])
    change(model / "adapter_config.json", base_model_name_or_path="x", peft_type="LORA")
    refuses(model, "contains an adapter and a model")


@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "tokenizer.json", "special.json"]
)
@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_devices_and_pipes_are_refused_and_links_are_not(model, name, kind):
    if (model / name).exists():
        (model / name).rename(model.parent / "aside")
        (model / name).symlink_to(model.parent / "aside")  # as the hub's cache has them
        plan_member(f"hf:{model}")
        (model / name).unlink()
    os.mkfifo(model / name) if kind == "pipe" else (model / name).symlink_to("/dev/zero")
    refuses(model, f"not a regular file .it is a {kind}")


SIZES = [
    ("marian", "encoder_layers", 10**9),
    ("marian", "decoder_layers", -1),
    ("marian", "d_model", 10**5),
    ("marian", "max_position_embeddings", 10**7),
    ("marian", "num_labels", 10**9),
    ("marian", "encoder_ffn_dim", 10**15),
    ("t5", "relative_attention_max_distance", -1),
    ("gpt2", "n_positions", 10**9),
    ("gpt2", "n_layer", 1e300),
]


@pytest.mark.parametrize(("kind", "name", "value"), SIZES)
def test_sizes_are_bounded_before_anything_is_allocated(whole, tmp_path, kind, name, value):
    shutil.copytree(whole / kind, tmp_path / kind)
    change(tmp_path / kind / "config.json", **{name: value})
    began = time.process_time()
    refuses(tmp_path / kind, r"config\.json|does not run|cannot be loaded")
    assert time.process_time() - began < 30


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(model, value):
    tensors = safetensors.torch.load_file(model / "model.safetensors")
    next(iter(tensors.values())).view(-1)[-1] = value
    safetensors.torch.save_file(tensors, model / "model.safetensors", {"format": "pt"})
    refuses(model, "contains NaN or infinity")


@pytest.mark.parametrize(
    "settings",
    [
        {"_attn_implementation": "some/kernel:forward"},
        {"text_config": {"attn_implementation": "some/kernel"}},
        {"attn_implementation": {"decoder": "some/kernel"}},
    ],
)
def test_code_on_the_hub_is_refused_before_it_is_fetched(model, settings):
    change(model / "config.json", **settings)
    refuses(model, "names code on the hub, which is never run")


SETTINGS = [
    *(
        ("marian", {name: value})
        for name in ("eos_token_id", "decoder_start_token_id", "forced_bos_token_id")
        for value in ("x", 10**9, -5, True, 1.5)
    ),
    *(("marian", {"bad_words_ids": value}) for value in ([], [[]], [[10**9]], "x", 3, {})),
    *(("marian", {"suppress_tokens": value}) for value in ([10**9], "x", 5)),
    ("marian", {"bos_token_id": "x"}),
    ("marian", {"pad_token_id": [0]}),
    ("marian", {"decoder_start_token_id": [0]}),
    ("marian", {"num_return_sequences": 10}),
    ("marian", []),
    ("marian", "x"),
    ("gpt2", {"eos_token_id": [10**9]}),
    ("gpt2", {"bad_words_ids": [["x"]]}),
]


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_settings_of_generation_are_checked(whole, tmp_path, kind, settings):
    folder = tmp_path / kind
    shutil.copytree(whole / kind, folder)
    path = folder / "generation_config.json"
    path.write_text(
        json.dumps(
            json.loads(path.read_text()) | settings if isinstance(settings, dict) else settings
        )
    )
    refuses(folder, r"generation_config\.json|eos_token_id|cannot be loaded|in its configuration")


def test_settings_that_are_no_json(model):
    (model / "generation_config.json").write_text('{"eos_token_id": 1')
    refuses(model, r"generation_config\.json: not valid JSON")


def test_settings_that_name_nothing_are_taken(whole, tmp_path):
    """Old Llamas have a padding of -1, and GPT-2 a start beyond small vocabularies."""
    shutil.copytree(whole / "gpt2", tmp_path / "gpt2")
    change(
        tmp_path / "gpt2/generation_config.json",
        eos_token_id=[],
        bos_token_id=50256,
        decoder_start_token_id="x",
    )
    work(tmp_path / "gpt2")


def test_a_tokeniser_of_another_model_is_one_line(model):
    change(model / "config.json", vocab_size=4)
    tensors = safetensors.torch.load_file(model / "model.safetensors")
    few = {
        name: (
            one[..., :4].clone()
            if "bias" in name and one.shape[-1] == 18
            else one[:4].clone()
            if len(one) == 18
            else one
        )
        for name, one in tensors.items()
    }
    safetensors.torch.save_file(few, model / "model.safetensors", {"format": "pt"})
    change(model / "config.json", decoder_vocab_size=4)
    refuses(model, "the tokeniser belongs to another model: line 1 has id")


@pytest.fixture
def adapter(whole, tmp_path):
    """An adapter over the T5."""
    peft = pytest.importorskip("peft")
    import transformers

    torch.manual_seed(1)
    base = transformers.AutoModelForSeq2SeqLM.from_pretrained(whole / "t5")
    settings = peft.LoraConfig(r=2, target_modules=["q", "v"], task_type="SEQ_2_SEQ_LM")
    made = peft.get_peft_model(base, settings)
    made.peft_config["default"].base_model_name_or_path = "t5"
    made.save_pretrained(tmp_path / "lora", save_embedding_layers=False)
    return tmp_path / "lora"


SLOW = r"(([a-z0-9_]+\.?)+)+!"


@pytest.mark.parametrize(
    "values", [{"target_modules": SLOW}, {"exclude_modules": SLOW}, {"rank_pattern": {SLOW: 2}}]
)
def test_patterns_for_modules_are_refused(whole, adapter, values):
    change(adapter / "adapter_config.json", **values)
    refuses(whole / "t5", "list the names of the modules instead", adapter=adapter)


def test_what_is_no_rank(whole, adapter):
    change(adapter / "adapter_config.json", target_modules=["q", "v"], r=10**9)
    refuses(whole / "t5", "r has rank 1000000000, but the weights have at most 16", adapter=adapter)
    change(adapter / "adapter_config.json", r=2, rank_pattern={"q": 10**9})
    refuses(whole / "t5", "rank_pattern has rank", adapter=adapter)


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("added_tokens", 10**9, "has id 1,000,000,000"),
        (
            "normalizer",
            {"type": "Precompiled", "precompiled_charsmap": "AAAA"},
            "its tokeniser cannot be loaded",
        ),
        ("pre_tokenizer", {"type": "FixedLength", "length": 0}, "its tokeniser cannot be loaded"),
        ("unk_token", "<none>", "its tokeniser cannot encode the text"),
    ],
)
def test_the_tokeniser_is_checked(model, part, value, said, capfd):
    path = model / "tokenizer.json"
    made = json.loads(path.read_text())
    if part == "added_tokens":
        made["added_tokens"][-1]["id"] = value
    elif part == "unk_token":
        made["model"]["unk_token"] = value
        made["added_tokens"] = []
        table = made["model"]["vocab"]
        made["model"]["vocab"] = {word: number for word, number in table.items() if word != "hund"}
        change(model / "tokenizer_config.json", unk_token="<pad>")
    else:
        made[part] = value
    path.write_text(json.dumps(made))
    refuses(model, said)
    assert "panicked" not in capfd.readouterr().err


def test_dropout_of_a_tokeniser_is_off(model):
    path = model / "tokenizer.json"
    made = json.loads(path.read_text())
    table = made["model"]["vocab"]
    made["model"] = {
        "type": "BPE",
        "vocab": {**table, "d": 90, "e": 91, "r": 92, "de": 93},
        "merges": [["d", "e"], ["de", "r"]],
        "dropout": 0.5,
        "unk_token": "<unk>",
    }
    path.write_text(json.dumps(made))
    tokenizer = plan_member(f"hf:{model}").address and loading.load_tokenizer(
        plan_member(f"hf:{model}").address, model
    )
    assert len({str(tokenizer("der der")["input_ids"]) for _ in range(30)}) == 1
