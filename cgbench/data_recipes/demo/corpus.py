"""The demo corpus: a small German-English corpus and a pool with pairs of four known kinds.

30% of the training text are variants of stock sentences: a frame, drawn by Zipf's law, with one
noun phrase exchanged, so long n-grams and some sentences repeat, as in real corpora. The rest is
free, with every third word combination held out (:mod:`~cgbench.data_recipes.demo.grammar`). A few
words occur just once or twice. The pool, in random order:

- near-copy (35%): a training frame with a noun phrase that it never had in training. The degree is
  low.
- new-combination (40%): known words in combinations held out of training. The degree is high. The
  candidates, a tenth of the pairs that pass the filter, should come from here.
- unknown-word (15%): a word on one side or both occurs in training fewer than 3 times, for the
  filter of rare words.
- noise (10%): a quarter is misaligned (the target of another source). In the rest the source is
  garbled: shuffled, drawn word by word from the vocabulary, cut, spliced, stuttering, or half in
  the other language; the uncertainty of a model that reads only the source cannot show a
  misalignment. Most words are known, and the target is mostly an ordinary sentence, so the most
  uncertain candidates are mostly noise but most candidates are not, as in a real pool.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

from cgbench.data_recipes.demo.grammar import (
    Clause,
    Item,
    NounPhrase,
    Pair,
    RandomDraw,
    Sampler,
    Word,
    partners,
    rows,
    sentence_pair,
    words,
)
from cgbench.errors import InputError
from cgbench.files import write_atomic

SHARES = {"near-copy": 0.35, "new-combination": 0.40, "unknown-word": 0.15, "noise": 0.10}
KINDS = tuple(SHARES)
KNOWN_COUNT = 3
LONGEST = 20
STOCK_SHARE = 0.3
SMALLEST_TRAINING = 1000
SLOTS = ("object", "subject", "place")


def write_demo(
    folder: Path,
    *,
    train_pairs: int = 20_000,
    pool_pairs: int = 30_000,
    valid_pairs: int = 500,
    seed: int = 1,
) -> None:
    """Write ``train``, ``valid`` and ``pool`` (``.de``, ``.en``), and ``pool.kinds`` with one kind
    per line.

    The same arguments give the same bytes everywhere. Files are written atomically; ``folder`` is
    created if missing.

    :raises InputError: ``train_pairs`` is too small for words and frames to become known, or a
        count is negative.
    """
    if train_pairs < SMALLEST_TRAINING:
        raise InputError(
            f"train_pairs={train_pairs}: the demo corpus needs at least {SMALLEST_TRAINING}"
            " training pairs"
        )
    if min(pool_pairs, valid_pairs) < 0:
        raise InputError(
            f"pool_pairs={pool_pairs}, valid_pairs={valid_pairs}: a number of pairs cannot be"
            " negative"
        )
    # draw the texts; the order of the draws decides the bytes
    corpus = DemoCorpus(RandomDraw(seed), train_pairs)
    valid = [corpus.fresh(corpus.ordinary) for _ in range(valid_pairs)]
    pool = corpus.pool(pool_pairs)
    texts = {"train": corpus.train, "valid": valid, "pool": [pair for pair, _ in pool]}
    # write one file per side, and the kinds
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in texts.items():
        for side, language in enumerate(("de", "en")):
            write_atomic(
                folder / f"{name}.{language}", "".join(f"{pair[side]}\n" for pair in pairs)
            )
    write_atomic(folder / "pool.kinds", "".join(f"{kind}\n" for _, kind in pool))


class Frame:
    """A stock sentence with one open noun phrase, and its fillers in training and in
    near-copies.
    """

    def __init__(
        self, sentence: Clause, slot: str, fillers: Sequence[NounPhrase], index: int
    ) -> None:
        self.sentence, self.slot, self.uses = sentence, slot, 0
        self.trained = [filler for filler in fillers if (filler.noun.rank + index) % 3]
        self.held_out = [filler for filler in fillers if not (filler.noun.rank + index) % 3]

    def pair(self, filler: NounPhrase) -> Pair:
        """The sentence with ``filler`` as the open noun phrase."""
        return sentence_pair(self.sentence | {self.slot: filler})


def until(accepted: Callable[[Item], bool], draw: Callable[[], Item]) -> Item:
    """Draw until an item is accepted."""
    while not accepted(item := draw()):
        pass
    return item


class DemoCorpus:
    """The training text ``train``, and draws of every kind of pair that are checked against it."""

    def __init__(self, draw: RandomDraw, train_pairs: int) -> None:
        self.draw, self.sampler, self.novel = (
            draw,
            Sampler(draw, novel=False),
            Sampler(draw, novel=True),
        )
        self.rare_words = [*words("rare noun"), *words("rare adjective")]
        self.frames = [self._frame(index) for index in range(max(20, train_pairs // 80))]
        self.zipf = list(accumulate(1 / (rank + 10) for rank in range(len(self.frames))))
        # the rare word at index n occurs n mod 3 times
        planted = [
            self.rare([word])
            for index, word in enumerate(self.rare_words)
            for _ in range(index % 3)
        ]
        self.train = [self.ordinary() for _ in range(train_pairs - len(planted))] + planted
        draw.shuffle(self.train)
        self.seen = {side for pair in self.train for side in pair}
        self.known_words = [
            {
                word
                for word, count in Counter(" ".join(side).split(" ")).items()
                if count >= KNOWN_COUNT
            }
            for side in zip(*self.train, strict=True)
        ]
        self.vocabulary = sorted(self.known_words[0])
        self.shared_words = sorted(self.known_words[0] & self.known_words[1])
        self.used_frames = [frame for frame in self.frames if frame.uses >= 2 * KNOWN_COUNT]

    def known(self, pair: Pair) -> bool:
        """Whether every word of both sides occurs often enough in training."""
        return all(
            known.issuperset(side.split(" "))
            for known, side in zip(self.known_words, pair, strict=True)
        )

    def fresh(self, draw: Callable[[], Pair]) -> Pair:
        """Draw until neither side of the pair occurs in training."""
        return until(self.seen.isdisjoint, draw)

    def _frame(self, index: int) -> Frame:
        """Draw a sentence of 9 to 14 English words and open one of its noun phrases."""
        while True:
            sentence, slot = self.sampler.sentence(), self.draw.any(SLOTS)
            phrase = sentence.get(slot)
            if (
                phrase is None
                or phrase.relative
                or not 8 <= sentence_pair(sentence)[1].count(" ") <= 13
            ):
                continue
            head = phrase.preposition or sentence["verb"]
            nouns = partners(
                head, "noun", head.objects if slot == "object" else head.classes, False
            )
            countable = [noun for noun in nouns if len(noun.forms[0]) > 3]
            determiners = [key for key, _, numbers, *_ in rows("determiner") if "s" in numbers]
            phrases = [
                NounPhrase(noun, determiner) for noun in countable for determiner in determiners
            ]
            fillers = [filler._replace(preposition=phrase.preposition) for filler in phrases]
            frame = Frame(sentence, slot, fillers, index)
            if len(frame.trained) >= 20 and len(frame.held_out) >= 20:
                self.draw.shuffle(frame.trained)
                return frame

    def _short(self, sampler: Sampler, shortest: int = 3) -> Pair:
        return until(
            lambda pair: (
                pair[0].count(" ") < LONGEST and shortest - 1 <= pair[1].count(" ") < LONGEST
            ),
            lambda: sentence_pair(sampler.sentence()),
        )

    def ordinary(self) -> Pair:
        """Draw a training pair: a variant of a stock sentence, or a free sentence."""
        if self.draw.random() >= STOCK_SHARE:
            return self._short(self.sampler)
        frame = self.frames[bisect(self.zipf, self.draw.random() * self.zipf[-1])]
        frame.uses += 1
        return frame.pair(self.draw.common(frame.trained))

    def rare(self, words: Sequence[Word]) -> Pair:
        """Draw a sentence that one of ``words`` fits, and insert it."""
        while True:
            sentence, slot = self.sampler.sentence(), self.draw.any(SLOTS)
            phrase = sentence.get(slot)
            if phrase is None or not phrase.determiner or len(phrase.noun.forms[0]) == 3:
                continue
            if fitting := [word for word in words if set(phrase.noun.classes) & set(word.classes)]:
                word = self.draw.any(fitting)
                pair = sentence_pair(
                    sentence | {slot: phrase._replace(**{word.kind.removeprefix("rare "): word})}
                )
                if max(side.count(" ") for side in pair) < LONGEST:
                    return pair

    def pool(self, count: int) -> list[tuple[Pair, str]]:
        """``count`` pairs with their kinds, in random order."""
        counts = {kind: round(count * share) for kind, share in SHARES.items()}
        counts["new-combination"] += count - sum(counts.values())
        makers = self.near_copy, self.new_combination, self.unknown_word, self.noise
        pool = [
            (make(), kind)
            for kind, make in zip(KINDS, makers, strict=True)
            for _ in range(counts[kind])
        ]
        self.draw.shuffle(pool)
        return pool

    def near_copy(self) -> Pair:
        """Draw a training frame with a filler that it never had."""

        def draw() -> Pair:
            frame = self.draw.any(self.used_frames)
            return frame.pair(self.draw.any(frame.held_out))

        return until(self.known, lambda: self.fresh(draw))

    def new_combination(self) -> Pair:
        """Draw a sentence of known words in combinations held out of training."""
        return until(self.known, lambda: self.fresh(lambda: self._short(self.novel, shortest=5)))

    def unknown_word(self) -> Pair:
        """Draw a pair with a rare word on one side or both."""
        return until(lambda pair: not self.known(pair), lambda: self.rare(self.rare_words))

    def noise(self) -> Pair:
        """Draw a misaligned pair or one with a garbled source."""
        draw, (source, target) = self.draw, self.correct()
        if draw.random() < 0.25:
            return source, until(target.__ne__, lambda: self.correct()[1])
        source_words, target_words = source.split(" "), target.split(" ")
        garbled = until(source_words.__ne__, lambda: self.garble(source_words, target_words))
        if draw.random() < 0.02:
            draw.shuffle(target_words)
        return " ".join(garbled), " ".join(target_words)

    def correct(self) -> Pair:
        """Draw a correct pair of known words, mostly an ordinary one."""
        return self.new_combination() if self.draw.random() < 0.15 else self.near_copy()

    def garble(self, source: list[str], target: list[str]) -> list[str]:
        """``source`` damaged in one of the ways typical of crawled text."""
        draw, way = self.draw, self.draw.random()
        if way < 0.30:
            shuffled = list(source)
            draw.shuffle(shuffled)
            return shuffled
        if way < 0.60:
            return [draw.any(self.vocabulary) for _ in source]
        if way < 0.70:
            return [word for word in source for _ in range(1 + int(draw.random() * 3))][
                : LONGEST + 5
            ]
        if way < 0.80:
            spliced = self.correct()[0].split(" ")
            return spliced[len(spliced) // 2 :] + source[: len(source) // 2]
        if way < 0.88:
            return [draw.any(self.shared_words) if draw.random() < 0.5 else word for word in source]
        if way < 0.93:
            return [draw.any(target) if draw.random() < 0.5 else word for word in source]
        return source[: max(2, len(source) // 3)]
