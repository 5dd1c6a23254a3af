"""Every operation with a form of its own on a CPU against its plain definition, in values and in gradients."""

import ast
import importlib
import inspect
import math
from pathlib import Path

import pytest
import torch
from architecture_table import TABLE, pack, pairs, small_model
from torch.autograd import gradcheck

import cgbench.models.parts.cpu as cpu
from cgbench.models.parts import attention, forms, heads, linear, loss, precision, ragged, recurrent
from cgbench.models.parts.forms import faster, plain_definitions
from cgbench.models.parts.ragged import Layout

torch.set_num_threads(1)

PARTS = Path(inspect.getfile(forms)).parent


def operations():
    """(module, name) of every public function of cpu/ that is an operation: all that a plain definition names."""
    for path in sorted((PARTS / "cpu").glob("[a-z]*.py")):
        if path.stem == "packed":  # how linear.linear makes some products: tests of their own
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.name != "keep_mask":
                yield path.stem, node.name


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def both(operation, *arguments):
    """What the form of the CPU returns, and what the plain definition does."""
    found = operation(*arguments)
    with plain_definitions():
        return found, operation(*arguments)


def assert_equal(found, expected, inputs, weights=None, tolerance=1e-12):
    """Two results of the same inputs are the same, and so are the gradients of a weighted sum of them."""
    assert found.dtype == expected.dtype
    assert torch.allclose(found, expected, atol=tolerance)
    weights = torch.randn_like(expected) if weights is None else weights
    for ours, plain in zip(
        torch.autograd.grad(found, inputs, weights), torch.autograd.grad(expected, inputs, weights), strict=True
    ):
        assert torch.allclose(ours, plain, atol=tolerance)


def test_the_device_chooses():
    calls = []
    operation = faster(cpu=lambda x: calls.append("cpu"))(lambda x: calls.append("plain"))
    operation(torch.zeros(1))
    operation(torch.zeros(1, device="meta"))
    with plain_definitions():
        operation(torch.zeros(1))
    operation(torch.zeros(1))
    assert calls == ["cpu", "plain", "plain", "cpu"]


@pytest.mark.parametrize(("module", "name"), list(operations()))
def test_every_form_has_a_plain_definition_of_the_same_arguments(module, name):
    plain = getattr(importlib.import_module(f"cgbench.models.parts.{module}"), name)
    fast = getattr(importlib.import_module(f"{cpu.__name__}.{module}"), name)
    assert inspect.getclosurevars(plain).nonlocals["forms"] == {"cpu": fast}
    assert list(inspect.signature(fast).parameters) == list(inspect.signature(plain).parameters)


def test_gradients_are_written_by_hand_for_a_cpu_alone():
    found = {
        path.relative_to(PARTS).parts[0]
        for path in PARTS.parents[1].rglob("*.py")
        if "autograd.Function" in path.read_text(encoding="utf-8")
    }
    assert found == {"cpu"}


@pytest.mark.parametrize("keys", [6, 20])  # a softmax of its own for short rows, torch's for long ones
@pytest.mark.parametrize("kind", ["none", "mask", "logits"])
def test_attention(keys, kind):
    torch.manual_seed(0)
    inputs, mask = [randn(2, 3, 5, 4), randn(2, 3, keys, 4), randn(2, 3, keys, 4)], None
    if kind == "mask":
        mask = torch.zeros(2, 1, 1, keys, dtype=torch.float64).index_fill_(3, torch.tensor([4]), -math.inf)
    elif kind == "logits":
        mask = randn(2, 3, 5, keys)
        inputs.append(mask)
    arguments = (*inputs[:3], mask, 0.0)
    assert_equal(*both(attention.scaled_dot_product_attention, *arguments), inputs)
    assert gradcheck(attention.scaled_dot_product_attention, arguments)


@pytest.mark.parametrize("length", [5, 20])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_attention_to_no_key_at_all_is_zero(length, dropout):
    torch.manual_seed(0)
    inputs = [randn(2, 3, count, 4) for count in (6, length, length)]
    hidden = torch.zeros(2, 1, 6, length, dtype=torch.float64)
    hidden[0, :, 1], hidden[1, :, :, 2:] = -math.inf, -math.inf
    found, expected = both(attention.scaled_dot_product_attention, *inputs, hidden, dropout)
    assert (found[0, :, 1] == 0).all() and (expected[0, :, 1] == 0).all()
    assert found.isfinite().all()
    if not dropout:
        assert_equal(found, expected, inputs)
        assert gradcheck(attention.scaled_dot_product_attention, (*inputs, hidden, 0.0))
    # what is not a number for another reason stays so
    inputs[0].data[1, :, 1] = math.nan
    found, expected = both(attention.scaled_dot_product_attention, *inputs, hidden, 0.0)
    assert torch.equal(found.isnan(), expected.isnan()) and found[1, :, 1].isnan().all()


@pytest.mark.parametrize("length", [5, 20])
@pytest.mark.parametrize("masked", [False, True])
def test_softmax(length, masked):
    torch.manual_seed(0)
    logits, mask = randn(3, 4, length), randn(3, 1, length) if masked else None
    assert_equal(*both(attention.softmax, logits, mask, 0.3), [logits])
    if masked:
        full = mask.detach().expand_as(logits).clone().requires_grad_()
        assert_equal(*both(attention.softmax, logits, full, 0.3), [logits, full])
    assert gradcheck(lambda x: attention.softmax(x, mask, 0.3), logits)


@pytest.mark.parametrize("shape", [(7, 6), (2, 7, 6)])
@pytest.mark.parametrize("with_bias", [False, True])
def test_linear(shape, with_bias):
    torch.manual_seed(0)
    x, weight, bias = randn(*shape), randn(5, 6), randn(5) if with_bias else None
    inputs = [x, weight] + [bias] * with_bias
    assert_equal(*both(linear.linear, x, weight, bias), inputs)
    assert gradcheck(linear.linear, (x, weight, bias))


@pytest.mark.parametrize("with_bias", [False, True])
def test_linear_under_autocast(with_bias):
    torch.manual_seed(0)
    x, weight = torch.randn(130, 6, requires_grad=True), torch.randn(5, 6, requires_grad=True)
    bias = torch.randn(5, requires_grad=True) if with_bias else None
    with torch.autocast("cpu", torch.bfloat16):
        found, expected = both(linear.linear, x, weight, bias)
    assert found.dtype == expected.dtype == torch.bfloat16
    inputs, weights = [x, weight] + [bias] * with_bias, torch.randn(130, 5).bfloat16()
    assert torch.allclose(found.float(), expected.float(), atol=0.05)
    for ours, plain in zip(
        torch.autograd.grad(found, inputs, weights), torch.autograd.grad(expected, inputs, weights), strict=True
    ):
        assert ours.dtype == plain.dtype
        assert (ours - plain).norm() < 0.02 * plain.norm()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_label_smoothed_nll_loss(smoothing):
    torch.manual_seed(0)
    logits, target = (torch.randn(7, 11) * 5).requires_grad_(), torch.randint(11, (7,))
    (found, nll), (expected, plain_nll) = both(loss.label_smoothed_nll_loss, logits, target, smoothing)
    assert_equal(found, expected, [logits], torch.tensor(0.3), 1e-5)
    assert torch.allclose(nll, plain_nll) and not nll.requires_grad and not plain_nll.requires_grad


def test_tokens_to_grids_and_back():
    torch.manual_seed(0)
    layout = Layout([3, 5, 2, 4])
    _, index, inverse = layout._grids
    x = randn(layout.tokens, 3)
    real = torch.zeros(len(index), 1, dtype=torch.float64).index_fill_(0, inverse, 1)
    found, expected = both(ragged.gather_grids, x, index, inverse)
    assert_equal(found, expected, [x], torch.randn_like(found) * real)  # no gradient at padding
    assert gradcheck(lambda x: ragged.gather_grids(x, index, inverse) * real, x)
    grids = randn(len(index), 3)
    assert_equal(*both(ragged.gather_tokens, grids, inverse), [grids])
    assert gradcheck(lambda x: ragged.gather_tokens(x, inverse), grids)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("lengths", [[3, 5, 2, 4, 30], [4, 4]])
def test_tokens_to_heads_and_back(parts, lengths):
    torch.manual_seed(0)
    layout = Layout(lengths)
    grids = layout.head_grids(parts, 2)
    x = randn(layout.tokens, parts * 6)
    real = torch.zeros(len(grids.index), 1, dtype=torch.float64).index_fill_(0, grids.inverse, 1)

    def flat(x):
        return torch.cat([piece.flatten(0, 2) for piece in heads.gather_heads(x, grids)]) * real

    assert_equal(*both(flat, x), [x])
    assert gradcheck(flat, x)
    given = randn(len(grids.index), 3)
    if parts == 1:
        assert_equal(*both(heads.gather_tokens, given, grids), [given])
        assert gradcheck(lambda given: heads.gather_tokens(given, grids), given)


def test_split_heads():
    torch.manual_seed(0)
    x = torch.randn(2, 5, 12).bfloat16().requires_grad_()
    for found, expected in zip(*both(heads.split_heads, x, 2, 3), strict=True):
        assert found.dtype == torch.float32 and expected.dtype == torch.bfloat16
        assert_equal(found, expected.float(), [x], torch.randn(found.shape).bfloat16().float())
    y = randn(2, 5, 12)
    for found, expected in zip(*both(heads.split_heads, y, 2, 3), strict=True):
        assert_equal(found, expected, [y])


def test_step_linear():
    torch.manual_seed(0)
    weight, steps = randn(5, 6), [randn(3, 6), randn(2, 6), randn(1, 6)]

    def outputs(weight, *steps):
        step = recurrent.step_linear(weight)
        return torch.cat([step(x) for x in steps])

    assert_equal(*both(outputs, weight, *steps), [weight, *steps])
    assert gradcheck(outputs, (weight, *steps))


def test_types_under_autocast():
    x = torch.randn(3, 4).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        for plain, dtype in ((False, torch.float32), (True, torch.bfloat16)):
            with plain_definitions() if plain else precision.attention_autocast(x):
                assert precision.attention_operand(x).dtype == dtype
                with precision.attention_autocast(x):
                    assert (precision.attention_operand(x) @ precision.attention_operand(x).T).dtype == dtype
        held, plain_held = both(precision.activations, torch.randn(3, 4))
    assert held.dtype == torch.bfloat16 and plain_held.dtype == torch.float32


@pytest.mark.parametrize("config", TABLE)
def test_every_architecture_is_its_plain_self(config):
    model = small_model(config)
    source, target = pack(pairs([(9, 7), (2, 12), (1, 1), (14, 3)]))

    def run():
        model.zero_grad()
        logits = model(source, target)
        loss.label_smoothed_nll_loss(logits, target.ids, 0.1)[0].backward()
        return logits.detach(), {name: p.grad for name, p in model.named_parameters() if p.grad is not None}

    found, gradients = run()
    with plain_definitions():
        expected, plain_gradients = run()
    assert torch.allclose(found, expected, atol=1e-4)
    assert gradients.keys() == plain_gradients.keys()
    for name, gradient in gradients.items():
        assert (gradient - plain_gradients[name]).norm() <= 1e-4 * (1 + plain_gradients[name].norm()), name
