"""Architectures, one paper per file, and what some of them share."""
