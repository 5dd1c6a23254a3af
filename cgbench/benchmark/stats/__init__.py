"""All of ``cgbench stats`` and ``cgbench tagger``: rows, texts, novel n-grams, tags."""
