"""How the hypotheses of a sample differ from their references, line by line: in the case of words
that they share, in blanks, and by a text that is written twice.

A profile (:mod:`cgbench.text.profile`) needs many lines to tell such differences; pairs of lines
tell them in a few.
"""

from collections.abc import Iterator

from cgbench.text.damage import has_unspaced
from cgbench.text.form_sample import FormSample
from cgbench.text.plain_text import words_of

FEWEST, FEWEST_DIFFERENT = 20, 5  # words with a capital letter on either side, that both have
MOST_ALIKE = 0.4  # of these are the same on both sides, if case differs
LEAST_SHARED = 0.05  # of the hypotheses' words are such words
FEWEST_LINES = 3
MOST = 0.5  # of the lines are written twice
HARDLY_ANY = 0.1  # of that share, of the references
LEAST_BLANKS = 0.2  # of the blanks of the references
WORDS_PER_LINE = 3  # of the references
SHORTEST = 2  # different words


def _pairs(hypotheses: FormSample, references: FormSample) -> Iterator[tuple[str, str]]:
    return zip(hypotheses.lines, references.lines, strict=True)


def other_case(hypotheses: FormSample, references: FormSample) -> int:
    """How many words of hypotheses differ from those of their references in case alone, if most
    words that both have and that have a capital letter do; else 0.
    """
    same: list[str] = []
    differing: list[str] = []
    for hypothesis, reference in _pairs(hypotheses, references):
        words = {*words_of(reference)[1:]}  # the first may begin a sentence
        lower_of = {word.lower(): word for word in words}
        for word in {*words_of(hypothesis)[1:]}:
            lower = word.lower()
            if word in words:
                same += [word] * (word != lower)
            elif lower in lower_of and lower != lower.upper():
                differing.append(lower)
    shared = len(same) + len(differing)
    is_other = (
        shared >= max(FEWEST, LEAST_SHARED * hypotheses.counts.total())
        and len(same) <= MOST_ALIKE * shared
        and len({*differing}) >= FEWEST_DIFFERENT
    )
    return len(differing) if is_other else 0


def lack_blanks(hypotheses: FormSample, references: FormSample) -> bool:
    """Whether hypotheses have hardly any blanks, and their references do."""
    if has_unspaced("".join(hypotheses.lines)):
        return False
    counts = [
        sum(len(line.split()) - 1 for line in text.lines if line)
        / max(1, sum(map(len, text.lines)))
        for text in (hypotheses, references)
    ]
    of_references = references.counts.total()
    is_text = of_references >= WORDS_PER_LINE * len(references.words) > WORDS_PER_LINE
    return is_text and counts[0] <= LEAST_BLANKS * counts[1] and _are_long(hypotheses, references)


def _are_long(hypotheses: FormSample, references: FormSample) -> bool:
    """Whether hypotheses have at least half as many letters as their references."""
    letters = [
        sum(len(word) * count for word, count in text.counts.items())
        for text in (hypotheses, references)
    ]
    return 2 * letters[0] >= letters[1]


def written_twice(hypotheses: FormSample, references: FormSample) -> int:
    """How many hypotheses have the same text twice, if most do and hardly any reference; else 0."""
    counts = [sum(map(_is_twice, text.words)) for text in (hypotheses, references)]
    is_most = counts[0] >= max(FEWEST_LINES, MOST * len(hypotheses.words))
    return counts[0] if is_most and counts[1] <= HARDLY_ANY * counts[0] else 0


def _is_twice(words: list[str]) -> bool:
    """Whether words are a text of several words twice; a loop of one or two is a bad output."""
    half, rest = divmod(len(words), 2)
    is_twice = not rest and words[:half] == words[half:]
    return is_twice and len({*words}) > SHORTEST
