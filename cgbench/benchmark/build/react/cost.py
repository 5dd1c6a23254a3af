"""How long a planned build takes on this machine: two timed samples, and one formula per step."""

import contextlib
import io
import math
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from cgbench.benchmark.build.react.build_plan import Plan
from cgbench.benchmark.candidates.amounts import resolve_amount
from cgbench.benchmark.candidates.pool_scan import Scan, scan
from cgbench.benchmark.candidates.uncertainty import measure_sources, open_ensemble, shard_needs
from cgbench.benchmark.measure.known_ngrams.known import learn_sides
from cgbench.engines import Engine
from cgbench.errors import argument, warn
from cgbench.models.checkpoints import member_folders
from cgbench.models.config.methods import MethodConfig
from cgbench.models.config.presets import Preset, load_preset
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.ensemble_training import member_needs
from cgbench.steps import Step, Workspace
from cgbench.text.corpus import PlannedText, index_pair
from cgbench.text.formats import read_pairs
from cgbench.text.normalisation import normalise_pairs

DAY = 24 * 3600.0
SAMPLE, TRAINED, TRANSLATED = (
    1 << 14,
    2_000,
    16,
)  # pairs of each sample: of a text, of training, of translations
PACKED = {".gz": 3, ".zst": 3, ".parquet": 3}  # bytes of text per byte of a compressed file
# A high learning rate from the first update on would end some runs with a gradient that is not
# finite.
STILL = {"learning_rate": 1e-6, "schedule": "constant", "warmup_updates": 0, "patience": 0}
Texts = tuple[Path, Path]


def forecast(plan: Plan, workspace: Workspace, engine: Engine) -> dict[str, float | None]:
    """The estimated seconds of the unfinished steps of ``plan``; empty if all are done, or with
    ``CGBENCH_ESTIMATE=0``.

    None: not estimated (perplexity, reverse-direction ensembles, external models). Not included:
    validation, methods of training, and the clustering of prototypes. A CPU build of more than a
    day gives a warning.
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
        return {}
    with tempfile.TemporaryDirectory() as name:
        # Sample 1: the text.
        train, train_samples, _ = _sample([plan.train], Path(name, "train"))
        pool, pool_samples, pool_pairs = _sample(plan.pools, Path(name, "pool"))
        learn, scan = _time_text(plan, train, pool, Path(name))
        times = {"known-ngrams": train_samples * learn, "scan": pool_samples * scan / engine.jobs}
        times["candidates"] = (train_samples + pool_samples) * scan
        # Sample 2: the model, in as many processes as the build uses. Two on two cores are slower
        # than one.
        if (unfinished["members"] or unfinished["uncertainty"]) and not plan.inputs.members:
            shards = shard_needs(plan.device)
            needs = member_needs(plan.device, plan.ensemble.processes) if plan.ensemble else shards
            workers = engine.at_once(needs, unfinished["members"] or plan.request.members)
            samples = list(engine.run(_time_model, [(plan, train, pool)] * workers, needs))
            member, candidate = (sum(seconds) / workers for seconds in zip(*samples, strict=True))
            times["members"] = math.ceil(unfinished["members"] / workers) * member
            candidates = min(
                resolve_amount("candidates", plan.request.filters.candidates, pool_pairs),
                pool_pairs,
            )
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
    return estimates


def _sample(texts: Sequence[PlannedText], folder: Path) -> tuple[Texts, float, int]:
    """Files of normalised pairs from the beginning of texts; how many such samples, and pairs, the
    texts have.
    """
    folder.mkdir()
    paths, pairs = (folder / "source", folder / "target"), []
    for text in texts:
        lines = read_pairs(text.spec)
        pairs += list(
            islice(normalise_pairs(lines, text.normalisation, str(text.spec)), SAMPLE // len(texts))
        )
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    files = {path for text in texts for path in text.spec.files}
    text_bytes = sum(path.stat().st_size * PACKED.get(path.suffix, 1) for path in files)
    samples = text_bytes / max(1, sum(path.stat().st_size for path in paths))
    return paths, samples, round(samples * len(pairs))


def _time_text(plan: Plan, train: Texts, pool: Texts, folder: Path) -> tuple[float, float]:
    """Seconds to learn the known n-grams of a sample, and to scan one."""
    filters, pairs = plan.request.filters, index_pair(*pool)
    files = train if filters.degree_side == "source" else train[::-1]
    for run in ("first", "second"):  # the first loads compiled code
        (folder / run).mkdir()
        began = time.monotonic()
        ngrams, words = learn_sides(
            *files, min_count=filters.ngram_min_count, word_min_count=filters.word_min_count
        )
        learned = time.monotonic()
        scan(Scan(pairs, 0, ngrams, words, filters.degree_side, filters.filter_sides), folder / run)
    return learned - began, time.monotonic() - learned


def _time_model(plan: Plan, train: Texts, pool: Texts) -> tuple[float, float]:
    """Seconds to train a member (0 for a trained ensemble), and to translate and score a candidate
    with all members.
    """
    request, seconds, copies = plan.request, 0.0, 1.0
    search = request.ensemble_options.search
    sources, targets = (path.read_text(encoding="utf-8").splitlines()[:TRANSLATED] for path in pool)
    with tempfile.TemporaryDirectory() as name:
        if plan.inputs.ensemble:
            folders = member_folders(plan.inputs.ensemble)
        else:
            preset = load_preset(request.model).replace(request.model_settings)
            seconds = _time_training(train, preset, Path(name), plan.device)
            # Two copies of the model are timed; more take proportionally longer. Unlike an
            # untrained model, a trained one ends its translations by itself.
            folders, copies = [Path(name, "1")] * 2, request.members / 2
            search |= {"max_length_ratio": 1.0, "max_length_extra": 1}
        for count in (2, TRANSLATED):  # the first loads the members and allocates memory
            began = time.monotonic()
            measure_sources(folders, sources[:count], targets[:count], device=plan.device, **search)
        open_ensemble.cache_clear()
        return seconds, (time.monotonic() - began) / max(1, len(sources)) * copies


def _time_training(files: Texts, preset: Preset, folder: Path, device: str) -> float:
    """Seconds to train ``preset`` to its last update, without validation; ``folder/"1"`` is then a
    model.
    """
    from cgbench.models.training.trainer import train_model

    subwords, plain = Subwords.learn(*files, preset.text), replace(preset, method=MethodConfig())
    fewer = (folder / "source", folder / "target")  # every run encodes them
    for path, beginning in zip(files, fewer, strict=True):
        with path.open("rb") as file:
            beginning.write_bytes(b"".join(islice(file, TRAINED)))

    def spent(updates: int) -> float:
        short = plain.replace(
            {
                f"training.{name}": value
                for name, value in (STILL | {"max_updates": updates}).items()
            }
        )
        began = time.monotonic()
        with contextlib.redirect_stderr(io.StringIO()):  # hides its progress bars
            train_model(
                fewer, None, subwords, short, 1, folder / str(updates), device, keep_state=False
            )
        return time.monotonic() - began

    spent(1)  # allocate memory, compile loops
    shutil.rmtree(folder / "1")
    base, updates = spent(1), 2
    while (seconds := spent(1 + updates) - base) < 1.0 and updates < 1000:
        updates *= 4
    return max(0.0, base + (preset.training.max_updates - 1) * max(1e-5, seconds / updates))
