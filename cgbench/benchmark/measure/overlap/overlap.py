"""``overlap()``: how much of a test text is in a corpus of any size, counted exactly in one pass
over the corpus.
"""

import hashlib
import tempfile
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.argument_types import as_path
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.measure.overlap.automaton import Automaton
from cgbench.benchmark.measure.overlap.corpus_counts import save_known
from cgbench.benchmark.measure.overlap.reading import ReadingRules, read_corpus
from cgbench.benchmark.measure.overlap.request import OverlapRequest
from cgbench.benchmark.measure.overlap.result import Overlap, SideOverlap
from cgbench.engines import Engine
from cgbench.errors import InputError, argument
from cgbench.files import write_atomic, write_json
from cgbench.locks import locked
from cgbench.request import accepts
from cgbench.steps import STEPS, Step, Workspace, check_folder
from cgbench.text.inputs import as_column, is_path
from cgbench.text.normalisation import SIDES, Normalisation, normaliser
from cgbench.text.remote import as_given, local
from cgbench.text.shards import SHARD, Shard, cut_files, find_files


@accepts(OverlapRequest)
def overlap(request: OverlapRequest) -> Overlap:
    """Measure how much of each example of a test text occurs in a corpus: known n-grams, the
    longest, the degree.

    An n-gram is known if it occurs at least ``min_count`` times within lines (rows) of the corpus.
    The corpus is read once, whatever its size; memory depends on the test text. Both sides of a
    test text are read alike: rules of one language (Moses' tokeniser, ``detokenize``) allow only
    one side at a time.

    :raises InputError: a text cannot be read, the sides are not aligned, or arguments do not fit
        together.
    """
    sides = _sides(request.test, request.text.normalisation)
    corpus = [request.corpus] if is_path(request.corpus) else list(request.corpus)
    shards = cut_files(
        find_files([local(str(path)) for path in corpus], request.column),
        request.shard_bytes or SHARD,
    )
    out = None if request.out is None else as_path(request.out)
    if out is not None:
        check_folder(out)
        out.mkdir(parents=True, exist_ok=True)
    temporary = tempfile.TemporaryDirectory(prefix="cgbench-") if out is None else nullcontext(out)
    with temporary as name, request.tasks.workers as engine:
        folder = Path(name)
        engine.share(folder)
        with locked(folder / STEPS / "lock", wait=False):
            result = _measured(request, sides, shards, folder, engine)
            if out is not None:
                for leftover in folder.glob(
                    ".*.tmp"
                ):  # of an interrupted run; the folder is locked
                    leftover.unlink()
                write_json(folder / "overlap.json", result.as_dict())
                write_atomic(folder / "examples.tsv", result.table())
    return result


def _measured(
    request: OverlapRequest,
    sides: dict[str, list[str]],
    shards: list[Shard],
    folder: Path,
    engine: Engine,
) -> Overlap:
    """The overlap of the sides of a text with a corpus; the n-grams of the text are saved in
    ``folder``.
    """
    from cgbench.benchmark.measure.overlap.automaton_kernels import measure_overlap

    # The words and n-grams of all sides, one after another, and the corpus read through them.
    rules = ReadingRules(request.text.normalisation, max(3, request.min_count))
    workspace = Workspace(folder / STEPS)

    def build(out: Path) -> None:
        lines = [line for side in sides.values() for line in side]
        words = Vocabulary.learn(lines, min_count=1)
        words.save(out)
        ids, lengths = words.read_lines(lines)
        np.save(out / "ids.npy", ids)
        np.save(out / "lengths.npy", lengths)
        Automaton.build(ids, lengths, len(words)).save(out)

    digest = hashlib.sha256(
        "\n".join("\n".join(["", *side]) for side in sides.values()).encode()
    ).hexdigest()
    test = workspace.run(Step("test", {"units": rules.units}, {"text": digest}), build)
    matches, counts = read_corpus(workspace, test, shards, rules, engine)
    if not any(shard["words"] for shard in counts):
        raise InputError(f"{argument('corpus')}: the corpus is empty: it has no words")
    automaton, words = Automaton.load(test), Vocabulary.load(test)
    ids, lengths = np.load(test / "ids.npy"), np.load(test / "lengths.npy")
    ends, _ = automaton.ends(ids, lengths, automaton.known(matches, request.min_count))
    save_known(folder / "known", test, matches, rules)
    # What is known of each line.
    count, orders = len(lengths), tuple(sorted(set(request.orders)))
    known = np.zeros((count, len(orders)), np.int32)
    pieces, covered, longest, longest_end = (np.zeros(count, np.int32) for _ in range(4))
    measure_overlap(
        ends, lengths, np.array(orders, np.int32), known, pieces, covered, longest, longest_end
    )
    begins = np.cumsum(lengths) - lengths + longest_end - longest
    spans = [
        words.text(ids[begin:end].tolist())
        for begin, end in zip(begins, begins + longest, strict=True)
    ]
    examples = count // len(sides)
    overlaps = []
    for side, name in enumerate(sides):
        rows = slice(side * examples, (side + 1) * examples)
        overlaps.append(
            SideOverlap(
                name,
                lengths[rows],
                known[rows],
                pieces[rows],
                covered[rows],
                longest[rows],
                spans[rows],
            )
        )
    settings = {"min_count": request.min_count, "units": rules.units, "orders": list(orders)}
    return Overlap(tuple(overlaps), orders, request.min_count, _corpus(shards, counts), settings)


def _corpus(shards: list[Shard], counts: list[dict[str, Any]]) -> dict[str, Any]:
    """The counts of what was read, by file and in total."""
    files = []
    for (path, _), group in groupby(
        zip(shards, counts, strict=True), lambda pair: (pair[0].path, pair[0].column)
    ):
        group_counts = [shard_counts for _, shard_counts in group]
        total = {
            name: sum(row[name] for row in group_counts) for name in ("documents", "words", "bytes")
        }
        files.append({"file": as_given(str(path)), **total})
    return {name: sum(file[name] for file in files) for name in ("documents", "words", "bytes")} | {
        "files": files
    }


def _sides(test: Any, normalisation: Normalisation) -> dict[str, list[str]]:
    """The normalised texts of a test text by side."""
    is_text = isinstance(test, list) and all(isinstance(text, str) for text in test)
    texts = (
        list(test)
        if isinstance(test, (tuple, list)) and len(test) in (1, 2) and not is_text
        else [test]
    )
    names = SIDES if len(texts) == 2 else ("text",)
    first, second = normalisation.tokenizers
    if len(texts) == 2 and (first != second or first == "moses" or normalisation.detokenize):
        which = argument("detokenize" if normalisation.detokenize else "tokenize")
        raise InputError(
            f"{which}: the corpus is read by the rules of one language, but there are two sides;"
            f" run each side alone, with its own {argument('language')} and {argument('tokenize')}"
        )
    columns = [as_column(text, name, "text", name) for text, name in zip(texts, names, strict=True)]
    if len(columns) == 2 and len(columns[0]) != len(columns[1]):
        raise InputError(
            f"{columns[0].name} has {len(columns[0]):,} lines and {columns[1].name}"
            f" {len(columns[1]):,}: the two sides of a test text need one line per example each"
        )
    if not len(columns[0]):
        raise InputError(f"{columns[0].name}: the test text is empty")
    change = normaliser(normalisation, normalisation.languages[0])
    return {
        name: list(map(change, column.values)) for name, column in zip(names, columns, strict=True)
    }
