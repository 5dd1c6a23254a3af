"""Check that hypotheses have the form of their references.

A score compares strings. Correct outputs in another form (cased text for lowercased references,
unsegmented Chinese for segmented references) score as if they were wrong. What makes a form right
is a law, not a list of errors:

- a string at the same place of most hypotheses and of hardly any reference is not part of the text
  (:mod:`cgbench.text.affixes`);
- lines of a format (XML, JSON) are no texts, even on both sides (:mod:`cgbench.text.markup_check`);
- neither side is written in pieces of words (:mod:`cgbench.text.pieces`);
- a character that only the hypotheses have does not keep them from matching, nor stand for one
  that only the references have (:mod:`cgbench.text.foreign_symbols`);
- lines fit their own references better than others (:mod:`cgbench.text.line_order`);
- case, tokenisation, blanks and escapes are those of the references
  (:mod:`cgbench.text.profile` and :mod:`cgbench.text.pair_contrasts`, only with enough evidence).

Known errors (:mod:`cgbench.text.damage`) give better words for the remedy, and are recognised in
a single line, because undoing them makes the hypotheses match.

Pure: texts and profiles in, differences out. A difference that would make the score of a metric
(:class:`Reading`) meaningless stops; others only warn.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from cgbench.errors import argument
from cgbench.records import Record
from cgbench.text.affixes import affix_of_some, foreign_affix
from cgbench.text.damage import FORM_LINES, LONGEST, forms_of, sampled, units_of
from cgbench.text.foreign_symbols import exchanged_character, foreign_symbol
from cgbench.text.form_sample import FormSample
from cgbench.text.line_order import displacement
from cgbench.text.markup_check import JSON, are_counted, format_of, wrapper_of_both
from cgbench.text.pair_contrasts import lack_blanks, other_case, written_twice
from cgbench.text.pieces import FEWEST_OF_BOTH, piece_marks
from cgbench.text.profile import CASE, Profile, contrasts, lacks_escapes

BLANKS, MARKS, CHARACTERS = "blanks", "marks", "characters"
FEWEST_WORDS = 0.1  # of the references' distinct words; a text with fewer is not judged
CUT, WHOLE = 1.15, 1.35  # letters per word of text split into characters, and into words


class Reading(Record):
    """How a metric reads text.

    ``case``: it distinguishes upper and lower case. ``words``: what separates words: only
    ``blanks``; ``marks``: a tokeniser also splits off punctuation; ``characters``: blanks do not
    matter. ``cuts``: unspaced scripts that the metric segments itself. ``whole``: it compares whole
    texts, not words. ``lowercase`` and ``tokenize``: it has these options, for the remedy. ``end``:
    it ignores what follows this. ``joins``: it joins pieces of words.
    """

    case: bool = True
    words: str = BLANKS
    cuts: frozenset[str] = frozenset()
    whole: bool = False
    lowercase: bool = False
    tokenize: bool = False
    end: str | None = None
    joins: bool = False


class Difference(Record):
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
    hypotheses: Sequence[str],
    references: Sequence[str],
    reading: Reading,
    *,
    are_references: bool = True,
    order: Callable[[Sequence[str], Sequence[str]], list[Difference]] | None = None,
) -> list[Difference]:
    """What a program did to hypotheses that keeps them from matching, or to both texts; all of it
    stops but rare characters without width.

    :param references: one per hypothesis. Without references (``are_references``), other texts of
        the same examples: sources, or fragments that right hypotheses contain.
    :param order: :func:`order_problems`, or what returns the same.
    """
    texts, others = _samples(hypotheses, references, reading.end)
    checks = (
        lambda: _formats(texts, others, reading),
        lambda: _known_forms(hypotheses, references, reading, are_references),
        lambda: _affixes(texts, others, reading, are_references),
        lambda: _pieces(texts, others, reading),
        lambda: _symbols(texts, others, reading),
        lambda: _wrappers_of_both(texts, others, reading) if are_references else [],
        lambda: (order or order_problems)(hypotheses, references) if are_references else [],
    )
    return next((problems for check in checks if (problems := check())), [])


def pair_contrasts(
    hypotheses: Sequence[str], references: Sequence[str], reading: Reading
) -> list[Difference]:
    """What pairs of lines tell that profiles do not: a text written twice, without blanks, or in
    another case.
    """
    texts, others = _samples(hypotheses, references)
    n = f"of {texts.size:,} hypotheses"
    if count := written_twice(texts, others):
        return _stop(f"the text is written twice in {count:,} {n}", "write it once")
    if reading.words != CHARACTERS and lack_blanks(texts, others):
        text = "no blanks between words, unlike the references"
        return _stop(text, "write the hypotheses with blanks")
    if reading.case and (count := other_case(texts, others)):
        text = f"{count:,} words differ from those of the references in case alone"
        return _stop(text, _same_case(reading))
    return []


def partial_damages(
    hypotheses: Sequence[str], references: Sequence[str], reading: Reading
) -> list[Difference]:
    """What keeps some hypotheses from matching, but may also be the system's own error: a string
    before some of them, or one character in place of another. It warns.
    """
    texts, others = _samples(hypotheses, references)
    problems = []
    if affix := affix_of_some(texts, others):
        text = (
            f"{affix.text!r} {affix.place} the text of {affix.lines:,} of {texts.size:,}"
            " hypotheses, and of hardly any reference"
        )
        problems.append(Difference(text, "remove it, unless the system wrote it", False, False))
    if exchange := exchanged_character(texts, others, _units(reading)):
        text = (
            f"{_named_character(exchange.character)} where the references have"
            f" {_named_character(exchange.expected)}, in {exchange.lines:,} of {texts.size:,}"
            " hypotheses"
        )
        problems.append(Difference(text, "write both texts with the same", False, False))
    return problems


def _named_character(character: str) -> str:
    """A character in quotes with its code, since it may look like another."""
    if character.isascii():
        return repr(character)
    return f"{_visible(character)} (U+{ord(character[0]):04X})"


def _same_case(reading: Reading) -> str:
    if reading.lowercase:
        return f"{argument('lowercase')} ignores case"
    return "put both texts in the same case"


def _samples(
    hypotheses: Sequence[str], references: Sequence[str], end: str | None = None
) -> tuple[FormSample, FormSample]:
    """The same lines of both texts, each up to ``end`` and without the middle if it is long."""
    rows = sampled(len(hypotheses), FORM_LINES)
    texts = [[lines[row] for row in rows] for lines in (hypotheses, references)]
    if end is not None:
        texts = [[line.partition(end)[0] for line in lines] for lines in texts]
    of_hypotheses, of_references = (FormSample(list(map(_both_ends, lines))) for lines in texts)
    return of_hypotheses, of_references


def _both_ends(line: str) -> str:
    """A line, without the middle of a long one."""
    half = LONGEST // 2
    return line if len(line) <= LONGEST else line[:half] + line[-half:]


def _stop(text: str, remedy: str) -> list[Difference]:
    return [Difference(text, remedy, stops=True, normalises=False)]


def _formats(hypotheses: FormSample, references: FormSample, reading: Reading) -> list[Difference]:
    """Lines of a format on one side or on both."""
    of_hypotheses, of_references = format_of(hypotheses.lines), format_of(references.lines)
    if not reading.whole and are_counted(hypotheses.lines) and are_counted(references.lines):
        return _stop(
            "the lines of both texts begin with their numbers, and are records and not text",
            "name the files .csv or .jsonl and the column, or remove the numbers",
        )
    if of_hypotheses and of_references and of_hypotheses[0] == of_references[0] == JSON:
        return []  # the task is to write JSON
    if of_hypotheses:
        name, count, remedy = of_hypotheses
        as_references = ", as in the references" if of_references else ""
        return _stop(f"{count:,} lines are {name} and not text{as_references}", remedy)
    if of_references:
        name, count, remedy = of_references
        return _stop(f"{count:,} lines of the references are {name} and not text", remedy)
    return []


def _known_forms(
    hypotheses: Sequence[str], references: Sequence[str], reading: Reading, are_references: bool
) -> list[Difference]:
    """Errors that undoing makes the texts match."""
    return [
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
            hypotheses,
            references,
            reading.words,
            case=reading.case,
            cut=reading.end,
            are_references=are_references,
        )
        if are_references or holder == "hypotheses"
    ]


def _units(reading: Reading) -> Callable[[str], Counter[str]]:
    return lambda text: units_of(text if reading.case else text.lower(), reading.words)


def _affixes(
    hypotheses: FormSample, references: FormSample, reading: Reading, are_references: bool
) -> list[Difference]:
    """A string before, after or between texts that only one side has."""
    for holder, sides in (
        ("hypotheses", (hypotheses, references)),
        ("references", (references, hypotheses)),
    )[: 1 + are_references]:
        are_outputs = holder == "hypotheses" and are_references
        affix = foreign_affix(
            *sides, _units(reading), are_outputs=are_outputs, are_references=are_references
        )
        if affix:
            missing_from = "reference" if holder == "hypotheses" else "hypothesis"
            missing_from = missing_from if are_references else "other text of the same examples"
            text = (
                f"{affix.text!r} {affix.place} the text of {affix.lines:,} of"
                f" {len(hypotheses.lines):,} {holder}, and of hardly any {missing_from}"
            )
            return _stop(text, affix.remedy)
    return []


def _wrappers_of_both(
    hypotheses: FormSample, references: FormSample, reading: Reading
) -> list[Difference]:
    """Markup that is the same in both texts, which a score would compare."""
    wrapper = None if reading.whole else wrapper_of_both(hypotheses, references)
    if wrapper is None:
        return []
    text = f"{wrapper.text!r} {wrapper.place} the text of nearly all lines of both texts"
    return _stop(f"{text} is markup and not text", wrapper.remedy)


def _pieces(hypotheses: FormSample, references: FormSample, reading: Reading) -> list[Difference]:
    """Texts in pieces of words."""
    if reading.joins:
        return []
    marks = piece_marks(hypotheses, references)
    if marks[0] and marks[1]:
        is_rare = marks[0].count < FEWEST_OF_BOTH and not marks[0].is_sure
        if reading.whole or is_rare:
            return []  # whole texts are also equal in pieces
    for mark, holder in zip(marks, ("hypotheses", "references"), strict=True):
        is_strange = holder == "references" and mark and mark.count < FEWEST_OF_BOTH
        if mark and not is_strange:
            whose = " of both texts" if all(marks) else f" of the {holder}"
            is_visible = mark.text.isprintable()
            kind = "pieces of words" if is_visible else "characters without width"
            text = f"{kind} ({_visible(mark.text)} at {mark.count:,} words{whose})"
            remedy = f"{'decode the pieces of' if is_visible else 'remove them from'} both texts"
            return [Difference(text, remedy, mark.stops, normalises=False)]
    return []


def _symbols(hypotheses: FormSample, references: FormSample, reading: Reading) -> list[Difference]:
    """A symbol that keeps hypotheses from matching."""
    mark = foreign_symbol(hypotheses, references, _units(reading))
    if mark is None:
        return []
    text = (
        f"{_visible(mark.text)} in {mark.count:,} of {len(hypotheses.lines):,} hypotheses, which"
        " match better without it, and in hardly any reference"
    )
    return _stop(text, "remove it, or decode the text")


def _visible(mark: str) -> str:
    """A mark in quotes, or its code where it cannot be seen."""
    return repr(mark) if mark.isprintable() else f"U+{ord(mark[0]):04X}"


def order_problems(hypotheses: Sequence[str], references: Sequence[str]) -> list[Difference]:
    """Lines that are not in the order of the references."""
    order = displacement(hypotheses, references)
    remedy = (
        "write one hypothesis per reference, in the same order (or join tables by a column with"
        " ids)"
    )
    return _stop(order, remedy) if order else []


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
            remedy = _same_case(reading)
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
