"""N-gram language models: counts, modified Kneser-Ney smoothing, ARPA, KenLM's binary file."""
