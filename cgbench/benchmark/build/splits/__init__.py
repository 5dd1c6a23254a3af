"""Splits for compositional generalisation: ``cgbench split``."""
