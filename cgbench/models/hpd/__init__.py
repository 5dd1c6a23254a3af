"""Hierarchical poset decoding (HPD; Guo et al., 2020) for questions and queries of CFQ.

A query is a set of clauses, partially ordered by its variables. A sketch parser predicts the paths
of this order with placeholders; a phrase table proposes clauses that fill them; a classifier
accepts or rejects the filled paths; the accepted ones are the query.
"""
