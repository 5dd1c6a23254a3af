"""The published tables of a release: text and measures, always the same bytes.

``datasets.load_dataset`` reads them: one row per pair, the text in a struct ``translation`` of two
languages, as evaluation harnesses expect, everything else in plain columns.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cgbench.benchmark.candidates.documents import DOCUMENT
from cgbench.benchmark.candidates.inclusion import INCLUSION
from cgbench.benchmark.candidates.pair_measures import REFERENCE_LIKELIHOOD
from cgbench.benchmark.candidates.strata import SAMPLE_INCLUSION, SAMPLED
from cgbench.benchmark.candidates.table import ROW_KEYS
from cgbench.benchmark.release.manifest import ROW_FILES, normalised_text, summary, table_file
from cgbench.errors import InputError
from cgbench.files import atomic_path, write_atomic, write_json_lines
from cgbench.text.arrow_tables import text_column

TRANSLATION = "translation"  # the column with the text, a struct of two strings by language
NORMALISED = "normalised"  # the same for the form of the text that selected it, if it is another
TEXTS = (TRANSLATION, NORMALISED)
ROWS = 50_000  # of a row group: far below the limit of 100 MB in viewers of data sets


def chosen_rows(table: Any, name: str = "test") -> list[int]:
    """The candidates of the test set (or of ``sample``), in the order of the pool."""
    column, drawn = (SAMPLED, True) if name == "sample" else ("stage", "selected")
    lines, values = table["line"].to_pylist(), table[column].to_pylist()
    return sorted(
        (row for row, value in enumerate(values) if value == drawn), key=lambda row: lines[row]
    )


def figures_of(table: Any, measure: str, control_degrees: Sequence[float]) -> dict[str, Any]:
    """The statistics of the measures in a manifest: of the candidates, of the test set
    (``selected``) and of the ``control`` set.

    :param table: every candidate with its measures; ``measure``: the name of that of uncertainty.
    """
    names = {name: name for name in ("degree", "perplexity", "difficulty")}
    names |= {"uncertainty": measure, "reference": REFERENCE_LIKELIHOOD}
    columns = {
        name: table[key].to_pylist() for name, key in names.items() if key in table.column_names
    }
    figures: dict[str, Any] = {name: summary(values) for name, values in columns.items()}
    if "stage" in table.column_names:
        rows = chosen_rows(table)
        figures["selected"] = {
            name: summary([values[row] for row in rows]) for name, values in columns.items()
        }
    return figures | (
        {"control": {"degree": summary(control_degrees)}} if len(control_degrees) else {}
    )


def data_tables(
    table: Any,
    texts: Sequence[Sequence[str]],
    normalised: Sequence[Sequence[str]] | None,
    languages: tuple[str, str],
) -> dict[str, Any]:
    """The tables of a release by name (:func:`cgbench.benchmark.release.manifest.table_names`),
    without that of the control set.

    :param table: every candidate with its measures.
    :param texts: the candidates' sources and targets; ``normalised``: the form that selected them,
        if it is another.
    """
    candidates = with_text(table, texts, normalised, languages)
    if "stage" not in table.column_names:  # nothing was selected
        return {"candidates": candidates}
    sample = (
        {"sample": _set_table(candidates, "sample")} if SAMPLED in candidates.column_names else {}
    )
    return {"test": _set_table(candidates, "test"), "candidates": candidates} | sample


def _set_table(candidates: Any, name: str) -> Any:
    """The candidates of the test set or of the stratified ``sample``; ``inclusion`` is that of the
    set.
    """
    table, hidden = candidates.take(chosen_rows(candidates, name)), ["stage"]
    if name == "sample":
        table = table.set_column(
            table.column_names.index(INCLUSION), INCLUSION, table[SAMPLE_INCLUSION]
        )
        hidden += [SAMPLED, SAMPLE_INCLUSION]
    names = [column for column in table.column_names if column not in hidden]
    return table.select(
        list(dict.fromkeys([*(column for column in TEXTS if column in names), *ROW_KEYS, *names]))
    )


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows of a set as in its file of JSON lines: without the text and its hash."""
    return table.drop_columns([*{*TEXTS, "content"} & {*table.column_names}]).to_pylist()


def text_contents(manifest: Mapping[str, Any], name: str, table: Any) -> dict[str, str]:
    """The text files of a set with their contents, from the table ``name``; of the candidates, only
    if there is no test set."""
    if name == "candidates" and manifest["until"] == "release":
        return {}
    return {
        file_name(f"{name}.{language}"): "".join(f"{line}\n" for line in lines)
        for column, file_name in ((TRANSLATION, str), (NORMALISED, normalised_text))
        for language, lines in zip(
            manifest["languages"], sides_of(table, manifest["languages"], column), strict=False
        )
    }


def with_text(
    table: Any,
    texts: Sequence[Sequence[str]],
    normalised: Sequence[Sequence[str]] | None,
    languages: Sequence[str],
) -> Any:
    """``table`` with its text as the first column, and its ``normalised`` form, if it is another,
    as the second.
    """
    import pyarrow

    for name, sides in ((NORMALISED, normalised), (TRANSLATION, texts)):
        if sides is not None:
            arrays = [text_column(lines) for lines in sides]
            table = table.add_column(
                0, name, pyarrow.StructArray.from_arrays(arrays, names=list(languages))
            )
    return table


def sides_of(
    table: Any, languages: Sequence[str], name: str = TRANSLATION
) -> tuple[list[str], ...]:
    """The source and target sentences in a table's column ``translation`` (or ``normalised``);
    empty if it has no such column."""
    if name not in table.column_names:
        return ()
    column = table[name]
    try:
        if column.null_count:
            raise KeyError(name)
        # One side at a time: a row as a dictionary takes as much memory as its text.
        return tuple(
            [str(text) for chunk in column.chunks for text in chunk.field(language).to_pylist()]
            for language in languages
        )
    except (KeyError, AttributeError):
        raise InputError(f"the column {name} does not hold {' and '.join(languages)}") from None


def without_text(table: Any) -> Any:
    """``table`` without text and model outputs: numbers, and the names of stages and documents."""
    import pyarrow

    labels = ("stage", DOCUMENT)
    hidden = [field.name for field in table.schema if _holds_text(field.type, pyarrow.types)]
    return table.drop_columns([name for name in hidden if name not in labels])


def _holds_text(kind: Any, types: Any) -> bool:
    """Whether values of a type may contain text, at any depth."""
    if types.is_nested(kind):
        return any(_holds_text(kind.field(index).type, types) for index in range(kind.num_fields))
    return not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def write_sets(manifest: Mapping[str, Any], tables: Mapping[str, Any], folder: Path) -> None:
    """Write the tables of a release, and from them the text and the rows of each set."""
    for name, table in tables.items():
        write_table(table, folder / table_file(name))
        for file, content in text_contents(manifest, name, table).items():
            write_atomic(folder / file, content)
        if name in ROW_FILES:
            write_json_lines(folder / ROW_FILES[name], rows_of(table))


def write_table(table: Any, path: Path) -> None:
    """Write a table as Parquet, completely or not at all. Equal tables give equal bytes.

    All choices that differ between versions of pyarrow are fixed here, and no Arrow schema is
    stored in addition to Parquet's own. The footer still contains the version of pyarrow: another
    version gives other bytes.
    """
    import pyarrow.parquet

    with atomic_path(path) as temporary:
        pyarrow.parquet.write_table(
            table.combine_chunks().replace_schema_metadata(None),
            temporary,
            version="2.6",
            compression="zstd",
            compression_level=3,
            data_page_version="1.0",
            data_page_size=1 << 20,
            row_group_size=ROWS,
            use_dictionary=True,
            write_statistics=True,
            write_page_index=False,
            store_schema=False,
        )
