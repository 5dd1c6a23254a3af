"""Scores, verdicts and judgements that others gave, as a metric: their requests become an
Evaluation.
"""
