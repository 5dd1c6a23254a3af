"""The plan of a build: what it reads, and every step, known before any of them runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cgbench.benchmark.candidates.ensemble_quality import quality_step
from cgbench.benchmark.candidates.matching import Control
from cgbench.benchmark.candidates.uncertainty import SHARD, search_settings
from cgbench.benchmark.overlap.saved import check_count, check_words_alike, read_said, sums_of
from cgbench.benchmark.react.config import LM_SETTINGS, SIDES, ReactConfig
from cgbench.benchmark.react.texts import inspect_texts
from cgbench.benchmark.release.manifest import is_language
from cgbench.checksums import known_digest
from cgbench.errors import InputError, argument
from cgbench.models.checkpoints import ensemble_identity
from cgbench.models.config.presets import load_preset
from cgbench.models.external.opening import Planned
from cgbench.models.external.uncertainty import uncertainty_step
from cgbench.models.training.ensemble import EnsemblePlan, plan_ensemble
from cgbench.steps import Step, hash_file
from cgbench.text.corpus import ParallelText, PlannedText, plan_text
from cgbench.text.formats import CorpusSpec
from cgbench.text.inspection import Finding
from cgbench.text.normalisation import Normalisation
from cgbench.text.streams import begins_with_mark


@dataclass(frozen=True)
class Inputs:
    """What a build reads. ``phrases`` is a list of known n-grams given by the user (a phrase a line); ``known``
    results of ``cgbench overlap`` by side, which stand for that side of the training text there; ``ensemble`` a
    folder of trained members, else they are trained; ``members`` models from outside instead of either; ``reverse`` an
    ensemble that translates the other way round; ``lm`` a language model that scores the candidates; ``difficulty`` a
    file of values beside each corpus of the pool. Languages are parts of file names."""

    train: CorpusSpec
    pools: tuple[CorpusSpec, ...]
    exclude: tuple[CorpusSpec, ...] = ()
    phrases: Path | None = None
    known: Mapping[str, Path] = field(default_factory=dict)
    ensemble: Path | None = None
    reverse: Path | None = None
    lm: Path | None = None
    difficulty: tuple[Path, ...] = ()
    members: tuple[Planned, ...] = ()
    languages: tuple[str, str] = ("source", "target")

    def __post_init__(self) -> None:
        first, second = self.languages
        if first == second or not all(is_language(language) for language in self.languages):
            raise InputError(f"languages {first!r}, {second!r}: two different codes are needed, such as de, en")


@dataclass(frozen=True)
class Plan:
    """Every step of a build up to stage ``until``, known before any of them runs."""

    until: str
    inputs: Inputs
    config: ReactConfig
    device: str
    train: PlannedText
    pools: tuple[PlannedText, ...]
    exclude: tuple[PlannedText, ...]
    ngrams: Step
    scans: tuple[Step, ...]
    candidates: Step
    ensemble: EnsemblePlan | None  # None: the user's own ensemble, or none is needed
    uncertainty: Step | None  # None: the build stops at the candidates
    quality: Step | None = None  # None: the build stops at the candidates
    reverse: Step | None = None  # None: there is no reverse ensemble
    perplexity: Step | None = None  # None: there is no language model
    findings: tuple[Finding, ...] = ()  # what is wrong with the texts

    @property
    def steps(self) -> list[Step]:
        """The steps in order."""
        texts = [text.step for text in (self.train, *self.pools, *self.exclude) if text.step]
        steps = [*texts, self.ngrams, *self.scans, self.candidates]
        if self.perplexity:
            steps.append(self.perplexity)
        if self.ensemble:
            steps += self.ensemble.steps
        return [*steps, *(step for step in (self.uncertainty, self.quality, self.reverse) if step)]


@dataclass(frozen=True)
class Built:
    """What a build has found: its texts, the folder of the candidates' text, every candidate with all its figures
    (a pyarrow table, from the highest degree down, see docs/formats.md), the number of pairs left at each stage,
    how well the ensemble translates (:mod:`cgbench.benchmark.candidates.ensemble_quality`), and the control set, if
    there is one."""

    plan: Plan
    train: ParallelText
    pools: tuple[ParallelText, ...]
    candidates: Path
    table: Any
    counts: dict[str, int]
    warnings: list[str]
    quality: dict[str, Any] | None = None
    control: Control | None = None


def plan_react(
    inputs: Inputs,
    config: ReactConfig,
    *,
    device: str,
    until: str = "release",
    accept_text: bool = False,
    gpus_per_member: int = 1,
) -> Plan:
    """Identify the inputs by their bytes and lay out the steps. Reads the inputs; writes and runs nothing.

    :param accept_text: go on with text that would spoil the benchmark (:mod:`cgbench.text.inspection`).
    :param gpus_per_member: processes that train a member together, a GPU each where ``device`` is ``cuda``.
    :raises InputError: an input is missing or malformed, or the settings do not fit together.
    """
    inputs = replace(inputs, exclude=tuple(sorted(inputs.exclude, key=_by_bytes)))
    normalisation = Normalisation(
        config.tokenize, config.lowercase, inputs.languages, config.detokenize, config.anonymise
    )
    train = plan_text("train", inputs.train, normalisation)
    pools = tuple(plan_text(f"pool-{number}", spec, normalisation) for number, spec in enumerate(inputs.pools, 1))
    exclude = tuple(
        plan_text(f"exclude-{number}", spec, normalisation) for number, spec in enumerate(inputs.exclude, 1)
    )
    findings = inspect_texts(inputs.train, (*inputs.pools, *inputs.exclude), normalisation, accept=accept_text)
    side = config.degree_side
    ngrams = Step(
        "known-ngrams",
        {
            "word_min_count": config.word_min_count,
            "ngram_min_count": config.ngram_min_count,
            "degree_side": side,
            # Named only where there is one: the keys of all other lists stay what they were.
            **({"byte_order_mark": True} if inputs.phrases and begins_with_mark(inputs.phrases) else {}),
        },
        {
            "train": train.identity,
            **({"phrases": _hash_input(inputs.phrases)} if inputs.phrases else {}),
            **_plan_known(inputs, config, normalisation, pools),
        },
    )
    scans = tuple(
        Step(
            f"scan-{number}",
            {"filter_sides": config.filter_sides, "degree_side": side, "number": number},
            {"known-ngrams": ngrams.key, "pool": pool.identity},
            revision=2,
        )
        for number, pool in enumerate(pools, 1)
    )
    candidates = Step(
        "candidates",
        {key: getattr(config, key) for key in ("candidates", "min_length", "max_length", "seed", "degree_side")},
        {
            "train": train.identity,
            **{scan.name: scan.key for scan in scans},
            **{f"exclude-{number}": text.identity for number, text in enumerate(exclude, 1)},
        },
        revision=2,
    )
    perplexity = _plan_perplexity(inputs, config, candidates)
    ensemble, uncertainty, reverse = None, None, None
    if until != "candidates":
        if inputs.members:
            members = {}
        elif inputs.ensemble:
            members = {"ensemble": ensemble_identity(inputs.ensemble)}
        else:
            preset = load_preset(config.model).replace(config.model_settings)
            ensemble = plan_ensemble(
                preset,
                train,
                None,
                config.members,
                config.seed,
                device,
                held_out=config.held_out,
                processes=gpus_per_member,
            )
            members = {step.name: step.key for step in ensemble.members}
        searched = {"beam": config.beam, "device": device, **search_settings(config.as_dict())}
        if inputs.members:
            uncertainty = uncertainty_step(inputs.members, searched, {"candidates": candidates.key})
        else:
            uncertainty = Step(
                "uncertainty", {**searched, "shard": SHARD}, {"candidates": candidates.key, **members}, revision=3
            )
        if inputs.reverse:
            reverse = Step(
                "reverse",
                {"device": device, "shard": SHARD},
                {"candidates": candidates.key, "ensemble": ensemble_identity(inputs.reverse)},
                revision=2,
            )
    return Plan(
        until=until,
        inputs=inputs,
        config=config,
        device=device,
        train=train,
        pools=pools,
        exclude=exclude,
        ngrams=ngrams,
        scans=scans,
        candidates=candidates,
        ensemble=ensemble,
        uncertainty=uncertainty,
        quality=quality_step(uncertainty) if uncertainty else None,
        reverse=reverse,
        perplexity=perplexity,
        findings=findings,
    )


def _plan_known(
    inputs: Inputs, config: ReactConfig, normalisation: Normalisation, pools: Sequence[PlannedText]
) -> dict[str, str]:
    """What the known n-grams depend on where a corpus was read by ``cgbench overlap``: its results, and the pool.

    :raises InputError: a result is none or damaged, knows no counts as high as are asked for, or has other words.
    """
    found = {}
    for side, folder in inputs.known.items():
        said = read_said(folder)
        for name in ("word_min_count", *(["ngram_min_count"] if side == config.degree_side else [])):
            check_count(folder, said["counts_up_to"], getattr(config, name), name)
        if config.anonymise != "none":
            raise InputError(
                f"{argument('known_from')}: with {argument('anonymise')} names are replaced pair by pair, which "
                "cgbench overlap does not do; run it on text whose names are replaced, and build from that"
            )
        language = inputs.languages[SIDES.index(side)]
        check_words_alike(folder, said["units"]["words"], normalisation.of(language).settings)
        found[f"known-{side}"] = _hash_input(sums_of(folder))
    return found | ({f"pool-{number}": pool.identity for number, pool in enumerate(pools, 1)} if found else {})


def _plan_perplexity(inputs: Inputs, config: ReactConfig, candidates: Step) -> Step | None:
    """The step that scores the candidates with the language model, if there is one."""
    if inputs.lm is None:
        set_ones = sorted(set(LM_SETTINGS) & set(config.as_dict()))
        if set_ones:
            raise InputError(f"{set_ones[0]}: needs a language model; give one with {argument('lm')}")
        return None
    side = config.lm_side or config.degree_side
    return Step("perplexity", {"side": side}, {"candidates": candidates.key, "lm": _hash_input(inputs.lm)}, revision=2)


def _by_bytes(spec: CorpusSpec) -> tuple[list[str], str]:
    """What corpora to exclude are ordered by: it must not matter in which order they were given."""
    return [known_digest(path) if path.is_file() else "" for path in spec.files], str(spec)


def _hash_input(path: Path) -> str:
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    return hash_file(path)
