"""What 0.1 had and 0.2 has not answers with one line that names what to use instead."""

import pytest

from cgbench.commands.removed import REMOVED, removed


@pytest.mark.parametrize("name", sorted(REMOVED))
def test_what_is_gone_says_what_to_use(run, name):
    words = name.split()
    if words[0] in ("comet", "external"):
        words = ["score", *words]
    value = ["1"] if words[-1].startswith("--") else []
    assert run(*words, *value, status=2).stderr == f"error: {removed(name)}\n"


def test_nothing_else_is_gone():
    assert removed("translate") is None
