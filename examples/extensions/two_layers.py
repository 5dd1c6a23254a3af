"""A preset of models: ``cgbench train --model two-layers``."""

TWO_LAYERS = {
    "base": "tiny",
    "paper": "a smaller model for quick trials",
    "model": {"encoder_layers": 2, "decoder_layers": 2},
}
