"""The check of what systems wrote, for every command that reads or receives it.

A command that compares outputs with references by a metric also checks their case and tokenisation
(:mod:`cgbench.benchmark.score.evaluation.hypothesis_checks`), which begins with the same check.
"""

from collections.abc import Mapping, Sequence

from cgbench.errors import InputError, argument
from cgbench.text.hypothesis_form import MARKS, Difference, Reading, damages

AS_TEXT = Reading(words=MARKS)
"""How a reader would compare outputs."""


def form_problem(differences: Sequence[Difference]) -> str:
    """Differences in form and their remedies in one line; empty for none."""
    if not differences:
        return ""
    causes = "; ".join(difference.text for difference in differences)
    remedies = dict.fromkeys(difference.remedy for difference in differences)
    return f"{causes}. Remedy: {'; '.join(remedies)}"


def check_outputs(
    systems: Mapping[str, Sequence[Sequence[str]]],
    others: Sequence[str],
    *,
    reading: Reading = AS_TEXT,
    are_references: bool = False,
    accept: bool | None = None,
) -> list[str]:
    """Warnings about outputs in a form that keeps them from being read as text.

    :param systems: the runs of each system.
    :param others: texts of the same examples: their references (``are_references``), or else their
        sources, or fragments that right outputs contain; empty strings where nothing is known.
    :param accept: only warn of it; None if the caller has no such argument.
    :raises InputError: there are such outputs, unless they are accepted.
    """
    lines: list[str] = []
    for name, runs in systems.items():
        for run_number, run in enumerate(runs, 1):
            differences = damages(run, others, reading, are_references=are_references)
            if not differences:
                continue
            label = f"{name}, run {run_number}" if len(runs) > 1 else name
            lines.append(f"{label}: {form_problem(differences)}")
            if differences[0].stops and not accept:
                accepted = f"; {argument('accept_text')} takes the text as it is"
                raise InputError(lines[-1] + (accepted if accept is not None else ""))
    return lines
