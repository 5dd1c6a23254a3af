"""Releases in the formats of other tools: one module per target; the entry point is
:mod:`cgbench.benchmark.release.export.export`."""
