"""Where two systems differ, as :mod:`..evaluation.differences` finds it."""

from cgbench.records import Record


class FoundDifference(Record):
    """An n-gram, a group of words or a kind of examples on which two systems are compared.

    ``ours`` and ``theirs``: for an n-gram, how often each system has it right (mean of its runs),
    otherwise a score. ``count``: number of examples with it. ``q_value``: the adjusted p-value.
    """

    what: str
    count: int
    ours: float
    theirs: float
    p_value: float | None
    q_value: float | None = None


class Example(Record):
    """An example with the scores of both systems, and their outputs if known."""

    row: int
    ours: float
    theirs: float
    texts: tuple[str, str] | None


class Differences(Record):
    """Where ``system`` differs from ``against``.

    ``ngrams``: n-grams (out of ``tested``) with a q-value below the level, smallest first.
    ``shown``: the first in each direction, none part of another. ``examples``: the largest
    differences in each direction. ``seeds_tested``: the n-grams also differ by more than the chance
    of seeds; otherwise their q-values hold for these outputs only. ``kinds_by``: what ``kinds``
    are bins of, in words.
    """

    system: str
    against: str
    tested: int
    ngrams: tuple[FoundDifference, ...]
    words: tuple[FoundDifference, ...]
    kinds: tuple[FoundDifference, ...]
    examples: tuple[Example, ...]
    shown: tuple[FoundDifference, ...] = ()
    seeds_tested: bool = False
    kinds_by: str = ""
