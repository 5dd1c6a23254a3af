"""How uncertain an ensemble is about each candidate: translate the source, then score the
translation.

The reference is scored in the same way: the least likely ones are mostly noise
(docs/how-to/noise.md). A second ensemble, for the reverse direction, scores each source given its
target; this gives the dual conditional cross-entropy of the pair
(:mod:`cgbench.benchmark.candidates.pair_measures`).

Shards go to worker processes. A finished shard is a file, so a stopped build loses only the shards
in progress. The content of a shard depends only on the candidates and the ensemble, not on the
number of workers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.benchmark.candidates.pair_measures import REVERSE_LIKELIHOOD
from cgbench.engines import Engine, Needs
from cgbench.errors import InputError, argument
from cgbench.files import write_json_lines
from cgbench.models.checkpoints import member_folders, read_config
from cgbench.models.external.token_space import read_shards, shard_path
from cgbench.models.search_settings import DEFAULT_SEARCH, SearchSettings
from cgbench.progress import bar

if TYPE_CHECKING:
    from cgbench.models.ensemble import Ensemble
    from cgbench.text.corpus import ParallelText

# maximum number of candidates; part of the step's key, because batches are formed inside a shard
SHARD = 500
LEAST = 100  # candidates of a shard, if there are enough: fewer do not fill a batch
PLACES = 64  # workers that should all get a shard
REFERENCE = "reference_"  # prefix of the measures of the reference


def uncertainty_of_candidates(
    members: Sequence[Path],
    candidates: Path,
    out: Path,
    *,
    device: str,
    engine: Engine,
    search: SearchSettings = DEFAULT_SEARCH,
) -> None:
    """Write ``out/part-*.jsonl``: one line per candidate with its hypothesis and every sequence
    measure of it and of the reference.

    :param candidates: the folder with the texts ``candidates.source`` and ``candidates.target``.
    """
    measure = functools.partial(measure_sources, members, device=device, search=search)
    measure_shards(out, candidate_lines(candidates), measure, "uncertainty", device, engine)


def measure_shards(
    out: Path,
    texts: tuple[list[str], list[str]],
    measure: Callable[[list[str], list[str]], Sequence[Mapping[str, Any]]],
    title: str,
    device: str,
    engine: Engine,
) -> None:
    """Write the results of ``measure`` for each pair of lines to ``out/part-*.jsonl``; existing
    shards are kept.

    :param measure: a module-level function or a partial of one, so that it can be sent to worker
        processes.
    :param title: the title of the progress bar.
    """
    total = len(texts[0])
    length = shard_size(total)
    parts = {start: shard_path(out, start // length) for start in range(0, total, length)}
    tasks: list[tuple[Any, ...]] = [
        (measure, path, *(text[start : start + length] for text in texts))
        for start, path in parts.items()
        if not path.is_file()
    ]
    try:
        with bar(
            total, title, "pair", initial=total - sum(len(task[2]) for task in tasks)
        ) as progress:
            for done in engine.run(_one_shard, tasks, shard_needs(device)):
                progress.update(done)
    finally:
        open_ensemble.cache_clear()  # with one job this process holds it


def _one_shard(
    measure: Callable[..., Sequence[Mapping[str, Any]]], path: Path, *lines: list[str]
) -> int:
    rows = measure(*lines)
    write_json_lines(path, rows)
    return len(rows)


def shard_needs(device: str) -> Needs:
    """The resources of a shard."""
    return Needs(gpus=int(device == "cuda"))


def candidate_lines(candidates: Path, *, original: bool = False) -> tuple[list[str], list[str]]:
    """The sources and the targets of the candidates, normalised; or as in their files
    (``original``).
    """
    name = "originals" if original else "candidates"
    source, target = (
        (candidates / f"{name}.{side}").read_bytes().decode("utf-8").split("\n")[:-1]
        for side in ("source", "target")
    )
    return source, target


def shard_size(candidates: int) -> int:
    """The number of candidates per shard: small if there are few candidates, so that many workers
    get one.
    """
    return min(SHARD, max(LEAST, -(-candidates // PLACES)))


def read_uncertainty(folder: Path) -> dict[str, list[Any]]:
    """The measurements of all shards by name, in the order of the candidates."""
    rows = read_shards(folder)
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


def measure_sources(
    members: Sequence[Path],
    lines: Sequence[str],
    references: Sequence[str] | None = None,
    *,
    device: str,
    search: SearchSettings = DEFAULT_SEARCH,
) -> list[dict[str, Any]]:
    """Translate sources and score the translations: ``hypothesis`` and the measures of each by
    name.

    The ensemble of the last call stays open, so a worker loads the members once for all its shards.

    :param references: names of their measures begin with ``reference_``.
    """
    ensemble = open_ensemble(tuple(members), device)
    translations = ensemble.translate(lines, search)
    measures = ensemble.score(lines, [translation.tokens for translation in translations])
    if references is not None:
        reference_measures = ensemble.score(lines, ensemble.subwords.encode_target(references))
        measures |= {f"{REFERENCE}{name}": values for name, values in reference_measures.items()}
    return [
        {
            "hypothesis": translation.text,
            **{name: float(values[row]) for name, values in measures.items()},
        }
        for row, translation in enumerate(translations)
    ]


def translate_sources(
    members: Sequence[Path], lines: Sequence[str], device: str, search: SearchSettings
) -> list[str]:
    """The translations of sources, with the search of :func:`measure_sources`."""
    ensemble = open_ensemble(tuple(members), device)
    return [translation.text for translation in ensemble.translate(lines, search)]


def check_reverse(ensemble: Path, train: ParallelText) -> None:
    """Check that ``ensemble`` was trained on ``train`` in the reverse direction.

    :raises InputError: it translates in the direction of the build, or was trained on another text.
    """
    expected = {"source": train.target.sha256, "target": train.source.sha256}
    for folder in member_folders(ensemble):
        corpus = read_config(folder).corpus
        trained_on = {side: corpus.get(side) for side in expected}
        if trained_on == expected:
            continue
        if trained_on == train.hashes:
            raise InputError(
                f"{folder}: this ensemble translates in the direction of the build; a"
                f" reverse-direction ensemble is needed; train it on {train.target.path}"
                f" {train.source.path}"
            )
        raise InputError(
            f"{folder}: this reverse-direction ensemble was not trained on {train.target.path} and"
            f" {train.source.path} (or they were normalised differently); train one on the same"
            f" text with its sides swapped, and the same {argument('tokenize')} and"
            f" {argument('lowercase')}"
        )


def reverse_of_candidates(
    members: Sequence[Path], candidates: Path, out: Path, *, device: str, engine: Engine
) -> None:
    """Write ``out/part-*.jsonl``: one line per candidate with :data:`REVERSE_LIKELIHOOD`.

    :param candidates: the folder with the texts ``candidates.source`` and ``candidates.target``.
    """
    sources, targets = candidate_lines(candidates)
    measure = functools.partial(measure_reverse, members, device=device)
    measure_shards(out, (targets, sources), measure, "reverse likelihood", device, engine)


def measure_reverse(
    members: Sequence[Path], targets: Sequence[str], sources: Sequence[str], *, device: str
) -> list[dict[str, float]]:
    """The negative log-likelihood of each source given its target, in nats per token, with the end
    token.
    """
    ensemble = open_ensemble(tuple(members), device)
    values = ensemble.score(targets, ensemble.subwords.encode_target(sources))["pe_stu"]
    return [{REVERSE_LIKELIHOOD: float(value)} for value in values]


@functools.lru_cache(maxsize=1)
def open_ensemble(members: tuple[Path, ...], device: str) -> Ensemble:
    """The ensemble of the checkpoints ``members``; the last one stays open."""
    from cgbench.models.ensemble import Ensemble

    return Ensemble.open(members, device)
