"""The texts of a build, looked at before any step runs: a warning each finding, a stop where one would spoil it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from cgbench.errors import InputError, InputWarning, argument
from cgbench.text.formats import CorpusSpec
from cgbench.text.inspection import Finding, look_at
from cgbench.text.normalisation import Normalisation


def inspect_texts(
    train: CorpusSpec, others: Sequence[CorpusSpec], normalisation: Normalisation, *, accept: bool
) -> tuple[Finding, ...]:
    """What is wrong with the texts of a build, said as warnings.

    :param others: pools, and corpora whose sentences are left out.
    :param accept: go on with text that would spoil the benchmark.
    :raises InputError: a text is malformed, or one would spoil the benchmark.
    """
    findings = look_at(train, others, normalisation)
    stopped = next((finding for finding in findings if finding.stops), None) if not accept else None
    for finding in findings:
        if finding is not stopped:
            warnings.warn(InputWarning(finding.text), stacklevel=2)
    if stopped:
        raise InputError(f"{stopped.text}; {argument('accept_text')} takes the text as it is")
    return tuple(findings)
