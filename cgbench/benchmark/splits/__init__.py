"""Splits for compositional generalisation: all of ``cgbench split``."""
