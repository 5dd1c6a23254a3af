"""What is said of a compilation, and what a kernel may hold so that it is short."""

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from few import few

import cgbench
from cgbench import progress
from cgbench.engines import compiled

PACKAGE = Path(cgbench.__file__).parent
KERNELS = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if "from cgbench.engines.compiled import" in path.read_text("utf-8")
)
SLOW = {
    "empty",
    "zeros",
    "full",
    "ones",
    "argsort",
    "concatenate",
}  # numpy's functions that compile for a second

SCRIPT = """
import sys
import numpy as np
from cgbench.engines.compiled import kernel, part

@part
def twice(number):
    return 2 * number

{decorator}
def total(numbers):
    found = 0
    for number in numbers:
        found += twice(number)
    return found

print(total(np.arange(4)))
"""


def run(tmp_path, **environment):
    (tmp_path / "loops.py").write_text(SCRIPT.format(decorator="@kernel"))
    variables = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        progress.EVERY: "30",
        **environment,
    }
    words = [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import loops",
    ]
    return subprocess.run(words, env=variables, capture_output=True, text=True, check=True)


def test_one_line_says_that_a_kernel_is_compiled_and_none_that_it_was(tmp_path):
    first, second = run(tmp_path), run(tmp_path)
    assert first.stdout == second.stdout == "12\n"
    assert (
        first.stderr
        == "compiling loops for this processor: takes some seconds, once after installation\n"
    )
    assert second.stderr == ""


@pytest.mark.parametrize("kind", few(["nbi", "nbc"], "nbc"))
@pytest.mark.parametrize(
    "wrong", few([b"cnumba\ngone\n.", b"cgone\nname\n.", b""], b"cnumba\ngone\n.")
)
def test_cached_code_that_cannot_be_read_is_compiled_anew(tmp_path, kind, wrong):
    assert run(tmp_path, **{progress.EVERY: "0"}).stderr == ""  # who wants no lines gets none
    (path,) = (tmp_path / "cache").rglob(f"*.{kind}")
    data = path.read_bytes()
    head = len(pickle.dumps(numba.__version__, protocol=-1)) if kind == "nbi" else 0
    path.write_bytes(data[:head] + wrong)
    assert run(tmp_path).stdout == "12\n"


def slow_calls(source):
    """Calls of kernels' and parts' bodies that take library code along: arrays that are made
    there.
    """
    found = []
    for node in ast.parse(source).body:
        made = [getattr(name, "func", name) for name in getattr(node, "decorator_list", [])]
        names = {getattr(name, "id", "") for name in made}
        if names & {"kernel", "part", "inlined"}:
            found += [
                f"{node.name}: {call.func.attr}"
                for call in ast.walk(node)
                if isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr in SLOW
            ]
            found += [
                f"{node.name}: a slice"
                for part in ast.walk(node)
                if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store)
                for inner in ast.walk(part.slice)
                if isinstance(inner, ast.Slice)
            ]
    return found


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_kernels_get_their_arrays(path):
    if path.parent.name == "lexicons":
        pytest.skip("learning a lexicon grows arrays; it is no first command")
    assert slow_calls(path.read_text("utf-8")) == []


def test_a_slow_call_is_seen():
    source = "@kernel\ndef sort(x):\n    y = np.zeros(3)\n    y[1:] = x\n    y[0] = x[1:].size\n"
    assert slow_calls(source) == ["sort: zeros", "sort: a slice"]


@pytest.mark.slow
def test_warm_up_compiles_every_kernel():
    modules = [
        path.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", ".")
        for path in KERNELS
    ]
    script = (
        "import importlib\nfrom cgbench.cli import main\nmain.main(['warm-up'],"
        f" standalone_mode=False)\nfrom cgbench.engines import compiled\nfor name in {modules}:\n  "
        "  importlib.import_module(name)\nprint(sorted(loop.py_func.__qualname__ for loop in"
        " compiled.KERNELS if not loop.signatures))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_a_notice_speaks_of_kernels_alone(monkeypatch, capsys):
    monkeypatch.setenv(progress.EVERY, "30")

    event = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=slow_calls)})
    notice = compiled.Notice()
    for _ in range(2):
        notice.on_start(event)
        notice.on_start(event)
        notice.on_end(event)
        notice.on_end(event)
    assert notice.loops == 2
    assert capsys.readouterr().err.count("\n") == 1
