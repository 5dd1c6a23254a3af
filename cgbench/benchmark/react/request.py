"""What a build is asked for: its settings, whose presets are ``presets/*.yaml``, and its inputs.

Defaults are those of ReaCT (Zheng and Lapata 2023, section 4) where the paper states them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast

from cgbench.benchmark.candidates.amounts import Amount, PositiveAmount, parse_amount
from cgbench.benchmark.candidates.pair_measures import REFERENCE_LIKELIHOOD
from cgbench.errors import InputError, argument
from cgbench.requests import (
    KW_ONLY,
    AnyEngine,
    AnyFunction,
    Bitext,
    Bitexts,
    Field,
    File,
    Folder,
    Kind,
    Models,
    NamePair,
    Paths,
    are_paths,
    as_path,
    fields_of,
    option,
    read_field,
    request,
)
from cgbench.settings import read_yaml, unknown_setting
from cgbench.text.normalisation import Normalising

SIDES = ("source", "target")
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
_LATER = (
    *LM_SETTINGS, "detokenize", "anonymise", "max_length_ratio", "max_length_extra", "select_by", "drop_reference",
    "drop_by", "control", "release_text",
)  # fmt: skip
"""Settings that are stored only where they have not their default."""


def _fields() -> dict[str, Field]:
    kind: Any = BuildRequest
    return fields_of(kind)


@request
class ReactSettings(Normalising):
    """Every setting of a build. An amount is a number, or a share such as ``1/30`` or ``0.05``."""

    _: KW_ONLY
    anonymise: Literal["none", "cogs", "smcalflow", "sparql"] = option(
        default="none", help="Replace names in the target, which is this kind of logical form", group="Text"
    )
    word_min_count: int = option(
        default=3,
        help="Minimum count of a word in the training text; pairs with a rarer word are dropped",
        least=1,
        is_setting=True,
    )
    ngram_min_count: int = option(
        default=3, help="Minimum count for an n-gram of the training text to be known", least=1, is_setting=True
    )
    filter_sides: Literal["both", "source", "target"] = option(
        default="both", help="Sides on which rare words are looked for", is_setting=True
    )
    degree_side: Side = option(default="target", help="Side whose compositional degree counts", is_setting=True)
    min_length: int = option(
        default=6, help="Minimum length, on the side of the degree", least=1, unit="words", is_setting=True
    )
    max_length: int | None = option(
        default=None,
        help="Maximum length, on the side of the degree; none: no limit",
        least=1,
        unit="words",
        is_setting=True,
    )
    candidates: PositiveAmount = option(
        default=60_000,
        help="Number of pairs of the highest degree that are candidates; a share is one of the pairs within the "
        "length bounds",
        is_setting=True,
    )
    members: int = option(default=10, help="Number of members to train", least=1, group="Members")
    model: str = option(default="transformer_iwslt", help="Model preset of the members", group="Members")
    valid: Amount = option(
        default="1/100",
        help="Number or share of the training pairs held out for the members' validation, by a hash of their sources; "
        "0: none, and the last update is kept",
        is_setting=True,
    )
    beam: int = option(default=5, help="Beam of the translation of the candidates; 1: greedy", least=1, is_setting=True)
    max_length_ratio: float = option(
        default=1.2,
        help="Maximum length of a translation, in subwords per subword of the source",
        least=0,
        is_setting=True,
    )
    max_length_extra: int = option(
        default=10, help="Subwords that a translation may have beyond max_length_ratio", least=0, is_setting=True
    )
    uncertainty: str = option(
        default="rmi",
        help="Measure that candidates are ranked by: rmi (reverse mutual information), rmi_nbest (over the n-best "
        "list), or another of the ensemble",
        is_setting=True,
    )
    select_by: Literal["uncertainty", "difficulty", "easiness"] = option(
        default="uncertainty",
        help="What candidates are ranked by: uncertainty, or the values of --difficulty, high for hard pairs "
        "(difficulty) or for easy ones (easiness)",
        is_setting=True,
    )
    drop: Amount = option(
        default=2_000, help="Number or share of the most uncertain candidates that are dropped", is_setting=True
    )
    drop_perplexity: Amount = option(
        default=0,
        help="Number or share of the candidates of the highest perplexity that are dropped before these; needs a "
        "language model",
        is_setting=True,
    )
    drop_reference: Amount = option(
        default=0,
        help="Number or share of the candidates whose references the ensemble finds least likely that are dropped "
        "before the most uncertain; the paper drops none",
        is_setting=True,
    )
    drop_by: str = option(
        default=REFERENCE_LIKELIHOOD,
        help="Measure that drop_reference goes by, the highest first: reference_pe_stu (negative log-likelihood of the "
        "reference per token), joint_cross_entropy (of the pair); with _given_degree after its name, among candidates "
        "of like degree and length",
        is_setting=True,
    )
    window: PositiveAmount = option(
        default=18_000,
        help="Number or share of the then most uncertain candidates that the test set is drawn from",
        is_setting=True,
    )
    select: PositiveAmount = option(
        default=3_000, help="Size of the test set: a number, or a share of the candidates", is_setting=True
    )
    control: bool = option(
        default=False, help="Also draw a control set, matched in corpus, length and word frequency", group="Release"
    )
    seed: int = option(default=1, help="Seed of every random choice, and of the first member", least=0, most=2**63 - 1)
    lm_side: Side | None = option(
        default=None, help="Side of the language model; none: that of the degree", is_setting=True
    )
    licence: str | None = option(default=None, help="Licence of the inputs, for the card", group="Release")
    release_text: Literal["all", "none"] = option(
        default="all", help="Text of the release; none: indices and scores only", group="Release", flag="text"
    )

    def __post_init__(self) -> None:
        if not self.max_length_ratio + self.max_length_extra:
            raise InputError(f"{argument('max_length_ratio')}, {argument('max_length_extra')}: one must be above 0")
        if self.max_length is not None and self.max_length < self.min_length:
            raise InputError(
                f"{argument('max_length', self.max_length)}: it must be at least min_length ({self.min_length})"
            )

    @property
    def model_settings(self) -> dict[str, Any]:
        """Changes of the model preset, by dotted name."""
        return {}

    @property
    def held_out(self) -> str | None:
        """``valid`` as a step knows it: the same for equal amounts; None for none."""
        amount = parse_amount("valid", self.valid)
        return str(amount) if amount else None

    def as_dict(self) -> dict[str, Any]:
        """The settings as the manifest has them, model settings flat; some (:data:`_LATER`) only where they are set."""
        names = [field.name for field in fields(ReactSettings)]
        values = {name: getattr(self, name) for name in names}
        unset = {name for name in _LATER if values[name] == getattr(ReactSettings, name)}
        return {name: value for name, value in values.items() if name not in unset} | self.model_settings


@request
class BuildRequest(ReactSettings):
    """What :func:`~cgbench.benchmark.react.build_react.build_react` is asked for."""

    open_field = "settings"
    train: Bitext = option(help="Training corpus: two files, or one with both sides", group="Texts")
    pools: Bitexts = option(help="Pool of pairs to choose from; repeatable", flag="pool", group="Texts")
    out: Folder = option(help="Folder of the release", group="Release")
    _: KW_ONLY
    exclude: Bitexts = option(default=(), help="Corpus whose sentences must not occur; repeatable", group="Texts")
    columns: NamePair | None = option(
        default=None,
        help="Source and target column of files with both sides (TSV: from 1)",
        metavar="S,T",
        group="Texts",
    )
    languages: NamePair | None = option(
        default=None, help="Language codes (default: the last parts of the file names)", metavar="S,T", group="Texts"
    )
    accept_text: bool = option(default=False, help="Continue with text that would spoil the benchmark", group="Texts")
    preset: Literal["react", "small", "demo"] = option(
        default="react", help="Settings to start from: react (the paper's), small or demo"
    )
    until: Literal["candidates", "uncertainty", "release"] = option(
        default="release", help="Stop early: after filter and degree (no model), or before the selection"
    )
    ngrams: File | None = option(
        default=None,
        help="File of known n-grams, one phrase per line, instead of the training text",
        group="Known n-grams",
    )
    known_from: KnownFrom = option(
        default=(),
        help="Take known n-grams and rare words of that side from the result of `cgbench overlap --out` on the pool's "
        "text; repeatable",
        metavar="[SIDE=]FOLDER",
        group="Known n-grams",
    )
    arch: str | None = option(default=None, help="Override the architecture of the model preset", group="Members")
    method: str | None = option(
        default=None, help="Training method of the members: none, seqmix, creg or bow", group="Members"
    )
    gpus_per_member: int = option(
        default=1, help="GPUs that train one member together; with --device cpu, processes", least=1, group="Members"
    )
    ensemble: Folder | None = option(default=None, help="Use members trained before", group="Members")
    member: Models = option(
        default=(),
        help="Use external models: hf:ID@REVISION, hf:FOLDER, mc:...?seed=N, or a checkpoint; repeatable, the first "
        "translates",
        group="Members",
    )
    prompt: str | None = option(
        default=None, help="Prompt of an external model; {source} is the sentence", group="Members"
    )
    reverse_ensemble: Folder | None = option(
        default=None, help="Reverse-direction ensemble, for the dual conditional cross-entropy", group="Measures"
    )
    lm: File | None = option(
        default=None, help="Language model (lm train) that gives each candidate a perplexity", group="Measures"
    )
    difficulty: Paths = option(
        default=(),
        help="File with one value per pair of the pool, from any model; one for each --pool (--set "
        "select_by=difficulty)",
        metavar="F",
        group="Measures",
    )
    card_notes: File | None = option(
        default=None, help="What only you know, for the card (YAML: origin, ...)", metavar="FILE", group="Release"
    )
    work: Folder | None = option(
        default=None, help="Folder for texts, models and finished steps (default: beside the release, OUT.work)"
    )
    device: Literal["auto", "cpu", "cuda"] = option(default="auto", help="Where models run")
    jobs: int | None = option(
        default=None, help="Tasks at once (default: the cores); changes no byte", least=1, python_only=True
    )
    engine: AnyEngine | None = option(default=None, help="Where tasks run, instead of here", python_only=True)
    say: AnyFunction | None = option(
        default=None, help="Function that receives one line per step: why it runs or is kept", python_only=True
    )
    settings: Mapping[str, Any] | None = option(
        default=None, help="Settings of the model preset by dotted name, such as training.max_updates", python_only=True
    )

    @classmethod
    def presets(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a preset."""
        name = values.get("preset", "react")
        own = read_yaml(cast(Any, files(__package__) / "presets" / f"{name}.yaml"))
        return {key: read_field(_fields()[key], value) for key, value in own.items()}

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in self.settings or ():
            if key in _fields():
                raise InputError(f"{argument('settings')}: {key} is an argument of its own")
            if not key.startswith(SECTIONS):
                raise unknown_setting(key, _fields())

    @property
    def folders(self) -> tuple[Path, Path | None]:
        """The folder of the release, and that of the work if one was given."""
        return as_path(self.out), None if self.work is None else as_path(self.work)

    @property
    def model_settings(self) -> dict[str, Any]:
        """Changes of the model preset, by dotted name."""
        named = {"model.architecture": self.arch, "method.name": self.method}
        found = {**(self.settings or {}), **{key: value for key, value in named.items() if value is not None}}
        return dict(sorted(found.items()))
