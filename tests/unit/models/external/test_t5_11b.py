"""T5-11B, as far as it can be seen without its weights: shapes on the meta device; a small model of
its form, from a checkpoint in pieces and beside transformers.
"""

import random

import pytest
import torch
from external_models import WORDS, tokenizer
from overview import count_of, row_of

from cgbench.models.config.presets import load_preset
from cgbench.models.external.addresses import parse_address
from cgbench.models.external.loading import load_model
from cgbench.models.external.snapshot import find_snapshot
from cgbench.models.external.start import plan_start
from cgbench.models.parts.ragged import Ragged

transformers = pytest.importorskip("transformers")

# google-research/text-to-text-transfer-transformer, t5/models/gin/models/bi_v1_11B.gin, and the
# vocabulary of 32,000 pieces with 128 more rows.
SHAPE = {"d_model": 1024, "d_ff": 65_536, "d_kv": 128, "num_heads": 128, "num_layers": 24}
PARAMETERS = 11_307_321_344


def test_the_number_of_parameters():
    config = transformers.T5Config(**SHAPE, vocab_size=32_128)
    with torch.device("meta"):
        model = transformers.T5ForConditionalGeneration(config)
    assert sum(parameter.numel() for parameter in model.parameters()) == PARAMETERS
    assert row_of("T5-11B")["ours"] == f"{PARAMETERS:,} with vocabulary"
    gibibytes = [round(size * PARAMETERS / 2**30, 1) for size in (4, 2, 8)]
    assert gibibytes == [42.1, 21.1, 84.2]  # docs/how-to/fine-tuning.md


# As in T5-11B, all heads together are wider than a layer, and the table has more rows than pieces.
SMALL = {"d_model": 8, "d_ff": 32, "d_kv": 4, "num_heads": 4, "num_layers": 2, "vocab_size": 64}


def small_model(folder, **options):
    """A random model of the form of T5-11B, in a folder."""
    torch.manual_seed(0)
    config = transformers.T5Config(
        **SMALL, tie_word_embeddings=True, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1
    )
    model = transformers.T5ForConditionalGeneration(config).eval()
    model.save_pretrained(folder, **options)
    return model


def test_logits_are_those_of_transformers(tmp_path):
    """A whole batch of ours beside one pair at a time of theirs."""
    model, words = small_model(tmp_path), tokenizer()
    words.save_pretrained(tmp_path)
    start, preset = plan_start(f"hf:{tmp_path}", load_preset("t5_11b_cfq"))
    ours, text = start.open(preset.model, preset.training.max_length, "cpu")
    draw = random.Random(0)
    lines = [" ".join(draw.choices(WORDS, k=draw.randrange(1, 12))) for _ in range(40)]
    sources, targets = text.encode_source(lines), text.encode_target(lines[::-1])
    with torch.no_grad():
        logits = ours.eval()(Ragged.pack(sources), Ragged.pack(targets).shifted())
        expected = [
            model(
                input_ids=torch.tensor([words(line)["input_ids"]]),
                labels=torch.tensor([words(target)["input_ids"]]),
            ).logits[0]
            for line, target in zip(lines, lines[::-1], strict=True)
        ]
    torch.testing.assert_close(logits, torch.cat(expected), rtol=0, atol=1e-5)
    assert logits.numel() == count_of("T5-11B", "logits")


def test_a_checkpoint_in_pieces(tmp_path):
    model = small_model(tmp_path, max_shard_size="4KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    address = parse_address(f"hf:{tmp_path}")
    folder, _ = find_snapshot(address)
    loaded = load_model(address, folder)
    for (name, tensor), (_, expected) in zip(
        sorted(loaded.state_dict().items()), sorted(model.state_dict().items()), strict=True
    ):
        assert torch.equal(tensor, expected), name
