"""The card of a release (its README.md): what it is, how it was made, figures, limits, licence."""

from __future__ import annotations

import re
from typing import Any

COUNTS = (
    ("pool", "pairs in the pool"),
    ("known_words", "without a rare word or an empty side"),
    ("within_length", "within the length bounds"),
    ("candidates", "candidates: the highest degrees, without repeats or seen text"),
    ("dropped_perplexity", "dropped: the highest perplexity, mostly noise"),
    ("dropped", "dropped: the most uncertain, mostly noise"),
    ("window", "next most uncertain, drawn from"),
    ("selected", "in the test set"),
)


def write_card(manifest: dict[str, Any], examples: list[dict[str, Any]]) -> str:
    """The card as Markdown. ``examples`` are rows of the test set with ``source`` and ``target``."""
    config, counts, figures = manifest["configuration"], manifest["counts"], manifest["figures"]
    finished = manifest["until"] == "release"
    source, target = manifest["languages"]
    name = "A test set of compositional generalisation" if finished else "Candidates for a test set"
    lines = [
        f"# {name}: {source} to {target}",
        "",
        "## Abstract",
        f"{counts.get('selected', counts['candidates']):,} sentence pairs of a pool of {counts['pool']:,} that combine "
        f"words known from {manifest['inputs']['train']['pairs']:,} training pairs in ways the training pairs do not"
        + (", and about which an ensemble trained on them is uncertain." if finished else "."),
        "Built by cgbench with the method of ReaCT (Zheng and Lapata 2023, section 4).",
        "",
        "## How it was made",
        f"- Rare words: a pair with a word that occurs fewer than {config['word_min_count']} times in training is out "
        f"(sides: {config['filter_sides']}).",
        f"- Known n-grams: those of any length that occur at least {config['ngram_min_count']} times in the "
        f"{config['degree_side']} side of training"
        + (" (here: a given list of phrases)." if "ngrams" in manifest["inputs"] else "."),
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
            f"- Uncertainty: {_members(members, config)}, beam {config['beam']}, measure `{config['uncertainty']}` "
            "(rmi is reverse mutual information, the knowledge uncertainty of Malinin and Gales 2021), of the "
            "ensemble's own translation, the end token included.",
            f"- Selection: the {counts['dropped']:,} most uncertain candidates dropped, {counts['selected']:,} drawn "
            f"from the next {counts['window']:,} (seed {config['seed']}).",
        ]
    lines += ["", "| pairs | |", "|---:|---|"]
    lines += [f"| {counts[key]:,} | {text} |" for key, text in COUNTS if key in counts]
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
    if "perplexity" in figures:
        tables["perplexity, candidates"] = figures["perplexity"]
    if "perplexity" in figures.get("selected", {}):
        tables["perplexity, test set"] = figures["selected"]["perplexity"]
    lines += [
        f"| {name} | " + " | ".join(f"{value:.3f}" for value in row.values()) + " |" for name, row in tables.items()
    ]
    if examples:
        lines += [
            "",
            "## Examples",
            "",
            "| degree | source | target | hypothesis of the ensemble |",
            "|---:|---|---|---|",
        ]
        lines += [
            f"| {row['pieces']}/{row['target_length' if config['degree_side'] == 'target' else 'source_length']} | "
            + " | ".join(_escape(row[key]) for key in ("source", "target", "hypothesis"))
            + " |"
            for row in examples
        ]
    lines += ["", "## Use", ""]
    if finished:
        lines += [
            f"`test.{source}` and `test.{target}` are the test set; row *n* of `split.jsonl` says where line *n* comes "
            "from and every figure that put it there; `candidates.parquet` holds the figures of all candidates. "
            "`cgbench verify` on this folder checks all of it.",
        ]
    else:
        lines += [f"`candidates.{source}` and `candidates.{target}` hold the text, `candidates.parquet` the figures."]
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", manifest["command"])), default=0))
    lines += [
        "",
        "Built again by:",
        "",
        fence,
        manifest["command"],
        fence,
        "",
        "## Data source and licence",
        "",
        f"Training text: {_files(manifest['inputs']['train'])}. "
        f"Pool: {'; '.join(map(_files, manifest['inputs']['pool']))}.",
        f"Licence of the inputs, as stated by whoever built this: {_escape(manifest['licence'] or 'not stated')}.",
        "",
        "## Limits",
        "",
        "- Known means: seen often enough as a string of words. A known word in a new sense counts as known.",
        "- The pool's own noise (misaligned or free translations) is only removed as far as the ensemble finds it odd.",
        "- Uncertainty is that of one kind of model; another ensemble would choose other pairs. Systems of that kind "
        "are at a disadvantage on this test set.",
        "- Differences between training runs are large on sets like this: compare systems over several seeds.",
        "",
    ]
    return "\n".join(lines)


def _members(seeds: list[int] | None, config: dict[str, Any]) -> str:
    if seeds is None:
        return "an ensemble trained before"
    return f"{len(seeds)} members of preset `{config['model']}` (seeds {seeds[0]} to {seeds[-1]})"


def _files(entry: dict[str, Any]) -> str:
    return ", ".join(f"`{file['path']}`" for file in entry["files"])


def _escape(text: str) -> str:
    """Text of others in Markdown, where a browser may take HTML for HTML and a bar for the end of a cell."""
    for character, escape in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|")):
        text = text.replace(character, escape)
    return text
