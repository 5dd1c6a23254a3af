"""What is wrong with the texts of a build, seen on a sample of each: what differs from the training text, or from
what is asked.

Pure: samples in, findings out. Each finding is one line with its remedy; those that would spoil a benchmark stop it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from cgbench.text.columns_check import columns_of, find_column_faults
from cgbench.text.formats import CorpusSpec, Pair
from cgbench.text.languages import contradicts, known, looks_like, name_of
from cgbench.text.normalisation import Normalisation
from cgbench.text.profile import ENOUGH, Profile, much_rarer, profile
from cgbench.text.sampling import sample_pairs, sample_text
from cgbench.text.streams import is_stdin, is_table, shown, split_name

SIDES = ("source", "target")
SPLITS_AGAIN = ("moses", "13a")  # and spaCy: tokenisers that break words of text that is tokenised
NO_SEGMENTATION = ("none", "moses", "13a")  # tokenisers that find no words where there are no blanks


@dataclass(frozen=True)
class Finding:
    """One line about a text; ``stops`` where a benchmark would be spoilt."""

    text: str
    stops: bool


@dataclass(frozen=True)
class Treatment:
    """What is done to all text: the tokeniser and the language of each side, lower case, detokenisation before."""

    tokenize: tuple[str, str] = ("none", "none")
    lowercase: bool = False
    languages: tuple[str, str] = ("source", "target")
    detokenize: bool = False


def asked_of(normalisation: Normalisation) -> Treatment:
    """What a normalisation does, as :func:`inspect` wants to know it."""
    return Treatment(
        normalisation.tokenizers, normalisation.lowercase, normalisation.languages, normalisation.detokenize
    )


@dataclass(frozen=True)
class CorpusSample:
    """A sample of a corpus: pairs, as the corpus has them."""

    spec: CorpusSpec
    pairs: Sequence[Pair]

    @cached_property
    def profiles(self) -> tuple[Profile, Profile]:
        """Of source and target."""
        return profile(pair[0] for pair in self.pairs), profile(pair[1] for pair in self.pairs)

    @property
    def equal(self) -> int:
        """Pairs whose sides are the same."""
        return sum(source == target and bool(source.strip()) for source, target in self.pairs)

    @property
    def label(self) -> str:
        """How a message names the corpus; a text of one side stands in it twice."""
        paths = self.spec.paths
        return shown(paths[0]) if len(paths) == 2 and paths[0] == paths[1] else str(self.spec)

    def name(self, sides: Sequence[int]) -> str:
        """How a message names these sides."""
        if len(sides) == 2:
            return self.label
        if len(self.spec.paths) == 2:
            return shown(self.spec.paths[sides[0]])
        return f"{self.spec}, {SIDES[sides[0]]}"


def take_sample(spec: CorpusSpec) -> CorpusSample:
    """Read a sample of a corpus.

    :raises InputError: as :func:`cgbench.text.formats.read_pairs`, of what was read.
    """
    return CorpusSample(spec, sample_pairs(spec))


def look_at(train: CorpusSpec, others: Sequence[CorpusSpec], normalisation: Normalisation) -> list[Finding]:
    """Take a sample of each corpus and :func:`inspect` them.

    :raises InputError: as :func:`take_sample`.
    """
    samples = [take_sample(spec) for spec in (train, *others)]
    return inspect(samples[0], samples[1:], asked_of(normalisation))


def look_at_texts(train: str | Path, others: Sequence[str | Path], normalisation: Normalisation) -> list[Finding]:
    """The same of single texts of one language (plain, or ``TABLE:COLUMN``).

    Nothing is said of what comes from standard input, or of a table whose column is not named.

    :raises InputError: as :func:`cgbench.text.columns.read_text`, of what was read.
    """
    if not _is_single(train):
        return []
    samples = []
    for given in (train, *filter(_is_single, others)):
        pairs = [(line, "") for line in sample_text(given)]
        samples.append(CorpusSample(CorpusSpec((Path(given), Path(given))), pairs))
    asked = asked_of(normalisation)
    # a text by itself has no name that says its language
    return inspect(samples[0], samples[1:], replace(asked, languages=("source", "target")))


def _is_single(given: str | Path) -> bool:
    return not is_stdin(given) and (not is_table(given) or split_name(given)[1] is not None)


Fault: TypeAlias = "tuple[CorpusSample, list[int]]"
Wrong: TypeAlias = Callable[[CorpusSample, int], bool]


def inspect(train: CorpusSample, others: Sequence[CorpusSample], asked: Treatment) -> list[Finding]:
    """What is wrong with the training text and the other texts of a build (pools, what is to be excluded).

    Findings that stop come first.
    """
    every = [train, *others]
    found = [
        *(fault for sample in every for fault in _columns(sample, asked)),
        *_languages(train, others, asked),
        *_unspaced(every, asked),
        *_equal(every),
        *_tokenised(train, others, asked),
        *_case(train, others, asked),
        *_escapes(train, others, asked),
        *_blanks(every, asked),
    ]
    return sorted(found, key=lambda finding: not finding.stops)


def _columns(sample: CorpusSample, asked: Treatment) -> list[Finding]:
    faults = find_column_faults(sample.spec, sample.pairs, asked.languages)
    return [Finding(text, stops) for text, stops in faults]


def _faults(samples: Iterable[CorpusSample], wrong: Wrong) -> list[Fault]:
    """The samples in which something is wrong, and on which sides."""
    faults = [(sample, [side for side in (0, 1) if wrong(sample, side)]) for sample in samples]
    return [(sample, sides) for sample, sides in faults if sides]


def _names(faults: Sequence[Fault]) -> str:
    names = [sample.name(sides) for sample, sides in faults]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _percent(part: int | float, whole: int | float = 1) -> str:
    return f"{100 * part / whole:.0f} %"


def _tokenised(train: CorpusSample, others: Sequence[CorpusSample], asked: Treatment) -> list[Finding]:
    if asked.detokenize:
        return []
    touched = [tokenizer != "none" for tokenizer in asked.tokenize]
    again = [tokenizer in SPLITS_AGAIN or tokenizer.startswith("spacy:") for tokenizer in asked.tokenize]
    found = []
    if faults := _faults([train, *others], lambda one, side: again[side] and one.profiles[side].tokenised is True):
        sample, sides = faults[0]
        tokenizer = asked.tokenize[sides[0]]
        found.append(
            Finding(
                f"{_names(faults)}: tokenised already ({_apart(sample.profiles[sides[0]])}), and --tokenize "
                f"{tokenizer} would do it again, which breaks words such as can 't; add --detokenize, or leave "
                "--tokenize out if all text is tokenised alike",
                True,
            )
        )
    for value in (True, False):
        faults = _faults(
            others,
            lambda one, side, value=value: (  # type: ignore[misc]
                not touched[side]
                and not one.profiles[side].unspaced
                and one.profiles[side].tokenised is value
                and train.profiles[side].tokenised is (not value)
            ),
        )
        if not faults:
            continue
        sample, sides = faults[0]
        reference = train.name(sides)
        if value:
            text = (
                f"{_names(faults)}: tokenised ({_apart(sample.profiles[sides[0]])}), but {reference} is not, so that "
                "words with a mark at their end are unknown; --detokenize --tokenize moses makes them alike"
            )
        else:
            text = (
                f"{_names(faults)}: not tokenised ({_apart(sample.profiles[sides[0]])}), but {reference} is, so that "
                "words with a mark at their end are unknown; tokenise it as that is, or --detokenize --tokenize moses"
            )
        found.append(Finding(text, True))
    found += [
        Finding(
            f"{sample.name(sides)}: {_percent(sample.profiles[sides[0]].periods.share or 0)} of the final periods "
            "stand apart: a part of the lines is tokenised; tokenise all or none",
            False,
        )
        for sample, sides in _faults([train, *others], lambda one, side: one.profiles[side].mixed)
    ]

    def attached(one: CorpusSample, side: int) -> bool:
        here = one.profiles[side]
        return not touched[side] and here.tokenised is False and not here.unspaced

    raw = _faults([train, *others], attached)
    if raw and not any(finding.stops for finding in found):
        found.append(
            Finding(
                f"{_names(raw)}: marks are attached to words, so that 'house,' and 'house' are two words; "
                "--tokenize moses separates them",
                False,
            )
        )
    return found


def _apart(one: Profile) -> str:
    marks, what = (one.periods, "final periods")
    if marks.share is None or (one.tokenised and marks.share < 0.5):
        marks, what = one.commas, "commas"
    return f"{_percent(marks.share or 0)} of its {what} stand apart"


def _case(train: CorpusSample, others: Sequence[CorpusSample], asked: Treatment) -> list[Finding]:
    if asked.lowercase:
        return []
    found = []
    for value, ours, theirs in ((True, "in lower case", "cased"), (False, "cased", "in lower case")):
        faults = _faults(
            others,
            lambda one, side, value=value: (  # type: ignore[misc]
                one.profiles[side].lower is value and train.profiles[side].lower is (not value)
            ),
        )
        if faults:
            text = f"{_names(faults)}: {ours}, but {train.name(faults[0][1])} is {theirs}; --lowercase makes them alike"
            found.append(Finding(text, True))
    differ = _faults(
        others,
        lambda one, side: (
            None not in (ours := (one.profiles[side].sentence_case, train.profiles[side].sentence_case))
            and ours[0] != ours[1]
        ),
    )
    if differ:
        sample, sides = differ[0]
        begins = "begin" if sample.profiles[sides[0]].sentence_case else "do not begin"
        text = f"{_names(differ)}: sentences {begins} in upper case, unlike those of {train.name(sides)}"
        found.append(Finding(f"{text}; --lowercase makes them alike", False))
    return found


def _escapes(train: CorpusSample, others: Sequence[CorpusSample], asked: Treatment) -> list[Finding]:
    """Escaped text among text that is not; or all of it, where it is not tokenised: then Moses did not write them."""
    every = [train, *others]
    if asked.detokenize or len({side.tokenised for one in every for side in one.profiles} - {None}) > 1:
        return []  # unlike in more than that: said already
    held: dict[int, list[int]] = {}  # sides by the place of the sample
    free: list[int] = []
    for side in (0, 1):
        if asked.tokenize[side] != "none":
            continue
        rates = [(one.profiles[side].escaped, one.profiles[side].lines) for one in every]
        escaped = [number for number, (count, lines) in enumerate(rates) if count >= max(ENOUGH, lines / 200)]
        lacking = [
            number
            for number, rate in enumerate(rates)
            if number not in escaped and any(much_rarer(*rate, *rates[other]) for other in escaped)
        ]
        if lacking:
            free += [number for number in lacking if number not in free]
            for number in escaped:
                held.setdefault(number, []).append(side)
    if not free:
        return []
    faults = [(every[number], sides) for number, sides in sorted(held.items())]
    sample, sides = faults[0]
    share = _percent(sample.profiles[sides[0]].escaped, sample.profiles[sides[0]].lines)
    rest = ", ".join(every[number].label for number in sorted(set(free) - set(held) or free))
    text = f"{_names(faults)}: escaped as Moses does it (&apos; and the like in {share} of the lines), {rest} not"
    return [Finding(f"{text}; undo it (sed 's/&apos;/'\\''/g' and so on), or escape all text", False)]


def _blanks(every: Sequence[CorpusSample], asked: Treatment) -> list[Finding]:
    faults = _faults(
        every,
        lambda one, side: (
            asked.tokenize[side] == "none"
            and one.profiles[side].odd_blanks >= max(ENOUGH / 4, one.profiles[side].lines / 200)
        ),
    )
    if not faults:
        return []
    sample, sides = faults[0]
    one = sample.profiles[sides[0]]
    return [
        Finding(
            f"{_names(faults)}: U+{ord(one.odd_blank):04X} or a blank like it in {_percent(one.odd_blanks, one.lines)} "
            "of the lines, which is part of a word here; put ordinary blanks in its place, or --tokenize moses",
            False,
        )
    ]


def _equal(every: Sequence[CorpusSample]) -> list[Finding]:
    found = []
    for sample in every:
        if sample.equal >= max(ENOUGH, len(sample.pairs) / 20):
            share = _percent(sample.equal, len(sample.pairs))
            text = f"{sample.label}: source and target are the same in {share} of the pairs; they are no translations"
            most = 2 * sample.equal >= len(sample.pairs)
            found.append(Finding(f"{text}; {'name the two sides' if most else 'remove these pairs'}", most))
    return found


def _unspaced(every: Sequence[CorpusSample], asked: Treatment) -> list[Finding]:
    faults = _faults(
        every,
        lambda one, side: asked.tokenize[side] in NO_SEGMENTATION and one.profiles[side].unspaced is not None,
    )
    if not faults:
        return []
    sample, sides = faults[0]
    one = sample.profiles[sides[0]]
    return [
        Finding(
            f'{_names(faults)}: no blanks between words ({one.tokens / one.lines:.1f} "words" a line), so that a '
            f"clause counts as a word; {_segment(sample, sides[0], asked)}",
            True,
        )
    ]


def _segment(sample: CorpusSample, side: int, asked: Treatment) -> str:
    """How to put blanks into a text that has none."""
    code = asked.languages[side]
    words = {"han": f", {code}=jieba Chinese words", "kana": f", {code}=ja Japanese words"}
    more = words.get(sample.profiles[side].unspaced or "", "")
    return f"--tokenize {code}=char separates characters{more}; or put blanks between words yourself"


def _languages(train: CorpusSample, others: Sequence[CorpusSample], asked: Treatment) -> list[Finding]:
    """Sides that are swapped, and languages that are not those asked for."""
    every = [train, *others]
    swapped = [one for one in every if _is_swapped(one, asked.languages)]
    found = []
    if swapped:
        first, second = asked.languages
        text = f"{', '.join(one.label for one in swapped)}: source and target are swapped, for {first} to {second}"
        found.append(Finding(f"{text}; {_turn(swapped, every, asked)}", True))
    crossed = [one for one in others if one not in swapped and train not in swapped and _is_crossed(train, one)]
    if crossed:
        text = f"{', '.join(one.label for one in crossed)}: source and target are swapped"
        found.append(Finding(f"{text}, by the words of {train.label}; {_turn(crossed, every, asked)}", True))
    for side in (0, 1):
        said = asked.languages[side]
        for one in every:
            other = contradicts(said, one.profiles[side].likely)
            if other and one not in swapped and one not in crossed:
                alike = contradicts(said, train.profiles[side].likely) == other
                found.append(
                    Finding(
                        f"{one.name([side])}: looks like {name_of(other)}, not {name_of(known(said) or said)}; "
                        + ("check the file, or --languages" if alike else "check the file"),
                        not alike,
                    )
                )
    return found


def _turn(swapped: Sequence[CorpusSample], every: Sequence[CorpusSample], asked: Treatment) -> str:
    """How to turn the sides round."""
    if all(len(one.spec.paths) == 1 for one in swapped):
        source, target = columns_of(swapped[0].spec)
        return f"--columns {target},{source} turns them round" + (
            ""
            if len(swapped) == sum(len(one.spec.paths) == 1 for one in every)
            else "; columns hold for all tables, so write the others alike"
        )
    return "name the source's file first" + (
        f", or --languages {asked.languages[1]},{asked.languages[0]}" if len(swapped) == len(every) else ""
    )


def _is_swapped(one: CorpusSample, languages: tuple[str, str]) -> bool:
    """Whether the source looks like the target's language, and the other way round; of one language that is known
    here: whether the other side is in it."""
    likely = [side.likely for side in one.profiles]
    if not all(likely):
        return False
    first, second = languages
    source = known(first) is not None and looks_like(first, likely[1]) and not looks_like(first, likely[0])
    target = known(second) is not None and looks_like(second, likely[0]) and not looks_like(second, likely[1])
    return source and target if known(first) and known(second) else source or target


def _is_crossed(train: CorpusSample, one: CorpusSample) -> bool:
    """Whether each side has the words of the training text's other side."""

    def covered(text: Profile, by: Profile) -> float:
        return sum(times for word, times in text.words.items() if word in by.words) / text.tokens

    if min(side.tokens for side in (*one.profiles, *train.profiles)) < 10 * ENOUGH:
        return False
    return all(
        covered(one.profiles[side], train.profiles[1 - side]) > covered(one.profiles[side], train.profiles[side]) + 0.15
        for side in (0, 1)
    )
