"""Queries of CFQ as sets of clauses, their sketches, and the paths of a sketch.

A clause is three words, ``?x0 film.director.film M1``. A sketch replaces what depends on words of
the question by ``P`` (a predicate), ``M`` (an entity or a class), ``V`` and ``S`` (a predicate and
its value). Sketches and paths are those of the authors' preprocessing (microsoft/ContextualSP,
poset_decoding/preprocess_hierarchical_training.py).

A sketch has no entities as subjects: ``M0 P M1`` becomes ``?x0 is M0 . ?x0 P M1``, and other
variables count from 1. The authors' sketches are so, but their published preprocessing leaves the
queries as they are, in which none of their candidates for such a question can then be right.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

CLAUSES = " . "
PATHS = " ### "
IS = "is"
ENTITY = re.compile(r"M[0-9]")
_BODY = re.compile(r"[{](.*?)[}]")
_VARIABLE = re.compile(r"\?x([0-9])")

SYMMETRIC = (
    "people.person.spouse_s/ns:people.marriage.spouse|ns:fictional_universe.fictional_character"
    ".married_to/ns:fictional_universe.marriage_of_fictional_characters.spouses",
    "people.person.sibling_s/ns:people.sibling_relationship.sibling|ns:fictional_universe"
    ".fictional_character.siblings/ns:fictional_universe"
    ".sibling_relationship_of_fictional_characters.siblings",
)
"""Predicates between two different people: their clauses come with a FILTER."""


def conditions_of(query: str) -> list[str]:
    """The clauses and filters between the braces of a query, in order."""
    body = _BODY.search(query)
    return [part for part in (body[1] if body else query).strip().split(CLAUSES) if part]


def clauses_of(query: str) -> list[str]:
    """The clauses between the braces of a query, in order, without filters."""
    return [part for part in conditions_of(query) if not part.startswith("FILTER")]


def with_filters(clauses: Iterable[str]) -> list[str]:
    """The clauses, sorted, and the filters that belong to them, sorted."""
    unique = sorted(set(clauses))
    filters = []
    for clause in unique:
        subject, predicate, value = clause.split()
        if predicate in SYMMETRIC:
            filters.append(f"FILTER ( {subject} != {value} )")
    return unique + sorted(filters)


def query_of(question: str, clauses: Iterable[str]) -> str:
    """A complete query: questions with yes or no as an answer count, others select ``?x0``."""
    asks = question.split(" ", 1)[0] in ("Did", "Was", "Were", "Do", "Does", "Is", "Are")
    head = "SELECT count ( * ) WHERE" if asks else "SELECT DISTINCT ?x0 WHERE"
    return f"{head} {{ {CLAUSES.join(with_filters(clauses))} }}"


def without_subject_entities(clauses: Sequence[str]) -> list[str]:
    """Replace entities that are subjects by a new first variable and clauses ``?x0 is M0``."""
    subjects = {clause.split()[0] for clause in clauses if ENTITY.match(clause)}
    if not subjects:
        return list(clauses)
    replaced = {f"?x0 {IS} {entity}" for entity in subjects}
    for clause in clauses:
        subject, predicate, value = clause.split()
        subject = "?x0" if subject in subjects else _shifted(subject, 1)
        replaced.add(f"{subject} {predicate} {_shifted(value, 1)}")
    return sorted(replaced)


def with_subject_entities(clauses: Iterable[str]) -> list[str]:
    """Undo :func:`without_subject_entities`: an entity that is the value of ``is`` gets every
    clause of ``?x0``.
    """
    clauses = list(clauses)
    entities = [clause.split()[2] for clause in clauses if f" {IS} " in clause]
    if not entities:
        return clauses
    restored: dict[str, None] = {}
    for clause in clauses:
        subject, predicate, value = clause.split()
        if predicate == IS:
            continue
        for entity in entities if subject == "?x0" else [_shifted(subject, -1)]:
            restored[f"{entity} {predicate} {_shifted(value, -1)}"] = None
    return list(restored)


def _shifted(word: str, by: int) -> str:
    match = _VARIABLE.fullmatch(word)
    return f"?x{int(match[1]) + by}" if match else word


def sketch_of(clauses: Sequence[str]) -> list[str]:
    """The sketch of a query, a sorted set of abstract clauses."""
    has_entity_subject = any(ENTITY.match(clause) for clause in clauses)
    shift = 1 if has_entity_subject else 0
    abstract: set[str] = set()
    for clause in clauses:
        subject, predicate, value = clause.split()
        own = "?x0" if ENTITY.match(subject) else _shifted(subject, shift)
        if own == "?x0" and has_entity_subject:
            abstract.add("?x0 P M")  # ?x0 is M
        if value.startswith("?x"):
            abstract.add(f"{own} P {_shifted(value, shift)}")
        elif value.startswith("M"):
            abstract.add(f"{own} P M")
        elif predicate == "a":
            abstract.add(f"{own} a M")
        else:
            abstract.add(f"{own} V S")
    return sorted(abstract)


def key_of(clause: str) -> float:
    """The number that clauses of a sketch are sorted by."""
    subject, predicate, value = clause.split()
    key = -1.0 if predicate == "a" else 0.0
    for word, base in ((subject, 5.0), (value, 3.0)):
        if match := _VARIABLE.fullmatch(word):
            key += base + 2.5 - 0.5 * int(match[1])
    return key


def paths_of(sketch: Sequence[str]) -> list[str]:
    """The paths of a sketch, each a sorted set of clauses from ``?x0`` to a leaf."""
    groups: dict[str, list[list[str]]] = defaultdict(list)
    for clause in sorted(sketch, key=key_of):
        subject, _, value = clause.split()
        if subject.startswith("?x") and value.startswith("?x"):
            upper, lower = min(subject, value), max(subject, value)
            if groups[lower]:
                groups[upper] += [[clause, *path] for path in groups[lower]]
            else:
                groups[lower].append([clause])
        elif subject.startswith("?x") and subject != "?x0":
            # Complete the paths that only lead to this variable.
            leading = [path for path in groups[subject] if path[0].split()[0] != subject]
            for path in leading:
                path.append(clause)
            if not leading:
                groups[subject].append([clause])
        else:
            groups[value if value.startswith("?x") else subject].append([clause])
    paths = (CLAUSES.join(sorted(set(path))) for paths in groups.values() for path in paths)
    return [path for path in paths if path.startswith("?x0") or not path.startswith("?x")]


def masked(question: str) -> tuple[str, Mapping[str, Sequence[str]]]:
    """Merge coordinated entities (``M1 , M2 and M3``) into the first of them.

    :returns: the shorter question, and the other entities of each that stands for several.
    """
    words = question.split()
    shorter: list[str] = []
    merged: dict[str, list[str]] = {}
    run: list[str] = []  # the present coordination, with its commas and "and"

    def close() -> None:
        entities = [word for word in run if ENTITY.match(word)]
        if len(entities) > 1:
            merged[entities[0]] = entities[1:]
            shorter.append(entities[0])
            if not ENTITY.match(run[-1]):
                shorter.append(run[-1])  # what follows is not coordinated
        else:
            shorter.extend(run)
        run.clear()

    for position, word in enumerate(words):
        possessive = words[position + 1 : position + 2] == ["'"]
        if (ENTITY.match(word) and not possessive) or (run and word in (",", "and")):
            run.append(word)
        else:
            close()
            shorter.append(word)
    close()
    return " ".join(shorter), merged


def expanded(path: str, merged: Mapping[str, Sequence[str]]) -> list[str]:
    """The clauses of a path, also with the entities that its entities stand for."""
    clauses = path.split(CLAUSES)
    for first, others in merged.items():
        if first in path:
            for other in others:
                clauses += path.replace(first, other).split(CLAUSES)
    return clauses
