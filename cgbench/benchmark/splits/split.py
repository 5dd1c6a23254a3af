"""Make splits, as a function: what ``cgbench split`` does."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgbench import __version__
from cgbench.benchmark.divergence.elements import SPACY, ElementKind, Elements, elements_of, kind_of
from cgbench.benchmark.divergence.measure import Divergences, divergences
from cgbench.benchmark.release.release import SIDES, Release
from cgbench.benchmark.splits.request import DIVERGENT, SplitConfig, SplitRequest
from cgbench.benchmark.splits.search import TEST, TRAIN, at_random, by_length, by_template, search
from cgbench.benchmark.splits.split_release import check_folder, holds_split, write_split
from cgbench.errors import InputError, InputWarning, argument
from cgbench.progress import bar
from cgbench.requests import accepts
from cgbench.steps import hash_file
from cgbench.tables import render
from cgbench.text.formats import CorpusSpec, languages_of, read_pairs
from cgbench.text.inputs import as_corpus, is_path
from cgbench.text.plain_text import words_of

SHOWN = 5  # lone atoms by name, in a warning


@dataclass(frozen=True)
class Made:
    """A split that was written, its figures, and what its user should know of it."""

    release: Release
    figures: Divergences
    warnings: tuple[str, ...]


@accepts(SplitRequest)
def split(request: SplitRequest) -> Made:
    """Split a corpus, or choose a test set for a training set that is given: what ``cgbench split`` does.

    :returns: ``release``, ``figures`` (divergences) and ``warnings``.
    :raises InputError: an input cannot be read or does not fit, a divergence cannot be reached, or sizes cannot be.
    """
    request.check()
    corpus = corpus_or_split(request.corpus, request.columns)
    train = None if request.train is None else corpus_or_split(request.train, request.columns)
    out = Path(request.out)
    if train is not None and request.method not in DIVERGENT:
        raise InputError(f"{argument('train')}: {request.method} looks at no training set; use dbca, mcd or tmcd")
    check_folder(out)
    side = request.side or ("target" if request.method == "tmcd" else "source")
    kind = kind_of(request.elements, request.weights, trust=request.trust)
    pairs = list(read_pairs(corpus))
    given = list(read_pairs(train)) if train is not None else []
    for spec, rows in ((corpus, pairs), *([(train, given)] if train is not None else [])):
        if not rows:
            raise InputError(f"{spec}: the corpus is empty")
    number = SIDES.index(side)
    texts = [(str(corpus), [pair[number] for pair in pairs])]
    if train is not None:
        texts.insert(0, (str(train), [pair[number] for pair in given]))
    found = elements_of(kind, texts)
    fixed = np.arange(len(given) + len(pairs)) < len(given) if train is not None else None
    side_of = _sides(found, request, fixed, texts[-1][1])
    figures = divergences(found, side_of == TRAIN, side_of == TEST, kind)
    warnings = [*_reached(figures, request, len(pairs), fixed is not None), *_lone(figures)]
    chosen = {
        name: [
            [pair[at] for pair, here in zip([*given, *pairs], side_of == value, strict=True) if here] for at in (0, 1)
        ]
        for name, value in (("train", TRAIN), ("test", TEST))
    }
    manifest = {
        "version": __version__,
        "configuration": request.settings
        | {"elements": kind.said, "degree_side": side, "tokenize": "none", "lowercase": False},
        "languages": list(languages_of(request.languages, corpus)),
        "licence": request.licence,
        "inputs": {
            "pool": [{"files": _inputs(corpus.files), "columns": corpus.columns, "pairs": len(pairs)}],
            "given": _inputs(train.files) if train is not None else None,
            "elements": _inputs(kind.files) + _pipeline(kind),
        },
        "counts": {
            "pool": len(pairs),
            "candidates": len(pairs),
            "train": int((side_of == TRAIN).sum()),
            "selected": int((side_of == TEST).sum()),
            "neither": int((side_of < 0).sum()),
        },
        "figures": figures.as_dict(),
        "warnings": warnings,
        "command": _command(corpus, train, kind, request, side),
    }
    release = write_split(out, chosen, side_of[len(given) :].tolist(), manifest)
    return Made(release, figures, tuple(warnings))


def corpus_or_split(given: Any, columns: tuple[str, str] | None) -> CorpusSpec:
    """A corpus of files; of a folder that ``cgbench split`` wrote, its training set.

    :raises InputError: it is neither.
    """
    names = [given] if is_path(given) else given
    if isinstance(names, (list, tuple)) and len(names) == 1 and is_path(names[0]) and holds_split(Path(names[0])):
        split = Release.open(names[0])
        return CorpusSpec(tuple(split.train_path(side) for side in SIDES), None)
    return as_corpus(given, columns)


def summary(made: Made) -> str:
    """A row: what was asked for, and the figures."""
    head = ["target", "atom divergence", "compound divergence", "train", "test", "novel compounds", "folder"]
    counts, target = made.release.manifest["counts"], made.release.manifest["configuration"]["divergence"]
    novel = made.figures.novel_compounds / made.figures.compounds if made.figures.compounds else 0.0
    row = ["highest" if target is None else f"{target:g}", f"{made.figures.atom:.4f}", f"{made.figures.compound:.4f}"]
    row += [f"{counts['train']:,}", f"{counts['selected']:,}", f"{100 * novel:.1f} %", made.release.folder.name]
    return render(head, [row])


def _sides(found: Elements, config: SplitConfig, fixed: np.ndarray | None, lines: Sequence[str]) -> np.ndarray:
    if config.method == "random":
        return at_random(found.examples, config)
    if config.method == "length":
        return by_length(np.array([len(words_of(line)) for line in lines]), config)
    if config.method == "template":
        return by_template(found.templates, config)
    examples = found.examples if fixed is None else int((~fixed).sum())
    steps = sum(config.sizes(examples, fixed=fixed is not None))
    total = steps * ((config.method != "tmcd") + (config.tries if fixed is None else 0))
    with bar(total, f"split by {config.method}", "step") as shown:
        return search(found, config, fixed, shown.update)


def _reached(figures: Divergences, config: SplitConfig, pairs: int, fixed: bool) -> list[str]:
    """What to say of a divergence that was not reached.

    :raises InputError: it was not, and ``nearest`` does not allow that.
    """
    limit, target = config.atom_limit, config.divergence
    lines = []
    if target is not None and abs(figures.compound - target) > config.tolerance:
        if config.bounded and figures.atom > 0.95 * limit:
            binds = f"the atom divergence, {figures.atom:.4f} of at most {limit:g}, binds"
        elif sum(config.sizes(pairs, fixed=fixed)) == pairs and not fixed:
            binds = "the sizes bind: every pair is in one of the sets"
        elif config.method == "tmcd":
            binds = "every atom must be in training"
        else:
            binds = f"the search ended there: more {argument('candidates')} or {argument('exchanges')} may come nearer"
        line = f"compound divergence {target:g} was not reached: {figures.compound:.4f} is the nearest; {binds}"
        if not config.nearest:
            raise InputError(f"{line}; {argument('nearest')} writes that split")
        lines.append(str(InputWarning(line)))  # for the manifest: arguments by their names
    if config.bounded and figures.atom > limit + 1e-12:
        lines.append(f"atom divergence {figures.atom:.6g} is above {limit:g}: what is new is not composition alone")
    return lines


def _lone(figures: Divergences) -> list[str]:
    if not figures.lone_atoms:
        return []
    names = ", ".join(figures.lone_atoms[:SHOWN]) + (", ..." if len(figures.lone_atoms) > SHOWN else "")
    return [
        f"{len(figures.lone_atoms):,} of {figures.atoms:,} atoms of the test set are not in training ({names}): "
        "no model can compose what it has never seen"
    ]


def _inputs(paths: Sequence[Path]) -> list[dict[str, str]]:
    return [{"path": path.name, "sha256": hash_file(path)} for path in paths]


def _pipeline(kind: ElementKind) -> list[dict[str, str]]:
    return [{"path": Path(kind.pipeline).name, "sha256": kind.pipeline_digest}] if kind.pipeline else []


def _command(corpus: CorpusSpec, train: CorpusSpec | None, kind: ElementKind, config: SplitConfig, side: str) -> str:
    """The command that makes this split again, every setting spelled out, files by their names alone."""
    words = ["cgbench", "split", "--corpus", *(path.name for path in corpus.paths)]
    if train is not None:
        words += ["--train", *(path.name for path in train.paths)]
    columns = corpus.columns or (train.columns if train else None)
    words += ["--columns", ",".join(columns)] if columns else []
    names = [path.name for path in kind.files] + [f"{SPACY}{one['path']}" for one in _pipeline(kind)]
    elements = f"{kind.name}:{','.join(names)}" if names else kind.said
    defaults = SplitConfig().settings
    words += ["--side", side, "--out", "DIR"] + (["--trust"] if kind.trust else [])
    for name, value in (config.settings | {"elements": elements}).items():
        if value != defaults[name]:
            words += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    return shlex.join(words)
