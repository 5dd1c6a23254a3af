"""Architectures over RoBERTa and BART."""
