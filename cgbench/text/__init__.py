"""Text in files: parallel corpora, columns, formats, normalisation, byte blocks, compiled word
loops.
"""
