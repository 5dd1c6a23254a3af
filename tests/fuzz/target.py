"""What one target of the harness is, and the text that most are made of."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GERMAN = "das haus ist klein\nder hund sieht das haus\nein hund ist klein\nder alte hund sieht ein haus\n" * 3
ENGLISH = "the house is small\nthe dog sees the house\na dog is small\nthe old dog sees a house\n" * 3


@dataclass(frozen=True)
class Target:
    """One command and one form of one file.

    :param files: valid ones, by name; ``damaged``: which is, and ``how``.
    :param words: the call; ``{}`` is the folder of the files. A function is called with the folder instead.
    :param right: what is wrong with what an accepted input gave, in words; nothing if it is right.
    :param refusals: exit statuses that refuse an input.
    :param heavy: imports what takes seconds; such targets run last.
    """

    name: str
    form: str
    files: dict[str, bytes]
    damaged: str
    how: Callable[[Any, bytes], bytes]
    words: tuple[str, ...] | Callable[[Path], None]
    right: Callable[[Path], str] = field(default=lambda folder: "")
    heavy: bool = False
    refusals: tuple[int, ...] = (2,)
