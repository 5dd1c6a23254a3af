"""What one target of the harness is, and the text that most are made of."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GERMAN = (
    "das haus ist klein\nder hund sieht das haus\nein hund ist klein\nder alte hund sieht ein"
    " haus\n" * 3
)
ENGLISH = (
    "the house is small\nthe dog sees the house\na dog is small\nthe old dog sees a house\n" * 3
)


@dataclass(frozen=True)
class Target:
    """One command and one form of one file.

    :param files: valid ones, by name; ``damaged``: which is, and ``how``.
    :param words: the call; ``{}`` is the folder of the files. A function is called with the folder
        instead.
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


def collected(folder: Path) -> dict[str, bytes]:
    """The files of a folder, by their names in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def made(texts: dict[str, str], *calls: tuple[str, ...]) -> dict[str, bytes]:
    """These texts and what commands make of them; ``{}`` is the folder of both."""
    from click.testing import CliRunner

    from cgbench.cli import main

    with tempfile.TemporaryDirectory() as place:
        for name, text in texts.items():
            (Path(place) / name).write_text(text)
        for words in calls:
            result = CliRunner().invoke(main, [word.replace("{}", place) for word in words])
            assert result.exit_code == 0, result.output + result.stderr
        return collected(Path(place))
