"""Forms for a CPU against their plain definitions."""

import torch

from cgbench.models.parts.cpu import fast_form, plain_definitions


def test_one_switch_turns_all_of_them_off():
    x = torch.zeros(1)
    assert fast_form(x) and not fast_form(x.to("meta"))
    with plain_definitions():
        assert not fast_form(x)
        with plain_definitions():
            pass
        assert not fast_form(x)
    assert fast_form(x)
