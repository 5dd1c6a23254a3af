"""What a build will cost: time, memory and disk of each step, from what its parts take on a machine.

Pure: sizes and rates in (:mod:`cgbench.benchmark.cost.rates` times them), figures out. What is estimated is said to the
one who waits, and goes into no file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cgbench.benchmark.candidates.amounts import parse_amount, resolve_amount
from cgbench.benchmark.candidates.uncertainty import shard_size
from cgbench.benchmark.cost.rates import ModelRates, Rates, Texts
from cgbench.benchmark.react.config import ReactConfig
from cgbench.models.config.common import TrainingConfig
from cgbench.tables import render

DAY = 24 * 3600.0
SMALLER = "small"  # the preset that may fit where another does not
PAIR = 700  # bytes that a pair of short sentences takes in a process that trains, beside its text
FORWARD = 1 / 3  # of an update: a forward pass alone
STATE = 3  # times the model: parameters and two moments, to go on from
CHUNKS = 5  # times what a thread of the scan reads: what it holds


@dataclass(frozen=True)
class Cost:
    """What a step will take: seconds (None: not estimated), bytes of memory at its peak, bytes on disk; 0 seconds and
    ``kept`` where it is done; ``without``: what of it is not in the seconds."""

    step: str
    seconds: float | None
    memory: float
    disk: float
    kept: bool = False
    without: str = ""


@dataclass(frozen=True)
class Estimate:
    """The costs of the steps of a build, in order."""

    costs: tuple[Cost, ...]

    @property
    def seconds(self) -> float:
        """Of all steps."""
        return sum(cost.seconds or 0.0 for cost in self.costs)

    @property
    def memory(self) -> float:
        """The highest peak."""
        return max((cost.memory for cost in self.costs), default=0.0)

    @property
    def disk(self) -> float:
        """Of all steps."""
        return sum(cost.disk for cost in self.costs)

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "seconds": round(self.seconds, 1),
            "memory": round(self.memory),
            "disk": round(self.disk),
            "steps": [asdict(cost) for cost in self.costs],
        }


@dataclass(frozen=True)
class Asked:
    """What is built, beside its settings: how much runs at once, and what of it.

    :param until: the stage it ends at; ``cores``: threads of the scan.
    :param members: trained at once; ``shards``: scored at once.
    :param training: of the members; None where they are given.
    :param reverse: members of the ensemble of the other direction; ``lm``: whether there is a language model.
    :param normalised: whether texts are written anew.
    :param done: groups of steps that are kept; ``left``: members that are to be trained.
    :param clusters: whether these cluster states while they are trained, which nobody times.
    """

    until: str
    cores: int
    members: int
    shards: int
    training: TrainingConfig | None
    reverse: int = 0
    lm: bool = False
    normalised: bool = False
    done: frozenset[str] = frozenset()
    left: int | None = None
    clusters: bool = False


def estimate(config: ReactConfig, texts: Texts, rates: Rates, asked: Asked) -> Estimate:
    """What each group of steps takes."""
    train, pool = texts.train, texts.pool
    wanted = resolve_amount("candidates", config.candidates, round(pool.pairs * rates.kept))
    candidates = min(wanted, round(pool.pairs * rates.kept))
    read = train.size + pool.size + texts.exclude.size
    costs = []
    if asked.normalised:
        pairs = train.pairs + pool.pairs + texts.exclude.pairs
        costs.append(Cost("texts", pairs * rates.normalise / asked.cores, 0.0, read))
    from cgbench.benchmark.candidates.scan import CHUNK
    from cgbench.benchmark.known_ngrams.known import BYTES_A_WORD

    words, ngrams = train.size * rates.words, train.size * rates.ngrams
    costs += [
        Cost("known-ngrams", train.size * rates.learn, words * BYTES_A_WORD, ngrams),
        Cost("scan", pool.size * rates.scan / asked.cores, CHUNKS * CHUNK * asked.cores, pool.size * rates.rows),
        Cost("candidates", read * rates.scan, 0.0, candidates * pool.size / max(1, pool.pairs)),
    ]
    if asked.lm:
        costs.append(Cost("perplexity", None, 0.0, 8.0 * candidates))
    if asked.until != "candidates" and rates.models is None:
        # Members from outside: to time them is to load them, and nobody else's rates hold for them.
        costs += [Cost(step, None, 0.0, 0.0) for step in ("uncertainty", *(["reverse"] if asked.reverse else []))]
    elif asked.until != "candidates":
        assert rates.models is not None
        costs += _models(config, texts, rates.start, rates.models, asked, candidates)
    return Estimate(tuple(Cost(cost.step, 0.0, 0.0, 0.0, True) if cost.step in asked.done else cost for cost in costs))


def _models(
    config: ReactConfig, texts: Texts, start: float, models: ModelRates, asked: Asked, candidates: int
) -> list[Cost]:
    train, costs = texts.train, []
    if asked.training:
        held_out = resolve_amount("valid", config.valid, train.pairs) if parse_amount("valid", config.valid) else 0
        costs.append(Cost("subwords", train.pairs * models.subwords, 0.0, 1e6))
        left = config.members if asked.left is None else asked.left
        at_once = max(1, min(asked.members, left))
        member = start + train.pairs * models.encode + _training(asked.training, models, train.pairs, held_out, config)
        memory = at_once * (models.memory + train.size + PAIR * train.pairs)
        best = 1 if held_out and asked.training.keep == "best" else 0
        disk = left * 4.0 * models.parameters * (1 + STATE + best) + (train.size if held_out else 0)
        without = "clustering prototypes" if asked.clusters else ""
        costs.append(Cost("members", math.ceil(left / at_once) * member, memory, disk, without=without))
    size = shard_size(candidates)
    shards = math.ceil(candidates / size)
    at_once = max(1, min(asked.shards, shards))
    scored = start + math.ceil(shards / at_once) * min(size, candidates) * models.candidate
    costs.append(Cost("uncertainty", scored, at_once * models.memory, candidates * models.row))
    if asked.reverse:
        # Less than the other direction, which is translated, too.
        share = asked.reverse / config.members
        costs.append(Cost("reverse", scored * share, at_once * models.memory, candidates * 40.0))
    return costs


def _training(training: TrainingConfig, models: ModelRates, pairs: int, held_out: int, config: ReactConfig) -> float:
    """Seconds that the updates and the validations of a member take."""
    an_epoch = max(1.0, (pairs - held_out) / models.pairs)
    updates = training.max_updates + models.first * an_epoch
    every = training.validate_every_epochs * an_epoch or training.validate_every
    validations = math.ceil(training.max_updates / every) if held_out else 0
    validation = held_out * models.update / models.pairs * FORWARD
    if training.validate_metric != "loss":
        decoded = min(held_out, training.validate_sentences or held_out)
        validation += decoded * models.candidate / config.members * training.validate_beam / config.beam
    return updates * models.update + validations * validation


def advice(found: Estimate, preset: str, device: str, cores: int, other: Callable[[], Estimate]) -> str | None:
    """One line where a build on a CPU takes longer than a day: which preset would fit; None elsewhere.

    :param other: estimates the same build with the preset :data:`SMALLER`.
    """
    if device != "cpu" or found.seconds <= DAY:
        return None
    said = f"this build will take about {duration(found.seconds)} on {cores} CPU cores"
    gpus = "it is made for a GPU (--device cuda)"
    if preset == SMALLER:
        return f"{said}; fewer members (--members) or updates (--set training.max_updates=N) take less"
    seconds = other().seconds
    if seconds > DAY:
        return f"{said}; {gpus}: --preset {SMALLER} would take about {duration(seconds)} here"
    return f"{said}; {gpus}: --preset {SMALLER} would fit in, with about {duration(seconds)}"


def duration(seconds: float) -> str:
    """``40 seconds``, ``3 minutes``, ``7.5 hours``, ``31 days``: as exactly as an estimate is worth."""
    for unit, size in (("day", DAY), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 1.5 * size:
            value = seconds / size
            shown = f"{value:.1f}" if value < 10 and size >= 3600 else f"{value:,.0f}"
            return f"{shown} {unit}s"
    return f"{max(1, round(seconds))} second{'s' if round(seconds) > 1 else ''}"


def size(count: float) -> str:
    """``12 MB``, ``3.4 GB``."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(1, round(count / 1e6)):,} MB"


def cost_table(found: Estimate, notes: Mapping[str, str] | None = None) -> str:
    """The estimate for people, a step a line."""
    rows = [
        (
            cost.step + (notes or {}).get(cost.step, "") + (f" (without {cost.without})" if cost.without else ""),
            "kept" if cost.kept else "not estimated" if cost.seconds is None else duration(cost.seconds),
            size(cost.memory) if cost.memory else "",
            size(cost.disk) if cost.disk else "",
        )
        for cost in found.costs
    ]
    left_out = any(cost.seconds is None or cost.without for cost in found.costs)
    whole = (
        "in all that is estimated" if left_out else "in all",
        duration(found.seconds),
        size(found.memory),
        size(found.disk),
    )
    return render(("about", "time", "memory", "disk"), [*rows, whole])
