"""Programs as target text: symbols, and the words of literals in the pieces of the source.

A literal such as ``( PersonName " Elli " )`` repeats words of the utterance. Its words are cut into
the pieces of the source's tokeniser. So a piece that is no symbol of the training programs can
still be copied, as in the parsers of Yin et al. (2021) for SMCalFlow-CS.

Ids are first those of the symbols, then those of all pieces. Pieces ignore case, so decoded
literals are in lower case.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cgbench.models.special_ids import BOS, EOS, PAD, SPECIALS, UNK
from cgbench.models.text.places import Places, consecutive
from cgbench.models.text.tokenized import TokenizerSide
from cgbench.text.plain_text import words_of
from cgbench.text.program_trees import SLOT, program_symbols, program_tokens, subtrees_of

CONTINUES = "##"  # the start of a piece within a word


class ProgramSide:
    """The target of :class:`.subwords.Subwords`.

    :param symbols: by id, special tokens first.
    :param source: the tokeniser of the source, whose pieces are the words of literals.
    """

    def __init__(self, symbols: Sequence[str], source: TokenizerSide) -> None:
        self.symbols = list(symbols)
        self.tokens = [*self.symbols, *source.tokens]
        self._ids = {symbol: id_ for id_, symbol in enumerate(self.symbols) if id_ >= len(SPECIALS)}
        self._source = source
        self._words: dict[str, list[int]] = {}

    def encode(self, lines: Iterable[str]) -> list[np.ndarray]:
        """Ids of each line, </s> last."""
        return [
            np.array([*(id_ for ids in self._words_of(line) for id_ in ids), EOS], np.int32)
            for line in lines
        ]

    def unknown(self, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
        """Every symbol of a line that is unknown, with the line from 0."""
        for index, line in enumerate(lines):
            for symbol in program_symbols(line):
                if symbol not in self._ids:
                    yield index, symbol

    def places(self, line: str) -> Places:
        """The tokens of each word of a line."""
        return consecutive([len(ids) for ids in self._words_of(line)])

    def as_decoded(self, line: str) -> str:
        """A line as :meth:`decode` would write it, but with its unknown symbols."""
        text = ""
        for token, is_copied in program_tokens(line):
            pieces = [self.tokens[id_] for id_ in self._pieces(token)] if is_copied else [token]
            for piece in pieces:
                continues = is_copied and piece.startswith(CONTINUES)
                text += piece.removeprefix(CONTINUES) if continues else f" {piece}"
        return text.strip()

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids before </s>."""
        text = ""
        for id_ in map(int, ids):
            if id_ == EOS:
                break
            if id_ in (BOS, PAD) or id_ == len(self.symbols):  # copying nothing
                continue
            token = self.tokens[id_]
            continues = id_ > len(self.symbols) and token.startswith(CONTINUES)
            text += token.removeprefix(CONTINUES) if continues else f" {token}"
        return text.strip()

    def targets_of_pieces(self) -> np.ndarray:
        """The target id of each piece of the source, [pieces]: a symbol that is spelt like it, or
        the piece.
        """
        first = len(self.symbols)
        return np.array(
            [
                first + id_ if id_ < len(SPECIALS) else self._ids.get(piece, first + id_)
                for id_, piece in enumerate(self._source.tokens)
            ],
            np.int64,
        )

    def _words_of(self, line: str) -> list[list[int]]:
        return [
            self._pieces(token) if is_copied else [self._ids.get(token, UNK)]
            for token, is_copied in program_tokens(line)
        ]

    def _pieces(self, word: str) -> list[int]:
        if word not in self._words:
            (ids,) = self._source.encode([word])
            targets = [
                self._ids.get(self._source.tokens[id_], len(self.symbols) + id_)
                for id_ in ids[:-1].tolist()
            ]
            self._words[word] = targets
        return self._words[word]


class SketchSide(ProgramSide):
    """Programs as a sketch, and for each of its slots a mark and the subtree.

    The id of the mark is that of the piece ``<pad>``, which no source has.
    """

    def __init__(self, symbols: Sequence[str], source: TokenizerSide) -> None:
        super().__init__(symbols, source)
        self.slot, self.mark = self._ids.get(SLOT, -1), len(self.symbols) + PAD

    def encode(self, lines: Iterable[str]) -> list[np.ndarray]:
        """See :class:`ProgramSide`."""
        return [np.array([*self._tokens(line)[0], EOS], np.int32) for line in lines]

    def places(self, line: str) -> Places:
        """See :class:`ProgramSide`; the slot of a subtree is a token of its first word."""
        tokens, words = self._tokens(line)
        sketch = tokens.index(self.mark) if self.mark in tokens else len(tokens)
        return Places([tuple(sorted(word)) for word in words], sketch)

    def decode(self, ids: Iterable[int]) -> str:
        """See :class:`ProgramSide`."""
        sequences: list[list[int]] = [[]]
        for id_ in map(int, ids):
            if id_ == EOS:
                break
            if id_ == self.mark:
                sequences.append([])
            else:
                sequences[-1].append(id_)
        sketch, *subtrees = (super(SketchSide, self).decode(sequence) for sequence in sequences)
        waiting = iter(subtrees)
        words = [next(waiting, SLOT) if word == SLOT else word for word in words_of(sketch)]
        return " ".join(words)

    def _tokens(self, line: str) -> tuple[list[int], list[list[int]]]:
        """The ids of a line, and the positions of each of its words among them."""
        words = words_of(line)
        ids = self._words_of(line)
        places: list[list[int]] = [[] for _ in words]
        tokens: list[int] = []
        nodes = subtrees_of(words) if self.slot >= 0 else []
        # The sketch; then each subtree after a mark.
        position = 0
        for node in nodes:
            self._add(tokens, places, ids, range(position, node.start))
            places[node.start].append(len(tokens))
            tokens.append(self.slot)
            position = node.end
        self._add(tokens, places, ids, range(position, len(words)))
        for node in nodes:
            tokens.append(self.mark)
            self._add(tokens, places, ids, range(node.start, node.end))
        return tokens, places

    @staticmethod
    def _add(
        tokens: list[int], places: list[list[int]], ids: list[list[int]], words: range
    ) -> None:
        for word in words:
            places[word].extend(range(len(tokens), len(tokens) + len(ids[word])))
            tokens.extend(ids[word])
