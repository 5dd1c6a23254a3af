"""Which parameters of a test ``make test`` runs; ``make test-all`` runs all of them."""

import pytest


def few(values, *fast):
    """``values`` as parameters of a test, of which all but those in ``fast`` are slow."""
    values = list(values)
    assert all(value in values for value in fast)
    return [
        value if value in fast else pytest.param(value, marks=pytest.mark.slow) for value in values
    ]
