"""Hypotheses from logs of evaluation harnesses and from submissions to WMT, joined by the ids of
their examples.

======================  ===================================================  =====================
file                    hypothesis                                           id
======================  ===================================================  =====================
lm-evaluation-harness   ``filtered_resps``; ``FILE:FILTER`` if there are     ``doc_id``, from 0
                        several filters
inspect (.eval, .json)  the completion; ``FILE:SCORER``: the scorer's answer ``id`` of the sample
WMT (.jsonl)            ``hypothesis``                                       ``doc_id``
======================  ===================================================  =====================

Every epoch of inspect is a run. Reasoning is cut as ``cgbench translate`` does, and line breaks
become blanks. The formats are those of lm_eval 0.4.13, inspect_ai 0.3.285 and WMT 2026.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cgbench.benchmark.score.outputs.harness_logs import (
    OF_DOC,
    epoch_of,
    first_text,
    identity,
    lm_eval_rows,
    metadata_of,
    read_inspect,
    reasoning_remark,
    warn_of_reasoning,
)
from cgbench.benchmark.score.outputs.score_files import split_field
from cgbench.errors import InputError, argument
from cgbench.models.servers.answers import cut_reasoning
from cgbench.settings import did_you_mean
from cgbench.text.columns import Column
from cgbench.text.identities import rows_by_id
from cgbench.text.rows import Table
from cgbench.text.streams import form

C = TypeVar("C", bound=Column)
WMT = frozenset(("doc_id", "hypothesis"))
PART = "_###_"  # between the parts of an id of WMT
_Runs = dict[Any, tuple[list[str], list[str], list[Any]]]
"""Hypotheses, ids, and what the log says of each example, by run."""


def read_outputs(text_name: str) -> list[Column] | None:
    """The hypotheses in a log, one column per run, with ids; None if the file is not a log.

    :raises InputError: the log is damaged, or an answer is not text.
    """
    path, field = split_field(text_name)
    runs: _Runs = {}
    reasoned = empty = 0

    def add(
        run: Any, text: Any, known: Any, row_number: int, response: Any = None, about: Any = None
    ) -> None:
        nonlocal reasoned, empty
        of = f"{path}, row {row_number}"
        if not isinstance(text, str):
            raise InputError(f"{of}: the answer is not text")
        texts, ids, descriptions = runs.setdefault(run, ([], [], []))
        full = response if isinstance(response, str) else text
        if (answer := cut_reasoning(full)) != full:
            reasoned, empty = reasoned + 1, empty + (not answer)
            # What the harness extracted from the reasoning, a line of it, is replaced by the first
            # line after it.
            if text.strip() in full and text.strip() not in (answer := answer or ""):
                text = answer if text == full else next(iter(answer.splitlines()), "")
        texts.append(" ".join(filter(None, map(str.strip, text.split("\n")))))
        ids.append(identity(known, f"{of}: no id"))
        descriptions.append(about)

    if form(path) == "jsonl":
        table = Table(path, named=True)
        if set(table.names) >= OF_DOC:
            columns = ("doc_id", "filtered_resps", "resps", "doc")
            for row_number, row in lm_eval_rows(path, table, columns, field, ""):
                known, answers, responses, doc = row
                add("", first_text(answers), known, row_number, first_text(responses), doc)
        elif set(table.names) >= WMT and field in (None, "hypothesis"):
            for row_number, (known, text) in table.read(("doc_id", "hypothesis")):
                add("", text, known, row_number)
            if any(len(set(ids)) < len(ids) for _, ids, _ in runs.values()):
                return None  # a document has several rows: an ordinary table
        else:
            return None
    elif read_inspect(path, lambda _, samples: _inspect(samples, path, field, add)) is None:
        return None
    if not runs:
        raise InputError(f"{path}: no answers")
    remark = reasoning_remark(empty)
    warn_of_reasoning(str(path), reasoned, sum(len(ids) for _, ids, _ in runs.values()), remark)
    names = {run: f"{path}, {run}" if len(runs) > 1 else str(path) for run in runs}
    return [
        Column(names[run], texts, ids=ids, metadata=metadata_of(descriptions) or None)
        for run, (texts, ids, descriptions) in sorted(runs.items())
    ]


def _inspect(
    samples: Iterable[Any], path: Path, scorer: str | None, add: Callable[..., None]
) -> bool:
    for sample_number, sample in enumerate(samples, 1):
        fields = sample if isinstance(sample, Mapping) else {}
        output, scores = fields.get("output"), fields.get("scores")
        completion = output.get("completion") if isinstance(output, Mapping) else None
        text = completion
        if scorer is not None:
            known = scores if isinstance(scores, Mapping) else {}
            if scorer not in known:
                raise InputError(
                    f"{path}, sample {sample_number}: no scorer"
                    f" {scorer!r}{did_you_mean(scorer, known)}"
                )
            text = known[scorer].get("answer") if isinstance(known[scorer], Mapping) else None
        add(
            epoch_of(fields, f"{path}, sample {sample_number}"),
            text,
            fields.get("id"),
            sample_number,
            completion,
            fields.get("metadata"),
        )
    return True


def by_rows(column: C, lines: Sequence[str] | None, *, strict: bool = True) -> C:
    """A column with ids in the order of the test set.

    The ids are those in the column ``line`` of a release (``line-N`` as the last part of an id of
    WMT), or all row numbers from 0 or 1.

    :param lines: the column ``line``; None without a release.
    :param strict: other ids are an error; else the column stays as it is.
    :raises InputError: an id occurs twice, or ids are missing.
    """
    assert column.ids is not None
    last = [key.rpartition(PART)[2].removeprefix("line-") for key in column.ids]
    length = len(column)
    orders = ([lines] if lines is not None else []) + [
        [str(row + first) for row in range(length)] for first in (0, 1)
    ]
    for order in orders:
        for ids in (column.ids, last):
            if set(ids) == set(order):
                row_of = rows_by_id(column.name, ids)
                return column.at([row_of[key] for key in order])
    if not strict:
        return column
    if lines is not None and set(last) < set(lines):
        missing = next(key for key in lines if key not in set(last))
        raise InputError(
            f"{column.name}: has no answer for {len(set(lines) - set(last)):,} of {len(lines):,}"
            f" examples (line {missing}); evaluate the whole test set"
        )
    raise InputError(
        f"{column.name}: its ids, such as {column.ids[0]!r}, are neither row numbers nor lines of a"
        f" release; name the column of the references with these ids with {argument('ids')}"
    )
