"""The settings and inputs of a build. The presets are ``presets/*.yaml``.

Defaults are those of ReaCT (Zheng and Lapata 2023, section 4) where the paper states them.
"""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from cgbench.argument_types import (
    Bitext,
    Bitexts,
    File,
    Folder,
    Kind,
    Models,
    Name,
    Paths,
    are_paths,
    as_path,
)
from cgbench.benchmark.candidates.amounts import Amount, CutAmount, PositiveAmount, parse_amount
from cgbench.benchmark.candidates.division import POOL_SHARE
from cgbench.benchmark.candidates.pair_measures import REFERENCE_LIKELIHOOD
from cgbench.benchmark.candidates.strata import Allocation
from cgbench.errors import InputError, argument
from cgbench.request import KW_ONLY, Request, fields_of, flat_values, leaves_of, option
from cgbench.request_fields import Field, read_field
from cgbench.settings import unknown_setting
from cgbench.steps import TaskOptions
from cgbench.text.normalisation import PairOptions
from cgbench.yaml_text import load_yaml

SECTIONS = ("model.", "training.", "method.", "text.")  # of a model preset
LM_SETTINGS = ("drop_perplexity", "lm_side")
Side: TypeAlias = Literal["source", "target"]
KnownFrom: TypeAlias = Annotated[
    Any,
    Kind(
        "folders",
        "a folder, or one per side, as source=FOLDER",
        lambda value: are_paths(list(value.values()) if isinstance(value, Mapping) else value),
        many=True,
    ),
]
_INPUTS = (
    "train",
    "pools",
    "corpus",
    "pool_share",
    "out",
    "exclude",
    "preset",
    "columns",
    "languages",
    "known_from",
    "arch",
    "method",
    "gpus_per_member",
    "ensemble",
    "member",
    "prompt",
    "reverse_ensemble",
    "lm",
    "difficulty",
    "until",
    "explain",
    "accept_text",
    "accept_ensemble",
    "work",
    "device",
    "jobs",
    "engine",
    "say",
    "settings",
)
"""Fields that are no settings: the manifest describes them elsewhere, or they do not change the
release.
"""


class FilterOptions(Request):
    """Which pairs are candidates: known words and n-grams, length, degree."""

    _: KW_ONLY
    word_min_count: int = option(
        "--set word_min_count",
        default=3,
        help="Minimum training count of a word; pairs with a rarer word are dropped",
        least=1,
    )
    ngram_min_count: int = option(
        "--set ngram_min_count",
        default=3,
        help="Minimum training count for an n-gram to be known",
        least=1,
    )
    filter_sides: Literal["both", "source", "target"] = option(
        "--set filter_sides",
        default="both",
        help="Sides on which rare words exclude a pair",
    )
    degree_side: Side = option(
        "--set degree_side",
        default="target",
        help="Side that the compositional degree is computed on",
    )
    min_length: int = option(
        "--set min_length",
        default=6,
        help="Minimum length of a pair, on the degree side",
        least=1,
        unit="words",
    )
    max_length: int | None = option(
        "--set max_length",
        default=None,
        help="Maximum length of a pair, on the degree side; none: no limit",
        least=1,
        unit="words",
    )
    candidates: PositiveAmount = option(
        "--set candidates",
        default=60_000,
        help=(
            "Number of pairs with the highest degree to keep as candidates; a share refers to the"
            " pairs within the length limits"
        ),
    )
    known_from: KnownFrom = option(
        "--known-from",
        default=(),
        help=(
            "Take known n-grams and rare words of that side from an `overlap --out` folder for the"
            " pool; repeatable"
        ),
        metavar="[SIDE=]FOLDER",
        group="Advanced",
    )

    def check(self) -> None:
        """The limits of the length fit together."""
        if self.max_length is not None and self.max_length < self.min_length:
            raise InputError(
                f"{argument('max_length', self.max_length)}: it must be at least min_length"
                f" ({self.min_length})"
            )


class EnsembleOptions(Request):
    """The ensemble that translates the candidates: how it is trained, or which trained one; its
    search.
    """

    _: KW_ONLY
    arch: str | None = option(
        "--arch",
        metavar="NAME",
        default=None,
        help="Override the preset's architecture",
        group="Advanced",
    )
    method: Name | None = option(
        "--method",
        metavar="NAME",
        default=None,
        help="Training method: none, seqmix, creg or bow",
        group="Ensemble",
    )
    valid: Amount = option(
        "--set valid",
        default="1/100",
        help=(
            "Number or share of the training pairs held out to validate the members, chosen by a"
            " hash of the source; 0: none, and the last update is kept"
        ),
    )
    gpus_per_member: int = option(
        "--set gpus_per_member",
        default=1,
        help="Number of GPUs that train one member together; processes with --device cpu",
        least=1,
    )
    ensemble: Folder | None = option(
        "--ensemble",
        default=None,
        help="Use the trained members in this folder",
        group="Ensemble",
    )
    member: Models = option(
        "--member",
        default=(),
        help=(
            "Use an external model: hf:ID@REVISION, hf:FOLDER, mc:...?seed=N, or a checkpoint;"
            " repeatable, the first one translates"
        ),
        group="Ensemble",
    )
    prompt: str | None = option(
        "--prompt",
        default=None,
        help="Prompt of an external model, with {source} for the sentence",
        group="Advanced",
    )
    reverse_ensemble: Folder | None = option(
        "--set reverse_ensemble",
        default=None,
        help="Folder of a reverse-direction ensemble, for dual conditional cross-entropy",
    )
    epochs: float | None = option(
        "--set epochs",
        default=None,
        help=(
            "Train each member for this number of passes over the training corpus, within"
            " training.max_updates; none: training.max_updates"
        ),
        above=0,
    )
    accept_ensemble: bool = option(
        "--set accept_ensemble",
        default=False,
        help="Select even if the ensemble is no better than copying the source or a constant",
    )
    beam: int = option(
        "--set beam",
        default=5,
        help="Beam size for translating the candidates; 1: greedy",
        least=1,
    )
    max_length_ratio: float = option(
        "--set max_length_ratio",
        default=1.2,
        help="Maximum length of a translation, in subwords per source subword",
        least=0,
    )
    max_length_extra: int = option(
        "--set max_length_extra",
        default=10,
        help="Number of subwords allowed beyond max_length_ratio",
        least=0,
    )

    def check(self) -> None:
        """A translation may have a word."""
        if not self.max_length_ratio + self.max_length_extra:
            raise InputError(
                f"{argument('max_length_ratio')}, {argument('max_length_extra')}: one must be"
                " above 0"
            )

    @property
    def search(self) -> dict[str, Any]:
        """The settings of the search, as for :meth:`.Ensemble.translate`."""
        return {
            name: getattr(self, name) for name in ("beam", "max_length_ratio", "max_length_extra")
        }

    @property
    def held_out(self) -> str | None:
        """``valid`` in a form that is the same for equal amounts; None for none."""
        amount = parse_amount("valid", self.valid)
        return str(amount) if amount else None


class RankingOptions(Request):
    """How candidates are ranked, and which are dropped as noise."""

    _: KW_ONLY
    uncertainty: str = option(
        "--set uncertainty",
        default="rmi",
        help=(
            "Measure that ranks the candidates: rmi (reverse mutual information) or another measure"
            " of the ensemble"
        ),
    )
    select_by: Literal["uncertainty", "difficulty", "easiness"] = option(
        "--set select_by",
        default="uncertainty",
        help=(
            "Ranking of the candidates: by uncertainty, or by the values of --difficulty, where"
            " high values mean hard pairs (difficulty) or easy pairs (easiness)"
        ),
    )
    drop: Amount = option(
        "--set drop",
        default=2_000,
        help="Number or share of the most uncertain candidates to drop",
    )
    drop_perplexity: Amount = option(
        "--set drop_perplexity",
        default=0,
        help=(
            "Number or share of the candidates with the highest perplexity to drop first; needs a"
            " language model"
        ),
    )
    drop_reference: CutAmount = option(
        "--set drop_reference",
        default=0,
        help=(
            "Number or share of the candidates with the least likely references to drop before the"
            " most uncertain ones; auto: at most 1/20, fewer if hardly any noise is estimated; the"
            " paper drops none"
        ),
    )
    drop_by: str = option(
        "--set drop_by",
        default=REFERENCE_LIKELIHOOD,
        help=(
            "Measure that drop_reference ranks by, highest first: reference_pe_stu (negative"
            " log-likelihood of the reference per token) or joint_cross_entropy (of the pair); with"
            " the suffix _given_degree, among candidates of similar degree and length if noise is"
            " estimated to be rare"
        ),
    )
    lm: File | None = option(
        "--lm",
        default=None,
        help="Language model from `lm train`, for the perplexity of each candidate",
        group="Selection",
    )
    lm_side: Side | None = option(
        "--set lm_side",
        default=None,
        help="Side that the language model scores; none: the degree side",
    )
    difficulty: Paths = option(
        "--difficulty",
        default=(),
        help=(
            "File with one value per pair of a pool, from any model; give one per --pool, and --set"
            " select_by=difficulty"
        ),
        group="Advanced",
    )


class DrawingOptions(Request):
    """How the test set, the control set and the stratified sample are drawn."""

    _: KW_ONLY
    window: PositiveAmount = option(
        "--set window",
        default=18_000,
        help=(
            "Number or share of the remaining most uncertain candidates to sample the test set from"
        ),
    )
    select: PositiveAmount = option(
        "--set select",
        default=3_000,
        help="Size of the test set: a number, or a share of the candidates",
    )
    draw_by: Literal["pair", "document"] = option(
        "--set draw_by",
        default="pair",
        help=(
            "What to draw from the window: single pairs, or whole documents until there are at"
            " least `select` pairs"
        ),
    )
    design: Literal["window", "stratified"] = option(
        "--design",
        default="window",
        help=(
            "What is drawn: the test set from the window (window), or also a stratified sample of"
            " all candidates, which `score --estimate candidates` needs (stratified)"
        ),
        group="Selection",
    )
    sample: PositiveAmount | None = option(
        "--set sample",
        default=None,
        help=(
            "Size of the stratified sample: a number, or a share of the candidates [default: as"
            " many as select]"
        ),
    )
    strata: int = option(
        "--set strata",
        default=10,
        help="Maximum number of strata by uncertainty",
        least=1,
    )
    allocation: Allocation = option(
        "--set allocation",
        default="neyman",
        help=(
            "Draws per stratum: equal, proportional to its size, or neyman (size times standard"
            " deviation of the ensemble's own sentence chrF)"
        ),
    )
    control: bool = option(
        "--control",
        default=False,
        help="Also sample a control set, matched in corpus, length and word frequency",
        group="Selection",
    )
    document: str | None = option(
        "--document",
        default=None,
        help=(
            "Column of the pool that names the document of each pair, or blank-lines: documents of"
            " plain text are separated by lines that are empty on both sides"
        ),
        metavar="COLUMN",
        group="Input",
    )

    def check(self) -> None:
        """Documents need a column."""
        if self.draw_by == "document" and self.document is None:
            raise InputError(
                f"draw_by=document: needs documents; name them with {argument('document')}"
            )


class ReleaseOptions(Request):
    """What a release holds besides the pairs."""

    _: KW_ONLY
    licence: str | None = option(
        "--set licence",
        default=None,
        help="Licence of the input text, for the README of the release",
        group="Output",
    )
    release_text: Literal["all", "none"] = option(
        "--text",
        default="all",
        help="Text to include; none: indices and scores only",
        group="Output",
    )


class BuildExecution(Request):
    """How a build runs."""

    _: KW_ONLY
    explain: bool = option(
        "--set explain",
        default=False,
        help="Print for each step why it runs or is kept",
    )
    tasks: TaskOptions = option(default=TaskOptions(), help="Where tasks run (TaskOptions)")
    until: Literal["candidates", "uncertainty", "release"] = option(
        "--until",
        default="release",
        help=(
            "Stop early: after filtering and degree (candidates), or before the selection"
            " (uncertainty)"
        ),
        group="Selection",
    )
    accept_text: bool = option(
        "--accept-text",
        default=False,
        help="Build even if the checks of the text find serious problems",
        group="Advanced",
    )
    work: Folder | None = option(
        "--work",
        default=None,
        help="Workspace: texts, models and finished steps [default: OUT.work]",
        group="Advanced",
    )
    device: Literal["auto", "cpu", "cuda"] = option(
        "--device",
        default="auto",
        help="Device that runs the models",
        group="Execution",
    )


class BuildRequest(Request):
    """What :func:`~cgbench.benchmark.build.react.build_react.build_react` is asked for."""

    open_field = "settings"
    settings_group = "Selection"
    train: Bitext | None = option(
        "--train",
        default=None,
        help="Training corpus: two files, or one with both sides",
        group="Input",
    )
    pools: Bitexts = option(
        "--pool",
        default=(),
        help="Pool of pairs to select from; repeatable",
        group="Input",
    )
    _: KW_ONLY
    out: Folder = option(
        "--out",
        help="Folder of the release",
        group="Output",
    )
    corpus: Bitext | None = option(
        "--corpus",
        default=None,
        help="Instead of --train and --pool: one corpus, which is divided into both",
        group="Input",
    )
    pool_share: PositiveAmount = option(
        "--set pool_share",
        default=POOL_SHARE,
        help="Number or share of the pairs of --corpus that become the pool",
    )
    exclude: Bitexts = option(
        "--exclude",
        default=(),
        help="Corpus whose sentences must not occur in the test set; repeatable",
        group="Input",
    )
    preset: Literal["react", "small", "laptop", "demo"] = option(
        "--preset",
        default="react",
        help="Settings to start from: react (the paper's), small, laptop or demo",
        group="Selection",
    )
    seed: int = option(
        "--seed",
        default=1,
        help="Random seed, also of the first member",
        least=0,
        most=2**63 - 1,
        group="Selection",
    )
    model: str = option(
        "--model",
        metavar="NAME",
        default="transformer_iwslt",
        help="Model preset of the members",
        group="Ensemble",
    )
    members: int = option(
        "--members",
        default=10,
        help="Number of members to train",
        least=1,
        group="Ensemble",
    )
    text_options: PairOptions = option(
        default=PairOptions(),
        help="How text is read and normalised",
    )
    filters: FilterOptions = option(
        default=FilterOptions(),
        help="Which pairs are candidates",
    )
    ensemble_options: EnsembleOptions = option(
        default=EnsembleOptions(),
        help="The ensemble and its search",
    )
    ranking: RankingOptions = option(
        default=RankingOptions(),
        help="How candidates are ranked and dropped",
    )
    drawing: DrawingOptions = option(
        default=DrawingOptions(),
        help="How test set, control set and sample are drawn",
    )
    release_options: ReleaseOptions = option(
        default=ReleaseOptions(),
        help="Licence and text of the release",
    )
    execution: BuildExecution = option(
        default=BuildExecution(),
        help="Where the build runs, and where it stops",
    )
    settings: Mapping[str, Any] | None = option(
        default=None,
        help="Settings of the model preset by dotted name, such as training.max_updates",
    )

    @classmethod
    def presets(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The settings of a preset."""
        field = fields_of(cls)["preset"]
        preset = read_field(field, arguments.get("preset", field.default))
        settings: dict[str, Any] = load_yaml(files(__package__) / "presets" / f"{preset}.yaml")
        return settings

    def implied(self) -> Mapping[str, Any]:
        """No preset of a model where members are trained already."""
        return {"model": fields_of(type(self))["model"].default} if self.trained else {}

    def check(self) -> None:
        """One corpus, or two texts. Members that are trained already are taken as they are;
        settings are of the model.
        """
        self._check_corpora()
        if self.trained and "model" in self.given:
            raise self.refused("model")
        for name in ("arch", "method"):
            if self.trained and getattr(self.ensemble_options, name) is not None:
                raise self.refused(name)
        for key in self.settings or ():
            if key in _leaves():
                raise InputError(
                    f"{argument('settings')}: {key} is a separate argument; pass it directly"
                )
            if not key.startswith(SECTIONS):
                raise unknown_setting(key, _leaves())

    def _check_corpora(self) -> None:
        if self.corpus is None:
            for name in ("train", "pools"):
                if not getattr(self, name):
                    raise InputError(
                        f"{argument(name)}: it is missing; give a training corpus and a pool, or"
                        f" one corpus to divide into both ({argument('corpus')})"
                    )
            if "pool_share" in self.given:
                raise InputError(f"{argument('pool_share')} needs {argument('corpus')}")
            return
        for name in ("train", "pools", "known_from", "difficulty"):
            if flat_values(self)[name]:
                raise InputError(
                    f"{argument('corpus')} is divided into training corpus and pool; leave"
                    f" {argument(name)} out"
                )

    @property
    def trained(self) -> str:
        """The argument that gives trained members; empty if they are to be trained."""
        options = self.ensemble_options
        return "ensemble" if options.ensemble else "member" if options.member else ""

    def refused(self, name: str) -> InputError:
        """The error for an argument about the training of members, where they are trained."""
        return InputError(
            f"{argument(self.trained)} takes members as they are; leave {argument(name)} out"
        )

    @property
    def folders(self) -> tuple[Path, Path | None]:
        """The folder of the release, and that of the work if set."""
        return as_path(self.out), (
            None if self.execution.work is None else as_path(self.execution.work)
        )

    @property
    def model_settings(self) -> dict[str, Any]:
        """Changes to the model preset, by dotted name."""
        options = {
            "model.architecture": self.ensemble_options.arch,
            "method.name": self.ensemble_options.method,
        }
        changes = {
            **(self.settings or {}),
            **{key: value for key, value in options.items() if value is not None},
        }
        return dict(sorted(changes.items()))

    def as_dict(self) -> dict[str, Any]:
        """The settings as in the manifest, model settings flat."""
        values = {name: value for name, value in flat_values(self).items() if name not in _INPUTS}
        return values | self.model_settings


class DemoRequest(Request):
    """What :func:`~cgbench.benchmark.build.react.demo.run_demo` is asked for."""

    open_field = "settings"
    settings_group = "Selection"
    out: Folder = option(
        "--out",
        default="demo",
        help="Folder for the corpus and the release",
        group="Output",
    )
    _: KW_ONLY
    seed: int = option(
        "--seed",
        default=1,
        help="Random seed of the corpus and the build",
        least=0,
        group="Selection",
    )
    settings: Mapping[str, Any] | None = option(
        default=None, help="Settings of the build that differ from the preset `demo`"
    )
    tasks: TaskOptions = option(default=TaskOptions(), help="Where tasks run (TaskOptions)")


def default_settings() -> dict[str, Any]:
    """The settings of a build as in the manifest, without a preset: those of the paper."""
    return {name: field.default for name, field in _leaves().items() if name not in _INPUTS}


def _leaves() -> dict[str, Field]:
    kind: Any = BuildRequest
    return leaves_of(kind)
