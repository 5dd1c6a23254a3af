"""Check that a build is possible: settings that fit together before anything runs, enough pairs
before any model is trained."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from cgbench.benchmark.build.react.build_inputs import Inputs
from cgbench.benchmark.build.react.corpus_size import LOOSER
from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.benchmark.candidates.amounts import is_share, parse_amount, resolve_amount
from cgbench.benchmark.candidates.ensemble_quality import stop_of
from cgbench.benchmark.candidates.pair_measures import JOINT, NEEDS, REFERENCE_LIKELIHOOD
from cgbench.benchmark.candidates.selection import DROPS, GIVEN_DEGREE, selection_sizes
from cgbench.benchmark.candidates.strata import FEWEST
from cgbench.benchmark.candidates.table import DIFFICULTY
from cgbench.benchmark.candidates.uncertainty import REFERENCE
from cgbench.errors import InputError, argument
from cgbench.models.config.measures import DISAGREEMENT, SEQUENCE_MEASURES
from cgbench.request import flat_values
from cgbench.settings import did_you_mean
from cgbench.text.corpus import ParallelText
from cgbench.text.profile import is_unspaced
from cgbench.text.streams import is_stdin, read_lines, split_name

FEWEST_PAIRS = 100  # of a test set
NEARLY_ALL = 0.9
_CUTS = (*DROPS, "window")


def check_difficulty(files: Sequence[Path], pools: int, select_by: str) -> None:
    """Check that there is a difficulty file for each corpus of the pool, and one if the selection
    needs it.
    """
    if select_by != "uncertainty" and not files:
        raise InputError(
            f"select_by={select_by}: needs one value per pair; pass a file with"
            f" {argument(DIFFICULTY)}"
        )
    if files and len(files) != pools:
        raise InputError(
            f"{argument(DIFFICULTY)}: {len(files)} files for {pools} corpora of the pool; give one"
            " for each, in the same order"
        )
    for path in files:
        file = split_name(path)[0]
        if is_stdin(file) or not file.is_file():
            raise InputError(f"{path}: no such file")


def check_measures(request: BuildRequest, inputs: Inputs) -> None:
    """Check the measures that select and drop before any model is trained.

    :raises InputError: an unknown measure; its input is missing; or it is constant with a single
        member.
    """
    name = request.ranking.uncertainty
    if name not in SEQUENCE_MEASURES:
        raise InputError(
            f"uncertainty: unknown measure {name}{did_you_mean(name, SEQUENCE_MEASURES)}"
        )
    if request.members < 2 and name in DISAGREEMENT:
        raise _one_member(name, "uncertainty=expected_entropy")
    name = request.ranking.drop_by.removesuffix(GIVEN_DEGREE)
    references = (*(f"{REFERENCE}{measure}" for measure in SEQUENCE_MEASURES), *NEEDS)
    if name not in references:
        raise InputError(f"drop_by: unknown measure {name}{did_you_mean(name, references)}")
    if name == JOINT:
        there, how = (
            inputs.lm and (request.ranking.lm_side or request.filters.degree_side) == "source",
            " and lm_side=source",
        )
        option = argument("lm")
    else:
        there, how, option = inputs.reverse, "", argument("reverse_ensemble")
    if name in NEEDS and not there:
        raise InputError(f"drop_by: {name} needs {NEEDS[name]}; give one with {option}{how}")
    if request.members < 2 and name.removeprefix(REFERENCE) in DISAGREEMENT:
        raise _one_member(name, f"drop_by={REFERENCE_LIKELIHOOD}")


def _one_member(name: str, instead: str) -> InputError:
    return InputError(
        f"members: {name} measures the disagreement of members, and one member gives every"
        " candidate the same value up to rounding; use 2 or more, or a measure for one model"
        f" ({instead})"
    )


def check_shares(request: BuildRequest, pool: int | None = None) -> None:
    """Check, before anything runs, that the numbers to drop and draw can fit into the candidates.

    :param pool: pairs of the pool, if counted: the maximum number of candidates.
    :raises InputError: they do not fit for any number of candidates.
    """
    settings = flat_values(request)
    amounts = {key: parse_amount(key, settings[key]) for key in ("candidates", *_CUTS, "select")}
    shares = {key: amount for key, amount in amounts.items() if is_share(settings[key])}
    if sum(shares.get(key, Fraction(0)) for key in _CUTS) > 1:
        values = ", ".join(f"{key}={settings[key]}" for key in _CUTS if shares.get(key))
        raise InputError(f"{values}: together more than all candidates; lower one of them")
    if "select" in shares and "window" in shares and shares["select"] > shares["window"]:
        raise InputError(
            f"select={settings['select']}: more than window={settings['window']}, which it is drawn"
            " from"
        )
    if "candidates" in shares and pool is None:
        return
    most = resolve_amount("candidates", request.filters.candidates, pool or 0)
    most = most if pool is None else min(most, pool)
    sizes = selection_sizes(request.as_dict(), most)
    # A window given as a share shrinks with the candidates, a number does not: what fails here
    # always fails.
    if sum(sizes[key] for key in _CUTS) > most or (
        "select" not in shares and sizes["select"] > sizes["window"]
    ):
        have = (
            f"the {pool:,} pairs of the pool"
            if pool is not None and most == pool
            else f"{most:,} candidates"
        )
        raise InputError(
            f"{have} are too few {_demand(sizes)}; give a larger pool, or lower {_lowerable(sizes)}"
        )


def _demand(sizes: Mapping[str, int]) -> str:
    drop = sum(sizes[key] for key in DROPS)
    return f"to drop {drop:,} and draw {sizes['select']:,} of the next {sizes['window']:,}"


def _lowerable(sizes: Mapping[str, int]) -> str:
    return f"{', '.join(key for key in DROPS if sizes[key] or key == 'drop')}, window and select"


def check_enough(request: BuildRequest, counts: Mapping[str, int], train: ParallelText) -> None:
    """Stop before any model is trained if the pool has too few pairs for the settings.

    :param counts: pairs left at each stage.
    :raises InputError: gives the pairs left at each stage, why the others were dropped, and the
        fix.
    """
    stages = (
        f"pool {counts['pool']:,}, known words {counts['known_words']:,}, "
        f"within the length bounds {counts['within_length']:,}, candidates {counts['candidates']:,}"
    )
    if not counts["candidates"]:
        raise InputError(
            f"no candidates are left (left: {stages}); {_why_none(request, counts, train)}"
        )
    settings = request.as_dict()
    sizes = selection_sizes(settings, counts["candidates"])
    for key in ("window", "select"):
        if not sizes[key]:
            raise InputError(
                f"{key}: {getattr(request.drawing, key)} of {counts['candidates']:,} candidates is"
                f" 0 (left: {stages})"
            )
    if request.execution.until == "candidates":
        return
    if sum(sizes[key] for key in _CUTS) > counts["candidates"] or sizes["select"] > sizes["window"]:
        raise InputError(
            f"too few candidates {_demand(sizes)} (left: {stages}); give a larger pool, or lower"
            f" {_lowerable(sizes)}{_for_more(settings)}"
        )
    strata = request.drawing.strata
    if "sample" in sizes and not FEWEST * strata <= sizes["sample"] <= counts["candidates"]:
        raise InputError(
            f"sample: {sizes['sample']:,} of {counts['candidates']:,} candidates cannot have"
            f" {FEWEST} draws from each of {strata:,} strata; change sample or strata"
        )


def check_ensemble(request: BuildRequest, quality: Mapping[str, Any] | None) -> None:
    """Stop before the selection if the ensemble is no better than one that does not translate.

    :param quality: of the ensemble (:mod:`cgbench.benchmark.candidates.ensemble_quality`).
    :raises InputError: gives what shows it, and what to change; the results so far are kept.
    """
    options = request.ensemble_options
    reason = stop_of(quality) if quality else None
    if reason is None or options.accept_ensemble or request.execution.until != "release":
        return
    change = (
        "use another one"
        if request.trained
        else "give more training text, or train longer (training.max_updates, epochs)"
    )
    raise InputError(
        f"this ensemble is no better than copying or a constant: {reason}; {change}, or select with"
        f" it anyway ({argument('accept_ensemble', True, 'true')}). All finished steps are kept"
    )


def size_warnings(request: BuildRequest, counts: Mapping[str, int]) -> list[str]:
    """Warnings about a shortage of candidates, and about a test set that says little because its
    corpora are small for the settings.

    :param counts: pairs left at each stage.
    """
    settings, candidates = request.as_dict(), counts["candidates"]
    requested = resolve_amount("candidates", request.filters.candidates, counts["within_length"])
    # Fewer candidates than requested, or too few to draw from.
    lines = (
        [f"only {candidates:,} candidates are left, of {requested:,} requested"]
        if candidates < requested
        else []
    )
    sizes = selection_sizes(settings, candidates)
    remaining = candidates - sum(sizes[key] for key in DROPS)
    if sizes["window"] > remaining:  # only if the build stops at the candidates
        return [
            *lines,
            (
                f"{candidates:,} candidates are too few {_demand(sizes)}: without"
                f" {argument('until')}, the build will stop; give a larger pool, use"
                f" {argument('preset', 'small')}, or lower {_lowerable(sizes)}{_for_more(settings)}"
            ),
        ]
    # A small test set; a degree or a measure that hardly selects.
    values = {key: f"{key}={settings[key]}" for key in ("candidates", "window", "select")}
    if sizes["select"] < FEWEST_PAIRS:
        lines.append(
            f"the test set has only {sizes['select']:,} pairs, and scores of fewer than"
            f" {FEWEST_PAIRS} are uncertain; raise {values['select']} and {values['window']}, or"
            f" give a larger pool{_for_more(settings)}"
        )
    if candidates > NEARLY_ALL * counts["within_length"]:
        lines.append(
            f"{candidates:,} of the {counts['within_length']:,} pairs within the length bounds are"
            f" candidates, so the degree hardly selects; lower {values['candidates']}, to 1/4 for"
            " example"
        )
    if sizes["window"] > NEARLY_ALL * remaining:
        lines.append(
            f"the window takes {sizes['window']:,} of the {remaining:,} candidates that are not"
            f" dropped, so the measure hardly selects; lower {values['window']}, to 3/10 for"
            " example"
        )
    return lines


def _for_more(settings: Mapping[str, Any]) -> str:
    """The filters that can still be lowered for more candidates, as the end of a message."""
    names = [f"{key}={settings[key]}" for key in LOOSER if settings[key] > 1]
    return f"; for more candidates, lower {' or '.join(names)}" if names else ""


def _why_none(request: BuildRequest, counts: Mapping[str, int], train: ParallelText) -> str:
    if counts["within_length"]:
        return (
            "seen pairs (their source or target is a line of the training corpus or of an excluded"
            f" one): {counts['seen']:,}, repeats: {counts['duplicates']:,}; give a pool of other"
            f" text, or, if you have one corpus, {argument('corpus')} instead of"
            f" {argument('train')} and {argument('pools')}, which divides it"
        )
    # No pair has known words.
    for text in (train.source, train.target):
        if message := _unspaced(text.path):
            return message
    if not counts["known_words"]:
        if counts["empty"] == counts["pool"]:
            return "every pair of the pool is empty on one side"
        return (
            f"pairs with a word that occurs fewer than {request.filters.word_min_count} times in"
            f" the training corpus: {counts['rare_word']:,}, empty on one side:"
            f" {counts['empty']:,}; the pool and the training corpus share too few words: give both"
            " the same languages in the same order, the same tokenisation and the same case, or"
            " lower word_min_count"
        )
    # No pair has a permitted length.
    bounds = []
    if counts["too_short"]:
        bounds.append(
            f"shorter than min_length={request.filters.min_length}: {counts['too_short']:,}"
        )
    if counts["too_long"]:
        bounds.append(
            f"longer than max_length={request.filters.max_length}: {counts['too_long']:,}"
        )
    lower = counts["too_short"] >= counts["too_long"]
    return (
        f"no pair of the pool is within the length bounds: {', '.join(bounds)} (in words, on the "
        f"{request.filters.degree_side} side); {'lower' if lower else 'raise'} it with "
        f"{argument('min_length' if lower else 'max_length', 'N')}"
    )


def _unspaced(path: Path) -> str:
    """The error for a text without blanks between words; empty if it has blanks."""
    if not is_unspaced(read_lines(path)):
        return ""
    return (
        f"{path} has no blanks between its words, which cgbench needs: put blanks between words "
        "(--tokenize zh=jieba, ja=ja, LANG=spacy:LANG) or characters (--tokenize zh=char)"
    )


def check_known_words(text: Path, words: int, min_count: int) -> None:
    """Check that a training text contains words that are not rare.

    :param words: the number of words that occur ``min_count`` times.
    :raises InputError: there are none, and why.
    """
    if words:
        return
    if not any(line.split() for line in read_lines(text)):
        raise InputError(f"{text}: the corpus is empty: it has no words")
    raise InputError(
        _unspaced(text)
        or f"{text}: no word in it occurs {min_count} times; give more text, or lower"
        " word_min_count"
    )
