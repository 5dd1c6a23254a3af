"""The settings of ``build-react``, and their presets (``presets/*.yaml``).

Defaults are those of ReaCT (Zheng and Lapata 2023, section 4) where the paper states them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from importlib.resources import files
from typing import Any

from cgbench.benchmark.candidates.amounts import Amount, parse_amount
from cgbench.benchmark.candidates.pair_measures import REFERENCE_LIKELIHOOD
from cgbench.errors import InputError
from cgbench.settings import apply_settings, did_you_mean, read_yaml, setting
from cgbench.text.logical_forms import check_kind
from cgbench.text.tokenizers import check_tokenizer

SIDES = ("source", "target")
MODEL_PREFIXES = ("model.", "training.", "method.", "text.")
LM_SETTINGS = ("drop_perplexity", "lm_side")
LENGTH_RATIO, LENGTH_EXTRA = 1.2, 10  # of the longest translation, as in models/search.py


@dataclass(frozen=True)
class ReactConfig:
    """Every setting of a build. An amount is a number, or a fraction such as ``1/30`` or ``0.05``."""

    tokenize: str = setting(
        "none",
        "how all text is tokenised: ``none``, as it is, ``moses``, ``13a``, ``zh``, ``ja``, ``char``, ``jieba``, "
        "``spacy:LANG``; or one for each side, ``de=moses,zh=jieba``.",
    )
    detokenize: bool = setting(False, "whether Moses tokenisation is undone in all text, first.", later=True)
    lowercase: bool = setting(False, "whether all text is put in lower case.")
    anonymise: str = setting(
        "none",
        "kind of logical form in the target whose names are replaced: ``none``, ``cogs``, ``smcalflow``, ``sparql``.",
        later=True,
    )
    word_min_count: int = setting(
        3,
        "how often a word must be in the training text; pairs with a rarer one are left out.",
    )
    ngram_min_count: int = setting(3, "how often an n-gram must be in the training text to be known.")
    filter_sides: str = setting("both", "sides on which rare words are looked for: ``both``, ``source`` or ``target``.")
    degree_side: str = setting("target", "side whose compositional degree counts: ``source`` or ``target``.")
    min_length: int = setting(6, "words of the shortest sentence, on the side of the degree.")
    max_length: int | None = setting(
        None,
        "words of the longest sentence, on the side of the degree; ``none`` for no limit.",
    )
    candidates: Amount = setting(
        60_000,
        "how many pairs of the highest degree are candidates; as a share, one of the pairs within the length bounds.",
    )
    members: int = setting(10, "models of the ensemble.")
    model: str = setting("transformer_iwslt", "model preset of the members; cgbench models lists them.")
    valid: Amount = setting(
        "1/100",
        "how many training pairs, or which share, are held out for the members' validation, by a hash of their "
        "sources; 0 for none, and then the last update is kept.",
    )
    beam: int = setting(5, "beam of the translation of the candidates; 1 is greedy.")
    max_length_ratio: float = setting(
        LENGTH_RATIO,
        "the longest translation of a candidate: so many subwords for each subword of the source.",
        later=True,
    )
    max_length_extra: int = setting(
        LENGTH_EXTRA, "subwords that a translation may have beyond ``max_length_ratio``.", later=True
    )
    uncertainty: str = setting(
        "rmi",
        "measure that candidates are ranked by; ``rmi`` is reverse mutual information, "
        "``rmi_nbest`` the same over the n-best list.",
    )
    select_by: str = setting(
        "uncertainty",
        "what candidates are ranked by: their ``uncertainty``, or the values of ``--difficulty``, high for hard pairs "
        "(``difficulty``) or for easy ones (``easiness``).",
        later=True,
    )
    drop: Amount = setting(2_000, "how many of the most uncertain candidates are dropped, or which share.")
    drop_perplexity: Amount = setting(
        0,
        "how many candidates of the highest perplexity are dropped before these, or which share; needs a language "
        "model.",
    )
    drop_reference: Amount = setting(
        0,
        "how many candidates whose references the ensemble finds least likely are dropped before the most uncertain, "
        "or which share; the paper drops none.",
        later=True,
    )
    drop_by: str = setting(
        REFERENCE_LIKELIHOOD,
        "measure that ``drop_reference`` goes by, the highest first: ``reference_pe_stu`` is the negative "
        "log-likelihood of the reference per token; ``joint_cross_entropy`` that of the pair. With ``_given_degree`` "
        "after its name, a measure is compared among candidates of like degree and length.",
        later=True,
    )
    window: Amount = setting(
        18_000,
        "how many of the then most uncertain candidates are drawn from, or which share of all.",
    )
    select: Amount = setting(
        3_000,
        "how many of these are drawn at random, or which share of the candidates: the test set.",
    )
    control: bool = setting(
        False,
        "whether to draw a control set: as many pairs that pass the same filters, matched in corpus, length and word "
        "frequency, whatever their degree and uncertainty.",
        later=True,
    )
    seed: int = setting(1, "seed of every random choice, and of the first member.")
    lm_side: str | None = setting(
        None,
        "side of which the language model is, ``source`` or ``target``; ``none`` for that of the degree.",
    )
    licence: str | None = setting(None, "licence of the inputs, for the card.")
    release_text: str = setting(
        "all",
        "text of a release: ``all``, or ``none``, indices and figures alone, for text that may not be passed on.",
        later=True,
    )
    model_settings: dict[str, Any] = field(default_factory=dict)  # changes of the model preset, by dotted name

    def __post_init__(self) -> None:
        for key, choices in (
            ("filter_sides", ("both", *SIDES)),
            ("degree_side", SIDES),
            ("lm_side", (None, *SIDES)),
            ("select_by", ("uncertainty", "difficulty", "easiness")),
            ("release_text", ("all", "none")),
        ):
            value = getattr(self, key)
            if value not in choices:
                raise InputError(f"{key}: {value!r} is not one of {', '.join(filter(None, choices))}")
        for part in self.tokenize.split(","):
            if wrong := check_tokenizer(part.partition("=")[2] or part):
                raise InputError(f"tokenize: {wrong}")
        check_kind(self.anonymise)
        if self.max_length_ratio < 0 or self.max_length_extra < 0 or not self.max_length_ratio + self.max_length_extra:
            raise InputError("max_length_ratio, max_length_extra: neither may be below 0, nor both 0")
        for key in ("word_min_count", "ngram_min_count", "min_length", "members", "beam"):
            if getattr(self, key) < 1:
                raise InputError(f"{key}: must be at least 1")
        if not 0 <= self.seed < 2**63:
            raise InputError("seed: must be from 0 to 2^63 - 1")
        if self.max_length is not None and self.max_length < self.min_length:
            raise InputError(f"max_length: must be at least min_length ({self.min_length})")
        parse_amount("valid", self.valid)
        for key in ("candidates", "drop", "drop_perplexity", "drop_reference", "window", "select"):
            smallest = 0 if key.startswith("drop") else 1
            value = parse_amount(key, getattr(self, key))
            if value < 0 or (value >= 1 and value < smallest) or (value == 0 and smallest):
                raise InputError(f"{key}: {getattr(self, key)!r} must be above 0")

    @property
    def held_out(self) -> str | None:
        """``valid`` as a step knows it: the same for equal amounts; None for none."""
        amount = parse_amount("valid", self.valid)
        return str(amount) if amount else None

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON, model settings flat; those that came later, and those for a language model, only where
        they are set."""
        values = asdict(self)
        later = [field.name for field in fields(self) if field.metadata.get("later")]
        for key in (*LM_SETTINGS, *later):
            if values[key] == getattr(ReactConfig, key):
                del values[key]
        values.update(values.pop("model_settings"))
        return values


def list_presets() -> list[str]:
    """The names that ``--preset`` takes."""
    folder = files("cgbench.benchmark.react") / "presets"
    return sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml"))


def make_config(preset: str, changes: dict[str, Any]) -> ReactConfig:
    """The settings of ``preset`` with ``changes``: keys of :class:`ReactConfig` or of the model preset.

    :raises InputError: the preset or a key is unknown (the nearest is named), or a value does not fit.
    """
    if preset not in list_presets():
        raise InputError(f"unknown preset {preset}{did_you_mean(preset, list_presets())}")
    with_path = files("cgbench.benchmark.react") / "presets" / f"{preset}.yaml"
    own: dict[str, Any] = read_yaml(with_path)  # type: ignore[arg-type]
    model_settings: dict[str, Any] = {}
    for key, value in changes.items():
        if key.startswith(MODEL_PREFIXES):
            model_settings[key] = value
        else:
            own[key] = value
    if "model_settings" in own:
        raise InputError("unknown setting model_settings; write the model's own keys, such as training.max_updates")
    config = apply_settings(ReactConfig(), own)
    return apply_settings_to_model(config, model_settings)


def apply_settings_to_model(config: ReactConfig, changes: dict[str, Any]) -> ReactConfig:
    """``config`` with settings for the model preset, checked against that preset."""
    from dataclasses import replace

    from cgbench.models.config.presets import load_preset

    load_preset(config.model).replace(changes)
    return replace(config, model_settings=dict(sorted(changes.items())))
