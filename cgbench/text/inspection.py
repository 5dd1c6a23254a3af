"""Errors in the texts of a build, found on a sample of each: differences from the training text or
from the options.

Pure: samples in, problems out. Each is one line with its remedy; one that would spoil the benchmark
stops the build.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from cgbench.errors import InputError, argument, warn
from cgbench.text.formats import CorpusSpec, Pair, open_corpus, read_pairs
from cgbench.text.normalisation import SIDES, Normalisation
from cgbench.text.pair_sample import PairSample, Run
from cgbench.text.pairing import find_faults
from cgbench.text.profile import CASE, ENOUGH, FormContrast, Profile, contrasts, profile
from cgbench.text.sampling import sample_text, spread_runs
from cgbench.text.streams import is_stdin, is_table, shown, split_name

SPLITS_AGAIN = ("moses", "13a")  # and spaCy: tokenisers that break words of tokenised text
NO_SEGMENTATION = ("none", "moses", "13a")  # tokenisers that need blanks to find words


@dataclass(frozen=True)
class Finding:
    """One line about a text; ``stops`` if it would spoil the benchmark."""

    text: str
    stops: bool
    of_pairs: bool = False  # a fault of the pairs, whatever reads them; else of their form


@dataclass(frozen=True)
class CorpusSample:
    """A sample of a corpus: unchanged pairs."""

    spec: CorpusSpec
    pairs: Sequence[Pair]
    runs: Sequence[Run] = ()  # the same in consecutive lines; none of a monolingual text

    @cached_property
    def profiles(self) -> tuple[Profile, Profile]:
        """Of source and target."""
        return profile(pair[0] for pair in self.pairs), profile(pair[1] for pair in self.pairs)

    @cached_property
    def in_runs(self) -> PairSample:
        """The consecutive pairs, for :func:`find_faults`."""
        return PairSample(self.runs)

    @property
    def label(self) -> str:
        """Name of the corpus in messages; a monolingual text is listed twice in ``paths``."""
        paths = self.spec.paths
        return shown(paths[0]) if len(paths) == 2 and paths[0] == paths[1] else str(self.spec)

    def name(self, sides: Sequence[int]) -> str:
        """Name of these sides in messages."""
        if len(sides) == 2:
            return self.label
        if len(self.spec.paths) == 2:
            return shown(self.spec.paths[sides[0]])
        return f"{self.spec}, {SIDES[sides[0]]}"


def take_sample(spec: CorpusSpec) -> CorpusSample:
    """Read a sample of a corpus.

    :raises InputError: as :func:`cgbench.text.formats.read_pairs`, for the lines read.
    """
    runs = [] if any(map(is_stdin, spec.files)) else spread_runs(read_pairs(spec))
    return CorpusSample(spec, [pair for _, run in runs for pair in run], runs)


def look_at(
    train: CorpusSpec, corpora: Sequence[CorpusSpec], normalisation: Normalisation
) -> list[Finding]:
    """Sample each corpus and :func:`inspect` the samples.

    :raises InputError: as :func:`take_sample`.
    """
    samples = [take_sample(spec) for spec in (train, *corpora)]
    return inspect(samples[0], samples[1:], normalisation)


def check_pairs(
    corpora: Sequence[CorpusSpec],
    *,
    languages: tuple[str, str] | None = None,
    accept: bool,
) -> None:
    """Stop at corpora whose pairs are no pairs: shifted, swapped or copied sides, other scripts.

    Whatever reads pairs that a user names comes here, or to :func:`look_at`.

    :param corpora: the training text first, if there is one.
    :param languages: those that the user names, for tables with columns of these names.
    :param accept: warn instead.
    :raises InputError: names the fault, its first line and the fix.
    """
    samples = [take_sample(spec) for spec in corpora]
    if samples:
        report(_pair_findings(samples[0], samples[1:], languages), accept=accept)


def report(findings: Sequence[Finding], *, accept: bool) -> None:
    """Print a warning per finding; one that stops raises an error, unless it is accepted."""
    for finding in findings:
        if finding.stops and not accept:
            raise InputError(
                f"{finding.text}; use {argument('accept_text', True)} to accept the text as it is"
            )
        warn(finding.text)


def look_at_texts(
    train: str | Path, texts: Sequence[str | Path], normalisation: Normalisation
) -> list[Finding]:
    """The same for monolingual texts (plain, or ``TABLE:COLUMN``).

    Standard input and tables without a named column are skipped.

    :raises InputError: as :func:`cgbench.text.columns.read_text`, for the lines read.
    """
    if not _is_single(train):
        return []
    samples = [
        CorpusSample(
            CorpusSpec((Path(text), Path(text))), [(line, "") for line in sample_text(text)]
        )
        for text in (train, *filter(_is_single, texts))
    ]
    # the name of a single text does not tell its language
    tokenize = ",".join(
        f"{side}={name}" for side, name in zip(SIDES, normalisation.tokenizers, strict=True)
    )
    return inspect(
        samples[0], samples[1:], replace(normalisation, tokenize=tokenize, languages=SIDES)
    )


def _is_single(text: str | Path) -> bool:
    return not is_stdin(text) and (not is_table(text) or split_name(text)[1] is not None)


Fault: TypeAlias = "tuple[CorpusSample, list[int]]"


def inspect(
    train: CorpusSample, corpora: Sequence[CorpusSample], normalisation: Normalisation
) -> list[Finding]:
    """Check the training text and the other texts of a build (pools, exclusions); those that stop
    it come first.
    """
    every, unlike = [train, *corpora], _unlike(train, corpora, normalisation)
    findings = [
        *_pair_findings(train, corpora, normalisation.languages),
        *_unspaced(every, normalisation),
        *_tokenised(every, normalisation, stays_raw=not any(finding.stops for finding in unlike)),
        *unlike,
    ]
    return sorted(findings, key=lambda finding: not finding.stops)


def _pair_findings(
    train: CorpusSample, corpora: Sequence[CorpusSample], languages: tuple[str, str] | None
) -> list[Finding]:
    """Pairs that are no pairs. Where all sides are swapped, single lines are not checked."""
    every, swapped = [train, *corpora], _swapped(train, corpora)
    columns = [fault for sample in every if languages for fault in _columns(sample, languages)]
    unpaired = [] if swapped else [fault for sample in every for fault in _unpaired(sample, train)]
    return [replace(finding, of_pairs=True) for finding in (*columns, *swapped, *unpaired)]


def _columns(sample: CorpusSample, languages: tuple[str, str]) -> list[Finding]:
    """Check that the columns that are named after the languages are read, if a table has some."""
    spec = sample.spec
    if len(spec.paths) != 1 or not sample.pairs:
        return []
    chosen, table = open_corpus(spec)
    expected = ",".join(languages)
    if chosen == languages:
        return []
    if spec.columns is None and set(languages) <= set(table.names):
        text, right = f"columns {','.join(chosen)} are read, but it has {expected}", expected
    elif {name.lower() for name in chosen} == {name.lower() for name in languages}:
        text, right = f"column {chosen[0]} is read as {languages[0]}", f"{chosen[1]},{chosen[0]}"
    else:
        return []
    return [Finding(f"{spec}: {text}; give {argument('columns', right)}", True)]


def _faults(
    samples: Iterable[CorpusSample], wrong: Callable[[CorpusSample, int], bool]
) -> list[Fault]:
    faults = [(sample, [side for side in (0, 1) if wrong(sample, side)]) for sample in samples]
    return [(sample, sides) for sample, sides in faults if sides]


def _names(faults: Sequence[Fault]) -> str:
    names = [sample.name(sides) for sample, sides in faults]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _unlike(
    train: CorpusSample, corpora: Sequence[CorpusSample], normalisation: Normalisation
) -> list[Finding]:
    """Texts whose case, tokenisation or escapes differ from the training text and stay so."""
    # The texts by contrast: a finding names all that have it.
    faults: dict[FormContrast, list[Fault]] = {}
    for sample in corpora:
        sides_with: dict[FormContrast, list[int]] = {}
        for side in (0, 1):
            rewritten = normalisation.detokenize or normalisation.tokenizers[side] != "none"
            for contrast in contrasts(sample.profiles[side], train.profiles[side]):
                if not (normalisation.lowercase if contrast.name in CASE else rewritten):
                    sides_with.setdefault(contrast, []).append(side)
        for contrast, sides in sides_with.items():
            faults.setdefault(contrast, []).append((sample, sides))
    # What each says, and what makes the texts alike.
    findings = []
    for contrast, of_texts in sorted(faults.items(), key=lambda item: item[0].name in CASE):
        training = train.name(of_texts[0][1])
        text, remedy = (
            f"but {training} is {contrast.opposite}",
            f"{argument('lowercase')} makes them alike",
        )
        if contrast.name == "sentence_case":
            text = f"unlike those of {training}"
        elif contrast.name == "tokenised":
            text = f"{text}, so words that end in a punctuation mark are unknown"
            remedy = f"{argument('detokenize')} {argument('tokenize', 'moses')} makes them alike"
            remedy = remedy if contrast.value else f"tokenise it as that is, or {remedy}"
        elif contrast.name == "escaped":
            remedy = "undo it (sed 's/&apos;/'\\''/g' and so on), or escape all text"
        stops = contrast.name not in ("sentence_case", "escaped")
        findings.append(Finding(f"{_names(of_texts)}: {contrast.text}, {text}; {remedy}", stops))
    return findings


def _tokenised(
    every: Sequence[CorpusSample], normalisation: Normalisation, *, stays_raw: bool
) -> list[Finding]:
    """Text that would be tokenised again or is tokenised in part; and raw text, if it
    ``stays_raw``.
    """
    if normalisation.detokenize:
        return []
    findings = []
    # Tokenised text that would be tokenised again.
    again = [
        tokenizer in SPLITS_AGAIN or tokenizer.startswith("spacy:")
        for tokenizer in normalisation.tokenizers
    ]
    if faults := _faults(
        every, lambda sample, side: again[side] and sample.profiles[side].tokenised is True
    ):
        tokenizer = normalisation.tokenizers[faults[0][1][0]]
        text = (
            f"{_names(faults)}: already tokenised (final periods and commas stand apart);"
            f" {argument('tokenize', tokenizer)} would tokenise it again and break words such as"
            f" can 't; add {argument('detokenize')}, or leave {argument('tokenize')} out if all"
            " text is tokenised alike"
        )
        findings.append(Finding(text, True))
    # Text that is tokenised in part.
    for sample, sides in _faults(every, lambda sample, side: bool(sample.profiles[side].mixture)):
        mixture = sample.profiles[sides[0]].mixture
        findings.append(Finding(f"{sample.name(sides)}: {mixture}; tokenise all or none", False))

    # Raw text, if nothing else is wrong.
    def is_raw(sample: CorpusSample, side: int) -> bool:
        text = sample.profiles[side]
        return (
            normalisation.tokenizers[side] == "none"
            and not text.unspaced
            and text.tokenised is False
        )

    if (
        stays_raw
        and not any(finding.stops for finding in findings)
        and (raw := _faults(every, is_raw))
    ):
        text = (
            f"{_names(raw)}: punctuation is attached to words, so 'house,' and 'house' are two"
            " words"
        )
        findings.append(Finding(f"{text}; {argument('tokenize', 'moses')} separates them", False))
    return findings


def _unspaced(every: Sequence[CorpusSample], normalisation: Normalisation) -> list[Finding]:
    faults = _faults(
        every,
        lambda sample, side: (
            normalisation.tokenizers[side] in NO_SEGMENTATION
            and sample.profiles[side].unspaced is not None
        ),
    )
    if not faults:
        return []
    sample, (side, *_) = faults[0]
    worst, code = sample.profiles[side], normalisation.languages[side]
    words = {"han": f", {code}=jieba Chinese words", "kana": f", {code}=ja Japanese words"}
    text = (
        f'{_names(faults)}: no blanks between words ({worst.tokens / worst.lines:.1f} "words" per'
        " line), so a whole "
        f"clause counts as one word; {argument('tokenize', code + '=char')} separates characters"
        f"{words.get(worst.unspaced or '', '')}; or insert blanks between words yourself"
    )
    return [Finding(text, True)]


def _unpaired(sample: CorpusSample, train: CorpusSample) -> list[Finding]:
    """Pairs that are no pairs, with the first line of each fault."""
    faults = find_faults(sample.in_runs, None if sample is train else train.in_runs)
    return [
        Finding(f"{sample.label}: {fault.text}, from line {fault.line:,}; {fault.remedy}", True)
        for fault in faults
    ]


def _swapped(train: CorpusSample, corpora: Sequence[CorpusSample]) -> list[Finding]:
    """Texts whose sides are swapped, by the words of the training text."""
    long = [
        sample
        for sample in corpora
        if min(side.tokens for side in (*sample.profiles, *train.profiles)) >= 10 * ENOUGH
    ]

    def covered(text: Profile, by: Profile) -> float:
        return sum(times for word, times in text.words.items() if word in by.words) / text.tokens

    def is_crossed(sample: CorpusSample, side: int) -> bool:
        """Whether a side has the words of the other side of the training text."""
        text = sample.profiles[side]
        same_side, other_side = train.profiles[side], train.profiles[1 - side]
        return covered(text, other_side) > covered(text, same_side) + 0.15

    if not (crossed := [sample for sample, sides in _faults(long, is_crossed) if len(sides) == 2]):
        return []
    text = (
        f"{', '.join(sample.label for sample in crossed)}: source and target are swapped, judging"
        " by the words of "
    )
    remedy = f"name the source first (of a table: {argument('columns')})"
    return [Finding(f"{text}{train.label}; {remedy}", True)]
