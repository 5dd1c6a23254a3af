"""Scores by the rules of each example, for ``cgbench score rules``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cgbench.argument_types import File, Systems, Text
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.benchmark.score.evaluation.evaluate import evaluation_of
from cgbench.benchmark.score.evaluation.example_sets import MetricContext
from cgbench.benchmark.score.evaluation.request import (
    Breakdown,
    ExampleOptions,
    ScoreRequest,
)
from cgbench.benchmark.score.evaluation.result import Evaluation
from cgbench.benchmark.score.evaluation.scored import score
from cgbench.benchmark.score.forms.rows import Row, rows_of
from cgbench.benchmark.score.imported.human_means import human_means_of
from cgbench.benchmark.score.outputs.hypotheses import read_runs
from cgbench.benchmark.score.outputs.score_files import ScoreColumn
from cgbench.errors import InputError, argument
from cgbench.request import KW_ONLY, Request, accepts, option
from cgbench.steps import hash_file
from cgbench.studies.rules.forms import KINDS
from cgbench.studies.rules.rule import Verdict, passed
from cgbench.studies.rules.rule_file import Check, RuleSet, read_rules, read_verdicts
from cgbench.studies.rules.rule_passes import RulePasses
from cgbench.text.inputs import local_path
from cgbench.text.joins import NONE, Examples
from cgbench.text.output_checks import check_outputs


class RuleJudgements(Request):
    """Verdicts of a judge on rules of the type ``verdict``, and human verdicts that correct
    them.
    """

    verdicts: File | None = option(
        "--verdicts",
        default=None,
        help="Verdicts of a judge: a table with id, system, rule and pass",
        group="Input",
    )
    people: File | None = option(
        "--people",
        default=None,
        help=(
            "Human verdicts on some of the examples, in such a table, to correct those of the judge"
        ),
        group="Human judgements",
    )
    _: KW_ONLY
    drop_missing: bool = option(
        "--drop-missing",
        default=False,
        help="Leave out examples for which some system has no output or no verdict",
        group="Advanced",
    )


class RulesRequest(Request):
    """What :func:`rules` is asked for."""

    systems: Systems | None = option(
        "--hyp",
        default=None,
        help="Outputs of a system, one file per seed; repeatable [default: those in --rules]",
        group="Input",
    )
    rules: File | None = option(
        "--rules",
        default=None,
        help="Rules: JSON Lines with id and rules, or LTB's v1.json",
        group="Input",
        metavar="FILE.jsonl",
    )
    _: KW_ONLY
    sources: Text | None = option(
        "--source",
        default=None,
        help="Sources, for --by and the report [default: `source` in --rules]",
        group="Input",
    )
    judgements: RuleJudgements = option(
        default=RuleJudgements(),
        help="Verdicts (RuleJudgements)",
    )
    comparison: Comparison = option(
        default=Comparison(),
        help="Intervals and tests (Comparison)",
        group="Comparison",
    )
    breakdown: Breakdown = option(
        default=Breakdown(),
        help="Bins (Breakdown)",
        group="Breakdown",
    )
    examples: ExampleOptions = option(
        default=ExampleOptions(),
        help="How examples are joined (ExampleOptions)",
    )


@accepts(RulesRequest)
def rules(request: RulesRequest) -> Evaluation:
    """Score systems by the rules of each example: the share of examples that pass all of them, and
    of rules that pass.

    ``systems`` are as in :func:`evaluate`; outputs with ids are joined with the rules by id.
    ``rules`` is a file (:mod:`cgbench.studies.rules.rule_file`). Clusters and bins may use its
    fields (``cluster="document"``, ``by="column:author"``).

    :raises InputError: the file contains an invalid rule, an example has no output, or a verdict is
        missing.
    """
    if request.rules is None:
        raise InputError(f"rules are needed: give {argument('rules')}")
    path = local_path(request.rules)
    rule_set = read_rules(path)
    outputs = _outputs(request, rule_set)
    _check_judged(request, rule_set, outputs)
    warnings = check_outputs(
        {
            system: [[text or "" for text in run] for run in runs]
            for system, runs in outputs.items()
        },
        [
            " ".join(text for rule in of_example for text in rule.texts)
            for of_example in rule_set.rules
        ],
        accept=request.examples.accept_text,
    )
    # Each rule is checked on each output; a judge's verdicts fill what rules cannot decide.
    verdicts = _verdicts_of(rule_set, outputs)
    if request.judgements.verdicts is not None:
        verdicts = read_verdicts(local_path(request.judgements.verdicts), rule_set, list(outputs))
    marks = {
        system: [_marks(rule_set, run, verdicts.get(system, {}), path) for run in runs]
        for system, runs in outputs.items()
    }
    flat = [(system, run) for system, runs in marks.items() for run in runs]
    missing = np.array([any("?" in run[row] for _, run in flat) for row in range(len(rule_set))])
    checks: list[Check] = []
    human = _human_verdicts(request, rule_set, marks, checks)
    notes = [*warnings, *_disagreements(rule_set, outputs, marks)]
    notes += _against_people(rule_set, marks, checks)
    if request.judgements.people is not None and not human:
        notes.append(f"{argument('people')}: no verdict on a rule of the type verdict")
    if missing.any():
        notes.append(_without_result(request, rule_set, flat, missing))
    metric = RulePasses(rule_set.rules, hash_file(path), missing, notes)
    # The results are scored as external scores are, with the outputs behind them.
    columns = {name: values for name, values in rule_set.columns.items() if any(values)}
    texts = {
        system: tuple([text or "" for text in run] for run in runs)
        for system, runs in outputs.items()
    }
    led = rule_set.column()
    runs = {
        system: [replace(led, name=system, values=run) for run in of]
        for system, of in marks.items()
    }
    sources = request.sources
    if sources is None and "source" in columns:
        sources = replace(led, name=f"{path}:source", values=list(columns["source"]))
    references = None
    if "reference" in columns:
        references = replace(led, name=f"{path}:reference", values=list(columns["reference"]))
    scored = ScoreRequest(
        metric,
        runs,
        references,
        sources=sources,
        comparison=request.comparison,
        breakdown=request.breakdown,
        examples=request.examples,
    )
    evaluation = evaluation_of(scored, MetricContext(texts, columns))
    of_kinds = RulePasses(rule_set.rules, metric.digest, missing, by_kind=True)
    if len(of_kinds.figures) > 1:
        evaluation = replace(
            evaluation,
            analyses={**evaluation.analyses, "kinds": _rows(of_kinds, evaluation)},
            layouts={**evaluation.layouts, "kinds": KINDS},
        )
    if not human:
        return evaluation
    return _corrected(request, evaluation, rule_set, marks, human)


def _rows(of_kinds: RulePasses, evaluation: Evaluation) -> list[Row]:
    """The share of rules of each kind that pass, in the long table."""
    assert evaluation.inputs is not None
    scored = score(
        of_kinds,
        evaluation.systems,
        evaluation.inputs.comparison,
        sampling=evaluation.scored.sampling,
    )
    rows = [
        replace(row, figure="rules", bin=row.figure, by="rule", n=of_kinds.counts[row.figure])
        for row in rows_of(scored)
    ]
    return sorted(rows, key=lambda row: of_kinds.figures.index(str(row.bin)))


def _outputs(request: RulesRequest, rule_set: RuleSet) -> dict[str, list[list[str | None]]]:
    """The outputs of each run of each system in the order of the rules; None where there is
    none.
    """
    if request.systems is None:
        if not rule_set.outputs:
            raise InputError(
                f"{rule_set.name} has no outputs of systems; give {argument('systems')}"
            )
        return {
            system: [[texts.get(key) for key in rule_set.ids]]
            for system, texts in rule_set.outputs.items()
        }
    ids = request.examples.ids
    examples = Examples(ids)
    examples.join(rule_set.column())
    outputs: dict[str, list[list[str | None]]] = {}
    for system, runs in read_runs(request.systems, None if ids == NONE else ids).items():
        for run in runs:
            rows = list(examples.rows_of(run, fewer=request.judgements.drop_missing))
            if len(rows) != len(rule_set):
                raise InputError(
                    f"{run.name} has {len(rows):,} lines and {rule_set.name} has {len(rule_set):,}"
                    " examples: an output is needed for each; check where the alignment breaks"
                )
            outputs.setdefault(system, []).append(
                [None if row < 0 else run.values[row] for row in rows]
            )
    examples.check()
    return outputs


def _check_judged(
    request: RulesRequest, rule_set: RuleSet, outputs: Mapping[str, Sequence[Any]]
) -> None:
    """Refuse verdicts that no rule asks for, or that do not say which run of a system they are of.

    :raises InputError: there are such.
    """
    if any(isinstance(rule, Verdict) for of_example in rule_set.rules for rule in of_example):
        if several := next((system for system, runs in outputs.items() if len(runs) > 1), None):
            raise InputError(
                f"{several} has {len(outputs[several])} runs, but a verdict names a system, not a"
                " run: give each run a name of its own"
            )
        return
    for name in ("verdicts", "people"):
        if getattr(request.judgements, name) is not None:
            raise InputError(f"{argument(name)}: {rule_set.name} has no rule of the type verdict")


def _verdicts_of(
    rule_set: RuleSet, outputs: Mapping[str, Sequence[Sequence[str | None]]]
) -> dict[str, dict[str, str]]:
    """The verdicts of the file of rules by system and example, on the outputs that they judge."""
    return {
        system: {
            identity: verdicts[identity]
            for identity, text in zip(rule_set.ids, outputs[system][0], strict=True)
            if identity in verdicts and text == rule_set.outputs.get(system, {}).get(identity)
        }
        for system, verdicts in rule_set.verdicts.items()
        if system in outputs
    }


def _marks(
    rule_set: RuleSet, run: Sequence[str | None], verdicts: Mapping[str, str], path: Path
) -> list[str]:
    """A mark per rule for every output."""
    marks = []
    for row, (output, of_example) in enumerate(zip(run, rule_set.rules, strict=True)):
        if output is None:
            marks.append("?" * len(of_example))
            continue
        try:
            checked = passed(of_example, output)
        except InputError as error:
            raise InputError(f"{path}, example {rule_set.ids[row]}: {error.message}") from None
        judged = iter(verdicts.get(rule_set.ids[row], "").ljust(checked.count("?"), "?"))
        blank = not output.strip()
        marks.append(
            "".join(("0" if blank else next(judged)) if mark == "?" else mark for mark in checked)
        )
    return marks


def _disagreements(
    rule_set: RuleSet,
    outputs: Mapping[str, Sequence[Any]],
    marks: Mapping[str, Sequence[Sequence[str]]],
) -> list[str]:
    """A warning if equal outputs of an example have different verdicts."""
    judged = [
        row
        for row, of in enumerate(rule_set.rules)
        if any(isinstance(rule, Verdict) for rule in of)
    ]
    differing: dict[tuple[int, str], set[str]] = {}
    for system, runs in outputs.items():
        for run, of_run in zip(runs, marks[system], strict=True):
            for row in judged:
                if run[row] and "?" not in of_run[row]:
                    differing.setdefault((row, run[row]), set()).add(of_run[row])
    rows = [row for (row, _), seen in differing.items() if len(seen) > 1]
    if not rows:
        return []
    return [
        f"the judge contradicts itself: equal outputs have different verdicts in {len(rows):,}"
        f" cases, first in example {rule_set.ids[rows[0]]}"
    ]


def _without_result(
    request: RulesRequest,
    rule_set: RuleSet,
    flat: Sequence[tuple[str, Sequence[str]]],
    missing: np.ndarray,
) -> str:
    """A note that examples are left out.

    :raises InputError: they must not be, or none is left.
    """
    first = int(np.flatnonzero(missing)[0])
    system = next(system for system, run in flat if "?" in run[first])
    count = int(np.count_nonzero(missing))
    if not request.judgements.drop_missing:
        raise InputError(
            f"{rule_set.name}: {count:,} of {len(missing):,} examples have no output or no verdict"
            f" of some system, first example {rule_set.ids[first]} ({system}); give"
            f" {argument('verdicts')}, or leave them out of all systems"
            f" ({argument('drop_missing')})"
        )
    if count == len(missing):
        raise InputError(
            f"{rule_set.name}: no example is left: for each one, some system has no output or no"
            " verdict"
        )
    return (
        f"{count:,} of {len(missing):,} examples are left out of all systems: some have no output"
        " or no verdict"
    )


Marks: TypeAlias = Mapping[str, Sequence[Sequence[str]]]
"""A mark per rule, of each example, run and system."""


def _human_verdicts(
    request: RulesRequest, rule_set: RuleSet, marks: Marks, checks: list[Check]
) -> dict[str, dict[str, str]]:
    """The human verdicts; ``checks`` receives those on rules that need none."""
    if request.judgements.people is None:
        return {}
    path = local_path(request.judgements.people)
    human = read_verdicts(path, rule_set, list(marks), checks)
    for system in [*human, *(check.system for check in checks)]:
        if system not in marks:
            raise InputError(f"{path}: {system!r} is not one of the systems ({', '.join(marks)})")
    return human


def _against_people(rule_set: RuleSet, marks: Marks, checks: Sequence[Check]) -> list[str]:
    """A warning if people disagree with rules that need no verdict."""
    row_of = {identity: row for row, identity in enumerate(rule_set.ids)}
    differing = []
    for check in checks:
        of_rules = marks[check.system][0][row_of[check.example]]
        mark = of_rules if check.rule_number is None else of_rules[check.rule_number]
        if "?" not in mark and check.passed != ("0" not in mark):
            differing.append(check)
    if not differing:
        return []
    return [
        f"people disagree with rules that need no verdict in {len(differing):,} of"
        f" {len(checks):,} rows, first in example {differing[0].example} ({differing[0].system});"
        " the rules count"
    ]


def _corrected(
    request: RulesRequest,
    evaluation: Evaluation,
    rule_set: RuleSet,
    marks: Marks,
    human: Mapping[str, Mapping[str, str]],
) -> Evaluation:
    """The evaluation with the share of examples that pass, as people judge some of them and the
    judge all; those without verdict rules are known.
    """
    exact = np.array(
        [not any(isinstance(rule, Verdict) for rule in of_example) for of_example in rule_set.rules]
    )
    scores, people = {}, {}
    for system, verdicts in human.items():
        judge = marks[system][0]
        results = ["?" if "?" in of else str(int("0" not in of)) for of in judge]
        scores[system] = [_passes(rule_set, system, results)]
        values = list(results)
        for row in np.flatnonzero(~exact).tolist():
            of_people = verdicts.get(rule_set.ids[row], "?")
            checked = [
                mark
                for mark, rule in zip(judge[row], rule_set.rules[row], strict=True)
                if not isinstance(rule, Verdict)
            ]
            passes = "0" not in (*of_people, *checked)
            values[row] = "?" if "?" in of_people else str(int(passes))
        people[system] = [_passes(rule_set, f"{request.judgements.people}, {system}", values)]
    means = human_means_of(evaluation, scores, people, request.examples, None, exact)
    return replace(evaluation, scored=replace(evaluation.scored, people=tuple(means)))


def _passes(rule_set: RuleSet, name: str, values: Sequence[str]) -> ScoreColumn:
    return ScoreColumn(
        name, [value.replace("?", "nan") for value in values], ids=list(rule_set.ids)
    )
