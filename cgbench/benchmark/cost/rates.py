"""What the parts of a build take on this machine, timed on a small sample of its texts: rates, and how large its texts
are. What they come to is :mod:`cgbench.benchmark.cost.estimate`'s business.

As many workers are timed side by side as the build will have: two members on two cores are slower than one. Rates are
kept in the user's cache, by machine, texts and settings; nothing of them goes into a build.
"""

from __future__ import annotations

import json
import platform
import resource
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from cgbench import __version__
from cgbench.benchmark.candidates.uncertainty import SHARD, measure_with, search_settings, shard_needs
from cgbench.benchmark.react.config import SIDES, ReactConfig
from cgbench.benchmark.react.plan import Plan
from cgbench.engines import Engine, Needs
from cgbench.errors import InputError
from cgbench.files import cache_folder, read_json, write_json
from cgbench.machine import host, usable_cores
from cgbench.models.checkpoints import member_folders
from cgbench.models.config.common import to_dict
from cgbench.models.config.presets import Preset, load_preset
from cgbench.models.training.ensemble import member_needs
from cgbench.progress import working
from cgbench.steps import hash_value
from cgbench.text.corpus import PlannedText
from cgbench.text.formats import Pair, read_pairs
from cgbench.text.normalisation import normalise_pairs
from cgbench.text.plain_text import words_of

Clock = Callable[[], float]

SECONDS = 3.0  # that each kind of work is timed for, if it can be stopped
READ = 1 << 17  # pairs of a text that are read
SAMPLE = 1 << 15  # of these, at most, are the sample
SEARCH_TOKENS = 1024  # of a batch, as Ensemble.search has them on a CPU


@dataclass(frozen=True)
class TextSize:
    """How large a text is: pairs, and bytes of both sides; of a compressed file or a table about so large."""

    pairs: int
    size: int


@dataclass(frozen=True)
class ModelRates:
    """What models take, each worker beside as many as the build has.

    :param subwords: seconds a training pair to learn subwords; ``encode``: to read and encode one.
    :param update: seconds of an update; ``pairs``: that it reads; ``first``: epochs of the method's stage before.
    :param parameters: numbers of a member.
    :param candidate: seconds to translate and score one; ``row``: bytes that its figures take.
    :param memory: bytes of a worker at its peak.
    """

    subwords: float = 0.0
    encode: float = 0.0
    update: float = 0.0
    pairs: float = 1.0
    first: int = 0
    parameters: int = 0
    candidate: float = 0.0
    row: float = 0.0
    memory: int = 0


@dataclass(frozen=True)
class Rates:
    """What the parts of a build take.

    :param normalise: seconds a pair.
    :param learn: seconds a byte of training text for known n-grams; ``ngrams``: bytes of their files for each.
    :param scan: seconds a byte of the pool; ``rows``: bytes of its rows for each.
    :param kept: share of the pool's pairs that have known words and a length within the bounds.
    :param words: of a byte of training text, on the side of the degree.
    :param start: seconds until a worker works.
    :param models: None where none is trained or asked, or where they are from outside.
    """

    normalise: float
    learn: float
    ngrams: float
    scan: float
    rows: float
    kept: float
    words: float
    start: float
    models: ModelRates | None


@dataclass(frozen=True)
class Texts:
    """The texts of a build, by what is done with them, and samples of two as they are after normalisation."""

    train: TextSize
    pool: TextSize
    exclude: TextSize
    train_sample: Sequence[Pair]
    pool_sample: Sequence[Pair]
    normalise: float  # seconds a pair


def look_at_texts(plan: Plan, clock: Clock = time.monotonic) -> Texts:
    """How large the texts of a build are, with samples."""
    train, train_sample, seconds = _look(plan.train, clock)
    pools = [_look(pool, clock) for pool in plan.pools]
    others = [_look(text, clock)[0] for text in plan.exclude]
    share = max(1, SAMPLE // len(pools))
    return Texts(
        train,
        _add(size for size, _, _ in pools),
        _add(others),
        train_sample,
        [pair for _, sample, _ in pools for pair in sample[:: -(-len(sample) // share) or 1]],
        max([seconds, *(each for _, _, each in pools)]),
    )


def _look(text: PlannedText, clock: Clock) -> tuple[TextSize, list[Pair], float]:
    """The size of a text, a sample of it, normalised, and what a pair of that takes."""
    read = list(islice(read_pairs(text.spec), READ))
    size = sum(len(side.encode()) + 1 for pair in read for side in pair)
    if text.plain:
        whole = TextSize(text.plain.lines, text.plain.source.bytes + text.plain.target.bytes)
    elif len(read) < READ:
        whole = TextSize(len(read), size)
    else:
        # As much longer as the files are, if they are packed as well as this begin would be.
        files = sum(path.stat().st_size for path in text.spec.files)
        packed = files < size or any(path.suffix in (".gz", ".zst", ".parquet") for path in text.spec.files)
        held = "\n".join(side for pair in read[: SAMPLE // 2] for side in pair).encode()
        ratio = len(zlib.compress(held)) / len(held) if packed else 1.0
        times = max(1.0, files / (size * ratio))
        whole = TextSize(round(len(read) * times), round(size * times))
    sample = read[:: -(-len(read) // SAMPLE) or 1]
    if text.normalisation.is_identity:
        return whole, sample, 0.0
    small = sample[: SAMPLE // 8]
    list(normalise_pairs(iter(small[:10]), text.normalisation, str(text.spec)))
    began = clock()
    found = list(normalise_pairs(iter(small), text.normalisation, str(text.spec)))
    return whole, found, (clock() - began) / max(1, len(small))


def _add(sizes: Iterable[TextSize]) -> TextSize:
    held = list(sizes)
    return TextSize(sum(size.pairs for size in held), sum(size.size for size in held))


def measure_rates(
    config: ReactConfig,
    plan: Plan,
    texts: Texts,
    engine: Engine,
    clock: Clock = time.monotonic,
    seconds: float = SECONDS,
) -> Rates:
    """Time the parts of a build with the settings ``config``, on the texts of ``plan``.

    :param seconds: for each part that can be stopped.
    """
    with tempfile.TemporaryDirectory() as folder:
        scanned = _time_scan(config, texts, Path(folder), clock)
    start, models = 0.0, None
    if times_models(plan):
        start, models = _time_workers(config, plan, texts, engine, clock, seconds)
    return Rates(normalise=texts.normalise, **scanned, start=start, models=models)


def _time_scan(config: ReactConfig, texts: Texts, folder: Path, clock: Clock) -> dict[str, float]:
    from cgbench.benchmark.candidates.scan import scan
    from cgbench.benchmark.known_ngrams.known import learn_sides
    from cgbench.text.corpus import index_pair

    def write(name: str, pairs: Sequence[Pair]) -> list[Path]:
        paths = [folder / f"{name}.{side}" for side in SIDES]
        for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return paths

    train, pool = (write(name, pairs) for name, pairs in (("train", texts.train_sample), ("pool", texts.pool_sample)))
    ours, other = train[:: -1 if config.degree_side == "target" else 1]
    indexed = index_pair(pool[0], pool[1])
    (folder / "rows").mkdir()
    spent: list[float] = []
    for _ in range(2):  # the first call loads the compiled loops
        began = clock()
        ngrams, others = learn_sides(
            ours, other, min_count=config.ngram_min_count, word_min_count=config.word_min_count
        )
        spent.append(clock() - began)
        for part in (folder / "rows").iterdir():
            part.unlink()
        began = clock()
        counts = scan(
            indexed,
            number=0,
            ngrams=ngrams,
            other_words=others,
            out=folder / "rows",
            degree_side=config.degree_side,
            filter_sides=config.filter_sides,
        )
        spent.append(clock() - began)
    ngrams.save(folder / "ngrams")
    most = config.max_length or sys.maxsize
    kept = sum(count for length, count in counts["lengths"].items() if config.min_length <= int(length) <= most)
    sizes = [sum(path.stat().st_size for path in paths) for paths in (train, pool)]
    written = [sum(path.stat().st_size for path in (folder / name).iterdir()) for name in ("ngrams", "rows")]
    words = sum(len(words_of(pair[config.degree_side == "target"])) for pair in texts.train_sample)
    return {
        "learn": spent[2] / sizes[0],
        "ngrams": written[0] / sizes[0],
        "scan": spent[3] / sizes[1],
        "rows": written[1] / sizes[1],
        "kept": kept / len(texts.pool_sample),
        "words": words / sizes[0],
    }


@dataclass(frozen=True)
class Job:
    """What a worker times: the training of a member of ``preset``, if there is one to train, and the uncertainty of
    ``candidates`` by that or by the members in ``ensemble``."""

    preset: Preset | None
    ensemble: Path | None
    pairs: Sequence[Pair]
    candidates: Sequence[Pair]
    members: int
    beam: int
    limits: dict[str, Any]
    device: str
    seconds: float


def _time_workers(
    config: ReactConfig, plan: Plan, texts: Texts, engine: Engine, clock: Clock, seconds: float
) -> tuple[float, ModelRates]:
    """Seconds until a worker works, and what it takes then: the mean over as many as the build has at once."""
    long = [pair for pair in texts.pool_sample if len(words_of(pair[1])) >= config.min_length] or texts.pool_sample
    job = Job(
        None if plan.inputs.ensemble else preset_of(config),
        plan.inputs.ensemble,
        texts.train_sample,
        long[:: -(-len(long) // SHARD)],
        config.members,
        config.beam,
        search_settings(config.as_dict()),
        plan.device,
        seconds,
    )
    workers, needs = members_at_once(config, plan, engine)
    began = clock()
    found = list(engine.run(time_models, [(job, clock)] * workers, needs))
    passed = clock() - began
    spent = [each for _, each in found]
    rates = [asdict(each) for each, _ in found]
    mean = {key: sum(each[key] for each in rates) / len(rates) for key in rates[0]}
    whole = {key: round(mean[key]) for key in ("first", "parameters", "memory")}
    return max(0.0, passed - max(spent)), ModelRates(**{**mean, **whole})


def members_at_once(config: ReactConfig, plan: Plan, engine: Engine) -> tuple[int, Needs]:
    """How many members are trained at once, or shards scored where there is nothing to train; what one process of such
    a task needs."""
    if plan.inputs.ensemble:
        return engine.at_once(shard_needs(plan.device), config.members), shard_needs(plan.device)
    together = plan.ensemble.processes if plan.ensemble else 1
    return engine.at_once(member_needs(plan.device, together), config.members), member_needs(plan.device)


def times_models(plan: Plan) -> bool:
    """Whether models are timed: they are used, and are not from outside, whose loading alone may take minutes."""
    return plan.until != "candidates" and not plan.inputs.members


def preset_of(config: ReactConfig) -> Preset:
    """What the members are trained as."""
    return load_preset(config.model).replace(config.model_settings)


def time_models(job: Job, clock: Clock) -> tuple[ModelRates, float]:
    """What models take in this process, and how many seconds it took to find out."""
    from cgbench.models.ensemble import Ensemble
    from cgbench.models.text.subwords import Subwords
    from cgbench.models.training.timing import time_batches, time_updates, untrained

    began = clock()
    found: dict[str, Any] = {}
    sources, references = ([pair[side] for pair in job.candidates] for side in (0, 1))
    limits = dict(job.limits)
    if job.preset is None:
        assert job.ensemble is not None
        ensemble, times = Ensemble.open(member_folders(job.ensemble), job.device), 1.0
    else:
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder) / "source", Path(folder) / "target"
            for side, path in enumerate(files):
                path.write_text("".join(f"{pair[side]}\n" for pair in job.pairs), encoding="utf-8")
            start = clock()
            subwords = Subwords.learn(*files, job.preset.text)
            found["subwords"] = (clock() - start) / len(job.pairs)
            start = clock()
            lengths = [
                sum(map(len, encode([pair[side] for pair in job.pairs])))
                for side, encode in enumerate((subwords.encode_source, subwords.encode_target))
            ]
            found["encode"] = (clock() - start) / len(job.pairs)
            updates = time_updates(job.preset, subwords, files, job.device, seconds=job.seconds, clock=clock)
        found |= {
            "update": updates.seconds,
            "pairs": updates.pairs,
            "first": updates.first,
            "parameters": updates.parameters,
        }
        # One model in place of all: two are timed, and more take as much longer.
        few = min(job.members, 2)
        ensemble, times = untrained(job.preset, subwords, few, job.device), job.members / few
        # A trained model ends its translations; this one is stopped where they end.
        limits |= {"max_length_ratio": lengths[1] / lengths[0], "max_length_extra": 1}
    rows: list[dict[str, Any]] = []

    def measure(chosen: list[int]) -> None:
        lines, others = ([text[row] for row in chosen] for text in (sources, references))
        rows.extend(measure_with(ensemble, lines, others, beam=job.beam, **limits))

    passed = time_batches(measure, ensemble.lengths(sources), SEARCH_TOKENS, seconds=job.seconds, clock=clock)
    found["candidate"] = passed / len(sources) * times
    found["row"] = len(json.dumps(rows[:100], ensure_ascii=False).encode()) / len(rows[:100])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found["memory"] = peak * (1 if sys.platform == "darwin" else 1024)
    return ModelRates(**found), clock() - began


def kept_rates(
    config: ReactConfig, plan: Plan, texts: Texts, engine: Engine, measure: Callable[..., Rates] = measure_rates
) -> Rates:
    """:func:`measure_rates`, once for this machine, these texts and settings."""
    model = preset_of(config)
    key = {
        "version": __version__,
        "machine": [host(), _processor(), usable_cores()],
        "engine": [engine.name, members_at_once(config, plan, engine)[0] if times_models(plan) else 0],
        "texts": [plan.train.identity, *(pool.identity for pool in plan.pools)],
        "ensemble": str(plan.inputs.ensemble),
        "until": not times_models(plan),
        "device": plan.device,
        "model": [to_dict(model.model), to_dict(model.training), to_dict(model.method), to_dict(model.text)],
        "build": config.as_dict(),
    }
    path = cache_folder("rates") / f"{hash_value(key)[:16]}.json"
    try:
        held = read_json(path)
        models = held.pop("models")
        return Rates(**held, models=ModelRates(**models) if models else None)
    except (InputError, LookupError, TypeError, AttributeError):
        pass
    with working("timing this machine, to say what the build will cost"):
        rates = measure(config, plan, texts, engine)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, asdict(rates))
    except OSError:
        pass  # timed again the next time
    return rates


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()
