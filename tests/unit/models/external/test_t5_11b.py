"""T5-11B, as far as it can be seen without its weights: shapes on the meta device; a small model of
its form from a checkpoint in pieces.
"""

import pytest
import torch

from cgbench.models.external.addresses import parse_address
from cgbench.models.external.loading import load_model
from cgbench.models.external.snapshot import find_snapshot

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
    gibibytes = [round(size * PARAMETERS / 2**30, 1) for size in (4, 2, 16)]
    assert gibibytes == [42.1, 21.1, 168.5]  # docs/how-to/fine-tuning.md


def test_a_checkpoint_in_pieces(tmp_path):
    torch.manual_seed(0)
    small = {"d_model": 8, "d_ff": 32, "d_kv": 4, "num_heads": 4, "num_layers": 2}
    model = transformers.T5ForConditionalGeneration(
        transformers.T5Config(**small, vocab_size=64, tie_word_embeddings=True)
    )
    model.save_pretrained(tmp_path, max_shard_size="4KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    address = parse_address(f"hf:{tmp_path}")
    folder, _ = find_snapshot(address)
    loaded = load_model(address, folder)
    for (name, tensor), (_, expected) in zip(
        sorted(loaded.state_dict().items()), sorted(model.state_dict().items()), strict=True
    ):
        assert torch.equal(tensor, expected), name
