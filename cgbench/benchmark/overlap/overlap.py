"""``overlap()``: how much of a test text is in a corpus of any size, exactly, in one reading of the corpus."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.arguments import check_flag, check_whole, check_wholes
from cgbench.benchmark.overlap.automaton import Automaton
from cgbench.benchmark.overlap.counting import find_documents, read_corpus, test_step
from cgbench.benchmark.overlap.result import Overlap, Side
from cgbench.benchmark.overlap.saved import save_known
from cgbench.benchmark.overlap.sources import CountSource, ends_from
from cgbench.benchmark.overlap.units import Reading, Subwords, Words, load_units, units_of
from cgbench.engines import Engine, Local
from cgbench.errors import InputError, argument
from cgbench.files import write_atomic, write_json
from cgbench.locks import locked
from cgbench.steps import STEPS, Workspace, check_folder
from cgbench.text.inputs import Texts, as_column, is_path
from cgbench.text.normalisation import Normalisation, normaliser
from cgbench.text.plain_text import words_of
from cgbench.text.remote import as_given, local
from cgbench.text.shards import SHARD, Shard, cut_files, find_files

ORDERS = tuple(range(1, 14))
LONGEST = 2**31 - 1
SIDES = ("source", "target")


def overlap(
    test: Texts | tuple[Texts, Texts],
    corpus: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    orders: Sequence[int] = ORDERS,
    min_count: int = 1,
    documents: int = 0,
    column: str = "text",
    tokenize: str | None = None,
    detokenize: bool = False,
    language: str = "en",
    lowercase: bool = False,
    tokenizer: str | os.PathLike[str] | None = None,
    skip_bad: bool = False,
    out: str | os.PathLike[str] | None = None,
    engine: Engine | None = None,
    shard_bytes: int = SHARD,
) -> Overlap:
    """How much of each example of a test text a corpus holds: known n-grams by order, the longest, the degree.

    An n-gram is known when it occurs at least ``min_count`` times within lines (rows) of the corpus. The corpus is read
    once, whatever its size; memory is that of the test text.

    :param test: a text, or the two sides of one, one example per line each. The two sides are read alike: with Moses'
        tokeniser or ``detokenize``, which have rules for each language, only one side at a time is allowed.
    :param corpus: files, ``TABLE:COLUMN``, folders, patterns.
    :param orders: lengths of n-grams that are counted; the longest and the degree know no limit.
    :param documents: of so many documents that hold each longest span say where they are; reads the corpus again.
    :param column: of tables of the corpus where none is named.
    :param tokenizer: the ``tokenizer.json`` of a model: n-grams are of its ids.
    :param skip_bad: leave out what cannot be read of the corpus, and count it.
    :param out: a folder for the result, in which a stopped run goes on; it is what ``known_from`` takes elsewhere.
    :param shard_bytes: files that can be cut are, in such pieces; changes no byte of the result.
    :raises InputError: a text cannot be read, the sides are not aligned, or a setting is wrong.
    """
    lengths = _check_orders(orders, min_count)
    check_whole(0, documents=documents)
    check_whole(1, shard_bytes=shard_bytes)
    check_flag(detokenize=detokenize, lowercase=lowercase, skip_bad=skip_bad)
    normalisation = Normalisation(tokenize or "none", lowercase, (language, language), detokenize)
    reading = Reading(normalisation, Path(tokenizer) if tokenizer else None, column, skip_bad, max(3, min_count))
    sides = _sides(test, normalisation)
    given = [corpus] if is_path(corpus) else list(corpus)  # type: ignore[arg-type]
    files = find_files([local(os.fspath(one)) for one in given], column)  # type: ignore[arg-type]
    shards = cut_files(files, shard_bytes)
    with _folder(out) as folder, engine or Local() as opened:
        opened.share(folder)
        with locked(folder / STEPS / "lock", wait=False):
            found = _overlap(folder, sides, shards, reading, lengths, min_count, documents, opened)
            if out is not None:
                for leftover in folder.glob(".*.tmp"):  # of a run that was killed; nobody else writes here
                    leftover.unlink()
                write_json(folder / "overlap.json", found.as_dict())
                write_atomic(folder / "examples.tsv", found.table())
    return found


def overlap_from(
    test: Texts | tuple[Texts, Texts],
    source: CountSource,
    *,
    orders: Sequence[int] = ORDERS,
    min_count: int = 1,
    tokenize: str | None = None,
    detokenize: bool = False,
    language: str = "en",
    lowercase: bool = False,
) -> Overlap:
    """The same from what counts n-grams elsewhere, such as an infini-gram index; arguments as of :func:`overlap`.

    :raises InputError: a text cannot be read, the sides are not aligned, a setting is wrong, or the source says none.
    """
    lengths = _check_orders(orders, min_count)
    reading = Reading(Normalisation(tokenize or "none", lowercase, (language, language), detokenize))
    sides = _sides(test, reading.normalisation)
    lines = [line for side in sides.values() for line in side]
    units, ids, sizes = units_of(lines, reading)
    ends = ends_from(source, [words_of(line) for line in lines], min_count)
    found = measure_sides(list(sides), ids, sizes, ends, lengths, units)
    settings = {"min_count": min_count, "units": reading.units, "orders": list(lengths), "documents": 0}
    corpus = {"source": source.name, "documents": 0, "words": 0, "bytes": 0, "skipped": 0, "files": []}
    return Overlap(tuple(found), lengths, min_count, "words", corpus, settings)


def _check_orders(orders: Sequence[int], min_count: int) -> tuple[int, ...]:
    check_wholes(1, orders=orders)
    check_whole(1, min_count=min_count)
    return tuple(sorted({min(order, LONGEST) for order in orders}))


def _overlap(
    folder: Path,
    sides: dict[str, list[str]],
    shards: list[Shard],
    reading: Reading,
    orders: tuple[int, ...],
    min_count: int,
    documents: int,
    engine: Engine,
) -> Overlap:
    workspace = Workspace(folder / STEPS)
    lines = [line for side in sides.values() for line in side]

    def build(made: Path) -> None:
        units, ids, lengths = units_of(lines, reading)
        units.save(made)
        np.save(made / "ids.npy", ids)
        np.save(made / "lengths.npy", lengths)
        Automaton.build(ids, lengths, len(units)).save(made)

    test = workspace.run(test_step(reading, list(sides.values())), build)
    matches, counts = read_corpus(workspace, test, shards, reading, engine)
    automaton, units = Automaton.load(test), load_units(test, reading.tokenizer)
    ids, lengths = np.load(test / "ids.npy"), np.load(test / "lengths.npy")
    ends, _ = automaton.ends(ids, lengths, automaton.known(matches, min_count))
    found = measure_sides(list(sides), ids, lengths, ends, orders, units)
    save_known(folder / "known", test, matches, reading)
    if documents:
        places = _documents(workspace, test, shards, reading, engine, automaton, ids, lengths, found, documents, counts)
        found = [replace(side, documents=held) for side, held in zip(found, places, strict=True)]
    settings = {"min_count": min_count, "units": reading.units, "orders": list(orders), "documents": documents}
    unit = "ids" if reading.tokenizer else "words"
    return Overlap(tuple(found), orders, min_count, unit, _corpus(shards, counts), settings)


def measure_sides(
    names: Sequence[str],
    ids: np.ndarray,
    lengths: np.ndarray,
    ends: np.ndarray,
    orders: tuple[int, ...],
    units: Words | Subwords,
) -> list[Side]:
    """The figures of the sides of a text, which stand one behind the other in ``ids``, ``lengths`` and ``ends``."""
    from cgbench.benchmark.overlap.automaton_kernels import measure

    size = len(lengths)
    known = np.zeros((size, len(orders)), np.int32)
    pieces, covered, longest, longest_end = (np.zeros(size, np.int32) for _ in range(4))
    measure(ends, lengths, np.array(orders, np.int32), known, pieces, covered, longest, longest_end)
    begins = np.cumsum(lengths) - lengths + longest_end - longest
    starts = np.cumsum(lengths) - lengths
    columns = (array.tolist() for array in (starts, begins, longest, lengths))
    texts = [
        [units.text(ids[one:other].tolist()) for one, other in pairwise((start, begin, begin + held, start + length))]
        for start, begin, held, length in zip(*columns, strict=True)
    ]
    each = size // len(names)
    found = []
    for number, name in enumerate(names):
        part = slice(number * each, (number + 1) * each)
        side = Side(
            name,
            lengths[part],
            known[part],
            pieces[part],
            covered[part],
            longest[part],
            longest_end[part],
            [text[1] for text in texts[part]],
            [(text[0], text[2]) for text in texts[part]],
            None,
        )
        found.append(side)
    return found


def _documents(
    workspace: Workspace,
    test: Path,
    shards: list[Shard],
    reading: Reading,
    engine: Engine,
    automaton: Automaton,
    ids: np.ndarray,
    lengths: np.ndarray,
    sides: list[Side],
    most: int,
    counts: list[dict[str, Any]],
) -> list[list[list[str]]]:
    """Of each side and example, the names of the first documents that hold the longest span: ``file:row``."""
    longest = np.concatenate([side.longest for side in sides])
    begins = np.cumsum(lengths) - lengths + np.concatenate([side.ends for side in sides]) - longest
    states = [
        automaton.state_of(ids[begin : begin + held]) if held else 0
        for begin, held in zip(begins.tolist(), longest.tolist(), strict=True)
    ]
    spans = np.zeros(len(automaton), np.int32)
    spans[states] = longest
    spans[0] = 0
    found = find_documents(workspace, test, shards, reading, engine, spans, most)
    first, rows = [], 0  # the row of each shard's first document in its file
    for number, shard in enumerate(shards):
        rows = 0 if not shard.begin else rows + counts[number - 1]["documents"]
        first.append(rows)
    named = [
        [f"{as_given(str(shards[number].path))}:{first[number] + place + 1}" for number, place in found.get(state, [])]
        for state in states
    ]
    each = len(named) // len(sides)
    return [named[number * each : (number + 1) * each] for number in range(len(sides))]


def _corpus(shards: list[Shard], counts: list[dict[str, Any]]) -> dict[str, Any]:
    """What was read, by file and in all."""
    files = []
    for (path, _), group in groupby(zip(shards, counts, strict=True), lambda one: (one[0].path, one[0].column)):
        parts = [count for _, count in group]
        total = {name: sum(part[name] for part in parts) for name in ("documents", "words", "bytes")}
        skipped = sum(part["faults"] for part in parts)
        first = next((part["first"] for part in parts if part["first"]), "")
        more = {"skipped": skipped, "first": as_given(first)} if skipped else {}
        files.append({"file": as_given(str(path)), **total, **more})
    names = ("documents", "words", "bytes", "skipped")
    return {name: sum(file.get(name, 0) for file in files) for name in names} | {"files": files}


def _sides(test: Any, normalisation: Normalisation) -> dict[str, list[str]]:
    """The texts of a test text by side, normalised.

    :raises InputError: one cannot be read, is empty, or the two are not aligned; or their words need rules of two
        languages, where all of the corpus is read by one.
    """
    given = list(test) if isinstance(test, (tuple, list)) and len(test) in (1, 2) and not _is_text(test) else [test]
    names = SIDES if len(given) == 2 else ("text",)
    first, second = normalisation.tokenizers
    if len(given) == 2 and (first != second or first == "moses" or normalisation.detokenize):
        which = argument("detokenize" if normalisation.detokenize else "tokenize")
        raise InputError(
            f"{which}: the corpus is read by the rules of one language, and there are two sides; run each side alone, "
            f"with its own {argument('language')} and {argument('tokenize')}"
        )
    texts = [as_column(one, name, "text", name) for one, name in zip(given, names, strict=True)]
    if len(texts) == 2 and len(texts[0]) != len(texts[1]):
        raise InputError(
            f"{texts[0].name} has {len(texts[0]):,} lines and {texts[1].name} {len(texts[1]):,}: two sides of a test "
            "text have a line an example each"
        )
    if not len(texts[0]):
        raise InputError(f"{texts[0].name}: the test text is empty")
    change = None if normalisation.is_identity else normaliser(normalisation, normalisation.languages[0])
    return {
        name: text.values if change is None else list(map(change, text.values))
        for name, text in zip(names, texts, strict=True)
    }


def _is_text(given: Any) -> bool:
    """Whether a list is a text itself: of strings that are not files."""
    return isinstance(given, list) and all(isinstance(one, str) for one in given)


@contextlib.contextmanager
def _folder(out: str | os.PathLike[str] | None) -> Iterator[Path]:
    if out is None:
        with tempfile.TemporaryDirectory(prefix="cgbench-") as name:
            yield Path(name)
        return
    folder = Path(out)
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    yield folder
