"""Rules of examples: what an output must contain, must not contain, match or equal."""
