"""Training: the loop, what is minimised, data, state, validation; one model or an ensemble."""
