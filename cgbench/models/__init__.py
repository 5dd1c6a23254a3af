"""Models, training, search and ensemble uncertainty; independent of :mod:`cgbench.benchmark`.

Invalid input raises :class:`~cgbench.errors.InputError`; docstrings say so only where the reason is
not obvious.
"""
