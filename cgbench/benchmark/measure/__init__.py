"""What a text, a pair or an output is like: known n-grams, overlap, divergence, metrics."""
