"""Compound translation error rate (Li et al. 2021, "On Compositional Generalization of Neural Machine Translation").

A row is a source, a compound in it and a hypothesis. The row is *wrong* when an atom of the compound has no
translation of the lexicon in the hypothesis, or when determiner, adjective or (without a verb) modifier stand behind
the noun they belong to. *Instance* is the share of wrong rows; *aggregate* the share of groups (a compound in some
contexts) with a wrong row. The rules are those of the evaluator published with CoGnition, and give its flags.

Rows of one group are not independent: groups are what is resampled, for both figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.benchmark.metrics.base import Metric, Signature
from cgbench.benchmark.metrics.cter_lexicon import TYPES, Atoms, Lexicon
from cgbench.errors import InputError
from cgbench.settings import did_you_mean
from cgbench.text.columns import Column

KINDS = ("NP", "VP", "PP")


@dataclass(frozen=True)
class Judgement:
    """What is found for a row: its ``flag``, the names of the atoms ``missing``, the pairs out of ``order``."""

    flag: str
    missing: tuple[str, ...]
    order: tuple[str, ...]
    wrong: bool


class Cter(Metric):
    """CTER of hypotheses for fixed sources and compounds. ``groups`` int64 ``[n]`` numbers the group of each row."""

    name = "CTER"
    figures = ("instance", "aggregate")
    lower_is_better = True
    joins_pieces = True

    def __init__(
        self,
        sources: Column,
        compounds: Column,
        lexicon: Lexicon,
        atoms: Atoms,
        *,
        group_size: int = 5,
        keep_blanks: bool = False,
    ) -> None:
        """Check the input before any hypothesis is judged.

        :param keep_blanks: search hypotheses as they are; the published evaluator, made for Chinese, removes blanks.
        :raises InputError: lengths differ, a compound is not in its source, a word is no atom or not in the lexicon,
            or a group is not whole; with the row.
        """
        if len(sources) != len(compounds):
            raise InputError(
                f"{sources.name} has {len(sources):,} rows and {compounds.name} has {len(compounds):,}: "
                "a compound a source is needed"
            )
        if not len(sources):
            raise InputError(f"{sources.name}: there is no row in it")
        self.sources, self.compounds = sources.values, compounds.values
        self.lexicon, self.atoms, self.group_size, self.keep_blanks = lexicon, atoms, group_size, keep_blanks
        parsed: dict[str, dict[str, str]] = {}
        for row, (source, compound) in enumerate(zip(self.sources, self.compounds, strict=True)):
            if not compound.strip() or compound not in source:
                what = f"{compound!r} is not in its source {source!r}" if compound.strip() else "the compound is empty"
                raise InputError(f"{compounds.row(row)}: {what}")
            if compound not in parsed:
                parsed[compound] = self._parse(compound, compounds.row(row))
        self.parsed = parsed
        self.groups = _groups(compounds, group_size)
        self.kinds = [_kind(self.parsed[compound]) for compound in self.compounds]
        self._judged: dict[tuple[str, str], Judgement] = {}

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.sources)

    def _parse(self, compound: str, where: str) -> dict[str, str]:
        """The atoms of a compound by type, in the order of the compound; a later one of a type replaces an earlier."""
        found: dict[str, str] = {}
        for name in self.atoms.names(compound):
            kind = self.atoms.types.get(name)
            if kind is None:
                near = did_you_mean(name, self.atoms.types) if len(self.atoms.types) < 12 else ""
                raise InputError(f"{where}: {name!r} of {compound!r} is no atom of {self.atoms.name}{near}")
            if name not in self.lexicon.entries:
                raise InputError(f"{where}: the atom {name!r} of {compound!r} is not in {self.lexicon.path}")
            if not self.keep_blanks and self.lexicon.entries[name].has_blank:
                raise InputError(
                    f"{self.lexicon.path}: a translation of {name!r} holds a blank, and hypotheses are searched "
                    "without blanks; give --keep-blanks"
                )
            found[kind] = name
        return found

    def signature(self) -> Signature:
        """Lexicon and atoms by their content, and the size of a group."""
        lexicon, atoms = self.lexicon.sha256[:8], f"{self.atoms.name}@{self.atoms.sha256[:8]}"
        blanks = "keep" if self.keep_blanks else None
        items = {"lexicon": lexicon, "atoms": atoms, "group": self.group_size, "blanks": blanks}
        return Signature(items, {"lexicon": "lex", "group": "g"})

    def judge(self, compound: str, hypothesis: str) -> Judgement:
        """Judge one row."""
        text = hypothesis.replace("@@ ", "")
        text = text.strip() if self.keep_blanks else text.replace(" ", "")
        atoms = self.parsed[compound]
        spans = {}
        missing = []
        flags = []
        for kind in TYPES:
            if kind not in atoms:
                continue
            translations = self.lexicon.entries[atoms[kind]]
            span = None if translations.free else translations.find(text)
            translated = bool(text) and (translations.free or span is not None)
            flags.append(f"P{int(translated)}")
            if not translated:
                missing.append(atoms[kind])
            if span:
                spans[kind] = span
        if missing:
            return Judgement("-".join(flags) + "/P0", tuple(missing), (), True)
        left = ("DET", "ADJ") if "V" in atoms else ("DET", "ADJ", "MOD")
        passed = [not (kind in spans and "N" in spans) or spans[kind][0] < spans["N"][1] for kind in left]
        order = "-".join(f"P{int(one)}" for one in passed)
        failed = tuple(f"{kind}<N" for kind, one in zip(left, passed, strict=True) if not one)
        return Judgement("-".join(flags) + "/" + order, (), failed, bool(failed))

    def judge_all(self, hypotheses: Sequence[str]) -> list[Judgement]:
        """Judge every row; systems and runs often say the same, which is judged once."""
        rows = list(zip(self.compounds, hypotheses, strict=True))
        for row in rows:
            if row not in self._judged:
                self._judged[row] = self.judge(*row)
        return [self._judged[row] for row in rows]

    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """(wrong, 1) a row."""
        wrong = np.array([judged.wrong for judged in self.judge_all(hypotheses)], np.float64)
        return np.stack([wrong, np.ones(self.n)], axis=1)

    def collect(self, statistics: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(wrong rows, rows, wrong groups, groups) a group; the last two 0 where ``rows`` divide a group."""
        groups, number = np.unique(self.groups[rows], return_inverse=True)
        wrong = np.bincount(number, statistics[rows, 0])
        count = np.bincount(number)
        whole = float(np.all(count == self.group_size))
        return np.stack([wrong, count, (wrong > 0) * whole, np.full(len(groups), whole)], axis=1)

    def outcomes(self, statistics: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
        """1: wrong; of rows and of groups."""
        units = self.collect(statistics, rows)
        found = {"instance": statistics[rows, 0]}
        return found | ({"aggregate": units[:, 2]} if units[0, 3] else {})

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """Percent of rows and of groups."""
        with np.errstate(invalid="ignore"):
            return np.stack([100 * sums[:, 0] / sums[:, 1], 100 * sums[:, 2] / sums[:, 3]], axis=1)

    def describe(self, sums: np.ndarray) -> str:
        """The counts."""
        return f"({sums[0]:,.0f} of {sums[1]:,.0f} rows, {sums[2]:,.0f} of {sums[3]:,.0f} groups)"

    def per_example(self, hypotheses: Sequence[str], statistics: np.ndarray) -> list[dict[str, Any]]:
        """``flag``, ``correct`` and why not: atoms ``missing``, pairs out of ``order``."""
        return [
            {
                "flag": judged.flag,
                "correct": int(not judged.wrong),
                "type": kind,
                "compound": compound,
                "missing": " ".join(judged.missing),
                "order": " ".join(judged.order),
            }
            for judged, kind, compound in zip(self.judge_all(hypotheses), self.kinds, self.compounds, strict=True)
        ]


def reasons(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """How often each reason made a row of :meth:`Cter.per_example` wrong, most frequent first."""
    return {
        kind: dict(sorted(Counter(one for row in rows for one in row[kind].split()).items(), key=lambda x: (-x[1], x)))
        for kind in ("missing", "order")
    }


def agreement(rows: Sequence[dict[str, Any]], human: Column, groups: np.ndarray) -> dict[str, float | int | None]:
    """Precision and recall of the errors found, against human judgements (1 right, 0 wrong), and the human rates.

    :raises InputError: a judgement is neither 0 nor 1, or their number differs.
    """
    if len(human) != len(rows):
        raise InputError(f"{human.name} has {len(human):,} judgements for {len(rows):,} rows")
    for row, value in enumerate(human.values):
        if value.strip() not in ("0", "1"):
            raise InputError(f"{human.row(row)}: {value!r} is no judgement; write 1 for right, 0 for wrong")
    judged = np.array([value.strip() == "0" for value in human.values])
    found = np.array([row["correct"] == 0 for row in rows])
    both = int(np.count_nonzero(judged & found))
    return {
        "precision": both / int(found.sum()) if found.any() else None,
        "recall": both / int(judged.sum()) if judged.any() else None,
        "instance": float(judged.mean()),
        "aggregate": len(np.unique(groups[judged])) / len(np.unique(groups)),
    }


def _kind(atoms: dict[str, str]) -> str:
    """The phrase a compound is: prepositional, else verbal, else nominal."""
    return "PP" if "P" in atoms else "VP" if "V" in atoms else "NP"


def _groups(compounds: Column, size: int) -> np.ndarray:
    """Number the groups: runs of one compound, in parts of ``size`` rows.

    :raises InputError: a run is not a multiple of ``size`` rows.
    """
    begin = 0
    values = compounds.values
    for row in range(1, len(values) + 1):
        if row < len(values) and values[row] == values[begin]:
            continue
        if (row - begin) % size:
            raise InputError(
                f"{compounds.row(begin)}: {values[begin]!r} fills {row - begin} rows from here, and a group is {size} "
                "rows; complete it, or give --group-size"
            )
        begin = row
    return np.arange(len(values)) // size
