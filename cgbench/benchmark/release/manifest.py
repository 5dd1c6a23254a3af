"""The ``manifest.json`` of a release: its format, the signature, its digest."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.steps import hash_value

FORMAT = 4
MANIFEST = "manifest.json"
CARD = "README.md"
CROISSANT = "croissant.json"
CORRELATIONS = "correlations.jsonl"
SPLIT = "split.jsonl"
CONTROL = "control.jsonl"
SAMPLE = "sample.jsonl"  # of a stratified sample of the candidates
ROW_FILES = {"test": SPLIT, "control": CONTROL, "sample": SAMPLE}
"""The file with the rows of each set."""
SPLIT_KIND = "split"  # of `cgbench split`
SETS_FILE = "split.tsv"  # the set of each pair of the corpus of `cgbench split`
SETS_HEAD = "pair\tset"  # its first row
TRAIN, TEST, NEITHER = 0, 1, -1
SET_NAMES = {TRAIN: "train", TEST: "test", NEITHER: "neither"}
"""How that file names the sets."""
ID = "line"  # the column of every table that identifies a row
DATA = "data"  # the folder of the tables, the only subfolder of a release
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
SHAPE = {
    "files": dict,
    "counts": dict,
    "figures": dict,
    "configuration": dict,
    "inputs": dict,
    "until": str,
    "languages": list,
}
"""Required fields."""


STATE = 8
"""Width of the state of a check in a table."""


@dataclass(frozen=True)
class Check:
    """The result of one check.

    ``ok`` is None if it could not run; ``detail`` gives the difference, or the reason.
    """

    name: str
    ok: bool | None
    detail: str = ""

    def __str__(self) -> str:
        state = {True: "ok", False: "DIFFERS", None: "skipped"}[self.ok]
        return f"{state:{STATE}}{self.name}" + (f": {self.detail}" if self.detail else "")


class Findings(list[Check]):
    """The results of all checks, in order; ``repr`` is a table of them."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self))

    @property
    def ok(self) -> bool:
        """Whether no check failed; checks that could not run do not count."""
        return not self.failed

    @property
    def failed(self) -> list[Check]:
        """The failed checks."""
        return [check for check in self if check.ok is False]


def is_split(manifest: Mapping[str, Any]) -> bool:
    """Whether this is the manifest of a ``cgbench split``: with a training set and without
    candidates.
    """
    return manifest.get("kind") == SPLIT_KIND


def stem_of(until: str) -> str:
    """The first part of the names of the two text files: ``test``, or ``candidates`` of a build
    that stopped early.
    """
    return "test" if until == "release" else "candidates"


def normalised_text(name: str) -> str:
    """The name of the file with the normalised form of a text file: ``test.norm.de`` for
    ``test.de``.
    """
    stem, _, language = name.partition(".")
    return f"{stem}.norm.{language}"


def keeps_normalised(manifest: Mapping[str, Any]) -> bool:
    """Whether a release has the normalised form of its text beside the original. Without
    normalisation that form is the words of a line joined by one blank."""
    config = manifest["configuration"]
    names = (config.get("tokenize", "none"), config.get("anonymise", "none"))
    return names != ("none", "none") or bool(config.get("lowercase") or config.get("detokenize"))


def table_names(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The tables of a release, in display order. To add one, name it here and give its rows in
    :mod:`cgbench.benchmark.release.data_tables`."""
    if is_split(manifest):
        return ("train", "test")
    if manifest["until"] != "release":
        return ("candidates",)
    config = manifest["configuration"]
    further_sets = {
        "control": config.get("control"),
        "sample": config.get("design") == "stratified",
    }
    return ("test", "candidates", *(name for name, is_drawn in further_sets.items() if is_drawn))


def table_file(name: str) -> str:
    """The file of a table, named as on data set hubs."""
    return f"{DATA}/{name}-00000-of-00001.parquet"


def file_names(manifest: Mapping[str, Any]) -> set[str]:
    """The files that a release with this manifest lists."""
    texts = text_files(manifest) if manifest.get("text") != "none" else ()
    tables = table_names(manifest)
    rows = [ROW_FILES[name] for name in tables if name in ROW_FILES]
    further = SETS_FILE if is_split(manifest) else CORRELATIONS
    return {*texts, *rows, *map(table_file, tables), CARD, CROISSANT, further}


def text_files(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The text files of a release with text: the source and target of each set, then the normalised
    forms of all of these, if it contains them."""
    sets = [
        name
        for name in table_names(manifest)
        if name != "candidates" or manifest["until"] != "release"
    ]
    names = [f"{name}.{language}" for name in sets for language in manifest["languages"]]
    return (*names, *(map(normalised_text, names) if keeps_normalised(manifest) else ()))


def is_inside(name: object) -> bool:
    """Whether a name is that of a file in a release's folder, or in its folder of tables."""
    if not isinstance(name, str):
        return False
    folder, _, file = name.rpartition("/")
    return folder in ("", DATA) and file == Path(file).name and file not in ("", ".", "..")


def signature(manifest: dict[str, Any]) -> str:
    """The short, unique name of this benchmark: method, main settings, version, and a hash.

    A release with restored text keeps the name under which it was published without.
    """
    config, counts = manifest["configuration"], manifest["counts"]
    if is_split(manifest):  # without the card, which contains the signature
        target = config["divergence"]
        files = {name: value for name, value in manifest["files"].items() if name != CARD}
        return "|".join(
            [
                f"split|method:{config['method']}",
                f"elements:{config['elements'].split(':')[0]}",
                *([f"div:{target}"] if target is not None else []),
                f"seed:{config['seed']}",
                f"train:{counts['train']}",
                f"test:{counts['selected']}",
                f"sha:{hash_value(files)[:12]}",
                f"v:{manifest['version']}",
            ]
        )
    fields = [
        "react",
        f"side:{config['degree_side']}",
        f"min:{config['ngram_min_count']}",
        (
            f"unc:{config['uncertainty']}"
            if manifest["until"] == "release"
            else f"until:{manifest['until']}"
        ),
        f"seed:{config['seed']}",
        f"n:{counts.get('selected', counts['candidates'])}",
        f"sha:{hash_value(manifest.get('published', manifest['files']))[:12]}",
        f"v:{manifest['version']}",
    ]
    return "|".join(fields)


def digest(manifest: dict[str, Any]) -> str:
    """The SHA-256 of a manifest (or the record of a workspace) except its digest, and so of all
    listed files.
    """
    return hash_value({key: value for key, value in manifest.items() if key != "digest"})


def summary(values: Any) -> dict[str, float]:
    """Mean and quantiles (minimum, quartiles, maximum) of values."""
    data = np.array(values, np.float64)
    points = np.quantile(data, QUANTILES)
    return {
        "mean": float(data.mean()),
        **{f"q{int(q * 100)}": float(p) for q, p in zip(QUANTILES, points, strict=True)},
    }
