"""Text in files: parallel corpora, columns, formats, normalisation, blocks of bytes, the loops over words."""
