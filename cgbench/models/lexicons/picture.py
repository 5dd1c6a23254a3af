"""A lexicon as a picture: source words down, target words across, dark where one stands for the other.

As Figures 2 to 5 of Akyürek and Andreas (2021): the values of a word's entries as a softmax.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cgbench.errors import InputError, require
from cgbench.files import write_atomic
from cgbench.models.lexicons.lexicon import Lexicon

# What a file would otherwise say of when and by what it was made: the same lexicon is the same bytes.
METADATA: dict[str, dict[str, None]] = {
    ".svg": {"Date": None},
    ".png": {"Software": None},
}
LARGEST = 80  # words of a side that can still be read
CELL = 0.28  # inches


def check_picture(path: Path) -> None:
    """Check, before any work, that a picture can be drawn to ``path``.

    :raises InputError: its name ends in no known form, or Matplotlib is not installed.
    """
    if path.suffix not in METADATA:
        raise InputError(f"{path}: the name of a picture must end in {' or '.join(METADATA)}")
    require("matplotlib", "plots")


def draw_lexicon(lexicon: Lexicon, path: Path, words: Sequence[str] = (), temperature: float = 0.1) -> None:
    """Draw a lexicon.

    :param words: source words to draw; all if none is given.
    :param temperature: of the softmax (paper: 0.1).
    :raises InputError: a word has no entry, or there are too many words to read.
    """
    check_picture(path)
    rows = list(words) or list(lexicon.source_words)
    known, chosen = set(lexicon.source_words), set(rows)
    missing = [word for word in rows if word not in known]
    if missing:
        raise InputError(f"the lexicon has no entry for {', '.join(map(repr, missing[:5]))}")
    entries = {word: row for word, row in lexicon.items() if word in chosen}
    columns = list(dict.fromkeys(target for word in rows for target in entries[word]))
    if max(len(rows), len(columns)) > LARGEST:
        raise InputError(
            f"{path}: {len(rows)} source and {len(columns)} target words are too many for a picture "
            f"(at most {LARGEST}); choose some with --words"
        )
    _draw(_shares(entries, rows, columns, temperature), rows, columns, path)


def _shares(
    entries: Mapping[str, Mapping[str, float]], rows: Sequence[str], columns: Sequence[str], temperature: float
) -> np.ndarray:
    values = np.full((len(rows), len(columns)), -np.inf)
    places = {target: number for number, target in enumerate(columns)}
    for number, word in enumerate(rows):
        for target, value in entries[word].items():
            values[number, places[target]] = value
    weights = np.exp((values - values.max(1, keepdims=True)) / temperature)
    return weights / weights.sum(1, keepdims=True)


def _draw(shares: np.ndarray, rows: Sequence[str], columns: Sequence[str], path: Path) -> None:
    matplotlib = require("matplotlib", "plots")
    figure_module = require("matplotlib.figure", "plots")
    size = (2 + CELL * len(columns), 2 + CELL * len(rows))
    # Text stays text in SVG, so that scripts which Matplotlib's font lacks are drawn by the viewer.
    with matplotlib.rc_context({"svg.hashsalt": "cgbench", "svg.fonttype": "none"}):
        figure = figure_module.Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="equal")
        axes.set_xticks(range(len(columns)), [_plain(word) for word in columns], rotation=90)
        axes.set_yticks(range(len(rows)), [_plain(word) for word in rows])
        axes.set_xlabel("target")
        axes.set_ylabel("source")
        figure.colorbar(image, ax=axes)
        buffer = io.BytesIO()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            figure.savefig(buffer, format=path.suffix[1:], dpi=150, metadata=METADATA[path.suffix])
    if path.suffix != ".svg" and any("missing from font" in str(warning.message) for warning in caught):
        raise InputError(f"{path}: the font of Matplotlib lacks some characters of the words; draw to a .svg file")
    write_atomic(path, buffer.getvalue())


def _plain(word: str) -> str:
    """A word without what Matplotlib would read as mathematics."""
    return word.replace("$", r"\$")
