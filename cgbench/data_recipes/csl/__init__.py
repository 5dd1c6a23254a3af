"""CSL (Qiu et al., 2022): a grammar induced from pairs, weighted, and sampled for new pairs."""
