"""A release as a behavioural test: a rule for each word or phrase of a source whose translation a
lexicon has.

The lexicon is one of ``cgbench lexicon learn``, or a table with a row per word or phrase: its
translations after a tab, separated by ``/``, as CTER's.
"""

import re
from pathlib import Path
from typing import Any

from cgbench.argument_types import File
from cgbench.benchmark.release.export.pairs import Pairs, write_rows
from cgbench.benchmark.release.export.target import ExportTarget
from cgbench.errors import InputError, argument, warn
from cgbench.request import KW_ONLY, Request, option
from cgbench.studies.rules.rule import convert_rules, passed
from cgbench.text.inputs import AnyPath, local_path
from cgbench.text.streams import read_lines

STRONG = 0.1  # of the value of the strongest translation of a word
LONGEST = 5  # words of a phrase


class RulesOptions(Request):
    """Options of the target ``rules``."""

    _: KW_ONLY
    lexicon: File | None = option(
        "--lexicon",
        default=None,
        help=(
            "Translations of words or phrases (rules): a word, a tab, translations separated by /,"
            " per line; or a lexicon of cgbench lexicon"
        ),
        group="Input",
    )


def write_rules(pairs: Pairs, folder: Path, *, lexicon: AnyPath | None) -> None:
    """Write ``rules.jsonl`` and warn of pairs without a rule, and of references that fail theirs.

    :raises InputError: there is no lexicon, or no word of it occurs in the sources.
    """
    if lexicon is None:
        raise InputError(
            f"{argument('to', 'rules')} needs translations of words or phrases; give"
            f" {argument('lexicon')}"
        )
    path = local_path(lexicon)
    translations = read_translations(path)
    rows: list[dict[str, Any]] = []
    failing = 0
    for pair in pairs.rows:
        rules = [
            {"type": "contains", "any": translations[piece], "name": piece, "case": False}
            for piece in pieces_of(pair["source"], translations)
        ]
        if not rules:
            continue
        failing += "0" in passed(convert_rules(rules), pair["target"])
        rows.append(
            {
                "id": pair["figures"]["line"],
                "rules": rules,
                "source": pair["source"],
                "reference": pair["target"],
                "degree": pair["domain"].partition("_")[2],
            }
        )
    if not rows:
        raise InputError(f"{path}: none of its words occurs in the sources")
    write_rows(folder / "rules.jsonl", rows)
    if len(rows) < len(pairs.rows):
        warn(
            f"{len(pairs.rows) - len(rows):,} of {len(pairs.rows):,} pairs have no rule and are"
            " left out"
        )
    if failing:
        warn(
            f"{failing:,} of {len(rows):,} references fail a rule: the lexicon lacks some"
            " translations"
        )


def read_translations(path: Path) -> dict[str, list[str]]:
    """The translations of each word or phrase, in lower case.

    :raises InputError: a row is not a word, a tab and translations.
    """
    if path.suffix == ".json":
        from cgbench.models.lexicons.lexicon import Lexicon

        entries = Lexicon.load(path).items()
        strong = {
            word: [text for text, value in row.items() if value >= STRONG * max(row.values())]
            for word, row in entries
        }
    else:
        strong = {}
        for line_number, line in enumerate(read_lines(path), 1):
            word, tab, texts = line.strip().partition("\t")
            if line.strip() and not (tab and word.strip()):
                raise InputError(
                    f"{path}, line {line_number}: write a word, a tab, and translations separated"
                    " by /"
                )
            strong[word] = [text.strip() for text in texts.split("/") if text.strip()]
    return {
        " ".join(_words(word)): texts for word, texts in strong.items() if texts and _words(word)
    }


def pieces_of(source: str, translations: dict[str, list[str]]) -> list[str]:
    """The words and phrases of a source with translations, the longest first at each place, each
    once.
    """
    words, pieces, position = _words(source), dict[str, None](), 0
    while position < len(words):
        phrases = (
            " ".join(words[position : position + length]) for length in range(LONGEST, 0, -1)
        )
        piece = next((phrase for phrase in phrases if phrase in translations), None)
        if piece is not None:
            pieces.setdefault(piece)
        position += 1 if piece is None else len(piece.split())
    return list(pieces)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


RULES = ExportTarget(write_rules, options=RulesOptions)
