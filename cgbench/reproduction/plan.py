"""The runs of a table: one per benchmark, system and seed, at one scale."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from cgbench.argument_types import Folder, Model, Paths
from cgbench.errors import InputError, argument
from cgbench.models.config.methods import BowConfig, CRegConfig
from cgbench.models.config.presets import Preset, load_preset
from cgbench.models.config.proto_transformer import ProtoTransformerConfig
from cgbench.models.hpd.settings import HPDSettings, settings_at
from cgbench.reproduction.tables import (
    Benchmark,
    PublishedSystem,
    PublishedTable,
    all_benchmarks,
    find_table,
)
from cgbench.request import KW_ONLY, Request, option
from cgbench.settings import did_you_mean, make_settings
from cgbench.steps import Step, TaskOptions

if TYPE_CHECKING:
    from cgbench.models.external.start import Start

REVISION = 1  # raised when a change of the code changes results
SAVED = 50  # checkpoints per run
SMOKE = {"updates": 4, "tokens": 600, "sentences": 8, "rows": 20, "pairs": 1000}


@dataclass(frozen=True)
class Run:
    """One system, trained on one benchmark with one seed.

    :param benchmark: with the splits of the system.
    :param updates: number of updates of a ``short`` run, instead of the fraction of the benchmark.
    :param begun: the pre-trained model from which the system starts (not loaded), and its preset
        with the model's configuration.
    """

    benchmark: Benchmark
    system: PublishedSystem
    scale: str
    seed: int
    updates: int = 0
    begun: tuple[Start, Preset] | None = None

    @property
    def name(self) -> str:
        """The name in folders and messages: ``colors.lstm-lex-simple.full.seed-1``."""
        return (
            f"{_slug(self.benchmark.name)}.{_slug(self.system.name)}.{self.scale}.seed-{self.seed}"
        )

    @property
    def preset(self) -> Preset:
        """Model and training at this scale."""
        preset = self._paper
        preset = preset.replace(schedule_changes(preset, self.scale, self.fraction))
        # An interrupted run loses only a small part, however long its updates take.
        every = max(1, min(preset.training.checkpoint_every, preset.training.max_updates // SAVED))
        return preset.replace({"training.checkpoint_every": every})

    @property
    def start(self) -> Start | None:
        """The pre-trained model from which it starts, if any."""
        return self.begun[0] if self.begun else None

    @property
    def _paper(self) -> Preset:
        return self.begun[1] if self.begun else paper_preset(self.system)

    @property
    def fraction(self) -> float:
        """The fraction of the paper's updates."""
        if self.scale == "short" and self.updates and self.system.preset:
            return min(1.0, self.updates / self._paper.training.max_updates)
        return {"full": 1.0, "short": self.system.short or self.benchmark.short, "smoke": 0.0}[
            self.scale
        ]

    @property
    def rows(self) -> int:
        """Number of rows of each test that are translated, 0 for all."""
        return {"full": 0, "short": self.benchmark.short_rows, "smoke": SMOKE["rows"]}[self.scale]

    def step(self, inputs: Mapping[str, str]) -> Step:
        """The identity of the result, which does not depend on the device, so different machines
        can share runs.

        :param inputs: hashes of the input files.
        """
        system, benchmark = self.system, self.benchmark
        preset = self.preset if system.preset else None
        lexicon = {"method": system.lexicon, **system.lexicon_set} if system.lexicon else None
        # Everything that determines the result, and nothing else.
        config: dict[str, Any] = {
            "benchmark": benchmark.name,
            "system": system.name,
            "scale": self.scale,
            "fraction": self.fraction,
            "seed": self.seed,
            **{
                f"{section}.{key}": value
                for section in (("model", "training", "method", "text") if preset else ())
                for key, value in asdict(getattr(preset, section)).items()
                if key != "checkpoint_every"  # does not change results
            },
            "lexicon": {"file": system.lexicon_file} if system.lexicon_file else lexicon,
            "augment": dict(system.augment) or None,
            "hold_out": dict(system.hold_out) or None,
            "beam": system.beam,
            "rows": self.rows,
            "splits": [benchmark.train, benchmark.valid, list(benchmark.dictionary)],
            "more_words": {side: list(words) for side, words in benchmark.more_words.items()},
            "tests": {split: list(measures) for split, measures in benchmark.tests.items()},
        }
        # Fields that only some runs have: without them, the keys of older results stay.
        if system.length_penalty != 1:
            config["length_penalty"] = system.length_penalty
        if system.length_offset:
            config["length_offset"] = system.length_offset
        if system.spelling:
            config["spelling"] = dict(system.spelling)
        if self.start:
            config["init"] = self.start.key
        if benchmark.form:
            config["form"] = benchmark.form
        if benchmark.empty_word:
            config["empty_word"] = benchmark.empty_word
        if system.pipeline:
            config["pipeline"] = {"name": system.pipeline, **asdict(hpd_settings(self))}
        elif not system.preset:
            config["side"] = benchmark.side
        return Step(self.name, config, dict(inputs), REVISION)


class ReproduceRequest(Request):
    """What :func:`~cgbench.reproduction.running.reproduce` is asked for."""

    table: str = option(
        help="Name of the table (see `cgbench reproduce list`)",
    )
    _: KW_ONLY
    systems: tuple[str, ...] = option(
        "--systems",
        default=(),
        help="Run only these systems [default: all that can be run]",
        metavar="A,B,...",
        group="Runs",
    )
    benchmarks: tuple[str, ...] = option(
        "--benchmarks",
        default=(),
        help="Run only these benchmarks",
        metavar="A,B,...",
        group="Runs",
    )
    seeds: list[int] | None = option(
        "--seeds",
        default=None,
        help="Number of seeds, or a list of them [default: the paper's]",
        metavar="N|A,B|A-B",
        least=1,
        group="Runs",
    )
    scale: Literal["full", "short", "smoke"] = option(
        "--scale",
        default="full",
        help=(
            "Training schedule: the paper's, a documented fraction of it, or a few updates as a"
            " smoke test"
        ),
        group="Runs",
    )
    init: Model | None = option(
        "--init",
        default=None,
        help="Pre-trained model for the rows that start from one: hf:ID@REVISION or hf:FOLDER",
        group="Runs",
    )
    updates: int | None = option(
        "--updates",
        default=None,
        help="Number of updates with --scale short; the warm-up shrinks in proportion",
        least=1,
        group="Advanced",
    )
    out: Folder = option(
        "--out",
        default="reproduction",
        help="Folder for runs and data",
        group="Output",
    )
    mirror: Paths = option(
        "--mirror",
        default=(),
        help="Take the sources of the data only from this mirror folder; repeatable",
        metavar="FOLDER",
        group="Advanced",
    )
    offline: bool = option(
        "--offline",
        default=False,
        help="Do not use the network",
        group="Execution",
    )
    device: Literal["auto", "cpu", "cuda"] = option(
        "--device",
        default="auto",
        help="Device that runs the models",
        group="Execution",
    )
    tasks: TaskOptions = option(default=TaskOptions(), help="Where runs are made (TaskOptions)")


def plan(request: ReproduceRequest) -> list[Run]:
    """The runs of a request, ordered by seed.

    Systems may also be variants without a score in the table. Systems that start from a pre-trained
    model are left out if none is given.

    :raises InputError: a system or benchmark is not in the table, or cannot be run; or there is no
        run.
    """
    table = find_table(request.table)
    _check_request(request, table)
    benchmarks = [
        all_benchmarks()[name]
        for name in table.benchmarks
        if name in request.benchmarks or not request.benchmarks
    ]
    requested = _requested_systems(request, table, benchmarks)
    starts = _starts(request, requested or table.systems, benchmarks)
    seeds = {
        benchmark.name: (
            table.seeds_of(benchmark.name) if request.seeds is None else list(request.seeds)
        )
        for benchmark in benchmarks
    }
    # Without a choice of systems, those with a score that can be reproduced.
    reproducible = {
        (row.benchmark, member)
        for row in table.rows
        if not row.why
        for member in table.parts(row.benchmark, row.system)
    }
    runs: dict[str, Run] = {}
    for position in range(max(map(len, seeds.values()), default=0)):
        for benchmark in benchmarks:
            if position >= len(seeds[benchmark.name]):
                continue
            for name in requested or table.systems:
                system = benchmark.systems.get(name)
                if system is None or (system.init and not request.init):
                    continue
                if not requested and (benchmark.name, name) not in reproducible:
                    continue
                run = Run(
                    benchmark=replace(benchmark, **system.splits),
                    system=system,
                    scale=request.scale,
                    seed=seeds[benchmark.name][position],
                    updates=request.updates or 0,
                    begun=starts.get(name),
                )
                runs[run.name] = run
    _check_runs(request, table, runs.values())
    return list(runs.values())


def _check_request(request: ReproduceRequest, table: PublishedTable) -> None:
    init = str(request.init or "")
    if init and not init.startswith("hf:"):
        raise InputError(
            f"{argument('init', init)}: not an external model; write hf:ID@REVISION or hf:FOLDER"
        )
    if request.updates and request.scale != "short":
        raise InputError(
            f"{argument('updates', request.updates)} needs {argument('scale', 'short')}; give both"
        )
    for name in request.benchmarks:
        if name not in table.benchmarks:
            raise InputError(
                f"{argument('benchmarks', name)}: not in"
                f" {table.name}{did_you_mean(name, table.benchmarks)}"
            )


def _systems_of(benchmarks: Sequence[Benchmark]) -> dict[str, PublishedSystem]:
    """The systems by name, as on the first benchmark that has them."""
    systems: dict[str, PublishedSystem] = {}
    for benchmark in benchmarks:
        systems = {**benchmark.systems, **systems}
    return systems


def _requested_systems(
    request: ReproduceRequest, table: PublishedTable, benchmarks: Sequence[Benchmark]
) -> list[str]:
    """The names of the requested systems; empty for all.

    A row with the best of several systems stands for all of them.
    """
    known = _systems_of(benchmarks)
    members = {
        name: [member for member in variants if member in known]
        for name, variants in table.best_of.items()
    }
    names = dict.fromkeys(
        member for name in request.systems for member in members.get(name) or (name,)
    )
    for name in names:
        if name in table.left_out:
            raise InputError(f"{argument('systems', name)}: cannot be run: {table.left_out[name]}")
        if name not in known:
            raise InputError(
                f"{argument('systems', name)}: not in"
                f" {table.name}{did_you_mean(name, [*members, *known])}"
            )
        needed = known[name].init
        if needed and not request.init:
            raise InputError(
                f"{argument('systems', name)}: starts from a pre-trained model; give "
                f"{argument('init', hub_name(needed))}"
            )
    return list(names)


def _starts(
    request: ReproduceRequest, names: Iterable[str], benchmarks: Sequence[Benchmark]
) -> dict[str, tuple[Start, Preset]]:
    """The pre-trained model of each system that starts from one: once, since its files are
    hashed.

    :raises InputError: they start from different models.
    """
    if not request.init:
        return {}
    from cgbench.models.external.start import plan_start

    known = _systems_of(benchmarks)
    systems = [known[name] for name in names if name in known and known[name].init]
    _check_one_model(str(request.init), systems)
    return {system.name: plan_start(str(request.init), paper_preset(system)) for system in systems}


def _check_runs(request: ReproduceRequest, table: PublishedTable, runs: Collection[Run]) -> None:
    if request.init and not any(run.start for run in runs):
        raise InputError(
            f"{argument('init', str(request.init))}: no chosen row starts from a pre-trained model;"
            " leave it out"
        )
    if not runs:
        starts = dict.fromkeys(
            argument("init", hub_name(row.init)) for row in table.rows if row.init and not row.why
        )
        hint = f"; its rows start from a pre-trained model: {' or '.join(starts)}" if starts else ""
        raise InputError(
            f"{table.name}: no run matches {argument('systems')} and {argument('benchmarks')}{hint}"
        )


def _check_one_model(init: str, systems: Sequence[PublishedSystem]) -> None:
    """Refuse systems that start from different pre-trained models."""
    by_model: dict[str, list[str]] = {}
    for system in systems:
        by_model.setdefault(system.init, []).append(system.name)
    if len(by_model) > 1:
        rows = "; ".join(f"{', '.join(names)} from {model}" for model, names in by_model.items())
        raise InputError(
            f"{argument('init', init)}: the rows start from different models ({rows}); choose those"
            f" of one model with {argument('systems')}"
        )


def hub_name(name: str) -> str:
    """The option value for a pre-trained model on the hub."""
    return f"hf:{name}@REVISION"


def paper_preset(system: PublishedSystem) -> Preset:
    """Model and training of a system, as in its paper."""
    return load_preset(system.preset).replace(system.set)


def hpd_settings(run: Run) -> HPDSettings:
    """The settings of a run of HPD at its scale."""
    settings: HPDSettings = make_settings(HPDSettings, run.system.pipeline_set, run.system.name)
    return replace(settings, **settings_at(settings, run.scale, run.fraction))


def schedule_changes(preset: Preset, scale: str, fraction: float) -> dict[str, Any]:
    """The settings that a scale changes.

    ``short``: a fraction of the updates and of the warm-up, the same maximum learning rate, and no
    early stopping. ``smoke``: a few updates, to check in seconds that everything runs.
    """
    training, method = preset.training, preset.method
    if scale == "full":
        return {}
    changes: dict[str, Any] = {}
    if isinstance(method, BowConfig):
        changes["method.epochs"] = max(1, round(method.epochs * fraction))
    if isinstance(method, CRegConfig):
        changes["method.ramp_updates"] = round(method.ramp_updates * fraction)
    if isinstance(preset.model, ProtoTransformerConfig):
        changes["model.prototype_epochs"] = round(preset.model.prototype_epochs * fraction)
    epochs = training.validate_every_epochs
    if scale == "short":
        updates = max(1, round(training.max_updates * fraction))
        # The maximum rate of noam depends on the root of the warm-up; this keeps it unchanged.
        factor = math.sqrt(fraction) if training.schedule == "noam" else 1.0
        return changes | {
            "training.learning_rate": training.learning_rate * factor,
            "training.max_updates": updates,
            "training.warmup_updates": round(training.warmup_updates * fraction),
            "training.stair_updates": max(1, round(training.stair_updates * fraction)),
            "training.validate_every": (
                min(training.validate_every, updates) if not epochs else max(1, updates // 10)
            ),
            "training.validate_every_epochs": 0,  # instead ten times, since each validation decodes
            "training.validate_from_epoch": 0,
            "training.patience": 0,
        }
    changes |= {
        "training.max_updates": SMOKE["updates"],
        "training.warmup_updates": min(training.warmup_updates, SMOKE["updates"]),
        "training.accumulation": 1,
        "training.max_tokens": max(SMOKE["tokens"], training.max_length),
        "training.validate_every": SMOKE["updates"],
        "training.validate_every_epochs": 0,
        "training.validate_from_epoch": 0,
        "training.validate_metric": "loss",
        "training.patience": 0,
        "training.keep_checkpoints": 0,
    }
    if training.batch_sentences:
        changes["training.batch_sentences"] = min(training.batch_sentences, SMOKE["sentences"])
    return changes


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
