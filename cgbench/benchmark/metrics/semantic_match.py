"""Semantic exact match of logical forms: equality up to variable names and the order of conjuncts.

As in the evaluator of ReCOGS (Wu, Manning and Potts 2023, section 4), conjuncts are separated by ``;`` and ``AND``,
variables are numbers, and blanks do not count. Two variables can correspond if they have the same predicates with the
same counts; a form is right if some renaming of its variables gives the conjuncts of the reference. Side effects of
these rules are kept: two variables may become one, and a number that is not a variable (``dog2``), or ``AND`` within a
name, makes a form wrong. That evaluator tries all renamings; here a search is cut off when a conjunct is not in the
reference or a variable of the reference would be left over, with the same result.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from cgbench.benchmark.metrics.exact_match import ExactMatch
from cgbench.benchmark.metrics.metric import Signature
from cgbench.errors import InputError
from cgbench.text.hypothesis_form import CHARACTERS, Reading

MOST_STEPS = 1_000_000
_NUMBER = re.compile(r"\d+")
_OWN_NUMBER = re.compile(r"\b\d+\b")
_PARTS = re.compile(r"\s*(?:AND|;)\s*")
_PREDICATE = re.compile(r"(\w+)\((\d+)(?:,(\d+))?\)")


class Form:
    """A logical form: its ``conjuncts``, its ``numbers``, and its variables by their predicates (``kinds``)."""

    def __init__(self, text: str) -> None:
        """``text``: any output of a model."""
        plain = "".join(text.split(" ")).replace("AND", " AND ")
        self.conjuncts = frozenset(_PARTS.split(plain))
        self.numbers = set(_NUMBER.findall(plain))
        predicates: dict[str, list[str]] = defaultdict(list)
        for name, first, second in _PREDICATE.findall(plain):
            for variable in (first, second) if second else (first,):
                predicates[variable].append(name)
        self.kinds: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for variable, names in predicates.items():
            self.kinds[tuple(sorted(names))].append(variable)


def means_the_same(form: Form, gold: Form) -> bool:
    """Whether a form equals the reference ``gold`` up to variable names and the order of conjuncts.

    :raises InputError: there are too many possible renamings.
    """
    choices = {variable: gold.kinds.get(kind, []) for kind, variables in form.kinds.items() for variable in variables}
    if (
        set(choices) != form.numbers
        or {variable for numbers_of_kind in gold.kinds.values() for variable in numbers_of_kind} != gold.numbers
    ):
        return False
    # Every variable of the reference needs one of the form, so there must be enough of each kind.
    if any(len(form.kinds.get(kind, ())) < len(variables) for kind, variables in gold.kinds.items()):
        return False
    used_in: dict[str, list[str]] = defaultdict(list)
    waiting: dict[str, int] = {}
    for conjunct in form.conjuncts:
        variables = set(_OWN_NUMBER.findall(conjunct))
        waiting[conjunct] = len(variables)
        for variable in variables:
            used_in[variable].append(conjunct)
        if not variables and conjunct not in gold.conjuncts:
            return False
    return _search(
        sorted(choices, key=lambda variable: (len(choices[variable]), variable)), choices, used_in, waiting, form, gold
    )


def _search(
    order: Sequence[str],
    choices: dict[str, list[str]],
    used_in: dict[str, list[str]],
    waiting: dict[str, int],
    form: Form,
    gold: Form,
) -> bool:
    """Rename variables one by one, and backtrack when a complete conjunct is not in the reference.

    :param waiting: number of variables without a new name in each conjunct.
    """
    names: dict[str, str] = {}
    times_named: Counter[str] = Counter()  # number of variables with each name
    spare = len(order) - len(gold.numbers)  # number of variables that may share a name
    tried = [0] * len(order)
    place = steps = 0
    while place >= 0:
        # All variables are renamed: is it the reference?
        if place == len(order):
            if (
                set(names.values()) == gold.numbers
                and {_renamed(conjunct, names) for conjunct in form.conjuncts} == gold.conjuncts
            ):
                return True
            place -= 1
            continue
        variable = order[place]
        if variable in names:  # backtracking
            name = names.pop(variable)
            times_named[name] -= 1
            spare += times_named[name] > 0
            for conjunct in used_in[variable]:
                waiting[conjunct] += 1
        # No name is left for this variable: go back to the one before.
        if tried[place] == len(choices[variable]):
            tried[place] = 0
            place -= 1
            continue
        name = choices[variable][tried[place]]
        if times_named[name] and not spare:
            tried[place] += 1
            continue
        steps += 1
        if steps > MOST_STEPS:
            raise InputError(
                f"a logical form has more than {MOST_STEPS:,} possible renamings of its variables: "
                f"{', '.join(order[:5])} ..."
            )
        # Take the name.
        names[variable] = name
        spare -= times_named[name] > 0
        times_named[name] += 1
        tried[place] += 1
        for conjunct in used_in[variable]:
            waiting[conjunct] -= 1
        if all(waiting[conjunct] or _renamed(conjunct, names) in gold.conjuncts for conjunct in used_in[variable]):
            place += 1
    return False


def _renamed(conjunct: str, names: dict[str, str]) -> str:
    return _OWN_NUMBER.sub(lambda match: names.get(match[0], match[0]), conjunct)


def _is_itself(gold: Form) -> bool:
    try:
        return means_the_same(gold, gold)
    except InputError:
        return True  # too many renamings; reported when a hypothesis has as many


class SemanticMatch(ExactMatch):
    """Exact match of logical forms, where forms with the same meaning count as equal.

    An empty hypothesis counts as wrong.
    """

    name = "semantic"
    figures = ("semantic",)
    unfit: tuple[str, ...] = ()
    """A warning about references that can never be right."""

    def __init__(self, references: Sequence[Sequence[str]], *, lowercase: bool = False) -> None:
        """As for exact match.

        :raises InputError: an example has no reference, or no reference equals itself by these rules.
        """
        super().__init__(references, lowercase=lowercase)
        self.reading = Reading(case=not lowercase, words=CHARACTERS, whole=True, lowercase=True)
        self.forms = [[Form(reference) for reference in sorted(example)] for example in self.references]
        never = [place for place, golds in enumerate(self.forms) if not any(_is_itself(gold) for gold in golds)]
        if never:
            line = (
                f"{len(never):,} of {self.n:,} examples have no reference that can be right by these rules (first: "
                f"row {never[0] + 1}): variables are numbers in parentheses, dog ( 3 ), not x _ 3 as in COGS; use the "
                "forms of ReCOGS, or exact match"
            )
            if len(never) == self.n:
                raise InputError(line)
            self.notes = self.unfit = (line,)

    def signature(self) -> Signature:
        """The signature of exact match, with the rules used."""
        signature = super().signature()
        signature.items["tok"] = None
        signature.items["rules"] = "recogs"
        return signature

    def is_right(self, text: str, place: int) -> bool:
        """Whether a hypothesis has the meaning of a reference of its example."""
        form = Form(text)
        try:
            return any(means_the_same(form, gold) for gold in self.forms[place])
        except InputError as error:
            row = f"row {place + 1} and similar rows count as wrong: {error.message}"
            self.notes = (*self.unfit, row)
            return False
