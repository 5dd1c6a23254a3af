"""How uncertain an ensemble is about each candidate: translate the source, then score the translation.

Shards of a fixed size go to worker processes; a finished shard is a file, so a build that is stopped loses at most
the shards in the making. What a shard holds depends on the candidates and the ensemble alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cgbench.files import write_atomic
from cgbench.parallel import run_tasks
from cgbench.progress import bar

SHARD = 500  # candidates; part of the step's key, because batches are formed inside a shard


def uncertainty_of_candidates(
    members: list[Path], candidates: Path, out: Path, beam: int, device: str, jobs: int
) -> None:
    """Write ``out/part-*.jsonl``: a line a candidate with its hypothesis and every sequence measure.

    :param candidates: the folder that holds the text ``candidates.source``.
    """
    lines = (candidates / "candidates.source").read_text(encoding="utf-8").split("\n")[:-1]
    shards = range(0, len(lines), SHARD)
    tasks = [
        (members, lines[start : start + SHARD], part_path(out, start // SHARD), beam, device)
        for start in shards
        if not part_path(out, start // SHARD).is_file()
    ]
    with bar(len(lines), "uncertainty", "pair", initial=len(lines) - sum(len(task[1]) for task in tasks)) as progress:
        for done in run_tasks(_one_shard, tasks, jobs if device == "cpu" else 1):
            progress.update(done)


def part_path(folder: Path, number: int) -> Path:
    """The file of shard ``number``."""
    return folder / f"part-{number:05d}.jsonl"


def read_uncertainty(folder: Path) -> list[dict[str, Any]]:
    """The lines of all shards, in the order of the candidates: ``hypothesis`` and the measures by name."""
    return [
        json.loads(line)
        for path in sorted(folder.glob("part-*.jsonl"))
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]
    ]


def _one_shard(members: list[Path], lines: list[str], path: Path, beam: int, device: str) -> int:
    from cgbench.models.ensemble import Ensemble

    ensemble = Ensemble.open(members, device)
    translations = ensemble.translate(lines, beam=beam)
    measures = ensemble.score(lines, [translation.tokens for translation in translations])
    rows = (
        {"hypothesis": translation.text, **{name: float(values[row]) for name, values in measures.items()}}
        for row, translation in enumerate(translations)
    )
    write_atomic(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return len(lines)
