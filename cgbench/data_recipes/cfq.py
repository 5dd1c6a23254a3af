"""CFQ: English questions and SPARQL queries, tokenised as by its authors, and rewritten as by
Dangle's authors.

Keysers et al., "Measuring Compositional Generalization", ICLR 2020; Zheng and Lapata, "Disentangled
Sequence to Sequence Learning", ACL 2022.
"""

import re
import string
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

from cgbench.data_recipes.archives import ArchiveMember, members
from cgbench.data_recipes.recipe import Recipe, Source, Sources, Split, Writer
from cgbench.data_recipes.writer import ROW_LISTS, rows_by_number
from cgbench.errors import InputError
from cgbench.files import parse_json
from cgbench.text.sparql import FORMS, rewrite_query

_SPACED = str.maketrans({character: f" {character} " for character in string.punctuation})
_TRIPLE = re.compile(r"([^ ]{2,}) ([^ ]+) ([^ ]{2,}) [.}]")
_FILTER = re.compile(r"(FILTER [^.]+) [.}]")

_PERSON, _COMPANY = "ns:business.employment_tenure.person", "ns:business.employment_tenure.company"
_RELATION = "ns:film.film_film_distributor_relationship"
# Predicates and their inverses. In MCD2 and MCD3 training and test prefer different ones, which has
# nothing to do with composition.
INVERSE = {
    "film.film.executive_produced_by": "film.producer.films_executive_produced",
    "film.film.directed_by": "film.director.film",
    "film.film.written_by": "film.writer.film",
    "film.film.edited_by": "film.editor.film",
    "film.film.produced_by|ns:film.film.production_companies": (
        "film.producer.film|ns:film.production_company.films"
    ),
    f"film.film.distributors/{_RELATION}.distributor": (
        f"film.film_distributor.films_distributed/{_RELATION}.film"
    ),
    "influence.influence_node.influenced_by": "influence.influence_node.influenced",
    f"people.person.employment_history/{_COMPANY}": f"business.employer.employees/{_PERSON}",
    "organization.organization.founders": "organization.organization_founder.organizations_founded",
    "organization.organization.acquired_by/ns:business.acquisition.acquiring_company": (
        "organization.organization.companies_acquired/ns:business.acquisition.company_acquired"
    ),
}

ARCHIVE = "cfq1.1.tar.gz"
PAIRS = 239_357
# Our name of a split, its file, and its numbers of rows.
SPLITS = {
    "mcd1": ("mcd1", 95_743, 11_968, 11_968),
    "mcd2": ("mcd2", 95_743, 11_968, 11_968),
    "mcd3": ("mcd3", 95_743, 11_968, 11_968),
    "random": ("random_split", 95_744, 11_967, 11_967),
    "length": ("query_complexity_split", 100_654, 9_512, 9_512),
}
# dataset.json has about 4 GB, of which only these two fields are needed; each record has them in
# this order.
_FIELD = re.compile(
    rb'"(questionPatternModEntities|sparqlPatternModEntities)"\s*:\s*("(?:[^"\\]|\\.)*")'
)
LONGEST_FIELD = 1 << 16


def read_dataset(member: ArchiveMember) -> Iterator[tuple[str, str]]:
    """Stream the unchanged questions and queries of ``dataset.json``.

    :raises InputError: a record lacks one of the two.
    """
    question: str | None = None
    count, waiting = 0, b""
    while data := member.read():
        waiting += data
        end = 0
        for match in _FIELD.finditer(waiting):
            end = match.end()
            if match[1].startswith(b"question") != (question is None):
                raise InputError(
                    f"{member.archive}: record {count + 1} of {member.name} lacks a question or a"
                    " query"
                )
            text = parse_json(match[2], f"{member.archive}: record {count + 1} of {member.name}")
            if question is None:
                question = text
            else:
                yield question, text
                question, count = None, count + 1
        waiting = waiting[max(end, len(waiting) - LONGEST_FIELD) :]
    if question is not None:
        raise InputError(f"{member.archive}: record {count + 1} of {member.name} lacks its query")


def tokenize_question(question: str) -> str:
    """Words and punctuation marks, separated by blanks."""
    return " ".join(question.translate(_SPACED).split())


def tokenize_query(query: str) -> str:
    """The query on one line; ``count(*)`` is split, ``ns:`` removed, ``m.`` replaced by ``m_``."""
    tokens = (
        token.removeprefix("ns:") for token in query.replace("count(*)", "count ( * )").split()
    )
    return " ".join(
        f"m_{token[2:]}" if token.startswith("m.") else token for token in tokens
    ).replace("\\n", " ")


def merge_triples(query: str, inverse: bool) -> str:
    """The tokenised query with triples that share arguments merged: ``subjects predicates
    objects``, each sorted.

    Triples with the same subject and predicate are merged first, then those with the same predicate
    and objects, then those with the same arguments; the clauses are sorted.

    :param inverse: whether to replace predicates in :data:`INVERSE`.
    """
    triples = []
    for subject, predicate, target in _TRIPLE.findall(query):
        if inverse and predicate in INVERSE:
            subject, predicate, target = target, INVERSE[predicate], subject
        triples.append((subject, predicate, target))
    objects = _grouped(((subject, predicate), target) for subject, predicate, target in triples)
    subjects = _grouped(
        ((predicate, targets), subject) for (subject, predicate), targets in objects.items()
    )
    predicates = _grouped(
        ((targets, sources), predicate) for (predicate, targets), sources in subjects.items()
    )
    clauses = [
        " ".join([*sorted(sources), *sorted(relations), *sorted(targets)])
        for (targets, sources), relations in predicates.items()
    ]
    clauses += _FILTER.findall(query)
    head = _FILTER.sub("", _TRIPLE.sub("", query)).strip()
    return f"{head} {' . '.join(sorted(clauses))} }}"


def _grouped(pairs: Iterable[tuple[Hashable, Any]]) -> dict[Any, tuple[Any, ...]]:
    groups = defaultdict[Hashable, list[Any]](list)
    for key, value in pairs:
        groups[key].append(value)
    return {key: tuple(values) for key, values in groups.items()}


def prepare_cfq(sources: Sources, out: Writer) -> None:
    """Write every split, tokenised, and also with Dangle's queries, which have no other form."""
    if not (paths := sources.find(ARCHIVE)):
        return
    archive = paths[0]
    pairs, splits = _read(archive)
    if len(pairs) != PAIRS:
        raise InputError(f"{archive}: {len(pairs):,} questions, but {PAIRS:,} are expected")
    tokenised = [(tokenize_question(question), tokenize_query(query)) for question, query in pairs]
    for name, (file, *_) in SPLITS.items():
        if file not in splits:
            raise InputError(f"{archive}: no splits/{file}.json in it; not the expected archive")
        for subset, chosen in rows_by_number(
            tokenised, splits[file], f"{archive}: splits/{file}.json"
        ):
            in_form = ((source, rewrite_query(query, out.form)) for source, query in chosen)
            out.split(f"{name}/{subset}", in_form if out.form else chosen)
            if name.startswith("mcd"):
                merged = (
                    (source, merge_triples(query, inverse=name != "mcd1"))
                    for source, query in chosen
                )
                out.split(f"dangle-{name}/{subset}", merged)


def _read(archive: Path) -> tuple[list[tuple[str, str]], dict[str, dict[str, list[int]]]]:
    """The pairs and the row numbers of splits, in one pass over the archive."""
    pairs: list[tuple[str, str]] = []
    splits = {}
    for member in members(archive):
        if member.ends_in("dataset.json"):
            pairs = list(read_dataset(member))
        for file, *_ in SPLITS.values():
            if member.ends_in(f"splits/{file}.json"):
                splits[file] = parse_json(
                    b"".join(iter(member.read, b"")), f"{archive}: {member.name}"
                )
    return pairs, splits


RECIPES = (
    Recipe(
        name="cfq",
        summary="questions and SPARQL queries",
        licence="CC BY 4.0",
        citation=(
            "Keysers et al., Measuring Compositional Generalization: A Comprehensive Method on"
            " Realistic Data, ICLR 2020"
        ),
        homepage="https://github.com/google-research/google-research/tree/master/cfq",
        sides=("src", "tgt"),
        size="239,357 questions",
        download="255 MB",
        splits=tuple(
            Split(f"{prefix}{name}/{subset}", count)
            for name, (_, *rows) in SPLITS.items()
            for prefix in (("", "dangle-") if name.startswith("mcd") else ("",))
            for subset, count in zip(ROW_LISTS, rows, strict=True)
        ),
        sources=(Source(ARCHIVE, f"https://storage.googleapis.com/cfq_dataset/{ARCHIVE}"),),
        prepare=prepare_cfq,
        forms=FORMS,
        notes=(
            "length is the split by query complexity",
            (
                "dangle-*: queries with merged, sorted triples; for mcd2 and mcd3 inverse"
                " predicates are unified"
            ),
            (
                "valid has the distribution of test in the mcd splits: model selection on it uses"
                " test data"
            ),
        ),
    ),
)
