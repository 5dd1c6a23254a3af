"""Models of others as members of an ensemble and as systems; what is here, models/ itself knows nothing of."""
