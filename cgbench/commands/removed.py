"""Options and commands of 0.1 that are gone: what to use instead, for one version. 0.3 deletes this file."""

from __future__ import annotations

_OVERLAP_DOCUMENTS = "grep finds the documents of a span"
_LEARN = "translation computes every output word"
REMOVED = {
    "comet": "run `comet-score --to_json`, then `cgbench score import`",
    "external": "run the scorer, then `cgbench score import` with the file that it writes",
    "push": "`hf upload ORG/NAME FOLDER . --repo-type dataset`, as `cgbench export` prints it",
    "tagger": "`python -m spacy train`; see docs/reference/stats.md",
    "lexicon learn --subwords": _LEARN,
    "overlap --documents": _OVERLAP_DOCUMENTS,
    "power --lower-is-better": "the direction of a score changes no power",
    "power --name": "the table says score",
    "split --elements": "give `--compounds`",
    "stats --curve": "give `--orders 1-N`",
    "stats --histogram": "`cgbench degree` prints the degree of every sentence",
    "train --tensorboard": "metrics.jsonl in the model's folder has every value",
    "train-ensemble --tensorboard": "metrics.jsonl in each member's folder has every value",
    "translate --lenpen": "give `--length-penalty`",
    "translate --shortlist": _LEARN,
    "translate --shortlist-size": _LEARN,
    "translate --weights": "translation computes in the precision of the model",
}
"""By the words of the command line behind ``cgbench``; a command inside a group by its own name."""


def removed(name: str) -> str | None:
    """One line about a command or an option that is gone; None of any other."""
    instead = REMOVED.get(name)
    return f"{name} was removed in 0.2: {instead}" if instead else None
