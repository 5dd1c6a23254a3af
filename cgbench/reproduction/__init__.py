"""Published tables, made again: data, systems, training, scores, and the comparison."""
