"""Does `score --differences` claim n-grams for two equally good systems? docs/lab/significance.md
has the table.

    python lab/significance_differences.py [FAMILIES]    # 200 families per cell

A family is a pair of systems on 300 sentences of 8 words, with the n-grams that the test compares.
The systems are equally good on average, and their seeds differ:

- ``words``: each seed fails on a tenth of the words of its own.
- ``level``: each seed has an error rate of its own, 5 to 15% of the words.
- ``chance``: each seed fails on 10% of the words at random.

``real``: the systems differ, in addition to ``words``: one fails on a tenth of the words with every
seed.
"""

import sys

import numpy as np

from cgbench.benchmark.score.comparison.design import Clusters
from cgbench.benchmark.score.evaluation.differences import _expected, _ngrams
from cgbench.text.plain_text import words_of

SENTENCES, LENGTH, VOCABULARY = 300, 8, 150
ZIPF = 1 / np.arange(10, VOCABULARY + 10)


def outputs(
    draw: np.random.Generator, text: np.ndarray, kind: str, broken: np.ndarray
) -> list[str]:
    """The output of a seed: the words of ``text``, wrong ones replaced."""
    wrong = np.isin(text, broken)
    if kind in ("words", "real"):
        wrong = wrong | np.isin(text, draw.choice(VOCABULARY, VOCABULARY // 10, replace=False))
    else:
        wrong = wrong | (
            draw.random(text.shape) < (draw.uniform(0.05, 0.15) if kind == "level" else 0.1)
        )
    words = np.where(wrong, "?", np.char.add("w", text.astype(str)))
    return [" ".join(line) for line in words]


def family(seed: int, kind: str, runs: int, clustered: bool) -> tuple[int, int, int]:
    """The n-grams tested, those claimed, and those of them that have no word on which the systems
    differ.
    """
    draw = np.random.default_rng([seed, runs])
    text = draw.choice(VOCABULARY, (SENTENCES, LENGTH), p=ZIPF / ZIPF.sum())
    broken = (
        draw.choice(VOCABULARY, VOCABULARY // 10, replace=False) if kind == "real" else np.zeros(0)
    )
    systems = [
        [outputs(draw, text, kind, lost) for _ in range(runs)] for lost in (np.zeros(0), broken)
    ]
    expected = [_expected([" ".join(f"w{word}" for word in line)], words_of) for line in text]
    clusters = Clusters(("document",), (np.arange(SENTENCES) // 10,)) if clustered else None
    tested, claimed, _ = _ngrams(expected, systems, words_of, clusters, False)
    names = {f"w{int(word)}" for word in broken}
    return (
        tested,
        len(claimed),
        sum(not names & set(difference.what.split()) for difference in claimed),
    )


if __name__ == "__main__":
    families = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(
        "| seeds | units | runs | n-grams tested | families with a false claim (%) | false share"
        " (%) | claimed |"
    )
    print("|---|---|---:|---:|---:|---:|---:|")
    for kind in ("words", "level", "chance", "real"):
        for clustered in (False, True):
            for runs in (1, 2, 3, 5):
                cells = np.array([family(seed, kind, runs, clustered) for seed in range(families)])
                false, units = (
                    100 * (cells[:, 2] > 0).mean(),
                    ("documents" if clustered else "examples"),
                )
                share = 100 * (cells[:, 2] / np.maximum(cells[:, 1], 1)).mean()
                means = (
                    f"{cells[:, 0].mean():.0f} | {false:.1f} | {share:.1f} |"
                    f" {cells[:, 1].mean():.1f}"
                )
                print(f"| {kind} | {units} | {runs} | {means} |", flush=True)
