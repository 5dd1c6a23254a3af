"""User errors, text that is safe on a terminal, and lazy imports of optional packages."""

import importlib
import importlib.util
import re
import sys
import warnings
from collections.abc import Callable
from types import FrameType, ModuleType

from cgbench.patterns import pattern

# Control characters, those that turn the direction of text around, and halves of characters.
_LATE = pattern("[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_CONTROL = pattern(f"[\x00-\x1f{_LATE.pattern[1:]}")
# An argument in a message: its name and optionally its value, as text and as its repr.
_ARGUMENT = pattern("\x01(\\w+)(?:\x02(.*?)\x02(.*?))?\x03", re.DOTALL)


class _Message(Exception):  # noqa: N818 - of errors and warnings
    """``message`` is the text with the marks of :func:`argument`; ``str`` shows Python
    arguments.
    """

    @property
    def message(self) -> str:
        """The text to include in another message, or for :func:`with_arguments`."""
        return super().__str__()

    def __str__(self) -> str:
        return with_arguments(
            self.message, lambda name, text, written: name if text is None else f"{name}={written}"
        )


class InputError(_Message):
    """The call or its input is wrong.

    The message is one line with the file, the row, the fault and how to fix it. The command line
    prints it after ``error:`` and exits with status 2; no partial output is left behind.
    """


class MissingPackageError(InputError):
    """An optional package is not installed. The message contains the command that installs it."""


class InputWarning(_Message, UserWarning):
    """The input is suspicious. The message is one line that names the file.

    The command line prints it after ``warning:``, once.
    """


def warn(warning: str | InputWarning) -> None:
    """Give an :class:`InputWarning` in the name of the first caller outside of this package, whose
    line Python prints.
    """
    package = __name__.partition(".")[0]
    frame: FrameType | None = sys._getframe()
    level = 1
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
        level += 1
    if isinstance(warning, str):
        warning = InputWarning(warning)
    warnings.warn(warning, stacklevel=level)


def argument(name: str, value: object = None, text: str | None = None) -> str:
    """An argument in an error message, optionally with its value, which is cut if it is long:
    ``paired='mcnemar'``.

    The command line shows it as an option: ``--paired mcnemar``.

    :param text: the value after the option, if not ``str(value)``.
    """
    if value is None and text is None:
        return f"\x01{name}\x03"
    shown = shortened(str(value) if text is None else text)
    return f"\x01{name}\x02{shown}\x02{shortened(repr(value))}\x03"


def shortened(text: str, most: int = 80) -> str:
    """A text for a message: its first ``most`` characters if it is longer."""
    return text if len(text) <= most else f"{text[:most]}..."


def reason_of(error: BaseException) -> str:
    """The message of another library's error, on one line of limited length; its type if it has
    none.
    """
    return shortened(" ".join(str(error).split()), 300) or type(error).__name__


DOWNLOADERS = ("huggingface_hub", "httpx", "httpx2", "requests")
"""Packages that read from the network."""


def is_of_network(error: BaseException) -> bool:
    """Whether an error comes from a package that reads from the network."""
    return type(error).__module__.partition(".")[0] in DOWNLOADERS


def with_arguments(message: str, say: Callable[[str, str | None, str | None], str]) -> str:
    """A message with each :func:`argument` replaced by ``say(name, value as text, repr of the
    value)``.
    """
    return _ARGUMENT.sub(lambda match: say(match[1], match[2], match[3]), message)


EXTRAS = {
    "build": ("numba", "pyarrow"),
    "models": ("torch", "safetensors", "tokenizers", "numba", "pyarrow"),
    "text": ("sacremoses", "zstandard"),
    "data": ("requests", "sacremoses"),
    "cjk": ("jieba", "sacrebleu"),
    "pandas": ("pandas",),
    "people": ("krippendorff",),
    "spacy": ("spacy",),
    "kenlm": ("kenlm",),
    "plots": ("matplotlib",),
    "hub": ("huggingface_hub",),
    "hf": ("transformers", "huggingface_hub", "sentencepiece", "sacremoses", "peft"),
    "servers": ("httpx",),
    "ray": ("ray",),
}
"""Packages of each extra in pyproject.toml, by the names under which they are imported."""
_WHOLE = ("build", "models")  # extras whose packages are only useful together


def require(module: str, extra: str) -> ModuleType:
    """Import ``module``, an optional package of ``extra``.

    :raises MissingPackageError: it is not installed.
    """
    package = module.split(".")[0]
    if missing := [
        name
        for name in (EXTRAS[extra] if extra in _WHOLE else (package,))
        if not _is_installed(name)
    ]:
        raise _to_install(missing, extra)
    return importlib.import_module(module)


def check_installed(package: str) -> None:
    """Check that a package of an extra is installed, without importing it.

    :raises MissingPackageError: it is not.
    """
    if not _is_installed(package) and (error := missing_package(ModuleNotFoundError(name=package))):
        raise error


def missing_package(error: ModuleNotFoundError) -> MissingPackageError | None:
    """The error of :func:`require` for a failed import; None if no extra has the package."""
    package = (error.name or "").split(".")[0].replace("llvmlite", "numba")  # which brings it
    extra = next((extra for extra, names in EXTRAS.items() if package in names), None)
    if extra is None:
        return None
    names = EXTRAS[extra] if extra in _WHOLE else (package,)
    missing = [name for name in names if name == package or not _is_installed(name)]
    return _to_install(missing, extra)


def _is_installed(package: str) -> bool:
    if package in sys.modules:
        return sys.modules[package] is not None
    return importlib.util.find_spec(package) is not None


def _to_install(packages: list[str], extra: str) -> MissingPackageError:
    which = f"{', '.join(packages)} {'are' if len(packages) > 1 else 'is'} not installed"
    return MissingPackageError(f"{which}; run: {install(extra)}")


def install(extra: str) -> str:
    """The command that adds the packages of an extra; pip keeps the cgbench that is installed, also
    one from a folder or a file.
    """
    return f'pip install "cgbench[{extra}]"'


def printable(text: object, keep: str = "") -> str:
    """``text`` with control characters (including line ends and changes of direction) escaped, such
    as ``\\x1b``.

    :param keep: characters to keep, such as line ends and tabs.
    """
    return _CONTROL.sub(lambda match: match[0] if match[0] in keep else _shown(match), str(text))


def printable_json(text: str) -> str:
    """JSON with the control characters that JSON allows escaped, such as ``\\u009b``: the same
    values.
    """
    return _LATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    return {9: "\\t", 10: "\\n", 13: "\\r"}.get(code) or (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    )
