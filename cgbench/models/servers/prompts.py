"""Prompts: from a template, a sentence, its shots and the columns of its table to the messages of a request.

A template has one of two forms. A *plain* one has ``{source}`` and perhaps ``{shots}``; other braces mean nothing.
A *Jinja* template has ``{{ ... }}`` or ``{% ... %}`` and no ``{source}``. It may use ``source``, ``shots`` and names of
columns, and runs in Jinja's sandbox; an unknown name is an error before anything is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from cgbench.errors import InputError, argument, printable
from cgbench.text.columns import read_column
from cgbench.text.inputs import is_path
from cgbench.text.streams import split_name

SOURCE, SHOTS = "source", "shots"
Pairs: TypeAlias = Sequence[tuple[str, str]]
_PLACES = re.compile(r"(?<!\{)\{(source|shots)\}(?!\})")
_JINJA = re.compile(r"\{\{|\{%")
_FILE_NAME = re.compile(r"[\w./~-]+\.[A-Za-z]\w{0,5}")


class Shot(NamedTuple):
    """An example in a prompt."""

    source: str
    target: str


class Shots(tuple[Shot, ...]):
    """The examples of one prompt. As text, a pair per two lines, with a blank line after each pair."""

    def __str__(self) -> str:
        return "".join(f"{source}\n{target}\n\n" for source, target in self)


@dataclass(frozen=True)
class Prompt:
    """A template, parsed.

    :param name: for the file of its hypotheses; :param text: the template, part of the identity of an answer.
    :param uses: the names of values that it needs, besides ``source`` and ``shots`` those of columns.
    :param jinja: the compiled template; None if it is plain.
    """

    name: str
    text: str
    uses: frozenset[str]
    jinja: Any = field(default=None, compare=False)

    def render(self, source: str, shots: Pairs = (), columns: Mapping[str, str] | None = None) -> str:
        """The text of one request.

        :param columns: the values of its columns in this row.
        :raises InputError: the template fails on these values, for example by a division by zero.
        """
        found = Shots(Shot(*shot) for shot in shots)
        if self.jinja is None:
            return _PLACES.sub(lambda place: source if place[1] == SOURCE else str(found), self.text)
        import jinja2

        try:
            return str(self.jinja.render({**(columns or {}), SOURCE: source, SHOTS: found}))
        except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise InputError(f"{self.name}: the prompt fails on {source[:40]!r} ({error})") from None


def read_prompts(given: Sequence[str]) -> list[Prompt]:
    """The prompts of ``--prompt``, each a template or the name of a file with one.

    A prompt is named by its file without the ending, and others by their place.

    :raises InputError: a template has no place for the sentence or is not valid, or two prompts are the same.
    """
    prompts: list[Prompt] = []
    for number, text in enumerate(given, 1):
        path = _file(text)
        name = (path.name.split(".")[0] if path else "") or f"prompt-{number}"
        prompt = parse_prompt(_read(path) if path else text, name, str(path) if path else argument("prompt"))
        if twin := next((one for one in prompts if one.name == name or one.text == prompt.text), None):
            what = f"the name {name}" if twin.name == name else "the same text"
            raise InputError(f"{argument('prompt')}: two prompts have {what}; each needs an output of its own")
        prompts.append(prompt)
    return prompts


def parse_prompt(text: str, name: str = "prompt", where: str = "prompt", *, needs_source: bool = True) -> Prompt:
    """Parse a template; no value is filled in yet.

    :param where: beginning of messages; :param needs_source: whether the sentence must be in it.
    """
    plain, jinja = {place[1] for place in _PLACES.finditer(text)}, bool(_JINJA.search(text))
    if plain and jinja:
        raise InputError(
            f"{where}: has both {{{min(plain)}}} and Jinja's {{{{ ... }}}} or {{% ... %}}; for Jinja write "
            f"{{{{ {min(plain)} }}}}, otherwise leave the double braces out"
        )
    uses, template = (frozenset(plain), None) if not jinja else _compile(text, where)
    if needs_source and SOURCE not in uses:
        shown = printable(text if len(text) <= 60 else text[:57] + "...")
        raise InputError(f"{where}: {shown!r} is no file, and has no {{source}} or {{{{ source }}}} for the sentence")
    return Prompt(name, text, uses, template)


def read_system_message(text: str) -> Prompt:
    """The system message: a text, or the name of a file with one; it may be a template."""
    path = _file(text)
    if path is None and _FILE_NAME.fullmatch(text):
        raise InputError(f"{argument('system_message', text)}: there is no such file")
    return parse_prompt(_read(path) if path else text, "system", argument("system_message"), needs_source=False)


def check_shots(prompts: Iterable[Prompt], shots: object | None) -> None:
    """Check that a template has a place for shots if there are shots, and only then."""
    if any(SHOTS in prompt.uses for prompt in prompts) != (shots is not None):
        what = "has no place for shots, {shots}" if shots is not None else "uses shots, but no shots are given"
        raise InputError(f"{argument('prompt')}: {what}")


def messages(
    prompt: Prompt, system: Prompt | None, lines: Sequence[str], shots: Sequence[Pairs] | None = None,
    columns: Sequence[Mapping[str, str]] | None = None,
) -> list[list[dict[str, str]]]:  # fmt: skip
    """The messages of a chat for each sentence: the system message if there is one, and the prompt as the user's.

    :param shots: the examples of each prompt; ``columns``: the values of the templates' columns in each row.
    :raises InputError: a template uses shots and there are none, or the reverse; it fails on a row.
    """
    parts = {"system": system, "user": prompt} if system else {"user": prompt}
    check_shots(parts.values(), shots)
    rows = zip(lines, shots or [()] * len(lines), columns or [{}] * len(lines), strict=True)
    return [[{"role": role, "content": one.render(*row)} for role, one in parts.items()] for row in rows]


def columns_of(sources: Any, *templates: Prompt | None) -> list[dict[str, str]] | None:
    """The values of the templates' columns by row, of the table whose column is the source; None without columns.

    :raises InputError: the source is no column of a table, or the table has no such column.
    """
    names = sorted({name for one in templates if one for name in one.uses - {SOURCE, SHOTS}})
    if not names:
        return None
    table, column = split_name(sources) if is_path(sources) else (None, None)
    if column is None:
        raise InputError(
            f"{argument('prompt')}: uses {', '.join(names)}, but the source is not a column of a table (TABLE:COLUMN)"
        )
    rows = zip(*(read_column(f"{table}:{name}").values for name in names), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _compile(text: str, where: str) -> tuple[frozenset[str], Any]:
    import jinja2
    from jinja2.meta import find_undeclared_variables
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False)  # text, no HTML
    del environment.globals["lipsum"], environment.filters["random"]  # a prompt must be the same when a run resumes
    try:
        names = find_undeclared_variables(environment.parse(text))
        return frozenset(names - {*environment.globals}), environment.from_string(text)
    except (jinja2.TemplateError, RecursionError) as error:
        line = f", line {number}" if (number := getattr(error, "lineno", None)) else ""
        raise InputError(f"{where}{line}: not a valid Jinja template ({str(error).splitlines()[0]})") from None


def _file(text: str) -> Path | None:
    if "\n" in text or not text or _PLACES.search(text):
        return None
    try:
        return Path(text) if Path(text).is_file() else None
    except (OSError, ValueError):  # longer than a file name may be, or with a NUL
        return None


def _read(path: Path) -> str:
    """The text of a file without its last line break, which editors add."""
    try:
        return path.read_text(encoding="utf-8-sig").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from None
