"""COMET as a scorer of :mod:`cgbench.benchmark.imported.external`. Runs by its path in an environment with
``unbabel-comet``, without cgbench: ``python comet_worker.py --model NAME``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys


def main() -> None:
    """Read all requests, then score and answer them in parts, so that what is scored is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--part", type=int, default=1024)
    given = parser.parse_args()
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # Lightning prints
        from comet import download_model, load_from_checkpoint

        path = given.model if given.model.endswith(".ckpt") else download_model(given.model)
        model = load_from_checkpoint(path)
        rows = [json.loads(line) for line in sys.stdin if line.strip()]
        names = {"source": "src", "hypothesis": "mt", "reference": "ref"}
        for start in range(0, len(rows), given.part):
            part = rows[start : start + given.part]
            data = [{short: row[name] for name, short in names.items() if name in row} for row in part]
            scores = model.predict(data, batch_size=given.batch_size, gpus=given.gpus, progress_bar=False).scores
            for row, score in zip(part, scores, strict=True):
                print(json.dumps({"id": row["id"], "score": float(score)}), file=answers, flush=True)


if __name__ == "__main__":
    main()
