"""Normalise hypotheses like the references, and check that they have the same form."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench import __version__
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.errors import InputError, argument
from cgbench.files import check_shape
from cgbench.kept import WORTH_KEEPING, Kept, code_of
from cgbench.text import hypothesis_form
from cgbench.text.columns import Column
from cgbench.text.damage import sampled
from cgbench.text.hypothesis_form import (
    Difference,
    Reading,
    damages,
    differences,
    order_problems,
    pair_contrasts,
    partial_damages,
)
from cgbench.text.inputs import Texts, as_column
from cgbench.text.plain_text import words_of
from cgbench.text.profile import Profile, profile
from cgbench.text.remote import local
from cgbench.text.sampling import sample_text, spread

if TYPE_CHECKING:
    from cgbench.benchmark.release.release import Release
    from cgbench.text.normalisation import Normalisation

Once = Callable[[Hashable, Callable[[], Any]], Any]

RELEASE, DETOKENIZE = "release", "detokenize"
MOST_INCOMPLETE = 0.02
"""The largest share of a server's answers that may be empty or cut short."""
LINES_AGAINST_THEMSELVES = 128  # at most about twice as many, before all are scored
FARTHEST_FROM_BEST = 50.0
"""Points from the best score for a text against itself; the preset lexicon counts a missing n-gram
for each short sentence.
"""


def prepare(
    request: ScoreRequest,
    metric: Metric,
    systems: list[System],
    references: Sequence[Sequence[str]],
    *,
    sources: Sequence[str] = (),
    release_form: bool = False,
    once: Once,
) -> tuple[list[System], str | None, list[str]]:
    """The systems with normalised hypotheses, the normalisation for the signature, and warnings.

    :param release_form: the references are in the normalised form of the release.
    :param sources: compared with the hypotheses where there are no references.
    :param once: for what several metrics of a request need once (``MetricContext.once``).
    :raises InputError: the form of hypotheses would make the score meaningless, or they cannot be
        normalised.
    """
    lines, normalise = check_complete(request, systems), request.examples.normalise
    if metric.of_texts and not references and sources:
        from cgbench.text.output_checks import check_outputs

        lines += check_outputs(
            {system.name: system.runs for system in systems},
            sources,
            accept=request.examples.accept_text,
        )
    if metric.reading is None or not references:
        if normalise is not None:
            raise InputError(
                f"{argument('normalise', normalise)} is for metrics that compare hypotheses with"
                f" references, not for {metric.name}"
            )
        return systems, None, lines
    label, requested = None, normalise is not None
    normalise = RELEASE if release_form else normalise
    if normalise is not None:
        normalisation = normalisation_of(
            normalise, request.release, anonymised=release_form and not requested
        )
        systems, warnings = normalise_systems(systems, normalisation, references)
        lines += warnings
        label = normalisation_label(normalisation)
    accept = request.examples.accept_text
    lines += check_form(request, metric.reading, systems, references, accept=accept, once=once)
    return systems, label, lines


def in_release_form(
    request: ScoreRequest,
    metric: Metric,
    systems: Sequence[System],
    originals: Sequence[Sequence[str]],
    normalised: Sequence[Sequence[str]],
) -> bool:
    """Whether hypotheses are scored in the normalised form of the release: on request, or if some
    have more words in common with the references in that form. Others are then normalised too, so
    that all have the same references.

    :param originals: the references as in the release's text; ``normalised``: the same in the form
        that selected them.
    """
    if request.examples.normalise is not None or metric.reading is None:
        return request.examples.normalise == RELEASE
    assert request.release is not None  # its references are in two forms
    replaced = request.release.configuration.get("anonymise", "none") != "none"
    runs = [run for system in systems for run in system.runs]
    # Names in logical forms cannot be replaced in hypotheses alone.
    judge = all if replaced else any
    return judge(_common_words(run, normalised) > _common_words(run, originals) for run in runs)


def _common_words(run: Sequence[str], references: Sequence[Sequence[str]]) -> int:
    pairs = zip(run, references, strict=True)
    return sum(
        (Counter(words_of(text)) & Counter(words_of(example[0]))).total() for text, example in pairs
    )


def check_complete(request: ScoreRequest, systems: Sequence[System]) -> list[str]:
    """Warnings about answers of servers that are empty or cut short, as their records count them.

    :raises InputError: they are more than :data:`MOST_INCOMPLETE` of a run's.
    """
    lines = []
    for system in systems:
        for run_number, record in enumerate(system.made):
            counts = (record or {}).get("answers") or {}
            answer_count, incomplete = counts.get("asked", 0), counts.get("incomplete", 0)
            if not incomplete:
                continue
            causes = ", ".join(
                f"{name} {count:,}" for name, count in counts.get("causes", {}).items()
            )
            name = _named(system, run_number)
            line = (
                f"{name}: {incomplete:,} of {answer_count:,} answers are empty or cut short"
                f" ({causes})"
            )
            if incomplete > MOST_INCOMPLETE * answer_count and not request.examples.accept_text:
                raise InputError(
                    f"{line}, more than {100 * MOST_INCOMPLETE:g}%; translate again with a larger"
                    f" ?max_tokens=N or another prompt; {argument('accept_text')} scores them as"
                    " they are"
                )
            lines.append(f"{line} and count as they are")
    return lines


def check_against_itself(
    request: ScoreRequest,
    metric: Metric,
    references: Sequence[Sequence[str]],
    metric_of: Callable[[list[list[str]]], Metric],
) -> list[str]:
    """Warnings about references that the metric would not find right if a system wrote them.

    :param metric_of: makes the same metric for some of the references.
    :raises InputError: the score of the references against themselves is far from the best.
    """
    best = metric.bottom if metric.lower_is_better else metric.top
    if metric.reading is None or best is None:
        return []
    rows = sampled(len(references), LINES_AGAINST_THEMSELVES)
    for examples in ([references[row] for row in rows], references):
        few = metric_of(list(map(list, examples)))
        score = few.value(few.statistics([example[0] for example in examples]))[0]
        if abs(score - best) <= FARTHEST_FROM_BEST:
            return []
    line = f"the references against themselves get {metric.name} {score:.1f}, not {best:.1f}"
    if metric.reading.tokenize:
        line += ", because they have fewer words than its longest n-grams"
    if request.examples.accept_text:
        return [line]
    raise InputError(
        f"{line}. Remedy: use another metric, such as exact or chrf; {argument('accept_text')}"
        " scores the text as it is"
    )


def check_translated(
    request: ScoreRequest,
    systems: Sequence[System],
    sources: Column | None,
    normalised: Column | None = None,
) -> None:
    """Check that systems translated the sources of this set, as far as records of ``cgbench
    translate`` say.

    :param normalised: the sources in the normalised form of a release.
    :raises InputError: one translated another text.
    """
    digests = [
        (system.name, record["source"])
        for system in systems
        for record in system.made
        if record and record.get("source")
    ]
    if sources is None or sources.rows is not None or request.examples.accept_text or not digests:
        return
    from cgbench.steps import hash_value

    expected = {hash_value(text.values) for text in (sources, normalised) if text}
    if strange := next((name for name, digest in digests if digest not in expected), None):
        raise InputError(
            f"{strange}: its record says that it translated another text than {sources.name};"
            f" translate that, or give the hypotheses of this set; {argument('accept_text')} scores"
            " them as they are"
        )


def check_training(request: ScoreRequest, text: Column, train: Texts) -> list[str]:
    """Warnings about a training text in another form than the text whose words are looked up in it.

    :raises InputError: as :func:`check_form` does.
    """
    if not isinstance(train, (str, os.PathLike, list, tuple, Column)):
        return []  # an iterator can be read only once
    if isinstance(train, (str, os.PathLike)):
        name, lines = os.fspath(train), sample_text(local(os.fspath(train)))
    else:
        name, lines = "train", spread(iter(as_column(train, "train").values))
    warnings = []
    for difference in differences(_profile(text.values), profile(lines), Reading()):
        line = (
            f"{text.name}: {difference.text.replace('the references', name)}; normalise both the"
            " same way"
        )
        if difference.stops and not request.examples.accept_text:
            raise InputError(f"{line}; {argument('accept_text')} takes the text as it is")
        warnings.append(line)
    return warnings


def normalisation_of(
    normalise: str, release: Release | None, *, anonymised: bool = False
) -> Normalisation:
    """The normalisation that ``normalise`` names, for a monolingual text.

    :param anonymised: the names in logical forms have been replaced already.
    :param normalise: ``release``, or ``[LANGUAGE=]NAME`` with a tokeniser or ``detokenize``.
    :raises InputError: the name is unknown, it needs a language, or the release has no
        normalisation.
    """
    from cgbench.text.normalisation import Normalisation

    if normalise == RELEASE:
        if release is None:
            raise InputError(
                f"{argument('normalise', normalise)}: which release? Give {argument('release')}"
            )
        return _of_release(release, anonymised)
    code, sign, name = normalise.rpartition("=")
    language = code if sign else release.languages[1] if release else ""
    undo = name == DETOKENIZE
    if not language and (undo or name == "moses"):
        example = argument("normalise", f"en={name}")
        raise InputError(
            f"{argument('normalise', normalise)} depends on the language: name it, such as"
            f" {example}"
        )
    try:
        return Normalisation("none" if undo else name, False, (language, language), detokenize=undo)
    except InputError as error:
        raise InputError(error.message.replace("tokenize", "normalise", 1)) from None


def _of_release(release: Release, anonymised: bool) -> Normalisation:
    requested = argument("normalise", RELEASE)
    if release.is_split:
        raise InputError(f"{requested}: {release.folder} is a split, whose text is not normalised")
    config = release.configuration
    shape = {"tokenize": str, "lowercase": bool}
    check_shape(
        config,
        shape,
        f"{release.folder}: manifest.json: configuration",
        "it is not from a cgbench release",
    )
    if config.get("anonymise", "none") != "none" and not anonymised:
        raise InputError(
            f"{requested}: the release has replaced the names in logical forms, which needs the"
            " sources and cannot be done for hypotheses alone; replace them before scoring"
        )
    return replace(release.normalisation, anonymise="none").of(release.languages[1])


def normalise_systems(
    systems: Sequence[System], normalisation: Normalisation, references: Sequence[Sequence[str]]
) -> tuple[list[System], list[str]]:
    """The systems with normalised hypotheses, and a line about those that were not tokenised again.

    A run that is tokenised like the references is only lowercased (if requested): tokenising again
    would break words.
    """
    from cgbench.text.normalisation import normaliser

    language = normalisation.languages[1]
    change = normaliser(normalisation, language)
    lower = normaliser(replace(normalisation, tokenize="none", detokenize=False), language)
    undoes = normalisation.detokenize and normalisation.tokenizers == ("none", "none")
    reference_profile = _profile([example[0] for example in references])
    normalised, already_tokenised = [], []
    for system in systems:
        runs = []
        for run_number, run in enumerate(system.runs):
            done = (
                normalisation.tokenizes
                and not undoes
                and _is_apart(_profile(run), reference_profile)
            )
            if done:
                already_tokenised.append(_named(system, run_number))
            runs.append([(lower if done else change)(text) for text in run])
        normalised.append(replace(system, runs=tuple(runs)))
    lines = [
        f"{', '.join(already_tokenised)}: already tokenised, so {argument('normalise')} did not"
        " tokenise again"
    ]
    return normalised, lines if already_tokenised else []


def normalisation_label(normalisation: Normalisation) -> str:
    """The normalisation in a signature: ``moses-en+lc``."""
    return normalisation.signature(normalisation.languages[1]) + (
        "+lc" if normalisation.lowercase else ""
    )


def _is_apart(of_hypotheses: Profile, of_references: Profile) -> bool:
    if of_hypotheses.script:
        return not of_hypotheses.unspaced and of_references.unspaced is None
    return of_hypotheses.tokenised is True and of_references.tokenised is True


def check_form(
    request: ScoreRequest,
    reading: Reading,
    systems: Sequence[System],
    references: Sequence[Sequence[str]],
    *,
    accept: bool,
    once: Once,
) -> list[str]:
    """Warnings about hypotheses in another form than their references.

    :param reading: how the metric reads text.
    :param accept: only warn if the score would be meaningless.
    :param once: for what several metrics of a request need once (``MetricContext.once``).
    :raises InputError: the score would be meaningless, and ``accept`` is false.
    """
    first = [example[0] for example in references]
    remedy = _remedy_of_release(request)
    forms = _Forms(first, reading, once)
    lines: list[str] = []
    for system in systems:
        for run_number, run in enumerate(system.texts or system.runs):
            differing = forms.differences_of(run)
            for stops in (True, False):
                if some := [difference for difference in differing if difference.stops is stops]:
                    do = dict.fromkeys(difference.remedy for difference in some)
                    if remedy and all(difference.normalises for difference in some):
                        do = {remedy: None}
                    causes = "; ".join(difference.text for difference in some)
                    lines.append(f"{_named(system, run_number)}: {causes}. Remedy: {'; '.join(do)}")
                    if stops and not accept:
                        raise InputError(
                            f"{lines[-1]}; {argument('accept_text')} scores the text as it is"
                        )
    return lines


class _Forms:
    """Compares hypotheses with the same references; what was compared before is read again."""

    def __init__(self, references: Sequence[str], reading: Reading, once: Once) -> None:
        self.references, self.reading, self.once = references, reading, once
        self.kept: Kept | None = None
        if len(references) >= WORTH_KEEPING:
            how = asdict(reading) | {"cuts": sorted(reading.cuts)}
            code = code_of(Path(hypothesis_form.__file__).parent)
            self.kept = Kept(["form", __version__, code, how, references])

    def differences_of(self, run: Sequence[str]) -> list[Difference]:
        """The differences in form between hypotheses and the references."""
        known = self.kept.read_bytes(run) if self.kept else None
        if known is not None:
            return [Difference(**fields) for fields in json.loads(known)]
        references, reading = self.references, self.reading
        differing = (
            damages(run, references, reading, order=self._order)
            or differences(self._profile(run), self._profile(references), reading)
            or pair_contrasts(run, references, reading)
            or partial_damages(run, references, reading)
        )
        if self.kept:
            self.kept.write_bytes(
                run, json.dumps([asdict(difference) for difference in differing]).encode()
            )
        return differing

    def _order(self, run: Sequence[str], references: Sequence[str]) -> list[Difference]:
        problems: list[Difference] = self.once(
            ("order", tuple(run), tuple(references)), lambda: order_problems(run, references)
        )
        return problems

    def _profile(self, texts: Sequence[str]) -> Profile:
        of_texts: Profile = self.once(("profile", tuple(texts)), lambda: _profile(texts))
        return of_texts


def _remedy_of_release(request: ScoreRequest) -> str | None:
    """The normalisation of the release as a remedy, if it changes anything and was not
    requested.
    """
    if request.examples.normalise or request.release is None:
        return None
    try:
        normalisation = normalisation_of(RELEASE, request.release)
    except InputError:
        return None
    if normalisation.is_identity:
        return None
    label = normalisation_label(normalisation)
    return f"{argument('normalise', RELEASE)} normalises hypotheses like the release ({label})"


def _named(system: System, run_index: int) -> str:
    has_runs = len(system.texts or system.runs) > 1
    return f"{system.name}, run {run_index + 1}" if has_runs else system.name


def _profile(texts: Sequence[str]) -> Profile:
    return profile(spread(iter(texts)))
