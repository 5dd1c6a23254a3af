"""What is said of a compilation, and what a kernel may hold so that it is short."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import cgbench
from cgbench import compiled, progress

PACKAGE = Path(cgbench.__file__).parent
KERNELS = sorted(path for path in PACKAGE.rglob("*.py") if "from cgbench.compiled import" in path.read_text("utf-8"))
SLOW = {"empty", "zeros", "full", "ones", "argsort", "concatenate"}  # numpy's functions that compile for a second

SCRIPT = """
import sys
import numpy as np
from cgbench.compiled import kernel, part

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

AHEAD = """
from cgbench.compiled import kernel_of

@kernel_of("(i8[::1],)")
def total(numbers):
    found = 0
    for number in numbers:
        found += number
    return found
"""


def run(tmp_path, **environment):
    (tmp_path / "loops.py").write_text(SCRIPT.format(decorator="@kernel"))
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), progress.EVERY: "30", **environment}
    words = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import loops"]
    return subprocess.run(words, env=variables, capture_output=True, text=True, check=True)


def test_one_line_says_that_a_kernel_is_compiled_and_none_that_it_was(tmp_path):
    first, second = run(tmp_path), run(tmp_path)
    assert first.stdout == second.stdout == "12\n"
    assert first.stderr == "compiling loops for this processor: some seconds, once after installation\n"
    assert second.stderr == ""


def test_what_is_compiled_ahead_is_what_the_call_takes(tmp_path):
    (tmp_path / "loops.py").write_text(AHEAD)
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), progress.EVERY: "0"}

    def output(code):
        words = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"]
        return subprocess.run(words, env=variables, capture_output=True, text=True, check=True).stdout

    output("from cgbench.compiled import compile_ahead; compile_ahead(('loops.total',))")
    called = "import numpy, loops; print(loops.total(numpy.arange(4)), sum(loops.total.stats.cache_misses.values()))"
    assert output(called) == "6 0\n"


class Started(list):
    """In place of multiprocessing's context: which processes are started."""

    def Process(self, target, args, daemon):  # noqa: N802
        assert target is compiled.compile_ahead
        assert daemon
        self.append(args)
        return SimpleNamespace(start=lambda: None)


@pytest.mark.parametrize(("cores", "expected", "started"), [(2, ["a", "b"], 1), (1, ["a", "b"], 0), (2, [], 0)])
def test_a_process_compiles_ahead_once_if_there_is_a_core_for_it(monkeypatch, cores, expected, started):
    processes = Started()
    monkeypatch.setattr(compiled, "usable_cores", lambda: cores)
    monkeypatch.setattr(compiled.multiprocessing, "get_context", lambda kind: processes)
    monkeypatch.setenv(progress.EVERY, "0")
    compiled.expect(*expected)
    event = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=slow_calls)})
    notice = compiled.Notice()
    for _ in range(2):
        notice.on_start(event)
        notice.on_end(event)
    assert processes == [(tuple(expected),)] * started


def test_who_wants_no_lines_gets_none(tmp_path):
    assert run(tmp_path, **{progress.EVERY: "0"}).stderr == ""


def slow_calls(source):
    """Calls of kernels' and parts' bodies that take library code along: arrays that are made there."""
    found = []
    for node in ast.parse(source).body:
        made = [getattr(name, "func", name) for name in getattr(node, "decorator_list", [])]
        names = {getattr(name, "id", "") for name in made}
        if names & {"kernel", "kernel_of", "part", "inlined"}:
            found += [
                f"{node.name}: {call.func.attr}"
                for call in ast.walk(node)
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in SLOW
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


def test_warm_up_compiles_every_kernel():
    modules = [path.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", ".") for path in KERNELS]
    script = (
        "import importlib\n"
        "from cgbench.cli import main\n"
        "main.main(['warm-up'], standalone_mode=False)\n"
        "from cgbench import compiled\n"
        f"for name in {modules}:\n"
        "    importlib.import_module(name)\n"
        "print(sorted(loop.py_func.__qualname__ for loop in compiled.KERNELS if not loop.signatures))\n"
        "from numba.core import sigutils\n"
        "from cgbench.commands import ahead\n"
        "assert {*ahead.DEGREE, *ahead.STATS, *ahead.OVERLAP, *ahead.LM} == {*compiled.SIGNATURES}\n"
        "for loop in compiled.KERNELS:\n"
        "    name = f'{loop.py_func.__module__}.{loop.py_func.__name__}'\n"
        "    if name in compiled.SIGNATURES:\n"
        "        assert loop.signatures == [sigutils.normalize_signature(compiled.SIGNATURES[name])[0]], name\n"
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
