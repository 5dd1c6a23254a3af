"""Open a language model with the kenlm package so that no damaged file can end the process.

KenLM maps a binary file into memory and follows what stands there without a test. So a file of the kind that
:mod:`cgbench.lm.kenlm_binary` describes ("probing", KenLM's default) is checked first: its size, and every number that
KenLM takes as an index or relies on to end a search. Files of KenLM's other kinds are opened in a child process, whose
death is one line. ARPA files are text, which KenLM checks itself.
"""

from __future__ import annotations

import multiprocessing
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.errors import InputError, require
from cgbench.files import ordinary_file
from cgbench.lm.kenlm_binary import MAGIC, buckets

_ANY_MAGIC = MAGIC[: MAGIC.index(b"format")]
_PROBING = 0
_SANITY = struct.pack("<3f3IQ", 0, 1, -0.5, 1, 2**32 - 1, 0, 1)
_CHUNK = 1 << 21  # rows that are looked at at once


def open_model(path: Path) -> Any:
    """The model as ``kenlm.Model`` has it: ``order``, ``full_scores`` and ``in``.

    :raises InputError: kenlm is not installed, or this is not a whole language model.
    """
    require("kenlm", "analysis")
    ordinary_file(path, link=True)
    return _load(path) if check(path) else _Child(path)


def check(path: Path) -> bool:
    """Check a KenLM binary file; False where it is of a kind that cannot be checked.

    :raises InputError: it is damaged.
    """
    with path.open("rb") as file:
        head = file.read(256)
    if not head.startswith(_ANY_MAGIC) or not head.startswith(MAGIC):
        return True  # an ARPA file, or a version that KenLM refuses
    if len(head) < 108 or head[56:88] != _SANITY:
        raise _damaged(path, "its header is not that of a file of this kind of machine")
    order, multiplier, kind, has_words, version = struct.unpack("<B3xfIB3xI", head[88:108])
    if kind != _PROBING:
        return False
    if not 1 <= order <= 6 or not 1 < multiplier < 1000 or has_words > 1 or version != 0 or len(head) < 108 + 8 * order:
        raise _damaged(path, "its header is not that of a probing model")
    counts = struct.unpack(f"<{order}Q", head[108 : 108 + 8 * order])
    size = path.stat().st_size
    if max(counts) > size or counts[0] < 1:
        raise _damaged(path, "it is shorter than its counts of n-grams")
    tables = [buckets(count, multiplier) for count in counts]
    shapes = [(tables[0], 3), (counts[0] + 1, 2)]
    shapes += [(rows, 4) for rows in tables[1:-1]] + [(rows, 3) for rows in tables[1:][-1:]]
    begin = -(-(108 + 8 * order) // 8) * 8
    end = begin + 8 + sum(rows * columns * 4 for rows, columns in shapes)
    if end > size or (not has_words and end != size):
        raise _damaged(path, "its size is not that of its counts of n-grams")
    data = np.memmap(path, np.uint8, "r")
    bound = int(data[begin + 4 : begin + 8].view(np.uint32)[0])
    # One word more than unigrams: <unk>, where the ARPA file had none. The unigrams have a row for it.
    if data[begin : begin + 4].any() or bound - counts[0] not in (0, 1):
        raise _damaged(path, "its number of words is not that of its unigrams")
    begin += 8
    for number, (rows, columns) in enumerate(shapes):
        table = data[begin : begin + rows * columns * 4].view(np.uint32).reshape(rows, columns)
        begin += rows * columns * 4
        # The vocabulary's rows are a key and an id, unigrams two figures, all others a key and one or two figures.
        free = number == 1
        for low in range(0, rows, _CHUNK):
            part = table[low : low + _CHUNK]
            if number != 1:
                empty = (part[:, 0] | part[:, 1]) == 0
                free = free or bool(empty.any())
            if number == 0 and np.any(part[~empty, 2] > counts[0]):
                raise _damaged(path, "a word of its vocabulary has no unigram")
            figures = part[:-1] if number == 1 and low + _CHUNK >= rows else part[:, 2:]
            if number and np.isnan(np.ascontiguousarray(figures).view(np.float32)).any():
                raise _damaged(path, "a figure of an n-gram is not a number")
        if not free:
            raise _damaged(path, "a hash table is full")
    if has_words:
        words = data[end:].tobytes()
        if words.count(b"\0") != bound or not words.endswith(b"\0"):
            raise _damaged(path, "its list of words is not whole")
    return True


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path}: not a whole KenLM binary file ({why}); make it again")


def _load(path: Path) -> Any:
    import kenlm

    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        return kenlm.Model(str(path), config)
    except UnicodeDecodeError:  # of what KenLM has to say
        raise InputError(f"{path}: not a language model that KenLM reads (it is not UTF-8)") from None
    except (OSError, RuntimeError, MemoryError) as error:
        raise InputError(f"{path}: not a language model that KenLM reads ({_reason(error)})") from None


def _reason(error: BaseException) -> str:
    """What KenLM says, without the place in its source code where it says so."""
    text = " ".join(str(error.__cause__ or error).split())
    said = re.search(r"threw \w+(?: because `.*?')?\. (.*)", text)
    return (said.group(1) if said else text).removesuffix(".").strip()


class _Child:
    """A model in a child process, asked a question at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(path, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.order = self._ask()

    def full_scores(self, sentence: str) -> list[tuple[float, int, bool]]:
        """As ``kenlm.Model`` has it."""
        return self._ask("full_scores", sentence)

    def __contains__(self, word: str) -> bool:
        return self._ask("__contains__", word)

    def _ask(self, *question: str) -> Any:
        try:
            if question:
                self._pipe.send(question)
            answer = self._pipe.recv()
        except (EOFError, OSError):
            raise InputError(
                f"{self._path}: not a whole KenLM binary file (it ended the process that read it); make it again"
            ) from None
        if isinstance(answer, InputError):
            raise answer
        return answer


def _serve(path: Path, pipe: Any) -> None:
    """Answer questions until nobody asks."""
    try:
        model = _load(path)
        pipe.send(model.order)
        while True:
            name, text = pipe.recv()
            answer = getattr(model, name)(text)
            pipe.send(answer if isinstance(answer, bool) else list(answer))
    except InputError as error:
        pipe.send(error)
    except (EOFError, OSError):
        pass
