"""cgbench: build benchmarks of compositional generalisation, score systems on them, train the published ones."""

__version__ = "0.1.0"
