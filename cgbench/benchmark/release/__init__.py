"""A release: the folder of a benchmark, with its card and manifest; written, opened, verified,
exported.
"""
