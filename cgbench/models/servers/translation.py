"""Translate a text with a server."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from cgbench.errors import InputError, InputWarning, argument
from cgbench.files import check_output
from cgbench.locks import locked
from cgbench.models.external.addresses import PLACE, read_template
from cgbench.models.external.sidecar import check_earlier, sidecar_path, warn_of_cut, write_output
from cgbench.models.servers.address import Server, parse_server
from cgbench.models.servers.batch_files import read_batch, write_batch
from cgbench.models.servers.client import Client
from cgbench.models.servers.exchange import Answer, Request, Usage
from cgbench.models.servers.journal import journal_path
from cgbench.models.servers.spending import at_most, cost_of
from cgbench.models.translation_request import NAMED, TranslateRequest
from cgbench.requests import as_path
from cgbench.steps import hash_value
from cgbench.tables import counted, render
from cgbench.text.inputs import files_of, is_path, lines_of


def translate_by_server(request: TranslateRequest) -> list[str]:
    """Translate, and write the output with its sidecar and its raw answers; an interrupted run resumes.

    :returns: the lines of the output; with ``dry_run`` or ``batch_out``, what they report.
    :raises InputError: the server fails or changes, the budget ends, or the output contains translations by another
        system or prompt, or of another text.
    """
    output, journal = as_path(cast("str", request.output)), journal_path(as_path(cast("str", request.output)))
    for path in (sidecar_path(output), journal):
        check_output(path, files_of(request.sources))
    server = parse_server(str(request.system))
    if request.prompt is None:
        raise InputError(
            f"{server.text}: a server needs a prompt; set {argument('prompt')}, such as 'Translate into English: "
            f"{PLACE}'"
        )
    template = read_template(request.prompt, argument("prompt"))
    lines, _ = lines_of(request.sources, "sources")
    system, source = {**server.identity, "prompt": template}, hash_value(lines)
    check_earlier(output, {**system, "source": source})
    asked = [requests_of(server, template, line, request.nbest or 1) if line.strip() else None for line in lines]
    requests = [each for each in asked if each is not None]
    if request.dry_run:
        return _estimate(request, server, journal, requests)
    with locked(journal, wait=False), _client(request, server, journal) as client:
        for path in [request.batch_in] if is_path(request.batch_in) else request.batch_in:
            read_batch(as_path(path), client, requests)
        if request.batch_out is not None:
            return _write_batch(as_path(request.batch_out), client.waiting(requests))
        if request.batch_in and (missing := len(client.waiting(requests))):
            raise InputError(
                f"{argument('batch_in')}: {counted(missing, 'request')} still without an answer; write them with "
                f"{argument('batch_out', 'FILE')}, or ask the server by running the command without both"
            )
        found = client.answers(requests)
        answers = dict(zip((each.key for each in requests), found, strict=True))
        record = {"system": system, "nbest": request.nbest or 1, "source": source}
        record["server"] = client.record(found, requests)
    rows = [row_of(None if each is None else answers[each.key]) for each in asked]
    record["without_text"] = [place for place, row in enumerate(rows, 1) if row["missing"]]
    written = write_output(output, rows, request.nbest, request.format, record)
    _warn(record, rows)
    return written


def requests_of(server: Server, template: str, line: str, n: int) -> Request:
    """The request for a sentence; a completion ends at a line break, as those of Hugging Face models do."""
    text = template.replace(PLACE, line)
    if server.endpoint == "completions":
        return Request(**server.sampling, prompt=text, n=n, stop=("\n",))
    return Request(**server.sampling, messages=({"role": "user", "content": text},), n=n)


def row_of(answer: Answer | None) -> dict[str, Any]:
    """The hypotheses of a sentence, each on one line; None: the sentence is blank."""
    if answer is None:
        return {"nbest": [{"hypothesis": "", "cut": False}], "missing": False}
    nbest = [
        {
            "hypothesis": " ".join((choice.text or "").strip().splitlines()).strip(),
            "cut": choice.finish_reason == "length",
        }
        for choice in answer.choices
    ]
    return {"nbest": nbest, "missing": any(choice.text is None for choice in answer.choices)}


def _client(request: TranslateRequest, server: Server, journal: Path) -> Client:
    cache = None if request.cache is None else as_path(request.cache)
    return Client(server, journal, cache=cache, price=request.price, budget=request.budget)


def _write_batch(path: Path, waiting: Sequence[Request]) -> list[str]:
    check_output(path, ())
    if not waiting:
        return ["all requests have answers: no batch file was written"]
    paths = write_batch(path, waiting)
    return [f"{counted(len(waiting), 'request')} in {', '.join(map(str, paths))}"]


def _estimate(request: TranslateRequest, server: Server, journal: Path, requests: Sequence[Request]) -> list[str]:
    """What the requests without answers may take, as lines; nothing is sent or written."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / journal.name
        if journal.is_file():
            shutil.copyfile(journal, copy)
        with _client(request, server, copy) as client:
            waiting, spending, price = client.waiting(requests), client.journal.spending, request.price
            most = sum(map(at_most, waiting), Usage())
            rows = [
                ("requests to send", f"{len(waiting):,}"),
                ("with an answer already", f"{len({each.key for each in requests}) - len(waiting):,}"),
                ("input tokens", f"at most {most.input:,}"),
                ("output tokens", f"at most {most.output:,}"),
            ]
            if price is not None:
                rows += [("cost", f"at most {cost_of(most, price):.4f} USD")]
            if spending.attempts:
                rows += [("spent before", spending.shown(price))]
            if request.budget is not None:
                enough = spending.fits(most, request.budget, price)
                rows += [("budget", f"{request.budget}: {'enough' if enough else 'may end before the last request'}")]
    return render(("estimate", ""), rows).splitlines()


def _warn(record: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    warn_of_cut(rows, "?max_tokens=N")
    found = []
    if missing := record["without_text"]:
        named = ", ".join(map(str, missing[:NAMED])) + (", ..." if len(missing) > NAMED else "")
        found.append(
            f"the server returned no text for {len(missing):,} of {counted(len(rows), 'sentence')} (line {named}), for "
            "example because of a filter; these hypotheses are empty"
        )
    server = record["server"]
    if len(versions := server["system_fingerprints"]) > 1:
        found.append(f"{len(versions)} versions of the server have answered (system_fingerprint); they may differ")
    if server["answers_without_usage"] and "price" in server:
        found.append(f"the server did not count the tokens of {counted(server['answers_without_usage'], 'answer')}")
    for text in found:
        warnings.warn(InputWarning(text), stacklevel=2)
