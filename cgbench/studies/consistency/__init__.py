"""Consistency of translations without references: sentences that share a piece, and how alike it is
translated.
"""
