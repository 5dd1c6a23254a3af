"""The settings and inputs of a build. The presets are ``presets/*.yaml``.

Defaults are those of ReaCT (Zheng and Lapata 2023, section 4) where the paper states them.
"""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from cgbench.argument_types import Bitext, Bitexts, Folder, as_path
from cgbench.benchmark.build.react.drawing_options import DrawingOptions
from cgbench.benchmark.build.react.ensemble_options import EnsembleOptions
from cgbench.benchmark.build.react.filter_options import FilterOptions
from cgbench.benchmark.build.react.ranking_options import RankingOptions
from cgbench.benchmark.candidates.amounts import PositiveAmount
from cgbench.benchmark.candidates.division import POOL_SHARE
from cgbench.errors import InputError, argument
from cgbench.request import KW_ONLY, Request, fields_of, flat_values, leaves_of, option
from cgbench.request_fields import Field, read_field
from cgbench.settings import unknown_setting
from cgbench.steps import TaskOptions
from cgbench.text.normalisation import PairOptions
from cgbench.yaml_text import load_yaml

SECTIONS = ("model.", "training.", "method.", "text.")  # of a model preset
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


def default_settings() -> dict[str, Any]:
    """The settings of a build as in the manifest, without a preset: those of the paper."""
    return {name: field.default for name, field in _leaves().items() if name not in _INPUTS}


def _leaves() -> dict[str, Field]:
    kind: Any = BuildRequest
    return leaves_of(kind)
