"""Atoms and compounds of texts, and the divergence of two distributions of them."""
