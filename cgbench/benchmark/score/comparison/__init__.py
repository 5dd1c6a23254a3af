"""Compare scores: arrays in, numbers out."""
