"""Pages to look at: of a release, and of scores, each one HTML file."""
