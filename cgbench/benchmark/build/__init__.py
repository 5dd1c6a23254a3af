"""A pool becomes a test set: `build-react`, `split`; statistics of test sets."""
