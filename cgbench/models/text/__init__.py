"""Text as ids: subwords, dictionaries, batches."""
