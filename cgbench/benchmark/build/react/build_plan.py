"""The plan of a build: its inputs and every step, known before any of them runs."""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cgbench.benchmark.build.react.build_inputs import Inputs, read_inputs
from cgbench.benchmark.build.react.checks import check_difficulty, check_measures, check_shares
from cgbench.benchmark.build.react.corpus_size import fit_to_corpus
from cgbench.benchmark.build.react.ranking_options import LM_SETTINGS
from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.benchmark.candidates.documents import check_documents
from cgbench.benchmark.candidates.ensemble_quality import quality_step
from cgbench.benchmark.candidates.matching import MatchedControl
from cgbench.benchmark.candidates.uncertainty import SHARD
from cgbench.benchmark.measure.overlap.corpus_counts import (
    check_count,
    check_words_alike,
    read_summary,
    sums_of,
)
from cgbench.benchmark.release.work_folder import find_work
from cgbench.errors import InputError, argument
from cgbench.models.checkpoints import ensemble_identity, member_folders
from cgbench.models.config.presets import Preset, load_preset
from cgbench.models.devices import choose_device
from cgbench.models.external.ensemble_uncertainty import uncertainty_step
from cgbench.models.training.ensemble_training import EnsemblePlan, check_processes, plan_ensemble
from cgbench.request import changed
from cgbench.steps import Step, hash_file
from cgbench.text.corpus import ParallelText, PlannedText, plan_text
from cgbench.text.inspection import Finding, look_at, report
from cgbench.text.normalisation import SIDES, Normalisation


@dataclass(frozen=True)
class Plan:
    """Every step of a build, known before any of them runs. The ``members`` of ``request`` are
    those of the user's ensemble if there is one."""

    request: BuildRequest
    inputs: Inputs
    device: str
    train: PlannedText
    pools: tuple[PlannedText, ...]
    exclude: tuple[PlannedText, ...]
    ngrams: Step
    scans: tuple[Step, ...]
    candidates: Step
    ensemble: EnsemblePlan | None = None  # None: the user's own ensemble, or none is needed
    uncertainty: Step | None = None  # None: the build stops at the candidates
    quality: Step | None = None  # None: the build stops at the candidates
    reverse: Step | None = None  # None: no reverse-direction ensemble
    perplexity: Step | None = None  # None: no language model
    findings: tuple[Finding, ...] = ()  # errors in the texts

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
    """The results of a build: its texts, the folder of the candidates' text, the candidates with
    all measures (a pyarrow table by falling degree, see docs/reference/formats.md), the number of
    pairs left at each stage, the quality of the ensemble
    (:mod:`cgbench.benchmark.candidates.ensemble_quality`), the control set if there is one, and the
    estimated noise with the cut chosen for it (:mod:`cgbench.benchmark.candidates.noise_share`)."""

    plan: Plan
    train: ParallelText
    pools: tuple[ParallelText, ...]
    candidates: Path
    table: Any
    counts: dict[str, int]
    warnings: list[str]
    quality: dict[str, Any] | None = None
    control: MatchedControl | None = None
    noise: dict[str, Any] | None = None


def plan_build(request: BuildRequest, texts: Path | None = None) -> Plan:
    """Identify the inputs by their bytes and lay out the steps. Reads the inputs and runs nothing.

    :param texts: the folder where lists of sentences, and the sides of a divided corpus, are
        written. By default a temporary one, for a plan that will not run.
    :raises InputError: an input is missing or malformed, or settings do not fit together.
    """
    if texts is None:
        with tempfile.TemporaryDirectory() as folder:
            return plan_build(request, Path(folder))
    # The inputs, and whether they and the settings fit together.
    find_work(*request.folders)
    inputs = read_inputs(request, texts)
    model = load_preset(request.model).replace(request.model_settings)
    request = fit_to_corpus(request, inputs, model)
    model = model.replace(request.model_settings)
    until = request.execution.until
    check_difficulty(inputs.difficulty, len(inputs.pools), request.ranking.select_by)
    if until != "candidates":
        if members := inputs.members or (inputs.ensemble and member_folders(inputs.ensemble)):
            if "members" in request.given and request.members != len(members):
                raise request.refused("members")
            request = changed(request, members=len(members))
        check_measures(request, inputs)
    if until == "release":
        check_shares(request)
    device = choose_device("cpu" if until == "candidates" else request.execution.device)
    # The texts as they are read, and their errors.
    settings, normalisation = request.as_dict(), request.text_options.normalisation_of(inputs.train)
    train = plan_text("train", inputs.train, normalisation)
    pools = tuple(
        plan_text(f"pool-{index}", spec, normalisation)
        for index, spec in enumerate(inputs.pools, 1)
    )
    exclude = tuple(
        plan_text(f"exclude-{index}", spec, normalisation)
        for index, spec in enumerate(inputs.exclude, 1)
    )
    findings = _inspect_texts(inputs, normalisation, request.execution.accept_text)
    if request.drawing.document is not None:
        check_documents(request.drawing.document, inputs.pools)
    # The steps up to the candidates; each key covers its settings and the bytes of its inputs.
    side = request.filters.degree_side
    ngrams = Step(
        "known-ngrams",
        {
            "word_min_count": request.filters.word_min_count,
            "ngram_min_count": request.filters.ngram_min_count,
            "degree_side": side,
        },
        {"train": train.identity, **_plan_known(inputs, request, normalisation, pools)},
    )
    scans = tuple(
        Step(
            f"scan-{index}",
            {"filter_sides": request.filters.filter_sides, "degree_side": side, "number": index},
            {"known-ngrams": ngrams.key, "pool": pool.identity},
            revision=2,
        )
        for index, pool in enumerate(pools, 1)
    )
    candidates = Step(
        "candidates",
        {
            key: settings[key]
            for key in ("candidates", "min_length", "max_length", "seed", "degree_side")
        },
        {
            "train": train.identity,
            **{scan.name: scan.key for scan in scans},
            **{f"exclude-{index}": text.identity for index, text in enumerate(exclude, 1)},
        },
        revision=3,
    )
    plan = Plan(request, inputs, device, train, pools, exclude, ngrams, scans, candidates)
    plan = replace(
        plan, perplexity=_plan_perplexity(inputs, request, candidates), findings=findings
    )
    # With the number of pairs known, the amounts are checked again; models come last.
    if until == "release" and all(pool.plain for pool in pools):
        check_shares(request, sum(pool.plain.lines for pool in pools if pool.plain))
    return plan if until == "candidates" else replace(plan, **_plan_models(plan, model))


def _plan_models(plan: Plan, model: Preset) -> dict[str, Any]:
    request, inputs, device = plan.request, plan.inputs, plan.device
    # The uncertainty: by external models, the user's ensemble, or members to be trained.
    candidates = {"candidates": plan.candidates.key}
    searched = {"device": device, **asdict(request.ensemble_options.search)}
    ensemble, reverse = None, None
    if inputs.members:
        uncertainty = uncertainty_step(inputs.members, searched, candidates)
    else:
        if inputs.ensemble:
            members = {"ensemble": ensemble_identity(inputs.ensemble)}
        else:
            together = request.ensemble_options.gpus_per_member
            check_processes(together, request.execution.device, device)
            ensemble = plan_ensemble(
                preset=model,
                train=plan.train,
                valid=None,
                members=request.members,
                seed=request.seed,
                device=device,
                held_out=request.ensemble_options.held_out,
                processes=together,
            )
            members = {step.name: step.key for step in ensemble.members}
        uncertainty = Step(
            "uncertainty", {**searched, "shard": SHARD}, {**candidates, **members}, revision=3
        )
    # The ensemble of the other direction.
    if inputs.reverse:
        identity = ensemble_identity(inputs.reverse)
        reverse = Step(
            "reverse",
            {"device": device, "shard": SHARD},
            {**candidates, "ensemble": identity},
            revision=2,
        )
    quality = quality_step(uncertainty)
    return {
        "ensemble": ensemble,
        "uncertainty": uncertainty,
        "quality": quality,
        "reverse": reverse,
    }


def _inspect_texts(
    inputs: Inputs, normalisation: Normalisation, accept: bool
) -> tuple[Finding, ...]:
    """The errors in the texts; each is also a warning."""
    texts = [inputs.train, *inputs.pools, *inputs.exclude]
    if inputs.division:  # what is wrong in a corpus is wrong in both of its sides
        texts = [inputs.division.corpus, *inputs.exclude]
    findings = look_at(texts[0], texts[1:], normalisation)
    report(findings, accept=accept)
    return tuple(findings)


def _plan_known(
    inputs: Inputs,
    request: BuildRequest,
    normalisation: Normalisation,
    pools: Sequence[PlannedText],
) -> dict[str, str]:
    """The inputs of the step ``known-ngrams`` with results of ``cgbench overlap``: these results,
    and the pool.
    """
    hashes = {}
    for side, folder in inputs.known.items():
        overlap = read_summary(folder)
        for name in (
            "word_min_count",
            *(["ngram_min_count"] if side == request.filters.degree_side else []),
        ):
            check_count(folder, overlap["counts_up_to"], getattr(request.filters, name), name)
        if request.text_options.anonymise != "none":
            raise InputError(
                f"{argument('known_from')}: {argument('anonymise')} replaces names pair by pair,"
                " which cgbench overlap does not; replace the names first, and run both commands"
                " on that text"
            )
        language = inputs.languages[SIDES.index(side)]
        check_words_alike(folder, overlap["units"]["words"], normalisation.of(language).settings)
        hashes[f"known-{side}"] = _hash_input(sums_of(folder))
    return hashes | (
        {f"pool-{index}": pool.identity for index, pool in enumerate(pools, 1)} if hashes else {}
    )


def _plan_perplexity(inputs: Inputs, request: BuildRequest, candidates: Step) -> Step | None:
    """The step that scores the candidates with the language model, if there is one."""
    if inputs.lm is None:
        if needless := sorted(name for name in LM_SETTINGS if request.as_dict()[name]):
            raise InputError(
                f"{needless[0]}: needs a language model; give one with {argument('lm')}"
            )
        return None
    side = request.ranking.lm_side or request.filters.degree_side
    return Step(
        "perplexity",
        {"side": side},
        {"candidates": candidates.key, "lm": _hash_input(inputs.lm)},
        revision=2,
    )


def _hash_input(path: Path) -> str:
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    return hash_file(path)
