"""A generator of evaluations that differ in everything that a form of output shows."""

import warnings

import numpy as np

from cgbench import evaluate, import_scores
from cgbench.errors import InputWarning

WORDS = ["a", "red", "dog", "saw", "the", "old", "cat", "near", "two", "big", "trees"]
NAMES = ["a*b", "_x_", "m|n", "p<q", "r&d", "50%", "s*", "*t*", "u_v", "plain", "w #1", "z{y}"]


class Generated:
    """An evaluation, and how it is made again with other comparisons."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.n = int(rng.choice([3, 5, 6, 8, 12, 25]))
        systems = int(rng.choice([1, 2, 2, 3, 4, 6, 12]))
        names = [str(name) for name in rng.permutation(NAMES)[:systems]]
        seeds = int(rng.choice([1, 1, 2, 3]))
        runs = [seeds if rng.random() < 0.8 else int(rng.integers(1, 4)) for _ in names]
        self.comparison = {}
        self.metric = str(
            rng.choice(["exact", "bleu", "chrf", "ter", "import", "import", "import"])
        )
        self.options = {}
        if self.metric == "import":
            self._scores(rng, names, runs)
        else:
            self._texts(rng, names, runs)
        single = set(runs) == {1}
        if systems > 1 and rng.random() < 0.85:
            tests = ["calibrated"]
            if single and "cluster" not in self.comparison:
                tests += ["bootstrap", "randomization"]
                tests += ["mcnemar"] if self.metric == "exact" else []
            self.comparison["paired"] = str(rng.choice(tests))
            if rng.random() < 0.35:
                self.comparison["all_pairs"] = True
            elif rng.random() < 0.4:
                self.comparison["baseline"] = names[-1]
        elif rng.random() < 0.5:
            self.comparison["confidence"] = True
        if {"paired", "confidence", "cluster"} & {*self.comparison} or "by" in self.options:
            self.comparison["samples"] = int(rng.choice([40, 80]))

    def _scores(self, rng, names, runs):
        size = float(rng.choice([1e-9, 1e-3, 1.0, 50.0, 1e6]))
        kind = str(rng.choice(["normal", "ties", "constant", "below zero", "binary"]))
        shift = rng.normal(0, 0.2, len(names))
        self.systems = {}
        for name, count, by in zip(names, runs, shift, strict=True):
            values = rng.normal(1 + by, 0.5, (count, self.n))
            if kind == "ties":
                values = np.round(values)
            elif kind == "constant":
                values = np.full_like(values, 1 + round(by))
            elif kind == "below zero":
                values = -np.clip(np.abs(values), 0.4, 1.6)
            elif kind == "binary":
                values = (values > 1).astype(float)
            self.systems[name] = (values * (1.0 if kind == "binary" else size)).tolist()
        self.options = {"metric": {"name": "COMET", "lower_is_better": bool(rng.random() < 0.3)}}
        self.references = None

    def _texts(self, rng, names, runs):
        lengths = rng.integers(2, 9, self.n)
        # Each line has a word of its own, by which its order is checked.
        self.references = [
            " ".join([f"no{number}", *rng.choice(WORDS, length)])
            for number, length in enumerate(lengths)
        ]
        self.systems = {}
        for name, count in zip(names, runs, strict=True):
            noise = float(rng.choice([0.0, 0.1, 0.3, 0.9]))
            self.systems[name] = [
                [self._noisy(rng, line, noise) for line in self.references] for _ in range(count)
            ]
        self.options = {"sources": self.references, "accept_text": True}
        if self.n > 5 and rng.random() < 0.6:
            self.options["by"] = "length"
            self.options["breakdown"] = {"bins": "4,6"}
        if rng.random() < 0.3 and self.n > 5:
            self.options["control"] = {
                "control_systems": {
                    name: [[self._noisy(rng, line, 0.1) for line in self.references] for _ in run]
                    for name, run in self.systems.items()
                },
                "control_references": self.references,
            }
        if rng.random() < 0.2 and "control" not in self.options:
            self.comparison["cluster"] = ["source"]

    @staticmethod
    def _noisy(rng, line, noise):
        first, *words = line.split()
        noisy = [str(rng.choice(WORDS)) if rng.random() < noise else word for word in words]
        return " ".join([first, *noisy])

    def made(self, **comparison):
        """The evaluation, with a changed comparison."""
        options = self.options | {"comparison": self.comparison | comparison}
        if options["comparison"].get("all_pairs"):
            options["comparison"].pop("baseline", None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)
            if self.metric == "import":
                return import_scores(self.systems, **options)
            return evaluate(self.metric, self.systems, self.references, **options)
