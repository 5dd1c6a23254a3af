"""Batch files of OpenAI's Batch API: requests to submit, and the answers that come back.

A line of the first has ``custom_id``, ``method``, ``url`` and ``body``; of the second
``custom_id``, ``response`` (``status_code``, ``body``) and ``error``. The order of lines is free.
vLLM reads and writes the same files (``vllm run-batch``). Source: OpenAI's guide of the Batch API.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cgbench.errors import InputError, warn
from cgbench.files import parse_json, write_json_lines
from cgbench.models.servers.client import Client
from cgbench.models.servers.exchange import BadAnswerError, Request, is_filtered
from cgbench.numbers_as_text import counted


def write_batch(path: Path, requests: Sequence[Request]) -> None:
    """Write requests as a file to submit."""
    rows = (
        {
            "custom_id": request.key,
            "method": "POST",
            "url": f"/v1/{request.endpoint}",
            "body": request.body,
        }
        for request in requests
    )
    write_json_lines(path, rows)


def read_batch(path: Path, client: Client, requests: Sequence[Request]) -> None:
    """Take the answers to requests from a file that came back; failed requests keep waiting, with a
    warning.

    :raises InputError: it is no such file, or answers none of the requests.
    """
    by_key = {request.key: request for request in requests}
    lines, unrelated, failed = 0, 0, dict[str, str]()
    with path.open("rb") as file:
        for line_number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = parse_json(line, path)
                request, body = by_key.get(row["custom_id"]), _body(row)
            except (InputError, LookupError, TypeError, AttributeError):
                raise InputError(
                    f"{path}, line {line_number}: not a line of a batch output file"
                ) from None
            lines += 1
            if request is None:
                unrelated += 1
            elif request.key not in client.journal.replies:
                try:
                    client.keep(request, body, "", origin="batch")
                except BadAnswerError as error:
                    failed[request.key] = str(row.get("error") or error)
    if unrelated == lines:
        raise InputError(
            f"{path}: answers no request of this command; use the same source, prompt and settings"
        )
    still = [reason for key, reason in failed.items() if key not in client.journal.replies]
    if unrelated or still:
        first = f"; the first failure: {still[0][:200]}" if still else ""
        text = (
            f"{path}: {counted(len(still), 'request')} failed, {counted(unrelated, 'line')} for"
            f" other requests{first}"
        )
        warn(text)


def _body(row: Any) -> Any:
    """The reply in a line; None if the request failed."""
    response = row["response"]
    if response is None:
        row["error"]["message"]  # a line has one or the other
        return None
    body = response["body"]
    return body if response["status_code"] == 200 or is_filtered(body) else None
