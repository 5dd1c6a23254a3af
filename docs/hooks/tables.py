"""Reference pages that are made from the code: ``python docs/hooks/tables.py`` writes them; a test
holds them current.

A page says what stands between its marks: ``<!-- request: MODULE.CLASS -->``, the fields of a
request; ``<!-- settings -->``, those of models, one section per architecture and method; ``<!--
presets -->``; ``<!-- columns -->``, those of scores; ``<!-- pairs -->``, the arguments that take
pairs; ``<!-- systems -->``, the reproduced systems, with what ``lab/systems.yaml`` says of them;
``<!-- api: NAME -->``, the signature and docstring of a function or class. mkdocs uses
:func:`on_page_markdown`: search finds guides before measurements.
"""

import dataclasses
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import cgbench
from cgbench.reproduction.tables import TableRow, all_benchmarks, all_tables
from cgbench.request import Request, fields_of, leaves_of
from cgbench.request_fields import Field
from cgbench.yaml_text import load_yaml

FOLDER = Path(__file__).parents[1]
_BEGIN = "<!-- (request|settings|presets|api|columns|features|pairs|systems)(?:: ([\\w.]+))? -->\n"
MARK = re.compile(f"{_BEGIN}(?:(?:(?!{_BEGIN}).)*<!-- end -->\n)?", re.DOTALL)
PAGES = sorted(
    path.relative_to(FOLDER).as_posix()
    for path in FOLDER.rglob("*.md")
    if MARK.search(path.read_text(encoding="utf-8"))
)
BOOST = {
    "explanation/architecture": 0.2,
    "changelog": 0.2,
    "notebooks/": 0.3,
    "reference/api/": 0.3,
    "reference/options/": 0.3,
    "how-to/add-": 2.0,
    "how-to/memory": 0.5,  # a translation memory; who asks for memory mostly means that of a GPU
    "tutorial/": 1.3,
    "how-to/": 1.2,
    "explanation/": 1.3,
    "lab/": 0.2,
}
"""Weights in the search, by the beginning of a page's path."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Set the page's weight in the search."""
    boosts = (boost for start, boost in BOOST.items() if page.file.src_uri.startswith(start))
    page.meta["search"] = {"boost": next(boosts, 1.0)}
    return markdown


def written(page: str) -> str:
    """A page with everything between its marks made again."""
    makers = {
        "request": table,
        "settings": settings,
        "presets": presets,
        "api": api,
        "columns": columns,
        "features": features,
        "pairs": pairs,
        "systems": systems,
    }

    def fill(match: re.Match[str]) -> str:
        mark = match[0].partition("\n")[0]
        text = makers[match[1]](_named(match[2])) if match[2] else makers[match[1]]()
        return f"{mark}\n\n{text}\n\n<!-- end -->\n"

    return MARK.sub(fill, page)


def _named(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def table(kind: Any) -> str:
    """The fields of a request: option and argument, values, default, help."""
    lines = []
    parts = {
        leaf: field.name
        for field in fields_of(kind).values()
        if field.part
        for leaf in leaves_of(field.part)
    }
    added = kind.added_fields() if hasattr(kind, "added_fields") else {}
    for field in [*leaves_of(kind).values(), *added.values()]:
        option = field.option + ("=" if field.is_setting else "")
        option = f"`{option}`" if option else ""
        name = f"`{parts[field.name]}.{field.name}`" if field.name in parts else f"`{field.name}`"
        help = field.help + (f" (`{field.unit}`)" if field.unit else "")
        lines.append([option or name, help, field.allowed, _default(field), name])
    return _markdown(("Option", "Meaning", "Values", "Default", "Argument"), lines)


def settings() -> str:
    """All settings of models: those of training and text, then what each architecture and method
    adds.
    """
    from cgbench.models.catalogue import catalogue, describe_model

    known = {row["name"]: row for row in describe_model("tiny", None, False)["settings"]}
    parts = [("Text", "", known.values(), "text."), ("Training", "", known.values(), "training.")]
    for kind in ("architectures", "methods"):
        for row in catalogue()[kind]:
            about = f"{row['summary'].capitalize()} ({row['paper']})."
            parts.append(
                (
                    f"`{row['name']}`",
                    about,
                    describe_model(row["name"], None, False)["settings"],
                    "",
                )
            )
    sections, seen = [], set()
    for title, about, rows, start in parts:
        new = [row for row in rows if row["name"].startswith(start) and row["name"] not in seen]
        seen |= {row["name"] for row in new}
        cells = [
            (f"`{row['name']}`", row["help"].replace("``", "`"), f"`{row['default']}`")
            for row in new
        ]
        tables = (
            _markdown(("Setting", "Meaning", "Default"), cells)
            if cells
            else "No settings beyond those above."
        )
        sections.append("\n\n".join(filter(None, (f"## {title}", about, tables))))
    return "\n\n".join(sections)


def presets() -> str:
    """The presets of models."""
    from cgbench.models.catalogue import catalogue

    names = ("name", "architecture", "method", "paper")
    rows = catalogue()["presets"]
    return _markdown(
        ("Preset", "Architecture", "Method", "From"),
        [[str(row[name]) for name in names] for row in rows],
    )


def columns() -> str:
    """The columns of scores."""
    from cgbench.benchmark.score.forms.columns import COLUMNS

    rows = [[f"`{column.name}`", column.head, column.meaning] for column in COLUMNS]
    return _markdown(["column", "head in tables", "meaning"], rows)


def features() -> str:
    """The features of ``--by``: those of cgbench, and of its metrics."""
    from cgbench.benchmark.measure.metrics.registry import METRICS, metric_class
    from cgbench.benchmark.score.evaluation.features import BUILT_IN, needed_by

    rows = [(f"`{feature.name}`", feature.help, needed_by(feature)) for feature in BUILT_IN]
    rows.append(("`column:NAME`", "numbers or labels of a table", "`--table`"))
    for metric in METRICS:
        for name, unit in metric_class(metric).feature_units.items():
            rows.append((f"`{name}`", f"of compounds{f', in {unit}' if unit else ''}", metric))
    return _markdown(("`--by`", "The value of an example", "Needs"), rows)


def pairs() -> str:
    """The arguments that take pairs, of every function with a page."""
    rows = []
    for page in PAGES:
        text = (FOLDER / page).read_text(encoding="utf-8")
        for name in re.findall("<!-- api: ([\\w.]+) -->", text):
            function = _named(name)
            for field in _pair_fields(function):
                link = f"[`{function.__name__}`]({page.removeprefix('reference/')})"
                rows.append((link, f"`{field.name}`", field.help))
    return _markdown(("Function", "Argument", "Meaning"), rows)


def _pair_fields(function: Any) -> Iterator[Field]:
    """The fields of a function of a request that take one or several corpora of pairs."""
    wrapped = getattr(function, "__wrapped__", None)
    if not inspect.isfunction(wrapped):
        return
    for parameter in inspect.signature(wrapped).parameters.values():
        kind = wrapped.__globals__.get(parameter.annotation, parameter.annotation)
        if inspect.isclass(kind) and issubclass(kind, Request):
            for field in leaves_of(kind).values():
                if field.kind and field.kind.name in ("corpus", "corpora"):
                    yield field


def systems() -> str:
    """The reproduced systems: agreement with their authors' code, parameters, scores."""
    head = ("System", "Authors' code", "Agreement", "Parameters: ours; theirs", "Trained here")
    rows = [
        (
            row["title"],
            row["source"],
            "; ".join(map(_compared, row.get("agreement", ()))),
            "; ".join(filter(None, (row.get("ours") or _counts(row), row.get("parameters")))),
            row.get("trained", ""),
            _published(row),
        )
        for row in load_yaml(FOLDER / "lab/systems.yaml")
    ]
    return _markdown((*head, "Published"), rows)


def _compared(item: dict[str, Any]) -> str:
    """How many numbers were compared with the authors' code, and their largest difference."""
    largest = f"{item['largest']:.1e}" if item["largest"] else "none differs"
    largest += f" (float64: {item['float64']:.1e})" if "float64" in item else ""
    return f"{item['numbers']:,} {item['of']}: {largest}".replace("e-0", "e-")


def _rows_of(row: dict[str, Any]) -> list[TableRow]:
    """The rows of a published table that a row of the overview stands for."""
    if "table" not in row:
        return []
    table = all_tables()[row["table"]]
    names = row.get("systems") or [row["title"]]
    return [
        line
        for line in table.rows
        if not line.why
        and line.benchmark in row.get("benchmarks", table.benchmarks)
        and (names == "all" or line.system in names)
    ]


def _counts(row: dict[str, Any]) -> str:
    """The parameters of a row's presets without vocabularies, each number once."""
    from cgbench.models.catalogue import describe_model

    names = row.get("presets") or [
        all_benchmarks()[line.benchmark].systems[name].preset
        for line in _rows_of(row)
        for name in all_tables()[row["table"]].parts(line.benchmark, line.system)
    ]
    counts = (describe_model(name)["parameters_without_vocabulary"] for name in names)
    return ", ".join(f"{count:,}" for count in dict.fromkeys(counts))


def _published(row: dict[str, Any]) -> str:
    """The published scores of a row, by benchmark; several systems are named."""
    lines = _rows_of(row)
    scores: dict[str, list[str]] = {}
    for line in lines:
        figure = line.figures[0]
        spread = f" ± {figure.spread}" if figure.spread else ""
        scores.setdefault(line.system, []).append(f"{figure.value}{spread}")
    texts = [f"{name}: {', '.join(values)}" for name, values in scores.items()]
    if len(scores) == 1:
        texts = [", ".join(values) for values in scores.values()]
    benchmarks = ", ".join(dict.fromkeys(line.benchmark for line in lines))
    return f"{'; '.join(texts)} ({benchmarks})" if texts else ""


def api(thing: Any) -> str:
    """A function, or a class with its public methods and properties: signature and docstring."""
    name = f"{'' if hasattr(cgbench, thing.__name__) else thing.__module__ + '.'}{thing.__name__}"
    entries = [("", thing)]
    if inspect.isclass(thing):
        entries += [(f"## `{name}.{key}`", member) for key, member in _members(thing)]
    return "\n\n".join(
        part for title, member in entries for part in (title, *_described(member)) if part
    )


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(kind).items():
        is_method = isinstance(member, property | classmethod | staticmethod) or inspect.isfunction(
            member
        )
        if not name.startswith("_") and is_method and inspect.getdoc(member):
            yield name, member


def _described(member: Any) -> Iterator[str]:
    """The call of a function or class, and its docstring as Markdown."""
    function = getattr(member, "__func__", member)
    request = hasattr(function, "__wrapped__") and hasattr(function, "__signature__")
    is_request = inspect.isclass(function) and issubclass(function, Request)
    is_error = inspect.isclass(function) and issubclass(function, Exception)
    if callable(function) and not is_request and not is_error:
        yield f"```text\n{_call(function)}\n```"
    text = inspect.getdoc(function.__wrapped__ if request else member) or ""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text).replace("``", "`")
    head, *entries = re.split(r"^:(?=param |returns|raises )", text, flags=re.MULTILINE)
    if head.strip():
        yield head.strip()
    lines = []
    for entry in entries:
        label, _, words = entry.partition(":")
        kind, _, name = label.partition(" ")
        title = {"param": f"`{name}`", "raises": f"Raises `{name}`"}.get(kind, "Returns")
        lines.append(f"- {title}: {' '.join(words.split())}")
    if request:
        lines.append("- All arguments: [Options and arguments](../options.md).")
    if is_request:
        yield table(function)
    elif lines:
        yield "\n".join(lines)


def _call(function: Any) -> str:
    """``split(corpus, out, *, method='mcd')``, in lines of at most 100 characters."""
    words = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        marker = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
        if parameter.kind.name == "KEYWORD_ONLY" and "*" not in words:
            words.append("*")
        default = parameter.default
        value = (
            f"{type(default).__name__}()" if dataclasses.is_dataclass(default) else repr(default)
        )
        value = value if len(value) <= 40 else "..."
        words.append(
            f"{marker}{parameter.name}"
            + ("" if default is inspect.Parameter.empty else f"={value}")
        )
    lines = [f"{function.__name__}("]
    for number, word in enumerate(words):
        word += ", " if number < len(words) - 1 else ""
        if len(lines[-1]) + len(word) > 98:
            lines.append("    ")
        lines[-1] += word
    return "\n".join(line.rstrip() for line in lines) + ")"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [
        head,
        ["---"] * len(head),
        *([cell.replace("|", "\\|") for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _default(field: Field) -> str:
    if field.default is dataclasses.MISSING:
        return "required"
    return "" if field.default in (None, "", ()) or field.default == [] else f"`{field.default}`"


if __name__ == "__main__":
    for page in PAGES:
        path = FOLDER / page
        path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
