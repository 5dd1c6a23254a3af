"""Text as ids: subwords, vocabularies, batches."""
