"""Types of options: several files after one option, names of models, systems (``SYSTEM=FILE``),
lists of numbers.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cgbench.errors import InputError, argument


class FilesType(click.ParamType):
    """One file or more after an option: ``--train train.de train.en``.

    :param many: any number of files; otherwise those of a corpus: one with both sides, or two.
    """

    name = "files"

    def __init__(self, many: bool = False) -> None:
        self.many = many

    def takes(self, word: str, files: Sequence[str], greedy: bool) -> bool:
        """Whether ``word`` may follow ``files`` as a file of the option; ``-``, standard input, is
        a text.

        :param greedy: whether the option takes all words that can be files.
        """
        from cgbench.text.streams import STDIN, form

        if word.startswith("-") and (word != STDIN or self.many):
            return False
        return (
            greedy
            or self.many
            or (len(files) == 1 and all(form(Path(file)) == "plain" for file in (*files, word)))
        )

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Path, ...]:
        """The words of the option (a tuple, by :class:`Option`) as paths."""
        names = (value,) if isinstance(value, str) else value
        if not all(map(os.fspath, names)):
            self.fail("a file name is empty", param, ctx)
        if str(names[0]).startswith("--"):
            self.fail(f"a file name is expected before {names[0]}", param, ctx)
        return tuple(map(Path, names))


class ModelType(click.types.StringParamType):
    """The name of a model: one word that is not downloaded even if it looks like an address."""

    name = "model"


class Option(click.Option):
    """An option under a heading of ``--help``; one of :class:`FilesType` takes every word up to the
    next option.

    If the command has arguments of its own, a corpus takes only the words that can be its files:
    ``--out new.tsv train.de train.en``.
    """

    def __init__(self, declarations: Sequence[str], group: str = "", **keywords: Any) -> None:
        super().__init__(declarations, **keywords)
        self.group = group

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let click's parser give the option its further words."""
        super().add_to_parser(parser, ctx)
        kind = self.type
        if not isinstance(kind, FilesType):
            return
        greedy = not any(isinstance(param, click.Argument) for param in ctx.command.params)
        parser_option = parser._long_opt[self.opts[0]]
        process = parser_option.process

        def process_all(value: str, state: Any) -> None:
            files = [value]
            while state.rargs and kind.takes(state.rargs[0], files, greedy):
                files.append(state.rargs.pop(0))
            process(tuple(files), state)

        parser_option.process = process_all

    def get_help_extra(self, ctx: click.Context) -> Any:
        """The default without the range, which the error for a wrong value contains."""
        return {
            name: value for name, value in super().get_help_extra(ctx).items() if name != "range"
        }


class SettingsOption(Option):
    """``--set KEY=VALUE``; ``settings`` are the names of the settings, each with its help."""

    def __init__(
        self,
        declarations: Sequence[str],
        group: str = "",
        settings: Sequence[tuple[str, str]] = (),
        **keywords: Any,
    ) -> None:
        super().__init__(declarations, group, multiple=True, metavar="KEY=VALUE", **keywords)
        self.settings = settings


def corpus_words(paths: tuple[Path, ...]) -> Any:
    """The corpus that an option names: two files, one file, or a folder of ``cgbench split`` (its
    training set).
    """
    if len(paths) != 1 or not paths[0].is_dir():
        return paths
    from cgbench.benchmark.build.splits.split import corpus_or_split

    return corpus_or_split(paths, None)


def corpora_words(words: tuple[tuple[Path, ...], ...]) -> list[Any]:
    """The corpora of a repeatable option."""
    return [corpus_words(paths) for paths in words]


def split_systems(
    items: Sequence[str], option: str = "--hyp", *, bare: bool = False
) -> dict[str, list[str]]:
    """``SYSTEM=FILE[,FILE2...]``, one file per run, as names of files by system.

    A folder, or a name with ``*``, ``?`` or ``[...]``, is all files of that name.

    :param bare: keep ``""`` as the name of a system without ``SYSTEM=``; otherwise it is that of
        the file.
    :raises InputError: a system or a file is given twice, or a name is empty.
    """
    from cgbench.text.columns import short_name
    from cgbench.text.streams import is_there, split_name

    systems: dict[str, list[str]] = {}
    for item in items:
        name, sign, names = item.partition("=")
        if not sign or is_there(split_name(item)[0]):
            name, names = "", item
        paths = [names] if is_there(split_name(names)[0]) else names.split(",")
        paths = [file for path in paths for file in _files_named(path, f"{option} {item}")]
        name = name or ("" if bare else short_name(paths[0]))
        if name in systems:
            raise InputError(
                f"{option} {item}: the system {name} is given twice; join its runs"
                f" ({name}=FILE1,FILE2), or name systems apart (OTHER=FILE)"
            )
        if len({Path(path).absolute() for path in paths}) < len(paths) or not all(paths):
            raise InputError(
                f"{option} {item}:"
                f" {'a file is given twice' if all(paths) else 'a file name is empty'}"
            )
        systems[name] = paths
    return systems


def _files_named(text: str, where: str) -> list[str]:
    """The files of a folder or of a name with ``*``, in the order of the numbers in their names, or
    else ``text`` itself; records beside outputs are left out.

    :raises InputError: there is none.
    """
    from cgbench.text.streams import is_there, split_name

    path, column = split_name(text)
    if not text or (is_there(path) and not path.is_dir()):
        return [text]
    if path.is_dir():
        matches = [str(file) for file in path.iterdir()]
    elif set("*?[") & set(text):
        root = Path(path.anchor)
        matches = [str(file) for file in root.glob(str(path.relative_to(root)))]
    else:
        return [text]
    records = (".system.json", ".answers.jsonl")
    files = [
        match
        for match in matches
        if Path(match).is_file()
        and not Path(match).name.startswith(".")
        and not match.endswith(records)
    ]
    if not files:
        raise InputError(f"{where}: no file has this name ({path})")
    suffix = "" if column is None else f":{column}"
    return [f"{file}{suffix}" for file in sorted(files, key=_in_order_of_numbers)]


def _in_order_of_numbers(name: str) -> list[tuple[int, str]]:
    """A key that sorts ``seed9`` before ``seed10``."""
    words = re.split(r"([0-9]+)", name)
    return [(int(word), "") if word.isdecimal() else (-1, word) for word in words]


def spans(words: Sequence[str]) -> list[range]:
    """The ranges of ``1-3,13``, in one word or several; none if a part is not a number or two."""
    parts = ",".join(words).split(",")
    matches = [re.fullmatch("([0-9]{1,9})(?:-([0-9]{1,9}))?", part.strip()) for part in parts]
    return (
        [range(int(match[1]), int(match[2] or match[1]) + 1) for match in matches if match]
        if all(matches)
        else []
    )


def orders(words: Sequence[str]) -> list[int]:
    """Lengths of n-grams, such as ``1-13`` or ``2,3,13``.

    :raises InputError: the text is not such a list.
    """
    text, ranges = ",".join(words), spans(words)
    if not ranges:
        raise InputError(
            f"{argument('orders', text, text)}: numbers are needed, such as 1-13 or 2,3,13"
        )
    if not all(1 <= span.start < span.stop <= 1001 for span in ranges):
        raise InputError(
            f"{argument('orders', text, text)}: lengths go from 1 to 1000, the lower first"
        )
    return sorted({number for span in ranges for number in span})
