"""Validation pairs that are a share of the training text: which they are, and that members are not
trained on them.
"""

import pytest
from text_files import write_pairs

from cgbench.errors import InputError
from cgbench.models.training.held_out import hold_out, texts_in


def divide(folder, pairs, amount):
    """Training and validation pairs."""
    out = folder / f"out-{amount.replace('/', '-')}-{len(list(folder.iterdir()))}"
    out.mkdir()
    hold_out(write_pairs(folder, "train", pairs), amount, out)
    parts = []
    for part in ("train", "valid"):
        texts = texts_in(out, part)
        sides = [path.read_text().split("\n")[:-1] for path in texts] if texts else [[], []]
        parts.append(list(zip(*sides, strict=True)))
    return parts


PAIRS = [(f"s {number}", f"t {number}") for number in range(400)]


def test_every_pair_is_on_one_side_in_its_order(tmp_path):
    train, valid = divide(tmp_path, PAIRS, "1/40")
    assert len(valid) == 10 and len(train) == 390
    assert sorted(train + valid) == sorted(PAIRS)
    assert [pair for pair in PAIRS if pair in set(train)] == train
    assert divide(tmp_path, PAIRS, "10") == [train, valid]  # a number
    assert divide(tmp_path, PAIRS, "1/1000") == [PAIRS, []]


def test_neither_order_nor_white_space_nor_copies_change_what_is_held_out(tmp_path):
    _, valid = divide(tmp_path, PAIRS, "1/40")
    _, other = divide(
        tmp_path, [(source.replace(" ", "  "), target) for source, target in PAIRS[::-1]], "1/40"
    )
    assert {target for _, target in other} == {target for _, target in valid}
    # All translations of a source go together: nothing is validated on what was learnt.
    more = [*PAIRS, *((source, f"{target} again") for source, target in PAIRS)]
    train, valid = divide(tmp_path, more, "20")
    assert len(valid) == 20 and not {source for source, _ in train} & {
        source for source, _ in valid
    }


def test_a_share_that_leaves_nothing_is_one_line(tmp_path):
    with pytest.raises(
        InputError,
        match=r"valid=1/2: holds out all 3 pairs of .*train.0, so no training data is left",
    ):
        divide(tmp_path, [("same", str(number)) for number in range(3)], "1/2")
