"""Models, training, search and ensemble uncertainty. Knows nothing of :mod:`cgbench.benchmark`."""
