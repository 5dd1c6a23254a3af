"""The phrase table of HPD: which clauses a phrase of the question may stand for.

The authors' table (poset_decoding/data/phrase_table, one Python literal per line) can be read;
theirs is from GIZA++. Ours is learned from the training pairs: phrases of up to three words and
clauses whose co-occurrence is far from chance (log-likelihood ratio), as candidates for the path
classifier.
"""

import ast
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path

from cgbench.errors import InputError
from cgbench.models.hpd.queries import (
    CLAUSES,
    ENTITY,
    IS,
    clauses_of,
    without_subject_entities,
)
from cgbench.text.streams import read_lines

_NUMBERED = re.compile(r"\?x[0-9]")
STOP_WORDS = frozenset(
    (
        *("Did", "Was", "Were", "What", "Which", "Whose", "M", "a", "an", "and", ",", "'", "s"),
        *("of", "the", "by", "that", "was", "were", "did", "in", "to", "whose"),
    )
)
QUESTIONS = ("Did M", "Was M", "Were M", "Was a")
LEAST_SHARE = 0.1  # of the questions with a phrase that have a clause


@dataclass(frozen=True)
class PhraseTable:
    """Phrases of up to three words, and the clauses, with ``?x`` for any variable and ``M`` for any
    entity, that each may stand for.
    """

    entries: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, path: Path) -> "PhraseTable":
        """Read the authors' form: ``(('Who', '?x#a#ns:people.person'), 51406)`` on each line.

        :raises InputError: a line has another form.
        """
        entries: dict[str, list[str]] = defaultdict(list)
        for number, line in enumerate(read_lines(path), 1):
            try:
                (phrase, pattern), _ = ast.literal_eval(line)
                words = [_plain(word) for word in pattern.split("#")]
                subject, predicate, value = words
            except (ValueError, SyntaxError, TypeError):
                raise InputError(
                    f"{path}:{number}: not a line of a phrase table, (('PHRASE',"
                    " '?x#PREDICATE#VALUE'), COUNT)"
                ) from None
            entries[str(phrase)].append(f"{subject} {predicate} {value}")
        return cls(entries)

    @classmethod
    def learn(cls, questions: Sequence[str], queries: Sequence[str]) -> "PhraseTable":
        """Learn a table from training pairs."""
        phrases: Counter[str] = Counter()
        clauses: Counter[str] = Counter()
        both: Counter[tuple[str, str]] = Counter()
        for question, query in zip(questions, queries, strict=True):
            of_question = set(_phrases(question))
            of_query = {
                _anonymous(clause)
                for clause in without_subject_entities(clauses_of(query))
                if f" {IS} " not in clause
            }
            phrases.update(of_question)
            clauses.update(of_query)
            both.update(product(of_question, of_query))
        # The best phrases of each clause, so that every clause can be proposed.
        by_clause: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for (phrase, clause), count in both.items():
            if count >= LEAST_SHARE * phrases[phrase]:
                score = _association(count, phrases[phrase], clauses[clause], len(questions))
                by_clause[clause].append((score, phrase))
        entries: dict[str, list[str]] = defaultdict(list)
        for clause, scored in by_clause.items():
            best = max(score for score, _ in scored)
            for score, phrase in sorted(scored, key=lambda item: (-item[0], item[1])):
                if score >= best / 4:
                    entries[phrase].append(clause)
        return cls(entries)

    def candidates(self, question: str, sketch: Sequence[str], split: str) -> dict[str, list[str]]:
        """Return the clauses, with ``?x`` for any variable, that may fill each abstract clause.

        :param split: ``mcd1``, where "Did M0" may mean any entity, or another, where it means M0,
            as in the authors' code.
        """
        entities = [word for word in question.split() if ENTITY.match(word)]
        present = CLAUSES.join(_NUMBERED.sub("?x", clause) for clause in sketch)
        terms: set[str] = set()
        for phrase in _looked_up(question):
            terms.update(self.entries.get(phrase, ()))
        if question.startswith(QUESTIONS):
            second = question.split()[1]
            terms.add(f"?x0 {IS} {'M' if split == 'mcd1' else second}")
        filled: dict[str, list[str]] = defaultdict(list)
        for term in sorted(terms):
            pattern = _pattern(term)
            if _NUMBERED.sub("?x", pattern) not in present:
                continue
            filled[pattern] += _with_entities(term, entities)
        return filled

    def predicates(self, word: str) -> list[str]:
        """The keys (:func:`predicate_key`) of the clauses that a word may stand for."""
        return [predicate_key(clause) for clause in self.entries.get(word, ())]


def fill(paths: Sequence[str], candidates: Mapping[str, Sequence[str]]) -> list[str]:
    """Return every way to fill the paths of a sketch with candidates, each once."""
    ways: dict[str, None] = {}
    for path in paths:
        ways.update(dict.fromkeys(candidates.get(path, ())))  # of ?x0 alone: ?x0 is M0
        choices = []
        for abstract in path.split(CLAUSES):
            subject, _, value = abstract.split()
            options = []
            for candidate in candidates.get(_NUMBERED.sub("?x", abstract), ()):
                first, predicate, last = candidate.split()
                first = subject if first == "?x" else first
                last = value if last == "?x" else last
                options.append(f"{first} {predicate} {last}")
            choices.append(options)
        ways.update(dict.fromkeys(CLAUSES.join(way) for way in product(*choices)))
    return list(ways)


def predicate_key(clause: str) -> str:
    """What the repair of an evaluation compares: the predicate, with its value if that is neither
    an entity nor a variable.
    """
    _, predicate, value = clause.split()
    is_argument = value.startswith("?x") or ENTITY.match(value) or value == "M"
    return predicate if is_argument and predicate != IS else f"{predicate} {value}"


def _phrases(question: str) -> Iterable[str]:
    """The phrases of one to three words without entities, which do not begin or end with a stop
    word.
    """
    for phrase in _looked_up(question):
        words = phrase.split()
        has_entity = any(ENTITY.match(word) for word in words)
        if not has_entity and not {words[0], words[-1]} & STOP_WORDS:
            yield phrase


def _looked_up(question: str) -> Iterable[str]:
    """The phrases of a question that are looked up: words, and two or three words that do not end
    the question, as in the authors' code.
    """
    words = question.split()
    for length in (1, 2, 3):
        last = len(words) - length + (1 if length == 1 else 0)
        for first in range(last):
            yield " ".join(words[first : first + length])


def _pattern(term: str) -> str:
    """The abstract form of a clause of the table."""
    subject, predicate, value = term.split()
    if value.startswith("?x"):
        return f"{subject} P ?x"
    if value.startswith("M"):
        return f"{subject} P M"
    return f"{subject} a M" if predicate == "a" else f"{subject} V S"


def _with_entities(term: str, entities: Sequence[str]) -> list[str]:
    subject, predicate, value = term.split()
    if subject == "M" and value == "M":
        return [f"{first} {predicate} {last}" for first, last in permutations(entities, 2)]
    if value == "M":
        return [f"{subject} {predicate} {entity}" for entity in entities]
    return [term]


def _anonymous(clause: str) -> str:
    subject, predicate, value = clause.split()
    value = "M" if ENTITY.match(value) else value
    return f"{_NUMBERED.sub('?x', subject)} {predicate} {_NUMBERED.sub('?x', value)}"


def _plain(word: str) -> str:
    word = word.removeprefix("ns:")
    return f"m_{word[2:]}" if word.startswith("m.") else word


def _association(both: int, first: int, second: int, total: int) -> float:
    """The log-likelihood ratio of two events (Dunning, 1993); 0 if they repel each other."""
    if both * total <= first * second:
        return 0.0
    table = [both, first - both, second - both, total - first - second + both]
    rows, columns = (first, total - first), (second, total - second)
    expected = [row * column / total for row in rows for column in columns]
    cells = [table[0], table[1], table[2], table[3]]
    return 2 * sum(
        cell * math.log(cell / mean) for cell, mean in zip(cells, expected, strict=True) if cell
    )
