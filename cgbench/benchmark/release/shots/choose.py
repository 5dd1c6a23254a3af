"""Choose shots: training pairs that a prompt shows a model before the sentence to translate.

``cover``: the pieces of a sentence are the distinct pieces of its least cover by known n-grams
(:mod:`~cgbench.benchmark.measure.known_ngrams.known`), learned from the training sources. A source
has a piece if it contains its words in a row. The shots are the fewest pairs whose sources have all
pieces that any source has, then the pairs with the highest BM25 score. Sources whose pieces are
within those of another source are not considered; of equal sources the pair with the lowest hash
counts. If the number of shots is too small, each shot adds as many pieces as possible.

Compare Levy et al. (2023, "Diverse demonstrations improve in-context compositional
generalization"), who cover the predicted structures of the output greedily.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.release.shots.postings import bm25_weights, piece_counts
from cgbench.benchmark.release.shots.request import ShotsOptions, ShotsRequest
from cgbench.errors import InputError, argument, warn
from cgbench.numbers_as_text import counted
from cgbench.progress import bar
from cgbench.request import accepts
from cgbench.text.formats import Pair, read_pairs
from cgbench.text.inputs import as_corpus, lines_of
from cgbench.text.inspection import check_pairs
from cgbench.text.plain_text import words_of

BITS = 64  # pieces of a sentence that a cover considers, at most; the rarest if it has more
NODES = 2_000
"""Maximum number of partial covers that the search for a smaller one opens."""


@dataclass(frozen=True)
class ChosenShots:
    """The shots of a sentence, in the order of its prompt: the last is the most similar, except at
    random.

    :param rows: their numbers in the training pairs, from 1.
    :param prompt_degree: the degree of the sentence, known n-grams being all those of the shots'
        sources.
    :param cover: how many of the shots are there to cover the sentence; 0 except with ``cover``.
    """

    rows: tuple[int, ...]
    pairs: tuple[Pair, ...]
    prompt_degree: float
    cover: int = 0


ShotChooser: TypeAlias = Callable[[Sequence[str]], list[ChosenShots]]
"""Chooses the shots of sentences, for an export of a release."""


@accepts(ShotsRequest)
def choose_shots(request: ShotsRequest) -> list[ChosenShots]:
    """Choose training pairs for the prompt of each sentence.

    A pair is never chosen if its source or target is one of the sentences or of ``exclude``,
    whatever the case, punctuation and blanks. Of several pairs with such equal sources, one can be
    chosen. Equal sentences have equal shots, and the order of sentences and pairs does not matter.

    :returns: the shots of each sentence.
    :raises InputError: a text cannot be read, or there are fewer pairs than shots.
    """
    choice = request.choice
    if choice.shots is None or choice.shots_from is None:
        missing = "shots" if choice.shots is None else "shots_from"
        raise InputError(f"{argument(missing)} is missing; shots need a number and training pairs")
    lines, name = lines_of(request.sources, "sources")
    excluded = [(line, "") for line in lines] + [tuple(pair) for pair in request.exclude]
    pairs = _pairs_of(choice.shots_from, request.acceptance.accept_text)
    chooser = _Chooser(choice, choice.shots, pairs, excluded)
    choices = chooser.choose(lines)
    if chooser.unproved:
        warn(
            f"{name}: the cover of {counted(chooser.unproved, 'sentence')} may not be the smallest;"
            " the search for a smaller one was stopped"
        )
    return choices


def _pairs_of(source: Any, accept: bool) -> list[Pair]:
    if (
        isinstance(source, (list, tuple))
        and len(source) == 2
        and all(isinstance(side, list) for side in source)
    ):
        if len(source[0]) != len(source[1]):
            raise InputError(
                f"{argument('shots_from')}: {len(source[0]):,} source sentences for"
                f" {len(source[1]):,} target sentences"
            )
        return list(zip(*source, strict=True))
    corpus = as_corpus(source, role="shots_from")
    check_pairs([corpus], accept=accept)
    return list(read_pairs(corpus))


def content_key(text: str) -> str:
    """A text without case, punctuation and blanks; itself if nothing else is in it."""
    return re.sub(r"[\W_]+", "", text.casefold()) or text.strip()


def prompt_degree(sentence: str, sources: Iterable[str]) -> float:
    """The degree of a sentence, known n-grams being all n-grams of ``sources``: least pieces over
    words.

    These n-grams are closed under taking substrings, so the leftmost longest pieces are a least
    cover.
    """
    words = words_of(sentence)
    text = "\n".join(f" {' '.join(words_of(source))} " for source in sources)
    pieces = begin = 0
    while begin < len(words):
        end = begin + 1
        while end < len(words) and f" {' '.join(words[begin : end + 1])} " in text:
            end += 1
        pieces, begin = pieces + 1, end
    return pieces / len(words) if words else 0.0


class _Chooser:
    """The training pairs that can be shots, in the order of their hashes, and what is known of
    them.
    """

    def __init__(
        self, choice: ShotsOptions, count: int, pairs: Sequence[Pair], excluded: Iterable[Any]
    ) -> None:
        self.by, self.seed, self.size = choice.shots_by, choice.shots_seed, count
        self.unproved = 0
        keys = [{content_key(pair[side]) for pair in excluded if pair[side]} for side in (0, 1)]
        ordered = sorted((_hash(*pair), row) for row, pair in enumerate(pairs))
        first_rows: dict[str, int] = {}
        for _, row in ordered:
            source, target = map(content_key, pairs[row])
            if source and target and source not in keys[0] and target not in keys[1]:
                first_rows.setdefault(source, row)
        self.rows = list(first_rows.values())
        self.pairs = [pairs[row] for row in self.rows]
        if len(self.rows) < count:
            raise InputError(
                f"{argument('shots_from')}: {counted(len(self.rows), 'pair')} left of"
                f" {len(pairs):,} that differ and are not test data; {argument('shots', count)}"
                f" needs {count}"
            )
        self.known = KnownNgrams.learn(
            [source for source, _ in self.pairs], min_count=choice.min_count, word_min_count=1
        )

    def choose(self, lines: Sequence[str]) -> list[ChosenShots]:
        """The shots of each sentence."""
        distinct = list(dict.fromkeys(lines))
        choose = self._random if self.by == "random" else self._similar
        choices = dict[str, ChosenShots]()
        with bar(len(distinct), "choosing shots", "sentence") as progress:
            for line, (positions, cover) in zip(distinct, choose(distinct), strict=True):
                positions = positions if words_of(line) else []
                pairs = tuple(self.pairs[position] for position in positions)
                rows = tuple(self.rows[position] + 1 for position in positions)
                choices[line] = ChosenShots(
                    rows, pairs, prompt_degree(line, (source for source, _ in pairs)), cover
                )
                progress.update(1)
        return [choices[line] for line in lines]

    def _random(self, lines: Sequence[str]) -> Iterable[tuple[list[int], int]]:
        for line in lines:
            chosen: dict[int, None] = {}
            draw = 0
            while len(chosen) < self.size:
                digest = _hash(str(self.seed), line, str(draw))
                chosen.setdefault(int.from_bytes(digest, "big") % len(self.rows))
                draw += 1
            yield list(chosen), 0

    def _similar(self, lines: Sequence[str]) -> Iterable[tuple[list[int], int]]:
        """By BM25; with ``cover``, after the fewest that cover the sentence."""
        words = self.known.words
        ids, lengths = words.read_lines([source for source, _ in self.pairs])
        queries, sizes = words.read_lines(lines)
        inside = np.unique(queries[queries < len(words)])
        weights = bm25_weights(ids, lengths, inside)
        covers = self._covers(queries, sizes, ids, lengths) if self.by == "cover" else None
        for query in np.split(queries, np.cumsum(sizes)[:-1]):
            distinct, counts = np.unique(query[query < len(words)], return_counts=True)
            scores = counts @ weights[np.searchsorted(inside, distinct)]
            chosen = next(covers) if covers else []
            filled = [row for row in best(scores, self.size) if row not in chosen][
                : self.size - len(chosen)
            ]
            yield sorted([*chosen, *filled], key=lambda row: (scores[row], -row)), len(chosen)

    def _covers(
        self, queries: np.ndarray, sizes: np.ndarray, ids: np.ndarray, lengths: np.ndarray
    ) -> Any:
        """The places of the pairs that cover each sentence."""
        begins = np.flatnonzero(self.known.count_pieces(queries, sizes)[1])
        numbers: dict[tuple[int, ...], int] = {}
        pieces: list[list[int]] = [[] for _ in sizes]
        sentences = np.searchsorted(np.cumsum(sizes), begins, side="right").tolist()
        for sentence, piece in zip(sentences, np.split(queries, begins[1:]), strict=True):
            piece_id = numbers.setdefault(tuple(piece.tolist()), len(numbers))
            if piece_id not in pieces[sentence]:
                pieces[sentence].append(piece_id)
        sources_of = piece_counts(list(numbers), ids, lengths)
        rows_of = np.split(
            sources_of.indices, sources_of.indptr[1:-1]
        )  # the sources with each piece
        for sentence_pieces in pieces:
            rarest = sorted(
                (piece_id for piece_id in sentence_pieces if rows_of[piece_id].size),
                key=lambda piece_id: rows_of[piece_id].size,
            )
            masks = np.zeros(len(lengths), np.uint64)
            for bit, piece_id in enumerate(rarest[:BITS]):
                masks[rows_of[piece_id]] |= np.uint64(1 << bit)
            rows = sorted(int(np.argmax(masks == mask)) for mask in widest(masks))
            chosen, proved = cover_sets(masks[rows].tolist(), self.size)
            self.unproved += not proved
            yield [rows[index] for index in chosen]


def best(scores: np.ndarray, count: int) -> list[int]:
    """The places of the highest scores, best first; of equal ones the first."""
    least = np.partition(scores, -count)[-count]
    indices = np.flatnonzero(scores >= least)
    return indices[np.argsort(-scores[indices], kind="stable")][:count].tolist()


def widest(masks: np.ndarray) -> list[np.uint64]:
    """The distinct sets, as bit masks uint64, that are not within another one."""
    maximal, smaller = [], np.unique(masks)[::-1]  # a set within another is a smaller number
    while len(smaller) and smaller[0]:
        maximal.append(smaller[0])
        smaller = smaller[smaller & ~smaller[0] != 0]
    return maximal


def cover_sets(sets: Sequence[int], most: int) -> tuple[list[int], bool]:
    """Choose the fewest sets with all elements, or at most ``most`` sets with many of them.

    The problem is NP-hard, so the search has a limit. The greedy cover takes the set with the most
    new elements, the first of several (Chvátal 1979, "A greedy heuristic for the set-covering
    problem"). If it has more than two sets, a depth-first search over the rarest missing element
    looks for a smaller one.

    :param sets: bit masks, in order of preference.
    :returns: indices of the chosen sets; and whether the search reached its end, so that no smaller
        cover exists.
    """
    union = 0
    for members in sets:
        union |= members
    greedy, missing = [], union
    while missing:
        best = max(
            range(len(sets)), key=lambda index: ((sets[index] & missing).bit_count(), -index)
        )
        greedy.append(best)
        missing &= ~sets[best]
    if len(greedy) <= 2:
        return greedy[:most], True
    least = -(-union.bit_count() // max(members.bit_count() for members in sets))
    nodes = [NODES]
    for count in range(least, min(len(greedy) - 1, most) + 1):
        if cover := _search(sets, union, count, nodes):
            return cover, nodes[0] > 0
    return greedy[:most], nodes[0] > 0


def _search(sets: Sequence[int], missing: int, count: int, nodes: list[int]) -> list[int]:
    """At most ``size`` sets with all ``missing`` elements; empty if there are none, or ``nodes``
    are used up.
    """
    nodes[0] -= 1
    if count == 1:
        return next(([index] for index, members in enumerate(sets) if not missing & ~members), [])
    if (
        nodes[0] <= 0
        or max((members & missing).bit_count() for members in sets) * count < missing.bit_count()
    ):
        return []
    bits = [
        1 << index_of_bit
        for index_of_bit in range(missing.bit_length())
        if missing >> index_of_bit & 1
    ]
    holders = min(
        ([index for index, members in enumerate(sets) if members & bit] for bit in bits), key=len
    )
    for index in sorted(holders, key=lambda index: -(sets[index] & missing).bit_count()):
        still_missing = missing & ~sets[index]
        if not still_missing:
            return [index]
        if cover := _search(sets, still_missing, count - 1, nodes):
            return [index, *cover]
    return []


def _hash(*texts: str) -> bytes:
    return hashlib.blake2b(
        "\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=8
    ).digest()
