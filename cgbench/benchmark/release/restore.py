"""Restore the text of a release that was published without, from your own copies of the pools.

Lines are found by the hash of their pair's normalised words, which the release has. So a copy may
have other lines before it, or another file format. Pairs that differ are reported.
"""

import shutil
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cgbench.argument_types import AnyRelease, Bitexts
from cgbench.benchmark.candidates.originals import original_of
from cgbench.benchmark.release.data_tables import with_text, write_sets
from cgbench.benchmark.release.manifest import CORRELATIONS, DATA, MANIFEST, table_names, text_files
from cgbench.benchmark.release.publishing import ARRIVING, write_manifest
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.verify import check_verified
from cgbench.errors import InputError, argument
from cgbench.files import read_json, sync
from cgbench.request import KW_ONLY, Request, accepts, option
from cgbench.steps import hash_file
from cgbench.text.formats import CorpusSpec, Pair, read_pairs
from cgbench.text.hashes import content_of
from cgbench.text.inputs import corpora_of
from cgbench.text.normalisation import TableOptions, normalise_pairs
from cgbench.text.plain_text import words_of

CHUNK = 100_000  # pairs hashed at once
Restored: TypeAlias = dict[tuple[int, int], tuple[Pair, Pair]]
"""The originals of pairs and their normalised forms, by corpus of the pool and hash."""


class RestoreRequest(Request):
    """What :func:`restore` puts back."""

    release: AnyRelease = option(
        help="Release without text",
    )
    pools: Bitexts = option(
        "--pool",
        help="Your copy of a pool; repeatable, in the order of the release",
    )
    _: KW_ONLY
    table: TableOptions = option(default=TableOptions(), help="Columns of a table (TableOptions)")


@accepts(RestoreRequest)
def restore(request: RestoreRequest) -> Release:
    """Write the text of a release into its folder, and return the release.

    The release gets all of its text or none. An interrupted run is completed by the next one.

    :raises InputError: the release contains its text, or fails its checks; or a pool lacks pairs.
    """
    release = Release.of(request.release, check=False)  # check_verified checks it
    pools = corpora_of(request.pools, "pool", columns=request.table.columns)
    arriving = release.folder / ARRIVING
    if (arriving / MANIFEST).is_file():  # complete, from an interrupted run
        return _move(arriving, release.folder)
    if release.has_text:
        raise InputError(f"{release.folder}: this release already has its text")
    check_verified(release)
    entries = release.manifest["inputs"]["pool"]
    if len(pools) != len(entries):
        names = "; ".join(" ".join(file["path"] for file in entry["files"]) for entry in entries)
        raise InputError(
            f"{argument('pools')}: {len(pools)} given, but the release has {len(entries)}: {names}"
        )
    tables = {name: release.table(name) for name in table_names(release.manifest)}
    texts = _find(release, [table for name, table in tables.items() if name != "test"], pools)
    shutil.rmtree(arriving, ignore_errors=True)
    (arriving / DATA).mkdir(parents=True)
    _write(release, tables, texts, arriving)
    return _move(arriving, release.folder)


def _find(release: Release, tables: Sequence[Any], pools: Sequence[CorpusSpec]) -> Restored:
    """The original and the normalised form of each pair of the tables."""
    pool, lines, content = (
        np.concatenate([table[name].to_numpy() for table in tables])
        for name in ("pool", "pool_line", "content")
    )
    texts: Restored = {}
    normalisation = release.normalisation
    for pool_number, spec in enumerate(pools, 1):
        hashes_of_release = np.unique(content[pool == pool_number])
        pairs = read_pairs(spec)
        while chunk := list(islice(pairs, CHUNK)):
            # Words separated by one blank, as they are hashed.
            form = [
                (" ".join(words_of(source)), " ".join(words_of(target)))
                for source, target in normalise_pairs(iter(chunk), normalisation, str(spec))
            ]
            hashes = content_of(*map(list, zip(*form, strict=True)))
            for line in np.flatnonzero(np.isin(hashes, hashes_of_release)):
                # Of equal pairs the first line counts, as in a build.
                if (key := (pool_number, int(hashes[line]))) not in texts:
                    texts[key] = original_of(chunk[line], normalisation), form[line]
        rows = np.flatnonzero(pool == pool_number)
        if missing := [row for row in rows if (pool_number, int(content[row])) not in texts]:
            first, total = int(lines[missing].min()), len(rows)
            raise InputError(
                f"{spec}: {len(missing):,} of the {total:,} pairs of this pool in the release are"
                f" not in it, the first from line {first:,}: it is another text, or another version"
            )
    return texts


def _write(release: Release, tables: dict[str, Any], texts: Restored, to: Path) -> None:
    manifest = release.manifest | {"text": "restored", "published": release.manifest["files"]}
    full_tables: dict[str, Any] = {}
    for name, table in tables.items():
        keys = list(zip(table["pool"].to_pylist(), table["content"].to_pylist(), strict=True))
        original, form = (
            [[texts[key][form][side] for key in keys] for side in (0, 1)] for form in (0, 1)
        )
        full_tables[name] = with_text(
            table, original, form if release.keeps_normalised else None, release.languages
        )
    write_sets(manifest, full_tables, to)
    for name in text_files(manifest):
        if hash_file(to / name) != manifest["texts"][name]:
            raise InputError(
                f"{release.folder}: these texts do not reproduce {name}: their words agree, but"
                " blanks, case or tokenisation are not those of the pool that the release was"
                " built from"
            )
    shutil.copyfile(release.path(CORRELATIONS), to / CORRELATIONS)
    del manifest["files"]  # which lists the files without text
    write_manifest(manifest, to, full_tables, release.folder)
    for path in (path for path in to.rglob("*") if path.is_file()):
        sync(path)


def _move(arriving: Path, folder: Path) -> Release:
    """Move finished files into a release, the manifest last."""
    names = sorted(
        str(path.relative_to(arriving)) for path in arriving.rglob("*") if path.is_file()
    )
    manifest = read_json(arriving / MANIFEST)
    for name in sorted(names, key=lambda name: (name == MANIFEST, name)):
        (folder / name).parent.mkdir(exist_ok=True)
        (arriving / name).replace(folder / name)
    sync(folder / DATA)
    sync(folder)
    shutil.rmtree(arriving)
    return Release(folder, manifest)
