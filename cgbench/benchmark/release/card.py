"""The card of a release (its README.md): contents, method, statistics, limits, licence.

Its text is ``card.md.jinja``. The evaluation card there is GenBench's taxonomy (Hupkes et al. 2023,
"A taxonomy and review of generalization research in NLP").
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cgbench.benchmark.candidates.correlations import correlation_table
from cgbench.benchmark.candidates.ensemble_quality import table_of, warning_of
from cgbench.benchmark.candidates.matching import HEAD, shown_balance
from cgbench.benchmark.candidates.noise_share import noise_text
from cgbench.benchmark.candidates.pair_measures import REFERENCE_LIKELIHOOD
from cgbench.benchmark.candidates.selection import GIVEN_DEGREE
from cgbench.benchmark.release.at_a_glance import answers, next_steps
from cgbench.benchmark.release.card_front import front_matter
from cgbench.benchmark.release.card_notes import PARTS, marked_part
from cgbench.benchmark.release.manifest import ID, stem_of, table_file
from cgbench.benchmark.release.release import SIDES, Release
from cgbench.errors import printable

EXAMPLES = 10
COUNTS = (
    ("pool", "pairs in the pool"),
    ("known_words", "without a rare word or an empty side"),
    ("within_length", "within the length bounds"),
    ("candidates", "candidates: the highest degrees, without repeats or seen text"),
    ("dropped_perplexity", "dropped: the highest perplexity"),
    ("dropped_reference", "dropped: the least likely references"),
    ("dropped", "dropped: the most uncertain"),
    ("window", "window: next most uncertain"),
    ("selected", "in the test set"),
    ("sample", "in the stratified sample of all candidates"),
    (
        "control",
        (
            "in the control set: matched in corpus, length and word frequency, of any degree and"
            " uncertainty"
        ),
    ),
)
_EXAMPLE_COLUMNS = {
    "source": "source",
    "target": "target",
    "hypothesis": "hypothesis of the ensemble",
}


def write_card(release: Release, notes: Mapping[str, str] | None = None) -> str:
    """The card of a release as Markdown, with YAML in front.

    :param notes: what people wrote, by part (:mod:`cgbench.benchmark.release.card_notes`).
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("cgbench.benchmark.release", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"n": "{:,}".format, "code": _code, "shown": _escape, "files": _files}
    # What the template shows.
    manifest, quality = release.manifest, release.manifest.get("ensemble")
    config, inputs = manifest["configuration"], manifest["inputs"]
    outside, examples = inputs.get("members", []), _examples(release)
    noise = manifest.get("noise")
    source, target = release.languages
    larger = [
        f"{side} side ({_code(entry['path'])})"
        for side, entry in inputs.get("known_from", {}).items()
    ]
    measure = config["uncertainty"] if release.until != "candidates" else None
    measures, correlations = correlation_table(release.correlations(), measure)

    def text_names(stem: str) -> str:
        return " and ".join(_code(f"{stem}.{language}") for language in release.languages)

    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", manifest["command"])), default=0))
    return templates.get_template("card.md.jinja").render(
        counts=manifest["counts"],
        figures=manifest["figures"],
        config=config,
        inputs=inputs,
        corpus=inputs.get("corpus"),
        train_texts=text_names("train"),
        outside=outside,
        licence=manifest["licence"],
        source=source,
        target=target,
        finished=release.finished,
        has_text=release.has_text,
        front=front_matter(manifest),
        notes=notes or {},
        part=marked_part,
        parts=[name for name in PARTS if name != "metadata"],
        larger=" and ".join(larger),
        members=_members(manifest, outside) if release.finished else "",
        drop_by=release.selection_settings.get("drop_by", REFERENCE_LIKELIHOOD),
        given_degree=GIVEN_DEGREE,
        noise=noise_text(noise, config, manifest["counts"]["candidates"]) if noise else "",
        select_by=config.get("select_by", "uncertainty"),
        stages=shown_counts(manifest["counts"]),
        rows=figure_rows(manifest["figures"], config["uncertainty"]),
        quality=table_of(quality) if quality else None,
        quality_warning=warning_of(quality) if quality else "",
        measures=measures,
        correlations=correlations,
        answers=answers(release) if release.finished else [],
        next_steps=next_steps(release, "FOLDER") if release.finished else [],
        examples=examples,
        example_columns={
            key: text for key, text in _EXAMPLE_COLUMNS.items() if examples and key in examples[0]
        },
        texts=text_names(stem_of(release.until)),
        control_texts=text_names("control"),
        sample_texts=text_names("sample"),
        normalised=_normalisation_of(release),
        design=manifest.get("design", {}),
        balance=shown_balance(manifest["balance"]) if manifest.get("balance") else [],
        balance_head=HEAD,
        test_table=table_file("test"),
        candidates_table=table_file("candidates"),
        id=ID,
        fence=fence,
        command="\n".join(map(printable, manifest["command"].split("\n"))),
        pretrained=any(member["pretrained"] for member in outside),
    )


def shown_counts(counts: dict[str, int]) -> list[tuple[str, str]]:
    """The rows of :data:`COUNTS` that a build has, without a cut that drops nothing."""
    return [
        (key, text) for key, text in COUNTS if key in counts and (counts[key] or key != "dropped")
    ]


SUMMARY = (
    "mean",
    "q0",
    "q25",
    "q50",
    "q75",
    "q100",
)  # a manifest read from a file has them in another order


def figure_rows(figures: Mapping[str, Any], measure: str) -> list[tuple[str, list[str]]]:
    """The statistics of the candidates and the test set by name: mean, minimum, quartiles,
    maximum.
    """
    selected = figures.get("selected", {})
    rows = []
    for key in ("degree", "uncertainty", "reference", "perplexity", "difficulty"):
        if key == "uncertainty" and not selected:
            continue
        name = measure if key == "uncertainty" else key
        rows += [
            (f"{name}, {whose}", summaries[key])
            for whose, summaries in (("candidates", figures), ("test set", selected))
            if key in summaries
        ]
    rows += [("degree, control set", figures["control"]["degree"])] if "control" in figures else []
    return [(name, [f"{values[key]:.3f}" for key in SUMMARY]) for name, values in rows]


def _normalisation_of(release: Release) -> str:
    """How text was normalised to select pairs, in words; empty if it was not."""
    config = release.configuration
    steps = ["Moses tokenisation undone"] if config.get("detokenize") else []
    steps += [f"tokenised ({config['tokenize']})"] if config["tokenize"] != "none" else []
    steps += ["in lower case"] if config["lowercase"] else []
    steps += (
        ["names in logical forms replaced"] if config.get("anonymise", "none") != "none" else []
    )
    return ", ".join(steps)


def _examples(release: Release) -> list[dict[str, Any]]:
    """The first rows of the test set with their ``source`` and ``target``; empty if there is no
    test set or text.
    """
    if not release.finished or not release.has_text:
        return []
    rows, texts = release.split()[:EXAMPLES], map(release.lines, SIDES)
    return [{**row, "source": s, "target": t} for row, s, t in zip(rows, *texts, strict=False)]


def _members(manifest: Mapping[str, Any], outside: Sequence[Mapping[str, Any]]) -> str:
    seeds: list[int] | None = manifest["seeds"]["members"]
    if outside:
        names = ", ".join(_code(member["name"]) for member in outside)
        native = all(member["identity"]["kind"] == "cgbench" for member in outside)
        kind = "models trained with cgbench" if native else "external models"
        return (
            f"{len(outside)} {kind if len(outside) > 1 else kind.replace('models', 'model')}"
            f" ({names})"
        )
    if seeds is None:
        return "an ensemble trained before"
    precision = f", in {manifest['precision']}" if "precision" in manifest else ""
    preset = _code(manifest["configuration"]["model"])
    return f"{len(seeds)} members of preset {preset} (seeds {seeds[0]} to {seeds[-1]}{precision})"


def _files(entry: dict[str, Any]) -> str:
    return ", ".join(_code(file["path"]) for file in entry["files"])


def _code(text: object) -> str:
    """Third-party text between backticks: the fence is longer than any in it."""
    text_shown = printable(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text_shown)), default=0))
    return f"{fence} {text_shown} {fence}" if "`" in text_shown else f"{fence}{text_shown}{fence}"


def _escape(text: str) -> str:
    """Third-party text in Markdown: without HTML, markup, links and cell ends; control characters
    are shown.
    """
    text = re.sub(r"[\\`*_\[\]~|]|!(?=\[)", lambda match: "\\" + match[0], text)
    for character, escape in (
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("://", "&#58;//"),
        ("www.", "www&#46;"),
    ):
        text = text.replace(character, escape)
    return printable(text)
