"""Scores of systems, each a set of sufficient statistics an example: statistics and breakdowns are
written once.
"""
