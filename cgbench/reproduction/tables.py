"""Reproducible tables, and the benchmarks with the systems that the papers ran on them.

``benchmarks/*.yaml`` define how systems are trained and tested, ``tables.yaml`` the scores in each
table. The published scores are in :mod:`cgbench.benchmark.measure.metrics.published`.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from cgbench.benchmark.measure.metrics.published import PAPERS, PublishedScore, all_published
from cgbench.data_recipes.prepared import set_folder
from cgbench.errors import InputError
from cgbench.settings import did_you_mean, make_settings
from cgbench.yaml_text import load_yaml

TEXTS = "r-dangle T2"  # a table of test sets, not of systems


@dataclass(frozen=True)
class PublishedSystem:
    """How a paper's system is trained and tested on one benchmark.

    :param preset: model and training; ``set``: changes of it, by dotted name. Without a preset
        nothing is trained, and the test text itself is measured.
    :param pipeline: a method that trains several networks, instead of a preset: ``hpd``;
        ``pipeline_set``: its settings.
    :param lexicon: method that learns its lexicon; ``lexicon_set``: settings of the method.
    :param lexicon_file: path of a lexicon in the prepared data to use instead.
    :param augment: settings of GECA, and ``ratio``, the share of new pairs in the training text; or
        ``method: csl`` with its settings, and ``copies`` of the training text.
    :param hold_out: ``share`` of the training text used for validation, and which pairs (``last``
        or ``random``), for benchmarks without a validation split.
    :param beam: beam size for the test; 1 is greedy search. ``length_penalty``: power of the length
        that the scores of hypotheses are divided by; ``length_offset``: 0 for the length itself, 5
        for that of Wu et al. (2016).
    :param spelling: texts of targets that the pre-trained vocabulary lacks, and what the model is
        trained on instead; references are compared in this spelling.
    :param init: name on the hub of the pre-trained model from which it starts; the user gives its
        address.
    :param splits: splits used instead of the benchmark's: ``train``, ``valid``, ``tests``,
        ``dictionary``.
    :param same_as: another name of that system, whose runs it shares.
    :param short: fraction of the updates in a ``short`` run, if not that of the benchmark.
    """

    name: str
    preset: str = ""
    pipeline: str = ""
    pipeline_set: Mapping[str, Any] = field(default_factory=dict)
    set: Mapping[str, Any] = field(default_factory=dict)
    lexicon: str = ""
    lexicon_set: Mapping[str, Any] = field(default_factory=dict)
    lexicon_file: str = ""
    augment: Mapping[str, Any] = field(default_factory=dict)
    hold_out: Mapping[str, Any] = field(default_factory=dict)
    beam: int = 1
    length_penalty: float = 1.0
    length_offset: float = 0.0
    spelling: Mapping[str, str] = field(default_factory=dict)
    init: str = ""
    splits: Mapping[str, Any] = field(default_factory=dict)
    same_as: str = ""
    short: float = 0.0


@dataclass(frozen=True)
class Benchmark:
    """Training and test data.

    :param data: the recipe; ``form``: one of its forms, or empty.
    :param train, valid: splits, the latter optional.
    :param tests: measures on each split (:mod:`cgbench.reproduction.measured`).
    :param side: side of a test text that is measured without a system: ``source`` or ``target``.
    :param dictionary: splits whose words make the dictionaries, as in several papers (default: the
        training text).
    :param more_words: words of the ``source`` and ``target`` dictionary that are in no split.
    :param empty_word: token for the empty word between two blanks, which the authors' code counts
        as a word.
    :param short: fraction of the updates and the warm-up in a ``short`` run; ``short_rows``: number
        of its test rows, evenly spaced, 0 for all.
    """

    name: str
    data: str
    train: str
    tests: Mapping[str, Sequence[str]]
    valid: str = ""
    form: str = ""
    side: str = "source"
    dictionary: Sequence[str] = ()
    more_words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    empty_word: str = ""
    short: float = 0.1
    short_rows: int = 0
    systems: Mapping[str, PublishedSystem] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Name of the folder of its prepared set."""
        return set_folder(self.data, self.form)

    @property
    def splits(self) -> list[str]:
        """All splits used."""
        return list(
            dict.fromkeys(filter(None, (self.train, self.valid, *self.dictionary, *self.tests)))
        )


@dataclass(frozen=True)
class TableRow:
    """A row of a table: a system on a benchmark.

    :param figures: published scores; none for a system that the paper names without a score.
    :param why: why it cannot be run; empty if it can.
    :param init: the pre-trained model that it needs.
    """

    benchmark: str
    system: str
    figures: Sequence[PublishedScore]
    why: str = ""
    init: str = ""


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper.

    :param source: its name in the source column of the published results.
    :param shared: scores listed under another table: systems by ``source``, only on the benchmarks
        of this table, and only for its ``metrics`` if given.
    :param benchmarks: names in order (default: those of the scores).
    :param best_of: systems for which the paper shows the best of several others.
    :param also: further systems that can be run, without a published score.
    :param seeds: the paper's seeds on a benchmark, if stated; else 1 to its number of runs.
    :param left_out: systems and benchmarks that cannot be run, with reasons; ``why``: why none can.
    :param note: a note for the reader.
    """

    name: str
    title: str
    source: str = ""
    shared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    metrics: Sequence[str] = ()
    benchmarks: Sequence[str] = ()
    best_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    also: Sequence[str] = ()
    seeds: Mapping[str, Sequence[int]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    why: str = ""
    note: str = ""

    @property
    def paper(self) -> str:
        """The full reference of the paper."""
        return PAPERS[self.name.rpartition("-")[0]]

    @property
    def figures(self) -> list[PublishedScore]:
        """The published scores in this table, in the order of the list."""
        if self.source != TEXTS:
            return [row for row in all_published() if self._shows(row)]
        # The degrees and novel n-grams in Table 2 of Zheng and Lapata 2023.
        text = (
            resources.files("cgbench.benchmark.measure")
            .joinpath("published", "table2.tsv")
            .read_text(encoding="utf-8")
        )
        columns = {
            "degree": "degree",
            "novel word 2-grams": "word 2",
            "novel word 3-grams": "word 3",
        }
        return [
            PublishedScore(row["name"], "test set", figure, row[column], "", "", row["source"])
            for row in csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
            for figure, column in columns.items()
        ]

    def _shows(self, row: PublishedScore) -> bool:
        if row.source == self.source:
            return True
        known = row.system in self.shared.get(row.source, ()) and row.metric in (
            self.metrics or (row.metric,)
        )
        return known and (
            not self.benchmarks or row.benchmark in (*self.benchmarks, *self.left_out)
        )

    @property
    def rows(self) -> list[TableRow]:
        """One row per system and benchmark."""
        figures_by_row: dict[tuple[str, str], list[PublishedScore]] = {}
        for figure in self.figures:
            figures_by_row.setdefault((figure.benchmark, figure.system), []).append(figure)
        for benchmark in self.benchmarks:
            for name in self.also:
                if name in all_benchmarks()[benchmark].systems:
                    figures_by_row.setdefault((benchmark, name), [])
        rows = []
        for (benchmark, system), figures in figures_by_row.items():
            names = self.parts(benchmark, system)
            why = self.left_out.get(system) or self.left_out.get(benchmark) or self.why
            assert why or names, f"{self.name}: nothing runs {system} on {benchmark}"
            init = next((all_benchmarks()[benchmark].systems[name].init for name in names), "")
            rows.append(TableRow(benchmark, system, figures, why, init))
        return rows

    def left(self, row: TableRow) -> str:
        """The part left out with a row that cannot be run: its system, or its whole benchmark."""
        return (
            row.benchmark
            if row.benchmark in self.left_out and row.system not in self.left_out
            else row.system
        )

    def parts(self, benchmark: str, system: str) -> list[str]:
        """The systems that are run for a row; several if the paper shows the best of them."""
        known = all_benchmarks()[benchmark].systems if benchmark in all_benchmarks() else {}
        return [name for name in self.best_of.get(system, (system,)) if name in known]

    @property
    def notes(self) -> list[str]:
        """The table's note, then those of its published scores."""
        of_scores = dict.fromkeys(f"{row.system}: {row.note}" for row in self.figures if row.note)
        return [*filter(None, [self.note]), *of_scores]

    @property
    def runs(self) -> bool:
        """Whether any row can be run."""
        return any(not row.why for row in self.rows)

    @property
    def systems(self) -> list[str]:
        """The names of the systems that can be run, in order; for the best of several, all of
        these.
        """
        runnable = (row for row in self.rows if not row.why)
        return list(
            dict.fromkeys(
                name for row in runnable for name in self.parts(row.benchmark, row.system)
            )
        )

    def seeds_of(self, benchmark: str) -> list[int]:
        """The seeds of a benchmark: the paper's if stated, else 1 to its number of runs."""
        if benchmark in self.seeds:
            return list(self.seeds[benchmark])
        counts = [
            int(figure.runs)
            for figure in self.figures
            if figure.benchmark == benchmark and figure.runs
        ]
        return list(range(1, max(counts, default=1) + 1))


@cache
def all_benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by name."""
    benchmarks: dict[str, Benchmark] = {}
    folder = resources.files("cgbench.reproduction").joinpath("benchmarks")
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".yaml"):
            continue
        for name, values in load_yaml(file, aliases=True).items():
            system_specs = values.pop("systems")
            # One entry stands for several benchmarks that differ only in a number.
            for value in values.pop("each", [None]):
                fields = _filled({"name": name, **values}, value)
                systems = {
                    key: make_settings(
                        PublishedSystem, {"name": key, **_filled(spec, value)}, f"{name}.{key}"
                    )
                    for key, spec in system_specs.items()
                }
                systems = {
                    key: systems.get(system.same_as, system) for key, system in systems.items()
                }
                benchmarks[fields["name"]] = make_settings(
                    Benchmark, {**fields, "systems": systems}, fields["name"]
                )
    return benchmarks


@cache
def all_tables() -> dict[str, PublishedTable]:
    """Every table by name (``lexicon-3``), in the order of the file."""
    file = resources.files("cgbench.reproduction").joinpath("tables.yaml")
    return {
        name: make_settings(PublishedTable, {"name": name, **values}, name)
        for name, values in load_yaml(file, aliases=True).items()
    }


def find_table(name: str) -> PublishedTable:
    """A table that can be run.

    :raises InputError: the name is unknown, or no row can be run.
    """
    table = named_table(name)
    if not table.runs:
        why = dict.fromkeys(row.why for row in table.rows)
        raise InputError(f"{name}: cannot be run: {table.why or '; '.join(why)}")
    return table


def named_table(name: str) -> PublishedTable:
    """A table, whether it can be run or not.

    :raises InputError: the name is unknown.
    """
    tables = all_tables()
    if name not in tables:
        raise InputError(
            f"unknown table {name!r}{did_you_mean(name, tables)}; cgbench reproduce list shows them"
        )
    return tables[name]


def _filled(value: Any, count: int | None) -> Any:
    """``value`` with every ``{}`` in its text replaced."""
    if count is None:
        return value
    if isinstance(value, str):
        return value.replace("{}", str(count))
    if isinstance(value, Mapping):
        return {_filled(key, count): _filled(item, count) for key, item in value.items()}
    return [_filled(item, count) for item in value] if isinstance(value, list) else value
