"""Bilingual lexicons: learners, files, matrix, heat map."""
