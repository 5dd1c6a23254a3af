"""The sets and tables that ``cgbench split`` writes, against each other."""

from cgbench.benchmark.release.data_tables import sides_of
from cgbench.benchmark.release.manifest import (
    ID,
    NEITHER,
    SETS_FILE,
    SPLIT,
    TEST,
    TRAIN,
    table_file,
)
from cgbench.benchmark.release.release import SIDES, Release


def check_sets(release: Release) -> str:
    """The sets of a split: disjoint parts of its corpus, with the numbers of sentences and rows in
    the manifest.
    """
    counts, sets = release.manifest["counts"], release.sets()
    # The numbers of pairs.
    recounted = {
        "pool": len(sets),
        "selected": sets.count(TEST),
        "neither": sets.count(NEITHER),
    }
    if not release.manifest["inputs"]["given"]:
        recounted["train"] = sets.count(TRAIN)
    for name, count in recounted.items():
        if counts[name] != count:
            return f"{name}: {counts[name]:,}, but {SETS_FILE} gives {count:,}"
    for side in SIDES:
        for name, lines in (
            ("train", release.train_lines(side)),
            ("selected", release.lines(side)),
        ):
            if len(lines) != counts[name]:
                return f"{name}, {side}: {len(lines):,} lines, but {counts[name]:,} are listed"
    # No source is in both sets.
    trained = set(release.train_lines(SIDES[0]))
    repeated = [row for row, line in enumerate(release.lines(SIDES[0]), 1) if line in trained]
    if repeated:
        return f"test pair {repeated[0]:,}: its source is in training ({len(repeated):,} are)"
    # Both files name the same pairs.
    test_pairs = [pair for pair, set_of_pair in enumerate(sets, 1) if set_of_pair == TEST]
    if [row[ID] for row in release.split()] != test_pairs:
        return f"{SPLIT} and {SETS_FILE} have different pairs"
    return ""


def check_sets_tables(release: Release) -> str:
    """The tables of a split against its text."""
    for name, read in (("train", release.train_lines), ("test", release.lines)):
        texts = sides_of(release.table(name, text=True), release.languages)
        if [list(lines) for lines in texts] != [read(side) for side in SIDES]:
            return f"{table_file(name)}: does not match the text"
    return ""
