"""`score`: from a request to an evaluation."""
