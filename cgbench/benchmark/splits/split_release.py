"""A split as a release: both sets as text, where each pair is from, a card, and a manifest with every figure.

``train.SOURCE train.TARGET test.SOURCE test.TARGET split.tsv README.md manifest.json``: a row of ``split.tsv`` says
which set a pair of the corpus is in, by its number (from 1). The manifest lists the SHA-256 of every other file, and
has a digest of itself.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench.benchmark.manifest import Check, Findings, is_language
from cgbench.errors import InputError
from cgbench.files import read_json, sync_file, sync_folder, to_json
from cgbench.shapes import check_shape, file_name
from cgbench.steps import hash_file, hash_value
from cgbench.text.streams import read_lines

KIND, FORMAT = "split", 1
MANIFEST, CARD, TABLE = "manifest.json", "README.md", "split.tsv"
SETS = ("train", "test")
SIDES = ("source", "target")
HEAD = "pair\tset"
_SHAPE = {
    "kind": lambda value: value == KIND,
    "format": lambda value: value == FORMAT,
    "version": str,
    "signature": str,
    "digest": str,
    "languages": [is_language],
    "configuration": dict,
    "inputs": dict,
    "counts": {"corpus": int, "train": int, "test": int, "neither": int},
    "figures": dict,
    "files": {file_name: str},
}


@dataclass(frozen=True)
class SplitRelease:
    """A split that ``cgbench split`` wrote."""

    folder: Path
    manifest: dict[str, Any]

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> SplitRelease:
        """Read its manifest.

        :raises InputError: this is no split, or one of a later version.
        """
        path = Path(folder) / MANIFEST
        manifest = read_json(path)
        check_shape(manifest, _SHAPE, path, "make the split again")
        if len(set(manifest["languages"])) != 2:
            raise InputError(f"{path}: languages names no two languages")
        return cls(Path(folder), manifest)

    @property
    def languages(self) -> tuple[str, str]:
        """The source's and the target's."""
        source, target = self.manifest["languages"]
        return source, target

    @property
    def signature(self) -> str:
        """The short name of exactly this split."""
        return str(self.manifest["signature"])

    def text_path(self, which: str, side: str) -> Path:
        """The file of a side (``source``, ``target``) of a set (``train``, ``test``).

        :raises InputError: it is not there.
        """
        path = self.folder / f"{which}.{self.languages[SIDES.index(side)]}"
        if path.is_symlink() or not path.is_file():
            raise InputError(f"{path}: no such file, and the split lists it; cgbench verify says more")
        return path

    def lines(self, which: str, side: str) -> list[str]:
        """The sentences of that file."""
        return list(read_lines(self.text_path(which, side)))

    def sides(self) -> list[int]:
        """The set of every pair of the corpus: 0 training, 1 test set, -1 neither.

        :raises InputError: ``split.tsv`` is missing, or a row is none of it.
        """
        names = {"train": 0, "test": 1, "neither": -1}
        found = []
        for number, line in enumerate(read_lines(self.folder / TABLE)):
            pair, _, name = line.partition("\t")
            if not number and line == HEAD:
                continue
            if not number or pair != str(number) or name not in names:
                raise InputError(f"{self.folder / TABLE}, row {number + 1}: not a row of a split")
            found.append(names[name])
        return found


def is_split(folder: Path) -> bool:
    """Whether a folder holds a split."""
    path = folder / MANIFEST
    try:
        manifest = read_json(path) if path.is_file() else None
    except InputError:
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == KIND


def write_split(
    out: Path, texts: Mapping[str, Sequence[Sequence[str]]], sides: Sequence[int], manifest: dict[str, Any]
) -> SplitRelease:
    """Write a split: the whole folder or nothing; an earlier split there is replaced.

    :param texts: for ``train`` and ``test`` the sources and the targets.
    :param sides: 0, 1 or -1 for every pair of the corpus.
    :param manifest: all but ``files``, ``signature`` and ``digest``.
    """
    partial = out.with_name(f".{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        for which in SETS:
            for language, lines in zip(manifest["languages"], texts[which], strict=True):
                _write(partial / f"{which}.{language}", "".join(f"{line}\n" for line in lines))
        names = {0: "train", 1: "test", -1: "neither"}
        rows = "".join(f"{number}\t{names[int(side)]}\n" for number, side in enumerate(sides, 1))
        _write(partial / TABLE, f"{HEAD}\n{rows}")
        texts_of = {path.name: hash_file(path) for path in sorted(partial.iterdir())}
        manifest = manifest | {"kind": KIND, "format": FORMAT}
        manifest["signature"] = signature(manifest, texts_of)
        _write(partial / CARD, card(manifest))
        manifest["files"] = {**texts_of, CARD: hash_file(partial / CARD)}
        manifest["digest"] = digest(manifest)
        _write(partial / MANIFEST, to_json(manifest))
        sync_folder(partial)
        old = out.with_name(f".{out.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        if out.exists():
            out.rename(old)
        partial.rename(out)
        sync_folder(out.parent)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return SplitRelease(out, manifest)


def check_folder(out: Path) -> None:
    """See, before any work, that a split may be written to a folder.

    :raises InputError: it is a file, or holds something that is no split.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: a file, where the folder of a split should be")
    if out.is_dir() and any(out.iterdir()) and not is_split(out):
        raise InputError(f"{out}: the folder holds something else already; give a new one with --out")


def _write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8", newline="")
    sync_file(path)


def digest(manifest: Mapping[str, Any]) -> str:
    """The SHA-256 of all that a manifest says but its digest."""
    return hash_value({key: value for key, value in manifest.items() if key != "digest"})


def signature(manifest: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """The short name of exactly this split: method, elements, target, seed, sizes, a hash of its text."""
    config, counts = manifest["configuration"], manifest["counts"]
    target = config["divergence"]
    parts = [
        f"split|method:{config['method']}",
        f"elements:{config['elements'].split(':')[0]}",
        *([f"div:{target}"] if target is not None else []),
        f"seed:{config['seed']}",
        f"train:{counts['train']}",
        f"test:{counts['test']}",
        f"sha:{hash_value(dict(files))[:12]}",
        f"v:{manifest['version']}",
    ]
    return "|".join(parts)


def card(manifest: Mapping[str, Any]) -> str:
    """The card: what the split is, its figures, and what they do not say."""
    config, counts, figures = (manifest[key] for key in ("configuration", "counts", "figures"))
    source, target = manifest["languages"]
    lines = [
        f"# A split for compositional generalisation, {source} to {target}",
        "",
        f"Made by `cgbench split` {manifest['version']}, method `{config['method']}`.",
        "",
        "| | |",
        "|---|---|",
        f"| signature | `{manifest['signature']}` |",
        f"| training pairs | {counts['train']:,} |",
        f"| test pairs | {counts['test']:,} |",
        f"| pairs of the corpus in neither | {counts['neither']:,} |",
        f"| licence | {manifest['licence'] or 'not stated'} |",
    ]
    if figures:
        lines += [
            f"| elements, weights | `{figures['elements']}`, {figures['weights']} |",
            f"| atom divergence | {figures['atom_divergence']:.4f} |",
            f"| compound divergence | {figures['compound_divergence']:.4f} |",
            f"| compounds of the test set | {figures['test_compounds']:,} |",
            f"| of these not in training | {figures['novel_compounds']:,} |",
            f"| atoms of the test set that training lacks | {figures['lone_atoms']:,} of {figures['test_atoms']:,} |",
        ]
    lines += [
        "",
        "Divergence is 1 less the Chernoff coefficient, alpha 0.5 for atoms and 0.1 for compounds (Keysers et al.",
        "2020). It is over the elements above alone: what is new in other respects, meaning for one, it does not say.",
        "",
        *(f"- {warning}" for warning in manifest["warnings"]),
        *([""] if manifest["warnings"] else []),
        f"`{manifest['command']}`",
    ]
    return "\n".join(lines) + "\n"


def verify_split(release: SplitRelease) -> Findings:
    """Check a split: its manifest, hashes, counts, and that its sets are disjoint parts of the corpus."""
    found = Findings()
    manifest = release.manifest
    found.append(_check("manifest", "" if digest(manifest) == manifest["digest"] else "it was changed"))
    wanted = {CARD, TABLE, *(f"{which}.{language}" for which in SETS for language in release.languages)}
    lacking = sorted(wanted ^ set(manifest["files"]))
    found.append(_check("files", f"it lists other files than a split has: {', '.join(lacking)}" if lacking else ""))
    for name, listed in sorted(manifest["files"].items()):
        path = release.folder / name
        there = path.is_file() and not path.is_symlink()
        problem = "" if there and hash_file(path) == listed else "was changed" if there else "is missing"
        found.append(_check(name, problem))
    try:
        found.append(_check("counts", _counts_differ(release)))
    except InputError as error:
        found.append(_check("counts", f"cannot be read ({error})"))
    return found


def _check(name: str, problem: str) -> Check:
    return Check(name, not problem, problem)


def _counts_differ(release: SplitRelease) -> str:
    counts, sides = release.manifest["counts"], release.sides()
    given = release.manifest["inputs"].get("train") is not None
    expected = {"corpus": len(sides), "test": sides.count(1), "neither": sides.count(-1)}
    if not given:
        expected["train"] = sides.count(0)
    for name, value in expected.items():
        if counts[name] != value:
            return f"{name}: {counts[name]:,}, but {TABLE} gives {value:,}"
    for which in SETS:
        for side in SIDES:
            rows = len(release.lines(which, side))
            if rows != counts[which]:
                return f"{which}, {side}: {rows:,} lines, and {counts[which]:,} are listed"
    return ""
