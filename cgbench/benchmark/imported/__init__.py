"""Scores that other programs gave: read from their files, or asked for in a process of theirs."""
