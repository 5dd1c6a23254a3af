"""Kernels whose sums may be in any order give the same bits wherever their arrays are."""

import ast
from pathlib import Path

import numpy as np
import pytest

import cgbench
from cgbench.models.parts.cpu import attentive_lstm

FILES = [
    path
    for path in Path(cgbench.__file__).parent.rglob("*.py")
    if "sums_in_lanes" in path.read_text(encoding="utf-8")
]


def innermost_loops(function):
    for loop in ast.walk(function):
        if isinstance(loop, ast.For) and not any(
            isinstance(inner, ast.For) for inner in ast.walk(loop) if inner is not loop
        ):
            yield loop


def adds_up(statement):
    """Whether a statement adds to a number, but for a count."""
    return (
        isinstance(statement, ast.AugAssign)
        and isinstance(statement.target, ast.Name)
        and not isinstance(statement.value, ast.Constant)
    )


def writes(statement):
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return any(isinstance(part, ast.Subscript) for target in targets for part in ast.walk(target))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_loop_that_adds_up_writes_nothing(path):
    for loop in innermost_loops(ast.parse(path.read_text(encoding="utf-8"))):
        statements = [
            node for node in ast.walk(loop) if isinstance(node, (ast.Assign, ast.AugAssign))
        ]
        assert not (any(map(adds_up, statements)) and any(map(writes, statements))), (
            f"{path.name}, line {loop.lineno}"
        )


@pytest.mark.parametrize("columns", [24, 33, 40])
def test_weights_do_not_depend_on_the_addresses_of_arrays(columns):
    draw = np.random.default_rng(columns)
    scores = draw.normal(size=(1, columns)).astype(np.float32)
    values = draw.normal(size=(columns, 8)).astype(np.float32)
    outcomes = set()
    for gap in range(columns, columns + 80):
        memory = np.zeros(1000, np.float32)
        here, weights = memory[:columns].reshape(1, -1), memory[gap : gap + columns].reshape(1, -1)
        here[:] = scores
        read = np.zeros((1, 8), np.float32)
        attentive_lstm._read(np.array([columns]), np.array([1]), here, values, read, weights)
        outcomes.add((weights.tobytes(), read.tobytes()))
    assert len(outcomes) == 1
