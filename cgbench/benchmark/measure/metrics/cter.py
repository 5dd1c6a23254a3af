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
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from cgbench.argument_types import Kind, Text
from cgbench.benchmark.measure.metrics.bins import Feature, lengths
from cgbench.benchmark.measure.metrics.cter_grammar import Grammar, cognition
from cgbench.benchmark.measure.metrics.cter_lexicon import Atoms, TranslationLexicon
from cgbench.benchmark.measure.metrics.metric import ExampleTexts, Metric, Signature
from cgbench.errors import InputError, argument
from cgbench.request import KW_ONLY, Request, option
from cgbench.settings import did_you_mean
from cgbench.text.columns import Column
from cgbench.text.inputs import AnyPath, is_path
from cgbench.text.plain_text import words_of
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


@dataclass(frozen=True)
class Judgement:
    """The result for a row: its ``flag``, the atoms ``missing``, the pairs out of ``order``."""

    flag: str
    missing: tuple[str, ...]
    order: tuple[str, ...]
    wrong: bool

    @property
    def reasons(self) -> list[str]:
        """Why the row is wrong, in words."""
        return [f"no translation of {name}" for name in self.missing] + [
            f"order {rule}" for rule in self.order
        ]


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
            Chinese, removes them. Whole words are always matched with blanks.
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
        self.lexicon, self.atoms, self.group_size = lexicon, atoms, group_size
        self.keep_blanks = keep_blanks or lexicon.match == "word"
        self.grammar = atoms.grammar
        parsed: dict[str, list[tuple[str, str]]] = {}
        for row, (source, compound) in enumerate(zip(self.sources, self.compounds, strict=True)):
            if not compound.strip() or compound not in source:
                problem = (
                    f"{compound!r} is not in its source {source!r}"
                    if compound.strip()
                    else "the compound is empty"
                )
                raise InputError(f"{compounds.row(row)}: {problem}")
            if compound not in parsed:
                parsed[compound] = self._parse(compound, compounds.row(row))
        self.parsed = parsed
        self.groups = _groups(compounds, group_size)  # int64 [n], the group of each row
        kinds = {compound: self.grammar.kind(self.types_of(compound)) for compound in parsed}
        self.kinds = [kinds[compound] for compound in self.compounds]
        self._judged: dict[tuple[str, str], Judgement] = {}

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
        rules = grammar if isinstance(grammar, Grammar) else Grammar.read(os.fspath(grammar))
        return cls(
            texts.sources,
            texts.compounds,
            (
                lexicon
                if isinstance(lexicon, TranslationLexicon)
                else TranslationLexicon.read(os.fspath(lexicon), match, lowercase)
            ),
            atoms if isinstance(atoms, Atoms) else Atoms.read(os.fspath(atoms), rules),
            group_size=group_size,
            keep_blanks=keep_blanks,
        )

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.sources)

    def types_of(self, compound: str) -> set[str]:
        """The types of the atoms of a compound."""
        return {kind for kind, _ in self.parsed[compound]}

    def _parse(self, compound: str, where: str) -> list[tuple[str, str]]:
        """Type and name of the atoms of a compound, in the grammar's order of types."""
        atoms: list[tuple[str, str]] = []
        for name in self.atoms.names(compound):
            kind = self.atoms.types.get(name)
            if kind is None:
                near = did_you_mean(name, self.atoms.types) if len(self.atoms.types) < 12 else ""
                raise InputError(
                    f"{where}: {name!r} of {compound!r} is not an atom of {self.atoms.name}{near}"
                )
            if name not in self.lexicon.entries:
                raise InputError(
                    f"{where}: the atom {name!r} of {compound!r} is not in {self.lexicon.path}"
                )
            if not self.keep_blanks and any(
                " " in literal for literal in self.lexicon.entries[name].literals
            ):
                raise InputError(
                    f"{self.lexicon.path}: a translation of {name!r} contains a blank, but"
                    f" hypotheses are searched without blanks; give {argument('keep_blanks')}, or"
                    f" {argument('match', 'word')}"
                )
            atoms.append((kind, name))
        if not self.grammar.repeated:
            atoms = list(dict(atoms).items())  # a later atom of a type replaces an earlier one
        return sorted(atoms, key=lambda atom: self.grammar.types.index(atom[0]))

    def signature(self) -> Signature:
        """Hashes of lexicon, atoms and grammar, the size of a group, and how translations are
        matched.

        CoGnition's defaults are left out. ``match`` is included if a translation has special
        characters, since a regular expression would match differently.
        """
        lexicon, grammar = self.lexicon, self.grammar
        is_cognition = grammar.sha256 == cognition().sha256
        plain = lexicon.match == "substring" and not lexicon.special
        items = {
            "lexicon": lexicon.sha256[:8],
            "atoms": f"{self.atoms.name}@{self.atoms.sha256[:8]}",
            "grammar": None if is_cognition else f"{grammar.name}@{grammar.sha256[:8]}",
            "group": self.group_size,
            "match": None if plain else lexicon.match,
            "case": "lc" if lexicon.lowercase else None,
            "blanks": "keep" if self.keep_blanks and lexicon.match != "word" else None,
        }
        return Signature(items, {"lexicon": "lex", "group": "g", "case": "c"})

    def rules(self) -> list[list[dict[str, Any]]]:
        """The same errors as rules of each row, for ``cgbench score rules``."""
        return [self._rules_of(compound) for compound in self.compounds]

    def _rules_of(self, compound: str) -> list[dict[str, Any]]:
        options = {"case": not self.lexicon.lowercase, "whole_words": self.lexicon.match == "word"}
        texts: dict[str, list[str]] = {}
        rules: list[dict[str, Any]] = []
        for kind, name in self.parsed[compound]:
            literals = list(map(str.strip, self.lexicon.entries[name].literals))
            texts.setdefault(kind, []).extend(literals)
            if literals and all(literals):  # an empty translation is everywhere
                rules.append({"type": "contains", "any": literals, "name": name, **options})
        for rule in self.grammar.rules:
            left, right, unless = (
                texts.get(str(kind)) or [] for kind in (rule.left, rule.right, rule.unless)
            )
            if left and right and all((*left, *right, *unless)):
                order = {
                    "type": "order",
                    "first": left,
                    "then": right,
                    "name": str(rule),
                    **options,
                }
                rules.append(order | ({"unless": unless} if unless else {}))
        return rules or [{"type": "length", "least": 1}]

    def judge(self, compound: str, hypothesis: str) -> Judgement:
        """Judge one row."""
        text = self.lexicon.text(hypothesis, self.keep_blanks)
        spans: dict[str, list[tuple[int, int]]] = {}
        missing = []
        flags = []
        for kind, name in self.parsed[compound]:
            translations = self.lexicon.entries[name]
            span = translations.find(text)
            translated = bool(text) and (not translations.literals or span is not None)
            flags.append(f"P{int(translated)}")
            if not translated:
                missing.append(name)
            if span:
                spans.setdefault(kind, []).append(span)
        if missing:
            return Judgement("-".join(flags) + "/P0", tuple(missing), (), True)
        # A modifier may belong to a verb, but only if the verb was found.
        rules = [rule for rule in self.grammar.rules if rule.unless not in spans]
        passed = []
        for rule in rules:
            left, right = spans.get(rule.left), spans.get(rule.right)
            passed.append(
                not (left and right)
                or max(begin for begin, _ in left) < max(end for _, end in right)
            )
        failed = tuple(str(rule) for rule, holds in zip(rules, passed, strict=True) if not holds)
        order = "-".join(f"P{int(holds)}" for holds in passed)
        return Judgement("-".join(flags) + "/" + order, (), failed, bool(failed))

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


def reasons(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Counts of the reasons for wrong rows of :meth:`Cter.per_example`, most frequent first."""
    counts = {
        kind: Counter(word for row in rows for word in words_of(row[kind]))
        for kind in ("missing", "order")
    }
    return {
        kind: dict(sorted(reasons_of_kind.items(), key=lambda item: (-item[1], item)))
        for kind, reasons_of_kind in counts.items()
    }


def agreement(
    rows: Sequence[dict[str, Any]], human: Column, groups: np.ndarray
) -> dict[str, float | int | None]:
    """Precision and recall of detected errors against human judgements (1 right, 0 wrong), and the
    human error rates.

    :raises InputError: a judgement is neither 0 nor 1, or their number differs.
    """
    if len(human) != len(rows):
        raise InputError(f"{human.name} has {len(human):,} judgements for {len(rows):,} rows")
    for row, value in enumerate(human.values):
        if value.strip() not in ("0", "1"):
            raise InputError(
                f"{human.row(row)}: {value!r} is not a judgement; write 1 for right, 0 for wrong"
            )
    judged = np.array([value.strip() == "0" for value in human.values])
    wrong = np.array([row["correct"] == 0 for row in rows])
    wrong_in_both = int(np.count_nonzero(judged & wrong))
    return {
        "precision": wrong_in_both / int(wrong.sum()) if wrong.any() else None,
        "recall": wrong_in_both / int(judged.sum()) if judged.any() else None,
        "instance": float(judged.mean()),
        "aggregate": len(np.unique(groups[judged])) / len(np.unique(groups)),
    }


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
