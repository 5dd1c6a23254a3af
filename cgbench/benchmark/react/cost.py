"""How long a planned build takes on this machine: two timed samples, and one formula per step."""

from __future__ import annotations

import contextlib
import io
import math
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from cgbench.benchmark.candidates.amounts import resolve_amount
from cgbench.benchmark.candidates.uncertainty import measure_with, search_settings, shard_needs, shard_size
from cgbench.benchmark.react.plan import Plan
from cgbench.benchmark.react.request import BuildRequest
from cgbench.engines import Engine
from cgbench.models.checkpoints import member_folders
from cgbench.models.config.methods import BowConfig, MethodConfig
from cgbench.models.config.presets import Preset, load_preset
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.ensemble import member_needs
from cgbench.steps import Step, Workspace
from cgbench.tables import render
from cgbench.text.corpus import PlannedText
from cgbench.text.formats import read_pairs
from cgbench.text.normalisation import normalise_pairs

DAY = 24 * 3600.0
SAMPLE, TRANSLATED = 1 << 14, 16  # pairs of the sample of each text, and candidates of the sample of translations
PACKED = 3  # bytes of text per byte of a compressed file
# A high learning rate from the first update on would end some runs with a gradient that is not finite.
STILL = {"learning_rate": 1e-6, "schedule": "constant", "warmup_updates": 0, "patience": 0}
Texts = tuple[Path, Path]


@dataclass(frozen=True)
class Forecast:
    """Seconds of each unfinished step, in order (None: not estimated), with advice if they are too many."""

    steps: dict[str, float | None]
    advice: str | None = None

    @property
    def seconds(self) -> float:
        """The sum over all estimated steps."""
        return sum(seconds or 0.0 for seconds in self.steps.values())

    def __str__(self) -> str:
        rows = {**self.steps, "total": self.seconds}.items()
        return render(("about", "time"), [(step, "not estimated" if s is None else duration(s)) for step, s in rows])


def estimates_wanted() -> bool:
    """Whether commands estimate times, which takes seconds: not with ``CGBENCH_ESTIMATE=0``."""
    return os.environ.get("CGBENCH_ESTIMATE") != "0"


def duration(seconds: float) -> str:
    """``40 seconds``, ``3 minutes``, ``7.5 hours``, ``31 days``: rounded for an estimate."""
    for unit, length in (("day", DAY), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 1.5 * length:
            value = seconds / length
            return f"{value:.1f} {unit}s" if value < 10 and length >= 3600 else f"{value:,.0f} {unit}s"
    return f"{max(1, round(seconds))} second{'s' if round(seconds) > 1 else ''}"


def forecast(plan: Plan, workspace: Workspace, engine: Engine) -> Forecast | None:
    """The estimated time of each unfinished step of ``plan`` on this machine; None if all are done.

    Not included: validation, the first stage of bag-of-words pre-training, and the clustering of prototypes.
    """
    request, members = plan.request, plan.ensemble.members if plan.ensemble else ()
    groups: dict[str, Sequence[Step | None]] = {
        "known-ngrams": [plan.ngrams],
        "scan": plan.scans,
        "candidates": [plan.candidates],
        "perplexity": [plan.perplexity],
        "members": members,
        "uncertainty": [plan.uncertainty],
        "reverse": [plan.reverse],
    }
    left = {step: sum(not workspace.done(each) for each in steps if each) for step, steps in groups.items()}
    if not any(left.values()):
        return None
    times: dict[str, float | None] = dict.fromkeys(left)
    with tempfile.TemporaryDirectory() as name:
        # Sample 1: the text, per byte.
        train, train_bytes, _ = _sample([plan.train], Path(name, "train"))
        pool, pool_bytes, pool_pairs = _sample(plan.pools, Path(name, "pool"))
        learn, scan = _time_text(plan, train, pool, Path(name))
        times["known-ngrams"], times["scan"] = train_bytes * learn, pool_bytes * scan / engine.jobs
        times["candidates"] = (train_bytes + pool_bytes) * scan
        # Sample 2: the model, in as many processes as the build uses. Two on two cores are slower than one.
        if (left["members"] or left["uncertainty"]) and not plan.inputs.members:
            needs = member_needs(plan.device, plan.ensemble.processes) if plan.ensemble else shard_needs(plan.device)
            workers = engine.at_once(needs, left["members"] or request.members)
            job = request, plan.inputs.ensemble, train, pool, plan.device
            samples = list(engine.run(_time_model, [job] * workers, needs))
            member, candidate = (sum(seconds) / workers for seconds in zip(*samples, strict=True))
            times["members"] = math.ceil(left["members"] / workers) * member
            candidates = max(1, min(resolve_amount("candidates", request.filters.candidates, pool_pairs), pool_pairs))
            shard = min(shard_size(candidates), candidates)
            shards = math.ceil(candidates / shard)
            waves = math.ceil(shards / engine.at_once(shard_needs(plan.device), shards))
            times["uncertainty"] = waves * shard * candidate
    cost = Forecast({step: times[step] for step, count in left.items() if count})
    if plan.device != "cpu" or cost.seconds <= DAY:
        return cost
    advice = f"this build will take about {duration(cost.seconds)} on {engine.jobs} CPU cores"
    return Forecast(cost.steps, f"{advice}; a GPU (--device cuda), --preset small or fewer --members take less")


def _sample(texts: Sequence[PlannedText], folder: Path) -> tuple[Texts, int, int]:
    """The files of normalised pairs from the beginning of texts, and the approximate bytes and pairs of the texts."""
    folder.mkdir()
    paths, pairs = (folder / "source", folder / "target"), []
    for text in texts:
        lines = read_pairs(text.spec)
        pairs += list(islice(normalise_pairs(lines, text.normalisation, str(text.spec)), SAMPLE // len(texts)))
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    files = {path for text in texts for path in text.spec.files}
    packed = (".gz", ".zst", ".parquet")
    size = sum(path.stat().st_size * (PACKED if path.suffix in packed else 1) for path in files)
    return paths, size, round(size / max(1, _bytes(paths)) * len(pairs))


def _bytes(files: Sequence[Path]) -> int:
    return sum(path.stat().st_size for path in files)


def _time_text(plan: Plan, train: Texts, pool: Texts, folder: Path) -> tuple[float, float]:
    """Seconds per byte to learn known n-grams, and to scan a pool."""
    from cgbench.benchmark.candidates.scan import Scan, scan
    from cgbench.benchmark.known_ngrams.known import learn_sides
    from cgbench.text.corpus import index_pair

    filters, pairs = plan.request.filters, index_pair(*pool)
    files = train if filters.degree_side == "source" else train[::-1]
    for run in ("first", "second"):  # the first loads compiled code
        (folder / run).mkdir()
        began = time.monotonic()
        ngrams, others = learn_sides(*files, min_count=filters.ngram_min_count, word_min_count=filters.word_min_count)
        learned = time.monotonic()
        scan(Scan(pairs, 0, ngrams, others, filters.degree_side, filters.filter_sides), folder / run)
    return (learned - began) / _bytes(files), (time.monotonic() - learned) / max(1, _bytes(pool))


def _time_model(
    request: BuildRequest, trained: Path | None, train: Texts, pool: Texts, device: str
) -> tuple[float, float]:
    """Seconds to train a member (0 for a trained ensemble), and to translate and score a candidate with all members."""
    from cgbench.models.ensemble import Ensemble

    limits = search_settings(request.as_dict())
    sources, targets = (path.read_text(encoding="utf-8").splitlines()[:TRANSLATED] for path in pool)
    with tempfile.TemporaryDirectory() as name:
        if trained:
            seconds, copies = 0.0, 1.0
            ensemble = Ensemble.open(member_folders(trained), device)
        else:
            preset = load_preset(request.model).replace(request.model_settings)
            subwords = Subwords.learn(*train, preset.text)
            seconds = training_time(train, subwords, preset, Path(name), device)
            # Two copies of the model are timed; more take proportionally longer. Unlike an untrained model, a trained
            # one ends its translations by itself.
            ensemble, copies = Ensemble.open([Path(name, "2")] * 2, device), request.members / 2
            limits |= {"max_length_ratio": 1.0, "max_length_extra": 1}
        for count in (2, TRANSLATED):  # the first allocates memory
            began = time.monotonic()
            measure_with(ensemble, sources[:count], targets[:count], beam=request.ensemble_options.beam, **limits)
        return seconds, (time.monotonic() - began) / max(1, len(sources)) * copies


def training_time(files: Texts, subwords: Subwords, preset: Preset, folder: Path, device: str, **inputs: Any) -> float:
    """Seconds to train ``preset`` to its last update, from some updates without validation.

    :param folder: an empty folder; afterwards ``folder/"2"`` is a model after two updates.
    :param inputs: further arguments of :func:`~cgbench.models.training.trainer.train_model`.
    """
    from cgbench.models.training.trainer import train_model

    method = MethodConfig() if isinstance(preset.method, BowConfig) else preset.method  # has a first stage

    def spent(updates: int) -> float:
        """The seconds of a run with this number of updates."""
        values = {f"training.{name}": value for name, value in (STILL | {"max_updates": updates}).items()}
        short = replace(preset, method=method).replace(values)
        began = time.monotonic()
        with contextlib.redirect_stderr(io.StringIO()):  # hides its progress bars
            train_model(files, None, subwords, short, 1, folder / str(updates), device, keep_state=False, **inputs)
        return time.monotonic() - began

    spent(1)  # allocate memory, compile loops
    base, more = spent(2), 2
    while (seconds := spent(2 + more) - base) < 1.0 and more < 1000:
        more *= 4
    return max(0.0, base + (preset.training.max_updates - 2) * max(1e-5, seconds / more))
