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
from cgbench.benchmark.candidates.amounts import Amount, PositiveAmount, parse_amount
from cgbench.benchmark.candidates.pair_measures import REFERENCE_LIKELIHOOD
from cgbench.benchmark.candidates.strata import Allocation
from cgbench.errors import InputError, argument
from cgbench.requests import KW_ONLY, Field, flat_values, leaves_of, option, request
from cgbench.settings import unknown_setting
from cgbench.steps import StepOptions
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
    "accept_text",
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


@request
class FilterOptions:
    """Which pairs are candidates: known words and n-grams, length, degree."""

    _: KW_ONLY
    word_min_count: int = option(
        default=3,
        help="Minimum training count of a word; pairs with a rarer word are dropped",
        least=1,
        is_setting=True,
    )
    ngram_min_count: int = option(
        default=3, help="Minimum training count for an n-gram to be known", least=1, is_setting=True
    )
    filter_sides: Literal["both", "source", "target"] = option(
        default="both", help="Sides on which rare words exclude a pair", is_setting=True
    )
    degree_side: Side = option(
        default="target", help="Side that the compositional degree is computed on", is_setting=True
    )
    min_length: int = option(
        default=6,
        help="Minimum length of a pair, on the degree side",
        least=1,
        unit="words",
        is_setting=True,
    )
    max_length: int | None = option(
        default=None,
        help="Maximum length of a pair, on the degree side; none: no limit",
        least=1,
        unit="words",
        is_setting=True,
    )
    candidates: PositiveAmount = option(
        default=60_000,
        help=(
            "Number of pairs with the highest degree to keep as candidates; a share refers to the"
            " pairs within the length limits"
        ),
        is_setting=True,
    )
    known_from: KnownFrom = option(
        default=(),
        help=(
            "Take known n-grams and rare words of that side from an `overlap --out` folder for the"
            " pool; repeatable"
        ),
        metavar="[SIDE=]FOLDER",
        group="Advanced",
    )

    def __post_init__(self) -> None:
        if self.max_length is not None and self.max_length < self.min_length:
            raise InputError(
                f"{argument('max_length', self.max_length)}: it must be at least min_length"
                f" ({self.min_length})"
            )


@request
class EnsembleOptions:
    """The ensemble that translates the candidates: how it is trained, or which trained one; its
    search.
    """

    _: KW_ONLY
    arch: str | None = option(
        default=None, help="Override the preset's architecture", group="Ensemble"
    )
    method: Name | None = option(
        default=None, help="Training method: none, seqmix, creg or bow", group="Ensemble"
    )
    valid: Amount = option(
        default="1/100",
        help=(
            "Number or share of the training pairs held out to validate the members, chosen by a"
            " hash of the source; 0: none, and the last update is kept"
        ),
        is_setting=True,
    )
    gpus_per_member: int = option(
        default=1,
        help="Number of GPUs that train one member together; processes with --device cpu",
        least=1,
        is_setting=True,
    )
    ensemble: Folder | None = option(
        default=None, help="Use the trained members in this folder", group="Ensemble"
    )
    member: Models = option(
        default=(),
        help=(
            "Use an external model: hf:ID@REVISION, hf:FOLDER, mc:...?seed=N, or a checkpoint;"
            " repeatable, the first one translates"
        ),
        group="Ensemble",
    )
    prompt: str | None = option(
        default=None,
        help="Prompt of an external model, with {source} for the sentence",
        group="Advanced",
    )
    reverse_ensemble: Folder | None = option(
        default=None,
        help="Reverse-direction ensemble, for dual conditional cross-entropy",
        group="Advanced",
    )
    beam: int = option(
        default=5,
        help="Beam size for translating the candidates; 1: greedy",
        least=1,
        is_setting=True,
    )
    max_length_ratio: float = option(
        default=1.2,
        help="Maximum length of a translation, in subwords per source subword",
        least=0,
        is_setting=True,
    )
    max_length_extra: int = option(
        default=10,
        help="Number of subwords allowed beyond max_length_ratio",
        least=0,
        is_setting=True,
    )

    def __post_init__(self) -> None:
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


@request
class RankingOptions:
    """How candidates are ranked, and which are dropped as noise."""

    _: KW_ONLY
    uncertainty: str = option(
        default="rmi",
        help=(
            "Measure that ranks the candidates: rmi (reverse mutual information) or another measure"
            " of the ensemble"
        ),
        is_setting=True,
    )
    select_by: Literal["uncertainty", "difficulty", "easiness"] = option(
        default="uncertainty",
        help=(
            "Ranking of the candidates: by uncertainty, or by the values of --difficulty, where"
            " high values mean hard pairs (difficulty) or easy pairs (easiness)"
        ),
        is_setting=True,
    )
    drop: Amount = option(
        default=2_000,
        help="Number or share of the most uncertain candidates to drop",
        is_setting=True,
    )
    drop_perplexity: Amount = option(
        default=0,
        help=(
            "Number or share of the candidates with the highest perplexity to drop first; needs a"
            " language model"
        ),
        is_setting=True,
    )
    drop_reference: Amount = option(
        default=0,
        help=(
            "Number or share of the candidates with the least likely references to drop before the"
            " most uncertain ones; the paper drops none"
        ),
        is_setting=True,
    )
    drop_by: str = option(
        default=REFERENCE_LIKELIHOOD,
        help=(
            "Measure that drop_reference ranks by, highest first: reference_pe_stu (negative"
            " log-likelihood of the reference per token) or joint_cross_entropy (of the pair); with"
            " the suffix _given_degree, among candidates of similar degree and length if noise is"
            " estimated to be rare"
        ),
        is_setting=True,
    )
    lm: File | None = option(
        default=None,
        help="Language model from `lm train`, for the perplexity of each candidate",
        group="Selection",
    )
    lm_side: Side | None = option(
        default=None,
        help="Side that the language model scores; none: the degree side",
        is_setting=True,
    )
    difficulty: Paths = option(
        default=(),
        help=(
            "File with one value per pair of a pool, from any model; give one per --pool, and --set"
            " select_by=difficulty"
        ),
        group="Advanced",
    )


@request
class DrawingOptions:
    """How the test set, the control set and the stratified sample are drawn."""

    _: KW_ONLY
    window: PositiveAmount = option(
        default=18_000,
        help=(
            "Number or share of the remaining most uncertain candidates to sample the test set from"
        ),
        is_setting=True,
    )
    select: PositiveAmount = option(
        default=3_000,
        help="Size of the test set: a number, or a share of the candidates",
        is_setting=True,
    )
    draw_by: Literal["pair", "document"] = option(
        default="pair",
        help=(
            "What to draw from the window: single pairs, or whole documents until there are at"
            " least `select` pairs"
        ),
        is_setting=True,
    )
    design: Literal["window", "stratified"] = option(
        default="window",
        help=(
            "What is drawn: the test set from the window (window), or also a stratified sample of"
            " all candidates, which `score --estimate candidates` needs (stratified)"
        ),
        group="Selection",
    )
    sample: PositiveAmount | None = option(
        default=None,
        help=(
            "Size of the stratified sample: a number, or a share of the candidates [default: as"
            " many as select]"
        ),
        is_setting=True,
    )
    strata: int = option(
        default=10, help="Maximum number of strata by uncertainty", least=1, is_setting=True
    )
    allocation: Allocation = option(
        default="neyman",
        help=(
            "Draws per stratum: equal, proportional to its size, or neyman (size times standard"
            " deviation of the ensemble's own sentence chrF)"
        ),
        is_setting=True,
    )
    control: bool = option(
        default=False,
        help="Also sample a control set, matched in corpus, length and word frequency",
        group="Selection",
    )
    document: str | None = option(
        default=None,
        help=(
            "Column of the pool that names the document of each pair, or blank-lines: documents of"
            " plain text are separated by lines that are empty on both sides"
        ),
        metavar="COLUMN",
        group="Input",
    )

    def __post_init__(self) -> None:
        if self.draw_by == "document" and self.document is None:
            raise InputError(
                f"draw_by=document: needs documents; name them with {argument('document')}"
            )


@request
class ReleaseOptions:
    """What a release holds besides the pairs."""

    _: KW_ONLY
    licence: str | None = option(
        default=None,
        help="Licence of the input text, for the README of the release",
        group="Output",
    )
    release_text: Literal["all", "none"] = option(
        default="all",
        help="Text to include; none: indices and scores only",
        group="Output",
        flag="text",
    )


@request
class BuildExecution(StepOptions):
    """How a build runs."""

    _: KW_ONLY
    until: Literal["candidates", "uncertainty", "release"] = option(
        default="release",
        help=(
            "Stop early: after filtering and degree (candidates), or before the selection"
            " (uncertainty)"
        ),
        group="Selection",
    )
    accept_text: bool = option(
        default=False,
        help="Build even if the checks of the text find serious problems",
        group="Advanced",
    )
    work: Folder | None = option(
        default=None,
        help="Workspace: texts, models and finished steps [default: OUT.work]",
        group="Advanced",
    )
    device: Literal["auto", "cpu", "cuda"] = option(
        default="auto", help="Device that runs the models", group="Execution"
    )


@request
class BuildRequest:
    """What :func:`~cgbench.benchmark.build.react.build_react.build_react` is asked for."""

    open_field = "settings"
    train: Bitext = option(help="Training corpus: two files, or one with both sides", group="Input")
    pools: Bitexts = option(
        help="Pool of pairs to select from; repeatable", flag="pool", group="Input"
    )
    out: Folder = option(help="Folder of the release", group="Output")
    _: KW_ONLY
    exclude: Bitexts = option(
        default=(),
        help="Corpus whose sentences must not occur in the test set; repeatable",
        group="Input",
    )
    preset: Literal["react", "small", "demo"] = option(
        default="react",
        help="Settings to start from: react (the paper's), small or demo",
        group="Selection",
    )
    seed: int = option(
        default=1,
        help="Random seed, also of the first member",
        least=0,
        most=2**63 - 1,
        group="Selection",
    )
    model: str = option(
        default="transformer_iwslt", help="Model preset of the members", group="Ensemble"
    )
    members: int = option(default=10, help="Number of members to train", least=1, group="Ensemble")
    text_options: PairOptions = option(
        default=PairOptions(), help="How text is read and normalised"
    )
    filters: FilterOptions = option(default=FilterOptions(), help="Which pairs are candidates")
    ensemble_options: EnsembleOptions = option(
        default=EnsembleOptions(), help="The ensemble and its search"
    )
    ranking: RankingOptions = option(
        default=RankingOptions(), help="How candidates are ranked and dropped"
    )
    drawing: DrawingOptions = option(
        default=DrawingOptions(), help="How test set, control set and sample are drawn"
    )
    release_options: ReleaseOptions = option(
        default=ReleaseOptions(), help="Licence and text of the release"
    )
    execution: BuildExecution = option(
        default=BuildExecution(), help="Where the build runs, and where it stops"
    )
    settings: Mapping[str, Any] | None = option(
        default=None,
        help="Settings of the model preset by dotted name, such as training.max_updates",
        python_only=True,
    )

    @classmethod
    def presets(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a preset."""
        return dict(
            load_yaml(files(__package__) / "presets" / f"{values.get('preset', 'react')}.yaml")
        )

    def __post_init__(self) -> None:
        for key in self.settings or ():
            if key in _leaves():
                raise InputError(
                    f"{argument('settings')}: {key} is a separate argument; pass it directly"
                )
            if not key.startswith(SECTIONS):
                raise unknown_setting(key, _leaves())

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


def default_settings() -> dict[str, Any]:
    """The settings of a build as in the manifest, without a preset: those of the paper."""
    return {name: field.default for name, field in _leaves().items() if name not in _INPUTS}


def _leaves() -> dict[str, Field]:
    kind: Any = BuildRequest
    return leaves_of(kind)
