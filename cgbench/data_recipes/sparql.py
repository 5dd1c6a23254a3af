"""CFQ's questions and queries as models read them: tokenised as its authors do, and rewritten as Dangle's authors do.

Keysers et al., "Measuring Compositional Generalization", ICLR 2020; Zheng and Lapata, "Disentangled Sequence to
Sequence Learning", ACL 2022.
"""

from __future__ import annotations

import re
import string
from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value", bound=Hashable)

_SPACED = str.maketrans({character: f" {character} " for character in string.punctuation})
_TRIPLE = re.compile(r"([^ ]{2,}) ([^ ]+) ([^ ]{2,}) [.}]")
_FILTER = re.compile(r"(FILTER [^.]+) [.}]")

_PERSON, _COMPANY = "ns:business.employment_tenure.person", "ns:business.employment_tenure.company"
_RELATION = "ns:film.film_film_distributor_relationship"
# A predicate and the one that says the same from the other side. In MCD2 and MCD3 training and test prefer different
# ones, which has nothing to do with composition.
INVERSE = {
    "film.film.executive_produced_by": "film.producer.films_executive_produced",
    "film.film.directed_by": "film.director.film",
    "film.film.written_by": "film.writer.film",
    "film.film.edited_by": "film.editor.film",
    "film.film.produced_by|ns:film.film.production_companies": "film.producer.film|ns:film.production_company.films",
    f"film.film.distributors/{_RELATION}.distributor": f"film.film_distributor.films_distributed/{_RELATION}.film",
    "influence.influence_node.influenced_by": "influence.influence_node.influenced",
    f"people.person.employment_history/{_COMPANY}": f"business.employer.employees/{_PERSON}",
    "organization.organization.founders": "organization.organization_founder.organizations_founded",
    "organization.organization.acquired_by/ns:business.acquisition.acquiring_company": (
        "organization.organization.companies_acquired/ns:business.acquisition.company_acquired"
    ),
}


def tokenize_question(question: str) -> str:
    """Words and punctuation marks, a blank between them."""
    return " ".join(question.translate(_SPACED).split())


def tokenize_query(query: str) -> str:
    """The query on one line; ``count(*)`` in pieces, ``ns:`` left out, ``m.`` written ``m_``."""
    tokens = []
    for token in query.replace("count(*)", "count ( * )").split():
        token = token.removeprefix("ns:")
        tokens.append(f"m_{token[2:]}" if token.startswith("m.") else token)
    return " ".join(tokens).replace("\\n", " ")


def merge_triples(query: str, inverse: bool) -> str:
    """The tokenised query with triples that share arguments merged: ``subjects predicates objects``, each sorted.

    Triples of one subject and predicate are merged first, then those of one predicate and the same objects, then
    those of the same arguments; the clauses are sorted.

    :param inverse: whether predicates in :data:`INVERSE` are turned round.
    """
    triples = []
    for subject, predicate, target in _TRIPLE.findall(query):
        if inverse and predicate in INVERSE:
            subject, predicate, target = target, INVERSE[predicate], subject
        triples.append((subject, predicate, target))
    objects = _grouped(((subject, predicate), target) for subject, predicate, target in triples)
    subjects = _grouped(((predicate, targets), subject) for (subject, predicate), targets in objects.items())
    predicates = _grouped(((targets, given), predicate) for (predicate, targets), given in subjects.items())
    clauses = [
        " ".join([*sorted(given), *sorted(found), *sorted(targets)]) for (targets, given), found in predicates.items()
    ]
    clauses += _FILTER.findall(query)
    head = _FILTER.sub("", _TRIPLE.sub("", query)).strip()
    return f"{head} {' . '.join(sorted(clauses))} }}"


def _grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, tuple[Value, ...]]:
    """The values of each key, in order."""
    groups: dict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return {key: tuple(values) for key, values in groups.items()}
