"""Elements (atoms and compounds) of each example, by type: words, syntax, logical forms, a table.

``words`` and ``words:2,3`` (n-grams of these lengths), ``scan``, ``cogs`` and ``lispress`` are read
from the text. ``triples:FILE`` and ``lemmas:FILE`` read a CoNLL-U file with one sentence per
example, ``table:FILE`` a table with one row per example.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgbench.benchmark.measure.divergence.form_graphs import FORMS
from cgbench.benchmark.measure.divergence.graphs import Graph, atoms_and_compounds
from cgbench.benchmark.measure.divergence.occurrences import Occurrences
from cgbench.benchmark.measure.divergence.word_ngrams import words_and_ngrams
from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean
from cgbench.text.conllu import DEPREL, FEATS, FORM, LEMMA, UPOS, ParsedSentence, read_sentences
from cgbench.text.streams import read_lines

OF_FILES = ("triples", "lemmas", "table")
TYPES = ("words", *FORMS, *OF_FILES)
LONGEST = 16  # of n-grams


@dataclass(frozen=True)
class Elements:
    """``atoms`` and ``compounds`` of the same examples."""

    atoms: Occurrences
    compounds: Occurrences

    @property
    def examples(self) -> int:
        """The number of examples."""
        return self.atoms.examples

    def select(self, rows: np.ndarray) -> "Elements":
        """The examples with these numbers, in this order."""
        return Elements(self.atoms.select(rows), self.compounds.select(rows))


@dataclass(frozen=True)
class ElementType:
    """The type of atoms and compounds: one of :data:`TYPES`, lengths of n-grams, files, and the
    weights of compounds."""

    name: str
    orders: tuple[int, ...] = (2,)
    files: tuple[Path, ...] = ()
    weights: str = "specific"

    @property
    def label(self) -> str:
        """The user's name for it, without files."""
        return f"words:{','.join(map(str, self.orders))}" if self.name == "words" else self.name


def element_type(value: str, weights: str = "specific", name: str = "compounds") -> ElementType:
    """Parse an element type: ``words:2,3``, ``triples:FILE[,FILE...]``, ``scan``.

    :param name: the name of the argument in messages.
    :raises InputError: an unknown type, a missing file, or invalid lengths.
    """
    kind, sign, detail = str(value).partition(":")
    if kind not in TYPES:
        raise InputError(f"{argument(name, value)}: unknown type{did_you_mean(kind, TYPES)}")
    if kind in OF_FILES:
        if not all(detail.split(",")) or not detail:
            raise InputError(f"{argument(name, value)}: name the file: {kind}:FILE")
        return ElementType(kind, (), tuple(map(Path, detail.split(","))), weights)
    if kind != "words":
        if sign:
            raise InputError(
                f"{argument(name, value)}: {kind} is read from the text itself; leave"
                f" {sign}{detail} out"
            )
        return ElementType(kind, (), (), weights)
    try:
        orders = tuple(sorted({int(length) for length in detail.split(",")})) if sign else (2,)
    except ValueError:
        orders = ()
    if not orders or orders[0] < 2 or orders[-1] > LONGEST:
        raise InputError(
            f"{argument(name, value)}: lengths of n-grams are numbers from 2 to {LONGEST}, such as"
            " words:2,3"
        )
    return ElementType("words", orders, (), weights)


def elements_of(kind: ElementType, texts: Sequence[tuple[str, Sequence[str]]]) -> Elements:
    """The elements of several texts, concatenated, with common numbers.

    :param texts: each with its name, one line per example; types with files need one file per text,
        in this order.
    :raises InputError: a file and its text differ in examples, a line is invalid for the type (with
        its number), or no example has a compound.
    """
    if kind.name in OF_FILES and len(kind.files) != len(texts):
        raise InputError(
            f"{kind.name}: {len(texts)} file(s) are needed, one per text"
            f" ({', '.join(name for name, _ in texts)}), separated by commas; {len(kind.files)}"
            " given"
        )
    specific = kind.weights == "specific"
    if kind.name == "words":
        lines = [line for _, text in texts for line in text]
        elements = Elements(*words_and_ngrams(lines, kind.orders, specific=specific))
    else:
        graphs = _form_graphs(kind.name, texts) if kind.name in FORMS else _graphs_of(kind, texts)
        elements = Elements(*atoms_and_compounds(graphs, specific=specific))
    if not len(elements.compounds.ids):
        raise InputError(
            f"{', '.join(name for name, _ in texts)}: no example has a compound of {kind.label};"
            f" choose other {argument('compounds')}"
        )
    return elements


def _form_graphs(form: str, texts: Sequence[tuple[str, Sequence[str]]]) -> Iterator[Graph]:
    for name, text in texts:
        for row, line in enumerate(text, 1):
            try:
                yield FORMS[form](line)
            except InputError as error:
                reason = f"{error.message} ({argument('compounds', form)})"
                raise InputError(f"{name}, row {row}: {reason}") from None


def _graphs_of(kind: ElementType, texts: Sequence[tuple[str, Sequence[str]]]) -> Iterator[Graph]:
    """One graph per example, from the files of the texts."""
    read = {"triples": _triples, "lemmas": _lemmas}.get(kind.name)
    for path, (name, text) in zip(kind.files, texts, strict=True):
        count = 0
        for count, graph in enumerate(
            read(read_sentences(path), path) if read else _table(path), 1
        ):
            if count <= len(text):
                yield graph
        if count != len(text):
            raise InputError(
                f"{path} has {count:,} examples and {name} {len(text):,}: give the same examples,"
                " in the same order"
            )


def _triples(sentences: Iterable[ParsedSentence], where: object) -> Iterator[Graph]:
    """Lemmas and relations as atoms, (head, relation, dependent) as compounds (Moisio et al. 2023,
    GenBench).
    """
    for sentence in sentences:
        graph = Graph(rules=False)
        relations = sentence.column(DEPREL)
        for word, lemma in zip(sentence.column(FORM), sentence.column(LEMMA), strict=True):
            graph.node(lemma if lemma not in ("", "_") else word)
        for child, head in enumerate(sentence.heads(where)):
            if relations[child] in ("", "_"):
                line = sentence.lines[child]
                raise InputError(
                    f"{where}, line {line}: no relation (column 8); parse the text first"
                )
            graph.atoms.append(relations[child])
            if head:
                graph.edge(head - 1, relations[child], child)
        yield graph


def _lemmas(sentences: Iterable[ParsedSentence], where: object) -> Iterator[Graph]:
    """Lemmas and morphological features as atoms, a lemma with all its features as a compound
    (Moisio et al. 2023, NoDaLiDa); universal tags replace missing features."""
    for sentence in sentences:
        graph = Graph(rules=False)
        for fields, line in zip(sentence.words, sentence.lines, strict=True):
            if fields[DEPREL] == "goeswith":
                continue  # a later part of a split word: the first part has the lemma
            if fields[LEMMA] in ("", "_"):
                raise InputError(f"{where}, line {line}: no lemma (column 3); parse the text first")
            features = fields[FEATS] if fields[FEATS] not in ("", "_") else fields[UPOS]
            if features in ("", "_"):
                continue
            graph.labels += [fields[LEMMA], *features.split("|")]
            graph.extra.append(f"{fields[LEMMA]}|{features}")
        yield graph


def _table(path: Path) -> Iterator[Graph]:
    """One row per example: its name, then tab-separated atoms and compounds (entries of several
    words).
    """
    for row, line in enumerate(read_lines(path), 1):
        fields = line.rstrip("\r").split("\t")
        names = [" ".join(name.split()) for name in fields[1:]]
        if len(fields) < 2 or not all(names):
            raise InputError(
                f"{path}, row {row}: give an example, then its atoms and compounds (of several"
                " words), tab-separated"
            )
        atoms, compounds = (
            [name for name in names if (" " in name) == is_compound]
            for is_compound in (False, True)
        )
        yield Graph(atoms, extra=compounds, rules=False)
