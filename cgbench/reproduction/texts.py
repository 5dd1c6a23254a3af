"""The training texts of a run, with held-out or augmented pairs, and its dictionaries and
lexicon.
"""

from pathlib import Path
from typing import Any

import numpy as np

from cgbench.errors import InputError
from cgbench.files import write_atomic
from cgbench.models.config.methods import SpanSupervisionConfig
from cgbench.models.lexicons.lexicon import learn_lexicon
from cgbench.models.text.subwords import Subwords
from cgbench.reproduction.plan import SMOKE, Run
from cgbench.reproduction.tables import Benchmark
from cgbench.text.streams import read_lines

Pairs = list[tuple[str, str]]
Files = tuple[Path, Path]


def training_texts(
    run: Run, data: Path, sides: tuple[str, str], folder: Path
) -> tuple[Files, Files | None]:
    """Write the training text and, if there is one, the validation text, one file per side."""
    benchmark, system = run.benchmark, run.system
    pairs = read_split(benchmark, data, benchmark.train, sides)
    pairs = _of_scale(run, pairs)
    valid = read_split(benchmark, data, benchmark.valid, sides) if benchmark.valid else []
    if system.hold_out:
        pairs, valid = held_out(
            pairs, float(system.hold_out["share"]), str(system.hold_out["which"]), run.seed
        )
    if system.augment:
        settings = dict(system.augment)
        if run.scale == "smoke" and settings.get("method") == "csl":
            settings |= {"updates": SMOKE["updates"], "samples": SMOKE["pairs"]}
        pairs = augmented(pairs, settings, run.seed)
    pairs, valid = (
        [(source, spelled(run, target)) for source, target in part] for part in (pairs, valid)
    )
    folder.mkdir(parents=True, exist_ok=True)
    return write_pairs(folder, "train", pairs), (
        write_pairs(folder, "valid", valid) if valid else None
    )


def spelled(run: Run, target: str) -> str:
    """A target as the run's model reads and writes it."""
    for text, instead in run.system.spelling.items():
        target = target.replace(text, instead)
    return target


def training_spans(run: Run, data: Path, folder: Path) -> Path | None:
    """Write the spans of the training text that its authors aligned, if they are available."""
    path = data / f"{run.benchmark.train}.spans"
    if not isinstance(run.preset.method, SpanSupervisionConfig) or not path.is_file():
        return None
    spans = _of_scale(run, list(read_lines(path)))
    write_atomic(folder / "train.spans", "".join(f"{line}\n" for line in spans))
    return folder / "train.spans"


def _of_scale(run: Run, rows: list[Any]) -> list[Any]:
    """All rows of the training text, or evenly spaced ones for a smoke test."""
    count = SMOKE["pairs"]
    if run.scale != "smoke" or len(rows) <= count:
        return rows
    return [rows[position * len(rows) // count] for position in range(count)]


def held_out(pairs: Pairs, portion: float, which: str, seed: int) -> tuple[Pairs, Pairs]:
    """Split pairs into training pairs and validation pairs (the ``last`` ones, or ``random``
    ones).
    """
    count = int(len(pairs) * portion)
    order = np.arange(len(pairs))
    if which == "random":
        order = np.random.Generator(np.random.PCG64(seed)).permutation(order)
    first, last = (
        sorted(order[: len(pairs) - count].tolist()),
        sorted(order[len(pairs) - count :].tolist()),
    )
    return [pairs[row] for row in first], [pairs[row] for row in last]


def augmented(pairs: Pairs, settings: dict, seed: int) -> Pairs:
    """Training pairs mixed with new ones from GECA, or ``copies`` of them with those of CSL."""
    from cgbench.data_recipes.csl.augment_csl import csl_pairs
    from cgbench.data_recipes.geca import Settings, augment, mixed

    if settings.pop("method", "geca") == "csl":
        copies = int(settings.pop("copies"))
        return [*pairs * copies, *csl_pairs(pairs, settings, seed)]
    ratio = float(settings.pop("ratio"))
    new = augment(pairs, Settings(**settings, seed=seed)).pairs
    if not new:
        raise InputError("GECA makes no new pairs from this text")
    return mixed(pairs, new, ratio)


def learn_dictionaries(
    run: Run, data: Path, sides: tuple[str, str], train: Files, folder: Path
) -> Subwords | None:
    """The dictionaries of the training text, or of all splits used by the paper; none if a whole
    pre-trained model has its own.
    """
    if run.start and run.start.is_whole:
        return None
    benchmark = run.benchmark
    files = train
    if benchmark.dictionary:
        pairs = [
            pair
            for split in benchmark.dictionary
            for pair in read_split(benchmark, data, split, sides)
        ]
        files = write_pairs(folder, "dictionary", pairs)
    if run.start:  # the pre-trained model has a tokeniser for the source
        return run.start.learn(files[1], run.preset.text)
    subwords = Subwords.learn(*files, run.preset.text)
    more_words = benchmark.more_words
    if not more_words:
        return subwords
    return Subwords(
        subwords.merges,
        [*subwords.source, *more_words.get("source", ())],
        [*subwords.target, *more_words.get("target", ())],
        subwords.unit,
    )


def learn_run_lexicon(run: Run, data: Path, sides: tuple[str, str], folder: Path) -> Path | None:
    """The lexicon of a system, if any: given, or learned from the whole training split, as by the
    authors.
    """
    system = run.system
    if system.lexicon_file:
        return data / system.lexicon_file
    if not system.lexicon:
        return None
    pairs = read_split(run.benchmark, data, run.benchmark.train, sides)
    path = folder / "lexicon.json"
    # The same lexicon for every seed, even from the Bayesian learner, as by the authors.
    learn_lexicon(system.lexicon, pairs, dict(system.lexicon_set)).lexicon.save(path)
    return path


def read_split(benchmark: Benchmark, data: Path, split: str, sides: tuple[str, str]) -> Pairs:
    """The pairs of a prepared split."""
    return list(zip(*(read_side(benchmark, data, split, side) for side in sides), strict=True))


def chosen_rows(run: Run, count: int) -> np.ndarray:
    """The rows of a test of ``count`` rows that a run translates, depending on its scale."""
    if not 0 < run.rows < count:
        return np.arange(count)
    # Evenly spaced complete groups of five, since CTER counts compounds in five contexts.
    groups = np.arange(run.rows // 5) * (count // 5) // (run.rows // 5)
    rows: np.ndarray = (groups[:, None] * 5 + np.arange(5)).ravel()
    return rows


def read_side(benchmark: Benchmark, data: Path, split: str, side: str) -> list[str]:
    """The lines of one file of a prepared split."""
    lines, empty = list(read_lines(data / f"{split}.{side}")), benchmark.empty_word
    return (
        [" ".join(word or empty for word in line.split(" ")) for line in lines] if empty else lines
    )


def write_pairs(folder: Path, name: str, pairs: Pairs) -> Files:
    """Write pairs, one file per side."""
    files = folder / f"{name}.source", folder / f"{name}.target"
    for side, path in enumerate(files):
        write_atomic(path, "".join(f"{pair[side]}\n" for pair in pairs))
    return files
