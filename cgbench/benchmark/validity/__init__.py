"""Is a benchmark what it claims to be? Whom it ranks, what else it would have been."""
