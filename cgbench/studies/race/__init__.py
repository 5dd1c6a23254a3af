"""``cgbench race``: ask servers until it is certain which one is better."""
