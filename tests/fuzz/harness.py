"""Run damaged inputs in forked children, so that a crash, a hang or a full memory is one finding
and no end.

What must hold for every input: exit status 0 or 2 (or what else refuses, ``Target.refusals``); one
line of error, if any, behind warnings; no traceback and no control character in it; less than
:data:`SECONDS` and :data:`MEMORY`; and what is accepted is right (``Target.right``).
"""

import contextlib
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from mutators import SPECIAL, seeded

sys.path.append(str(Path(__file__).parents[1] / "helpers"))

SECONDS = 30  # of the processor, so that a busy machine is no finding
WAIT = 300  # of the clock: what waits for ever uses no processor
MEMORY = 3 << 29  # bytes beyond what the process has before it reads the first input: 1.5 GB
BATCH = 400  # inputs a child


def run(target, numbers, seed=1, keep=None):
    """Try the inputs with these numbers. Yields (number, status, detail): ``ok``, ``refused``, or a
    fault.

    :param keep: a folder for the inputs that are faults.
    """
    left = list(numbers)
    prepare(target)
    while left:
        batch, left = left[:BATCH], left[BATCH:]
        done = 0
        for number, status, detail in _child(target, batch, seed):
            done += 1
            if status not in ("ok", "refused") and keep is not None:
                _keep(target, number, seed, keep)
            yield number, status, detail
        left = batch[done:] + left


def prepare(target):
    """See that the valid input is accepted, which imports and compiles what children inherit."""
    with _folder(target) as folder:
        status, detail = attempt(target, folder)
    # a set that a damaged record is about cannot be made here without its sources
    assert status == "ok" or target.name.startswith("data get"), (
        f"{target.name} {target.form}: {status}: {detail}"
    )


def damage(target, number, seed):
    """The damaged file of one input."""
    draw = seeded(seed, target.name, target.form, number)
    data = target.files[target.damaged]
    for _ in range(draw.choice((1, 1, 1, 2))):
        with contextlib.suppress(
            Exception
        ):  # what is damaged already may be no JSON to damage further
            data = target.how(draw, data)
    return data


def put(path, data):
    """Write a file, or put what is none in its place (``mutators.SPECIAL``)."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    path.unlink(missing_ok=True)
    if not data.startswith(SPECIAL):
        path.write_bytes(data)
        return
    kind, _, to = data.removeprefix(SPECIAL).decode(errors="replace").partition(" ")
    if kind == "link" and "\0" not in to:  # damaged once more, it may be anything
        path.symlink_to(to)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()


def _keep(target, number, seed, keep):
    folder = keep / f"{target.name}-{target.form}-{number}".replace(" ", "-").replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / Path(target.damaged).name).write_bytes(damage(target, number, seed))


@contextlib.contextmanager
def _folder(target):
    place = Path(
        tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    )
    try:
        for name, data in target.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(data)
        (place / "out").mkdir()
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _child(target, numbers, seed):
    """Yield what one child says of its inputs, and what became of it."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            _work(target, numbers, seed, writer)
        finally:
            os._exit(0)
    os.close(writer)
    buffer, at = b"", 0
    deadline = time.monotonic() + WAIT
    fault = None
    while at < len(numbers):
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        data = os.read(reader, 1 << 16) if ready else b""
        if not data:
            fault = "ended" if ready else "hang"
            break
        *lines, buffer = (buffer + data).split(b"\n")
        for line in lines:
            yield tuple(json.loads(line))
            at += 1
        deadline = time.monotonic() + WAIT
    if fault == "hang":
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(reader)
    if fault == "hang":
        yield numbers[at], "hang", f"more than {WAIT} s without an answer"
    elif fault and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        yield numbers[at], "hang", f"more than {SECONDS} s"
    elif fault and os.WIFSIGNALED(status):
        yield numbers[at], "crash", signal.Signals(os.WTERMSIG(status)).name
    elif fault:
        yield numbers[at], "crash", "the process ended"


def _work(target, numbers, seed, writer):
    import faulthandler
    import gc

    faulthandler.disable()  # pytest would print where a crash was
    gc.collect()
    gc.freeze()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    with open("/proc/self/statm") as file:  # noqa: PTH123
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with _folder(target) as folder:
        os.chdir(folder)
        kept = set(folder.rglob("*"))
        for number in numbers:
            put(folder / target.damaged, damage(target, number, seed))
            used = resource.getrusage(resource.RUSAGE_SELF)
            seconds = int(used.ru_utime + used.ru_stime) + SECONDS + 1
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, -1))
            result = attempt(target, folder)
            os.write(writer, json.dumps([number, *result]).encode() + b"\n")
            put(folder / target.damaged, target.files[target.damaged])
            for path in sorted(folder.rglob("*"), reverse=True):
                if path not in kept:
                    path.unlink() if not path.is_dir() or path.is_symlink() else path.rmdir()
            for name, data in target.files.items():
                if not (folder / name).is_file():
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_bytes(data)


def attempt(target, folder):
    """Run one input: (status, detail)."""
    from click.testing import CliRunner

    from cgbench.cli import main
    from cgbench.errors import InputError

    if callable(target.words):
        try:
            target.words(folder)
        except InputError as error:
            return ("refused", "") if "\n" not in str(error) else ("two lines", str(error)[:200])
        except BaseException as error:
            return "traceback", _where(error)
    else:
        words = [word.replace("{}", str(folder)) for word in target.words]
        result = CliRunner().invoke(main, words)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            return "traceback", _where(result.exception)
        if result.exit_code not in (0, *target.refusals):
            return "status", f"{result.exit_code}: {result.stderr[-200:]}"
        if fault := _lines(result.stderr, result.exit_code):
            return fault
        if result.exit_code:
            return "refused", ""
    try:
        wrong = target.right(folder)
    except InputError:
        wrong = "accepted, then refused"
    except Exception as error:
        wrong = f"accepted, then {_where(error)}"
    return ("corrupt", wrong) if wrong else ("ok", "")


def _lines(text, status):
    """What is wrong with what was said on standard error."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    errors = [line for line in lines if line.startswith("error: ")]
    if "Traceback" in text:
        return "traceback", lines[-1][:200]
    if any(
        (ord(sign) < 32 and sign != "\t") or 127 <= ord(sign) < 160
        for line in lines
        for sign in line
    ):
        return "control character", repr(text[-200:])
    if status == 2 and (len(errors) != 1 or lines[-1] != errors[0]):
        return "lines of error", repr(text[-300:])
    return None


def _where(error):
    """The kind of an exception, and the last line of cgbench that it went through."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "/cgbench/" in frame.filename
    ]
    place = (
        f"{frames[-1].filename.rpartition('/cgbench/')[2]}:{frames[-1].lineno}" if frames else "?"
    )
    return f"{type(error).__name__} in {place}: {str(error)[:120]}"
