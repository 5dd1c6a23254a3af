"""What is new in test texts, as a function: what ``cgbench stats`` prints."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.arguments import check_choice, check_flag, check_whole, check_wholes
from cgbench.benchmark.divergence.elements import OF_FILES, kind_of
from cgbench.benchmark.overlap.saved import KnownOfTest
from cgbench.benchmark.stats.of_release import open_release, release_rows
from cgbench.benchmark.stats.pos import Tags, tags_from
from cgbench.benchmark.stats.report import report
from cgbench.benchmark.stats.rows import PublishedRow, Row, Wanted, as_json, published_rows, text_rows
from cgbench.benchmark.stats.texts import Text
from cgbench.errors import InputError, argument, require
from cgbench.tables import FORMS, safe_tsv
from cgbench.text.columns import short_name
from cgbench.text.inputs import AnyPath, as_column, as_path, is_path
from cgbench.text.normalisation import Normalisation
from cgbench.text.remote import local

if TYPE_CHECKING:
    import pandas

Given = AnyPath | Iterable[Any]
"""A file, a corpus of two (a tuple of paths), or the sentences themselves (an iterable of strings)."""


@dataclass(frozen=True, repr=False)
class Statistics:
    """A row a test text. ``repr`` is what ``cgbench stats`` prints; a notebook shows the same as tables."""

    rows: tuple[Row, ...]
    published: tuple[PublishedRow, ...] = ()

    def to_pandas(self) -> pandas.DataFrame:
        """A row a test text: examples, mean length, degree and its quantiles, novel n-grams by order, signature.

        :raises InputError: pandas is not installed.
        """
        pandas = require("pandas", "analysis")
        records = []
        for row in map(as_json, self.rows):
            record = {key: row[key] for key in ("name", "examples", "mean_length", "degree")}
            record |= {f"degree {name}": value for name, value in row["degree_quantiles"].items()}
            for what, counts in (("word", row["word_ngrams"]), ("POS", row["pos_ngrams"])):
                for order, found in (counts or {}).items():
                    record |= {f"{what} {order}": found["novel"], f"{what} {order} share": found["share"]}
            if row["divergence"]:
                record |= {
                    f"{name} divergence": row["divergence"][f"{name}_divergence"] for name in ("atom", "compound")
                }
            records.append(record | {"signature": row["signature"]})
        return pandas.DataFrame(records)

    def to_json(self, histogram: int = 0) -> list[dict[str, Any]]:
        """The rows as JSON values; ``docs/formats.md`` has the schema."""
        check_whole(0, histogram=histogram)
        return [as_json(row, histogram) for row in self.rows]

    def to_latex(self, histogram: int = 0) -> str:
        """The tables in LaTeX (booktabs)."""
        return self.report("latex", histogram)

    def report(self, form: str = "text", histogram: int = 0, safe: bool = False) -> str:
        """What ``cgbench stats`` prints, as ``text``, ``json``, ``tsv``, ``markdown``, ``latex`` or ``html``.

        :param histogram: the degrees in so many equal bins; 0 for none.
        :param safe: quote cells of TSV that a spreadsheet would run (:func:`cgbench.tables.safe_tsv`).
        """
        check_choice((*FORMS, "json"), form=form)
        check_whole(0, histogram=histogram)
        table = report(self.rows, self.published, histogram, form)
        return safe_tsv(table) if safe and form == "tsv" else table

    def __repr__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        return self.report("html")


def stats(
    train: Given | None = None,
    tests: Given | Mapping[str, Given] | Sequence[tuple[str, Given]] | None = None,
    *,
    release: AnyPath | None = None,
    known_from: AnyPath | None = None,
    side: str | None = None,
    orders: Sequence[int] = (2, 3),
    curve: int = 0,
    show: int = 0,
    pos: str | None = None,
    trust: bool = False,
    tags: str = "xpos",
    min_count: int | None = None,
    columns: tuple[str, str] | None = None,
    tokenize: str | None = None,
    language: str | None = None,
    lowercase: bool = False,
    detokenize: bool = False,
    published: bool = False,
    divergence: str | None = None,
    weights: str = "specific",
) -> Statistics:
    """What is new in a test text: examples, degree, novel n-grams over words and parts of speech.

    :param train: the training text: a file (plain, .gz, .zst, ``TABLE:COLUMN``, a table with both sides), a corpus of
        two files, ``(source, target)``, or a list of sentences.
    :param tests: a test text likewise, or several: ``{name: text}``, or a list of such pairs.
    :param release: instead of ``tests``, the test set of this release; ``train`` says where its training text is now.
    :param known_from: instead of ``train``, the folder in which ``cgbench overlap`` left what a corpus of any size
        knows of the test texts.
    :param side: of a corpus: ``source`` (default), ``target`` or ``both``.
    :param orders: lengths of the n-grams; ``curve``: also novelty for each order up to it; ``show``: so many of the
        most frequent novel n-grams.
    :param pos: tags, a spaCy pipeline or ``conllu:TRAIN,TEST...``; ``tags``: ``xpos`` or ``upos`` of CoNLL-U.
    :param trust: load a spaCy pipeline from a folder, too, which may run any code.
    :param min_count: an n-gram is known that occurs so often (default 3).
    :param columns: source and target column of a table.
    :param tokenize: a tokeniser (:mod:`cgbench.text.tokenizers`); ``moses`` has rules of ``language`` (default ``en``).
    :param detokenize: undo Moses tokenisation first.
    :param published: put Table 2 of Zheng and Lapata (2023) beside.
    :param divergence: also the atom and the compound divergence, of ``words:2,3``, ``scan``, ``cogs``, ``cfq``,
        ``lispress``, ``triples:TRAIN,TEST...`` and so on (:mod:`cgbench.benchmark.divergence.elements`); ``weights`` of
        compounds: ``specific`` (Keysers et al. 2020) or ``count``.
    :raises InputError: a text is missing, empty or has an empty sentence, or arguments do not fit together.
    """
    check_choice(("source", "target", "both"), side=side)
    check_choice(("xpos", "upos"), tags=tags)
    check_wholes(1, orders=orders)
    check_whole(1, min_count=min_count)
    check_whole(0, curve=curve, show=show)
    check_flag(trust=trust, lowercase=lowercase, detokenize=detokenize, published=published)
    kind = kind_of(divergence, weights, "divergence", trust) if divergence else None
    if not kind and weights != "specific":
        raise InputError(f"{argument('weights', weights)} belongs to {argument('divergence')}")
    wanted = Wanted(tuple(sorted(set(orders))), curve, show, kind)
    if release is not None:
        said = {"tests": tests, "min_count": min_count, "columns": columns, "tokenize": tokenize}
        said["known_from"] = known_from
        for name, value in {**said, "language": language, "lowercase": lowercase, "detokenize": detokenize}.items():
            if value:
                raise InputError(f"{argument(name)}: the release says this itself; leave it out")
        if kind and kind.name in OF_FILES and side in (None, "both"):
            raise _one_side(str(divergence))
        opened = open_release(Path(release), [Path(path) for path in _files(train)] if train is not None else ())
        found = release_rows(opened, wanted, side, _tags(pos, tags, 1, 2 if side in (None, "both") else 1, trust))
    else:
        if (train is None and known_from is None) or tests is None:
            raise InputError(
                f"two texts are needed: {argument('train')} and {argument('tests')} (or {argument('release')})"
            )
        named = [(name, _text(text, name)) for name, text in _named(tests)]
        sides = ("source", "target") if side == "both" else (side,)
        if kind and kind.name in OF_FILES and len(sides) > 1:
            raise _one_side(str(divergence))
        code = language or "en"
        normalisation = Normalisation(tokenize or "none", lowercase, (code, code), detokenize)
        if len(sides) > 1 and normalisation.tokenizes:
            given = argument("tokenize", tokenize) if tokenize else argument("detokenize")
            raise InputError(f"{given}: has rules of one language; choose one {argument('side')}")
        known = None
        if known_from is not None:
            if train is not None or pos:
                raise InputError(
                    f"{argument('known_from')} stands for {argument('train')}, and has no tags; leave them out"
                )
            known = KnownOfTest.load(Path(known_from))
            known.check_normalisation(normalisation.settings)
        found = text_rows(
            _text(train, "train") if known is None else known,  # type: ignore[arg-type]
            named,
            wanted,
            sides=sides,
            columns=columns,
            normalisation=normalisation,
            min_count=min_count or 3,
            tags=_tags(pos, tags, len(named), len(sides), trust),
        )
    return Statistics(tuple(found), tuple(published_rows()) if published else ())


def _one_side(divergence: str) -> InputError:
    return InputError(f"{argument('divergence', divergence)}: its files are of one side; choose one {argument('side')}")


def _tags(pos: str | None, tags: str, tests: int, sides: int, trust: bool) -> Tags | None:
    if not pos:
        if tags != "xpos":
            raise InputError(f"{argument('tags', tags)} belongs to {argument('pos', 'conllu:FILES')}")
        return None
    if sides > 1:
        raise InputError(
            f"{argument('pos')}: tags are those of one language; choose {argument('side', 'source')} or "
            f"{argument('side', 'target')}"
        )
    return tags_from(pos, tags, tests, trust)


def _files(given: Given) -> list[str]:
    """The names of files: of one, or of the two of a corpus."""
    return [local(os.fspath(one)) for one in ([given] if is_path(given) else given)]  # type: ignore[union-attr, arg-type]


def _named(tests: Any) -> list[tuple[str, Given]]:
    """The test texts with their names."""
    if isinstance(tests, Mapping):
        return list(tests.items())
    if is_path(tests):
        return [(short_name(os.fspath(tests)), tests)]
    values = tests if isinstance(tests, tuple) else list(tests)
    if isinstance(values, list) and values and all(isinstance(value, tuple) for value in values):
        return values
    return [(short_name(os.fspath(values[0])) if isinstance(values, tuple) else "test", values)]


def _text(given: Given, name: str) -> Text | list[Path]:
    """Files, or a text in memory: a tuple is a corpus of two files, a list of strings a text."""
    if is_path(given):
        return [as_path(given)]  # type: ignore[arg-type]
    values = list(given)  # type: ignore[arg-type]
    strings = any(isinstance(one, str) for one in values) and not isinstance(given, tuple)
    if values and all(map(is_path, values)) and not strings:
        return [as_path(value) for value in values]
    return Text(name, None, as_column(values, name).values)
