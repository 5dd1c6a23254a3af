"""The special tokens that every dictionary begins with, and their ids: the same on both sides, for every unit."""

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
BOS, PAD, EOS, UNK = range(len(SPECIALS))
"""Begin of a sentence, padding, end of a sentence, an unknown word."""
