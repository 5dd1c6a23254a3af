"""What the parts of a build take, made up: nothing is timed."""

RATES = {
    **{"train_pairs": 20_000, "train_bytes": 2e6, "pool_pairs": 30_000, "pool_bytes": 3e6, "exclude_pairs": 500},
    **{"exclude_bytes": 5e4, "normalise": 1e-3, "learn": 1e-8, "ngrams": 0.5, "scan": 1e-8, "rows": 0.3, "kept": 0.5},
    **{"words": 0.1, "start": 5.0, "subwords": 1e-4, "update": 0.1, "pairs": 100.0, "model": 4e6, "candidate": 0.02},
    "memory": 1e9,
}
