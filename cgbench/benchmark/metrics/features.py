"""What makes an example hard, as a value each: what ``cgbench score --by NAME`` puts into bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgbench.benchmark.metrics.bins import Feature, feature_of_column, lengths
from cgbench.benchmark.metrics.cter import Cter
from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean
from cgbench.text.columns import Column, read_column
from cgbench.text.formats import CorpusSpec, read_pairs
from cgbench.text.inputs import AnyPath, Texts, as_column
from cgbench.text.joins import in_order
from cgbench.text.plain_text import words_of
from cgbench.text.streams import form, split_name

UNCERTAINTIES = ("uncertainty", "rmi")
REFERENCE = "reference_pe_stu"


@dataclass(frozen=True)
class Material:
    """What features are made from.

    ``text`` is the side that length, degree, frequency and perplexity look at (None: none was given); ``train`` the
    training text of that side; ``table`` a table with a row an example; ``lm`` a language model;
    ``cter`` the compounds. ``ids``: the column of the table that says which example a row is of; ``first``: a text with
    the ids of the examples, in their order.
    """

    text: Column | None = None
    train: Texts | None = None
    table: AnyPath | None = None
    lm: Path | None = None
    cter: Cter | None = None
    min_count: int = 3
    ids: str | None = None
    first: Column | None = None


def make_feature(name: str, n: int, material: Material) -> Feature:
    """The values of the feature ``name`` of ``n`` examples.

    :raises InputError: the name is unknown, what it is made from was not given, or has another number of rows.
    """
    if name.startswith("column:"):
        return feature_of_column(name, _table_column(material, name, (name.removeprefix("column:"),), n))
    makers = {
        "length": lambda: Feature(name, lengths(_text(material, name).values)),
        "degree": lambda: _degree(name, material, n),
        "frequency": lambda: _frequency(name, material),
        "one-shot": lambda: _one_shot(name, material),
        "uncertainty": lambda: feature_of_column(name, _table_column(material, name, UNCERTAINTIES, n)),
        "reference": lambda: feature_of_column(name, _table_column(material, name, (REFERENCE,), n)),
        "difficulty": lambda: feature_of_column(name, _table_column(material, name, (name,), n)),
        "perplexity": lambda: _perplexity(name, material, n),
        "compound-length": lambda: Feature(name, lengths(_cter(material, name).compounds)),
        "context-length": lambda: _context_length(name, material),
        "modifier": lambda: _modifier(name, material),
        "type": lambda: Feature(name, labels=tuple(_cter(material, name).kinds)),
    }
    if name not in makers:
        raise InputError(f"{argument('by', name)}{did_you_mean(name, [*makers, 'column:NAME'])}")
    return makers[name]()


def _text(material: Material, name: str) -> Column:
    if material.text is None:
        raise InputError(
            f"{argument('by', name)} {argument('side', 'source')} needs the sources; give {argument('sources')}"
        )
    return material.text


def _cter(material: Material, name: str) -> Cter:
    if material.cter is None:
        raise InputError(f"{argument('by', name)} is of compounds: it goes with cgbench score cter")
    return material.cter


def _table_column(material: Material, by: str, names: Sequence[str], n: int) -> Column:
    """The first of the columns ``names`` in the table."""
    if material.table is None:
        raise InputError(
            f"{argument('by', by)} needs a table with a row an example; give {argument('table')} "
            f"(or {argument('release')})"
        )
    path, given = split_name(str(material.table))
    if form(path) == "plain":
        column = read_column(path, ids=material.ids)
    elif given or len(names) == 1:
        column = read_column(f"{path}:{given or names[0]}", ids=material.ids)
    else:
        column = read_column(path, *names, ids=material.ids)
    if material.first is not None:
        column = in_order(column, material.first, more=True)
    if len(column) != n:
        raise InputError(f"{column.name} has {len(column):,} rows for {n:,} examples")
    return column


def training_lines(train: Texts) -> list[str]:
    """The training text as lines: of a plain file or ``TABLE:COLUMN``, or as they are.

    :raises InputError: it is missing or empty.
    """
    column = as_column(train, "train")
    if not any(words_of(line) for line in column.values):
        raise InputError(f"{column.name}: the corpus is empty")
    return column.values


def _degree(name: str, material: Material, n: int) -> Feature:
    if material.train is None and material.table is not None:
        return feature_of_column(name, _table_column(material, name, ("degree",), n))
    if material.train is None:
        raise InputError(
            f"{argument('by', name)} needs the training text; give {argument('train')} (or {argument('release')})"
        )
    from cgbench.benchmark.known_ngrams.known import KnownNgrams

    text = _text(material, name)
    known = KnownNgrams.learn_lines(training_lines(material.train), min_count=material.min_count)
    pieces, sizes = known.measure(text.values)
    return Feature(name, pieces / np.maximum(sizes, 1))


def _counts(name: str, material: Material) -> list[np.ndarray]:
    """How often each word of each text occurs in training."""
    if material.train is None:
        raise InputError(f"{argument('by', name)} needs the training text; give {argument('train')}")
    from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary

    known = Vocabulary.learn_lines(training_lines(material.train), min_count=1)
    counts = np.append(known.counts, 0)
    return [counts[np.minimum(known.ids(words_of(line)), len(known))] for line in _text(material, name).values]


def _frequency(name: str, material: Material) -> Feature:
    """The count in training of a text's rarest word; 0 for a text without words."""
    lowest = [int(counts.min()) if len(counts) else 0 for counts in _counts(name, material)]
    return Feature(name, np.array(lowest, np.float64), zero="unseen")


def _one_shot(name: str, material: Material) -> Feature:
    """Does a text hold a word that occurs exactly once in training? (Akyürek and Andreas 2021, Table 4)."""
    labels = ("1-shot" if np.any(counts == 1) else "other" for counts in _counts(name, material))
    return Feature(name, labels=tuple(labels))


def _perplexity(name: str, material: Material, n: int) -> Feature:
    if material.lm is None:
        if material.table is None:
            raise InputError(
                f"{argument('by', name)} needs a language model; give {argument('lm')} (cgbench lm train makes one)"
            )
        return feature_of_column(name, _table_column(material, name, ("perplexity",), n))
    from cgbench.lm.language_model import LanguageModel

    return Feature(name, LanguageModel.load(material.lm).perplexity(_text(material, name).values))


def _context_length(name: str, material: Material) -> Feature:
    """The words of the source that are not the compound's."""
    cter = _cter(material, name)
    return Feature(name, lengths(cter.sources) - lengths(cter.compounds))


def _modifier(name: str, material: Material) -> Feature:
    """Does the compound hold a modifier (*he liked*)?"""
    cter = _cter(material, name)
    modifiers = set(cter.grammar.modifiers)
    if not modifiers:
        raise InputError(f"{argument('by', name)}: the grammar {cter.grammar.name} has no row modifier")
    held = (cter.types_of(one) & modifiers for one in cter.compounds)
    return Feature(name, labels=tuple("with" if one else "without" for one in held))


def release_files(folder: Path, *, control: bool = False) -> dict[str, Path]:
    """The ``source``, ``reference`` and ``table`` of a release.

    :param control: of its control set, without the table.
    :raises InputError: the folder is no finished release, or one without a control set.
    """
    from cgbench.benchmark.release.manifest import SPLIT
    from cgbench.benchmark.release.release import Release

    release = Release.open(folder)
    release.check_finished()
    if control:
        return {"source": release.control_path("source"), "reference": release.control_path("target")}
    return {
        "source": release.text_path("source"),
        "reference": release.text_path("target"),
        "table": release.path(SPLIT),
    }


def more_references(corpora: Sequence[CorpusSpec], sources: Sequence[str]) -> list[list[str]]:
    """The targets that corpora have for each source, in their order, without repeats.

    How Akyürek and Andreas (2021) score translation: every target of the same source is a reference.
    """
    found: dict[str, list[str]] = {source: [] for source in sources}
    for corpus in corpora:
        for source, target in read_pairs(corpus):
            if source in found and target not in found[source]:
                found[source].append(target)
    return [found[source] for source in sources]
