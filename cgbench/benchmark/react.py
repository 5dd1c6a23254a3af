"""Build a benchmark of compositional generalisation from real text: ReaCT's method, top to bottom.

Zheng and Lapata, "Real-World Compositional Generalization with Disentangled Sequence-to-Sequence Learning"
(Findings of ACL 2023), section 4: drop pairs with rare words; measure each pair's compositional degree by the known
n-grams of the training corpus; keep the pairs of the highest degree; translate them with an ensemble and measure its
knowledge uncertainty; drop the most uncertain, draw from the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.benchmark.candidate_uncertainty import SHARD, uncertainty_of_candidates
from cgbench.benchmark.degree import read_phrases
from cgbench.benchmark.react_config import LM_SETTINGS, SIDES, ReactConfig, resolve_amount
from cgbench.errors import InputError
from cgbench.files import read_json, write_json
from cgbench.models.config.presets import load_preset
from cgbench.models.training.ensemble import (
    EnsemblePlan,
    check_trained_on,
    ensemble_identity,
    member_folders,
    plan_ensemble,
    train_ensemble,
)
from cgbench.steps import Step, Workspace, hash_file
from cgbench.text.corpus import ParallelText, PlannedText, odd_characters, plan_text, warn_of
from cgbench.text.formats import CorpusSpec
from cgbench.text.normalisation import Normalisation, normaliser

if TYPE_CHECKING:
    from cgbench.lm.language_model import LanguageModel


@dataclass(frozen=True)
class Inputs:
    """What a build reads. ``phrases`` is a list of known n-grams given by the user (a phrase a line); ``ensemble`` a
    folder of trained members, else they are trained; ``lm`` a language model that scores the candidates."""

    train: CorpusSpec
    pools: tuple[CorpusSpec, ...]
    exclude: tuple[CorpusSpec, ...] = ()
    phrases: Path | None = None
    ensemble: Path | None = None
    lm: Path | None = None
    languages: tuple[str, str] = ("source", "target")


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
    perplexity: Step | None = None  # None: there is no language model

    @property
    def steps(self) -> list[Step]:
        """The steps in order."""
        texts = [text.step for text in (self.train, *self.pools, *self.exclude) if text.step]
        steps = [*texts, self.ngrams, *self.scans, self.candidates]
        if self.perplexity:
            steps.append(self.perplexity)
        if self.ensemble:
            steps += self.ensemble.steps
        return [*steps, self.uncertainty] if self.uncertainty else steps


@dataclass(frozen=True)
class Built:
    """What a build has made: step results (folders), texts, and the number of pairs left at each stage."""

    plan: Plan
    train: ParallelText
    pools: tuple[ParallelText, ...]
    ngrams: Path
    scans: tuple[Path, ...]
    candidates: Path
    uncertainty: Path | None
    counts: dict[str, int]
    warnings: list[str] = field(default_factory=list)
    perplexity: Path | None = None


def plan_react(inputs: Inputs, config: ReactConfig, device: str, until: str = "release") -> Plan:
    """Identify the inputs by their bytes and lay out the steps. Reads the inputs; writes and runs nothing.

    :raises InputError: an input is missing or malformed, or the settings do not fit together.
    """
    normalisation = Normalisation(config.tokenize, config.lowercase, inputs.languages)
    train = plan_text("train", inputs.train, normalisation)
    pools = tuple(plan_text(f"pool-{number}", spec, normalisation) for number, spec in enumerate(inputs.pools, 1))
    exclude = tuple(
        plan_text(f"exclude-{number}", spec, normalisation) for number, spec in enumerate(inputs.exclude, 1)
    )
    side = config.degree_side
    ngrams = Step(
        "known-ngrams",
        {"word_min_count": config.word_min_count, "ngram_min_count": config.ngram_min_count, "degree_side": side},
        {"train": train.identity, **({"phrases": _hash_input(inputs.phrases)} if inputs.phrases else {})},
    )
    scans = tuple(
        Step(
            f"scan-{number}",
            {"filter_sides": config.filter_sides, "degree_side": side, "number": number},
            {"known-ngrams": ngrams.key, "pool": pool.identity, **_earlier(pools[: number - 1])},
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
    )
    perplexity = _plan_perplexity(inputs, config, candidates)
    planned = partial(Plan, until, inputs, config, device, train, pools, exclude, ngrams, scans, candidates)
    if until == "candidates":
        return planned(None, None, perplexity)
    if inputs.ensemble:
        ensemble, members = None, {"ensemble": ensemble_identity(inputs.ensemble)}
    else:
        preset = load_preset(config.model).replace(config.model_settings)
        ensemble = plan_ensemble(preset, train, None, config.members, config.seed, device)
        members = {step.name: step.key for step in ensemble.members}
    uncertainty = Step(
        "uncertainty",
        {"beam": config.beam, "device": device, "shard": SHARD},
        {"candidates": candidates.key, **members},
    )
    return planned(ensemble, uncertainty, perplexity)


def _plan_perplexity(inputs: Inputs, config: ReactConfig, candidates: Step) -> Step | None:
    """The step that scores the candidates with the language model, if there is one."""
    if inputs.lm is None:
        set_ones = sorted(set(LM_SETTINGS) & set(config.as_dict()))
        if set_ones:
            raise InputError(f"{set_ones[0]}: needs a language model; give one with --lm")
        return None
    side = config.lm_side or config.degree_side
    return Step("perplexity", {"side": side}, {"candidates": candidates.key, "lm": _hash_input(inputs.lm)})


def _hash_input(path: Path) -> str:
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    return hash_file(path)


def _earlier(pools: tuple[PlannedText, ...]) -> dict[str, str]:
    """What decides the numbers of a pool's lines: the pools before it."""
    return {f"before-{number}": pool.identity for number, pool in enumerate(pools, 1)}


def build_react(plan: Plan, workspace: Workspace, *, jobs: int) -> Built:
    """Run the steps of ``plan`` that are not done.

    :raises InputError: an input is malformed, or too little is left for what is to be selected.
    """
    config = plan.config
    train = plan.train.realise(workspace, jobs)
    pools = tuple(pool.realise(workspace, jobs) for pool in plan.pools)
    exclude = [text.realise(workspace, jobs) for text in plan.exclude]
    if plan.inputs.ensemble and plan.uncertainty:
        check_trained_on(plan.inputs.ensemble, train)  # before the scan: fail before the expensive part
    model = _open_lm(plan, workspace)

    ngrams = workspace.run(plan.ngrams, lambda out: _learn(plan, train, out))
    scans = tuple(
        workspace.run(step, _scanner(plan, number, ngrams, pools, jobs), resumable=True)
        for number, step in enumerate(plan.scans)
    )
    candidates = workspace.run(plan.candidates, lambda out: _cut(plan, scans, pools, [train, *exclude], out))
    counts = _pool_counts(pools, scans) | read_json(candidates / "counts.json")
    read = [(plan.train, train), *zip(plan.exclude, exclude, strict=True)]
    warnings = [warning for planned, text in read for warning in warn_of(odd_characters(text), planned.spec)]
    for pool, scan in zip(plan.pools, scans, strict=True):
        warnings += warn_of(read_json(scan / "counts.json")["odd"], pool.spec)
    asked = resolve_amount("candidates", config.candidates, counts["within_length"])
    if counts["candidates"] < asked:
        warnings.append(f"{counts['candidates']:,} candidates are all that is left, where {asked:,} were asked for")
    _check_enough(config, counts, plan.until)
    perplexity = workspace.run(plan.perplexity, _scorer(plan, model, candidates)) if plan.perplexity else None
    built = partial(Built, plan, train, pools, ngrams, scans, candidates)
    if plan.uncertainty is None:
        return built(None, counts, warnings, perplexity)

    if plan.inputs.ensemble:
        members = member_folders(plan.inputs.ensemble)
    else:
        assert plan.ensemble is not None
        members = train_ensemble(workspace, plan.ensemble, train, None, jobs if plan.device == "cpu" else 1)
    uncertainty = workspace.run(
        plan.uncertainty,
        lambda out: uncertainty_of_candidates(members, candidates, out, config.beam, plan.device, jobs),
        resumable=True,
    )
    return built(uncertainty, counts, warnings, perplexity)


def _learn(plan: Plan, train: ParallelText, out: Path) -> None:
    """The known n-grams of the side that degree is computed on, and the words of the other."""
    from cgbench.benchmark.known_ngrams import KnownNgrams, Vocabulary, learn_sides

    config = plan.config
    ours, other = (train.target, train.source) if config.degree_side == "target" else (train.source, train.target)
    if plan.inputs.phrases:
        words = Vocabulary.learn(ours.path, min_count=config.word_min_count)
        change = normaliser(plan.train.normalisation, plan.inputs.languages[SIDES.index(config.degree_side)])
        ngrams = KnownNgrams.from_phrases(read_phrases(plan.inputs.phrases, change), words=words)
        others = Vocabulary.learn(other.path, min_count=config.word_min_count)
    else:
        ngrams, others = learn_sides(
            ours.path, other.path, min_count=config.ngram_min_count, word_min_count=config.word_min_count
        )
    for words, text in ((ngrams.words, ours), (others, other)):
        if not len(words):
            raise InputError(f"{text.path}: there is no word in it; the corpus is empty")
    ngrams.save(out / "ngrams")
    others.save(out / "other-words")


def _scanner(
    plan: Plan, number: int, learned: Path, pools: tuple[ParallelText, ...], jobs: int
) -> Callable[[Path], None]:
    def make(out: Path) -> None:
        from cgbench.benchmark.known_ngrams import KnownNgrams, Vocabulary
        from cgbench.benchmark.scan import scan

        counts = scan(
            pools[number],
            number,
            sum(pool.lines for pool in pools[:number]),
            ngrams=KnownNgrams.load(learned / "ngrams"),
            other_words=Vocabulary.load(learned / "other-words"),
            degree_side=plan.config.degree_side,
            filter_sides=plan.config.filter_sides,
            out=out,
            jobs=jobs,
        )
        write_json(out / "counts.json", counts)

    return make


def _cut(
    plan: Plan, scans: tuple[Path, ...], pools: tuple[ParallelText, ...], seen: list[ParallelText], out: Path
) -> None:
    from cgbench.benchmark.cut import cut, rows_within

    config = plan.config
    parts = [part for scan in scans for part in sorted(scan.glob("part-*.parquet"))]
    within = rows_within(parts, config.degree_side, config.min_length, config.max_length)
    result = cut(
        parts,
        pools,
        size=resolve_amount("candidates", config.candidates, within),
        min_length=config.min_length,
        max_length=config.max_length,
        seed=config.seed,
        seen=seen,
        degree_side=config.degree_side,
    )
    result.save(out)


def _open_lm(plan: Plan, workspace: Workspace) -> LanguageModel | None:
    """The language model, where the candidates are still to be scored with it: fail before the expensive part."""
    if plan.perplexity is None or workspace.done(plan.perplexity):
        return None
    from cgbench.lm.language_model import LanguageModel

    assert plan.inputs.lm is not None
    return LanguageModel.load(plan.inputs.lm)


def _scorer(plan: Plan, model: LanguageModel | None, candidates: Path) -> Callable[[Path], None]:
    def make(out: Path) -> None:
        import numpy as np

        assert model is not None and plan.perplexity is not None
        text = (candidates / f"candidates.{plan.perplexity.config['side']}").read_text(encoding="utf-8")
        np.save(out / "perplexity.npy", model.perplexity(text.split("\n")[:-1]), allow_pickle=False)

    return make


def _pool_counts(pools: tuple[ParallelText, ...], scans: tuple[Path, ...]) -> dict[str, Any]:
    counts = [read_json(scan / "counts.json") for scan in scans]
    return {
        "pool": sum(pool.lines for pool in pools),
        "empty": sum(count["empty"] for count in counts),
        "rare_word": sum(count["rare"] for count in counts),
    }


def selection_sizes(config: ReactConfig, candidates: int) -> dict[str, int]:
    """``drop``, ``drop_perplexity``, ``window`` and ``select`` as numbers of candidates."""
    keys = ("drop", "drop_perplexity", "window", "select")
    return {key: resolve_amount(key, getattr(config, key), candidates) for key in keys}


def _check_enough(config: ReactConfig, counts: dict[str, int], until: str) -> None:
    """Stop before any model is trained when the pool has too little for what is asked.

    :raises InputError: it says what was left at each stage.
    """
    left = (
        f"pool {counts['pool']:,}, known words {counts['known_words']:,}, "
        f"within the length bounds {counts['within_length']:,}, candidates {counts['candidates']:,}"
    )
    if counts["known_words"] and not counts["within_length"]:
        raise InputError(
            f"no pair of the pool is within the length bounds (left: {left}); lower it with --set min_length=N"
        )
    if counts["candidates"] == 0:
        raise InputError(f"no candidate is left (left: {left}); the pool shares too few words with the training corpus")
    sizes = selection_sizes(config, counts["candidates"])
    for key in ("window", "select"):
        if not sizes[key]:
            raise InputError(
                f"{key}: {getattr(config, key)} of {counts['candidates']:,} candidates is none (left: {left})"
            )
    if until == "candidates":
        return
    drop = sizes["drop"] + sizes["drop_perplexity"]
    if drop + sizes["window"] > counts["candidates"] or sizes["select"] > sizes["window"]:
        raise InputError(
            f"too few candidates to drop {drop:,} and draw {sizes['select']:,} of the next "
            f"{sizes['window']:,} (left: {left}); give a larger pool, or lower drop, window and select"
        )
