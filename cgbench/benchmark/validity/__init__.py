"""The validity of a benchmark: how it ranks systems, and how its selection depends on the ensemble."""
