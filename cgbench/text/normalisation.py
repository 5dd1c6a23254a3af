"""Tokenise and lowercase training text and pool in the same way, so that equal words have equal
bytes everywhere.

The steps are, in this order: replace names in logical forms (``anonymise``), undo tokenisation
(``detokenize``), tokenise (``tokenize``), lowercase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from cgbench.argument_types import NamePair
from cgbench.errors import InputError, argument
from cgbench.progress import bar
from cgbench.records import Record
from cgbench.request import KW_ONLY, Request, option
from cgbench.settings import did_you_mean
from cgbench.text.formats import CorpusSpec, languages_of
from cgbench.text.logical_forms import KINDS, Kind, Pair, names_of

if TYPE_CHECKING:
    from cgbench.engines import Engine

SIDES = ("source", "target")
BLOCK = 2_000  # pairs per task of a worker process

# Escapes of the Moses tokeniser. They are undone first, so that tokenised text is not escaped
# twice.
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


class Normalisation(Record):
    """How text is normalised.

    ``tokenize`` is the name of a tokeniser (:mod:`cgbench.text.tokenizers`; ``none``: split at
    blanks), or one per language or side: ``de=moses,zh=jieba``. ``languages`` are those of source
    and target, which Moses needs. ``detokenize``: undo Moses tokenisation first. ``anonymise``: the
    kind of logical form of the target (:mod:`cgbench.text.logical_forms`).

    :raises InputError: there is no such tokeniser, language or form.
    """

    tokenize: str = "none"
    lowercase: bool = False
    languages: tuple[str, str] = ("", "")
    detokenize: bool = False
    anonymise: str = "none"

    def __post_init__(self) -> None:
        if self.anonymise not in KINDS:
            raise InputError(
                f"{argument('anonymise', self.anonymise)}: there is no kind of logical form "
                f"{self.anonymise!r}{did_you_mean(self.anonymise, KINDS)}"
            )
        tokenizers_of(self.tokenize, self.languages)

    @property
    def is_identity(self) -> bool:
        """Whether text is left unchanged."""
        return not (self.tokenizes or self.lowercase or self.anonymise != "none")

    @property
    def tokenizers(self) -> tuple[str, str]:
        """The tokenisers of source and target."""
        return tokenizers_of(self.tokenize, self.languages)

    @property
    def tokenizes(self) -> bool:
        """Whether text is tokenised or detokenised: the slow case."""
        return self.detokenize or self.tokenizers != ("none", "none")

    @property
    def settings(self) -> dict[str, Any]:
        """The fields that affect the result, as JSON; newer fields only where they are used."""
        from cgbench.text.tokenizers import versions

        first, second = self.tokenizers
        by_language = self.detokenize or "moses" in (first, second)
        used = versions((first, second))
        return {
            "tokenize": first if first == second else f"source={first},target={second}",
            "lowercase": self.lowercase,
            "languages": list(self.languages) if by_language else None,
            **({"tokenizers": used} if used else {}),
            **({"detokenize": True} if self.detokenize else {}),
            **({"anonymise": self.anonymise} if self.anonymise != "none" else {}),
        }

    def of(self, language: str) -> Normalisation:
        """The normalisation of a monolingual text in ``language``."""
        name = self.tokenizers[self._side(language)]
        return replace(self, tokenize=name, languages=(language, language), anonymise="none")

    def signature(self, language: str) -> str:
        """How text of ``language`` is split into words, for a signature: ``none``, ``moses-de``,
        ``detok+jieba``.
        """
        name = self.tokenizers[self._side(language)]
        label = f"moses-{language}" if name == "moses" else name.replace(":", "-")
        return f"detok+{label}" if self.detokenize else label

    def _side(self, language: str) -> int:
        return 0 if language == self.languages[0] else 1


class TableOptions(Request):
    """The columns of the two sides in a table."""

    _: KW_ONLY
    columns: NamePair | None = option(
        "--columns",
        default=None,
        help="Source and target columns of a table (TSV: numbers from 1)",
        metavar="S,T",
        group="Input",
    )


class TextAcceptance(Request):
    """Whether pairs that appear to be no pairs are read all the same."""

    _: KW_ONLY
    accept_text: bool = option(
        "--set accept_text",
        default=False,
        help="Accept texts that appear to be wrong, such as shifted or swapped sides",
    )


class CorpusOptions(Request):
    """The columns and languages of a corpus."""

    _: KW_ONLY
    table: TableOptions = option(default=TableOptions(), help="Columns of a table (TableOptions)")
    languages: NamePair | None = option(
        "--languages",
        default=None,
        help="Source and target language codes [default: last part of each file name]",
        metavar="S,T",
        group="Input",
    )


class Normalising(Request):
    """How all text of a job is normalised."""

    _: KW_ONLY
    tokenize: str = option(
        "--tokenize",
        default="none",
        help=(
            "Tokenise all text: moses, 13a, zh, ja, char, jieba, spacy:LANG, or one per language,"
            " such as de=moses,zh=jieba"
        ),
        group="Text",
        metavar="NAME|LANG=NAME,...",
    )
    detokenize: bool = option(
        "--detokenize",
        default=False,
        help="Undo Moses tokenisation in all text first",
        group="Text",
    )
    lowercase: bool = option(
        "--lowercase",
        default=False,
        help="Lowercase all text",
        group="Text",
    )


class TextOptions(Request):
    """How all text of a job is normalised, where it is of one language."""

    _: KW_ONLY
    words: Normalising = option(default=Normalising(), help="How words are made (Normalising)")
    language: str = option(
        "--language",
        default="en",
        help="Language code, for moses and --detokenize",
        group="Text",
    )

    @property
    def normalisation(self) -> Normalisation:
        """The checked normalisation."""
        words, languages = self.words, (self.language, self.language)
        return Normalisation(words.tokenize, words.lowercase, languages, words.detokenize)


class PairOptions(Request):
    """How all text of a job is read and normalised, where it is of two languages."""

    _: KW_ONLY
    corpus_options: CorpusOptions = option(
        default=CorpusOptions(), help="Columns and languages of the corpora (CorpusOptions)"
    )
    words: Normalising = option(default=Normalising(), help="How words are made (Normalising)")
    anonymise: Kind = option(
        "--set anonymise",
        default="none",
        help="Replace names in target logical forms of this type by placeholders",
    )

    @property
    def columns(self) -> tuple[str, str] | None:
        """The columns of a table."""
        return self.corpus_options.table.columns

    def languages_of(self, corpus: CorpusSpec) -> tuple[str, str]:
        """The languages of a corpus; missing ones come from the file names."""
        return languages_of(self.corpus_options.languages, corpus)

    def normalisation_of(self, corpus: CorpusSpec) -> Normalisation:
        """The checked normalisation."""
        words, languages = self.words, self.languages_of(corpus)
        return Normalisation(
            words.tokenize, words.lowercase, languages, words.detokenize, self.anonymise
        )


def tokenizers_of(text: str, languages: tuple[str, str]) -> tuple[str, str]:
    """The tokenisers of source and target that ``tokenize`` names.

    :raises InputError: there is no such tokeniser, or neither side has that language.
    """
    from cgbench.text.tokenizers import check_tokenizer

    names = ["none", "none"]
    for assignment in text.split(",") if "=" in text else [f"={text}"]:
        key, _, name = assignment.partition("=")
        if wrong := check_tokenizer(name):
            raise InputError(f"{argument('tokenize', text)}: {wrong}")
        sides = [side for side in (0, 1) if key in ("", SIDES[side], languages[side])]
        if not sides:
            raise InputError(
                f"{argument('tokenize', text)}: no text of the language {key!r}; there is "
                f"{' and '.join(dict.fromkeys(filter(None, (*languages, *SIDES))))}"
            )
        for side in sides:
            names[side] = name
    return names[0], names[1]


@cache  # in each process
def normaliser(normalisation: Normalisation, language: str) -> Callable[[str], str]:
    """A function that normalises a line of ``language``, except for names in logical forms, which
    need both sides.

    :raises InputError: the tokeniser is not installed, or needs a language code.
    """
    from cgbench.text.tokenizers import detokenizer, tokenizer

    name = normalisation.tokenizers[normalisation._side(language)]
    lower = normalisation.lowercase
    undo = detokenizer(language) if normalisation.detokenize else None
    if name == "none":
        if undo is None:
            return str.lower if lower else str
        return lambda line: undo(line).lower() if lower else undo(line)
    tokenize = tokenizer(name, language if name == "moses" else "")

    def apply(line: str) -> str:
        if undo:
            line = undo(line)
        for escape, character in ESCAPES.items():
            line = line.replace(escape, character)
        text = tokenize(line)
        return (text.lower() if lower else text).strip()

    return apply


def normalise_pairs(
    pairs: Iterator[Pair], normalisation: Normalisation, label: str, engine: Engine | None = None
) -> Iterator[Pair]:
    """Normalise pairs in order; tokenisation, the slow case, runs in parallel."""
    if not normalisation.tokenizes:
        yield from _normalise(pairs, normalisation)
        return
    for language in normalisation.languages:
        normaliser(normalisation, language)  # to report a missing package once
    yield from map_pairs(
        partial(_normalise_block, normalisation=normalisation), pairs, label, engine
    )


def _normalise_block(block: list[Pair], normalisation: Normalisation) -> list[Pair]:
    return list(_normalise(iter(block), normalisation))


def _normalise(pairs: Iterator[Pair], normalisation: Normalisation) -> Iterator[Pair]:
    first, second = (normaliser(normalisation, language) for language in normalisation.languages)
    kind = normalisation.anonymise
    for source, target in pairs:
        if kind != "none":
            source, target = names_of(kind, source, target).hide(source, target)
        yield first(source), second(target)


def map_pairs(
    work: Callable[[list[Pair]], list[Pair]],
    pairs: Iterable[Pair],
    label: str,
    engine: Engine | None = None,
) -> Iterator[Pair]:
    """Apply ``work`` to blocks of pairs, in order, with a progress bar for the text ``label``.

    :param engine: runs the blocks in parallel (default: in this process).
    """
    from cgbench.engines import Local

    waiting = iter(pairs)
    blocks = iter(lambda: list(islice(waiting, BLOCK)), [])
    with bar(None, f"tokenise {label}", "pair") as progress:
        for block in (engine or Local(1)).map(work, blocks):
            progress.update(len(block))
            yield from block
