"""Each line of a pool ends in exactly one stage, whatever is in it: the counts add up."""

import random

import numpy as np
import pytest

from cgbench.benchmark.build.react.build_react import build_react
from cgbench.benchmark.candidates.selection import DROPS, GIVEN_DEGREE, count_stages, select_rows

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


@pytest.mark.parametrize("seed", range(40))
def test_each_candidate_ends_in_one_stage_of_the_requested_size(seed):
    """Whatever its measures are: equal, infinite, copied text."""
    draw = np.random.default_rng(seed)
    count = int(draw.integers(30, 200))
    odd = np.array([0.0, 1.0, np.inf, -np.inf, 5e-324])

    def measure():
        return np.where(draw.random(count) < 0.3, draw.choice(odd, count), draw.normal(size=count))

    columns = {name: measure() for name in ("rmi", "perplexity", "reference_pe_stu")}
    columns |= {
        "content": draw.integers(0, 50, count).astype(np.uint64),
        "degree": draw.choice([0.0, 0.5, 1.0], count),
        "target_length": draw.integers(1, 9, count),
    }
    sizes = dict(zip(DROPS, draw.integers(0, count // 6, 3).tolist(), strict=True))
    sizes |= {"window": count // 3, "select": count // 6}
    config = {
        "uncertainty": "rmi",
        "drop_by": draw.choice(["reference_pe_stu", f"reference_pe_stu{GIVEN_DEGREE}"]),
        "seed": seed,
        "degree_side": "target",
    }
    with np.errstate(invalid="ignore"):  # quantiles of infinite measures
        ranks, stages = select_rows(columns, config, sizes)
    assert sorted(ranks) == list(range(1, count + 1))
    counts = count_stages(stages)
    window = counts["window"]
    assert window == sizes["window"] and counts["selected"] == sizes["select"]
    assert counts["dropped"] == sizes["drop"]
    for stage, name in (
        ("dropped_perplexity", "drop_perplexity"),
        ("dropped_reference", "drop_reference"),
    ):
        assert counts.get(stage, 0) == sizes[name]
    assert sum(counts.values()) - counts["selected"] == count


def test_the_stages_of_a_finished_build_add_up(small_release):
    """From the candidates to the test set and the control set: no pair is in two of them."""
    counts, table = small_release.manifest["counts"], small_release.table().to_pydict()
    stages = count_stages(table["stage"])
    assert sum(stages.values()) - stages["selected"] == counts["candidates"] == len(table["stage"])
    assert stages["selected"] == counts["selected"] == len(small_release.lines("target"))
    lines = [
        {(row["pool"], row["line"]) for row in small_release.set_rows(name)}
        for name in ("test", "control")
    ]
    drawn = {
        (pool, line)
        for pool, line, stage in zip(table["pool"], table["pool_line"], table["stage"], strict=True)
        if stage == "selected"
    }
    assert len(lines[0]) == counts["selected"] and len(lines[1]) == counts["control"]
    assert not lines[0] & lines[1]
    assert len(drawn) == counts["selected"]
