"""The validity of a benchmark: how it ranks systems, what it can tell, and what its selection
depends on.
"""
