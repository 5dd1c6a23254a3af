"""Tables of where systems differ: n-grams, words, kinds of examples, single examples."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from cgbench.benchmark.score.comparison.found_differences import Differences, FoundDifference
from cgbench.benchmark.score.comparison.significance import LEVEL
from cgbench.errors import printable
from cgbench.numbers_as_text import fixed, p_text
from cgbench.tables import Note, OutputTable
from cgbench.terminal import folded

LONGEST = 60  # characters of a hypothesis in a table of text


def differences_tables(differences: Iterable[Differences], width: int) -> list[OutputTable | Note]:
    """Where systems differ: n-grams, words, kinds of examples, single examples."""
    blocks: list[OutputTable | Note] = []
    for pair in differences:
        head = ["examples", pair.system, pair.against, "p", "q"]
        names = f"{pair.system} and {pair.against}"
        if pair.tested:
            differ = f"{len(pair.ngrams):,} of {pair.tested:,}"
            where = "" if pair.seeds_tested else " in these outputs"
            blocks.append(
                Note(f"{names}: {differ} n-grams differ{where} (false discovery rate {LEVEL:g})")
            )
            title = f"N-grams, times right: {differ} differ"
            # Means over seeds have a decimal; counts of one run are whole.
            counts = [count for entry in pair.shown for count in (entry.ours, entry.theirs)]
            lines = _lines(pair.shown, 1 if any(count % 1 for count in counts) else 0)
            blocks.append(OutputTable(["n-gram", *head], lines, title=title))
        blocks.append(
            OutputTable(
                ["F1 of words, by count in training", *head],
                _lines(pair.words, width),
                title="F1 of words in percent, by training count",
                key="training count",
            )
        )
        blocks.append(
            OutputTable(
                [f"by {pair.kinds_by}: {names}", *head],
                _lines(pair.kinds, width),
                title=f"Scores by {pair.kinds_by}",
                key=pair.kinds_by,
            )
        )
        lines = [
            [
                f"{example.row}",
                fixed(example.ours, width),
                fixed(example.theirs, width),
                *(_short(text) for text in example.texts or ("", "")),
            ]
            for example in pair.examples
        ]
        columns = [pair.system, pair.against, f"{pair.system} output", f"{pair.against} output"]
        head = ["largest differences: row", *columns]
        in_blocks = partial(_example_blocks, pair, width)
        blocks.append(OutputTable(head, lines, text=in_blocks))
    return blocks


def _example_blocks(pair: Differences, width: int) -> str:
    """The examples that differ most, for a terminal: a block each, with both outputs."""
    names = (pair.system, pair.against)
    indent = max(map(len, names)) + 4
    blocks = [f"largest differences: {pair.system} and {pair.against}"]
    for example in pair.examples:
        scores = [fixed(score, width) for score in (example.ours, example.theirs)]
        both = ", ".join(f"{name} {score}" for name, score in zip(names, scores, strict=True))
        lines = [f"row {example.row}: {both}"]
        for name, text in zip(names, example.texts or (), strict=False):
            lines.append(folded(f"  {name}".ljust(indent) + printable(text), indent))
        blocks.append("\n".join(lines))
    has_texts = any(example.texts for example in pair.examples)
    return ("\n\n" if has_texts else "\n").join(blocks)


def _lines(entries: Iterable[FoundDifference], width: int) -> list[list[str]]:
    return [
        [
            entry.what,
            f"{entry.count:,}",
            fixed(entry.ours, width),
            fixed(entry.theirs, width),
            p_text(entry.p_value),
            p_text(entry.q_value),
        ]
        for entry in entries
    ]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
