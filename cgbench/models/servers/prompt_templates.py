"""Prompts: from a template, a sentence, its shots and the columns of its table to the messages of a
request.

A template has one of two forms. A *plain* one has ``{source}`` and perhaps ``{shots}``; other
braces mean nothing. A *Jinja* template has ``{{ ... }}`` or ``{% ... %}`` and no ``{source}``. It
may use ``source``, ``shots`` and names of columns, and runs in Jinja's sandbox, in a process with
limits (:mod:`.jinja_process`); an unknown name is an error before anything is sent.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any, TypeAlias

from cgbench.engines.child import Child
from cgbench.errors import InputError, argument, printable, reason_of
from cgbench.models.servers import jinja_process
from cgbench.text.columns import read_column
from cgbench.text.inputs import is_path
from cgbench.text.streams import split_name

SOURCE, SHOTS = "source", "shots"
Pairs: TypeAlias = Sequence[tuple[str, str]]
SLOTS = re.compile(r"(?<!\{)\{(source|shots)\}(?!\})")
_JINJA = re.compile(r"\{\{|\{%")
_FILE_NAME = re.compile(r"[\w./~-]+\.[A-Za-z]\w{0,5}")


@dataclass(frozen=True)
class Prompt:
    """A template, parsed.

    :param name: for the file of its hypotheses; :param text: the template, part of the identity of
        an answer.
    :param uses: the names of values that it needs, besides ``source`` and ``shots`` those of
        columns.
    :param is_jinja: whether it is a Jinja template.
    """

    name: str
    text: str
    uses: frozenset[str]
    is_jinja: bool = False

    def render(
        self,
        lines: Sequence[str],
        shots: Sequence[Pairs] | None = None,
        columns: Sequence[Mapping[str, str]] | None = None,
    ) -> list[str]:
        """The text of the request for each sentence.

        :param shots: the examples of each; ``columns``: the values of the template's columns in
            each row.
        :raises InputError: the template fails on a row, for example by a division by zero or by a
            limit.
        """
        rows = list(
            zip(lines, shots or [()] * len(lines), columns or [{}] * len(lines), strict=True)
        )
        if self.is_jinja:
            return self._render_jinja(
                [{**values, SOURCE: line, SHOTS: [*pairs]} for line, pairs, values in rows]
            )
        return [self._fill(line, pairs) for line, pairs, _ in rows]

    def _fill(self, line: str, pairs: Pairs) -> str:
        values = {SOURCE: line, SHOTS: str(jinja_process.Shots(starmap(jinja_process.Shot, pairs)))}
        return SLOTS.sub(lambda slot: values[slot[1]], self.text)

    def _render_jinja(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        child = Child("cgbench.models.servers.jinja_process:renderer", jinja_process.MEMORY)
        seconds, texts = jinja_process.SECONDS, []
        for row in rows:
            try:
                text, _ = child.ask(
                    (self.text, row, seconds), f"more than {seconds} s, or the process was killed"
                )
            except InputError as error:
                raise InputError(
                    f"{self.name}: the prompt fails on {row[SOURCE][:40]!r} ({error})"
                ) from None
            texts.append(text)
        return texts


def read_prompts(texts: Sequence[str]) -> list[Prompt]:
    """The prompts of ``--prompt``, each a template or the name of a file with one.

    A prompt is named by its file without the ending, and others by their place.

    :raises InputError: a template has no place for the sentence or is not valid, or two prompts are
        the same.
    """
    prompts: list[Prompt] = []
    for position, text in enumerate(texts, 1):
        path = _file(text)
        name = (path.name.split(".")[0] if path else "") or f"prompt-{position}"
        prompt = parse_prompt(
            template_in(path) if path else text, name, str(path) if path else argument("prompt")
        )
        if twin := next(
            (twin for twin in prompts if twin.name == name or twin.text == prompt.text), None
        ):
            fault = f"the name {name}" if twin.name == name else "the same text"
            raise InputError(
                f"{argument('prompt')}: two prompts have {fault}; each needs an output of its own"
            )
        prompts.append(prompt)
    return prompts


def parse_prompt(
    text: str, name: str = "prompt", where: str = "prompt", *, needs_source: bool = True
) -> Prompt:
    """Parse a template; no value is filled in yet.

    :param where: beginning of messages; :param needs_source: whether the sentence must be in it.
    """
    plain, is_jinja = {slot[1] for slot in SLOTS.finditer(text)}, bool(_JINJA.search(text))
    if plain and is_jinja:
        raise InputError(
            f"{where}: has both {{{min(plain)}}} and Jinja's {{{{ ... }}}} or {{% ... %}}; for"
            f" Jinja write {{{{ {min(plain)} }}}}, otherwise leave the double braces out"
        )
    uses = _names(text, where) if is_jinja else frozenset(plain)
    if needs_source and SOURCE not in uses:
        start = printable(text if len(text) <= 60 else text[:57] + "...")
        raise InputError(
            f"{where}: {start!r} is no file, and has no {{source}} or {{{{ source }}}} for the"
            " sentence"
        )
    return Prompt(name, text, uses, is_jinja)


def read_system_message(text: str) -> Prompt:
    """The system message: a text, or the name of a file with one; it may be a template."""
    path = _file(text)
    if path is None and _FILE_NAME.fullmatch(text):
        raise InputError(f"{argument('system_message', text)}: there is no such file")
    return parse_prompt(
        template_in(path) if path else text,
        "system",
        argument("system_message"),
        needs_source=False,
    )


def check_shots(prompts: Iterable[Prompt], shots: object | None) -> None:
    """Check that a template has a place for shots if there are shots, and only then."""
    if any(SHOTS in prompt.uses for prompt in prompts) != (shots is not None):
        fault = (
            "has no place for shots, {shots}"
            if shots is not None
            else "uses shots, but no shots are given"
        )
        raise InputError(f"{argument('prompt')}: {fault}")


def messages(
    prompt: Prompt,
    system: Prompt | None,
    lines: Sequence[str],
    shots: Sequence[Pairs] | None = None,
    sources: Any = None,
) -> list[list[dict[str, str]]]:
    """The messages of a chat for each sentence: the system message if there is one, and the prompt
    as the user's.

    :param shots: the examples of each prompt; ``sources``: where the sentences were read from, a
        column of a table if a template uses other columns.
    :raises InputError: a template uses shots and there are none, or the reverse; there is no such
        column; it fails on a row.
    """
    templates = {"system": system, "user": prompt} if system else {"user": prompt}
    columns = _columns(sources, templates.values())
    check_shots(templates.values(), shots)
    rendered = [template.render(lines, shots, columns) for template in templates.values()]
    return [
        [{"role": role, "content": text} for role, text in zip(templates, texts, strict=True)]
        for texts in zip(*rendered, strict=True)
    ]


def _columns(sources: Any, templates: Iterable[Prompt]) -> list[dict[str, str]] | None:
    """The values of the templates' columns by row, of the table whose column is the source; None
    without columns.

    :raises InputError: the source is no column of a table, or the table has no such column.
    """
    names = sorted({name for prompt in templates for name in prompt.uses - {SOURCE, SHOTS}})
    if not names:
        return None
    table, column = split_name(sources) if is_path(sources) else (None, None)
    if column is None:
        raise InputError(
            f"{argument('prompt')}: uses {', '.join(names)}, but the source is not a column of a"
            " table (TABLE:COLUMN)"
        )
    rows = zip(*(read_column(f"{table}:{name}").values for name in names), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _names(text: str, where: str) -> frozenset[str]:
    """The names that a Jinja template uses. Nothing is computed: compiling evaluates constants such
    as ``"x" * 10**9``.

    :raises InputError: it is not valid.
    """
    import jinja2
    from jinja2.meta import find_undeclared_variables

    environment = jinja_process.sandbox()
    environment.intercepted_binops = frozenset(environment.default_binop_table)
    environment.filters = dict.fromkeys(environment.filters, str)
    try:
        names = find_undeclared_variables(environment.parse(text))
        environment.compile(text)
        return frozenset(names - {*environment.globals})
    except (
        jinja2.TemplateError,
        RecursionError,
        SyntaxError,
        ValueError,
    ) as error:  # loops too deep, 4,301 digits
        line = f", line {line_number}" if (line_number := getattr(error, "lineno", None)) else ""
        raise InputError(
            f"{where}{line}: not a valid Jinja template ({reason_of(error)})"
        ) from None


def _file(text: str) -> Path | None:
    if "\n" in text or not text or SLOTS.search(text):
        return None
    try:
        return Path(text) if Path(text).is_file() else None
    except (OSError, ValueError):  # longer than a file name may be, or with a NUL
        return None


def template_in(path: Path) -> str:
    """The text of a file without its last line break, which editors add."""
    try:
        return path.read_text(encoding="utf-8-sig").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from None
