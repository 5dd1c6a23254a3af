"""Each line of a pool ends in exactly one stage, whatever is in it: the counts add up."""

import random

import pytest

from cgbench.benchmark.build.react.build_react import build_react

ODD = [
    "",
    " ",
    "\t",
    "\0",
    "\u3000",
    "\ufffd",
    "a\rb",
    "\u2028",
    "日本語",
    "x" * 5000,
    "<s>",
    "\\n",
    "'",
]


def side(draw, words):
    if draw.random() < 0.1:
        return draw.choice(ODD)
    return draw.choice([" ", "  ", "\t"]).join(draw.choices(words, k=draw.randrange(1, 12)))


@pytest.mark.parametrize("seed", range(3))
def test_the_counts_of_all_stages_add_up_to_the_pool(tmp_path, seed):
    draw = random.Random(seed)
    words = [f"w{number}" for number in range(30)]
    train = [[side(draw, words[:25]) for _ in range(400)] for _ in range(2)]
    pool = [[side(draw, words) for _ in range(300)] for _ in range(2)]
    for text, lines in zip(pool, train, strict=True):
        text += draw.choices(text, k=40) + draw.choices(lines, k=40)  # copies, and seen text
    release = build_react(
        train=train,
        pools=[pool],
        out=tmp_path / "out",
        preset="small",
        until="candidates",
        min_length=3,
        max_length=9,
        candidates="1/1",
        accept_text=True,
    )
    counts = release.manifest["counts"]
    assert counts["pool"] == len(pool[0])
    assert counts["pool"] == counts["empty"] + counts["rare_word"] + counts["known_words"]
    bounds = counts["too_short"], counts["too_long"], counts["within_length"]
    assert counts["known_words"] == sum(bounds) and all(bounds)
    taken = counts["seen"], counts["duplicates"], counts["candidates"]
    assert counts["within_length"] == sum(taken) and counts["candidates"] and counts["empty"]
    lines = release.table()["line"].to_pylist()
    assert len({*lines}) == len(lines) == counts["candidates"]
