"""Errors that a user can cause, text that is safe on a terminal, and lazy imports of optional packages."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable
from types import ModuleType

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LATE = re.compile("[\x7f-\x9f\ud800-\udfff]")
# An argument in a message: its name and, if it has one, its value as text and as Python writes it.
_ARGUMENT = re.compile("\x01(\\w+)(?:\x02(.*?)\x02(.*?))?\x03", re.DOTALL)


class _Message(Exception):  # noqa: N818 - of errors and warnings
    """``message`` is the text as it was made, :func:`argument`'s marks in it; ``str`` speaks of arguments."""

    @property
    def message(self) -> str:
        """The text for another message to take up, or for :func:`with_arguments`."""
        return super().__str__()

    def __str__(self) -> str:
        return with_arguments(self.message, lambda name, text, written: name if text is None else f"{name}={written}")


class InputError(_Message):
    """The call or its input is wrong.

    The message is one line that names the file, the row, what is wrong and how to mend it. The command line
    prints it after ``error:`` and exits with status 2; nothing half-written is left behind.
    """


class InputWarning(_Message, UserWarning):
    """Something about an input that its user should know, in one line that names the file.

    The command line prints it after ``warning:``, once.
    """


def argument(name: str, value: object = None, text: str | None = None) -> str:
    """An argument in the message of an error, with its value if one is given: ``paired='mcnemar'``.

    The command line, which has options instead, says ``--paired mcnemar``.

    :param text: the value as it is written after an option, where that is not ``str(value)``.
    """
    return f"\x01{name}\x03" if value is None else f"\x01{name}\x02{value if text is None else text}\x02{value!r}\x03"


def with_arguments(message: str, say: Callable[[str, str | None, str | None], str]) -> str:
    """A message in which ``say(name, value as text, value in Python)`` stands for each :func:`argument`."""
    return _ARGUMENT.sub(lambda found: say(found[1], found[2], found[3]), message)


EXTRAS = {
    "models": ("torch", "safetensors", "tokenizers"),
    "text": ("sacremoses", "zstandard"),
    "data": ("pooch", "requests", "sacremoses"),
    "scores": ("sacrebleu", "regex"),
    "cjk": ("jieba", "sacrebleu"),
    "analysis": ("pandas", "spacy", "kenlm"),
    "plots": ("matplotlib",),
    "hub": ("huggingface_hub",),
    "hf": ("transformers", "huggingface_hub", "sentencepiece", "sacremoses", "peft", "requests"),
    "ray": ("ray",),
    "stores": ("fsspec", "s3fs", "gcsfs"),
}
"""What the base installation lacks, as pyproject.toml has it; each package is imported under its own name."""
_WHOLE = ("models",)  # extras of which no package is of use without the others


def require(module: str, extra: str) -> ModuleType:
    """Import ``module``, or say how to install it: with all of ``extra`` if that is of use as a whole alone.

    :raises InputError: something of that is not installed.
    """
    package = module.split(".")[0]
    missing = [name for name in (EXTRAS[extra] if extra in _WHOLE else (package,)) if not _is_installed(name)]
    if missing:
        raise _to_install(missing)
    return importlib.import_module(module)


def missing_package(error: ModuleNotFoundError) -> InputError | None:
    """What :func:`require` would have said of an import that has failed; None if no extra brings what is missing."""
    package = (error.name or "").split(".")[0]
    extra = next((extra for extra, names in EXTRAS.items() if package in names), None)
    if extra is None:
        return None
    names = EXTRAS[extra] if extra in _WHOLE else (package,)
    return _to_install([name for name in names if name == package or not _is_installed(name)])


def _is_installed(package: str) -> bool:
    if package in sys.modules:
        return sys.modules[package] is not None
    return importlib.util.find_spec(package) is not None


def _to_install(packages: list[str]) -> InputError:
    # By their own names: cgbench itself may have been installed from a folder or a file.
    which = f"{', '.join(packages)} {'are' if len(packages) > 1 else 'is'} not installed"
    return InputError(f"{which}; run: pip install {' '.join(packages)}")


def printable(text: object, keep: str = "") -> str:
    """``text`` with control characters (escape sequences begin with one; line ends, too) as ``\\x1b`` and the like.

    :param keep: those that stay: line ends and tabs of a text of several lines.
    """
    return _CONTROL.sub(lambda match: match[0] if match[0] in keep else _shown(match), str(text))


def printable_json(text: str) -> str:
    """JSON with the control characters that JSON itself lets through as ``\\u009b``: the same values."""
    return _LATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _shown(match: re.Match[str]) -> str:
    number = ord(match[0])
    return {9: "\\t", 10: "\\n", 13: "\\r"}.get(number) or (f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")
