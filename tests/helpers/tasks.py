"""Tasks that a tiny model must learn on a CPU in seconds, from a random start, and the loop that
trains it.

Ids 0 to 3 are <s>, <pad>, </s> and <unk>; sources and targets end with </s>. A model of width 32
with two layers a stack learns each of them in some seconds; one that gets four test pairs in five
right has learned.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from cgbench.models.config.architectures import build_model
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import beam_search
from cgbench.models.search_settings import SearchSettings
from cgbench.models.special_ids import EOS
from cgbench.models.training.loss import label_smoothed_nll_loss

Pair = tuple[list[int], list[int]]
LETTERS = range(4, 10)
TIMES = {"": 1, "twice": 2, "thrice": 3}
ACTIONS = ["walk", "look", "run", "jump", "turn", "wait"]
WORDS = {word: number for number, word in enumerate([*ACTIONS, "twice", "thrice", "and"], 4)}


@dataclass(frozen=True)
class Task:
    """Pairs to learn from and pairs to be right about; ``size`` of both vocabularies."""

    name: str
    size: int
    train: Callable[[np.random.Generator], Pair]
    test: Callable[[np.random.Generator], Pair]

    def batch(
        self, rows: int, generator: np.random.Generator, test: bool = False
    ) -> tuple[Ragged, Ragged]:
        """Draw sources and targets."""
        draw = self.test if test else self.train
        sources, targets = zip(*(draw(generator) for _ in range(rows)), strict=True)
        return Ragged.pack(sources), Ragged.pack(targets)


def letters(change: Callable[[list[int]], list[int]]) -> Callable[[np.random.Generator], Pair]:
    """Draw two to four of six letters, and what ``change`` makes of them."""

    def draw(generator: np.random.Generator) -> Pair:
        word = generator.choice(LETTERS, generator.integers(2, 5)).tolist()
        return [*word, EOS], [*change(word), EOS]

    return draw


def commands() -> list[Pair]:
    """All commands of a small grammar in the manner of SCAN, in random order: ``walk and jump
    twice``.
    """
    phrases = [
        ([action, *([times] if times else [])], [action] * TIMES[times])
        for action in ACTIONS
        for times in TIMES
    ]
    pairs = list(phrases)
    for left, first in phrases:
        pairs += [([*left, "and", *right], first + second) for right, second in phrases]
    np.random.default_rng(0).shuffle(pairs)
    return [
        ([*(WORDS[word] for word in x), EOS], [*(WORDS[word] for word in y), EOS]) for x, y in pairs
    ]


def one_of(pairs: list[Pair]) -> Callable[[np.random.Generator], Pair]:
    """Draw from a list."""
    return lambda generator: pairs[generator.integers(len(pairs))]


def tasks() -> list[Task]:
    """Return them all. A seventh of the commands is never trained on."""
    copy, backwards, scan = letters(list), letters(lambda word: word[::-1]), commands()
    return [
        Task("copy", 10, copy, copy),
        Task("reverse", 10, backwards, backwards),
        Task("commands", 13, one_of(scan[50:]), one_of(scan[:50])),
    ]


def learns(config, task: Task, updates: int = 300, rate: float = 6e-3, rows: int = 64) -> float:
    """Train a model until it hardly errs, or for ``updates``; return the share of test pairs that
    it gets right.
    """
    torch.manual_seed(0)
    generator = np.random.default_rng(1)
    model = build_model(config, task.size, task.size)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), fused=True)
    recent = 1.0
    for update in range(updates):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1, (update + 1) / 50, 2 * (updates - update) / updates)
        source, target = task.batch(rows, generator)
        loss, _ = label_smoothed_nll_loss(model(source, target.shifted()), target.ids, 0.0)
        loss = loss / len(target.ids)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        # Every batch is new, so its loss before the update says how well the task is known.
        recent = 0.9 * recent + 0.1 * loss.item()
        if recent < 0.04:
            break
    return share_right(model, task, generator)


def share_right(model, task: Task, generator: np.random.Generator) -> float:
    """Return the share of 200 test pairs that a model gets right."""
    source, target = task.batch(200, generator, test=True)
    found = beam_search([model.eval()], source, SearchSettings(beam=1))
    wanted = target.ids.split(target.layout.lengths.tolist())
    return float(
        np.mean([np.array_equal(best[0].tokens, y) for best, y in zip(found, wanted, strict=True)])
    )
