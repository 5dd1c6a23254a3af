"""``stats()``: new material in test texts, as ``cgbench stats`` prints it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.benchmark.build.stats.request import StatsRequest
from cgbench.benchmark.build.stats.single_texts import Text, check_sentences, read_single_text
from cgbench.benchmark.build.stats.text_statistics import (
    StatsRow,
    Training,
    Wanted,
    measure_text,
    statistics_as_json,
)
from cgbench.benchmark.measure.divergence.chance import check_random_splits
from cgbench.benchmark.measure.overlap.corpus_counts import CorpusCounts, check_words_alike
from cgbench.errors import InputError, argument, require
from cgbench.request import accepts, given_values
from cgbench.tables import FORMS, Note, OutputTable, as_text
from cgbench.text.columns import short_name
from cgbench.text.inputs import AnyPath, as_column, is_path, local_path
from cgbench.text.normalisation import normaliser

if TYPE_CHECKING:
    import pandas

    from cgbench.benchmark.build.stats.pos import Tags

STATISTICS = ("mean", "sd", "z")  # of random splits
Source = AnyPath | Iterable[Any]
"""A file, a corpus of two (a tuple of paths), or the sentences themselves (an iterable of strings).
"""


@dataclass(frozen=True, repr=False)
class Statistics:
    """One row per test text.

    ``repr`` is the output of ``cgbench stats``; a notebook shows it as tables.
    """

    rows: tuple[StatsRow, ...]

    def to_pandas(self) -> pandas.DataFrame:
        """One row per test text: examples, mean length, degree and its quantiles, novel n-grams by
        order, signature.

        :raises InputError: pandas is not installed.
        """
        pandas = require("pandas", "pandas")
        records = []
        for row in self.to_json():
            record = {key: row[key] for key in ("name", "examples", "mean_length", "degree")}
            record |= {f"degree {name}": value for name, value in row["degree_quantiles"].items()}
            for label, counts in (("word", row["word_ngrams"]), ("POS", row["pos_ngrams"])):
                for order, order_counts in (counts or {}).items():
                    record |= {
                        f"{label} {order}": order_counts["novel"],
                        f"{label} {order} share": order_counts["share"],
                    }
            if row["divergence"]:
                for name in ("atom", "compound"):
                    record[f"{name} divergence"] = row["divergence"][f"{name}_divergence"]
                    record[f"{name} divergence z"] = (
                        row["divergence"][f"{name}_chance"] or {}
                    ).get("z")
            records.append(record | {"signature": row["signature"]})
        return pandas.DataFrame(records)

    def to_json(self) -> list[dict[str, Any]]:
        """The rows as JSON values; the schema is in ``docs/reference/formats.md``."""
        return list(map(statistics_as_json, self.rows))

    def to_latex(self) -> str:
        """The tables in LaTeX (booktabs, graphicx)."""
        return self.report("latex")

    def report(self, form: str = "text") -> str:
        """The output of ``cgbench stats`` as ``text``, ``json``, ``tsv``, ``markdown``, ``latex``
        or ``html``.
        """
        if form not in (*FORMS, "json"):
            raise InputError(
                f"{argument('form', form)}: it must be one of {', '.join((*FORMS, 'json'))}"
            )
        if form == "json":
            values = self.to_json()
            return json.dumps(
                values[0] if len(values) == 1 else values, ensure_ascii=False, indent=1
            )
        exact = form == "tsv"
        notes = [] if exact else [_signatures(self.rows)]  # there the signature is a column
        return as_text(
            [_main_table(self.rows, exact), _divergences(self.rows, exact), *notes], form
        )

    def plot(self) -> Any:
        """Draw the share of novel n-grams by length, one line per test text.

        :returns: a figure of matplotlib, which a notebook shows; ``figure.savefig("file.svg")``
            writes it.
        :raises InputError: matplotlib is not installed.
        """
        from cgbench.plots import Chart, Series, draw_charts

        rows = {row["name"]: row["word_ngrams"] for row in self.to_json()}
        orders = list(next(iter(rows.values())))
        series = [
            Series(name, [100 * row[order]["share"] for order in orders])
            for name, row in rows.items()
        ]
        return draw_charts([Chart(orders, series, "", "novel n-grams, %", "words in the n-gram")])

    def __repr__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        return self.report("html")


@accepts(StatsRequest)
def stats(request: StatsRequest) -> Statistics:
    """Measure what is new in a test text: degree, novel n-grams of words and parts of speech.

    A training text is a file (plain, compressed, ``TABLE:COLUMN``, a table with both sides), a
    corpus of two files, ``(source, target)``, or a list of sentences. Test texts have the same
    forms; several are ``{name: text}`` or a list of such pairs. With a ``release``, ``train`` is
    the current path of its training text.

    :raises InputError: a text is missing, empty or has an empty sentence, or arguments do not fit
        together.
    """
    kind = None
    both_sides = request.side == "both" or (request.release is not None and request.side is None)
    if request.divergence:
        from cgbench.benchmark.measure.divergence.elements import OF_FILES, element_type

        kind = element_type(request.divergence, request.weights, "divergence")
        if kind.name in OF_FILES and both_sides:
            option = argument("divergence", request.divergence)
            raise InputError(
                f"{option}: its files belong to one side; choose one {argument('side')}"
            )
    elif request.weights != "specific":
        raise InputError(f"{argument('weights', request.weights)} needs {argument('divergence')}")
    check_random_splits(request.random_splits)
    counts = Wanted(tuple(sorted(set(request.orders))), kind, request.random_splits)
    rows = (
        _of_release(request, counts) if request.release is not None else _of_texts(request, counts)
    )
    return Statistics(tuple(rows))


def _of_release(request: StatsRequest, counts: Wanted) -> Iterable[StatsRow]:
    from cgbench.benchmark.build.stats.release_statistics import open_release, release_rows

    text_options = (
        "tests",
        "known_from",
        "min_count",
        "columns",
        "tokenize",
        "language",
        "lowercase",
        "detokenize",
    )
    requested = given_values(request)
    for name in text_options:
        if requested.get(name):
            raise InputError(f"{argument(name)}: the release sets this itself; leave it out")
    train: Any = request.train if request.train is not None else ()
    files = [local_path(path) for path in ([train] if is_path(train) else train)]
    tags = _tags(request, 1, 2 if request.side in (None, "both") else 1)
    return release_rows(
        open_release(local_path(request.release or ""), files), counts, request.side, tags
    )


def _of_texts(request: StatsRequest, counts: Wanted) -> Iterator[StatsRow]:
    """One row per side and test text."""
    if (request.train is None and request.known_from is None) or request.tests is None:
        raise InputError(
            f"two texts are needed: {argument('train')} and {argument('tests')} (or"
            f" {argument('release')})"
        )
    # The texts, and whether the options fit them.
    named_texts = [(name, _text(text, name)) for name, text in _named(request.tests)]
    sides = ("source", "target") if request.side == "both" else (request.side,)
    normalisation = request.text.normalisation
    if len(sides) > 1 and normalisation.tokenizes:
        which = (
            argument("detokenize")
            if request.text.words.tokenize == "none"
            else argument("tokenize", request.text.words.tokenize)
        )
        raise InputError(f"{which}: its rules are for one language; choose one {argument('side')}")
    # A training text, or the result of cgbench overlap on the test texts.
    known = None
    if request.known_from is not None:
        if request.train is not None or request.pos:
            raise InputError(
                f"{argument('known_from')} replaces {argument('train')}, and has no tags; leave"
                " them out"
            )
        known = CorpusCounts.load(local_path(request.known_from))
        check_words_alike(known.folder, known.units, normalisation.settings)
    train = _text(request.train, "train") if known is None else []
    tags = _tags(request, len(named_texts), len(sides))
    change = None if normalisation.is_identity else normaliser(normalisation, request.text.language)
    # One row per text, side by side.
    for side in sides:
        texts = [
            read_single_text(text, request.table.columns, side, change, keep=True)
            for _, text in named_texts
        ]
        for text in texts:
            check_sentences(text)  # before reading the training text, which may take minutes
        if known is not None:
            training = Training.of_overlap(known, texts, request.min_count)
        else:
            text = read_single_text(train, request.table.columns, side, change, keep=False)
            training = Training.learn(text, request.min_count)
        for text_number, ((name, _), text) in enumerate(zip(named_texts, texts, strict=True)):
            label = f"{name} {side}" if len(sides) > 1 else name
            yield measure_text(training, text, label, counts, normalisation, tags, text_number)


def _tags(request: StatsRequest, tests: int, sides: int) -> Tags | None:
    if not request.pos:
        if request.tags != "xpos":
            raise InputError(
                f"{argument('tags', request.tags)} needs {argument('pos', 'conllu:FILES')}"
            )
        return None
    if sides > 1:
        raise InputError(
            f"{argument('pos')}: tags are for one language; choose {argument('side', 'source')} or "
            f"{argument('side', 'target')}"
        )
    from cgbench.benchmark.build.stats.pos import tags_from

    return tags_from(request.pos, request.tags, tests, request.trust)


def _named(tests: Any) -> list[tuple[str, Source]]:
    if isinstance(tests, Mapping):
        return list(tests.items())
    if is_path(tests):
        return [(short_name(os.fspath(tests)), tests)]
    values = tests if isinstance(tests, tuple) else list(tests)
    if isinstance(values, list) and values and all(isinstance(value, tuple) for value in values):
        return values
    return [(short_name(os.fspath(values[0])) if isinstance(values, tuple) else "test", values)]


def _text(source: Any, name: str) -> Text | list[Path]:
    """Files, or a text in memory: a tuple is a corpus of two files, a list of strings a text."""
    if is_path(source):
        return [local_path(source)]
    values = list(source)
    strings = any(isinstance(row, str) for row in values) and not isinstance(source, tuple)
    if values and all(map(is_path, values)) and not strings:
        return [local_path(value) for value in values]
    return Text(name, None, as_column(values, name).values)


# The output: tables, with signatures below.


def _main_table(rows: Sequence[StatsRow], exact: bool) -> OutputTable:
    """The rows of Table 2; as exact values, for TSV, also the quantiles of the degree."""
    unit, lines = " share" if exact else " %", []
    for row in rows:
        cells = [("test", row.name), ("examples", _cell(row.examples, exact))]
        cells += [
            ("mean length", _cell(row.mean_length, exact, ".2f")),
            ("degree", _cell(row.degree, exact, ".3f")),
        ]
        for label, counts in (("word", row.words), ("POS", row.pos)):
            for order in row.words:
                ngrams = counts[order] if counts else None
                share = _cell(ngrams.share, exact, ".1f", percent=True) if ngrams else ""
                novel = _cell(ngrams.novel, exact) if ngrams else ""
                cells += [(f"{label} {order}", novel), (f"{label} {order}{unit}", share)]
        if exact:
            cells += [(f"degree {name}", repr(value)) for name, value in row.quantiles.items()]
            cells += [
                ("signature", str(row.signature)),
                ("signature_short", row.signature.format(short=True)),
            ]
        lines.append(cells)
    return OutputTable(
        [name for name, _ in lines[0]], [[cell for _, cell in line] for line in lines]
    )


def _divergences(rows: Sequence[StatsRow], exact: bool) -> OutputTable:
    head = ["test", "elements"]
    for name in ("atom", "compound"):
        head += [f"{name} divergence"]
        head += [f"random {name} {statistic}" for statistic in STATISTICS] if exact else ["random"]
    head += ["atoms", "not in training", "compounds", "not in training"]
    lines = []
    for row in rows:
        if measured := row.divergence:
            cells = [row.name, measured.elements]
            for value, chance in (
                (measured.atom, measured.atom_chance),
                (measured.compound, measured.compound_chance),
            ):
                drawn = [_cell(getattr(chance, statistic, None), exact) for statistic in STATISTICS]
                cells += [_cell(value, exact, ".4f"), *(drawn if exact else [str(chance or "-")])]
            counts = (
                measured.atoms,
                len(measured.lone_atoms),
                measured.compounds,
                measured.novel_compounds,
            )
            lines.append([*cells, *(_cell(count, exact) for count in counts)])
    return OutputTable(head, lines)


def _cell(value: float | None, exact: bool, form: str = ",", percent: bool = False) -> str:
    """A number as it is in TSV, otherwise in a form, and perhaps in percent."""
    if value is None:
        return "" if exact else "-"
    return repr(value) if exact else format(100 * value if percent else value, form)


def _signatures(rows: Sequence[StatsRow]) -> Note:
    lines = []
    for row in rows:
        name = f"{row.name}  " if len(rows) > 1 else ""
        lines.append(f"{name}signature  STATS|{row.signature}")
    return Note("\n".join(lines), code=True)
