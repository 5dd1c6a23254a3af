"""``cgbench stats``: rows, texts, novel n-grams, tags."""
