"""Read a corpus through the n-grams of a test text: each shard is a step, so a stopped run resumes.

A shard gives the longest matches of each state that it reached (``automaton.py``), and its counts.
The matches of all shards are merged; the order does not matter.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.measure.known_ngrams.saved import read_array
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.measure.overlap.automaton import Automaton
from cgbench.engines import Engine, Local
from cgbench.errors import InputError
from cgbench.files import check_shape, read_json, write_json
from cgbench.progress import bar
from cgbench.steps import Step, Workspace, hash_value
from cgbench.text.normalisation import Normalisation, normaliser
from cgbench.text.shards import Change, Shard, hash_shard, read_shard

SMALL = 8 << 20
"""Bytes of a corpus that is read faster than a worker process starts."""
COUNTS = {"documents": int, "words": int, "bytes": int, "held": int}
"""The counts of a shard: documents (lines, rows), words, bytes of text, words that are also in the
test text.
"""

REMEDY = "remove the folder, and run the command again"


@dataclass(frozen=True)
class ReadingRules:
    """How texts are normalised; ``most``: the highest exact count."""

    normalisation: Normalisation
    most: int

    @property
    def units(self) -> dict[str, Any]:
        """The settings that determine words, as JSON."""
        return {"words": self.normalisation.settings}

    @property
    def lower(self) -> bool:
        """Whether text is only lower-cased."""
        return self.normalisation.lowercase and not self.normalisation.tokenizes

    @property
    def change(self) -> Change | None:
        """The function that normalises a line; None if it is unchanged or only lower-cased."""
        if self.normalisation.is_identity or self.lower:
            return None
        return normaliser(self.normalisation, self.normalisation.languages[0])


def read_corpus(
    workspace: Workspace, test: Path, shards: list[Shard], rules: ReadingRules, engine: Engine
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """The matches of a corpus, int32 ``[states, rules.most]``, and the counts of each shard
    (:data:`COUNTS`).

    :param test: the folder of the automaton.
    :raises InputError: a shard cannot be read (names the file and the place).
    """
    from cgbench.benchmark.measure.overlap.automaton_kernels import merge_matches

    matches = Automaton.load(test).no_matches(rules.most)
    counts: list[dict[str, Any]] = [{} for _ in shards]
    tasks = [(index, workspace.root, test, shard, rules) for index, shard in enumerate(shards)]
    sizes = [
        (shard.path.stat().st_size if shard.end is None else shard.end) - shard.begin
        for shard in shards
    ]
    with bar(sum(sizes), "read", "B") as progress:
        for index, folder in (Local(1) if sum(sizes) < SMALL else engine).run(_count, tasks):
            states = read_array(folder / "states.npy", "int64", remedy=REMEDY)
            shard_matches = read_array(folder / "matches.npy", "int32", rules.most, remedy=REMEDY)
            if (
                len(shard_matches) != len(states)
                or (states < 0).any()
                or (states >= len(matches)).any()
            ):
                raise InputError(f"{folder}: damaged arrays; {REMEDY}")
            merge_matches(matches, states, shard_matches)
            counts[index] = read_json(folder / "counts.json")
            check_shape(counts[index], COUNTS, folder / "counts.json", REMEDY)
            progress.update(sizes[index])
    return matches, counts


def _count(
    shard_number: int, root: Path, test: Path, shard: Shard, rules: ReadingRules
) -> tuple[int, Path]:
    """The folder with the matches of a shard, in the workspace ``root``; reads the shard if
    needed.
    """

    def make(folder: Path) -> None:
        automaton, vocabulary = _open(test)
        matches = automaton.no_matches(rules.most)
        documents = words = bytes_read = matched = 0
        for block in read_shard(shard, rules.change, lower=rules.lower):
            ids, lengths = vocabulary.read(block)
            matched += automaton.read(ids, lengths, matches)
            documents += len(lengths)
            words += len(ids)
            bytes_read += block.size
        states = np.flatnonzero(matches[:, 0])
        np.save(folder / "states.npy", states)
        np.save(folder / "matches.npy", matches[states])
        read = {"documents": documents, "words": words, "bytes": bytes_read, "held": matched}
        write_json(folder / "counts.json", read)

    return shard_number, Workspace(root).run(_step(test, shard, rules), make)


def _step(test: Path, shard: Shard, rules: ReadingRules) -> Step:
    """The step of a shard: its name depends on the place in the file, its key on the bytes
    there.
    """
    shard_key = hash_value([str(shard.path.absolute()), shard.column, shard.begin])[:12]
    config = {
        "most": rules.most,
        "kind": shard.kind,
        "packed": shard.path.suffix if shard.end is None else "",
    }
    config |= {"column": shard.column, "units": rules.units}
    # A byte order mark is one only at the start of a file.
    config |= {"first": not shard.begin}
    return Step(f"corpus-{shard_key}", config, {"text": hash_shard(shard), "test": test.name})


@lru_cache(maxsize=1)
def _open(test: Path) -> tuple[Automaton, Vocabulary]:
    """The automaton and the words, loaded once per process."""
    vocabulary, automaton = Vocabulary.load(test), Automaton.load(test)
    automaton.check_words(len(vocabulary), test)
    return automaton, vocabulary
