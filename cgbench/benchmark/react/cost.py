"""The cost of a planned build on this machine: time, memory and disk of each step.

Two samples are timed: known n-grams and scan on a part of the texts; some updates of a model of the right size and
its translations, in as many processes as the build will run at once (two on two cores are slower than one). A formula
per step scales them to the build. Rates are kept in the user's cache and do not enter the build.
"""

from __future__ import annotations

import math
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from cgbench import __version__
from cgbench.benchmark.candidates.amounts import parse_amount, resolve_amount
from cgbench.benchmark.candidates.uncertainty import measure_with, search_settings, shard_needs, shard_size
from cgbench.benchmark.react.plan import Plan
from cgbench.benchmark.react.request import SIDES, BuildRequest
from cgbench.engines import Engine, Needs
from cgbench.errors import InputError
from cgbench.files import cache_folder, read_json, write_json
from cgbench.machine import host, usable_cores
from cgbench.models.checkpoints import member_folders
from cgbench.models.config.architectures import ProtoTransformerConfig
from cgbench.models.config.methods import BowConfig
from cgbench.models.config.presets import Preset, load_preset
from cgbench.models.training.ensemble import member_needs
from cgbench.progress import working
from cgbench.steps import Step, Workspace, hash_value
from cgbench.tables import render
from cgbench.text.corpus import PlannedText
from cgbench.text.formats import Pair, read_pairs
from cgbench.text.normalisation import normalise_pairs
from cgbench.text.plain_text import words_of

DAY = 24 * 3600.0
READ, SAMPLE = 1 << 17, 1 << 15  # pairs of a text to read, and the maximum size of the sample of these
TRANSLATED = 32  # candidates to translate and score
ROW = 1000  # bytes for the measures of a candidate
PAIR = 700  # bytes for a pair of short sentences in a training process, in addition to its text
STATE = 3  # size of a training state in models: parameters and two moments
CHUNKS = 5  # memory of a scan thread, in chunks
Rates = dict[str, float]


@dataclass(frozen=True)
class Cost:
    """The cost of a step: seconds (None: not estimated), bytes of memory at its peak, bytes on disk.

    ``kept``: it is done; ``without``: what the seconds do not include.
    """

    step: str
    seconds: float | None
    memory: float = 0.0
    disk: float = 0.0
    kept: bool = False
    without: str = ""


@dataclass(frozen=True)
class Forecast:
    """The costs of the steps of a build in order, with advice if they are too high for the machine."""

    costs: tuple[Cost, ...]
    advice: str | None = None

    @property
    def whole(self) -> Cost:
        """The total of all steps: time, disk, and the peak of memory."""
        partly = any(cost.seconds is None or cost.without for cost in self.costs)
        seconds, disk = sum(cost.seconds or 0.0 for cost in self.costs), sum(cost.disk for cost in self.costs)
        memory = max((cost.memory for cost in self.costs), default=0.0)
        return Cost("total of estimated steps" if partly else "total", seconds, memory, disk)

    def as_dict(self) -> dict[str, Any]:
        """The total and the steps as JSON."""
        whole = {name: round(getattr(self.whole, name)) for name in ("seconds", "memory", "disk")}
        return {**whole, "steps": [asdict(cost) for cost in self.costs]}

    def __str__(self) -> str:
        rows = [
            (
                cost.step + (f" (without {cost.without})" if cost.without else ""),
                "kept" if cost.kept else "not estimated" if cost.seconds is None else duration(cost.seconds),
                size(cost.memory) if cost.memory else "",
                size(cost.disk) if cost.disk else "",
            )
            for cost in (*self.costs, self.whole)
        ]
        return render(("about", "time", "memory", "disk"), rows)


def estimates_wanted() -> bool:
    """Whether commands estimate the cost of a build, which takes seconds: not with ``CGBENCH_ESTIMATE=0``."""
    return os.environ.get("CGBENCH_ESTIMATE") != "0"


def duration(seconds: float) -> str:
    """``40 seconds``, ``3 minutes``, ``7.5 hours``, ``31 days``: rounded for an estimate."""
    for unit, length in (("day", DAY), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 1.5 * length:
            value = seconds / length
            return f"{value:.1f} {unit}s" if value < 10 and length >= 3600 else f"{value:,.0f} {unit}s"
    return f"{max(1, round(seconds))} second{'s' if round(seconds) > 1 else ''}"


def size(count: float) -> str:
    """``12 MB``, ``3.4 GB``."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(1, round(count / 1e6)):,} MB"


def forecast(plan: Plan, workspace: Workspace, engine: Engine) -> Forecast | None:
    """The estimated cost of the steps of ``plan`` on this machine; None if all are done.

    Perplexity and external models are not estimated, because that would mean loading them.
    """
    texts, ensemble = (plan.train, *plan.pools, *plan.exclude), plan.ensemble
    members = list(ensemble.members) if ensemble else []
    groups: dict[str, list[Step | None]] = {
        "texts": [text.step for text in texts],
        "known-ngrams": [plan.ngrams],
        "scan": [*plan.scans],
        "candidates": [plan.candidates],
        "perplexity": [plan.perplexity],
        "subwords": [step for step in ensemble.steps if step not in members] if ensemble else [],
        "members": [*members],
        "uncertainty": [plan.uncertainty],
        "reverse": [plan.reverse],
    }
    there = {name: kept for name, steps in groups.items() if (kept := [step for step in steps if step])}
    left = {name: [step for step in steps if not workspace.done(step)] for name, steps in there.items()}
    if not any(left.values()):
        return None
    found = formulas(plan, engine, kept_rates(plan, engine), len(left.get("members", ())) or len(members))
    costs = Forecast(tuple(found[name] if left[name] else Cost(name, 0.0, kept=True) for name in there))
    if plan.device != "cpu" or (seconds := costs.whole.seconds or 0.0) <= DAY:
        return costs
    advice = f"this build will take about {duration(seconds)} on {engine.jobs} CPU cores"
    return replace(costs, advice=f"{advice}; a GPU (--device cuda), --preset small or fewer --members take less")


def formulas(plan: Plan, engine: Engine, r: Rates, left: int) -> dict[str, Cost]:
    """The cost of each group of steps, if all of them have to run.

    :param r: of :func:`measure_rates`; ``left``: the number of members to train.
    """
    from cgbench.benchmark.candidates.scan import CHUNK
    from cgbench.benchmark.known_ngrams.known import BYTES_A_WORD

    config, cores, train_pairs, train_bytes = plan.request, engine.jobs, round(r["train_pairs"]), r["train_bytes"]
    whole = round(r["pool_pairs"] * r["kept"])
    candidates = min(resolve_amount("candidates", config.candidates, whole), whole)
    read = train_bytes + r["pool_bytes"] + r["exclude_bytes"]
    pairs = train_pairs + r["pool_pairs"] + r["exclude_pairs"]
    learn = train_bytes * r["learn"], train_bytes * r["words"] * BYTES_A_WORD, train_bytes * r["ngrams"]
    costs = [
        Cost("texts", pairs * r["normalise"] / cores, disk=read),
        Cost("known-ngrams", *learn),
        Cost("scan", r["pool_bytes"] * r["scan"] / cores, CHUNKS * CHUNK * cores, r["pool_bytes"] * r["rows"]),
        Cost("candidates", read * r["scan"], disk=candidates * r["pool_bytes"] / max(1, r["pool_pairs"])),
        *(Cost(step, None, disk=8.0 * candidates) for step in ("perplexity", "uncertainty", "reverse")),
    ]
    if "candidate" in r:
        shard = shard_size(candidates)
        shards = math.ceil(candidates / shard)
        at_once = max(1, min(engine.at_once(shard_needs(plan.device), 1 << 20), shards))
        scored = math.ceil(shards / at_once) * min(shard, candidates) * r["candidate"]
        # The reverse direction takes less: nothing is translated.
        back = len(member_folders(plan.inputs.reverse)) / config.members if plan.inputs.reverse else 0.0
        costs.append(Cost("uncertainty", scored, at_once * r["memory"], candidates * ROW))
        costs.append(Cost("reverse", scored * back, at_once * r["memory"], 40.0 * candidates))
    if "update" in r:
        preset = preset_of(config)
        training = preset.training
        held_out = resolve_amount("valid", config.valid, train_pairs) if parse_amount("valid", config.valid) else 0
        an_epoch = max(1.0, (train_pairs - held_out) / r["pairs"])
        first = preset.method.epochs * an_epoch if isinstance(preset.method, BowConfig) else 0.0
        every = training.validate_every_epochs * an_epoch or training.validate_every
        validation = held_out * r["update"] / r["pairs"] / 3  # a forward pass is a third of an update
        if training.validate_metric == "consistency":
            validation *= 3  # two more forward passes
        elif training.validate_metric != "loss":
            decoded = min(held_out, training.validate_sentences or held_out)
            validation += decoded * r["candidate"] / config.members * training.validate_beam / config.beam
        validations = math.ceil(training.max_updates / every) if held_out else 0
        one = r["start"] + (training.max_updates + first) * r["update"] + validations * validation
        at_once = max(1, min(members_at_once(plan, engine)[0], left))
        copies = 1 + STATE + (bool(held_out) and training.keep == "best")
        disk = left * r["model"] * copies + (train_bytes if held_out else 0)
        memory = at_once * (r["memory"] + train_bytes + PAIR * train_pairs)
        without = "clustering prototypes" if isinstance(preset.model, ProtoTransformerConfig) else ""
        costs.append(Cost("subwords", train_pairs * r["subwords"], disk=1e6))
        costs.append(Cost("members", math.ceil(left / at_once) * one, memory, disk, without=without))
    return {cost.step: cost for cost in costs}


def preset_of(config: BuildRequest) -> Preset:
    """The model preset of the members."""
    return load_preset(config.model).replace(config.model_settings)


def members_at_once(plan: Plan, engine: Engine) -> tuple[int, Needs]:
    """The number of members trained at once (or of shards scored, without training), and the resources of each."""
    if plan.inputs.ensemble:
        return engine.at_once(shard_needs(plan.device), plan.request.members), shard_needs(plan.device)
    together = plan.ensemble.processes if plan.ensemble else 1
    return engine.at_once(member_needs(plan.device, together), plan.request.members), member_needs(plan.device)


def kept_rates(plan: Plan, engine: Engine) -> Rates:
    """:func:`measure_rates`, cached for this machine, these texts and settings."""
    texts = [text.identity for text in (plan.train, *plan.pools, *plan.exclude)]
    settings = [
        plan.request.until,
        plan.device,
        str(plan.inputs.ensemble),
        len(plan.inputs.members),
        plan.request.as_dict(),
    ]
    machine = [__version__, host(), platform.processor(), usable_cores(), engine.name, engine.jobs]
    path = cache_folder("rates") / f"{hash_value([texts, settings, machine])[:16]}.json"
    try:
        return {str(name): float(value) for name, value in read_json(path).items()}
    except (InputError, ValueError, TypeError, AttributeError):
        pass
    with working("timing this machine, to estimate the cost of the build"):
        rates = measure_rates(plan, engine)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, rates)
    except OSError:
        pass  # timed again next time
    return rates


def measure_rates(plan: Plan, engine: Engine) -> Rates:
    """Sizes of the texts, and the cost of a byte, a pair, an update or a candidate, by name."""
    rates: Rates = {"normalise": 0.0}
    samples: dict[str, list[Pair]] = {}
    for role, texts in (("train", [plan.train]), ("pool", plan.pools), ("exclude", plan.exclude)):
        sampled = [_sample(text) for text in texts]
        rates |= {f"{role}_pairs": sum(one[0] for one in sampled), f"{role}_bytes": sum(one[1] for one in sampled)}
        rates["normalise"] = max([rates["normalise"], *(one[2] for one in sampled)])
        samples[role] = [pair for one in sampled for pair in one[3][:: len(texts)]]
    with tempfile.TemporaryDirectory() as folder:
        rates |= _time_scan(plan.request, samples["train"], samples["pool"], Path(folder))
    if plan.request.until != "candidates" and not plan.inputs.members:
        workers, needs = members_at_once(plan, engine)
        job = plan.request, plan.inputs.ensemble, samples["train"], samples["pool"], plan.device
        found = list(engine.run(_time_models, [job] * workers, needs))
        rates |= {name: sum(each[name] for each in found) / workers for name in found[0]}
    return rates


def _sample(text: PlannedText) -> tuple[int, int, float, list[Pair]]:
    """Pairs and bytes of a text (estimates, if compressed); seconds to normalise a pair; a normalised sample."""
    read = list(islice(read_pairs(text.spec), READ))
    pairs, count = len(read), sum(len(side.encode()) + 1 for pair in read for side in pair)
    if text.plain:
        pairs, count = text.plain.lines, text.plain.source.bytes + text.plain.target.bytes
    elif pairs == READ:
        packed = any(path.suffix in (".gz", ".zst", ".parquet") for path in text.spec.files)
        times = max(1.0, sum(path.stat().st_size for path in text.spec.files) * (3 if packed else 1) / count)
        pairs, count = round(pairs * times), round(count * times)
    sample = read[:: -(-len(read) // SAMPLE) or 1]
    if text.normalisation.is_identity:
        return pairs, count, 0.0, sample
    began = time.monotonic()
    found = list(normalise_pairs(iter(sample[: SAMPLE // 8]), text.normalisation, str(text.spec)))
    return pairs, count, (time.monotonic() - began) / max(1, len(found)), found


def _write(folder: Path, name: str, pairs: Sequence[Pair]) -> tuple[Path, Path]:
    paths = folder / f"{name}.source", folder / f"{name}.target"
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return paths


def _time_scan(config: BuildRequest, train: Sequence[Pair], pool: Sequence[Pair], folder: Path) -> Rates:
    from cgbench.benchmark.candidates.scan import Scan, scan
    from cgbench.benchmark.known_ngrams.known import learn_sides
    from cgbench.text.corpus import index_pair

    side = SIDES.index(config.degree_side)
    files, pools, rows = _write(folder, "train", train), _write(folder, "pool", pool), folder / "rows"
    least, sides = (config.ngram_min_count, config.word_min_count), (config.degree_side, config.filter_sides)
    indexed = index_pair(*pools)
    for number in range(2):  # the first run loads the compiled loops
        (rows / str(number)).mkdir(parents=True)
        began = time.monotonic()
        ngrams, others = learn_sides(files[side], files[1 - side], min_count=least[0], word_min_count=least[1])
        learned = time.monotonic()
        counts = scan(Scan(indexed, 0, ngrams, others, *sides), rows / str(number))
        ended = time.monotonic()
    ngrams.save(folder / "ngrams")
    most = config.max_length or sys.maxsize
    kept = sum(count for length, count in counts["lengths"].items() if config.min_length <= int(length) <= most)
    of_train, of_pool, of_ngrams, of_rows = map(
        _bytes, (files, pools, (folder / "ngrams").iterdir(), (rows / "1").iterdir())
    )
    return {
        "learn": (learned - began) / of_train,
        "ngrams": of_ngrams / of_train,
        "scan": (ended - learned) / of_pool,
        "rows": of_rows / of_pool,
        "kept": kept / len(pool),
        "words": sum(len(words_of(pair[side])) for pair in train) / of_train,
    }


def _bytes(paths: Any) -> int:
    return sum(path.stat().st_size for path in paths)


def _time_models(
    config: BuildRequest, ensemble: Path | None, train: Sequence[Pair], pool: Sequence[Pair], device: str
) -> Rates:
    """The cost of models in this process: subwords, an update, a translated and scored candidate."""
    from cgbench.models.ensemble import Ensemble
    from cgbench.models.text.subwords import Subwords
    from cgbench.models.training.timing import time_updates

    found: Rates = {}
    limits = search_settings(config.as_dict())
    with tempfile.TemporaryDirectory() as name:
        folder, times = Path(name), 1.0
        if ensemble is not None:
            opened = Ensemble.open(member_folders(ensemble), device)
        else:
            preset = preset_of(config)
            files = _write(folder, "text", train)
            began = time.monotonic()
            subwords = Subwords.learn(*files, preset.text)
            found["subwords"] = (time.monotonic() - began) / len(train)
            found["start"], found["update"] = time_updates(files, subwords, preset, folder, device)
            lengths = [
                sum(map(len, encode(side)))
                for encode, side in zip(
                    (subwords.encode_source, subwords.encode_target), zip(*train, strict=True), strict=True
                )
            ]
            tokens = preset.training.max_tokens * len(train) / max(1, lengths[1])
            found["pairs"] = preset.training.accumulation * (preset.training.batch_sentences or tokens)
            found["model"] = (folder / "2" / "model.safetensors").stat().st_size
            # At most two copies of the model are timed; more take proportionally longer.
            few = min(config.members, 2)
            opened, times = Ensemble.open([folder / "2"] * few, device), config.members / few
            # A trained model ends its translations by itself; this one is stopped at a typical length.
            limits |= {"max_length_ratio": lengths[1] / lengths[0], "max_length_extra": 1}
        units = opened.lengths([source for source, _ in pool])
        rows = np.argsort(abs(units - units.mean()), kind="stable")[:TRANSLATED].tolist()
        for some in (rows[:2], rows):  # the first run allocates memory and fills caches
            began = time.monotonic()
            measure_with(opened, *([pool[row][side] for row in some] for side in (0, 1)), beam=config.beam, **limits)
        found["candidate"] = (time.monotonic() - began) / len(rows) * times
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found | {"memory": peak * (1 if sys.platform == "darwin" else 1024)}
