"""The queries of CFQ as sets of clauses, and the forms that papers gave them.

Furrer et al. (2020, "Compositional Generalization in Semantic Parsing") rewrite the targets of
T5-11B-mod by one of three functions (google-research, ``cfq_pt_vs_sa/rewrite_sparql.py``), which
lose the order of clauses and nothing else:

==== ============================================ =================================
form clauses ``a r x . a r y . b q x``            groups
==== ============================================ =================================
f1   ``a { r x . r y } b { q x }``                by subject, as first mentioned
f2   ``a { r { x y } } b { q { x } }``            by subject, then relation
f3   the same                                     the same, both sorted
==== ============================================ =================================

``SELECT count ( * ) WHERE {`` becomes ``COUNT``, ``SELECT DISTINCT ?x0 WHERE {`` becomes
``DISTINCT``, and ``FILTER ( a != b )`` the clause ``a not b``. The vocabulary of T5 has no braces;
in the forms ``t5`` (the clauses as they are) and ``f3-t5`` they are the words ``lb`` and ``rb``.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from cgbench.errors import InputError

FORMS = {
    "f1": "clauses grouped by subject",
    "f2": "clauses grouped by subject and relation",
    "f3": "clauses grouped by subject and relation, both sorted",
    "t5": "braces as words, which T5 can write",
    "f3-t5": "f3 with braces as words",
}
"""The forms of a query, with what they are."""

HEADS = {"COUNT": "SELECT count ( * ) WHERE {", "DISTINCT": "SELECT DISTINCT ?x0 WHERE {"}
BRACES = {"{": "lb", "}": "rb"}
_CHARACTERS = {word: brace for brace, word in BRACES.items()}
_FILTER = re.compile(r"FILTER \( (\S+) != (\S+) \)")
_NOT = "not"

Clause = tuple[str, str, str]


@dataclass(frozen=True)
class Query:
    """A query: its ``kind`` (``COUNT`` or ``DISTINCT``) and its clauses (subject, relation,
    object), in order; the relation of a filter is ``not``.
    """

    kind: str
    clauses: tuple[Clause, ...]

    @property
    def in_order(self) -> str:
        """The query with distinct, sorted clauses: the same text for all orders and forms."""
        return write_query(Query(self.kind, tuple(sorted(set(self.clauses)))))


def read_query(text: str) -> Query | None:
    """Read a tokenised query in any form; None if it is none."""
    tokens = [_CHARACTERS.get(token, token) for token in text.split()]
    line = " ".join(tokens)
    for kind, head in HEADS.items():
        if line.startswith(f"{head} ") and line.endswith(" }"):
            clauses = _read_clauses(line[len(head) + 1 : -2])
            return Query(kind, clauses) if clauses else None
    if tokens[:1] == ["COUNT"] or tokens[:1] == ["DISTINCT"]:
        clauses = _read_groups(tokens[1:])
        return Query(tokens[0], clauses) if clauses else None
    return None


def write_query(query: Query, form: str = "") -> str:
    """Write a query in one of :data:`FORMS`; without, as a query of the data set."""
    if form in ("", "t5"):
        text = f"{HEADS[query.kind]} {' . '.join(map(_written, query.clauses))} }}"
    else:
        text = _grouped(query, form.removesuffix("-t5"))
    if not form.endswith("t5"):
        return text
    return " ".join(BRACES.get(token, token) for token in text.split())


def rewrite_query(text: str, form: str) -> str:
    """Rewrite a tokenised query of the data set.

    :raises InputError: it is not such a query.
    """
    query = read_query(text)
    if query is None:
        raise InputError(f"not a query of CFQ: {text[:200]}")
    return write_query(query, form)


def _written(clause: Clause) -> str:
    subject, relation, target = clause
    return f"FILTER ( {subject} != {target} )" if relation == _NOT else " ".join(clause)


def _read_clauses(body: str) -> tuple[Clause, ...]:
    """The clauses of a body; none if one cannot be read."""
    clauses = []
    for text in body.split(" . "):
        if match := _FILTER.fullmatch(text):
            clauses.append((match[1], _NOT, match[2]))
        elif len(words := text.split()) == 3:
            clauses.append((words[0], words[1], words[2]))
        else:
            return ()
    return tuple(clauses)


def _grouped(query: Query, form: str) -> str:
    by_subject: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    in_order: dict[str, list[str]] = defaultdict(list)
    for subject, relation, target in query.clauses:
        by_subject[subject][relation].append(target)
        in_order[subject].append(f"{relation} {target}")
    if form == "f1":
        groups = [f"{subject} {{ {' . '.join(edges)} }}" for subject, edges in in_order.items()]
        return " ".join([query.kind, *groups])
    arrange = sorted if form == "f3" else list
    groups = []
    for subject in arrange(by_subject):
        targets = by_subject[subject]
        edges = [f"{relation} {{ {' '.join(targets[relation])} }}" for relation in arrange(targets)]
        groups.append(f"{subject} {{ {' '.join(edges)} }}")
    return " ".join([query.kind, *groups])


def _read_groups(tokens: Sequence[str]) -> tuple[Clause, ...]:
    """The clauses of ``s { r o . r o } s { r { o o } }``; none if the braces do not fit."""
    clauses: list[Clause] = []
    subject, relation = "", ""
    depth = 0
    for token in tokens:
        if token == "{":
            # A brace follows a subject, or a relation.
            if not (relation if depth else subject) or depth == 2:
                return ()
            depth += 1
        elif token == "}":
            if depth == 0 or (depth == 1 and relation):
                return ()
            depth -= 1
            relation = ""
            subject = subject if depth else ""
        elif token == "." and depth == 1 and not relation:
            continue
        elif depth == 0:
            if subject:
                return ()
            subject = token
        elif depth == 1 and not relation:
            relation = token
        else:
            clauses.append((subject, relation, token))
            relation = relation if depth == 2 else ""
    return tuple(clauses) if depth == 0 and not subject else ()
