"""A request for scores becomes an evaluation."""
