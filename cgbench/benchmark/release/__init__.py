"""A release: the folder that holds a benchmark, with its card and manifest; written, opened, verified, exported."""
