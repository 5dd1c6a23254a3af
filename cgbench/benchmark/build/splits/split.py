"""``split()``: make a split, as ``cgbench split`` does."""

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from cgbench import __version__
from cgbench.benchmark.build.splits.assignment import REST, TEST, TRAIN, in_order, search
from cgbench.benchmark.build.splits.request import DIVERGENT, SplitConfig, SplitRequest
from cgbench.benchmark.build.splits.split_release import holds_split, write_split
from cgbench.benchmark.measure.divergence.elements import (
    Elements,
    ElementType,
    element_type,
    elements_of,
)
from cgbench.benchmark.measure.divergence.measure import Divergences, divergences
from cgbench.benchmark.release.release import SIDES, Release
from cgbench.errors import InputError, InputWarning, argument
from cgbench.progress import bar
from cgbench.request import accepts
from cgbench.steps import check_folder, hash_file
from cgbench.tables import render
from cgbench.text.formats import CorpusSpec, Pair, languages_of, read_pairs
from cgbench.text.inputs import as_corpus, is_path
from cgbench.text.inspection import check_pairs
from cgbench.text.plain_text import words_of

SHOWN = 5  # number of lone atoms listed in a warning


@dataclass(frozen=True)
class SplitResult:
    """A written split, its divergences, and warnings."""

    release: Release
    divergences: Divergences
    warnings: tuple[str, ...]


@accepts(SplitRequest)
def split(request: SplitRequest) -> SplitResult:
    """Split a corpus, or choose a test set for a fixed training set, as ``cgbench split`` does.

    :returns: ``release``, ``divergences`` and ``warnings``.
    :raises InputError: an input is invalid, or a divergence or the sizes cannot be reached.
    """
    with TemporaryDirectory(prefix="cgbench-") as texts:  # for sentences in memory
        return _split(request, Path(texts))


def _split(request: SplitRequest, texts: Path) -> SplitResult:
    settings, columns = request.search, request.text.table.columns
    corpus = corpus_or_split(request.corpus, columns, "corpus", texts)
    train = (
        None if request.train is None else corpus_or_split(request.train, columns, "train", texts)
    )
    out = Path(request.out)
    check_folder(out, is_earlier=holds_split)
    side = request.side or ("target" if settings.method == "tmcd" else "source")
    kind = element_type(settings.compounds, settings.weights)
    check_pairs(
        [corpus] if train is None else [train, corpus],
        languages=request.text.languages,
        accept=request.acceptance.accept_text,
    )
    # Read the corpus and the fixed training set.
    pairs = list(read_pairs(corpus))
    train_pairs = list(read_pairs(train)) if train is not None else []
    for spec, rows in ((corpus, pairs), *([(train, train_pairs)] if train is not None else [])):
        if not rows:
            raise InputError(f"{spec}: the corpus is empty")
    column = SIDES.index(side)
    sentences = [(str(corpus), [pair[column] for pair in pairs])]
    if train is not None:
        sentences.insert(0, (str(train), [pair[column] for pair in train_pairs]))
    # Assign the pairs, and measure the result.
    elements = elements_of(kind, sentences)
    fixed = (
        np.arange(len(train_pairs) + len(pairs)) < len(train_pairs) if train is not None else None
    )
    units = SplitUnits.of(pairs, {source for source, _ in train_pairs})
    side_of = _sides(elements, settings, len(train_pairs), units, sentences[-1][1])
    drawn: dict[str, Any] = {
        "splits": settings.random_splits,
        "seed": settings.seed,
        "fixed": fixed,
    }
    measured = divergences(elements, side_of == TRAIN, side_of == TEST, kind, **drawn)
    warnings = [
        *units.warnings(len(pairs)),
        *_reached(measured, settings, len(units.rows), fixed is not None),
        *_lone(measured),
    ]
    # Write the sets with a record of how they were made.
    rows = [*train_pairs, *pairs]
    chosen = {
        name: [
            [pair[at] for pair, here in zip(rows, side_of == value, strict=True) if here]
            for at in (0, 1)
        ]
        for name, value in (("train", TRAIN), ("test", TEST))
    }
    manifest = {
        "version": __version__,
        "configuration": (
            settings.settings
            | {
                "elements": kind.label,
                "degree_side": side,
                "tokenize": "none",
                "lowercase": False,
            }
        ),
        "languages": list(languages_of(request.text.languages, corpus)),
        "licence": request.licence,
        "inputs": {
            "pool": [
                {"files": _inputs(corpus.files), "columns": corpus.columns, "pairs": len(pairs)}
            ],
            "given": _inputs(train.files) if train is not None else None,
            "elements": _inputs(kind.files),
        },
        "counts": {
            "pool": len(pairs),
            "candidates": len(pairs),
            "train": int((side_of == TRAIN).sum()),
            "selected": int((side_of == TEST).sum()),
            "neither": int((side_of < 0).sum()),
            **{name: count for name, count in units.counts.items() if count},
        },
        "figures": measured.as_dict(),
        "warnings": warnings,
        "command": _command(corpus, train, kind, settings, side),
    }
    release = write_split(out, chosen, side_of[len(train_pairs) :].tolist(), manifest)
    return SplitResult(release, measured, tuple(warnings))


def corpus_or_split(
    source: Any,
    columns: tuple[str, str] | None,
    role: str = "corpus",
    texts: Path | None = None,
) -> CorpusSpec:
    """A corpus (:func:`~cgbench.text.inputs.as_corpus`); or the training set of a folder that
    ``cgbench split`` wrote.
    """
    names = [source] if is_path(source) else source
    if (
        isinstance(names, (list, tuple))
        and len(names) == 1
        and is_path(names[0])
        and holds_split(Path(names[0]))
    ):
        split = Release.open(names[0])
        return CorpusSpec(tuple(split.train_path(side) for side in SIDES), None)
    return as_corpus(source, columns, role, texts)


def split_summary(result: SplitResult) -> str:
    """The divergences next to those of random splits, then the sizes."""
    measured, manifest = result.divergences, result.release.manifest
    counts, settings = manifest["counts"], manifest["configuration"]
    highest = "highest" if settings["method"] in DIVERGENT else ""
    target = settings["divergence"]
    novel = measured.novel_compounds / measured.compounds if measured.compounds else 0.0
    rows = [
        ("atoms", "", f"{measured.atom:.4f}", str(measured.atom_chance or "-")),
        (
            "compounds",
            highest if target is None else f"{target:g}",
            f"{measured.compound:.4f}",
            str(measured.compound_chance or "-"),
        ),
    ]
    sizes = (
        f"{counts['train']:,} training pairs, {counts['selected']:,} test pairs; {100 * novel:.1f}%"
        " new compounds"
    )
    return f"{render(('divergence', 'target', 'reached', 'random splits'), rows)}\n\n{sizes}"


@dataclass(frozen=True)
class SplitUnits:
    """What a split assigns as a whole: the pairs of a corpus with the same source.

    A model that has seen a source in training is not tested on it. ``rows`` int64 ``[units]``: the
    first pair of each source; ``unit_of`` int64 ``[pairs]``: the unit of each pair, -1 for pairs
    that are in neither set. ``counts``: of pairs with an empty side, of copies of an earlier
    source, and of sources that a fixed training set contains.
    """

    rows: np.ndarray
    unit_of: np.ndarray
    counts: dict[str, int]

    @classmethod
    def of(cls, pairs: Sequence[Pair], trained: Collection[str]) -> "SplitUnits":
        """The units of ``pairs``, without those whose source is in ``trained``."""
        unit_of_source: dict[str, int] = {}
        rows: list[int] = []
        unit_of: list[int] = []
        counts = {"empty": 0, "copies": 0, "trained": 0}
        for row, (source, target) in enumerate(pairs):
            if not source.strip() or not target.strip():
                counts["empty"] += 1
                unit_of.append(-1)
            elif source in trained:
                counts["trained"] += 1
                unit_of.append(-1)
            elif source in unit_of_source:
                counts["copies"] += 1
                unit_of.append(unit_of_source[source])
            else:
                unit_of_source[source] = len(rows)
                unit_of.append(len(rows))
                rows.append(row)
        return cls(np.array(rows, np.int64), np.array(unit_of, np.int64), counts)

    def warnings(self, pairs: int) -> list[str]:
        """What was left out or kept together, one line each."""
        texts = {
            "empty": "have an empty side and are in neither set",
            "copies": "repeat the source of an earlier pair and are in the same set as that pair",
            "trained": "have a source of the fixed training set and are in neither set",
        }
        return [
            f"{count:,} of {pairs:,} pairs {texts[name]}"
            for name, count in self.counts.items()
            if count
        ]


def _sides(
    elements: Elements, config: SplitConfig, trained: int, units: SplitUnits, lines: Sequence[str]
) -> np.ndarray:
    """The set of each example: those of a fixed training set, of ``trained`` pairs, then the pairs
    of the corpus, whose texts are ``lines``.
    """
    if not len(units.rows):
        raise InputError("the corpus has no pair that could be in a test set")
    if config.method not in DIVERGENT:
        lengths = np.array([len(words_of(lines[row])) for row in units.rows])
        side_of_unit = in_order(lengths, config)
    else:
        # The first pair of each source stands for its copies.
        examples = np.concatenate([np.arange(trained), trained + units.rows])
        fixed = np.arange(len(examples)) < trained if trained else None
        steps = sum(config.sizes(len(units.rows), fixed=fixed is not None))
        total = steps * ((config.method != "tmcd") + (config.tries if fixed is None else 0))
        with bar(total, f"split by {config.method}", "step") as progress:
            side_of = search(elements.select(examples), config, fixed, progress.update)
        side_of_unit = side_of[trained:]
    # A unit of -1 takes the last entry: neither.
    side_of_pair = np.append(side_of_unit, np.int8(REST))[units.unit_of]
    return np.concatenate([np.full(trained, TRAIN, np.int8), side_of_pair])


def _reached(measured: Divergences, config: SplitConfig, pairs: int, fixed: bool) -> list[str]:
    limit, target = config.atom_limit, config.divergence
    lines = []
    if target is not None and abs(measured.compound - target) > config.tolerance:
        if config.bounded and measured.atom > 0.95 * limit:
            reason = f"limited by the atom divergence, {measured.atom:.4f} of at most {limit:g}"
        elif sum(config.sizes(pairs, fixed=fixed)) == pairs and not fixed:
            reason = "limited by the sizes: every pair is in one of the sets"
        elif config.method == "tmcd":
            reason = "limited by the atoms: all of them must be in training"
        else:
            reason = f"more {argument('candidates')} or {argument('exchanges')} may get closer"
        line = (
            f"compound divergence {target:g} was not reached: the nearest is"
            f" {measured.compound:.4f}; {reason}"
        )
        if not config.nearest:
            raise InputError(f"{line}; to write that split, use {argument('nearest')}")
        lines.append(str(InputWarning(line)))  # for the manifest, with argument names
    if config.bounded and measured.atom > limit + 1e-12:
        lines.append(
            f"atom divergence {measured.atom:.6g} is above {limit:g}: the sets differ not only in"
            " composition"
        )
    return lines


def _lone(measured: Divergences) -> list[str]:
    if not measured.lone_atoms:
        return []
    names = ", ".join(measured.lone_atoms[:SHOWN]) + (
        ", ..." if len(measured.lone_atoms) > SHOWN else ""
    )
    return [
        f"{len(measured.lone_atoms):,} of {measured.atoms:,} atoms of the test set are not in"
        f" training ({names}): no model can compose what it has never seen"
    ]


def _inputs(paths: Sequence[Path]) -> list[dict[str, str]]:
    return [{"path": path.name, "sha256": hash_file(path)} for path in paths]


def _command(
    corpus: CorpusSpec, train: CorpusSpec | None, kind: ElementType, config: SplitConfig, side: str
) -> str:
    """The command that makes this split again: every setting, files by their names."""
    words = ["cgbench", "split", "--corpus", *(path.name for path in corpus.paths)]
    if train is not None:
        words += ["--train", *(path.name for path in train.paths)]
    columns = corpus.columns or (train.columns if train else None)
    words += ["--columns", ",".join(columns)] if columns else []
    names = [path.name for path in kind.files]
    elements = f"{kind.name}:{','.join(names)}" if names else kind.label
    defaults = SplitConfig().settings
    words += ["--side", side, "--out", "DIR"]
    for name, value in (config.settings | {"elements": elements}).items():
        if value != defaults[name]:
            name = "compounds" if name == "elements" else name
            words += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    return shlex.join(words)
