"""Pairs of two invented languages, right and shifted."""

import random


def invented_pairs(count=4000, seed=1):
    """Pairs of two invented languages: word by word, with names and numbers in a tenth of them."""
    draw = random.Random(seed)
    sides = [[f"{letter}{number}o" for number in range(400)] for letter in "kz"]
    pairs = []
    for _ in range(count):
        words = [draw.randrange(400) for _ in range(draw.randrange(3, 20))]
        extra = [f"Name{draw.randrange(3000)}"] if draw.random() < 0.1 else []
        pairs.append(tuple(" ".join([*(side[word] for word in words), *extra]) for side in sides))
    return pairs


def shifted(pairs, begin, shift):
    """One side without some lines at ``begin``: the source if ``shift`` is above 0."""
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    del sides[0 if shift > 0 else 1][begin : begin + abs(shift)]
    return list(zip(*sides, strict=False))


def write_pairs(folder, name, pairs):
    """Two plain files, as words of a command line."""
    paths = [folder / f"{name}.{language}" for language in ("de", "en")]
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return [str(path) for path in paths]
