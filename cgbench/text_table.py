"""A table as text, as wide as the terminal."""

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from cgbench.terminal import columns

_SHORT = 24  # characters of a cell that stays on one line


class TextTable:
    """A table as text, as wide as the terminal.

    ``widths``: of the columns; ``longest_words``: the widths that they cannot be below; ``gap``:
    blanks between columns.
    """

    def __init__(
        self, lines: Sequence[Sequence[str]], left: int, keys: int, starts: Sequence[int]
    ) -> None:
        """Arguments as for :func:`render`; the first of ``lines`` is the head."""
        self.lines, self.left, self.keys, self.starts = lines, left, keys, starts
        self.room = columns()
        self.widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        self.longest_words = self._longest_words()
        # One blank between columns if all fit then and only then.
        narrowest, gaps = sum(self.longest_words), len(self.widths) - 1
        self.gap = 1 if narrowest + gaps <= self.room < narrowest + 2 * gaps else 2

    def render(self) -> str:
        """The table; columns that do not fit are in further blocks."""
        self._shrink()
        wrapped = self._wrapped()
        self.widths = [
            max(len(text) for cell in column for text in cell)
            for column in zip(*wrapped, strict=True)
        ]
        return "\n\n".join(self._block(wrapped, block) for block in self._blocks())

    def _longest_words(self) -> list[int]:
        """The longest word of each column; short cells of the body are not divided."""
        longest = [0] * len(self.widths)
        for line_number, line in enumerate(self.lines):
            is_head = line_number == 0
            for column, cell in enumerate(line):
                may_wrap = is_head or 0 < column < self.left or len(cell) > _SHORT
                words = cell.split() if may_wrap else []
                longest[column] = max(longest[column], *map(len, words or [cell]))
        return longest

    def _shrink(self) -> None:
        """Make the widest columns narrower until the table fits, none below its longest word."""
        gaps = self.gap * (len(self.widths) - 1)
        least = self.longest_words
        if sum(least) + gaps > self.room:
            # Columns follow below: only those that are too wide by themselves are made narrower.
            for key in range(self.keys):
                self.widths[key] = max(min(self.widths[key], self.room // 2), least[key])
            rest = self.room - sum(self.widths[: self.keys]) - self.gap * self.keys
            for column in range(self.keys, len(self.widths)):
                self.widths[column] = max(min(self.widths[column], rest), least[column])
            return
        while sum(self.widths) + gaps > self.room:
            can_shrink = [
                column for column, width in enumerate(self.widths) if width > least[column]
            ]
            self.widths[max(can_shrink, key=self.widths.__getitem__)] -= 1

    def _wrapped(self) -> list[list[list[str]]]:
        """The lines of each cell."""
        return [
            [self._wrap(cell, width) for cell, width in zip(line, self.widths, strict=True)]
            for line in self.lines
        ]

    @staticmethod
    def _wrap(cell: str, width: int) -> list[str]:
        if len(cell) <= width:
            return [cell]
        return textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False)

    def _blocks(self) -> list[list[int]]:
        """The columns of each block, with the keys repeated; groups of columns stay together."""
        key_columns = list(range(self.keys))
        width_of_keys = sum(self.widths[: self.keys]) + self.gap * (self.keys - 1)
        blocks, used = [list(key_columns)], width_of_keys
        for column in range(self.keys, len(self.widths)):
            needed = self.gap + self.widths[column]
            group = self._width_of_group(column)
            fits = used + needed <= self.room
            group_fits = used + group <= self.room
            group_fits_alone = width_of_keys + group <= self.room
            if len(blocks[-1]) > self.keys and (not fits or (not group_fits and group_fits_alone)):
                blocks.append(list(key_columns))
                used = width_of_keys
            blocks[-1].append(column)
            used += needed
        return blocks

    def _width_of_group(self, column: int) -> int:
        """The width of the group that starts at a column; 0 if none does."""
        if column not in self.starts:
            return 0
        end = min((start for start in self.starts if start > column), default=len(self.widths))
        return sum(self.gap + width for width in self.widths[column:end])

    def _block(self, wrapped: Sequence[Sequence[Sequence[str]]], block: Sequence[int]) -> str:
        texts = []
        for line in wrapped:
            for cells in zip_longest(*(line[column] for column in block), fillvalue=""):
                aligned = [
                    self._aligned(cell, column) for column, cell in zip(block, cells, strict=True)
                ]
                texts.append((" " * self.gap).join(aligned).rstrip())
        return "\n".join(texts)

    def _aligned(self, cell: str, column: int) -> str:
        width = self.widths[column]
        return cell.ljust(width) if column < self.left else cell.rjust(width)
