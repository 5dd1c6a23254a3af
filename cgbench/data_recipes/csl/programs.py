"""Programs of SMCalFlow for CSL: prepared pairs, seed rules and a grammar of the programs.

Rules and tables are those of the authors' scripts (google-research/language, compgen/csl/tasks/
smcalflow/tools), which make them from the training text.
"""

import csv
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources

from cgbench.text.formats import Pair

LITERALS = ("PersonName", "String", "LocationKeyphrase", "Month", "DayOfWeek")
RECIPIENT = (
    "Execute :intension ( refer ( extensionConstraint ( RecipientWithNameLike :constraint ("
    " Constraint[Recipient] ) :name # ( NT_1 ) ) ) )"
)
HAND_RULES = (
    "NT_1 ### AttendeeListHasPeople :people ( NT_1 )",
    "NT_1 ### AttendeeListHasRecipient :recipient ( NT_1 )",
    f"NT_1 ### {RECIPIENT}",
    f"NT_1 ### AttendeeListHasRecipient :recipient ( {RECIPIENT} )",
    "NT_1 ### Constraint[DateTime] :date ( ?= ( NextDOW :dow # ( NT_1 ) ) )",
)
ROOT = "##ROOT"
_SPACED = str.maketrans({sign: f" {sign} " for sign in string.punctuation})


def spaced(source: str) -> str:
    """A request with spaces around every punctuation mark."""
    return " ".join(source.translate(_SPACED).split())


def is_grounded(source: str, program: str) -> bool:
    """Whether a request has the names of persons and the years of its program; for others they are
    in an earlier request.
    """
    names = [spaced(name).lower() for name in _strings("PersonName", program)]
    years = re.findall(r":year # \( Number 20(\S+) \)", program)
    # As in the authors' code, the last 0 of a whole number (2020) may be missing.
    digits = [year.removesuffix(".0" if year.endswith(".0") else "0") for year in years]
    text = source.lower()
    return all(name in text for name in names) and all(part in text for part in digits)


def prepared_pairs(pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs with spaced requests, without those that are not grounded."""
    spaced_pairs = ((spaced(source), program) for source, program in pairs)
    return [pair for pair in spaced_pairs if is_grounded(*pair)]


def seed_rules(pairs: Sequence[Pair]) -> list[str]:
    """The rules to start from: literals that a request and its program share, and five by hand."""
    literals = {rule for pair in pairs for rule in _literal_rules(*pair)}
    return [*sorted(literals), *HAND_RULES]


def _literal_rules(source: str, program: str) -> Iterator[str]:
    text = source.lower()
    for kind in LITERALS:
        for value in _strings(kind, program):
            if spaced(value).lower() in text:
                yield f'{spaced(value)} ### {kind} " {value} "'
    for value in re.findall(r":(?:date|time) \( (.+?) \)", program):
        if spaced(value).lower() in text:
            yield f"{spaced(value)} ### {value}"
    for number, rest in re.findall(r"Number (\d+)(\.0)? ", program):
        if number in source:
            yield f"{number} ### Number {number}{rest}"


def _strings(kind: str, program: str) -> list[str]:
    return re.findall(rf'{kind} " (.+?) "', program)


def grammar_lines(programs: Iterable[str]) -> list[str]:
    """The grammar of programs, as :class:`~cgbench.data_recipes.csl.target_grammar.TargetGrammar`
    reads it: the part in brackets after one of the authors' prefixes is a nonterminal.
    """
    prefixes = _prefixes()
    rules: set[tuple[str, str]] = set()
    for program in programs:
        whole = _symbols(ROOT, _nested(program.split()), prefixes, rules)
        rules.add((ROOT, " ".join(whole)))
    roots = sorted(rule for rule in rules if rule[0] == ROOT)
    return [f"{name} => {words}" for name, words in [*roots, *sorted(rules.difference(roots))]]


def _prefixes() -> list[dict[tuple[str, tuple[str, ...]], str]]:
    """Nonterminals by the one that they are in (empty: any) and by the words before the part; one
    dictionary per number of words, in the order in which they are tried.
    """
    text = resources.files("cgbench.data_recipes").joinpath("csl", "program_parts.tsv")
    by_length: dict[int, dict[tuple[str, tuple[str, ...]], str]] = {}
    for row in csv.DictReader(
        text.read_text(encoding="utf-8").splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE
    ):
        words = tuple(row["before"].split())
        by_length.setdefault(len(words), {})[row["inside"], words] = row["part"]
    return list(by_length.values())


Nested = list  # of words and such lists


def _nested(words: Sequence[str]) -> Nested:
    """The words as lists of lists: what brackets contain, between the brackets."""
    stack: list[Nested] = [[]]
    for word in words:
        if word == ")" and len(stack) > 1:
            part = stack.pop()
            stack[-1].append(part)
        stack[-1].append(word)
        if word == "(":
            stack.append([])
    return stack[0]


def _symbols(
    name: str,
    parts: Nested,
    prefixes: Sequence[dict[tuple[str, tuple[str, ...]], str]],
    rules: set[tuple[str, str]],
) -> list[str]:
    """The words and nonterminals of a part that stands for ``name``; adds the rules inside."""
    symbols: list[str] = []
    for part in parts:
        if isinstance(part, str):
            symbols.append(part)
        elif inner := _part_after(name, symbols, prefixes):
            rules.add((inner, " ".join(_symbols(inner, part, prefixes, rules))))
            symbols.append(inner)
        else:
            symbols += _symbols(name, part, prefixes, rules)
    return symbols


def _part_after(
    name: str,
    symbols: Sequence[str],
    prefixes: Sequence[dict[tuple[str, tuple[str, ...]], str]],
) -> str | None:
    for table in prefixes:
        length = len(next(iter(table))[1])
        words = tuple(symbols[-length:])
        for inside in ("", name):
            if (inside, words) in table:
                return table[inside, words]
    return None
