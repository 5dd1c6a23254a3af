"""The published cut and that of the preset `small`, of the same size on the same candidates:
README's comparison.

    python lab/noise/like_with_like.py RELEASE KINDS [RELEASE KINDS ...]
    python lab/noise/like_with_like.py real.npz

A release and its kinds: demo-1/release demo-1/corpus/pool.kinds. real.npz is from grid.measure: 5%
planted 15 times, where the source stays.

docs/lab/noise.md has the table.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from grid import MEASURE, PLANTINGS

from cgbench.benchmark.build.react.demo import NOISE, noise_left
from cgbench.benchmark.candidates.noise_share import choose_cut
from cgbench.benchmark.candidates.selection import GIVEN_DEGREE, select_rows, selection_sizes
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.score.comparison.intervals import within_scale

SIZES, PLANTED = ("1/30", "1/20"), 0.05
WAYS = {"published": ("drop", "drop_reference"), "small": ("drop_reference", "drop")}
COMMON = {
    "uncertainty": "rmi",
    "window": "3/10",
    "select": "1/20",
    "degree_side": "target",
    "drop_by": MEASURE + GIVEN_DEGREE,
}


def compare(
    columns: Mapping[str, Any],
    noise: np.ndarray,
    quality: Mapping[str, Any],
    seed: int,
    found: dict[Any, list[Any]],
) -> None:
    """Add the noisy and all pairs drawn, and what :func:`noise_left` says, of every size and way to
    ``found``.
    """
    for size in SIZES:
        for way, (used, unused) in WAYS.items():
            config = COMMON | {"seed": seed, used: size, unused: 0}
            chosen = choose_cut(columns, config, quality)
            config["drop_by"] = chosen["cut"] if chosen else config["drop_by"]
            stages = np.array(select_rows(columns, config, selection_sizes(config, len(noise)))[1])
            drawn = stages == "selected"
            result = noise_left(noise, np.array(columns["rmi"]), stages)
            found.setdefault((size, way), []).append(
                (noise[drawn].sum(), drawn.sum(), result["window"], result["kept"])
            )


def main(*paths: str) -> None:
    results: dict[Any, list[Any]] = {}
    if paths[0].endswith(".npz"):
        data = dict(np.load(paths[0]))
        quality = {"candidates": {"shuffled": float(np.median(data["shuffled"]))}, "warnings": []}
        for planting in range(PLANTINGS):
            draw, noise = np.random.default_rng(planting), np.zeros(len(data["degree"]), bool)
            noise[
                draw.choice(
                    np.flatnonzero(data["same_source"]), round(PLANTED * len(noise)), replace=False
                )
            ] = True
            names = (MEASURE, "degree", "target_length")
            columns = {name: np.where(noise, data[f"noisy_{name}"], data[name]) for name in names}
            compare(
                columns | {"rmi": data["rmi"], "content": np.arange(len(noise))},
                noise,
                quality,
                1,
                results,
            )
    for folder, kinds in zip(paths[::2], paths[1::2], strict=False):
        release, labels = (
            Release.open(Path(folder)),
            Path(kinds).read_text(encoding="utf-8").split(),
        )
        rows = release.table().to_pydict()
        compare(
            rows,
            np.array([labels[line - 1] == NOISE for line in rows["line"]]),
            release.manifest["ensemble"],
            release.configuration["seed"],
            results,
        )
    for (size, way), cells in results.items():
        noisy, drawn, window, kept = np.array(cells, float).T
        share = 100 * noisy.sum() / drawn.sum()
        low, high = within_scale(
            share, 1.96**2 * share * (100 - share) / drawn.sum(), int(drawn.sum()), 100.0
        )
        print(
            f"| {size} | {way} | {noisy.sum():.0f} of {drawn.sum():.0f} | {share:.1f} ({low:.1f} to"
            f" {high:.1f}) | {100 * window.mean():.1f} | {100 * kept.mean():.1f} |"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
