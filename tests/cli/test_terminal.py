"""What a terminal shows: colours of our own, no control characters of others, one line after
Ctrl-C.
"""

import os
import select
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")


def on_terminal(code, *words, cwd, interrupt_after=None, **environment):
    """Run Python code with a terminal as its output; Ctrl-C comes when it has printed
    ``interrupt_after``.
    """
    master, slave = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        cwd=cwd,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm", **environment},
    )
    os.close(slave)
    shown, end = b"", time.monotonic() + 120
    while process.poll() is None or select.select([master], [], [], 0)[0]:
        try:
            shown += os.read(master, 1 << 16) if select.select([master], [], [], 0.1)[0] else b""
        except OSError:  # the other end is closed
            break
        if interrupt_after and interrupt_after in shown:
            process.send_signal(signal.SIGINT)
            interrupt_after = None
        if time.monotonic() > end:
            process.kill()
    os.close(master)
    return process.wait(), shown.decode()


MAIN = "from cgbench.cli import main; main()"


def test_colours_are_reset_without_a_trace(tmp_path):
    # What numba does where colorama is installed: the stream of the time of the call is reset at
    # exit.
    code = (
        "import atexit, sys, click, cgbench.commands.degree as module\n"
        "def call(**given):\n    atexit.register(sys.stdout.write, '\\x1b[0m')\n"
        "    print('a\\x1bb')\n    click.echo('c\\x1bd')\n"
        f"module.degree_command.callback = call\n{MAIN}"
    )
    status, shown = on_terminal(code, "degree", "x", cwd=tmp_path)
    assert (
        status == 0
        and shown.startswith("a\\x1bb")
        and "c\\x1bd" in shown
        and shown.endswith("\x1b[0m")
    )


@pytest.mark.parametrize("handler", ["raise AttributeError('sympy has no core')", "raise"])
def test_ctrl_c_in_an_import_is_one_line(tmp_path, handler):
    (tmp_path / "slow.py").write_text(
        "import time\ntry:\n    print('importing', flush=True)\n    while True:\n       "
        f" time.sleep(0.02)\nexcept BaseException:\n    {handler}\n"
    )
    code = (
        "import cgbench.commands.train as module\n"
        "module.train_command.callback = lambda **given: __import__('slow')\n"
        f"{MAIN}"
    )
    words = ["train", "--train", "t", "--out", "o"]
    status, shown = on_terminal(code, *words, cwd=tmp_path, interrupt_after=b"importing")
    assert status in (130, -signal.SIGINT)  # a shell says 130 of both
    assert shown.split("\n", 1)[1].strip() == "stopped; the same command resumes from what is saved"
