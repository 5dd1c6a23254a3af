"""A whole model from outside, trained further by our loop, and saved as a folder that transformers
loads.
"""

import json
import shutil

import numpy as np
import pytest
import safetensors.torch
import torch

pytest.importorskip("transformers")
import transformers
from external_models import LINES, WORDS, forced_log_probs, tokenizer, write_model
from few import few
from training_runs import log_of, train_until

from cgbench.errors import InputError, InputWarning
from cgbench.models.checkpoints import load_checkpoint, read_config
from cgbench.models.config.presets import load_preset
from cgbench.models.external.opening import plan_member
from cgbench.models.external.start import FINE_TUNING, plan_start
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search_settings import SearchSettings

KINDS = ("t5", "bart", "marian")
IN_ENGLISH = dict(
    zip(WORDS[:8], ("the", "the", "dog", "cat", "bird", "sleeps", "sees", "sings"), strict=True)
)
TARGET = [" ".join(IN_ENGLISH[word] for word in line.split()) for line in LINES]
PRESET = load_preset(FINE_TUNING).replace(
    {
        **{"training.max_updates": 12, "training.max_length": 20, "training.max_tokens": 40},
        **{
            "training.warmup_updates": 2,
            "training.learning_rate": 0.003,
            "training.validate_every": 5,
        },
        **{
            "training.checkpoint_every": 4,
            "training.log_every": 3,
            "training.validate_metric": "exact_match",
        },
        # "auto" is bfloat16 on processors that multiply it, whose losses are not those of float32
        # to 1e-4
        "training.precision": "float32",
    }
)
PARTS = ("config.json", "model.safetensors", "tokenizer.json", "SHA256SUMS", "metrics.jsonl")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    files = folder / "source", folder / "target"
    for file, lines in zip(files, (LINES, TARGET), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines * 4), encoding="utf-8")
    return files


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    base = tmp_path_factory.mktemp("bases")
    for kind in KINDS:
        write_model(base / kind, kind, dropout=0.1)
    return base


def train(corpus, folder, out, preset=PRESET, stop_after_updates=None, **options):
    start, preset = plan_start(f"hf:{folder}", preset)
    options.setdefault("seed", 1)
    return train_until(
        stop_after_updates, corpus, corpus, None, preset, out=out, init=start, **options
    )


@pytest.fixture(scope="module")
def trained(corpus, folders, tmp_path_factory):
    base = tmp_path_factory.mktemp("trained")
    for kind in KINDS:
        assert train(corpus, folders / kind, base / kind)
    return base


def opened(folder, preset=PRESET):
    start, preset = plan_start(f"hf:{folder}", preset)
    return start.open(preset.model, preset.training.max_length, "cpu")


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_the_plain_model(folders, kind):
    model, text = opened(folders / kind)
    sources, targets = text.encode_source(LINES), text.encode_target(TARGET)
    with torch.no_grad():
        found = model.eval()(Ragged.pack(sources), Ragged.pack(targets).shifted())
    plain = transformers.AutoModelForSeq2SeqLM.from_pretrained(folders / kind).eval()
    begin = [plain.config.decoder_start_token_id]
    if plain.generation_config.forced_bos_token_id is not None:
        begin.append(plain.generation_config.forced_bos_token_id)
    for source, target, part in zip(
        sources, targets, found.split([len(ids) for ids in targets]), strict=True
    ):
        read = torch.tensor([[*begin, *target[:-1].tolist()]])
        with torch.no_grad():
            logits = plain(input_ids=torch.from_numpy(source)[None], decoder_input_ids=read).logits[
                0
            ]
        torch.testing.assert_close(part, logits[len(begin) - 1 :], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_is_a_folder_of_transformers_with_our_settings(trained, folders, kind):
    losses = [row["valid_loss"] for row in log_of(trained / kind) if "valid_loss" in row]
    assert losses[-1] < losses[0]
    config = read_config(trained / kind)
    assert (config.model.architecture, config.training.max_length) == ("hugging_face", 20)
    model, text = opened(trained / kind)
    first, _ = opened(folders / kind)
    plain = transformers.AutoModelForSeq2SeqLM.from_pretrained(trained / kind).eval()
    read = (
        Ragged.pack(text.encode_source(LINES[:1])),
        Ragged.pack(text.encode_target(TARGET[:1])).shifted(),
    )
    with torch.no_grad():
        ours, before = (each.eval()(*read) for each in (model, first))
        begin = model._begin[None]
        theirs = plain(
            input_ids=read[0].ids[None],
            decoder_input_ids=torch.cat((begin, read[1].ids[None, 1:]), 1),
        )
    torch.testing.assert_close(ours, theirs.logits[0, begin.shape[1] - 1 :], rtol=1e-5, atol=1e-5)
    assert not torch.allclose(ours, before, atol=1e-2)


@pytest.mark.parametrize("kind", few(KINDS, "marian"))
def test_a_run_that_was_stopped_ends_in_the_same_bytes(corpus, folders, trained, tmp_path, kind):
    for stop in (3, 9):
        assert not train(corpus, folders / kind, tmp_path / kind, stop_after_updates=stop)
    assert train(corpus, folders / kind, tmp_path / kind)
    for name in PARTS:
        assert (tmp_path / kind / name).read_bytes() == (trained / kind / name).read_bytes(), name


def test_a_model_learns_and_translates(corpus, folders, tmp_path):
    own = {
        "training.max_updates": 120,
        "training.validate_every": 40,
        "training.learning_rate": 0.03,
    }
    train(
        corpus, folders / "bart", tmp_path / "model", PRESET.replace({**own, "model.dropout": 0.0})
    )
    member = plan_member(f"hf:{tmp_path / 'model'}").open()
    assert [best.text for best, *_ in member.translate(LINES, SearchSettings(beam=2))] == TARGET


def test_what_a_training_leaves_beside_a_model_is_no_part_of_it(trained, tmp_path):
    shutil.copytree(trained / "t5", tmp_path / "t5")
    before = plan_member(f"hf:{tmp_path / 't5'}").key
    (tmp_path / "t5" / "training_state.safetensors").unlink()
    assert plan_member(f"hf:{tmp_path / 't5'}").key == before


@pytest.mark.parametrize("freeze", ["embeddings", "encoder"])
def test_what_is_frozen_stays(corpus, folders, tmp_path, freeze):
    train(corpus, folders / "t5", tmp_path / "t5", PRESET.replace({"model.freeze": freeze}))
    before, after = (
        transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
        for folder in (folders / "t5", tmp_path / "t5")
    )
    changed = {
        name
        for (name, one), other in zip(before.named_parameters(), after.parameters(), strict=True)
        if not torch.equal(one, other)
    }
    assert any(name.startswith("decoder.") for name in changed) and "shared.weight" not in changed
    assert any(name.startswith("encoder.") for name in changed) == (freeze == "embeddings")


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_dropout_is_what_is_asked_for(folders, kind):
    """The models' own configurations have 0.1."""
    for rate, same in ((0.0, True), (0.5, False)):
        model, text = opened(folders / kind, PRESET.replace({"model.dropout": rate}))
        read = (
            Ragged.pack(text.encode_source(LINES)),
            Ragged.pack(text.encode_target(TARGET)).shifted(),
        )
        assert torch.equal(model.train()(*read), model(*read)) == same


ADAPTER = PRESET.replace({"model.adapter_rank": 4, "training.learning_rate": 0.01})


@pytest.mark.parametrize("kind", few(KINDS, "bart"))
def test_adapters_alone_are_trained_and_saved(corpus, folders, tmp_path, kind):
    pytest.importorskip("peft")
    train(corpus, folders / kind, tmp_path / "whole", ADAPTER)
    train(corpus, folders / kind, tmp_path / "parts", ADAPTER, stop_after_updates=7)
    train(corpus, folders / kind, tmp_path / "parts", ADAPTER)
    for name in (
        "config.json",
        "adapter_config.json",
        "adapter_model.safetensors",
        "metrics.jsonl",
        "SHA256SUMS",
    ):
        assert (tmp_path / "whole" / name).read_bytes() == (
            tmp_path / "parts" / name
        ).read_bytes(), name
    said = json.loads((tmp_path / "whole" / "adapter_config.json").read_text())
    assert (said["r"], said["lora_alpha"], said["lora_dropout"]) == (4, 8, PRESET.model.dropout)
    assert said["base_model_name_or_path"] == kind and not said["use_rslora"]
    plain = transformers.AutoModelForSeq2SeqLM.from_pretrained(folders / kind)
    maps = {name for name, part in plain.named_modules() if isinstance(part, torch.nn.Linear)} - {
        "lm_head"
    }
    trained = safetensors.torch.load_file(tmp_path / "whole" / "adapter_model.safetensors")
    assert {
        name.removeprefix("base_model.model.").partition(".lora_")[0] for name in trained
    } == maps
    reports = log_of(tmp_path / "whole")
    losses = [row["valid_loss"] for row in reports if "valid_loss" in row]
    assert losses[-1] < losses[0]
    # What peft reads is what was validated; without it the model is what it was.
    member = plan_member(f"hf:{folders / kind}?adapter={tmp_path / 'whole'}").open()
    targets = member.encode_targets(TARGET)
    log_p = forced_log_probs(member, LINES, targets)
    chosen = log_p[torch.arange(len(log_p)), torch.from_numpy(np.concatenate(targets))]
    kept = read_config(tmp_path / "whole").updates
    wanted = next(
        row["valid_loss"] for row in reports if "valid_loss" in row and row["update"] == kept
    )
    assert float(-chosen.mean()) == pytest.approx(wanted, rel=1e-4)
    with pytest.raises(InputError, match=r"hf:BASE\?adapter="):
        load_checkpoint(tmp_path / "whole")
    with pytest.raises(InputError, match=r"has an adapter already"):
        plan_start(f"hf:{folders / kind}?adapter={tmp_path / 'whole'}", ADAPTER)


def test_a_model_that_others_would_read_wrongly_is_refused(trained, folders, corpus, tmp_path):
    with pytest.raises(InputError, match=r"write hf:"):
        load_checkpoint(trained / "t5")
    with pytest.raises(InputError, match=r"contains a model with other settings.*init is"):
        shutil.copytree(trained / "t5", tmp_path / "t5")
        train(corpus, folders / "marian", tmp_path / "t5")


def test_bad_starts_are_refused(corpus, folders, tmp_path):
    longer = PRESET.replace({"training.max_length": 200, "training.max_tokens": 200})
    with pytest.warns(
        InputWarning, match=r"positions for 32 tokens, so training\.max_length=200 is lowered to 32"
    ):
        assert plan_start(f"hf:{folders / 'marian'}", longer)[1].training.max_length == 32
    with pytest.raises(InputError, match=r"gpt2 is not an encoder-decoder"):
        plan_start(write_model(tmp_path / "gpt2", "gpt2"), PRESET)
    with pytest.raises(InputError, match=r"mc: is only for translation"):
        plan_start(f"mc:hf:{folders / 't5'}?seed=1", PRESET)
    shutil.copytree(folders / "t5", tmp_path / "larger")
    tokenizer([*WORDS, "more"]).save_pretrained(tmp_path / "larger")
    with pytest.raises(
        InputError, match=r"the tokeniser belongs to another model: it has ids up to 18"
    ):
        train(corpus, tmp_path / "larger", tmp_path / "out")
    assert not (tmp_path / "out").exists()
