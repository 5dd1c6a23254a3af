"""Human judgements of the outputs of systems, by example and rater.

Pearmut              ``annotations.json`` from its dashboard: scores, or the means of its sliders.
                     As in Pearmut's own results, attention checks, forms and judgements before a
                     reset are left out.
MQM                  the ``.tsv`` files of WMT (``system doc doc_id seg_id rater source target
                     category severity``): one row per error. Freitag et al. (2021): a score is
                     minus the sum of the weights of its errors.
tables of ratings    one row per judgement: the example, its score, and the system, the rater or
                     both, in columns with one of their usual names (:data:`NAMES`).

A score of an example is the mean of its judgements. Rows are examples, or judgements (an example
and a rater) if raters are to be clusters and an example has several.
"""

import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cgbench.benchmark.measure.metrics.segment_scores import no_score, number_of, plain_numbers
from cgbench.benchmark.score.outputs.score_files import (
    ReadOptions,
    ScoreColumn,
    SystemRuns,
    as_score,
    has_rows,
    read_json,
)
from cgbench.errors import InputError, argument, warn
from cgbench.numbers_as_text import counted
from cgbench.settings import did_you_mean
from cgbench.text.identities import spelled_alike
from cgbench.text.rows import SEGMENT_FORMS, Table, cell_text, is_number, read_objects
from cgbench.text.streams import form

RATER, DOCUMENT, EXAMPLE = "rater", "document", "example"
"""Names of the columns that clusters and bins can be formed from."""
ITEM_TYPE, TRANSLATION = "itemtype", ("tgt", "translation", "")
"""Appraise's column with the type of an item, and the type of a translation of a system; others are
attention checks (BAD, REF, CHK).
"""
IS_DOCUMENT = "isdocument"
"""Appraise's column that says of a row whether it is the score of a whole document."""
RESET = "__RESET__"
_NOT_EXAMPLES = ("welcome_", "random_", "goodbye_")
_NO_ERROR = ("neutral", "no-error", "no error", "hotw-test", "hotw-flag", "")
NAMES = {
    "system": ("system", "sys", "model", "system_id", "model_id", "sys_id", "systemid"),
    "segment": (
        "seg_id",
        "globalsegid",
        "segment",
        "segment_id",
        "seg",
        "item",
        "item_id",
        "example",
        "example_id",
        "itemid",
        "segmentid",
        "sid",
        "id",
    ),
    "rater": (
        "rater",
        "annotator",
        "judge",
        "rater_id",
        "annotator_id",
        "evaluator",
        "worker",
        "user",
        "user_id",
        "username",
        "workerid",
    ),
    "document": ("doc", "document", "doc_id", "document_id"),
    "score": ("score", "rating", "value", "judgement", "judgment", "raw.scr"),
}
"""The usual names of columns in lower case, by what they hold."""


class FrameTable:
    """A pandas data frame as a table."""

    def __init__(self, frame: Any) -> None:
        self.names, self._frame = [str(name) for name in frame.columns], frame

    def read(self, columns: Sequence[str]) -> Iterable[tuple[int, tuple[Any, ...]]]:
        """The rows, numbered from 1; missing values are None."""
        places = [self.names.index(name) for name in columns]
        cells = (
            self._frame.iloc[:, place]
            .astype(object)
            .where(self._frame.iloc[:, place].notna(), None)
            for place in places
        )
        return enumerate(zip(*(column.tolist() for column in cells), strict=True), 1)


class AppraiseTable:
    """The export of Appraise, whose columns have no names."""

    names = (
        *("user", "system", "item", "itemType", "source_language", "target_language", "score"),
        *("document", "isDocument", "start", "end"),
    )

    def __init__(self, path: Path) -> None:
        self._table = Table(path, named=False)

    def read(self, columns: Sequence[str]) -> Iterable[tuple[int, tuple[Any, ...]]]:
        """The rows, numbered from 1."""
        return self._table.read([str(1 + self.names.index(name)) for name in columns])


@dataclass
class Judgements:
    """Scores by system, example and rater.

    :param documents: of each example, if known; ``document_column``: the name of their column.
    """

    scores: dict[tuple[str, str, str], float] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    document_column: str = DOCUMENT


def read_judgements(path: Path, chosen: str | None, options: ReadOptions) -> SystemRuns | None:
    """The judgements in a file; None if the file has another format.

    :param chosen: the campaign, if the file has several; the column of scores in a table.
    :raises InputError: the file is damaged, or has several campaigns and none was named.
    """
    kind = form(path)
    if kind == "json" and not has_rows(path):
        data = read_json(path)
        if _is_pearmut(data):
            return _columns(path, _pearmut(path, data, chosen), options)
        return None
    if kind == "plain" or kind in SEGMENT_FORMS:
        return None
    table = Table(path, named=True)
    if {"annotation", "user_id", "item"} <= set(table.names):  # a campaign of Pearmut, line by line
        campaign = [entry for _, entry in read_objects(path)]
        return _columns(path, _pearmut(path, {path.stem: campaign}, None), options)
    if _is_appraise(table.names):
        return judgements_of_table(path, AppraiseTable(path), chosen, options)
    return judgements_of_table(path, table, chosen, options)


def _is_appraise(first: Sequence[str]) -> bool:
    """Whether the first row of a table is one of Appraise's, which writes no names of columns."""
    types = ("tgt", "bad", "ref", "chk")
    cells = [str(cell).strip() for cell in first]
    return len(cells) >= 8 and cells[3].lower() in types and number_of(cells[6]) is not None


def error_weight(category: str, severity: str, where: str) -> float:
    """The weight of an error (Freitag et al. 2021).

    :raises InputError: the severity is unknown.
    """
    category, severity = category.strip().lower(), severity.strip().lower()
    if severity == "major":
        return 25.0 if category.startswith("non-translation") else 5.0
    if severity == "minor":
        return 0.1 if category.startswith("fluency/punctuation") else 1.0
    if severity not in _NO_ERROR:
        raise InputError(
            f"{where}: the severity {severity!r} has no weight; known: major, minor, neutral,"
            " no-error"
        )
    return 0.0


def usual_columns(names: Sequence[str]) -> dict[str, str]:
    """Those of the columns of a table that have one of their usual names (:data:`NAMES`), by what
    they hold.
    """
    lower = {name.strip().lower(): name for name in reversed(names)}
    return {
        role: lower[name]
        for role, usual in NAMES.items()
        for name in reversed(usual)
        if name in lower
    }


def judgements_of_table(
    path: object,
    table: Table | FrameTable | AppraiseTable,
    chosen: str | None,
    options: ReadOptions,
) -> SystemRuns | None:
    """The judgements in a table; None if it has no column of examples, or neither systems nor
    raters.

    :raises InputError: a column that was named is not there; a row is no judgement, or judges
        again; two names are written in almost the same way.
    """
    if chosen is not None and chosen not in table.names and is_number(chosen):
        return None  # the number of a column
    has_errors = {"category", "severity"} <= set(table.names) and not chosen
    # The columns by what they hold.
    roles = usual_columns(table.names) | (
        dict(options.columns or {}) | ({"score": chosen} if chosen else {})
    )
    for role, name in roles.items():
        if role not in NAMES:
            raise InputError(f"{argument('columns_of', role)}{did_you_mean(role, NAMES)}")
        if name not in table.names:
            raise InputError(f"{path}: no column {name!r}{did_you_mean(name, table.names)}")
    by_whom = [role for role in ("system", "rater") if role in roles]
    if "segment" not in roles or not by_whom or not (has_errors or "score" in roles):
        return None
    # Read the texts of all rows, and refuse spellings that only look alike.
    keys = ["segment", *by_whom, *(["document"] if "document" in roles else [])]
    figures = ["category", "severity"] if has_errors else [roles["score"]]
    _check_score_column(path, table.names, roles, options, chosen)
    rows = list(_translations_of(path, table, [roles[key] for key in keys] + figures))
    texts = {
        role: [cell_text(row[at], roles[role], path, row_number) for row_number, row in rows]
        for at, role in enumerate(keys)
    }
    for role in keys:
        if role in ("segment", "rater") and (alike := spelled_alike(texts[role])):
            raise InputError(
                f"{path}: the {role} is written {alike[0]!r} and {alike[1]!r}; write it in one way"
            )
    blank = [""] * len(rows)
    systems, raters = texts.get("system", blank), texts.get("rater", blank)
    documents = texts.get("document", blank)
    # Segments are numbered through the test set, or in each document.
    per_document = len(set(zip(documents, texts["segment"], strict=True))) > len(
        set(texts["segment"])
    )
    scores: Sequence[str] = blank
    if not has_errors:
        scores = plain_numbers(
            [as_score(row[-1], figures[0], path, row_number) for row_number, row in rows]
        )
    judgements = Judgements(document_column=roles.get("document", DOCUMENT))
    first_rows: dict[tuple[str, str, str], int] = {}
    for (row_number, row), score, system, segment, rater, document in zip(
        rows, scores, systems, texts["segment"], raters, documents, strict=True
    ):
        where, example = (
            f"{path}, row {row_number}",
            (f"{document}:{segment}" if per_document else segment),
        )
        key = (system, example, rater)
        if "document" in roles:
            judgements.documents[example] = document
        if has_errors:
            weight = error_weight(str(row[-2] or ""), str(row[-1] or ""), where)
            judgements.scores[key] = judgements.scores.get(key, 0.0) - weight
        elif (earlier := first_rows.setdefault(key, row_number)) != row_number:
            names = ", ".join(
                f"{role} {name}"
                for role, name in zip(("system", "example", "rater"), key, strict=True)
                if name
            )
            raise InputError(
                f"{where}: a second score of {names} (the first is in row {earlier}); keep one, or"
                " name the columns of system, segment, rater and document with"
                f" {argument('columns_of')}"
            )
        else:
            judgements.scores[key] = _number(score, where, missing=True)
    return _columns(path, judgements, options)


def _translations_of(
    path: object, table: Table | FrameTable | AppraiseTable, columns: Sequence[str]
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The rows of a table without attention checks and scores of whole documents, if it says which
    they are.
    """
    of_kind = {name.lower().replace("_", ""): name for name in reversed(table.names)}
    types, documents = of_kind.get(ITEM_TYPE), of_kind.get(IS_DOCUMENT)
    checks = whole = 0
    more = [types or columns[0], documents or columns[0]]
    for row_number, (*row, kind, is_document) in table.read([*columns, *more]):
        if types and str(kind or "").strip().lower() not in TRANSLATION:
            checks += 1
        elif documents and str(is_document).strip().lower() == "true":
            whole += 1
        else:
            yield row_number, tuple(row)
    if checks:
        warn(f"{path}: {counted(checks, 'row')} of attention checks ({types}) left out")
    if whole:
        warn(f"{path}: {counted(whole, 'score')} of whole documents ({documents}) left out")


def _check_score_column(
    path: object,
    names: Sequence[str],
    roles: Mapping[str, str],
    options: ReadOptions,
    chosen: str | None,
) -> None:
    """Refuse a table in which two columns may be the score, and none was named.

    :raises InputError: there are two.
    """
    if chosen is not None or "score" in (options.columns or {}) or "score" not in roles:
        return
    usual = [name for name in names if name.strip().lower() in NAMES["score"]]
    if len(usual) > 1:
        raise InputError(
            f"{path}: which column has the scores? Write {path}:{usual[0]} or {path}:{usual[1]}"
        )


def _is_pearmut(data: Any) -> bool:
    if not isinstance(data, dict) or not all(
        isinstance(entries, list) for entries in data.values()
    ):
        return False
    first = next((entry for entries in data.values() for entry in entries), None)
    return isinstance(first, dict) and {"annotation", "user_id"} <= set(first)


def _pearmut(path: Path, data: Mapping[str, Any], campaign: str | None) -> Judgements:
    if campaign is None:
        filled = [name for name, entries in data.items() if entries]
        if len(filled) != 1:
            raise InputError(
                f"{path}: which campaign? Write {path}:CAMPAIGN; there is"
                f" {', '.join(filled) or 'none with annotations'}"
            )
        campaign = filled[0]
    elif campaign not in data:
        raise InputError(f"{path}: no campaign {campaign!r}{did_you_mean(campaign, list(data))}")
    judgements, by_user = Judgements(), dict[str, list[tuple[int, Mapping[str, Any]]]]()
    for entry_number, entry in enumerate(data[campaign], 1):
        if not isinstance(entry, dict) or not isinstance(entry.get("user_id"), str):
            raise InputError(
                f"{path}, entry {entry_number} of {campaign}: not an annotation with a user_id"
            )
        if entry.get("annotation") == RESET:
            by_user.pop(entry["user_id"], None)
        else:
            by_user.setdefault(entry["user_id"], []).append((entry_number, entry))
    for rater, entries in by_user.items():
        for entry_number, entry in entries:
            if not str(entry.get("item_i")).startswith(_NOT_EXAMPLES):
                _page(judgements, rater, entry, f"{path}, entry {entry_number} of {campaign}")
    return judgements


def _page(judgements: Judgements, rater: str, entry: Mapping[str, Any], where: str) -> None:
    """The judgements of a page; later ones of the same rater replace earlier ones."""
    items, annotations = entry.get("item"), entry.get("annotation")
    if items is None or annotations is None:
        return
    if not isinstance(items, list) or not isinstance(annotations, list):
        raise InputError(f"{where}: its item and annotation are not lists")
    first: str | None = None
    for item, by_system in zip(items, annotations, strict=False):
        if not isinstance(item, dict) or not isinstance(by_system, dict):
            continue  # skipped, or a form
        example = item.get("item_id")
        example = (
            json.dumps({**item, "tgt": None}, ensure_ascii=False)
            if example is None
            else str(example)
        )
        first = example if first is None else first
        for system, annotation in by_system.items():
            score = (
                _score(annotation, f"{where}, item {example}, {system}")
                if isinstance(annotation, dict)
                else None
            )
            if score is not None:
                judgements.scores[system, example, rater] = score
                judgements.documents[example] = str(item.get(DOCUMENT) or first)


def _score(annotation: Mapping[str, Any], where: str) -> float | None:
    value, sliders = annotation.get("score"), annotation.get("sliders")
    if value is not None:
        return _number(value, where)
    if not isinstance(sliders, dict):
        return None
    values = [_number(slider, where) for slider in sliders.values() if slider is not None]
    return statistics.mean(values) if values else None


def _number(value: Any, where: str, *, missing: bool = False) -> float:
    """A score; NaN if it is ``missing``, if that is allowed."""
    score = number_of(value if isinstance(value, str) else repr(value))
    if score is None or (not missing and not math.isfinite(score)):
        raise no_score(where, value)
    return score


def _standardised(
    scores: Mapping[tuple[str, str, str], float],
) -> dict[tuple[str, str, str], float]:
    """The z-scores of each rater's judgements; 0 for a rater whose judgements are all equal."""
    by_rater: dict[str, list[float]] = {}
    for (_, _, rater), score in scores.items():
        if score == score:
            by_rater.setdefault(rater, []).append(score)
    spread = {
        rater: (statistics.fmean(all_of), statistics.stdev(all_of) if len(all_of) > 1 else 0.0)
        for rater, all_of in by_rater.items()
    }
    standardised = {}
    for key, score in scores.items():
        mean, deviation = spread.get(key[2], (math.nan, 0.0))
        equal = 0.0 if score == score else math.nan
        standardised[key] = (score - mean) / deviation if deviation else equal
    return standardised


def _mean(scores: Sequence[float]) -> float:
    """The mean of the scores that are there; NaN without any."""
    present = [score for score in scores if score == score]
    return statistics.fmean(present) if present else math.nan


def _columns(path: object, judgements: Judgements, options: ReadOptions) -> SystemRuns:
    """The scores of each system, a single run, with the same rows; ``nan`` where a system was not
    judged.

    :raises InputError: there are no judgements.
    """
    scores = _standardised(judgements.scores) if options.standardise else judgements.scores
    if not scores:
        raise InputError(f"{path}: no judgements")
    raters: dict[str, set[str]] = {}
    for _, example, rater in scores:
        raters.setdefault(example, set()).add(rater)
    examples = list(raters)
    if all(example.isascii() and example.isdigit() for example in examples):
        # By value, without int: an id may have thousands of digits.
        examples.sort(key=lambda example: (len(example.lstrip("0")), example.lstrip("0")))
    apart = options.by_rater and any(len(of) > 1 for of in raters.values())
    rows = [
        (example, rater)
        for example in examples
        for rater in (sorted(raters[example]) if apart else ("",))
    ]
    values: dict[str, dict[tuple[str, str], list[float]]] = {}
    for (system, example, rater), score in scores.items():
        values.setdefault(system, {}).setdefault((example, rater if apart else ""), []).append(
            score
        )
    columns = {EXAMPLE: [example for example, _ in rows]}
    if any(judgements.documents.values()):
        columns[DOCUMENT] = [judgements.documents.get(example, "") for example, _ in rows]
    if apart or all(len(of) <= 1 for of in raters.values()):
        columns[RATER] = [rater or next(iter(raters[example]), "") for example, rater in rows]
    by_name = {judgements.document_column: columns[DOCUMENT]} if DOCUMENT in columns else None
    ids = [f"{example}, {rater}" if apart else example for example, rater in rows]
    return {
        system: [
            ScoreColumn(
                f"{path}, {system}",
                [repr(_mean(of.get(row, ()))) for row in rows],
                ids=ids,
                columns=columns,
                by_judgement=apart,
                metadata=by_name,
            )
        ]
        for system, of in sorted(values.items())
    }
