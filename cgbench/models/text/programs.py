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
from cgbench.text.program_trees import program_symbols, program_tokens

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
