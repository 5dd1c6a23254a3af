"""Training of one model or an ensemble: loop, objectives, data, state, validation."""
