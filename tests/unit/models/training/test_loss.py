import torch
import torch.nn.functional as F

from cgbench.models.training.objective import label_smoothed_nll_loss


def test_value_and_gradient_are_those_of_torch():
    torch.manual_seed(0)
    for smoothing in (0.0, 0.1):
        logits = (torch.randn(7, 11) * 5).requires_grad_()
        target = torch.randint(11, (7,))
        expected = F.cross_entropy(logits, target, label_smoothing=smoothing, reduction="sum")
        (wanted,) = torch.autograd.grad(expected * 0.3, logits)
        value, plain = label_smoothed_nll_loss(logits, target, smoothing)
        (value * 0.3).backward()
        assert torch.allclose(value, expected, rtol=1e-6)
        assert torch.allclose(plain, F.cross_entropy(logits, target, reduction="sum"), rtol=1e-6)
        assert torch.allclose(logits.grad, wanted, atol=1e-6)


def test_logits_are_left_as_they_were_and_may_be_huge():
    logits = torch.tensor([[1e4, 0.0], [-1e4, 1e4]])
    copy = logits.clone()
    value, plain = label_smoothed_nll_loss(logits, torch.tensor([0, 0]), 0.0)
    assert torch.equal(logits, copy)
    assert value.item() == plain.item() == 2e4


def test_bfloat16_logits_get_a_bfloat16_gradient():
    logits = torch.randn(3, 5).bfloat16().requires_grad_()
    label_smoothed_nll_loss(logits, torch.tensor([0, 1, 2]), 0.1)[0].backward()
    assert logits.grad.dtype == torch.bfloat16
    assert logits.grad.abs().sum() > 0
