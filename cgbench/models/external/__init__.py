"""External models as members of an ensemble and as systems.

Nothing else in ``models/`` depends on this package.
"""
