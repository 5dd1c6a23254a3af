"""Whether hypotheses are written as their references are: case, tokenisation, blanks, escapes, language.

A score compares strings. Outputs that say the same in another form (cased text for references in lower case, Chinese
without blanks for segmented references) score as if they were wrong. Both texts are judged on a sample, each property
only where there is enough to go by (:mod:`cgbench.text.profile`), so that a few lines are never complained of.

Pure: profiles in, differences out. What would make the score meaningless for a metric that reads text so
(:class:`Reading`) stops; what is only odd does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cgbench.errors import argument
from cgbench.text.languages import LEAST, contradicts, name_of
from cgbench.text.profile import Profile, much_rarer

BLANKS, MARKS, CHARACTERS = "blanks", "marks", "characters"
FEWEST_WORDS = 0.1  # of the references' different words; a text of fewer says nothing of how it is written
CUT, WHOLE = 1.15, 1.35  # letters per word of text that is cut into characters, and into words


@dataclass(frozen=True)
class Reading:
    """How a metric reads text.

    ``case``: upper and lower case differ. ``words``: what separates words: ``blanks`` alone; ``marks``, where a
    tokeniser also splits off punctuation; ``characters``, where blanks do not matter. ``cuts``: the scripts without
    blanks between words that the metric cuts by itself. ``whole``: whole texts are compared, not their words.
    ``lowercase`` and ``tokenize``: whether the metric has these options, for the remedy.
    """

    case: bool = True
    words: str = BLANKS
    cuts: frozenset[str] = frozenset()
    whole: bool = False
    lowercase: bool = False
    tokenize: bool = False


@dataclass(frozen=True)
class Difference:
    """What differs and what to do; ``stops`` where the score would say nothing of the system.

    ``normalises``: the normalisation that made the references would take it away.
    """

    text: str
    remedy: str
    stops: bool
    normalises: bool = True


def differences(hypotheses: Profile, references: Profile, reading: Reading) -> list[Difference]:
    """How the form of hypotheses differs from that of references; what stops comes first."""
    if _variety(hypotheses, references) < FEWEST_WORDS * _variety(references, references):
        return []  # a few words again and again: a bad system, whose form nobody can tell
    checks = (_language, _blanks, _case, _tokenised, _escapes, _odd_blanks)
    found = [one for check in checks for one in check(hypotheses, references, reading)]
    wrong_language = [one for one in found[:1] if not one.normalises]
    return wrong_language or sorted(found, key=lambda one: not one.stops)


def _variety(one: Profile, references: Profile) -> int:
    """How many different words a text has; characters, where the references' clauses count as words."""
    return len(set().union(*one.words)) if references.unspaced else len(one.words)


def _language_of(one: Profile) -> str:
    """The language that a text is most likely in; ``LANG`` where nobody can tell."""
    likely = one.likely
    best = max(likely, key=lambda code: (likely[code], code), default=None)
    return best if best and likely[best] >= LEAST else "LANG"


def _language(ours: Profile, theirs: Profile, reading: Reading) -> Iterator[Difference]:
    language = _language_of(theirs)
    if other := contradicts(language, ours.likely):  # None of LANG
        text = f"in {name_of(other)}, unlike the references, which are in {name_of(language)}"
        yield Difference(text, "check that these are the hypotheses of this test set", True, normalises=False)


def _blanks(ours: Profile, theirs: Profile, reading: Reading) -> Iterator[Difference]:
    script = theirs.script
    if reading.words == CHARACTERS or not (script and ours.script) or script in reading.cuts:
        return
    if ours.unspaced and theirs.unspaced:
        if not reading.whole:
            text = "no blanks between words, nor in the references, so that a clause counts as a word"
            yield Difference(text, _cutting(script, reading), True, normalises=False)
    elif ours.unspaced or theirs.unspaced:
        which = "no blanks between words, unlike" if ours.unspaced else "blanks between words, unlike"
        yield Difference(f"{which} the references", _cutting(script, reading), True, normalises=bool(ours.unspaced))
    else:
        cut = [one.letters_per_word <= CUT for one in (ours, theirs)]
        whole = [one.letters_per_word >= WHOLE for one in (ours, theirs)]
        if (cut[0] and whole[1]) or (whole[0] and cut[1]):
            parts = ("characters", "words") if cut[0] else ("words", "characters")
            text = f"cut into {parts[0]}, unlike the references, which are cut into {parts[1]}"
            yield Difference(text, _cutting(script, reading), True)


def _cutting(script: str, reading: Reading) -> str:
    if not reading.tokenize:
        return "cut both texts alike"
    name = {"han": "zh", "kana": "ja-mecab"}.get(script, "char")
    return f"{argument('tokenize', name)} cuts both alike"


def _case(ours: Profile, theirs: Profile, reading: Reading) -> Iterator[Difference]:
    if not reading.case:
        return
    remedy = f"{argument('lowercase')} ignores case" if reading.lowercase else "put both texts in the same case"
    capitals = [one.cased >= 20 and one.capitals >= 0.7 * one.cased for one in (ours, theirs)]
    if capitals[0] and not capitals[1]:
        yield Difference("in capitals, unlike the references", remedy, True)
    elif capitals[1] and not capitals[0] and ours.cased >= 20:
        yield Difference("not in capitals, unlike the references", remedy, True)
    elif ours.lower is True and theirs.lower is False:
        yield Difference("in lower case, unlike the references, which are cased", remedy, True, normalises=False)
    elif ours.lower is False and theirs.lower is True:
        yield Difference("cased, unlike the references, which are in lower case", remedy, True)
    elif None not in (both := (ours.sentence_case, theirs.sentence_case)) and both[0] != both[1]:
        begins = "begin" if both[0] else "do not begin"
        yield Difference(f"sentences {begins} in upper case, unlike those of the references", remedy, False)


def _tokenised(ours: Profile, theirs: Profile, reading: Reading) -> Iterator[Difference]:
    if reading.words == CHARACTERS or ours.unspaced or theirs.unspaced:
        return
    escapes = much_rarer(ours.escaped, ours.lines, theirs.escaped, theirs.lines)  # which a tokeniser cuts to pieces
    stops = reading.words == BLANKS or escapes
    if ours.tokenised is False and theirs.tokenised is True:
        text = "not tokenised, unlike the references, whose final periods and commas stand apart"
        text += " and whose apostrophes are escaped (&apos;)" if escapes else ""
        yield Difference(
            text, f"{argument('normalise', f'{_language_of(theirs)}=moses')} tokenises as Moses does", stops
        )
    elif ours.tokenised is True and theirs.tokenised is False:
        text = "tokenised (final periods and commas stand apart), unlike the references"
        yield Difference(
            text, f"{argument('normalise', f'{_language_of(theirs)}=detokenize')} joins them", stops, normalises=False
        )
    elif ours.mixed and not theirs.mixed:
        share = 100 * (ours.periods.share or 0)
        text = f"{share:.0f} % of the final periods stand apart: a part of the lines is tokenised"
        yield Difference(text, "tokenise all or none", False, normalises=False)


def _escapes(ours: Profile, theirs: Profile, reading: Reading) -> Iterator[Difference]:
    if reading.words != CHARACTERS and None not in (both := (ours.tokenised, theirs.tokenised)) and both[0] != both[1]:
        return  # said already
    counts = (ours.escaped, ours.lines), (theirs.escaped, theirs.lines)
    if much_rarer(*counts[0], *counts[1]):
        text = "not escaped, unlike the references, which have &apos; and the like as Moses writes them"
        yield Difference(text, "escape both or none", False)
    elif much_rarer(*counts[1], *counts[0]):
        share = 100 * ours.escaped / ours.lines
        text = f"escaped (&apos; and the like in {share:.0f} % of the lines), unlike the references"
        yield Difference(text, "undo the escapes (html.unescape in Python)", False, normalises=False)


def _odd_blanks(ours: Profile, theirs: Profile, reading: Reading) -> Iterator[Difference]:
    for one, other, whose in ((ours, theirs, "hypotheses"), (theirs, ours, "references")):
        if reading.words != CHARACTERS and much_rarer(other.odd_blanks, other.lines, one.odd_blanks, one.lines):
            share = 100 * one.odd_blanks / one.lines
            mark = f"U+{ord(one.odd_blank):04X}"
            text = f"the {whose} alone have {mark} or a blank like it, in {share:.0f} % of the lines"
            yield Difference(text, "put ordinary blanks in its place", False, normalises=False)
