"""Questions beyond the three jobs, a package each: they use what any other package may use."""
