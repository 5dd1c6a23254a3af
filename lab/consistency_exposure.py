"""Does the estimate of what exposure gives hold a planted gain? A grid, by simulation.

    python lab/consistency_exposure.py                 # 300 trials per cell
    python lab/consistency_exposure.py --trials 50     # a quick look
    python lab/consistency_exposure.py texts           # leaks in text, read by cgbench overlap
    python lab/consistency_exposure.py few             # 5 to 40 leaked pairs

Long pairs are harder, and are leaked more often (with a probability of length / 60, from 4 to 33
words). A system is right with a probability of 0.65 - length / 80, plus the planted gain on a
leaked pair, plus what its seed and the document of the pair add. Prints the mean of the plain
difference and of the one matched on length, and the share of its 95% intervals that hold the
planted gain. In ``texts``, two of three new combinations of a leaked pair are in the corpus.
"""

import argparse
import datetime
import itertools
import random
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import cgbench
from cgbench.benchmark.measure.metrics.bins import Feature
from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.score.comparison.comparison import Comparison, compare
from cgbench.benchmark.score.comparison.design import Clusters, Sampling
from cgbench.benchmark.score.evaluation import exposure
from cgbench.benchmark.score.evaluation.exposure import compare_exposure
from cgbench.benchmark.score.evaluation.scored import Binning
from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.machine import description
from cgbench.tables import render
from cgbench.text.columns import Column


def trial(
    seed: int, n: int, gain: float, runs: int, documents: int, samples: int, few: int = 0
) -> tuple[float, float, bool]:
    """The plain and the matched difference in percent, and whether the interval of the latter holds
    the gain.
    """
    draw = np.random.default_rng([seed, n, round(100 * gain), runs, documents])
    lengths = draw.integers(4, 34, n).astype(float)
    leaked = draw.random(n) < lengths / 60
    if few:
        leaked = np.isin(
            np.arange(n), draw.choice(n, few, replace=False, p=lengths / lengths.sum())
        )
    right = 0.65 - lengths / 80 + gain * leaked
    metric, sampling = ExactMatch([["right"]] * n), Sampling()
    if documents:
        labels = draw.integers(documents, size=n)
        right = right + draw.normal(0, 0.1, documents)[labels]
        sampling = Sampling(Clusters(("document",), (labels,)))
    luck = draw.normal(0, 0.03, runs) if runs > 1 else np.zeros(1)
    texts = [["right" if one else "wrong" for one in draw.random(n) < right + own] for own in luck]
    systems, comparison = [System("system", tuple(texts))], Comparison(samples=samples)
    results = compare(metric, systems, comparison, sampling=sampling)
    binning = Binning(Feature("exposure", leaked.astype(float)))
    text = Column("text", ["word " * int(length) for length in lengths])
    context: Any = SimpleNamespace(
        metric=metric,
        sampling=sampling,
        systems=systems,
        results=results,
        comparison=comparison,
        binning=binning,
        text=text,
    )
    found = compare_exposure(context)
    assert not isinstance(found, str)
    one, values = found.results[0].whole.figures["difference"], results[0].statistics[:, :, 0]
    assert one.value is not None and one.ci_low is not None and one.ci_high is not None
    plain = 100 * float(values[:, leaked].mean() - values[:, ~leaked].mean())
    return plain, one.value, one.ci_low <= 100 * gain <= one.ci_high


def of_texts(seed: int, gain: float) -> tuple[float, float, bool, float]:
    """The same for pairs of four pieces of one to five words; and the number of exposed pairs per
    leaked one.
    """
    draw = random.Random(seed)
    sides = [[f"w{draw.randrange(400)}" for _ in range(draw.randint(1, 5))] for _ in range(400)]
    lines, leaked, corpus, right = [], [], [], []
    for _ in range(500):
        pieces = draw.sample(sides, 4)
        lines.append(" ".join(word for piece in pieces for word in piece))
        length = len(lines[-1].split())
        leaked.append(draw.random() < length / 30)
        if leaked[-1]:
            corpus.append(" ".join(word for piece in pieces[:3] for word in piece))
        right.append(draw.random() < 0.6 - length / 40 + gain * leaked[-1])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.txt"
        path.write_text("".join(f"{line}\n" for line in corpus), encoding="utf-8")
        cgbench.overlap(lines, path, out=Path(folder) / "seen")
        train = [" ".join(side) for side in sides for _ in range(3)]
        outputs = [line if one else "x" for line, one in zip(lines, right, strict=True)]
        seen = cgbench.Breakdown("exposure", exposure=Path(folder) / "seen", train=train, bins="2")
        found = cgbench.evaluate(
            "exact", outputs, lines, comparison={"samples": 200}, breakdown=seen
        ).exposure
    assert found is not None
    one, known = found.results[0].whole.figures["difference"], np.array(leaked)
    assert one.value is not None and one.ci_low is not None and one.ci_high is not None
    plain = 100 * float(np.array(right)[known].mean() - np.array(right)[~known].mean())
    return (
        plain,
        one.value,
        one.ci_low <= 100 * gain <= one.ci_high,
        float(found.signature.items["exposed"]) / known.sum(),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=("scores", "texts", "few"), default="scores")
    parser.add_argument("--trials", type=int, default=300)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{datetime.date.today()}, {description()}, {given.trials} trials per cell\n")
    rows = []
    if given.what == "texts":
        for gain in (0.0, 0.2, 0.4):
            found = np.array([of_texts(seed, gain) for seed in range(given.trials)], float).mean(
                axis=0
            )
            cells = [
                f"{100 * gain:.0f}",
                f"{found[0]:.1f}",
                f"{found[1]:.1f}",
                f"{100 * found[2]:.1f}",
            ]
            rows.append([*cells, f"{found[3]:.3f}"])
        print(
            render(
                ["planted", "plain", "matched", "held (%)", "exposed per leaked"], rows, "markdown"
            )
        )
        return
    if given.what == "few":
        exposure.FEWEST = 5  # fewer than a score accepts, to show why
        for n, few, gain in itertools.product((200, 1000), (5, 7, 10, 15, 20, 40), (0.0, 0.1, 0.3)):
            trials = [trial(seed, n, gain, 1, 0, 200, few) for seed in range(given.trials)]
            plain, matched, holds = np.array(trials, float).mean(axis=0)
            cells = [f"{n:,}", str(few), f"{100 * gain:.0f}", f"{plain:.1f}", f"{matched:.1f}"]
            rows.append([*cells, f"{100 * holds:.1f}"])
        head = ["pairs", "leaked", "planted", "plain", "matched", "held (%)"]
        print(render(head, rows, "markdown"))
        return
    for n, documents, runs, gain in itertools.product(
        (200, 1000), (0, 40), (1, 3), (0.0, 0.1, 0.3)
    ):
        trials = [trial(seed, n, gain, runs, documents, 200) for seed in range(given.trials)]
        found = np.array(trials, float).mean(axis=0)
        cells = [f"{100 * gain:.0f}", f"{found[0]:.1f}", f"{found[1]:.1f}", f"{100 * found[2]:.1f}"]
        rows.append([f"{n:,}", str(documents or "-"), str(runs), *cells])
    head = ["pairs", "documents", "seeds", "planted", "plain", "matched", "held (%)"]
    print(render(head, rows, "markdown"))


if __name__ == "__main__":
    main()
