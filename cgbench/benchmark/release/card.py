"""The card of a release (its README.md): what it is, how it was made, figures, limits, licence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cgbench.benchmark.candidates.correlations import CENTRAL
from cgbench.benchmark.candidates.ensemble_quality import TABLE_HEAD, table_of, warning_of
from cgbench.benchmark.candidates.matching import HEAD, shown_balance
from cgbench.benchmark.candidates.pair_measures import REFERENCE_LIKELIHOOD
from cgbench.benchmark.candidates.selection import GIVEN_DEGREE
from cgbench.benchmark.release.card_front import front_matter
from cgbench.benchmark.release.card_notes import PARTS, part
from cgbench.benchmark.release.manifest import ID, candidates_file, control_text, stem_of, table_file
from cgbench.errors import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cgbench.benchmark.release.release import Release

EXAMPLES = 5
COUNTS = (
    ("pool", "pairs in the pool"),
    ("known_words", "without a rare word or an empty side"),
    ("within_length", "within the length bounds"),
    ("candidates", "candidates: the highest degrees, without repeats or seen text"),
    ("dropped_perplexity", "dropped: the highest perplexity, mostly noise"),
    ("dropped_reference", "dropped: the least likely references, mostly noise"),
    ("dropped", "dropped: the most uncertain, mostly noise"),
    ("window", "next most uncertain, drawn from"),
    ("selected", "in the test set"),
    (
        "control",
        "in the control set: matched in corpus, length and word frequency, of any degree and uncertainty",
    ),
)


EVALUATION_CARD = (
    ("Motivation", "practical, cognitive"),
    ("Generalisation type", "compositional"),
    ("Shift type", "covariate"),
    ("Shift source", "partitioned natural: natural text, chosen by degree and uncertainty"),
    ("Shift locus", "train-test"),
)
"""Where the benchmark stands in GenBench's taxonomy (Hupkes et al. 2023, "A taxonomy and review of generalization
research in NLP")."""


PRETRAINED = (
    "- Members were trained on text that is not the training text here, and that nobody has compared with the pool: a "
    "combination that the training text lacks may be one that they have seen. The premise of the method, that what is "
    "new to the training text is new to the model, does not hold for them, and what is measured overestimates or "
    'underestimates accordingly (Kim, Linzen and Smolensky 2022, "Uncontrolled lexical exposure leads to '
    'overestimation of compositional generalization in pretrained models"). The same goes for pre-trained systems '
    "that are scored on this test set.",
)
"""What pre-training does to the premise, where a member was pre-trained."""


def write_card(release: Release, notes: Mapping[str, str] | None = None) -> str:
    """The card of a release as Markdown, with YAML in front.

    :param notes: what people wrote, by part (:mod:`cgbench.benchmark.release.card_notes`).
    """
    notes = notes or {}
    manifest, examples = release.manifest, _examples(release)
    config, counts, figures = manifest["configuration"], manifest["counts"], manifest["figures"]
    finished = manifest["until"] == "release"
    outside = manifest["inputs"].get("members", [])
    source, target = release.languages
    name = "A test set of compositional generalisation" if finished else "Candidates for a test set"
    front = f"---\n{front_matter(manifest)}{part('metadata', notes.get('metadata', ''))}---\n"
    lines = [
        f"# {name}: {_escape(source)} to {_escape(target)}",
        "",
        "## Abstract",
        f"{counts.get('selected', counts['candidates']):,} sentence pairs of a pool of {counts['pool']:,} that combine "
        f"words known from {manifest['inputs']['train']['pairs']:,} training pairs"
        + (" (or from a larger corpus, see below)" if "known_from" in manifest["inputs"] else "")
        + " in ways the training pairs do not"
        + (
            f", and about which an ensemble {'of models from outside' if outside else 'trained on them'} is uncertain."
            if finished
            else "."
        ),
        "Built by cgbench with the method of ReaCT (Zheng and Lapata 2023, section 4).",
        "",
        "## How it was made",
        f"- Rare words: a pair with a word that occurs fewer than {config['word_min_count']} times in training is out "
        f"(sides: {config['filter_sides']}).",
        f"- Known n-grams: those of any length that occur at least {config['ngram_min_count']} times in the "
        f"{config['degree_side']} side of training"
        + (" (here: a given list of phrases)." if "ngrams" in manifest["inputs"] else "."),
        *_known_from(manifest["inputs"].get("known_from", {})),
        "- Compositional degree: the smallest number of known n-grams that cover a sentence, over its length in words.",
    ]
    if "lm" in manifest["inputs"]:
        lines.append(
            f"- Perplexity: of the {manifest['inputs']['lm']['side']} side under a language model, a token, the end of "
            "the sentence included"
            + (
                f"; the {counts['dropped_perplexity']:,} candidates of the highest were dropped first."
                if "dropped_perplexity" in counts
                else "."
            )
        )
    if finished:
        members = manifest["seeds"]["members"]
        lines += [
            f"- Uncertainty: {_members(members, config, outside)}, beam {config['beam']}, measure "
            f"{_code(config['uncertainty'])} (rmi is reverse mutual information, the knowledge uncertainty of Malinin "
            "and Gales 2021), of the "
            f"{'first member' if outside else 'ensemble'}'s own translation, the end token included."
            + (
                " The same of the given translation under names that begin with `reference_`; *reference* below is "
                "how unlikely the ensemble finds it, in nats a token (`reference_pe_stu`)."
                if "reference" in figures
                else ""
            ),
            *_noise(config, counts),
            *_selected_by(config),
            f"- Selection: {_most_uncertain(counts['dropped'])}{counts['selected']:,} drawn "
            f"from the next {counts['window']:,} (seed {config['seed']}).",
        ]
    lines += ["", "| pairs | |", "|---:|---|"]
    lines += [f"| {counts[key]:,} | {text} |" for key, text in shown_counts(counts)]
    lines += [
        "",
        "## Figures",
        "",
        "| | mean | min | 25 % | median | 75 % | max |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    tables = {"degree, candidates": figures["degree"]}
    if finished:
        tables |= {
            "degree, test set": figures["selected"]["degree"],
            f"{config['uncertainty']}, candidates": figures["uncertainty"],
            f"{config['uncertainty']}, test set": figures["selected"]["uncertainty"],
        }
    if "reference" in figures:
        tables["reference, candidates"] = figures["reference"]
    if "reference" in figures.get("selected", {}):
        tables["reference, test set"] = figures["selected"]["reference"]
    if "perplexity" in figures:
        tables["perplexity, candidates"] = figures["perplexity"]
    if "perplexity" in figures.get("selected", {}):
        tables["perplexity, test set"] = figures["selected"]["perplexity"]
    if "difficulty" in figures:
        tables["difficulty, candidates"] = figures["difficulty"]
    if "difficulty" in figures.get("selected", {}):
        tables["difficulty, test set"] = figures["selected"]["difficulty"]
    if "control" in figures:
        tables["degree, control set"] = figures["control"]["degree"]
    lines += [
        f"| {name} | " + " | ".join(f"{value:.3f}" for value in row.values()) + " |" for name, row in tables.items()
    ]
    lines += _quality(manifest.get("ensemble"))
    lines += _correlations(release)
    if examples:
        shown = [key for key in _SHOWN if key in examples[0]]
        lines += [
            "",
            "## Examples",
            "",
            f"| degree | {' | '.join(_SHOWN[key] for key in shown)} |",
            "|---:" + "|---" * len(shown) + "|",
        ]
        lines += [
            f"| {row['pieces']}/{row['target_length' if config['degree_side'] == 'target' else 'source_length']} | "
            + " | ".join(_escape(row[key]) for key in shown)
            + " |"
            for row in examples
        ]
    lines += ["", "## Use", ""]
    texts = " and ".join(_code(f"{stem_of(release.until)}.{language}") for language in (source, target))
    if not release.has_text:
        lines += [
            "This release holds indices and figures, and no text: its inputs may not be passed on. Whoever has them "
            f"puts the text back ({texts}, and in the tables), each line checked by its hash:",
            "",
            "```",
            "cgbench restore FOLDER --pool FILES [--pool FILES ...] --train FILES",
            "```",
            "",
        ]
    if finished:
        lines += [
            f"{texts} are the test set; row *n* of `split.jsonl` says where line *n* comes "
            f"from and every figure that put it there. `{table_file('test')}` is both in one table, "
            f"`{candidates_file(manifest)}` all candidates with their text and figures (`{ID}` identifies a row of "
            "each), `correlations.jsonl` how these "
            "go together. "
            "`cgbench verify` on this folder checks all of it.",
            "",
            "```python",
            "import datasets",
            "",
            'test = datasets.load_dataset("FOLDER", split="test")',
            'candidates = datasets.load_dataset("FOLDER", "candidates", split="candidates")',
            "```",
        ]
        if "control" in counts:
            lines += _of_control(release)
    else:
        lines += [
            f"{texts} hold the text, `{candidates_file(manifest)}` the text and the figures, `correlations.jsonl` how "
            "these go together."
        ]
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", manifest["command"])), default=0))
    lines += [
        "",
        "Built again by:",
        "",
        fence,
        "\n".join(map(printable, manifest["command"].split("\n"))),
        fence,
        "",
        "## Data source and licence",
        "",
        f"Training text: {_files(manifest['inputs']['train'])}. "
        f"Pool: {'; '.join(map(_files, manifest['inputs']['pool']))}.",
        f"Licence of the inputs, as stated by whoever built this: {_escape(manifest['licence'] or 'not stated')}.",
    ]
    if not manifest["licence"]:
        lines += [
            "",
            "**No licence is stated: find out what the inputs' owners allow before you publish this.**",
        ]
    lines += ["", *(part(name, notes.get(name, "")) for name in PARTS if name != "metadata")]
    lines += [
        "## Evaluation card",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in EVALUATION_CARD),
        "",
        "## Limits",
        "",
        "- Known means: seen often enough as a string of words. A known word in a new sense counts as known.",
        "- The pool's own noise (misaligned or free translations) is only removed as far as the ensemble finds it odd.",
        "- Uncertainty is that of one kind of model; another ensemble would choose other pairs. Systems of that kind "
        "are at a disadvantage on this test set.",
        *(PRETRAINED if any(member["pretrained"] for member in outside) else ()),
        "- Differences between training runs are large on sets like this: compare systems over several seeds.",
        "",
    ]
    return front + "\n".join(lines)


_SHOWN = {"source": "source", "target": "target", "hypothesis": "hypothesis of the ensemble"}


def shown_counts(counts: dict[str, int]) -> list[tuple[str, str]]:
    """Those of :data:`COUNTS` that a build has; of a cut that drops nothing, nothing is said."""
    return [(key, text) for key, text in COUNTS if key in counts and (counts[key] or key != "dropped")]


def _most_uncertain(dropped: int) -> str:
    if not dropped:
        return "none of the most uncertain candidates dropped, "
    return f"the {dropped:,} most uncertain candidates dropped, "


def _noise(config: dict[str, Any], counts: dict[str, int]) -> list[str]:
    """The line on what was dropped for its reference, where something was: the paper's method has no such cut."""
    if "dropped_reference" not in counts:
        return []
    measure = config.get("drop_by", REFERENCE_LIKELIHOOD)
    among = " for candidates of like degree and length" if measure.endswith(GIVEN_DEGREE) else ""
    return [
        f"- Noise: the {counts['dropped_reference']:,} candidates whose given translation the ensemble finds least "
        f"likely{among} (`drop_reference`, by {_code(measure)}) dropped before the most uncertain; the paper drops "
        "none for that.",
    ]


def _selected_by(config: dict[str, Any]) -> list[str]:
    """The line on what candidates are ranked by, where it is not their uncertainty."""
    by = config.get("select_by", "uncertainty")
    if by == "uncertainty":
        return []
    return [
        "- Ranked not by that uncertainty but by the difficulty that a model outside gave each pair"
        + (" (its lowest values first)" if by == "easiness" else "")
        + '; "most uncertain" below means so.',
    ]


def _of_control(release: Release) -> list[str]:
    """What the control set is for, and how to score with it."""
    counts, (source, target) = release.manifest["counts"], release.languages
    texts = " and ".join(_code(control_text(language)) for language in (source, target))
    lines = [
        "",
        f"{texts} are the control set ({counts['control']:,} pairs; `control.jsonl` says where they come from): pairs "
        "of the pool that have passed the same filters, matched to the test set's in corpus, length and the frequency "
        "of their words, whatever their degree and uncertainty. What a system loses from it to the test set is what "
        "the choice costs it: `cgbench score bleu --release DIR --hyp A=test.hyp --control-hyp A=control.hyp`. No "
        "noise was dropped from it.",
    ]
    if rows := release.manifest.get("balance"):
        lines += [
            "",
            "Balance of the match: means, and the difference in pooled standard deviations (below 0.1 is negligible). "
            "Log count is the natural logarithm of how often a word is in the training text.",
            "",
            f"| {' | '.join(HEAD)} |",
            "|---|---:|---:|---:|",
            *(f"| {' | '.join(row)} |" for row in shown_balance(rows)),
        ]
    return lines


def _quality(found: Mapping[str, Any] | None) -> list[str]:
    """How well the ensemble translates; releases of earlier versions do not say."""
    if not found:
        return []
    warning = warning_of(found)
    return [
        "",
        "## How well the ensemble translates",
        "",
        *([f"**Warning: {warning}.**", ""] if warning else []),
        f"| {' | '.join(TABLE_HEAD)} |",
        "|---|---:|---:|",
        *(f"| {' | '.join(row)} |" for row in table_of(found)),
    ]


def _correlations(release: Release) -> list[str]:
    """What degree and the measure that selects go with, among the central figures."""
    measure = release.configuration["uncertainty"] if release.until != "candidates" else None
    found = {(one.first, one.second): one for one in release.correlations()}
    found |= {(second, first): one for (first, second), one in found.items()}
    columns = ["degree", *([measure] if measure else [])]
    rows = [name for name in dict.fromkeys([*CENTRAL, measure]) if any((name, column) in found for column in columns)]
    lines = [
        "",
        "## What goes together",
        "",
        "Spearman's correlation over the candidates, with 95 % intervals, and what is left of it given the lengths of "
        "source and target. `*_rarest` is how often a sentence's rarest word is in the training text.",
        "",
        "| | " + " | ".join(f"{_code(name)} | given length" for name in columns) + " |",
        "|---|" + "---:|" * (2 * len(columns)),
    ]
    for name in rows:
        cells = []
        for column in columns:
            one = found.get((str(name), str(column)))
            cells += (
                [_interval(one.rho, one.interval), _interval(one.given_length, one.given_length_interval)]
                if one
                else ["", ""]
            )
        lines.append(f"| {_code(name)} | " + " | ".join(cells) + " |")
    return lines


def _interval(value: float | None, interval: tuple[float, float] | None) -> str:
    """A correlation in a cell."""
    if value is None:
        return ""
    return f"{value:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def _known_from(results: Mapping[str, Any]) -> list[str]:
    """Which sides another corpus stands in for."""
    if not results:
        return []
    named = " and ".join(f"{side} side ({_code(entry['path'])})" for side, entry in results.items())
    return [
        f"- On the {named} *training* means a larger corpus in these two lines, which `cgbench overlap` has read; the "
        "training pairs are what the ensemble learns from, and theirs alone are the sentences left out as seen."
    ]


def _examples(release: Release) -> list[dict[str, Any]]:
    """The first rows of the test set, if there is one, with their ``source`` and ``target``."""
    if not release.finished or not release.has_text:
        return []
    rows, texts = release.split()[:EXAMPLES], (release.lines("source"), release.lines("target"))
    return [{**row, "source": s, "target": t} for row, s, t in zip(rows, *texts, strict=False)]


def _members(seeds: list[int] | None, config: dict[str, Any], outside: Sequence[Mapping[str, Any]]) -> str:
    if outside:
        named = ", ".join(_code(member["name"]) for member in outside)
        return f"{len(outside)} {'models' if len(outside) > 1 else 'model'} from outside ({named})"
    if seeds is None:
        return "an ensemble trained before"
    return f"{len(seeds)} members of preset {_code(config['model'])} (seeds {seeds[0]} to {seeds[-1]})"


def _files(entry: dict[str, Any]) -> str:
    return ", ".join(_code(file["path"]) for file in entry["files"])


def _code(text: object) -> str:
    """Text of others between backticks: the fence is longer than any in it."""
    shown = printable(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    return f"{fence} {shown} {fence}" if "`" in shown else f"{fence}{shown}{fence}"


def _escape(text: str) -> str:
    """Text of others in Markdown: no HTML, no markup, no link, no end of a cell; control characters are shown."""
    text = re.sub(r"[\\`*_\[\]~|]|!(?=\[)", lambda match: "\\" + match[0], text)
    for character, escape in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("://", "&#58;//"), ("www.", "www&#46;")):
        text = text.replace(character, escape)
    return printable(text)
