"""Translate a text with a server."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from cgbench.argument_types import as_path
from cgbench.errors import InputError, argument, warn
from cgbench.files import check_output
from cgbench.locks import locked
from cgbench.models.server_options import SpendingLimit
from cgbench.models.servers.address import Server, parse_server
from cgbench.models.servers.answers import (
    AnswerReading,
    count,
    other_model,
    read_choice,
    warnings_of,
)
from cgbench.models.servers.batch_files import read_batch, write_batch
from cgbench.models.servers.client import Client
from cgbench.models.servers.conversation import Conversation
from cgbench.models.servers.exchange import Request, Usage
from cgbench.models.servers.journal import Journal, cost_of, journal_path
from cgbench.models.servers.samples import sample_measures
from cgbench.models.translation_request import TranslateRequest
from cgbench.numbers_as_text import counted
from cgbench.steps import hash_value
from cgbench.tables import render
from cgbench.text.inputs import files_of, is_path, lines_of
from cgbench.text.output_checks import check_outputs
from cgbench.text.sidecar import check_earlier, sidecar_path, write_output


def translate_by_server(request: TranslateRequest) -> list[str]:
    """Translate, and write the output with its sidecar and its raw answers; an interrupted run
    resumes.

    :returns: the lines of the output; with ``dry_run`` or ``batch_out``, what they report.
    :raises InputError: the server fails or changes, the budget ends, or the output contains
        translations by another system or prompt, or of another text.
    """
    output = as_path(cast("str", request.output))
    journal = journal_path(output)
    for path in (sidecar_path(output), journal):
        check_output(path, files_of(request.sources))
    server = parse_server(str(request.system))
    lines, _ = lines_of(request.sources, "sources")
    conversation = Conversation(request, server)
    system, source = conversation.identity, hash_value(lines)
    check_earlier(output, {**system, "source": source})
    # One request per sentence that is not blank; then count, write or ask.
    every_request = zip(lines, conversation.requests(lines, request.sources), strict=True)
    by_line = [sent if line.strip() else None for line, sent in every_request]
    requests = [sent for sent in by_line if sent is not None]
    if request.server.dry_run:
        return _estimate(request, _client(request, server, journal), requests)
    with locked(journal, wait=False), _client(request, server, journal) as client:
        _read_batches(request, client, requests)
        if request.server.batch_out is not None:
            return _write_batch(as_path(request.server.batch_out), client.waiting(requests))
        if request.server.batch_in and (missing := len(client.waiting(requests))):
            raise InputError(
                f"{argument('batch_in')}: {counted(missing, 'request')} still without an answer;"
                f" write them with {argument('batch_out', 'FILE')}, or ask the server by running"
                " the command without both"
            )
        answers = iter(client.answers(requests))
        spent = client.record(requests)
    # Read the hypotheses in the answers: of each line all samples, of which the first counts.
    rule, blank = conversation.rule, [AnswerReading("")] * conversation.n
    samples = [
        [read_choice(choice, rule, line) for choice in next(answers)] if sent else blank
        for line, sent in zip(lines, by_line, strict=True)
    ]
    first = {
        number: readings[0]
        for number, (readings, sent) in enumerate(zip(samples, by_line, strict=True), 1)
        if sent
    }
    # Write them with the record of the run.
    counts = count(first.values())
    record = {
        "system": system,
        "nbest": conversation.n,
        "source": source,
        "server": spent,
        "answers": counts,
    }
    rows = _rows_of(samples, bool(request.uncertainty))
    written = write_output(output, rows, request.nbest, request.format, record)
    # Warn of what a reader of the hypotheses should know.
    empty = [number for number, reading in first.items() if not reading.text]
    texts = [readings[0].text for readings in samples]
    for note in (
        *warnings_of(counts, rule, empty),
        *_warnings_of_server(request, server, spent),
        *check_outputs({server.text: [texts]}, lines, accept=True),
    ):
        warn(note)
    return written


def _read_batches(request: TranslateRequest, client: Client, requests: Sequence[Request]) -> None:
    """Take the answers of batch files into the journal."""
    files = request.server.batch_in
    for path in [files] if is_path(files) else files:
        read_batch(as_path(path), client, requests)


def _rows_of(
    samples: Sequence[Sequence[AnswerReading]], with_measures: bool
) -> list[dict[str, Any]]:
    """The rows of the output: the hypotheses of each line, and measures of how they differ."""
    rows: list[dict[str, Any]] = [
        {
            "nbest": [
                {"hypothesis": reading.text, "cut": "cut" in reading.causes} for reading in readings
            ]
        }
        for readings in samples
    ]
    if not with_measures:
        return rows
    measures = sample_measures([[reading.text for reading in readings] for readings in samples])
    return [{**row, "measures": values} for row, values in zip(rows, measures, strict=True)]


def _warnings_of_server(
    request: TranslateRequest, server: Server, spent: dict[str, Any]
) -> Iterator[str]:
    uncounted = spent["answers_without_usage"]
    if uncounted and request.server.price is not None:
        yield f"the server did not count the tokens of {counted(uncounted, 'answer')}"
    if problem := other_model(spent["model"], server.model):
        yield f"{server.text}: {problem}"


def budget_left(request: TranslateRequest) -> SpendingLimit:
    """What the output of a request leaves of its budget."""
    budget = cast("SpendingLimit", request.server.budget)
    journal = Journal(
        journal_path(as_path(cast("str", request.output))), parse_server(str(request.system)).url
    )
    return replace(budget, amount=max(0, journal.spending.left(budget, request.server.price)))


def _client(request: TranslateRequest, server: Server, journal: Path) -> Client:
    return Client(server, journal, price=request.server.price, budget=request.server.budget)


def _write_batch(path: Path, waiting: Sequence[Request]) -> list[str]:
    check_output(path, ())
    if not waiting:
        return ["all requests have answers: no batch file was written"]
    write_batch(path, waiting)
    return [f"{counted(len(waiting), 'request')} in {path}"]


def _estimate(request: TranslateRequest, client: Client, requests: Sequence[Request]) -> list[str]:
    """What the requests without answers may take, as lines; nothing is sent or written."""
    waiting, spending, price = (
        client.waiting(requests),
        client.journal.spending,
        request.server.price,
    )
    most = sum((unsent.most for unsent in waiting), Usage())
    bounded = all(unsent.limit for unsent in waiting)
    rows = [
        ("requests to send", f"{len(waiting):,}"),
        ("with an answer already", f"{len({unsent.key for unsent in requests}) - len(waiting):,}"),
        ("input tokens", f"at most {most.input:,}"),
        ("output tokens", f"at most {most.output:,}" if bounded else "no limit; set ?max_tokens=N"),
    ]
    if price is not None and bounded:
        rows += [("cost", f"at most {cost_of(most, price):.4f} USD")]
    if spending.attempts:
        rows += [("spent before", spending.shown(price))]
    if request.server.budget is not None:
        enough = spending.left(request.server.budget, price, most) >= 0
        rows += [
            (
                "budget",
                (
                    f"{request.server.budget}:"
                    f" {'enough' if enough else 'may end before the last request'}"
                ),
            )
        ]
    return render(("estimate", ""), rows).splitlines()
