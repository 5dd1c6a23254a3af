"""Check that hypotheses have the form of their references: case, tokenisation, blanks, escapes, language.

A score compares strings. Correct outputs in another form (cased text for lowercased references, unsegmented Chinese
for segmented references) score as if they were wrong. Both texts are judged on a sample, and each property only if
there is enough evidence (:mod:`cgbench.text.profile`), so a few lines never cause a complaint.

Pure: profiles in, differences out. A difference that would make the score of a metric (:class:`Reading`) meaningless
stops; others only warn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cgbench.errors import argument
from cgbench.text.languages import LEAST, contradicts, name_of
from cgbench.text.profile import Profile, much_rarer

BLANKS, MARKS, CHARACTERS = "blanks", "marks", "characters"
FEWEST_WORDS = 0.1  # of the references' distinct words; a text with fewer is not judged
CUT, WHOLE = 1.15, 1.35  # letters per word of text split into characters, and into words


@dataclass(frozen=True)
class Reading:
    """How a metric reads text.

    ``case``: it distinguishes upper and lower case. ``words``: what separates words: only ``blanks``; ``marks``: a
    tokeniser also splits off punctuation; ``characters``: blanks do not matter. ``cuts``: unspaced scripts that the
    metric segments itself. ``whole``: it compares whole texts, not words. ``lowercase`` and ``tokenize``: it has these
    options, for the remedy.
    """

    case: bool = True
    words: str = BLANKS
    cuts: frozenset[str] = frozenset()
    whole: bool = False
    lowercase: bool = False
    tokenize: bool = False


@dataclass(frozen=True)
class Difference:
    """A difference and its remedy; ``stops`` if the score would say nothing about the system.

    ``normalises``: normalising the hypotheses like the references would remove it.
    """

    text: str
    remedy: str
    stops: bool
    normalises: bool = True


def differences(hypotheses: Profile, references: Profile, reading: Reading) -> list[Difference]:
    """Differences in form between hypotheses and references; those that stop come first."""
    if _variety(hypotheses, references) < FEWEST_WORDS * _variety(references, references):
        return []  # a few words repeated: a bad system, whose form cannot be judged
    checks = (_language, _blanks, _case, _tokenised, _escapes, _odd_blanks)
    found = [one for check in checks for one in check(hypotheses, references, reading)]
    wrong_language = [one for one in found[:1] if not one.normalises]
    return wrong_language or sorted(found, key=lambda one: not one.stops)


def _variety(one: Profile, references: Profile) -> int:
    """Number of distinct words; of characters, if the references are unsegmented."""
    return len(set().union(*one.words)) if references.unspaced else len(one.words)


def _language_of(one: Profile) -> str:
    likely = one.likely
    best = max(likely, key=lambda code: (likely[code], code), default=None)
    return best if best and likely[best] >= LEAST else "LANG"


def _language(ours: Profile, theirs: Profile, reading: Reading) -> Iterator[Difference]:
    language = _language_of(theirs)
    if other := contradicts(language, ours.likely):  # None for LANG
        text = f"in {name_of(other)}, unlike the references, which are in {name_of(language)}"
        yield Difference(text, "check that these are the hypotheses of this test set", True, normalises=False)


def _blanks(ours: Profile, theirs: Profile, reading: Reading) -> Iterator[Difference]:
    script = theirs.script
    if reading.words == CHARACTERS or not (script and ours.script) or script in reading.cuts:
        return
    if ours.unspaced and theirs.unspaced:
        if not reading.whole:
            text = "no blanks between words, as in the references, so a whole clause counts as one word"
            yield Difference(text, _cutting(script, reading), True, normalises=False)
    elif ours.unspaced or theirs.unspaced:
        which = "no blanks between words, unlike" if ours.unspaced else "blanks between words, unlike"
        yield Difference(f"{which} the references", _cutting(script, reading), True, normalises=bool(ours.unspaced))
    else:
        cut = [one.letters_per_word <= CUT for one in (ours, theirs)]
        whole = [one.letters_per_word >= WHOLE for one in (ours, theirs)]
        if (cut[0] and whole[1]) or (whole[0] and cut[1]):
            parts = ("characters", "words") if cut[0] else ("words", "characters")
            text = f"split into {parts[0]}, unlike the references, which are split into {parts[1]}"
            yield Difference(text, _cutting(script, reading), True)


def _cutting(script: str, reading: Reading) -> str:
    if not reading.tokenize:
        return "split both texts in the same way"
    name = {"han": "zh", "kana": "ja-mecab"}.get(script, "char")
    return f"{argument('tokenize', name)} splits both in the same way"


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
    escapes = _lacks_escapes(ours, theirs)  # a tokeniser would split these
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
        text = f"{share:.0f} % of the final periods stand apart: only some lines are tokenised"
        yield Difference(text, "tokenise all or none", False, normalises=False)


def _escapes(ours: Profile, theirs: Profile, reading: Reading) -> Iterator[Difference]:
    if reading.words != CHARACTERS and None not in (both := (ours.tokenised, theirs.tokenised)) and both[0] != both[1]:
        return  # reported already
    if _lacks_escapes(ours, theirs):
        text = "not escaped, unlike the references, which have escapes such as &apos; (written by Moses)"
        yield Difference(text, "escape both or none", False)
    elif _lacks_escapes(theirs, ours):
        share = 100 * ours.escaped / ours.lines
        text = f"escaped (such as &apos; in {share:.0f} % of the lines), unlike the references"
        yield Difference(text, "undo the escapes (html.unescape in Python)", False, normalises=False)


def _lacks_escapes(one: Profile, other: Profile) -> bool:
    """A system that writes *'s* more often than the references is not escaped differently: one side must have none."""
    return one.escaped <= one.lines / 200 and much_rarer(one.escaped, one.lines, other.escaped, other.lines)


def _odd_blanks(ours: Profile, theirs: Profile, reading: Reading) -> Iterator[Difference]:
    for one, other, whose in ((ours, theirs, "hypotheses"), (theirs, ours, "references")):
        if reading.words != CHARACTERS and much_rarer(other.odd_blanks, other.lines, one.odd_blanks, one.lines):
            share = 100 * one.odd_blanks / one.lines
            mark = f"U+{ord(one.odd_blank):04X}"
            text = f"only the {whose} have {mark} or a similar blank, in {share:.0f} % of the lines"
            yield Difference(text, "replace it with an ordinary blank", False, normalises=False)
