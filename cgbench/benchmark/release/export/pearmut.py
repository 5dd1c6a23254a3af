"""A campaign for human evaluation in Pearmut (1.1.6): people mark errors in the outputs of systems
and score them.

In ESA a page has the output of one system, in contrastive ESA (cESA) those of all systems side by
side. A page is a document: the rows with the same ``document`` in the release's table, or one row
if the table has no such column. All users draw from the same pages. ``item_id`` is the ``line`` of
the release's table, so that ``cgbench score import`` can join the judgements with other scores by
``line``.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cgbench.benchmark.release.export.lm_eval import task_name
from cgbench.benchmark.release.export.pairs import Pairs
from cgbench.errors import InputError, argument
from cgbench.files import write_json

_MEDIA = re.compile("<(?:audio|video|img|iframe) ")
"""Texts that begin like this are inserted into Pearmut's page as HTML."""


def write_pearmut(
    pairs: Pairs,
    folder: Path,
    *,
    hypotheses: Mapping[str, Sequence[str]],
    protocol: str = "ESA",
    users: int = 1,
    seed: int = 0,
) -> None:
    """Write the campaign."""
    # Pearmut puts names into pages as they are.
    for name in hypotheses:
        if name.isdigit() or re.search("[\"'<>&`]", name):
            raise InputError(
                f"{argument('hypotheses', name)}: Pearmut needs system names that are not only"
                " digits and have no quotes, <, > or &; rename the system"
            )
    digest = hashlib.sha256(
        f"{pairs.release.signature}|{sorted(hypotheses)}|{seed}".encode()
    ).hexdigest()[:8]
    # The items of each document, then a page per document with one or all systems.
    documents: dict[str, list[dict[str, Any]]] = {}
    for row, outputs in zip(pairs.rows, zip(*hypotheses.values(), strict=True), strict=True):
        document = str(row["document"])
        item = {
            "item_id": str(row["figures"]["line"]),
            "document": document,
            "src": _text(row["source"]),
        }
        targets = dict(zip(hypotheses, map(_text, outputs), strict=True))
        documents.setdefault(document, []).append({**item, "tgt": targets})
    pages = [list(hypotheses)] if protocol == "cESA" else [[name] for name in hypotheses]
    data = [
        [{**item, "tgt": {name: item["tgt"][name] for name in names}} for item in items]
        for items in documents.values()
        for names in pages
    ]
    # The campaign.
    info = {
        "assignment": "single-stream",
        "protocol": protocol,
        "users": users,
        "shuffle": True,
        "seed": seed,
    }
    campaign = f"{task_name(pairs.languages)}_{protocol}_{digest}"
    write_json(folder / "campaign.json", {"campaign_id": campaign, "info": info, "data": data})


def _text(text: str) -> str:
    return f" {text}" if _MEDIA.match(text) else text
