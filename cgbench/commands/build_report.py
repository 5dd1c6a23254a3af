"""What a build prints at its end: counts, quantiles, a few pairs with their covers, the commands
that come next.
"""

from functools import partial
from typing import Any

from cgbench.benchmark.candidates.division import CORPUS
from cgbench.benchmark.candidates.ensemble_quality import table_of
from cgbench.benchmark.candidates.matching import HEAD, shown_balance
from cgbench.benchmark.candidates.noise_share import noise_text
from cgbench.benchmark.release.at_a_glance import answers
from cgbench.benchmark.release.card import COUNTS, figure_rows, shown_counts
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.work_folder import default_work
from cgbench.errors import printable
from cgbench.tables import render

EXAMPLES = 5


def report(release: Release) -> str:
    """The whole report."""
    manifest, config, languages = release.manifest, release.configuration, release.languages
    finished = release.finished
    ngrams = release.ngrams()
    assert ngrams is not None  # the build has just made or kept them
    # How many pairs were left at each stage, quantiles of the measures, the balance of the control
    # set.
    quantiles = figure_rows(manifest["figures"], config["uncertainty"])
    sections = [
        render(
            (),
            [
                (text, f"{manifest['counts'][key]:,}")
                for key, text in shown_counts(manifest["counts"])
            ],
        ),
        render(
            ("", "mean", "min", "25%", "median", "75%", "max"),
            [(name.replace(", ", " of the "), *values) for name, values in quantiles],
        ),
    ]
    if balance := manifest.get("balance"):
        sections.append(render(HEAD, shown_balance(balance)))
    if quality := manifest.get("ensemble"):
        sections.append(render(*table_of(quality)))
    if noise := manifest.get("noise"):
        sections.append(f"noise: {noise_text(noise, config, manifest['counts']['candidates'])}")
    # A few pairs with their covers.
    read = [release.lines] * 2 + [partial(release.lines, normalised=True)]
    sides = ("source", "target", config["degree_side"])
    texts = [
        lines(side)[:EXAMPLES] if release.has_text else []
        for lines, side in zip(read, sides, strict=True)
    ]
    rows: list[dict[str, Any]] = release.split() if finished else [{}] * EXAMPLES
    blocks = []
    for row, source, target, covered in zip(rows, *texts, strict=False):
        pieces = ngrams.cover(covered)
        length = sum(map(len, pieces))
        figures = f"{len(pieces)}/{length} = {len(pieces) / length:.2f}"
        if finished:
            figures += f"   {config['uncertainty']} {row[config['uncertainty']]:.3f}"
        block = [figures, f"  {languages[0]}  {source}", f"  {languages[1]}  {target}"]
        if finished:
            block.append(f"  ensemble  {row['hypothesis']}")
        block.append("  cover  " + " | ".join(" ".join(piece) for piece in pieces))
        blocks.append("\n".join(map(printable, block)))
    sections.append("\n".join(blocks))
    if finished:
        sections.append("\n".join(f"{question}: {answer}" for question, answer in answers(release)))
    sections.append(_next(release))
    return "\n\n".join(sections)


def _next(release: Release) -> str:
    out = release.folder
    if not release.finished:
        remaining_steps = (
            "selects" if release.until == "uncertainty" else "trains the ensemble and selects"
        )
        return (
            f"written to {out}\nnext: the same command without --until {release.until}"
            f" {remaining_steps}"
        )
    train = release.manifest["inputs"]["train"]
    pairs, corpus = train["pairs"], (release.work or default_work(out)) / CORPUS
    names = " ".join(str(corpus / f"train.{language}") for language in release.languages)
    test = (
        out / f"test.{'norm.' * release.keeps_normalised}{release.languages[0]}"
    )  # as the ensemble was trained
    translate = f"       cgbench translate --model {release.ensemble} < {test} > hypotheses"
    return "\n".join(
        [
            f"written to {out} ({release.signature})",
            f"next:  cgbench verify {out}",
            *(
                [f"       train the systems to be tested on {names} ({pairs:,} pairs)"]
                if "corpus" in release.manifest["inputs"]
                else []
            ),
            *(
                [translate] if release.has_text and release.ensemble.is_dir() else []
            ),  # not of `--member`
            (
                f"       read {out / 'README.md'} and fill in between its marks what only you know:"
                " where the text is from"
            ),
        ]
    )


def kinds_table(kinds: dict[str, dict[str, int]]) -> str:
    """The demo's record: the share of each planted type at each stage."""
    names = sorted(kinds["pool"])
    words = dict(COUNTS)
    rows = []
    for stage, counts in kinds.items():
        total = sum(counts.values())
        if stage == "dropped" and not total:
            continue
        shares = (f"{counts[name] / total:.1%}" if total else "-" for name in names)
        # Of what is dropped, which cut; of the rest, what is left.
        name = words[stage].partition(", mostly" if stage.startswith("dropped") else ":")[0]
        rows.append((name, f"{total:,}", *shares))
    return render(("share of each type, by stage", "pairs", *names), rows)


def noise_table(noise: dict[str, dict[str, float]]) -> str:
    """The demo's record: the noise that each selection leaves, and the share of hard good pairs
    that it keeps.
    """
    head = ("share of noise", "window", "in the test set", "hard good pairs kept")
    rows = [
        (way, *(f"{shares[key]:.1%}" for key in ("window", "test set", "kept")))
        for way, shares in noise.items()
    ]
    return render(head, rows)
