"""How likely each candidate's source is given its target: a second ensemble, which translates the other way round.

With it a pair has its dual conditional cross-entropy (:mod:`cgbench.benchmark.candidates.pair_measures`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cgbench.benchmark.candidates.pair_measures import REVERSE_LIKELIHOOD
from cgbench.benchmark.candidates.uncertainty import candidate_lines, measure_shards, open_ensemble
from cgbench.engines import Engine
from cgbench.errors import InputError
from cgbench.models.checkpoints import member_folders, read_config

if TYPE_CHECKING:
    from cgbench.text.corpus import ParallelText


def check_reverse(ensemble: Path, train: ParallelText) -> None:
    """Check that ``ensemble`` was trained on ``train`` with its sides the other way round.

    :raises InputError: it goes the same way as the build, or was trained on another text.
    """
    wanted = {"source": train.target.sha256, "target": train.source.sha256}
    for folder in member_folders(ensemble):
        corpus = read_config(folder).corpus
        found = {side: corpus.get(side) for side in wanted}
        if found == wanted:
            continue
        if found == train.hashes:
            raise InputError(
                f"{folder}: this ensemble translates the way of the build; a reverse ensemble reads the target and "
                f"writes the source: train it with --train {train.target.path} {train.source.path}"
            )
        raise InputError(
            f"{folder}: this reverse ensemble was trained on other text than {train.target.path} and "
            f"{train.source.path} (or text normalised in another way); train one with the same --train, its sides the "
            "other way round, --tokenize and --lowercase"
        )


def reverse_of_candidates(members: Sequence[Path], candidates: Path, out: Path, *, device: str, engine: Engine) -> None:
    """Write ``out/part-*.jsonl``: a line a candidate with :data:`REVERSE_LIKELIHOOD`.

    :param candidates: the folder that holds the texts ``candidates.source`` and ``candidates.target``.
    """
    sources, targets = candidate_lines(candidates)
    measure = functools.partial(measure_reverse, members, device=device)
    measure_shards(out, (targets, sources), measure, "reverse likelihood", device, engine)


def measure_reverse(
    members: Sequence[Path], targets: Sequence[str], sources: Sequence[str], *, device: str
) -> list[dict[str, float]]:
    """Of each pair the negative log-likelihood of its source given its target, nats a token, end token included."""
    ensemble = open_ensemble(tuple(members), device)
    values = ensemble.score(targets, ensemble.subwords.encode_target(sources))["pe_stu"]
    return [{REVERSE_LIKELIHOOD: float(value)} for value in values]
