"""Text of others on a terminal: what it would take for a command is shown, not sent."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LATE = re.compile("[\x7f-\x9f\ud800-\udfff]")


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
