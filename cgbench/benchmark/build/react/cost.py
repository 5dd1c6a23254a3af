"""What a planned build will give, and how long it takes on this machine.

Samples of the texts are filtered and cut as the build will do it, which gives the number of
candidates and test pairs before anything is trained. Their times, and those of a model that is
trained for a few updates, give the time of each step.
"""

import contextlib
import io
import math
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from cgbench.benchmark.build.react.build_plan import Plan
from cgbench.benchmark.build.react.checks import check_enough, size_warnings
from cgbench.benchmark.candidates.amounts import resolve_amount
from cgbench.benchmark.candidates.cut import Bounds, count_lengths, cut, scan_parts
from cgbench.benchmark.candidates.pool_scan import Scan, scan
from cgbench.benchmark.candidates.selection import selection_sizes
from cgbench.benchmark.candidates.uncertainty import measure_sources, open_ensemble, shard_needs
from cgbench.benchmark.measure.known_ngrams.known import learn_sides
from cgbench.engines import Engine
from cgbench.errors import InputError, argument, warn
from cgbench.models.checkpoints import member_folders
from cgbench.models.config.methods import MethodConfig
from cgbench.models.config.presets import Preset, load_preset
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.ensemble_training import member_needs
from cgbench.steps import Step, Workspace
from cgbench.text.corpus import ParallelText, PlannedText, index_pair
from cgbench.text.formats import read_pairs
from cgbench.text.normalisation import normalise_pairs
from cgbench.text.streams import COMPRESSED

DAY = 24 * 3600.0
READ = 200_000  # pairs at the beginning of a text, from which its sample is spread
KNOWN, POOL = 1 << 15, 1 << 12  # maximum pairs of the samples: of the training text, of the pool
FEW, TRANSLATED = 300, 16  # pairs that a timed model trains on, and translates
LEAST = 0.1  # seconds of the timed updates
BATCH = 1024  # maximum tokens of a timed update; an update takes time by its tokens
PACKED = dict.fromkeys((*COMPRESSED, ".parquet"), 3)  # bytes of text per byte of such a file
# A high learning rate from the first update on would end some runs with a gradient that is not
# finite.
STILL = {"learning_rate": 1e-6, "schedule": "constant", "warmup_updates": 0, "patience": 0}
Texts = tuple[Path, Path]


@dataclass(frozen=True)
class Forecast:
    """What is known of a build before it runs."""

    seconds: dict[str, float | None] = field(default_factory=dict)
    """The estimated seconds of the unfinished steps. None: not estimated (perplexity,
    reverse-direction ensembles, external models). On CPUs this is processor time, so that other
    work on the machine does not count.
    """
    counts: dict[str, int] = field(default_factory=dict)
    """The estimated number of pairs left at each stage, with ``test``: the size of the test set.
    Empty if the cut to the candidates is finished or is not estimated.
    """
    is_pool_estimated: bool = False
    """Whether the number of pairs in the pool is an estimate, as only its beginning was read."""

    @property
    def size(self) -> str:
        """The counts as a sentence; empty without them."""
        if not self.counts:
            return ""
        pool = self.counts["pool"]
        pairs = f"about {_rounded(pool):,}" if self.is_pool_estimated else f"{pool:,}"
        usable, candidates = (
            f"{_rounded(self.counts[name]):,}" for name in ("within_length", "candidates")
        )
        text = (
            f"of {pairs} pairs of the pool, about {usable} have known words and a permitted length;"
            f" {candidates} of these become candidates"
        )
        if "test" not in self.counts:
            return text
        return f"{text}, {_rounded(self.counts['test']):,} of them the test set"


def forecast(plan: Plan, workspace: Workspace, engine: Engine) -> Forecast:
    """What the unfinished steps of ``plan`` will give and take; empty if all are done, or with
    ``CGBENCH_ESTIMATE=0``.

    Not included in the times: validation, methods of training, and the clustering of prototypes. A
    CPU build of more than a day, and one that will stop for lack of pairs, give a warning.
    """
    groups: dict[str, Sequence[Step | None]] = {"known-ngrams": [plan.ngrams], "scan": plan.scans}
    groups |= {
        "candidates": [plan.candidates],
        "members": plan.ensemble.members if plan.ensemble else (),
    }
    groups |= {name: [getattr(plan, name)] for name in ("perplexity", "uncertainty", "reverse")}
    unfinished = {
        name: sum(not workspace.done(step) for step in steps if step)
        for name, steps in groups.items()
    }
    if not any(unfinished.values()) or os.environ.get("CGBENCH_ESTIMATE") == "0":
        return Forecast()
    with tempfile.TemporaryDirectory() as name:
        # Sample 1: the text, whose pairs are filtered and cut.
        train = _sample([plan.train], Path(name, "train"), KNOWN)
        pool = _sample(plan.pools, Path(name, "pool"), POOL)
        learn, scan, counts = _measure_text(plan, train, pool, Path(name))
        times = {"known-ngrams": train.times * learn, "scan": pool.times * scan / engine.jobs}
        times["candidates"] = (train.times + pool.times) * scan
        # With the candidates at hand, the build itself says whether they are enough.
        expected = {}
        if unfinished["candidates"] and not plan.inputs.known:
            expected = _expected(plan, counts, index_pair(*train.files))
        # Sample 2: the model.
        if (unfinished["members"] or unfinished["uncertainty"]) and not plan.inputs.members:
            shards = shard_needs(plan.device)
            needs = member_needs(plan.device, plan.ensemble.processes) if plan.ensemble else shards
            ((member, candidate),) = engine.run(_time_model, [(plan, train, pool)], needs)
            workers = engine.at_once(needs, unfinished["members"] or plan.request.members)
            times["members"] = math.ceil(unfinished["members"] / workers) * member
            candidates = counts["candidates"]
            times["uncertainty"] = (
                candidates * candidate / engine.at_once(shards, max(1, candidates))
            )
    estimates = {step: times.get(step) for step, count in unfinished.items() if count}
    if plan.device == "cpu" and (seconds := sum(filter(None, estimates.values()))) > 1.5 * DAY:
        text = f"this build will take about {seconds / DAY:,.0f} days on {engine.jobs} CPU cores"
        warn(
            f"{text}; a GPU ({argument('device', 'cuda')}), {argument('preset', 'small')} or fewer"
            f" {argument('members')} take less"
        )
    return Forecast(estimates, expected, not pool.is_complete)


def _expected(plan: Plan, counts: dict[str, int], train: ParallelText) -> dict[str, int]:
    """``counts`` with the size of the test set; warns of what the build will say for so few."""
    try:
        check_enough(plan.request, counts, train)
    except InputError as error:
        warn(f"this build will probably stop before it trains anything: {error.message}")
        return counts
    for line in size_warnings(plan.request, counts):
        warn(line)
    if plan.request.execution.until != "release":
        return counts
    sizes = selection_sizes(plan.request.as_dict(), counts["candidates"])
    return {**counts, "test": sizes["select"]}


def _rounded(count: int) -> int:
    """``count`` with three digits."""
    unit = 10 ** max(0, len(str(count)) - 3)
    return round(count / unit) * unit


@dataclass(frozen=True)
class Sample:
    """Files of normalised pairs, spread over the beginning of texts."""

    files: Texts
    pairs: int
    times: float
    """How many such samples the texts have."""
    is_complete: bool
    """Whether the texts were read to their ends, so that ``times`` is exact."""


def _sample(texts: Sequence[PlannedText], folder: Path, size: int) -> Sample:
    folder.mkdir()
    paths, pairs = (folder / "source", folder / "target"), []
    read, complete = 0, True
    for text in texts:
        lines = read_pairs(text.spec)
        beginning = list(islice(lines, READ // len(texts)))
        complete &= next(lines, None) is None
        read += len(beginning)
        count = min(len(beginning), size // len(texts))
        spread = (beginning[index * len(beginning) // count] for index in range(count))
        pairs += list(normalise_pairs(spread, text.normalisation, str(text.spec)))
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    if complete:
        return Sample(paths, len(pairs), read / max(1, len(pairs)), complete)
    # Of a longer text, the bytes tell how much of it there is.
    files = {path for text in texts for path in text.spec.files}
    text_bytes = sum(path.stat().st_size * PACKED.get(path.suffix, 1) for path in files)
    sample_bytes = sum(path.stat().st_size for path in paths)
    return Sample(paths, len(pairs), text_bytes / max(1, sample_bytes), complete)


def _beginnings(files: Texts, folder: Path) -> Texts:
    """The first :data:`FEW` lines of both files, in ``folder``."""
    folder.mkdir(exist_ok=True)
    source, target = folder / "source", folder / "target"
    for path, beginning in zip(files, (source, target), strict=True):
        with path.open("rb") as file:
            beginning.write_bytes(b"".join(islice(file, FEW)))
    return source, target


def _measure_text(
    plan: Plan, train: Sample, pool: Sample, folder: Path
) -> tuple[float, float, dict[str, int]]:
    """Seconds to learn the known n-grams of a sample, and to scan one; the number of pairs left at
    each stage.
    """
    filters, pairs = plan.request.filters, index_pair(*pool.files)
    files = train.files if filters.degree_side == "source" else train.files[::-1]
    sides = filters.degree_side, filters.filter_sides

    def learn_and_scan(text: Texts, corpus: ParallelText, out: Path) -> tuple[float, float, Any]:
        """Seconds to learn, seconds to scan, and the counts of the scan."""
        out.mkdir()
        began = _clock("cpu")
        ngrams, words = learn_sides(
            *text, min_count=filters.ngram_min_count, word_min_count=filters.word_min_count
        )
        learned = _clock("cpu")
        scanned = scan(Scan(corpus, 0, ngrams, words, *sides), out)
        return learned - began, _clock("cpu") - learned, scanned

    # A run on a few pairs loads compiled code.
    few = index_pair(*_beginnings(pool.files, folder / "few pool"))
    learn_and_scan(_beginnings(files, folder / "few train"), few, folder / "few")
    learning, scanning, scanned = learn_and_scan(files, pairs, folder / "scan")
    bounds = Bounds(filters.min_length, filters.max_length, filters.degree_side)
    lengths = count_lengths([scanned["lengths"]], bounds)
    # All that could be candidates, as the build would cut them.
    possible = cut(
        scan_parts([folder / "scan"]),
        (pairs,),
        size=lengths["within_length"],
        bounds=bounds,
        seed=plan.request.seed,
        seen=(index_pair(*train.files),),
    )
    counts = {
        "pool": scanned["pairs"],
        "empty": scanned["empty"],
        "rare_word": scanned["rare"],
        **lengths,
        **possible.counts,
    }
    counts = {name: round(count * pool.times) for name, count in counts.items()}
    size = resolve_amount("candidates", filters.candidates, counts["within_length"])
    counts["candidates"] = min(size, counts["candidates"])
    return learning, scanning, counts


def _clock(device: str) -> float:
    """Seconds: of the processor, which other work on the machine does not change; by the clock
    where a GPU works.
    """
    return time.process_time() if device == "cpu" else time.monotonic()


def _time_model(plan: Plan, train: Sample, pool: Sample) -> tuple[float, float]:
    """Seconds to train a member (0 for a trained ensemble), and to translate and score a candidate
    with all members.
    """
    request, seconds, copies = plan.request, 0.0, 1.0
    search = request.ensemble_options.search
    sources, targets = (
        path.read_text(encoding="utf-8").splitlines()[:TRANSLATED] for path in pool.files
    )
    with tempfile.TemporaryDirectory() as name:
        if plan.inputs.ensemble:
            folders = member_folders(plan.inputs.ensemble)
        else:
            preset = load_preset(request.model).replace(request.model_settings)
            seconds = _time_training(train.files, preset, Path(name), plan.device)
            # Two copies of the model are timed; more take proportionally longer. Unlike an
            # untrained model, a trained one ends its translations by itself.
            folders, copies = [Path(name, "1")] * 2, request.members / 2
            search = replace(search, max_length_ratio=1.0, max_length_extra=1)
        for count in (2, TRANSLATED):  # the first loads the members and allocates memory
            began = _clock(plan.device)
            pairs = (sources[:count], targets[:count])
            measure_sources(folders, *pairs, device=plan.device, search=search)
        open_ensemble.cache_clear()
        return seconds, (_clock(plan.device) - began) / max(1, len(sources)) * copies


def _time_training(files: Texts, preset: Preset, folder: Path, device: str) -> float:
    """Seconds to train ``preset`` to its last update, without validation; ``folder/"1"`` is then a
    model.
    """
    from cgbench.models.training.trainer import train_model

    # Updates of at most BATCH tokens are timed, and count by their tokens.
    training = preset.training
    batch, times = training.max_tokens, float(training.accumulation)
    if not training.batch_sentences and batch > BATCH:
        batch = max(BATCH, training.max_length)
        times *= training.max_tokens / batch
    subwords, plain = Subwords.learn(*files, preset.text), replace(preset, method=MethodConfig())
    fewer = _beginnings(files, folder)  # every run encodes them

    def spent(updates: int) -> float:
        settings = {**STILL, "max_updates": updates, "max_tokens": batch, "accumulation": 1}
        short = plain.replace({f"training.{name}": value for name, value in settings.items()})
        began = _clock(device)
        with contextlib.redirect_stderr(io.StringIO()):  # hides its progress bars
            train_model(
                fewer, None, subwords, short, 1, folder / str(updates), device, keep_state=False
            )
        return _clock(device) - began

    spent(1)  # allocate memory, compile loops
    shutil.rmtree(folder / "1")
    base, updates = spent(1), 2
    while (seconds := spent(1 + updates) - base) < LEAST and updates < 1000:
        updates *= 4
    update = max(1e-5, seconds / updates)
    return max(0.0, base + (training.max_updates - 1) * update * times)
