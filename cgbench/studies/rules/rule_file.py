"""Files of rules and of verdicts.

Rules: JSON Lines (or an array), one object per example with its ``id`` and ``rules``
(:mod:`.rule`); other fields, such as ``source``, ``document`` or ``author``, describe it. The Last
Translation Benchmark's ``v1.json`` is read as it is published: its ``verification_rules`` are
verdicts of a judge, ``verified`` in each of its ``translations``.

Verdicts: a table with the columns ``id``, ``rule`` (the name of the rule or its number from 1),
``pass``, and ``system`` if there are several; without ``rule`` a row is the verdict on all verdict
rules of an example. The rows of Every Eval Ever are such a table: they have the number of rules
that passed, not which.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from cgbench.errors import InputError
from cgbench.settings import did_you_mean
from cgbench.studies.rules.rule import TYPES, Rule, Verdict, convert_rules
from cgbench.text.columns import Column
from cgbench.text.identities import rows_by_id
from cgbench.text.rows import Table, read_objects
from cgbench.text.streams import form

LTB = frozenset(("verification_rules", "translations"))
NO_SYSTEM = ("SKIP: ", "PRIVILEGE-")  # names in the Last Translation Benchmark that are no systems
EVERY_EVAL_EVER = frozenset(("sample_id", "model_id", "evaluation", "metadata"))
COLUMNS = {
    "id": ("id", "example", "segment", "seg_id", "sample_id", "item"),
    "system": ("system", "model", "model_id", "sys"),
    "rule": ("rule", "name", "criterion"),
    "pass": ("pass", "passed", "verdict", "correct"),
}
"""Columns of a table of verdicts, by what they hold."""
_PASS = {
    "true": True,
    "1": True,
    "1.0": True,
    "pass": True,
    "passed": True,
    "yes": True,
    "false": False,
    "0": False,
    "0.0": False,
    "fail": False,
    "failed": False,
    "no": False,
}


@dataclass(frozen=True)
class RuleSet:
    """The rules of each example, in the order of the file.

    ``columns``: what else is known of each example, by name. ``outputs`` of systems, and
    ``verdicts`` by system and example, if the file contains them: a mark per verdict rule, 1, 0 or
    ``?`` (none).
    """

    name: str
    ids: list[str]
    rules: list[list[Rule]]
    columns: dict[str, list[str]]
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    verdicts: dict[str, dict[str, str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def column(self) -> Column:
        """The examples, to join texts with."""
        return Column(self.name, list(self.ids), ids=list(self.ids), ids_name="id")


def read_rules(path: Path) -> RuleSet:
    """Read a file of rules.

    :raises InputError: a row has no id or no rules, an id occurs twice, or a rule is invalid.
    """
    if form(path) not in ("json", "jsonl"):
        raise InputError(
            f"{path}: rules are JSON Lines, one object per example; name the file .jsonl"
        )
    rows = [(f"{path}, row {row_number}", row) for row_number, row in read_objects(path)]
    if not rows:
        raise InputError(f"{path}: no examples")
    is_ltb = set(rows[0][1]) >= LTB
    ids = [_id_of(row, where) for where, row in rows]
    rows_by_id(str(path), ids)
    read = _of_ltb if is_ltb else _rules_of
    rules = [read(row, where) for where, row in rows]
    names = [
        name
        for name, value in rows[0][1].items()
        if name not in ("id", "rules") and not isinstance(value, (dict, list))
    ]
    columns = {
        name: ["" if row.get(name) is None else str(row[name]) for _, row in rows] for name in names
    }
    if not is_ltb:
        return RuleSet(str(path), ids, rules, columns)
    columns = {
        "source" if name == "source_text" else name: values
        for name, values in columns.items()
        if name == "source_text" or "lang" in name
    }
    columns["tags"] = ["; ".join(map(str, _list_of(row, "tags", where))) for where, row in rows]
    outputs, verdicts = _translations(ids, rows)
    return RuleSet(str(path), ids, rules, columns, outputs, verdicts)


def _id_of(row: Mapping[str, Any], where: str) -> str:
    identity = row.get("id")
    if (
        isinstance(identity, bool)
        or not isinstance(identity, (str, int))
        or not str(identity).strip()
    ):
        raise InputError(f"{where}: no id; give each example one, a text or a whole number")
    return str(identity)


def _rules_of(row: Mapping[str, Any], where: str) -> list[Rule]:
    values = row.get("rules")
    if not isinstance(values, list) or not values:
        raise InputError(
            f'{where}: no rules; write "rules": [{{"type": "contains", "any": ["..."]}}]'
        )
    rules = []
    for rule_number, value in enumerate(values, 1):
        try:
            rules += convert_rules([value])
        except msgspec.ValidationError as error:
            kind = value.get("type") if isinstance(value, dict) else None
            near = did_you_mean(str(kind), TYPES) if kind not in TYPES else ""
            reason = str(error).replace("`$[0]", "`rule").partition(" - at `rule`")[0]
            raise InputError(f"{where}, rule {rule_number}: {reason}{near}") from None
    return rules


def _of_ltb(row: Mapping[str, Any], where: str) -> list[Rule]:
    texts = row.get("verification_rules")
    if (
        not isinstance(texts, list)
        or not texts
        or not all(isinstance(text, str) and text.strip() for text in texts)
    ):
        raise InputError(f"{where}: verification_rules is not a list of texts")
    return [Verdict(name=text) for text in texts]


def _list_of(row: Mapping[str, Any], name: str, where: str) -> list[Any]:
    values = row.get(name) or []
    if not isinstance(values, list):
        raise InputError(f"{where}: {name} is not a list")
    return values


def _translations(
    ids: Sequence[str], rows: Sequence[tuple[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The outputs and the verdicts of each system in the Last Translation Benchmark, by example."""
    outputs: dict[str, dict[str, str]] = {}
    verdicts: dict[str, dict[str, str]] = {}
    for identity, (where, row) in zip(ids, rows, strict=True):
        for entry in _list_of(row, "translations", where):
            if not isinstance(entry, dict) or not isinstance(system := entry.get("model"), str):
                raise InputError(f"{where}: a translation is not an object with a model")
            if system.startswith(NO_SYSTEM):
                continue
            if identity in outputs.setdefault(system, {}):
                raise InputError(f"{where}: {system} has two translations; keep one")
            if entry.get("translation") is None:  # never translated, whatever the verdicts say
                continue
            outputs[system][identity] = str(entry["translation"])
            verified = entry.get("verified")
            if verified is None:
                continue
            if not isinstance(verified, list) or len(verified) != len(row["verification_rules"]):
                raise InputError(f"{where}: {system} has not one verdict per rule")
            marks = "".join(
                {True: "1", False: "0"}.get(mark, "?") if isinstance(mark, bool) else "?"
                for mark in verified
            )
            verdicts.setdefault(system, {})[identity] = marks
    return outputs, verdicts


@dataclass(frozen=True)
class Check:
    """A person's verdict on what cgbench checks itself: one rule of an example, or all rules of an
    example without verdict rules.
    """

    system: str
    example: str
    rule_number: int | None
    """Among the rules of the example, from 0; None: all of them."""
    passed: bool


def read_verdicts(
    path: Path,
    rules: RuleSet,
    systems: Sequence[str],
    checks: list[Check] | None = None,
) -> dict[str, dict[str, str]]:
    """The verdicts in a table by system and example, as :attr:`RuleSet.verdicts`.

    :param systems: the systems that are scored; a table without systems is for the only one.
    :param checks: receives the rows about rules that need no verdict; None: they are errors.
    :raises InputError: a column is missing, a row names no example or rule, or two rows contradict
        each other.
    """
    judged = {
        identity: [rule for rule in of_example if isinstance(rule, Verdict)]
        for identity, of_example in zip(rules.ids, rules.rules, strict=True)
    }
    rules_of = dict(zip(rules.ids, rules.rules, strict=True))
    marks: dict[str, dict[str, list[str]]] = {}
    for where, system, identity, rule, mark in _verdict_rows(path, systems):
        if identity not in judged:
            raise InputError(
                f"{where}: {identity!r} is not an example of"
                f" {rules.name}{did_you_mean(identity, judged)}"
            )
        names = [verdict.name for verdict in judged[identity]]
        if checks is not None:
            check = _check_of(system, identity, rules_of[identity], rule, mark, where)
            if check is not None:
                checks.append(check)
                continue
        row = marks.setdefault(system, {}).setdefault(identity, ["?"] * len(names))
        if isinstance(mark, RulesPassed):
            if mark.total not in (None, len(names)) or mark.count > len(names):
                raise InputError(
                    f"{where}: {mark.count} of {mark.total or '?'} rules passed, but {identity} has"
                    f" {len(names)} verdict rule{'s' * (len(names) != 1)} in {rules.name}"
                )
            if mark.right != (mark.count == len(names)):
                raise InputError(
                    f"{where}: {mark.count} of {len(names)} rules passed, which contradicts"
                    f" is_correct {str(mark.right).lower()}"
                )
            values = dict(enumerate("1" * mark.count + "0" * (len(names) - mark.count)))
        else:
            rule_numbers = range(len(names)) if rule is None else [_place(rule, names, where)]
            values = dict.fromkeys(rule_numbers, str(int(mark)))
        for index, value in values.items():
            if row[index] not in ("?", value):
                raise InputError(
                    f"{where}: {system} has two verdicts on rule {index + 1} of {identity};"
                    " keep one"
                )
            row[index] = value
    return {
        system: {identity: "".join(row) for identity, row in of.items()}
        for system, of in marks.items()
    }


def _check_of(
    system: str,
    example: str,
    rules: Sequence[Rule],
    rule: str | None,
    mark: "bool | RulesPassed",
    where: str,
) -> Check | None:
    """A row as a check of a rule that needs no verdict; None if it is a verdict."""
    needs_verdict = [isinstance(of_example, Verdict) for of_example in rules]
    passed = mark.right if isinstance(mark, RulesPassed) else mark
    names = [of_example.name for of_example in rules]
    if not any(needs_verdict):
        rule_number = None if rule is None else _place(rule, names, where, "rule")
        return Check(system, example, rule_number, passed)
    if rule in names and not needs_verdict[names.index(rule)]:
        return Check(system, example, names.index(rule), passed)
    return None


@dataclass(frozen=True)
class RulesPassed:
    """How many rules of an example passed, of how many (None: not said), and whether it is right as
    a whole."""

    count: int
    total: int | None
    right: bool


def _rules_passed(text: str, right: bool, where: str) -> RulesPassed:
    """Read ``3/4`` or ``3``."""
    match = re.fullmatch(r"(\d{1,6})(?:\s*/\s*(\d{1,6}))?", text.strip(), re.ASCII)
    if match is None:
        raise InputError(f"{where}: rules_passed is {text[:40]!r}; write 3/4 or 3")
    return RulesPassed(int(match[1]), int(match[2]) if match[2] else None, right)


def _place(rule: str, names: Sequence[str], where: str, kind: str = "verdict rule") -> int:
    if rule in names:
        return names.index(rule)
    if rule.isascii() and rule.isdigit() and 0 < int(rule[:9]) <= len(names):
        return int(rule) - 1
    raise InputError(f"{where}: the example has no {kind} {rule!r}{did_you_mean(rule, names)}")


def _verdict_rows(
    path: Path, systems: Sequence[str]
) -> Iterator[tuple[str, str, str, str | None, bool | RulesPassed]]:
    """Where a verdict stands, its system, example, rule (None: all), and the verdict or how many
    rules passed.
    """
    table = Table(path, named=True)
    if set(table.names) >= EVERY_EVAL_EVER:
        for row_number, (identity, system, evaluation, metadata) in table.read(
            ("sample_id", "model_id", "evaluation", "metadata")
        ):
            where = f"{path}, row {row_number}"
            right = evaluation.get("is_correct") if isinstance(evaluation, dict) else None
            if not isinstance(right, bool):
                raise InputError(f"{where}: no evaluation.is_correct")
            counts = metadata.get("rules_passed") if isinstance(metadata, dict) else None
            passed = right if counts is None else _rules_passed(str(counts), right, where)
            yield where, str(system), str(identity), None, passed
        return
    chosen = {
        role: next((name for name in names if name in table.names), None)
        for role, names in COLUMNS.items()
    }
    if chosen["id"] is None or chosen["pass"] is None:
        missing = "id" if chosen["id"] is None else "pass"
        raise InputError(
            f"{path}: no column {missing!r}; a table of verdicts has id, system, rule and pass"
        )
    if chosen["system"] is None and len(systems) != 1:
        raise InputError(
            f"{path}: no column 'system', but {len(systems)} systems are scored; add it"
        )
    present = {role: name for role, name in chosen.items() if name is not None}
    for row_number, values in table.read(list(present.values())):
        where, row = f"{path}, row {row_number}", dict(zip(present, values, strict=True))
        mark = _PASS.get(str(row["pass"]).strip().lower())
        if mark is None:
            raise InputError(
                f"{where}: {row['pass']!r} is not a verdict; write pass or fail, true or false, 1"
                " or 0"
            )
        rule = row.get("rule")
        yield (
            where,
            str(row.get("system", systems[0])),
            str(row["id"]),
            None if rule is None else str(rule),
            mark,
        )
