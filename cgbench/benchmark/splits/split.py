"""Make splits, as a function: what ``cgbench split`` does."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgbench import __version__
from cgbench.arguments import check_choice, check_flag
from cgbench.benchmark.divergence.elements import SPACY, ElementKind, Elements, elements_of, kind_of
from cgbench.benchmark.divergence.measure import Divergences, divergences
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.splits.search import TEST, TRAIN, search
from cgbench.benchmark.splits.simple import at_random, by_length, by_template
from cgbench.benchmark.splits.split_config import DIVERGENT, SplitConfig
from cgbench.benchmark.splits.split_release import SIDES, check_folder, write_split
from cgbench.errors import InputError, InputWarning, argument
from cgbench.files import write_atomic
from cgbench.progress import bar
from cgbench.settings import apply_settings
from cgbench.steps import hash_file
from cgbench.tables import render
from cgbench.text.formats import CorpusSpec, language_suffixes, read_pairs
from cgbench.text.inputs import AnyPath, Corpus, as_corpus
from cgbench.text.plain_text import words_of

Say = Callable[[str], None]
CURVE = "curve.tsv"
SHOWN = 5  # lone atoms by name, in a warning


@dataclass(frozen=True)
class Made:
    """A split that was written, its figures, and what its user should know of it."""

    release: Release
    figures: Divergences
    warnings: tuple[str, ...]


def split(
    corpus: Corpus,
    out: AnyPath,
    config: SplitConfig | None = None,
    *,
    targets: Sequence[float] = (),
    train: Corpus | None = None,
    side: str | None = None,
    languages: tuple[str, str] | None = None,
    licence: str = "",
    trust: bool = False,
    **settings: Any,
) -> list[Made]:
    """Split a corpus, or choose a test set for a training set that is given: what ``cgbench split`` does.

    :param corpus: two files, ``(source, target)``, or one file with both sides.
    :param out: folder of the release; of several ``targets``, a folder for each in it, beside ``curve.tsv``.
    :param targets: compound divergences, instead of the one of ``config``.
    :param train: the training set; the test set is then chosen from ``corpus``.
    :param trust: load a spaCy pipeline for the elements from a folder, which may run any code.
    :param side: the side whose elements count: ``source``, or ``target``, the default of ``tmcd``.
    :param settings: of the split, by name: ``method="dbca"``, ``elements="words:2,3"``, ``divergence=0.5``, ``seed=2``
        and so on (docs/split.md); they change ``config``.
    :returns: for each target what was made: ``release``, ``figures`` (divergences) and ``warnings``.
    :raises InputError: an input cannot be read or does not fit, a divergence cannot be reached, or sizes cannot be.
    """
    check_flag(trust=trust)
    check_choice(SIDES, side=side)
    config = apply_settings(config or SplitConfig(), settings)
    corpus, train = _corpus(corpus, "corpus"), None if train is None else _corpus(train, "train")
    out = Path(out)
    if train is not None and config.method not in DIVERGENT:
        raise InputError(f"{argument('train')}: {config.method} looks at no training set; use dbca, mcd or tmcd")
    if targets and config.method not in DIVERGENT:
        raise InputError(f"{argument('divergence')} belongs to {argument('method', 'mcd')}, tmcd or dbca")
    wanted: list[float | None] = [*sorted(set(targets))] or [config.divergence]
    configs = [dataclasses.replace(config, divergence=target) for target in wanted]
    folders = [out / f"divergence-{target:g}" for target in wanted] if len(wanted) > 1 else [out]
    for folder in folders:
        check_folder(folder)
    side = side or ("target" if config.method == "tmcd" else "source")
    kind = kind_of(config.elements, config.weights, trust=trust)
    pairs = list(read_pairs(corpus))
    given = list(read_pairs(train)) if train is not None else []
    for name, rows in ((str(corpus), pairs), *([(str(train), given)] if train is not None else [])):
        if not rows:
            raise InputError(f"{name}: the corpus is empty")
    number = SIDES.index(side)
    texts = [(str(corpus), [pair[number] for pair in pairs])]
    if train is not None:
        texts.insert(0, (str(train), [pair[number] for pair in given]))
    found = elements_of(kind, texts)
    fixed = np.arange(len(given) + len(pairs)) < len(given) if train is not None else None
    made = []
    for one, folder in zip(configs, folders, strict=True):
        side_of = _sides(found, one, fixed, texts[-1][1])
        figures = divergences(found, side_of == TRAIN, side_of == TEST, kind)
        warnings = [*_reached(figures, one, len(pairs), fixed is not None), *_lone(figures)]
        chosen = {
            name: [
                [pair[at] for pair, here in zip([*given, *pairs], side_of == value, strict=True) if here]
                for at in (0, 1)
            ]
            for name, value in (("train", TRAIN), ("test", TEST))
        }
        manifest = {
            "version": __version__,
            "configuration": dataclasses.asdict(one)
            | {"elements": kind.said, "degree_side": side, "tokenize": "none", "lowercase": False},
            "languages": list(languages or language_suffixes(corpus) or SIDES),
            "licence": licence,
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
            "command": _command(corpus, train, kind, one, side),
        }
        release = write_split(folder, chosen, side_of[len(given) :].tolist(), manifest)
        made.append(Made(release, figures, tuple(warnings)))
    if len(made) > 1:
        write_atomic(out / CURVE, curve(made) + "\n")
    return made


def _corpus(given: Corpus, name: str) -> CorpusSpec:
    """A corpus of files; lists of sentences are refused."""
    if isinstance(given, CorpusSpec):
        return given
    try:
        return as_corpus(given)
    except TypeError:
        raise InputError(f"{argument(name)}: a file is needed, or two, (source, target)") from None


def curve(made: Sequence[Made], form: str = "tsv") -> str:
    """A row a split: what was asked for, and its figures."""
    exact = form == "tsv"
    head = ["target", "atom divergence", "compound divergence", "train", "test", "novel compounds", "folder"]
    rows = []
    for one in made:
        counts, target = one.release.manifest["counts"], one.release.manifest["configuration"]["divergence"]
        figures = [one.figures.atom, one.figures.compound]
        novel = one.figures.novel_compounds / one.figures.compounds if one.figures.compounds else 0.0
        rows.append([
            "highest" if target is None else f"{target:g}",
            *(repr(figure) if exact else f"{figure:.4f}" for figure in figures),
            *(str(counts[name]) if exact else f"{counts[name]:,}" for name in ("train", "selected")),
            repr(novel) if exact else f"{100 * novel:.1f} %",
            one.release.folder.name,
        ])  # fmt: skip
    return render(head, rows, form)


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
    limit = config.atom_limit
    lines = []
    if config.method in DIVERGENT and config.divergence is not None:
        apart = abs(figures.compound - config.divergence)
        if apart > config.tolerance:
            train, test = config.sizes(pairs, fixed=fixed)
            binds = (
                f"the atom divergence, {figures.atom:.4f} of at most {limit:g}, binds"
                if config.method != "dbca" and figures.atom > 0.95 * limit
                else "the sizes bind: every pair is in one of the sets"
                if train + test == pairs and not fixed
                else "every atom must be in training"
                if config.method == "tmcd"
                else f"the search ended there: more {argument('candidates')} or {argument('exchanges')} may come nearer"
            )
            lines.append(
                f"compound divergence {config.divergence:g} was not reached: {figures.compound:.4f} is the nearest; "
                f"{binds}"
            )
            if not config.nearest:
                raise InputError(f"{lines[0]}; {argument('nearest')} writes that split")
            lines[0] = str(InputWarning(lines[0]))  # for the manifest: arguments by their names
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
    given: dict[str, Any] = dataclasses.asdict(config) | {"elements": elements}
    defaults = dataclasses.asdict(SplitConfig())
    words += ["--side", side, "--out", "DIR"] + (["--trust"] if kind.trust else [])
    for name, value in given.items():
        if value != defaults[name]:
            words += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    return shlex.join(words)
