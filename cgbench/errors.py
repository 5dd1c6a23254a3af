"""The errors a user can cause, and lazy imports of what may not be installed."""

from __future__ import annotations

import importlib
from types import ModuleType


class InputError(Exception):
    """The call or its input is wrong.

    The message is one line that names the file, the row, what is wrong and how to mend it. The command line
    prints it after ``error:`` and exits with status 2; nothing half-written is left behind.
    """


def require(module: str, extra: str) -> ModuleType:
    """Import ``module``, or say which extra of cgbench brings it.

    :raises InputError: ``module`` is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.split(".")[0] != error.name.split(".")[0]:
            raise
        raise InputError(f"{module} is not installed; run: pip install 'cgbench[{extra}]'") from error
