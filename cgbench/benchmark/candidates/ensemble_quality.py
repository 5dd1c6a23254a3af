"""How well the ensemble of a build translates, to detect an ensemble that has learned nothing.

Knowledge uncertainty ranks pairs by the disagreement of members. Members that cannot translate also
disagree, about which word to repeat. So a build records the validation loss of each member, chrF
and BLEU on pairs that no member has seen, and the shape of the translations. It warns if these show
that the uncertainties mean nothing (docs/reference/build-react.md, "How well the ensemble
translates").
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cgbench.benchmark.candidates.noise_measures import (
    NO_LOSSES,
    NOISE,
    TRAINING,
    UnlikelyPairs,
    scrambled_sources,
    with_similar_references,
)
from cgbench.benchmark.candidates.noise_share import SHUFFLED
from cgbench.benchmark.candidates.uncertainty import REFERENCE, shard_needs
from cgbench.engines import Engine
from cgbench.files import write_json
from cgbench.models.checkpoints import METRICS, read_config
from cgbench.models.search_settings import SearchSettings
from cgbench.steps import Step, hash_value
from cgbench.text.plain_text import words_of
from cgbench.text.profile import is_unspaced
from cgbench.text.streams import read_lines

if TYPE_CHECKING:
    from cgbench.models.ensemble import Ensemble

QUALITY = "quality.json"
HELD_OUT = 1_000  # maximum number of held-out pairs to translate, evenly spaced
SCORED = 5_000  # maximum number of candidates for chrF and BLEU, evenly spaced
PAIRED_ANEW = 500  # maximum number of sources to score with other references, evenly spaced
UNIGRAMS = 20_000  # maximum number of training sentences for the unigram model, evenly spaced
CONSTANTS = 50  # training sentences that are tried as the one translation of everything
MOST = 0.5  # a share above this is "most"

MEANING = {
    "unigram": (
        "the ensemble predicts translations no better than a unigram model of the training targets,"
        " which does not read the source"
    ),
    "copy": (
        "the translations are no closer to the references than the untranslated sources are (chrF)"
    ),
    "constant": (
        "the translations are no closer to the references than one training sentence, the same for"
        " every source, is (chrF)"
    ),
    "cut": "most translations were cut at the length limit",
    "equal": "fewer than half of the translations are distinct, though all sources are",
    "repetitive": (
        "most translations repeat themselves (at most half of their word pairs are distinct)"
    ),
}
"""The warnings by their names in the manifest."""
SOURCE_IGNORED = ("unigram", "copy", "constant", "equal")
"""The warnings of an ensemble that is no better than one that does not translate. Its uncertainty
selects nothing, so a build stops there.
"""
REMEDY = (
    "the ensemble has learned too little for its uncertainty to mean anything; train it longer or"
    " on more text"
)


def control_step(uncertainty: Step, sources: Sequence[str], targets: Sequence[str]) -> Step:
    """The workspace step of the ensemble's scores on a control set."""
    texts = hash_value([*sources, *targets])
    inputs = {"uncertainty": uncertainty.key, "control": texts}
    return Step("control-quality", {}, inputs, revision=2)


def quality_step(uncertainty: Step) -> Step:
    """The step that measures the ensemble behind the step ``uncertainty``."""
    settings = {
        "held_out": HELD_OUT,
        "scored": SCORED,
        "unigrams": UNIGRAMS,
        "constants": CONSTANTS,
        SHUFFLED: PAIRED_ANEW,
    }
    return Step("ensemble-quality", settings, {"uncertainty": uncertainty.key}, revision=2)


def measure_quality(
    out: Path,
    measures: Mapping[str, Sequence[Any]],
    texts: tuple[Sequence[str], Sequence[str]],
    *,
    members: Sequence[Path],
    train: tuple[Path, Path],
    train_lines: int,
    held_out: tuple[Path, Path] | None,
    search: SearchSettings,
    device: str,
    engine: Engine,
    scores: Callable[[Sequence[str], Sequence[str]], dict[str, float]],
) -> None:
    """Write the quality of the ensemble to ``out/quality.json``.

    :param measures: of the candidates by name, from the step ``uncertainty``; ``texts``: their
        sources and targets.
    :param members: checkpoints of one ensemble; empty for external models, where only the outputs
        are measured.
    :param train: both sides of the training text, of ``train_lines`` lines; ``held_out``: the
        validation pairs.
    :param scores: chrF and BLEU of hypotheses and references, by name.
    """
    sources, references = texts

    def scored(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
        return scores(_spread(hypotheses, SCORED), _spread(references, SCORED))

    # The validation of the members, and the shape of the translations of the candidates.
    hypotheses = list(map(str, measures["hypothesis"]))
    quality: dict[str, Any] = {
        "members": [validation_of(member) for member in members],
        "held_out": None,
        "candidates": {
            "pairs": len(hypotheses),
            **scored(hypotheses, references),
            **shape_of(hypotheses),
        },
    }
    quality["candidates"]["repetitive_references"] = shape_of(references)["repetitive"]
    # Losses, which need the members; and the translations of held-out pairs.
    if members:
        held_out_texts = (
            tuple(_spread(list(read_lines(path)), HELD_OUT) for path in held_out)
            if held_out
            else ([], [])
        )
        lengths = list(map(token_count, measures["log_prob"], measures["pe_stu"]))
        totals = measures[f"{REFERENCE}log_prob"]

        def training_lines(side: int, most: int) -> list[str]:
            """At most ``most`` lines, evenly spaced."""
            step = max(1, train_lines // most)
            return list(islice(read_lines(train[side]), 0, step * most, step))

        targets = training_lines(1, UNIGRAMS)
        measurement = Measurement(
            members=tuple(members),
            device=device,
            search=search,
            training=targets,
            sources=sources,
            references=references,
            lengths=lengths,
            log_probabilities=totals,
            held_out_sources=held_out_texts[0],
            held_out_targets=held_out_texts[1],
        )
        tasks = [(measurement,)]
        scrambled = scrambled_sources(training_lines(0, TRAINING), sources)
        losses = np.array(measures[f"{REFERENCE}pe_stu"], np.float64)
        for measured, translations, unlikely in engine.run(
            Measurement.run, tasks, shard_needs(device)
        ):
            quality["candidates"] |= measured["candidates"]
            if unlikely:
                quality["candidates"] |= {
                    SHUFFLED: _finite(unlikely.median),
                    NOISE: unlikely.measures(losses, sources, references, scrambled),
                }
            if translations:
                quality["held_out"] = {
                    "pairs": len(translations),
                    **scored(translations, held_out_texts[1]),
                }
                quality["held_out"] |= shape_of(translations) | measured["held_out"]
        # What needs no model: copies of the sources, and one sentence for all of them.
        name, (left, right) = (
            ("held_out", held_out_texts) if quality["held_out"] else ("candidates", texts)
        )
        quality[name] |= without_a_model(left, right, targets, scored)
    quality["warnings"] = warnings_in(quality)
    write_json(out / QUALITY, quality)


def warnings_in(quality: Mapping[str, Any]) -> list[str]:
    """The names of the warnings (:data:`MEANING`) that apply.

    The loss is measured on held-out pairs if there are any, because references of candidates may be
    noise; so is chrF, beside that of copies of the sources and of one sentence for all of them. The
    outputs are the candidates' translations, whose uncertainty selects. Repetitive
    references (as in SCAN) are subtracted from the share of repetitive translations. No two
    references are equal, by the cut.
    """
    outputs, losses = quality["candidates"], quality["held_out"] or quality["candidates"]
    loss, unigram = losses.get("loss"), losses.get("unigram_loss")
    cut, chrf = outputs.get("cut"), losses.get("chrf")

    def no_better_than(baseline: str) -> bool:
        value = losses.get(baseline)
        return chrf is not None and value is not None and chrf <= value

    holds_by_name = {
        "unigram": unigram is not None and (loss is None or loss >= unigram),
        "copy": no_better_than("copy_chrf"),
        "constant": no_better_than("constant_chrf"),
        "cut": cut is not None and cut > MOST,
        "equal": outputs["distinct"] < MOST,
        "repetitive": outputs["repetitive"] - outputs["repetitive_references"] > MOST,
    }
    return [name for name, holds in holds_by_name.items() if holds]


def warning_of(quality: Mapping[str, Any]) -> str | None:
    """The warning that a build prints, or None."""
    if not quality["warnings"]:
        return None
    return f"{'; '.join(MEANING[name] for name in quality['warnings'])}: {REMEDY}"


def stop_of(quality: Mapping[str, Any]) -> str | None:
    """Why nothing should be selected by this ensemble (:data:`SOURCE_IGNORED`), or None."""
    reasons = [MEANING[name] for name in quality["warnings"] if name in SOURCE_IGNORED]
    return "; ".join(reasons) or None


def without_a_model(
    sources: Sequence[str],
    references: Sequence[str],
    training: Sequence[str],
    scored: Callable[[Sequence[str], Sequence[str]], dict[str, Any]],
) -> dict[str, float | None]:
    """chrF of what needs no model: ``copy_chrf`` of the sources themselves, ``constant_chrf`` of
    one training sentence for every source: the one of :data:`CONSTANTS` that is closest to them
    all.
    """
    constants = [line for line in _spread(training, CONSTANTS) if line.strip()]
    some = _spread(training, CONSTANTS)
    # Which sentence, is decided on the training text, as a model would have to.
    values = [(scored([line] * len(some), some)["chrf"], line) for line in constants]
    if not values or values[0][0] is None:  # without sacrebleu there is no chrF
        return {"copy_chrf": None, "constant_chrf": None}
    _, constant = max(values)
    return {
        "copy_chrf": scored(sources, references)["chrf"],
        "constant_chrf": scored([constant] * len(references), references)["chrf"],
    }


def shape_of(hypotheses: Sequence[str]) -> dict[str, float]:
    """``distinct``: distinct hypotheses over all; ``repetitive``: the share of hypotheses in which
    at most half of the word pairs (bigrams) are distinct.

    Distinct bigrams over all bigrams is distinct-2 of Li et al. 2016, "A Diversity-Promoting
    Objective Function for Neural Conversation Models" (section 5), here per hypothesis. Languages
    without blanks use characters.
    """
    if not hypotheses:
        return {"distinct": 1.0, "repetitive": 0.0}
    solid = is_unspaced(hypotheses)
    repeated = 0
    for line in hypotheses:
        units = [letter for letter in line if not letter.isspace()] if solid else words_of(line)
        pairs = list(pairwise(units))
        repeated += bool(pairs) and len(set(pairs)) <= MOST * len(pairs)
    return {
        "distinct": len(set(hypotheses)) / len(hypotheses),
        "repetitive": repeated / len(hypotheses),
    }


def token_count(total: float, mean: float) -> int:
    """The tokens of a hypothesis, with its end, from its total and mean log-probability; 0 if
    unknown.
    """
    known = math.isfinite(total) and math.isfinite(mean) and mean != 0
    return round(-total / mean) if known else 0


def validation_of(member: Path) -> dict[str, float | None]:
    """``valid_loss`` (nats per token) and ``valid_perplexity`` of a checkpoint's parameters; None
    if not validated.
    """
    validation: dict[str, float | None] = {"valid_loss": None, "valid_perplexity": None}
    path = member / METRICS
    if not path.is_file():
        return validation
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    entries = [entry for entry in entries if "valid_loss" in entry]
    checkpoint_entries = [
        entry for entry in entries if entry.get("update") == read_config(member).updates
    ]
    for entry in (checkpoint_entries or entries)[-1:]:
        validation = {name: _finite(entry.get(name)) for name in validation}
    return validation


def unigram_loss(
    training: Sequence[np.ndarray], ids: Sequence[np.ndarray], vocabulary_size: int
) -> float:
    """The cross entropy of ``ids`` (nats per token) under the unigrams of ``training``, with
    add-one smoothing.
    """
    counts = np.ones(vocabulary_size)
    if training:
        np.add.at(counts, np.concatenate(list(training)), 1)
    return float(-np.log(counts / counts.sum())[np.concatenate(list(ids))].mean())


@dataclass(frozen=True)
class Measurement:
    """What the members are loaded for: a task of an engine."""

    members: tuple[Path, ...]
    device: str
    search: SearchSettings
    training: Sequence[str]
    """Target sentences of the training text, for the unigram model."""
    sources: Sequence[str]
    references: Sequence[str]
    """Of the candidates, as are ``lengths``: tokens of the hypotheses, with the end; and
    ``log_probabilities``: of the references.
    """
    lengths: Sequence[int]
    log_probabilities: Sequence[float]
    held_out_sources: Sequence[str]
    held_out_targets: Sequence[str]

    def run(self) -> tuple[dict[str, Any], list[str], UnlikelyPairs | None]:
        """Losses and shares of cut translations; the translations of the held-out sources; and the
        losses of pairs that do not belong together, None for fewer than two candidates.
        """
        from cgbench.models.ensemble import Ensemble

        ensemble = Ensemble.open(self.members, self.device)
        encode = ensemble.subwords.encode_target
        training, references = encode(self.training), encode(self.references)
        vocabulary_size = ensemble.subwords.target_size
        measured: dict[str, Any] = {
            "candidates": {
                "loss": _finite(-sum(self.log_probabilities) / sum(map(len, references))),
                "unigram_loss": unigram_loss(training, references, vocabulary_size),
                "cut": _share_cut(ensemble, self.sources, self.lengths, self.search),
                SHUFFLED: None,
            }
        }
        unlikely = self._unlikely_pairs(ensemble)
        if not self.held_out_sources:
            return measured, [], unlikely
        translations = ensemble.translate(self.held_out_sources, self.search)
        targets = encode(self.held_out_targets)
        scores = ensemble.score(self.held_out_sources, targets)
        lengths = [len(translation.tokens) for translation in translations]
        measured["held_out"] = {
            "loss": _finite(-float(scores["log_prob"].sum()) / sum(map(len, targets))),
            "unigram_loss": unigram_loss(training, targets, vocabulary_size),
            "cut": _share_cut(ensemble, self.held_out_sources, lengths, self.search),
        }
        if unlikely:
            unlikely = replace(unlikely, held_out=scores["pe_stu"])
        return measured, [translation.text for translation in translations], unlikely

    def _unlikely_pairs(self, ensemble: Ensemble) -> UnlikelyPairs | None:
        """The losses of sources with references of other sources: any, and similar ones."""
        lines, references = (_spread(side, PAIRED_ANEW) for side in (self.sources, self.references))
        if len(lines) < 2:
            return None
        half = len(references) // 2
        turned = [*references[half:], *references[:half]]
        encode = ensemble.subwords.encode_target
        similar = with_similar_references(self.sources, self.references)
        return UnlikelyPairs(
            ensemble.score(lines, encode(turned))["pe_stu"],
            ensemble.score(similar[0], encode(similar[1]))["pe_stu"] if similar[0] else NO_LOSSES,
            NO_LOSSES,
        )


def _share_cut(
    ensemble: Ensemble, sources: Sequence[str], lengths: Sequence[int], search: SearchSettings
) -> float:
    """The share of hypotheses that reach the length limit; ``lengths`` in tokens, with the end."""
    from cgbench.models.search import limits_of

    limits = limits_of(ensemble.members, ensemble.lengths(sources), search)
    return float(np.mean(np.array(lengths) > limits))


def _spread(lines: Sequence[str], most: int) -> list[str]:
    """At most ``most`` lines, evenly spaced."""
    count = min(most, len(lines))
    return [lines[index * len(lines) // count] for index in range(count)]


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def table_of(quality: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The measurements as a table: its head; rows of a name and the values on held-out pairs, the
    candidates, the test set and the control set.

    External models have no held-out pairs, and no column for them; what was not measured has no
    row.
    """

    def cell(measured: Mapping[str, Any] | None, name: str, form: str) -> str:
        value = (measured or {}).get(name)
        return "-" if value is None else format(value, form)

    columns = {"held-out pairs": quality["held_out"], "candidates": quality["candidates"]}
    visible_columns = list(columns) if quality["held_out"] or quality["members"] else ["candidates"]
    for name, key in (("test set", "test"), ("control set", "control")):
        if key in quality:
            columns[name] = quality[key]
            visible_columns.append(name)
    rows: list[tuple[str, ...]] = []
    for index, member in enumerate(quality["members"]):
        loss, perplexity = (
            cell(member, name, ",.3f") for name in ("valid_loss", "valid_perplexity")
        )
        rest = [""] * (len(visible_columns) - 1)
        rows.append(
            (f"member {index}: validation loss, perplexity", f"{loss}, {perplexity}", *rest)
        )
    for name, text, form in (
        ("pairs", "pairs", ","),
        ("loss", "loss of the ensemble, nats per token", ".3f"),
        ("unigram_loss", "loss of a unigram model", ".3f"),
        ("chrf", "chrF", ".1f"),
        ("copy_chrf", "chrF of the sources, untranslated", ".1f"),
        ("constant_chrf", "chrF of one sentence for every source", ".1f"),
        ("bleu", "BLEU", ".1f"),
        ("cut", "translations cut at the length limit", ".1%"),
        ("distinct", "distinct translations", ".1%"),
        ("repetitive", "repetitive translations", ".1%"),
        ("repetitive_references", "repetitive references", ".1%"),
    ):
        cells = [cell(columns[column], name, form) for column in visible_columns]
        if set(cells) != {"-"}:
            rows.append((text, *cells))
    return ("", *visible_columns), rows
