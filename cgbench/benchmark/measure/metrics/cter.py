"""Compound translation error rate (Li et al. 2021, "On Compositional Generalization of Neural
Machine Translation").

A row is a source, a compound in it and a hypothesis. The row is *wrong* if the hypothesis has no
translation from the lexicon for an atom of the compound, or if atoms violate the order of the
grammar: that of CoGnition requires determiner, adjective and (unless a verb has a place) modifier
before the noun. *Instance* is the share of wrong rows, *aggregate* the share of groups (a compound
in several contexts) with a wrong row. With CoGnition's grammar, the rules and flags are those of
the evaluator published with it.

Rows of a group are not independent, so groups are resampled for both scores.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from cgbench.argument_types import Kind, Text
from cgbench.benchmark.measure.metrics.bins import Feature, lengths
from cgbench.benchmark.measure.metrics.cter_errors import agreement, reasons
from cgbench.benchmark.measure.metrics.cter_grammar import Grammar, cognition
from cgbench.benchmark.measure.metrics.cter_judge import CompoundJudge, Judgement, TypedAtom
from cgbench.benchmark.measure.metrics.cter_lexicon import Atoms, TranslationLexicon
from cgbench.benchmark.measure.metrics.metric import ExampleTexts, Metric, Signature
from cgbench.errors import InputError, argument
from cgbench.request import KW_ONLY, Request, option
from cgbench.text.columns import Column
from cgbench.text.inputs import AnyPath, is_path
from cgbench.text.profile import is_unspaced

TableOrObject: TypeAlias = Annotated[
    Any,
    Kind(
        "file",
        "the name of a file, or what was read from it",
        lambda value: is_path(value) or hasattr(value, "sha256"),
    ),
]


class CterOptions(Request):
    """The options of CTER."""

    _: KW_ONLY
    compounds: Text | None = option(
        "--compounds",
        default=None,
        help="Compound of each source",
        group="Input",
    )
    lexicon: TableOrObject | None = option(
        "--lexicon",
        default=None,
        help="Translations of the atoms; cognition: the lexicon of CoGnition",
        group="Input",
        metavar="FILE|cognition",
    )
    atoms: TableOrObject = option(
        "--set atoms",
        default="cognition",
        help="Atoms by type",
        group="Input",
    )
    grammar: TableOrObject = option(
        "--set grammar",
        default="cognition",
        help="Types of atoms and their order",
        group="Advanced",
    )
    match: Literal["substring", "word"] = option(
        "--set match",
        default="substring",
        help="Find translations as characters or as whole words",
        group="Advanced",
    )
    lowercase: bool = option(
        "--lowercase",
        default=False,
        help="Ignore case",
        group="Metric",
    )
    group_size: int = option(
        "--set group_size",
        default=5,
        help="Number of contexts per compound",
        group="Advanced",
        least=1,
    )
    keep_blanks: bool = option(
        "--set keep_blanks",
        default=False,
        help="Keep blanks in hypotheses (for languages other than Chinese)",
        group="Advanced",
    )
    human: Text | None = option(
        "--set human",
        default=None,
        help="Human judgements: 1 right, 0 wrong",
    )


class Cter(Metric):
    """Compound translation error rate: instance and aggregate, by phrase type, with reasons.

    It needs --source. --by is also compound-length, context-length, modifier or type, --cluster
    compound or context (both by default).
    """

    name = "CTER"
    figures = ("instance", "aggregate")
    unit = "%"
    needs = "sources"
    lower_is_better = True
    joins_pieces = True
    option_types = CterOptions
    feature_units = MappingProxyType(
        {"type": "", "compound-length": "words", "context-length": "words", "modifier": ""}
    )

    def __init__(
        self,
        sources: Column,
        compounds: Column,
        lexicon: TranslationLexicon,
        atoms: Atoms,
        *,
        group_size: int = 5,
        keep_blanks: bool = False,
    ) -> None:
        """
        :param lexicon: translations, and how to match them.
        :param atoms: atoms with their grammar.
        :param keep_blanks: keep the blanks of hypotheses; the published evaluator, made for
            Chinese, removes them (:class:`.CompoundJudge`).
        :raises InputError: lengths differ, a compound is not in its source, a word is not an atom
            or not in the lexicon, or a group is incomplete.
        """
        if len(sources) != len(compounds):
            raise InputError(
                f"{sources.name} has {len(sources):,} rows but {compounds.name} has"
                f" {len(compounds):,}: give one compound per source"
            )
        if not len(sources):
            raise InputError(f"{sources.name}: no rows")
        self.sources, self.compounds = sources.values, compounds.values
        self.lexicon, self.atoms, self.grammar = lexicon, atoms, atoms.grammar
        self.group_size = group_size
        self.compound_judge = CompoundJudge(lexicon, atoms, keep_blanks=keep_blanks)
        self.atoms_of = self._parsed(compounds)
        self.groups = _groups(compounds, group_size)  # int64 [n], the group of each row
        phrases = {
            compound: self.grammar.kind(self.types_of(compound)) for compound in self.atoms_of
        }
        self.kinds = [phrases[compound] for compound in self.compounds]
        self._judged: dict[tuple[str, str], Judgement] = {}

    def _parsed(self, compounds: Column) -> dict[str, list[TypedAtom]]:
        """The atoms of each compound, which must be in its source."""
        atoms_of: dict[str, list[TypedAtom]] = {}
        for row, (source, compound) in enumerate(zip(self.sources, self.compounds, strict=True)):
            if not compound.strip():
                raise InputError(f"{compounds.row(row)}: the compound is empty")
            if compound not in source:
                raise InputError(
                    f"{compounds.row(row)}: {compound!r} is not in its source {source!r}"
                )
            if compound not in atoms_of:
                atoms_of[compound] = self.compound_judge.parse(compound, compounds.row(row))
        return atoms_of

    @classmethod
    def make(  # type: ignore[override]
        cls,
        texts: ExampleTexts,
        *,
        lexicon: AnyPath | TranslationLexicon | None = None,
        atoms: AnyPath | Atoms = "cognition",
        grammar: AnyPath | Grammar = "cognition",
        match: str = "substring",
        lowercase: bool = False,
        group_size: int = 5,
        keep_blanks: bool = False,
    ) -> Cter:
        """CTER for sources and their compounds; ``cognition`` selects the files of that benchmark.

        :raises InputError: something is missing or malformed, or compounds, lexicon and sources do
            not match.
        """
        if texts.sources is None:
            raise InputError(f"CTER needs the sources of the compounds: give {argument('sources')}")
        if texts.compounds is None or lexicon is None:
            missing = "compounds" if texts.compounds is None else "lexicon"
            raise InputError(
                "CTER needs compounds and the translations of their atoms: give"
                f" {argument(missing)}"
            )
        if match == "word" and keep_blanks:
            raise InputError(
                f"{argument('match', match)} always keeps blanks between words; leave"
                f" {argument('keep_blanks')} out"
            )
        if not isinstance(lexicon, TranslationLexicon):
            lexicon = TranslationLexicon.read(os.fspath(lexicon), match, lowercase)
        if not isinstance(atoms, Atoms):
            rules = grammar if isinstance(grammar, Grammar) else Grammar.read(os.fspath(grammar))
            atoms = Atoms.read(os.fspath(atoms), rules)
        return cls(
            texts.sources,
            texts.compounds,
            lexicon,
            atoms,
            group_size=group_size,
            keep_blanks=keep_blanks,
        )

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.sources)

    def types_of(self, compound: str) -> set[str]:
        """The types of the atoms of a compound."""
        return {atom.kind for atom in self.atoms_of[compound]}

    def signature(self) -> Signature:
        """Hashes of lexicon, atoms and grammar, the size of a group, and how translations are
        matched.

        CoGnition's defaults are left out. ``match`` is included if a translation has special
        characters, since a regular expression would match differently.
        """
        lexicon, grammar = self.lexicon, self.grammar
        is_cognition = grammar.sha256 == cognition().sha256
        keeps_blanks = self.compound_judge.keep_blanks and lexicon.match != "word"
        plain = lexicon.match == "substring" and not lexicon.special
        items = {
            "lexicon": lexicon.sha256[:8],
            "atoms": f"{self.atoms.name}@{self.atoms.sha256[:8]}",
            "grammar": None if is_cognition else f"{grammar.name}@{grammar.sha256[:8]}",
            "group": self.group_size,
            "match": None if plain else lexicon.match,
            "case": "lc" if lexicon.lowercase else None,
            "blanks": "keep" if keeps_blanks else None,
        }
        return Signature(items, {"lexicon": "lex", "group": "g", "case": "c"})

    def rules(self) -> list[list[dict[str, Any]]]:
        """The same errors as rules of each row, for ``cgbench score rules``."""
        return [self.compound_judge.rules(self.atoms_of[compound]) for compound in self.compounds]

    def judge(self, compound: str, hypothesis: str) -> Judgement:
        """Judge one row."""
        return self.compound_judge.judge(self.atoms_of[compound], hypothesis)

    def judge_all(self, hypotheses: Sequence[str]) -> list[Judgement]:
        """Judge every row; equal hypotheses of systems and runs are judged once."""
        self.check_hypotheses(hypotheses)
        rows = list(zip(self.compounds, hypotheses, strict=True))
        for row in rows:
            if row not in self._judged:
                self._judged[row] = self.judge(*row)
        return [self._judged[row] for row in rows]

    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """(wrong, 1) for each row."""
        wrong = np.array([judged.wrong for judged in self.judge_all(hypotheses)], np.float64)
        return np.stack([wrong, np.ones(self.n)], axis=1)

    def collect(self, statistics: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(wrong rows, rows, wrong groups, groups) for each group; the last two are 0 if ``rows``
        split a group.
        """
        group = np.unique(self.groups[rows], return_inverse=True)[1]
        wrong = np.bincount(group, statistics[rows, 0])
        count = np.bincount(group, statistics[rows, 1])  # rows that do not count have zeros
        are_complete = float(np.all((count == self.group_size) | (count == 0)))
        return np.stack(
            [wrong, count, (wrong > 0) * are_complete, (count > 0) * are_complete], axis=1
        )

    def collect_clusters(
        self, statistics: np.ndarray, rows: np.ndarray, labels: np.ndarray
    ) -> np.ndarray:
        """The statistics of :meth:`collect` by cluster.

        Groups that clusters cut through, as contexts do, cannot be left out with a cluster: NaN.
        """
        groups, group = np.unique(self.groups[rows], return_inverse=True)
        units, clusters = self.collect(statistics, rows), int(labels.max()) + 1
        first = np.zeros(len(groups), np.int64)
        first[group] = labels
        if np.array_equal(first[group], labels):
            return np.stack([np.bincount(first, column, clusters) for column in units.T], axis=1)
        unknown = np.full(clusters, np.nan)
        wrong, count = (np.bincount(labels, column, clusters) for column in statistics[rows].T)
        return np.stack([wrong, count, unknown, unknown], axis=1)

    def outcomes(self, statistics: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
        """1 for a wrong row or group."""
        units = self.collect(statistics, rows)
        return {"instance": statistics[rows, 0]} | (
            {"aggregate": units[:, 2]} if units[0, 3] else {}
        )

    def describe(self, sums: np.ndarray) -> str:
        """The counts."""
        return f"({sums[0]:,.0f} of {sums[1]:,.0f} rows, {sums[2]:,.0f} of {sums[3]:,.0f} groups)"

    def per_example(
        self, hypotheses: Sequence[str], statistics: np.ndarray
    ) -> list[dict[str, Any]]:
        """``flag``, ``correct`` and the reasons: atoms ``missing``, pairs out of ``order``."""
        return [
            {
                "flag": judged.flag,
                "correct": int(not judged.wrong),
                "type": kind,
                "compound": compound,
                "missing": " ".join(judged.missing),
                "order": " ".join(judged.order),
            }
            for judged, kind, compound in zip(
                self.judge_all(hypotheses), self.kinds, self.compounds, strict=True
            )
        ]

    def reason(self, index: int, text: str) -> str:
        """Atoms without a translation, and pairs out of order."""
        return "; ".join(self.judge(self.compounds[index], text).reasons)

    def published_benchmark(self) -> str | None:
        """CoGnition, if its atoms and grammar are used."""
        return "CoGnition" if self.atoms.name == self.grammar.name == "cognition" else None

    def cluster_labels(self) -> dict[str, list[str]]:
        """Compounds, and contexts: the sources without them."""
        contexts = [
            source.replace(compound, "\0", 1)
            for source, compound in zip(self.sources, self.compounds, strict=True)
        ]
        return {"compound": list(self.compounds), "context": contexts}

    def feature(self, name: str) -> Feature | None:
        """Length of compounds, length of the source around them, type, and whether they contain a
        modifier.
        """
        if name == "compound-length":
            return Feature(name, lengths(self.compounds))
        if name == "context-length":
            return Feature(name, lengths(self.sources) - lengths(self.compounds))
        if name == "type":
            return Feature(name, labels=tuple(self.kinds))
        if name != "modifier":
            return None
        modifiers = set(self.grammar.modifiers)
        if not modifiers:
            raise InputError(
                f"{argument('by', name)}: the grammar {self.grammar.name} has no row modifier"
            )
        types_by_compound = (self.types_of(compound) & modifiers for compound in self.compounds)
        return Feature(
            name,
            labels=tuple("with" if types else "without" for types in types_by_compound),
        )

    def findings(
        self, runs: Sequence[Sequence[str]], statistics: Sequence[np.ndarray], human: Column | None
    ) -> dict[str, Any]:
        """Scores per phrase type (as shares), counts of the reasons for errors, and the agreement
        of the first run with human judgements."""
        kinds, by_type = np.array(self.kinds), {}
        for kind in self.grammar.kinds:
            rows = np.flatnonzero(kinds == kind)
            if len(rows):
                values = (
                    np.mean([self.value(run, rows) for run in statistics], axis=0) / 100
                ).tolist()
                counts: dict[str, Any] = {
                    "n": len(rows),
                    "groups": len(np.unique(self.groups[rows])),
                }
                shares = (None if math.isnan(value) else value for value in values)
                by_type[kind] = counts | dict(zip(self.figures, shares, strict=True))
        rows_of_runs = [
            self.per_example(run, run_statistics)
            for run, run_statistics in zip(runs, statistics, strict=True)
        ]
        return {
            "by_type": by_type,
            "errors": reasons([row for rows in rows_of_runs for row in rows]),
            "human": agreement(rows_of_runs[0], human, self.groups) if human else None,
        }

    def warnings(
        self, systems: Mapping[str, Sequence[Sequence[str]]], paired: str | None
    ) -> list[str]:
        """Warnings about matching that does not suit the text, and about a test that rejects too
        often.
        """
        lines = []
        if self.lexicon.match == "word":
            lines += [
                f"{name}: hypotheses without blanks between words, in which"
                f" {argument('match', 'word')} finds no translation; choose"
                f" {argument('match', 'substring')}, or insert blanks between words"
                for name, runs in systems.items()
                if any(is_unspaced(run) for run in runs)
            ]
        if self.lexicon.match == "substring" and self.lexicon.special:
            lines.append(
                f"{self.lexicon.special} is searched literally; CoGnition's evaluator treats it as"
                " a regular expression"
            )
        if paired == "mcnemar" and self.group_size > 1:
            lines.append(
                "McNemar's test of CTER instance wrongly assumes that the rows of a compound are"
                f" independent, and rejects too often; {argument('paired', 'calibrated')} resamples"
                " compounds"
            )
        return lines


def _groups(compounds: Column, size: int) -> np.ndarray:
    """The group of each row: ``size`` consecutive rows of one compound.

    :raises InputError: consecutive rows of a compound are not a multiple of ``size``.
    """
    begin = 0
    for compound, rows in groupby(compounds.values):
        count = len(list(rows))
        if count % size:
            raise InputError(
                f"{compounds.row(begin)}: {compound!r} has {count} rows from here, but a group has"
                f" {size} rows; complete it, or give {argument('group_size')}"
            )
        begin += count
    return np.arange(begin) // size
