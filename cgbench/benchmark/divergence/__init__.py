"""Atoms and compounds of texts, and how far two distributions of them are apart."""
