"""Statistics of a release: its test set against the training text that it was built from, both
sides.

Files, columns, normalisation and thresholds are read from ``manifest.json``. The resulting degrees
must match those in ``split.jsonl``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cgbench.benchmark.build.stats.pos import Tags
from cgbench.benchmark.build.stats.single_texts import Text, read_single_text
from cgbench.benchmark.build.stats.text_statistics import StatsRow, Training, Wanted, measure_text
from cgbench.benchmark.measure.overlap.corpus_counts import CorpusCounts, sums_of
from cgbench.benchmark.release.manifest import SPLIT
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.release_inputs import check_input, input_corpus
from cgbench.errors import InputError, argument
from cgbench.files import check_shape
from cgbench.text.formats import CorpusSpec, read_pairs
from cgbench.text.normalisation import SIDES, Normalisation, normalise_pairs, normaliser


@dataclass(frozen=True)
class ReleaseOrigin:
    """A release, its training text, and how both were made."""

    release: Release
    train: CorpusSpec
    known: Mapping[str, Path]  # by side: the overlap result that replaces the training text
    normalisation: Normalisation
    min_count: int
    degree_side: str


def open_release(folder: Release | Path, train: Sequence[Path] = ()) -> ReleaseOrigin:
    """Open a release and find its training text.

    :param folder: the folder, or the open release.
    :param train: the current path of the training text, if it has moved.
    :raises InputError: this is not a release, or its training text is missing or has changed.
    """
    release = Release.of(folder)
    config = release.configuration
    # What the manifest records; a release may come from anybody.
    shape = {"ngram_min_count": int, "degree_side": str}
    check_shape(
        config,
        shape,
        f"{release.folder}: manifest.json: configuration",
        "it is not that of a cgbench release",
    )
    try:
        remedy = "" if train else f"; give its current path with {argument('train')}"
        overlaps = release.manifest["inputs"].get("known_from", {})
        known = {
            side: release.input_path(str(overlap["path"])) for side, overlap in overlaps.items()
        }
        hashes = [str(overlap["sha256"]) for overlap in overlaps.values()]
        corpus = input_corpus(release, release.manifest["inputs"]["train"], train, remedy=remedy)
        settings = release.normalisation, config["ngram_min_count"], config["degree_side"]
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(
            f"{release.folder}: manifest.json is not that of a cgbench release (key {error})"
        ) from None
    for result, sha256 in zip(known.values(), hashes, strict=True):
        check_input(sums_of(result), sha256)
    return ReleaseOrigin(release, corpus, known, *settings)


def release_rows(
    origin: ReleaseOrigin, counts: Wanted, side: str | None, tags: Tags | None
) -> Iterator[StatsRow]:
    """One row per side, or that of ``side``."""
    release = origin.release
    for name, language in zip(SIDES, release.languages, strict=True):
        if side not in (None, "both", name):
            continue
        # The words of a release are already normalised.
        test = Text(str(release.text_path(name)), name, release.lines(name, normalised=True))
        training = _training(origin, name, test, tags)
        row = measure_text(
            training,
            test,
            f"{release.folder.name} {language}",
            counts,
            origin.normalisation.of(language),
            tags,
            0,
        )
        if name == origin.degree_side and release.finished:
            _compare(row, release)
        yield row


def _training(origin: ReleaseOrigin, name: str, test: Text, tags: Tags | None) -> Training:
    """One side of the training text, or of the overlap result that replaces it."""
    if folder := origin.known.get(name):
        if tags:
            raise InputError(
                f"{argument('pos')}: the {name} side of the release is from {folder}, which has no"
                " tags; leave it out"
            )
        return Training.of_overlap(CorpusCounts.load(folder), [test], origin.min_count)
    return Training.learn(training_text(origin, name), origin.min_count)


def training_text(origin: ReleaseOrigin, side: str) -> Text:
    """One side of the training text as the build read it, normalised."""
    if origin.normalisation.anonymise == "none":
        language = origin.release.languages[SIDES.index(side)]
        change = (
            None if origin.normalisation.is_identity else normaliser(origin.normalisation, language)
        )
        return read_single_text(origin.train.paths, origin.train.columns, side, change, keep=False)
    # The replacement of a name depends on both sides.
    pairs = normalise_pairs(read_pairs(origin.train), origin.normalisation, str(origin.train))
    return Text(str(origin.train), side, [pair[SIDES.index(side)] for pair in pairs])


def _compare(row: StatsRow, release: Release) -> None:
    split = release.folder / SPLIT
    recorded = release.split()
    if len(recorded) != row.examples:
        raise InputError(
            f"{split} has {len(recorded):,} rows for {row.examples:,} sentences; see cgbench verify"
        )
    for row_number, (recorded_row, pieces, length) in enumerate(
        zip(recorded, row.pieces, row.lengths, strict=True), 1
    ):
        degree = recorded_row.get("degree")
        if not isinstance(degree, (int, float)):
            raise InputError(f"{split}, row {row_number}: not a row of a release's split")
        if degree != pieces / length:
            raise InputError(
                f"{split}, row {row_number}: degree {degree}, but the texts give {pieces}/{length};"
                " the release was changed (see cgbench verify), or built by another version"
            )
