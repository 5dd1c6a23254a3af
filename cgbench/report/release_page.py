"""``cgbench report``: the page of a release."""

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cgbench.argument_types import AnyRelease, Bitext, Bitexts
from cgbench.benchmark.release.at_a_glance import answers, next_steps
from cgbench.benchmark.release.card import EXAMPLES
from cgbench.benchmark.release.card_notes import written_parts
from cgbench.benchmark.release.manifest import CARD, Findings
from cgbench.benchmark.release.release import SIDES, Release
from cgbench.benchmark.release.verify import verify
from cgbench.errors import InputError, argument
from cgbench.report.names import meaning
from cgbench.report.page import render_page
from cgbench.report.release_data import (
    Material,
    find_material,
    numeric_columns,
)
from cgbench.report.release_sections import (
    correlation_tables,
    examples_of_release,
    funnel_table,
    measured_tables,
    noise_of_cut,
    novelty_of_texts,
    stage_histograms,
    uncertainty_over_degree,
)
from cgbench.request import KW_ONLY, Request, accepts, option
from cgbench.text.inputs import is_path, local_path


class ReleasePageRequest(Request):
    """What :func:`release_page` shows."""

    release: AnyRelease = option(
        help="Release to report on",
    )
    _: KW_ONLY
    train: Bitext | None = option(
        "--train",
        default=None,
        help="Training corpus, if it has moved since the build",
        group="Input",
    )
    pools: Bitexts = option(
        "--pool",
        default=(),
        help="Pool, if the pools have moved; repeatable, all or none",
        group="Input",
    )
    force: bool = option(
        "--force",
        default=False,
        help="Report on a release that fails its checks; the page begins with the failures",
        group="Output",
    )


@accepts(ReleasePageRequest)
def release_page(request: ReleasePageRequest) -> str:
    """The page of a release as HTML: the same bytes for the same release, workspace and inputs.

    :raises InputError: the release fails its checks, or a text is not the one it was built from.
    """
    release = Release.of(request.release, check=False)  # verify checks it
    train = _files(request.train) if request.train is not None else ()
    pools = [_files(pool) for pool in request.pools]
    if release.is_split:
        raise InputError(
            f"{release.folder}: a split has no report page; use cgbench verify or cgbench stats"
            " --release"
        )
    checks = verify(release)
    if checks.failed and not request.force:
        first, *later = checks.failed
        further = f" and {len(later)} more" if later else ""
        raise InputError(
            f"{release.folder}: fails its checks ({first.name}:"
            f" {first.detail or 'differs'}{further}); run cgbench verify for details, or give"
            f" {argument('force')} to report it anyway"
        )
    try:
        return _page(release, checks, find_material(release, train, pools))
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        # A changed manifest may lack anything, or hold anything in its place.
        raise InputError(
            f"{release.folder}: cannot be reported: files are incomplete or do not belong together"
            f" ({error!r}); run cgbench verify for details"
        ) from None


def _files(corpus: Any) -> tuple[Path, ...]:
    return (
        (local_path(corpus),)
        if is_path(corpus)
        else tuple(map(local_path, getattr(corpus, "paths", corpus)))
    )


def _page(release: Release, checks: Findings, material: Material) -> str:
    """The page, if the files of the release are complete."""
    columns = numeric_columns(release)
    examples = examples_of_release(release, material)
    finished, (source, target) = release.finished, release.languages
    size = release.manifest["counts"]["selected" if finished else "candidates"]
    context = {
        "title": f"{'Test set' if finished else 'Candidates'}: {source} to {target}",
        "release": release,
        "manifest": release.manifest,
        "size": size,
        "answers": answers(release) if finished else [],
        "first": _first_pairs(release) if finished and release.has_text else None,
        "next_steps": next_steps(release, release.folder.name) if finished else [],
        "facts": list(_facts(release)),
        "notes": _notes(release, checks, material.missing, len(examples["rows"]), size),
        "funnel": funnel_table(release, columns),
        "measured": measured_tables(release),
        "histograms": stage_histograms(release, columns),
        "scatter": uncertainty_over_degree(release, columns),
        "noise": noise_of_cut(release, columns),
        "selection": _selection(release) if finished else "",
        "correlations": correlation_tables(release, columns),
        "meanings": [(name, about) for name in columns if (about := meaning(name))],
        "novelty": novelty_of_texts(release, material),
        "examples": examples,
        "checks": [
            ("passed" if check.ok else "skipped" if check.ok is None else "differs", check)
            for check in checks
        ],
    }
    return render_page("release.html", context, examples)


def _facts(release: Release) -> Iterator[tuple[str, str]]:
    manifest, config = release.manifest, release.configuration
    yield "signature", release.signature
    yield "licence of the inputs", str(manifest.get("licence") or "not stated")
    least = config["ngram_min_count"]
    yield (
        "degree",
        f"{config['degree_side']} side; n-grams are known from {least} occurrences in training",
    )
    if release.until != "candidates":
        seeds = (manifest.get("seeds") or {}).get("members")
        members = (
            f"{len(seeds)} members of preset {config['model']}" if seeds else "existing ensemble"
        )
        yield "uncertainty", f"{config['uncertainty']}; {members}; beam {config['beam']}"
    yield "seed", str(config["seed"])
    yield "version", f"cgbench {manifest.get('version', '?')}"


def _first_pairs(release: Release) -> dict[str, Any]:
    """The first pairs of the test set, as they are in its files."""
    rows, texts = release.split()[:EXAMPLES], map(release.lines, SIDES)
    pairs = [
        [f"{row['pieces']}/{row[release.configuration['degree_side'] + '_length']}", source, target]
        for row, source, target in zip(rows, *texts, strict=False)
    ]
    head = ["degree", *release.languages]
    if rows and isinstance(rows[0].get("hypothesis"), str):
        head.append("ensemble")
        pairs = [[*pair, row["hypothesis"]] for pair, row in zip(pairs, rows, strict=True)]
    return {"head": head, "rows": pairs}


def _notes(
    release: Release, checks: Findings, missing: Sequence[str], shown: int, size: int
) -> list[tuple[str, str]]:
    notes = [
        ("bad", f"{check.name}{': ' if check.detail else ''}{check.detail}")
        for check in checks.failed
    ]
    if not release.manifest.get("licence"):
        notes.append(
            ("", "The licence of the inputs is not stated, so it is unknown who may use this text.")
        )
    if not release.finished:
        notes.append(("", "The build stopped early: these are candidates, not yet a test set."))
    if shown < size:
        notes.append(("", f"Showing a random sample of {shown:,} of {size:,} examples."))
    notes += [("", str(line)) for line in release.manifest.get("warnings") or ()]
    notes += [("", line) for line in _results(release)]
    return notes + [("", line) for line in missing]


def _results(release: Release) -> list[str]:
    """The results of ``cgbench validate`` in the card."""
    if not (release.folder / CARD).is_file():  # a check has failed
        return []
    card = release.path(CARD).read_bytes().decode("utf-8", "replace")
    lines = written_parts(card).get("validity", "").splitlines()
    return [html.unescape(line[2:].replace("**", "")) for line in lines if line.startswith("- ")]


def _selection(release: Release) -> str:
    """How the test set was drawn, from the configuration and the counts of the build."""
    counts = release.manifest["counts"]
    order = (
        "uncertain"
        if release.configuration.get("select_by", "uncertainty") == "uncertainty"
        else "difficult"
    )
    reasons = {
        "dropped_perplexity": "with the highest perplexity",
        "dropped_reference": "with the least likely references",
        "dropped": f"most {order}",
    }
    cuts = [f"the {counts[key]:,} {text}" for key, text in reasons.items() if counts.get(key)]
    begin = (
        f"Of the candidates, {' and '.join(cuts)} were dropped."
        if cuts
        else "No candidates were dropped."
    )
    window = f"the {counts['window']:,} most {order} of the rest"
    return f"{begin} The test set is a draw of {counts['selected']:,} from the window: {window}."
