"""N-gram language models: counts, modified Kneser-Ney smoothing, ARPA and KenLM binary files."""
