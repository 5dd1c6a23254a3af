"""The mean of members' probabilities and the largest values of a row: loops against torch."""

import contextlib

import pytest
import torch

from cgbench.models.parts.cpu import plain_definitions
from cgbench.models.parts.vocabulary import largest, mean_softmax


@pytest.mark.parametrize("form", [contextlib.nullcontext, plain_definitions])
@pytest.mark.parametrize("width", [1, 7, 512, 1300])
def test_the_mean_is_that_of_softmax(form, width):
    torch.manual_seed(0)
    logits = [10 * torch.randn(5, width) for _ in range(3)]
    logits[0][1, 0] = float("-inf") if width > 1 else 0.0
    expected = torch.stack(logits).double().softmax(2).mean(0)
    with form():
        mean = mean_softmax(iter(logits), 3)
    assert mean.dtype == torch.float32
    torch.testing.assert_close(mean.double(), expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("form", [contextlib.nullcontext, plain_definitions])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_is_not_finite_stays_so(form, wrong):
    logits = torch.zeros(2, 600)
    logits[1, 599] = wrong
    with form():
        mean = mean_softmax([logits], 1)
        values, _ = largest(mean, 3)
    assert mean[0].isfinite().all() and mean[1].isnan().all() and values[1].isnan().all()


def test_members_in_bfloat16_and_rows_that_are_one():
    logits = torch.randn(1, 40).to(torch.bfloat16).expand(3, -1)
    expected = torch.softmax(logits, 1, dtype=torch.float32)
    torch.testing.assert_close(mean_softmax([logits, logits], 2), expected)


@pytest.mark.parametrize(
    ("width", "count"), [(1, 1), (9, 9), (511, 10), (512, 3), (1300, 10), (3000, 700)]
)
def test_the_largest_are_those_of_a_sort(width, count):
    torch.manual_seed(0)
    x = torch.rand(20, width)
    x[:, : width // 3] = -1  # forbidden
    values, columns = largest(x, count)
    assert torch.equal(values, x.sort(dim=1, descending=True).values[:, :count])
    assert torch.equal(x.gather(1, columns), values)
    assert all(len(set(row)) == count for row in columns.tolist())


def test_the_largest_of_one_lane():
    """All in columns 5, 517, 1029, ...: of a lane the loop takes more than its best."""
    x = torch.zeros(1, 6000)
    x[0, 5::512] = torch.arange(12.0) + 1
    assert largest(x, 4)[1].tolist() == [[5637, 5125, 4613, 4101]]
