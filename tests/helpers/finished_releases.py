"""Finished releases of candidates and uncertainties that a test chooses, without a build."""

import numpy as np
import pyarrow
import pyarrow.parquet
from small_build import list_files

from cgbench.benchmark.candidates.correlations import as_jsonl, correlations
from cgbench.benchmark.candidates.selection import select_rows, selection_sizes
from cgbench.benchmark.release.manifest import CORRELATIONS, FORMAT, digest, table_file
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.work_folder import RECORD, default_work
from cgbench.files import write_json
from cgbench.steps import KEY_LENGTH, STEPS

KEY = "ab" * 32


def write_finished(
    folder,
    uncertainty,
    *,
    content=None,
    targets=None,
    hypotheses=None,
    inputs=None,
    control=(),
    **config,
):
    """A release that selects by ``uncertainty``, with the text of its candidates in its
    workspace.
    """
    n = len(uncertainty)
    sizes = {"drop": "1/30", "window": "3/10", "select": "1/10"}
    config = {"uncertainty": "rmi", **sizes, "seed": 1, "members": 2, **config}
    targets = targets or [f"the cat sees {row % 7} dogs and {row} birds" for row in range(n)]
    columns = {
        "line": list(range(1, n + 1)),
        "source_length": [5 + row % 9 for row in range(n)],
        "target_length": [7] * n,
        "degree": [0.5 + (row % 5) / 10 for row in range(n)],
        "content": np.array(range(n) if content is None else content, np.uint64),
        "hypothesis": hypotheses or targets,
        "rmi": [float(value) for value in uncertainty],
    }
    ranks, stages = select_rows(columns, config, selection_sizes(config, n))
    table = folder / table_file("candidates")
    table.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.table({**columns, "rank": ranks, "stage": stages}), table)
    chosen = [row for row, stage in enumerate(stages) if stage == "selected"]
    sources = [f"die katze sieht {row} vögel" for row in range(n)]
    texts = {
        "test.de": [sources[row] for row in chosen],
        "test.en": [targets[row] for row in chosen],
    }
    texts["split.jsonl"] = ["{}"] * len(chosen)
    texts[CORRELATIONS] = as_jsonl(correlations(columns, config["uncertainty"])).splitlines()
    if control:
        config["control"] = True
        texts |= {"control.de": ["ein hund"] * len(control), "control.en": list(control)}
        texts["control.jsonl"] = ["{}"] * len(control)
    workspace = default_work(folder) / STEPS
    step = workspace / "candidates" / KEY[:KEY_LENGTH]
    step.mkdir(parents=True)
    (step / "step.json").write_text("{}")
    for path, lines in (
        *((folder / name, lines) for name, lines in texts.items()),
        *(
            (step / f"candidates.{side}", lines)
            for side, lines in (("source", sources), ("target", targets))
        ),
    ):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    counts = {"pool": n, "candidates": n, "selected": len(chosen)} | (
        {"control": len(control)} if control else {}
    )
    manifest = {
        "format": FORMAT,
        "until": "release",
        "languages": ["de", "en"],
        "signature": "react|made",
    }
    manifest |= {"figures": {}, "configuration": config, "inputs": inputs or {}, "counts": counts}
    list_files(folder, manifest)
    record = {"signature": "react|made", "steps": {"candidates": KEY}}
    write_json(workspace / RECORD, {**record, "digest": digest(record)})
    return Release.open(folder)
