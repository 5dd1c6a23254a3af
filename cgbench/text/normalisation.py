"""Tokenise and lower-case training text and pool alike, so that the same word is the same bytes everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from typing import Any

from cgbench.errors import InputError, require
from cgbench.parallel import map_in_order
from cgbench.progress import bar

Pair = tuple[str, str]
BLOCK = 2_000  # pairs handed to a worker process at a time
# What a Moses tokeniser writes for characters that Moses itself uses. Text that holds them has been through one:
# they are undone first, so that they are not escaped twice.
ESCAPES = {
    "&quot;": '"',
    "&apos;": "'",
    "&lt;": "<",
    "&gt;": ">",
    "&#124;": "|",
    "&#91;": "[",
    "&#93;": "]",
    "&amp;": "&",
}


@dataclass(frozen=True)
class Normalisation:
    """How text is normalised: ``tokenize`` is ``none`` (words are what blanks separate) or ``moses``.

    ``languages`` are those of source and target, which the Moses tokeniser needs.
    """

    tokenize: str = "none"
    lowercase: bool = False
    languages: tuple[str, str] = ("", "")

    @property
    def is_identity(self) -> bool:
        """Whether text stays as it is."""
        return self.tokenize == "none" and not self.lowercase

    @property
    def settings(self) -> dict[str, Any]:
        """The fields that matter for the result, as JSON."""
        settings = asdict(self)
        settings["languages"] = list(self.languages) if self.tokenize == "moses" else None
        return settings


def normaliser(normalisation: Normalisation, language: str) -> Callable[[str], str]:
    """A function that normalises a line of ``language``.

    Moses tokenisation is sacremoses' (escapes on, hyphens kept), as fairseq's IWSLT14 preparation uses it.

    :raises InputError: the tokeniser is unknown or not installed.
    """
    if normalisation.tokenize not in ("none", "moses"):
        raise InputError(f"--tokenize {normalisation.tokenize}: choose none or moses")
    if normalisation.tokenize == "none":
        return str.lower if normalisation.lowercase else str
    if language in ("", "source", "target"):
        raise InputError("--tokenize moses has rules of each language: name both with --languages, such as de,en")
    tokenizer = require("sacremoses", "text").MosesTokenizer(lang=language)
    lower = normalisation.lowercase

    def apply(line: str) -> str:
        for escape, character in ESCAPES.items():
            line = line.replace(escape, character)
        text = tokenizer.tokenize(line, return_str=True)
        return (text.lower() if lower else text).strip()

    return apply


def normalise_pairs(pairs: Iterator[Pair], normalisation: Normalisation, jobs: int, what: str) -> Iterator[Pair]:
    """Normalise pairs in order; Moses tokenisation, the slow case, in ``jobs`` processes."""
    if normalisation.tokenize == "none":
        change = normaliser(normalisation, "")
        yield from ((change(source), change(target)) for source, target in pairs)
        return
    blocks = iter(lambda: list(islice(pairs, BLOCK)), [])
    work = partial(_normalise_block, normalisation=normalisation)
    with bar(None, f"tokenize {what}", "pair") as progress:
        for block in map_in_order(work, blocks, jobs):
            progress.update(len(block))
            yield from block


def _normalise_block(block: list[Pair], normalisation: Normalisation) -> list[Pair]:
    first, second = (normaliser(normalisation, language) for language in normalisation.languages)
    return [(first(source), second(target)) for source, target in block]
