"""A split as a release: both sets as text and as tables, the origin of each pair, a card, a
manifest.

:class:`cgbench.benchmark.release.release.Release` reads it like a release of ``build-react``. Two
files are specific to splits: ``train.SOURCE`` and ``train.TARGET``, the training set; and
``split.tsv`` with the set of each pair of the corpus, by its number (from 1).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.release.card_front import front_matter
from cgbench.benchmark.release.croissant import write_croissant
from cgbench.benchmark.release.data_tables import with_text, write_sets
from cgbench.benchmark.release.listed_digests import listed_digests
from cgbench.benchmark.release.manifest import (
    CARD,
    CROISSANT,
    DATA,
    FORMAT,
    ID,
    MANIFEST,
    SET_NAMES,
    SETS_FILE,
    SETS_HEAD,
    SPLIT_KIND,
    is_split,
    signature,
    summary,
)
from cgbench.benchmark.release.publishing import seal
from cgbench.benchmark.release.release import SIDES, Release
from cgbench.errors import InputError
from cgbench.files import read_json, write_atomic
from cgbench.locks import replacing
from cgbench.steps import hash_file
from cgbench.text.plain_text import words_of

SETS = ("train", "test")
NGRAM_MIN_COUNT = 3  # for the degree of test pairs; the default of `cgbench stats`


def holds_split(folder: Path) -> bool:
    """Whether a folder contains a split."""
    path = folder / MANIFEST
    try:
        manifest = read_json(path) if path.is_file() else None
    except InputError:
        return False
    return isinstance(manifest, dict) and is_split(manifest)


def write_split(
    out: Path,
    texts: Mapping[str, Sequence[Sequence[str]]],
    sides: Sequence[int],
    manifest: dict[str, Any],
) -> Release:
    """Write a split, completely or not at all; an earlier split in the folder is replaced.

    :param texts: the sources and targets of ``train`` and ``test``.
    :param sides: 0, 1 or -1 for every pair of the corpus.
    :param manifest: without what follows from the text and the files; its configuration names the
        side of the degree.
    """
    languages = manifest["languages"]
    manifest = manifest | {"kind": SPLIT_KIND, "format": FORMAT, "until": "release", "id": ID}
    manifest["configuration"] = {**manifest["configuration"], "ngram_min_count": NGRAM_MIN_COUNT}
    with replacing(out) as folder:
        (folder / DATA).mkdir()
        tables = {which: _table(which, texts, sides, manifest) for which in SETS}
        degrees = {"degree": summary(tables["test"]["degree"].to_numpy())}
        manifest["figures"] = {**manifest["figures"], "selected": degrees}
        tables = {
            which: with_text(table, texts[which], None, languages)
            for which, table in tables.items()
        }
        write_sets(manifest, tables, folder)
        rows = "".join(f"{pair}\t{SET_NAMES[side]}\n" for pair, side in enumerate(sides, 1))
        write_atomic(folder / SETS_FILE, f"{SETS_HEAD}\n{rows}")
        names_of_train = [f"train.{language}" for language in languages]
        files = [{"path": name, "sha256": hash_file(folder / name)} for name in names_of_train]
        train = {"files": files, "columns": None, "pairs": len(texts["train"][0])}
        manifest["inputs"] = {**manifest["inputs"], "train": train, "exclude": []}
        write_atomic(folder / CROISSANT, write_croissant(manifest, tables, listed_digests(folder)))
        manifest["files"] = listed_digests(folder)
        write_atomic(folder / CARD, card(manifest | {"signature": signature(manifest)}))
        manifest = seal(manifest, folder)
    return Release(out, manifest)


def _table(
    which: str,
    texts: Mapping[str, Sequence[Sequence[str]]],
    sides: Sequence[int],
    manifest: Mapping[str, Any],
) -> Any:
    """One row per pair of a set: its number in the corpus (or in a fixed training set), its
    lengths, and for the test set its degree relative to the training set; 0 for a pair without
    words.

    Both sets have the same columns, because data set hubs expect that of the splits of one
    configuration.
    """
    import pyarrow

    here = [pair for pair, side in enumerate(sides, 1) if side == SETS.index(which)]
    if which == "train" and manifest["inputs"]["given"]:
        here = list(range(1, len(texts[which][0]) + 1))
    source, target = ([len(words_of(line)) for line in lines] for lines in texts[which])
    pieces = degrees = [None] * len(here)
    if which == "test":
        side = SIDES.index(manifest["configuration"]["degree_side"])
        known = KnownNgrams.learn(list(texts["train"][side]), min_count=NGRAM_MIN_COUNT)
        pieces = known.measure(list(texts["test"][side]))[0].tolist()
        degrees = [
            count / max(1, length)
            for count, length in zip(pieces, (source, target)[side], strict=True)
        ]
    columns = {
        ID: here,
        "pool": [1] * len(here),
        "pool_line": here,
        "source_length": source,
        "target_length": target,
        "pieces": pieces,
        "degree": degrees,
    }
    types = {name: pyarrow.int64() for name in columns} | {"degree": pyarrow.float64()}
    return pyarrow.table(columns, schema=pyarrow.schema(list(types.items())))


def card(manifest: Mapping[str, Any]) -> str:
    """The card: contents, statistics and limits of the split."""
    config, counts, figures = (manifest[key] for key in ("configuration", "counts", "figures"))
    source, target = manifest["languages"]
    # Front matter, facts, what divergence does not cover, warnings, the command.
    lines = [
        f"---\n{front_matter(manifest)}---",
        f"# A split for compositional generalisation, {source} to {target}",
        "",
        f"Made by `cgbench split` {manifest['version']}, method `{config['method']}`.",
        "",
        "| | |",
        "|---|---|",
        f"| signature | `{manifest['signature']}` |",
        f"| training pairs | {counts['train']:,} |",
        f"| test pairs | {counts['selected']:,} |",
        f"| pairs of the corpus in neither | {counts['neither']:,} |",
        f"| licence | {manifest['licence'] or 'not stated'} |",
        f"| elements, weights | `{figures['elements']}`, {figures['weights']} |",
        *(
            f"| {name} divergence |"
            f" {figures[f'{name}_divergence']:.4f}{_chance(figures[f'{name}_chance'])} |"
            for name in ("atom", "compound")
        ),
        f"| compounds of the test set | {figures['test_compounds']:,} |",
        f"| of these, not in training | {figures['novel_compounds']:,} |",
        (
            f"| atoms of the test set not in training | {figures['lone_atoms']:,} of"
            f" {figures['test_atoms']:,} |"
        ),
        "",
        (
            "Divergence is 1 minus the Chernoff coefficient, alpha 0.5 for atoms and 0.1 for"
            " compounds (Keysers et al."
        ),
        (
            "2020). It covers only the elements above: other kinds of novelty, such as new"
            " meanings, are not measured."
        ),
        "",
        *(f"- {warning}" for warning in manifest["warnings"]),
        *([""] if manifest["warnings"] else []),
        f"A pair is identified by `{manifest['id']}`, its number in the corpus.",
        "",
        f"`{manifest['command']}`",
    ]
    return "\n".join(lines) + "\n"


def _chance(chance: Mapping[str, Any] | None) -> str:
    """The divergence of random splits, if they were drawn."""
    return (
        ""
        if chance is None
        else f"; {chance['splits']} random splits: {chance['mean']:.4f} ± {chance['sd']:.4f}"
    )
