"""Check that hypotheses have the form of their references: case, tokenisation, blanks, escapes,
language.

A score compares strings. Correct outputs in another form (cased text for lowercased references,
unsegmented Chinese for segmented references) score as if they were wrong. Both texts are judged on
a sample, and each property only if there is enough evidence (:mod:`cgbench.text.profile`), so a few
lines never cause a complaint.

Pure: profiles in, differences out. A difference that would make the score of a metric
(:class:`Reading`) meaningless stops; others only warn.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cgbench.errors import argument
from cgbench.text.damage import displacement, forms_of
from cgbench.text.profile import CASE, Profile, contrasts, lacks_escapes

BLANKS, MARKS, CHARACTERS = "blanks", "marks", "characters"
FEWEST_WORDS = 0.1  # of the references' distinct words; a text with fewer is not judged
CUT, WHOLE = 1.15, 1.35  # letters per word of text split into characters, and into words


@dataclass(frozen=True)
class Reading:
    """How a metric reads text.

    ``case``: it distinguishes upper and lower case. ``words``: what separates words: only
    ``blanks``; ``marks``: a tokeniser also splits off punctuation; ``characters``: blanks do not
    matter. ``cuts``: unspaced scripts that the metric segments itself. ``whole``: it compares whole
    texts, not words. ``lowercase`` and ``tokenize``: it has these options, for the remedy. ``end``:
    it ignores what follows this.
    """

    case: bool = True
    words: str = BLANKS
    cuts: frozenset[str] = frozenset()
    whole: bool = False
    lowercase: bool = False
    tokenize: bool = False
    end: str | None = None


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
    in_form = [
        *_blanks(hypotheses, references, reading),
        *_contrasts(hypotheses, references, reading),
    ]
    return sorted(in_form, key=lambda difference: not difference.stops)


def damages(
    hypotheses: Sequence[str], references: Sequence[str], reading: Reading
) -> list[Difference]:
    """What a program did to hypotheses that keeps them from matching (:mod:`cgbench.text.damage`);
    all of it stops.
    """
    problems = [
        Difference(
            (
                f"{form.name}, unlike the references"
                if holder == "hypotheses"
                else f"unlike the references: {form.name}"
            ),
            form.remedy if holder == "hypotheses" else f"in the references: {form.remedy}",
            stops=True,
            normalises=False,
        )
        for form, holder in forms_of(
            hypotheses, references, reading.words, case=reading.case, cut=reading.end
        )
    ]
    if not problems and (order := displacement(hypotheses, references)):
        remedy = (
            "write one hypothesis per reference, in the same order (or join tables by a column with"
            " ids)"
        )
        problems = [Difference(order, remedy, stops=True, normalises=False)]
    return problems


def _variety(text: Profile, references: Profile) -> int:
    """Number of distinct words; of characters, if the references are unsegmented."""
    return len(set().union(*text.words)) if references.unspaced else len(text.words)


def _blanks(hypotheses: Profile, references: Profile, reading: Reading) -> Iterator[Difference]:
    script = references.script or (references.solid if hypotheses.solid else None)
    if (
        reading.words == CHARACTERS
        or not (script and (hypotheses.script or hypotheses.solid))
        or script in reading.cuts
    ):
        return
    if hypotheses.solid and references.solid:
        if not reading.whole:
            text = (
                "no blanks between words, as in the references, so a whole clause counts as one"
                " word"
            )
            yield Difference(text, _cutting(script, reading), True, normalises=False)
    elif hypotheses.unspaced or references.unspaced:
        which = (
            "no blanks between words, unlike"
            if hypotheses.unspaced
            else "blanks between words, unlike"
        )
        yield Difference(
            f"{which} the references",
            _cutting(script, reading),
            True,
            normalises=bool(hypotheses.unspaced),
        )
    else:
        in_characters = [text.letters_per_word <= CUT for text in (hypotheses, references)]
        in_words = [text.letters_per_word >= WHOLE for text in (hypotheses, references)]
        if (in_characters[0] and in_words[1]) or (in_words[0] and in_characters[1]):
            units = ("characters", "words") if in_characters[0] else ("words", "characters")
            text = f"split into {units[0]}, unlike the references, which are split into {units[1]}"
            yield Difference(text, _cutting(script, reading), True)


def _cutting(script: str, reading: Reading) -> str:
    if not reading.tokenize:
        return "split both texts in the same way"
    name = {"han": "zh", "kana": "ja-mecab"}.get(script, "char")
    return f"{argument('tokenize', name)} splits both in the same way"


def _contrasts(hypotheses: Profile, references: Profile, reading: Reading) -> Iterator[Difference]:
    """Differences in case, tokenisation and escapes, as far as the metric sees them."""
    by_words = reading.words != CHARACTERS
    escapes = lacks_escapes(hypotheses, references)  # a tokeniser would split these
    for contrast in contrasts(hypotheses, references):
        text = f"{contrast.text}, unlike the references, which are {contrast.opposite}"
        if contrast.name in CASE and reading.case:
            if contrast.name == "sentence_case":
                text = f"{contrast.text}, unlike those of the references"
            remedy = (
                f"{argument('lowercase')} ignores case"
                if reading.lowercase
                else "put both texts in the same case"
            )
            yield Difference(
                text,
                remedy,
                contrast.name != "sentence_case",
                normalises=contrast != ("lower", True),
            )
        elif contrast.name == "tokenised" and by_words:
            name, effect = (
                ("detokenize", "joins them")
                if contrast.value
                else ("moses", "tokenises as Moses does")
            )
            text += " and escaped (&apos;)" if escapes and not contrast.value else ""
            remedy = f"{argument('normalise', f'LANG={name}')} {effect}"
            yield Difference(
                text, remedy, reading.words == BLANKS or escapes, normalises=not contrast.value
            )
        elif escapes and contrast.name not in CASE:
            text = (
                "not escaped, unlike the references, which have escapes such as &apos; (written by"
                " Moses)"
            )
            yield Difference(text, "escape both or none", False)
    if hypotheses.mixture and not references.mixture and by_words:
        yield Difference(hypotheses.mixture, "tokenise all or none", False, normalises=False)
