"""The special tokens at the start of every vocabulary, and their ids."""

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
BOS, PAD, EOS, UNK = range(len(SPECIALS))
"""Begin of sentence, padding, end of sentence, unknown word."""
