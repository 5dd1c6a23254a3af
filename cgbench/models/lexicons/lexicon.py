"""Bilingual lexicons, their files, and the registry of learners.

From *Lexicon Learning for Few-Shot Neural Sequence Modeling* (Akyürek and Andreas, 2021), section
4. A lexicon is learned from the training data and passed to a model as a matrix
(:mod:`cgbench.models.lexicons.matrix`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgbench import __version__
from cgbench.checksums import check_recorded, sums_beside, write_recorded
from cgbench.errors import InputError, argument
from cgbench.files import check_shape, ordinary_file, read_json
from cgbench.models.lexicons.alignment import IBM1Settings, IBM2Settings, ibm
from cgbench.models.lexicons.bayesian import BayesianSettings, bayesian
from cgbench.models.lexicons.bitext import Bitext
from cgbench.models.lexicons.counting import Entries, PMISettings, SimpleSettings, pmi, simple
from cgbench.request import check_path
from cgbench.settings import did_you_mean, make_settings
from cgbench.text.formats import Pair
from cgbench.text.streams import COMPRESSED


@dataclass(frozen=True)
class Lexicon:
    """Strengths of pairs of source and target words; their meaning depends on the learner.

    In a learned lexicon the source words are in the order of their first occurrence, and the
    targets of each from the strongest to the weakest.

    :param source_words: those with entries; ``target_words``: by the numbers in ``targets``.
    :param begin: the first entry of each source word, int64 [source words + 1].
    :param targets, values: of each entry, [E].
    """

    source_words: Sequence[str]
    target_words: Sequence[str]
    begin: np.ndarray
    targets: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, entries: Mapping[str, Mapping[str, float]]) -> Lexicon:
        """Make a lexicon from ``entries[source word][target word]``; words without entries are
        dropped.

        :raises InputError: a value is not a finite number.
        """
        entries = {word: row for word, row in entries.items() if row}
        numbers: dict[str, int] = {}
        targets = [
            numbers.setdefault(target, len(numbers)) for row in entries.values() for target in row
        ]
        values = [value for row in entries.values() for value in row.values()]
        lengths = [len(row) for row in entries.values()]
        strengths = np.array(values)
        if strengths.dtype.kind not in "iuf" or not np.isfinite(strengths).all():
            raise InputError(
                f"{argument('entries')}: the value of each entry must be a finite number"
            )
        return cls(
            list(entries),
            list(numbers),
            np.cumsum([0, *lengths]),
            np.array(targets, np.int64),
            strengths,
        )

    @property
    def entries(self) -> dict[str, dict[str, float]]:
        """``{source word: {target word: value}}``."""
        return dict(self.items())

    def items(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Each source word with its target words and values."""
        for index, word in enumerate(self.source_words):
            span = slice(self.begin[index], self.begin[index + 1])
            targets = [self.target_words[target] for target in self.targets[span].tolist()]
            yield word, dict(zip(targets, self.values[span].tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.targets)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Lexicon:
        """Read a lexicon: JSON in the format of the paper's authors (``{"dax": {"RED": 6}}``).

        If there is a checksum file (``dax.json.sha256``), as from :meth:`save`, it must match.

        :raises InputError: the file is missing, damaged, of another format, or empty.
        """
        check_path(path=path)
        path = Path(path)
        check_suffix(path)
        ordinary_file(path, link=True)
        check_recorded(path, sums_beside(path))
        entries = read_json(path)
        check_shape(entries, {str: {str: float}}, path, 'a lexicon looks like {"dax": {"RED": 6}}')
        lexicon = cls.of(entries)
        if not len(lexicon):
            raise InputError(f"{path}: the lexicon is empty")
        return lexicon

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write JSON, one source word per line; and its checksum file."""
        rows = (f"{_json(source)}: {_json(row)}" for source, row in self.items())
        write_recorded(Path(path), "{" + ",\n".join(rows) + "}\n")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def check_suffix(path: Path) -> None:
    """Check that the name of a lexicon is not that of a compressed file or of a table."""
    if path.suffix in (*COMPRESSED, ".tsv"):
        raise InputError(f"{path}: a lexicon is JSON, not compressed; use .json")


LEARNERS: dict[str, tuple[type, Callable[[Bitext, Any], Entries]]] = {
    "simple": (SimpleSettings, simple),
    "pmi": (PMISettings, pmi),
    "ibm1": (IBM1Settings, ibm),
    "ibm2": (IBM2Settings, ibm),
    "bayesian": (BayesianSettings, bayesian),
}
"""The settings of each learner, and the function from a text and settings to source ids, target ids
and values.
"""


@dataclass(frozen=True)
class Learned:
    """A lexicon, how it was learned, and the numbers of sentence pairs and of distinct words of the
    text.
    """

    lexicon: Lexicon
    signature: str
    pairs: int
    source_words: int
    target_words: int


def learn_lexicon(
    method: str, pairs: Iterable[Pair], changes: Mapping[str, Any] | None = None
) -> Learned:
    """Learn a lexicon from sentence pairs.

    :param method: one of :data:`LEARNERS`; ``changes``: of its settings.
    :raises InputError: the method or a setting is unknown, or the text has no words.
    """
    if method not in LEARNERS:
        raise InputError(f"unknown lexicon learner {method}{did_you_mean(method, LEARNERS)}")
    kind, learn = LEARNERS[method]
    settings = make_settings(kind, changes or {})
    text = Bitext.read(pairs)
    source, target, values = learn(text, settings)
    order = np.lexsort((-values, source))
    word_ids, counts = np.unique(source, return_counts=True)
    words = [text.source.words[word_id] for word_id in word_ids.tolist()]
    begin = np.concatenate([[0], np.cumsum(counts)])
    lexicon = Lexicon(words, text.target.words, begin, target[order], values[order])
    items = "|".join(f"{name}:{value}" for name, value in vars(settings).items())
    signature = f"lexicon:{method}|{items}|v:{__version__}"
    return Learned(lexicon, signature, len(text), len(text.source.words), len(text.target.words))
