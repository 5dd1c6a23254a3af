"""Models, training, search and ensemble uncertainty; independent of :mod:`cgbench.benchmark`."""
