"""Regular expressions of modules, compiled when they are first used: a command needs few of those
that it imports, and to compile the others took as long as to import twenty modules.
"""

import re
from typing import Any, AnyStr, cast


class _Later:
    def __init__(self, text: Any, flags: int) -> None:
        self.pattern = text
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, attribute)
        return attribute

    def __reduce__(self) -> Any:
        return pattern, (self.pattern, self.flags)


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What :func:`re.compile` returns, compiled when one of its methods is first called; only the
    functions of :mod:`re` do not take it.
    """
    return cast(re.Pattern[AnyStr], _Later(text, flags))
