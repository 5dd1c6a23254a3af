"""``cgbench overlap``: how much of a test text is in a corpus of any size."""
