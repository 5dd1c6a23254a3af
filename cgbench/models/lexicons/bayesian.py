"""Lexicons from a Bayesian model of how children learn words (Frank, Goodman and Tenenbaum, 2007).

The model follows Akyürek and Andreas (2021), sections 4.1 and C.2; their code was not published. A
lexicon is a set of word pairs, sampled from the posterior by Metropolis-Hastings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cgbench.errors import InputError
from cgbench.models.lexicons.bitext import Bitext, find_cooccurrences
from cgbench.models.lexicons.counting import Entries
from cgbench.settings import option


@dataclass(frozen=True)
class BayesianSettings:
    """Settings of :func:`bayesian`; the defaults are the paper's."""

    alpha: float = option(
        2.0, "Cost of an entry: the prior of a lexicon of n entries is exp(-alpha n)"
    )
    gamma: float = option(0.95, "Probability that a word refers", above=0, below=1)
    kappa: float = option(
        0.1, "Probability that a word of the lexicon does not refer", above=0, most=1
    )
    runs: int = option(5, "Number of runs of the sampler, each from the empty lexicon", least=1)
    steps: int = option(
        5000,
        "Number of proposals per run. The paper does not state it; 5000 gives as many samples, 399"
        " per run, as the authors' file for Colors counts",
    )
    burn_in: int = option(1000, "Number of proposals before the first sample of a run", least=0)
    every: int = option(10, "Number of proposals between samples", least=1)
    seed: int = option(1, "Random seed of the sampler", least=0)

    def __post_init__(self) -> None:
        if self.steps - self.burn_in <= self.every:
            raise InputError("no samples: steps must exceed burn_in by more than every")


def bayesian(text: Bitext, settings: BayesianSettings) -> Entries:
    """Sample lexicons.

    Half of the proposals add an entry, with probability proportional to the number of sentence
    pairs with both words; the other half remove one, uniformly.

    :returns: source ids, target ids, and the number of samples of all runs with the entry.
    """
    posterior = Posterior(text, settings)
    proposals = np.cumsum(posterior.sentences) / posterior.sentences.sum()
    entry_counts = np.zeros(len(proposals), np.int64)
    for run in range(settings.runs):
        random = np.random.default_rng([settings.seed, run])
        posterior.clear()
        for step in range(settings.steps):
            _propose(posterior, proposals, random)
            if step > settings.burn_in and step % settings.every == 0:
                entry_counts += posterior.linked
    entries = np.flatnonzero(entry_counts)
    return posterior.source[entries], posterior.target[entries], entry_counts[entries]


def _propose(posterior: Posterior, proposals: np.ndarray, random: np.random.Generator) -> None:
    add = random.random() < 0.5
    drawn, accept = random.random(), random.random()
    entries = posterior.size
    if add:
        entry = int(np.searchsorted(proposals, drawn, side="right"))
        if posterior.linked[entry]:
            return
    else:
        if not entries:
            return
        entry = int(np.flatnonzero(posterior.linked)[int(drawn * entries)])
    probability = proposals[entry] - (proposals[entry - 1] if entry else 0.0)
    # Probability of the reverse proposal over that of the proposal.
    ratio = 1 / ((entries + 1) * probability) if add else entries * probability
    changed = posterior.toggled(entry)
    if accept < ratio * np.exp(min(changed.log - posterior.log, 700.0)):
        posterior.accept(changed)


@dataclass(frozen=True)
class _Toggled:
    entry: int
    referring: np.ndarray
    log: float


class Posterior:
    """A lexicon and the logarithm of its posterior, up to a constant (equation 14).

    ``linked``, bool [P]: whether each co-occurring pair of words is an entry; ``source``,
    ``target``: its words. A non-referring word is drawn from all source words, those in the lexicon
    with ``kappa`` times the probability. A referring word is drawn, for each target word of the
    sentence, uniformly from the source words linked to it.
    """

    def __init__(self, text: Bitext, settings: BayesianSettings) -> None:
        met = find_cooccurrences(text, cells=True)
        if not len(met.source):
            raise InputError("no sentence pair has words on both sides to learn from")
        self.source, self.target, self.sentences = met.source, met.target, met.sentences
        self._settings, self._words = settings, text.source.ids
        # The source words in the sentences of each target word: the co-occurrence, the source
        # word's position, and the count of the target word in that sentence.
        position = np.repeat(
            np.arange(len(self._words)), np.repeat(text.target.lengths, text.source.lengths)
        )
        keys, first, self._times = np.unique(
            met.target[met.cells] * np.int64(len(self._words)) + position,
            return_index=True,
            return_counts=True,
        )
        self._cells, self._places = met.cells[first], position[first]
        self._begin = np.searchsorted(
            keys // len(self._words), np.arange(len(text.target.words) + 1)
        )
        self.clear()

    def clear(self) -> None:
        """Start from the empty lexicon."""
        self.linked = np.zeros(len(self.source), bool)
        self.size = 0
        self._entries = np.zeros(int(self._words.max()) + 1, np.int64)  # of each source word
        self._referring = np.zeros(len(self._words))  # probability of each position if referring
        self.log = self._log(0, self._entries, self._referring)

    def toggled(self, entry: int) -> _Toggled:
        """Return the change from adding ``entry``, or removing it if it is in the lexicon."""
        sign = -1 if self.linked[entry] else 1
        span = slice(self._begin[self.target[entry]], self._begin[self.target[entry] + 1])
        cells = self._cells[span]
        before = self.linked[cells]
        after = np.where(cells == entry, sign > 0, before)
        links = int((self.linked & (self.target == self.target[entry])).sum())
        change = after / max(links + sign, 1) - before / max(links, 1)
        referring = self._referring.copy()
        referring[self._places[span]] += self._times[span] * change
        entries = self._entries.copy()
        entries[self.source[entry]] += sign
        return _Toggled(entry, referring, self._log(self.size + sign, entries, referring))

    def accept(self, changed: _Toggled) -> None:
        """Apply a change."""
        sign = -1 if self.linked[changed.entry] else 1
        self.linked[changed.entry] ^= True
        self.size += sign
        self._entries[self.source[changed.entry]] += sign
        self._referring, self.log = changed.referring, changed.log

    def _log(self, count: int, entries: np.ndarray, referring: np.ndarray) -> float:
        settings = self._settings
        unreferring = np.where(entries > 0, settings.kappa, 1.0)
        unreferring *= (1 - settings.gamma) / unreferring.sum()
        log = np.log(unreferring[self._words] + settings.gamma * referring).sum()
        return float(log) - settings.alpha * count
