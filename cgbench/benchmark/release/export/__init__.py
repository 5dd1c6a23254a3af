"""Releases in the forms that other tools read: a target a file, one door
(:mod:`cgbench.benchmark.release.export.export`)."""
