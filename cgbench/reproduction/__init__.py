"""Reproduce published tables: data, systems, training, scores, and the comparison."""
