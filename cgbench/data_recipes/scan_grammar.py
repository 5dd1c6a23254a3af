"""SCAN's phrase grammar and its meaning: every command with its actions, and the splits that are rules over commands.

Lake and Baroni, "Generalization without Systematicity", ICML 2018 (supplement: the grammar); Loula, Baroni and Lake,
"Rearranging the Familiar", 2018 (templates and fillers). The rules of the splits were checked against all released
files, row by row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

VERBS = ("walk", "look", "run", "jump")
DIRECTIONS = ("left", "right")
REPEATS = {"": 1, " twice": 2, " thrice": 3}

LONGEST_TRAINED = 22  # actions, in the split by length
CUTOFFS = (22, 24, 25, 26, 27, 28, 30, 32, 33, 36, 40)  # Csordás et al., "The Devil is in the Detail", 2021
SEED = 1234  # of Csordás et al.
TEMPLATES = ("jump_around_right", "right", "opposite_right", "around_right")
FILLERS = ("look", "walk", "run")  # in the order in which training gets them

Row = tuple[str, str]  # command, actions


@cache
def commands() -> dict[str, str]:
    """All 20,910 commands with their actions, in the order of the grammar."""
    phrases = {
        f"{phrase}{repeat}": actions * times for phrase, actions in _verb_phrases() for repeat, times in REPEATS.items()
    }
    found = dict(phrases)
    for first, before in phrases.items():
        for second, after in phrases.items():
            found[f"{first} and {second}"] = before + after
    for first, after in phrases.items():
        for second, before in phrases.items():
            found[f"{first} after {second}"] = before + after
    return {command: " ".join(actions) for command, actions in found.items()}


def _verb_phrases() -> Iterator[tuple[str, list[str]]]:
    for verb in (*VERBS, "turn"):
        act = [f"I_{verb.upper()}"] if verb != "turn" else []
        if act:
            yield verb, act
        for direction in DIRECTIONS:
            turn = [f"I_TURN_{direction.upper()}"]
            yield f"{verb} {direction}", turn + act
            yield f"{verb} opposite {direction}", turn * 2 + act
            yield f"{verb} around {direction}", (turn + act) * 4


def rule_splits(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row], list[Row]]]:
    """Name, training and test rows of every official split that a rule defines, in the order of ``rows``.

    The training rows of ``addprim_*``, of which a tenth are one command, have a random order, always the same.
    """
    train = [row for row in rows if _actions(row) <= LONGEST_TRAINED]
    yield "length", train, _without(rows, train)
    for primitive in ("jump", "turn left"):
        held_out = _rows_with(rows, primitive)
        train = _without(rows, held_out)
        alone = [row for row in held_out if row[0] == primitive]
        test = [row for row in held_out if row[0] != primitive]
        yield f"addprim_{primitive.replace(' ', '_')}", shuffled(train + alone * round(len(train) / 9)), test
    for template in TEMPLATES:
        form = template.removeprefix("jump_").replace("_", " ")
        yield f"template_{template}", *_template(rows, form, VERBS if form == template.replace("_", " ") else ("jump",))
    _, test = _template(rows, "around right", ("jump",))
    for number in range(len(FILLERS) + 1):
        unknown = [f"{verb} around right" for verb in (*VERBS, "turn") if verb not in FILLERS[:number]]
        yield f"filler_num{number}", _without(rows, _rows_with(rows, *unknown)), test


def cutoff_splits(rows: Sequence[Row]) -> Iterator[tuple[int, list[Row], list[Row], list[Row]]]:
    """Cutoff of output length; training, validation (drawn from the same distribution) and test rows.

    The draw is the one of Csordás et al. if ``rows`` have the order of the released ``tasks.txt``.
    """
    import numpy as np

    lengths = [_actions(row) for row in rows]
    for cutoff in CUTOFFS:
        short = [row for row, length in zip(rows, lengths, strict=True) if length <= cutoff]
        test = [row for row, length in zip(rows, lengths, strict=True) if length > cutoff]
        size = int(len(short) * (1 - 0.9))  # as the paper's code computes it: 0.0999..., so 1,828 of 18,286
        drawn = set(np.random.RandomState(SEED).choice(len(short), size, replace=False).tolist())
        train = [row for number, row in enumerate(short) if number not in drawn]
        yield cutoff, train, [row for number, row in enumerate(short) if number in drawn], test


def shuffled(rows: Sequence[Row]) -> list[Row]:
    """The rows in a random order, always the same: a part of a split, such as its end, is then like the rest."""
    import numpy as np

    return [rows[number] for number in np.random.RandomState(SEED).permutation(len(rows)).tolist()]


def _actions(row: Row) -> int:
    return row[1].count(" ") + 1


def _template(rows: Sequence[Row], form: str, verbs: Sequence[str]) -> tuple[list[Row], list[Row]]:
    """Training and test rows for a template with these verbs; commands where "turn" has its form are in neither."""
    turning = _rows_with(rows, f"turn {form}")
    tested = _rows_with(rows, *(f"{verb} {form}" for verb in verbs))
    return _without(_without(rows, turning), tested), _without(tested, turning)


def _rows_with(rows: Sequence[Row], *phrases: str) -> list[Row]:
    """The rows whose command has one of the phrases (no word of SCAN is a part of another word)."""
    found = re.compile("|".join(phrases)).search
    return [row for row in rows if found(row[0])]


def _without(rows: Sequence[Row], others: Sequence[Row]) -> list[Row]:
    out = set(others)
    return [row for row in rows if row not in out]
